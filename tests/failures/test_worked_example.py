"""docs/frozen-failures.md can be followed command by command, and what it shows is what is printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "frozen-failures.md").read_text("utf-8")
PARTS = ("scenarios/cleanup-archives-tickets.json", "examples/agents", "examples/ci")
FIXED_LINES = ("list_tickets", "archive_ticket")

pytestmark = pytest.mark.slow


def steps() -> list[tuple[str, str]]:
    """The commands of the page in order, each with what the page shows below it."""
    blocks = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL)
    return [(command, shown) for command, shown in blocks]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the example needs of a checkout, committed."""
    (tmp_path / "crucible.toml").touch()
    for part in PARTS:
        source, target = ROOT / part, tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    (tmp_path / "examples/agents/cleanup.tools").write_text("".join(f"{t}\n" for t in (*FIXED_LINES, "delete_ticket")))
    for words in (("init", "-q"), ("add", "-A"), ("-c", "user.name=n", "-c", "user.email=n@x", "commit", "-qm", "old")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def shell(script: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a reader would, `crucible` and `python` being those of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=os.environ | {"PATH": path} | env, capture_output=True, text=True)


def seen_failing(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """One good scenario in 23 is not seen failing at the first try, as the page says."""
    for _ in range(10):
        done = shell(f"{command} --parallel 4", folder)
        if done.returncode != 4:
            return done
    return done


def test_the_page_can_be_followed(checkout: Path) -> None:
    floor, listing, refused, repro, fix, confirm = steps()
    assert floor[1] == shell(floor[0], checkout).stdout

    (line,) = json.loads(shell(listing[0], checkout).stdout)
    assert "not seen failing yet" in line["description"]

    done = shell(refused[0], checkout)
    assert (4, refused[1]) == (done.returncode, done.stderr)

    done = seen_failing(repro[0], checkout)
    assert 0 == done.returncode, done.stderr
    wording = r"seen failing: \d+ of \d+ runs, first on (.*)\n  (.*)\nrecorded in (.*): commit it beside the scenario\n"
    shown, printed = re.search(wording, repro[1]), re.search(wording, done.stdout)
    assert shown is not None
    assert printed is not None
    assert shown.groups() == printed.groups()
    assert repro[1].splitlines()[0] == done.stderr.splitlines()[0]

    assert 0 == shell(fix[0], checkout).returncode
    done = shell(confirm[0], checkout)
    assert 0 == done.returncode, done.stdout
    assert done.stdout.startswith(confirm[1])


def fixed_and_seen(checkout: Path) -> None:
    agent = "python examples/agents/cleanup.py -p {query} --context {context} --output-format json"
    seen = shell(f"crucible repro cleanup-archives-tickets --agent '{agent} --rate 1'", checkout)
    assert 0 == seen.returncode, seen.stderr
    (checkout / "examples/agents/cleanup.tools").write_text("list_tickets\narchive_ticket\n")


@pytest.mark.skipif(shutil.which("jq") is None, reason="the examples for CI need jq")
def test_the_ci_examples_pass_a_fix_and_stop_a_relapse(checkout: Path) -> None:
    fixed_and_seen(checkout)
    job = yaml.safe_load((ROOT / "examples/ci/confirm.yaml").read_text("utf-8"))["jobs"]["confirm"]
    (step,) = [step["run"] for step in job["steps"] if "jq" in step.get("run", "")]
    summary = checkout / "summary.md"
    assert 0 == shell("examples/ci/pre-merge.sh", checkout).returncode
    assert 0 == shell(step, checkout, GITHUB_STEP_SUMMARY=str(summary)).returncode
    assert "**confirmed: 14/14 green**" in summary.read_text()

    with (checkout / "examples/agents/cleanup.tools").open("a") as tools:
        tools.write("delete_ticket\n")
    assert 0 != shell("examples/ci/pre-merge.sh", checkout).returncode
    assert 1 == shell(step, checkout, GITHUB_STEP_SUMMARY=str(summary)).returncode
    assert "refuted: run" in summary.read_text()


@pytest.mark.skipif(shutil.which("jq") is None, reason="the examples for CI need jq")
def test_a_file_that_cannot_be_read_stops_a_merge(checkout: Path) -> None:
    (checkout / "scenarios" / "broken.json").write_text("{")
    job = yaml.safe_load((ROOT / "examples/ci/confirm.yaml").read_text("utf-8"))["jobs"]["confirm"]
    (step,) = [step["run"] for step in job["steps"] if "jq" in step.get("run", "")]
    assert 2 == shell(step, checkout, GITHUB_STEP_SUMMARY=str(checkout / "s.md")).returncode
    assert 0 != shell("examples/ci/pre-merge.sh", checkout).returncode


@pytest.mark.skipif(shutil.which("jq") is None, reason="the examples for CI need jq")
def test_a_name_of_two_words_is_one_failure_and_no_failure_is_none(checkout: Path) -> None:
    job = yaml.safe_load((ROOT / "examples/ci/confirm.yaml").read_text("utf-8"))["jobs"]["confirm"]
    (step,) = [step["run"] for step in job["steps"] if "jq" in step.get("run", "")]
    shipped = checkout / "scenarios" / "cleanup-archives-tickets.json"
    shipped.rename(checkout / "scenarios" / "two words.json")
    for script in (step, "examples/ci/pre-merge.sh"):
        done = shell(script, checkout, GITHUB_STEP_SUMMARY=str(checkout / "s.md"))
        assert 0 != done.returncode
        assert "two words was never seen failing" in done.stderr
    (checkout / "scenarios" / "two words.json").unlink()
    for script in (step, "examples/ci/pre-merge.sh"):
        assert 0 == shell(script, checkout, GITHUB_STEP_SUMMARY=str(checkout / "s.md")).returncode


def test_the_shipped_agent_prints_what_the_seed_reads(checkout: Path) -> None:
    context = json.dumps({"tickets": [{"id": "T-1", "status": "resolved"}, {"id": "T-2", "status": "open"}]})
    for rate, tool in (("0", "archive_ticket"), ("1", "delete_ticket")):
        agent = (
            f"python examples/agents/cleanup.py -p 'clean up' --context '{context}' --output-format json --rate {rate}"
        )
        printed = json.loads(shell(agent, checkout).stdout)
        assert [("list_tickets", {}), (tool, {"ticket_id": "T-1"})] == [
            (c["name"], c["args"]) for c in printed["tools"]
        ]
        assert "Archived 1 resolved tickets: T-1." == printed["result"]
