"""What tests of frozen failures share: a bench with the seed's scenario, and an agent that does as it is told, run by run."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crucible.cli.app import run_app

SEED: dict[str, Any] = {
    "name": "cleanup archives resolved tickets and deletes nothing",
    "context": {
        "tickets": [
            {"id": "T-481", "status": "resolved"},
            {"id": "T-490", "status": "resolved"},
            {"id": "T-502", "status": "open"},
        ]
    },
    "query": "Clean up the resolved tickets from sprint 214.",
    "expect_tool": "archive_ticket",
    "forbid_tool": "delete_ticket",
    "expect_contains": ["T-481", "T-490"],
}

AGENT = """
import json, os, signal, subprocess, sys, time
plan = sys.argv[1].split(",")
folder = os.environ.get("TAKEN", "taken")
os.makedirs(folder, exist_ok=True)
number = 0
while True:
    try:
        os.close(os.open(f"{folder}/{number}", os.O_CREAT | os.O_EXCL))
        break
    except FileExistsError:
        number += 1
word = plan[min(number, len(plan) - 1)]
with open(f"{folder}/{number}", "w") as seen:
    json.dump(sys.argv[2:], seen)
names = {"green": ["list_tickets", "archive_ticket"], "red": ["list_tickets", "delete_ticket"], "nothing": []}
base = {"result": "Archived T-481 and T-490.", "num_turns": 3, "total_cost_usd": 0.01}
if word in names:
    print(json.dumps(base | {"tools": names[word]}))
elif word == "mute":
    print(json.dumps(base | {"tools": names["green"], "result": "Done."}))
elif word == "dear":
    print(json.dumps(base | {"tools": names["green"], "total_cost_usd": 0.5}))
elif word == "unpriced":
    print(json.dumps({"tools": names["green"], "result": base["result"]}))
elif word == "session":
    print(json.dumps(base | {"tools": names["green"], "session_id": "s-1"}))
elif word == "cached":
    print(json.dumps(base | {"tools": names["green"], "cached": True}))
elif word == "crash":
    sys.exit("Traceback: no such skill")
elif word == "silent":
    pass
elif word == "noise":
    print("starting up ...")
elif word == "hang":
    time.sleep(600)
elif word == "pid":
    with open("pid.new", "w") as told:
        told.write(str(os.getpid()))
    os.rename("pid.new", "pid")
    time.sleep(600)
elif word == "slow":
    time.sleep(0.3)
    print(json.dumps(base | {"tools": names["green"]}))
elif word == "flood":
    try:
        while True:
            sys.stdout.write("x" * 65536)
    except BrokenPipeError:
        pass
elif word == "orphan":
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(120)"], start_new_session=True)
    print(json.dumps(base | {"tools": names["green"]}))
elif word in ("capped", "capped-red"):
    tool = names["green" if word == "capped" else "red"][word == "capped-red"]
    print(json.dumps({"type": "assistant", "message": {"id": "m", "content": [
        {"type": "tool_use", "id": "t", "name": tool, "input": {}}]}}))
    print(json.dumps({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "[]"}]}}))
    print(json.dumps({"type": "result", "subtype": "error_max_turns", "is_error": True, "num_turns": 20}))
elif word == "limited":
    print(json.dumps({"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 429 rate limit"}))
elif word == "claude-json":
    print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "num_turns": 2, "result": "Archived."}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bench with the seed's scenario, as it stands, plus what was reported; and the agent."""
    (tmp_path / "crucible.toml").touch()
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "agent.py").write_text(AGENT)
    write(tmp_path, SEED | {"report": {"failed": 2, "of": 10}})
    return tmp_path


def write(folder: Path, data: dict[str, Any], name: str = "tickets") -> Path:
    """Write a frozen failure."""
    path = folder / "scenarios" / f"{name}.json"
    path.write_text(json.dumps(data, indent=2))
    return path


def agent(plan: str, more: str = "{query} {context}") -> str:
    """The command of an agent whose runs go as the plan says, one after another, the last word for all that follow."""
    return f"{shlex.quote(sys.executable)} -S agent.py {plan} {more}"


def arguments(folder: Path, run: int = 0) -> list[str]:
    """The arguments the agent was given in a run."""
    found: list[str] = json.loads((folder / "taken" / str(run)).read_text())
    return found


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


Cli = Callable[..., Done]


@pytest.fixture
def cli(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command in the bench, in this process: starting another costs more than all the agents of a test."""
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)

    def run(*given: str, cwd: Path = folder, **env: str) -> Done:
        monkeypatch.chdir(cwd)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        capfd.readouterr()
        code = run_app(list(given))
        return Done(code, *capfd.readouterr())

    return run
