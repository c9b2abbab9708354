"""A key reaches no sandbox, no transcript, no log, no store and no exported file, whatever an agent or a provider does."""

from __future__ import annotations

import base64
import json
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crucible.llm.loopback import Answer, Calls, Counts, LoopbackServer, Status, Text
from crucible.redaction import MARK
from crucible.world.probe import probe
from tests.conftest import Cli

pytestmark = pytest.mark.slow

KEY = "sk-canary-7f3a9c2e5b8d4016-openai"
NAMED = "gateway+canary/55e1d0aa9b77"
"""A key under a name that says nothing, told in crucible.toml."""
OTHER = "canary-of-another-service-8c6b1a"
USAGE = Counts(prompt_tokens=100, completion_tokens=10)
COMMANDS = (
    "env; set; export -p; cat ~/.config/* ~/.netrc; cat crucible.toml ../crucible.toml ../../crucible.toml",
    "cat /proc/*/environ | tr '\\0' '\\n' | sort -u; cat /proc/*/cmdline",
    "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -i canary > leak.txt; cat leak.txt; cp leak.txt shelf/leak.py",
    "python3 -c 'import os; print(dict(os.environ))'; python3 -m pytest -q",
)


def agent(request: dict[str, Any]) -> Answer:
    """Looks everywhere a key could be, writes down what it finds, and says it."""
    turn = sum(message["role"] == "assistant" for message in request["messages"])
    if turn < len(COMMANDS):
        return Calls([("bash", {"command": COMMANDS[turn]})], usage=USAGE)
    return Text(f"What I saw: {request['messages'][-1]['content'][-2000:]}", usage=USAGE)


def refusing(request: dict[str, Any]) -> Answer:
    """A provider that quotes the key it does not like, as they do."""
    said = f"Incorrect API key provided: {KEY} or {NAMED}. Find yours at https://example.com/keys. ({request['model']})"
    return Status(401, body={"error": {"message": said, "code": "invalid_api_key"}})


def judge(request: dict[str, Any]) -> Answer:
    shown = next(line for line in str(request["messages"][1]["content"]).splitlines() if "Fix the bug" in line)
    return Text(json.dumps({"evidence": [shown], "reasoning": "It is so.", "score": 2}), usage=USAGE)


def texts_of(store: Path) -> Iterator[bytes]:
    """Every value of every table, files that an attempt changed unpacked."""
    with sqlite3.connect(store) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - names from the file itself
                yield repr(row).encode()
                yield from (zlib.decompress(value) for value in row if isinstance(value, bytes))
    connection.close()


def written(*folders: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("mode", ["copy", *(["overlay"] if probe().ok else [])])
def test_a_canary_key_is_nowhere_in_what_was_written(
    bench: Path, cli: Cli, cache: Path, tmp_path: Path, mode: str
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    keys = {"OPENAI_API_KEY": KEY, "GATEWAY": NAMED, "OTHER_API_KEY": OTHER, "TMPDIR": str(scratch)}
    scripts = {"solver": agent, "down": refusing, "judge": judge, "downjudge": refusing}
    printed = ""
    with LoopbackServer(scripts) as server:
        with (bench / "crucible.toml").open("a") as config:
            for name in scripts:
                config.write(f'[models."openai/{name}"]\napi_base = "{server.base_url}"\n')
                config.write('api_key_env = "GATEWAY"\n' if name in ("down", "solver") else "")
        log = str(bench / "results" / "log.txt")
        common = ("-v", "--log-file", log)
        run = ("run", "first-bug", "--blocks", "1", "--sandbox", mode, "--json")
        first = ("--model", "careful=openai/solver", "--model", "baseline=openai/down")
        for arguments in (
            (*common, *run, *first, "--judge", "openai/judge"),
            ("show", "1", "--full"),
            ("show", "2", "--json"),
            ("show", "run:1", "--json"),
            (*common, "rejudge", "1", "--judge", "openai/downjudge"),
        ):
            done = cli(*arguments, **keys)
            assert "Traceback" not in done.stderr, done.stderr[-3000:]
            printed += done.stdout + done.stderr
        sent = json.dumps(server.requests)
    assert "Incorrect API key provided" in printed
    assert "What I saw" in printed
    if mode == "copy":
        # Without walls the environment of other processes is read; what comes of it is marked.
        assert MARK in printed
    files = written(bench, cache, scratch)
    assert any(name.endswith("log.txt") and b"Incorrect API key" in data for name, data in files.items())
    files |= {f"store row {n}": data for n, data in enumerate(texts_of(bench / "results" / "crucible.db"))}
    files |= {"printed": printed.encode(), "sent to the models": sent.encode()}
    for key in (KEY, NAMED, OTHER):
        for form in (key.encode(), json.dumps(key).strip('"').encode(), base64.b64encode(key.encode())):
            assert [] == [name for name, data in files.items() if form in data]


def test_a_key_in_place_of_its_variables_name_is_not_repeated(bench: Path, cli: Cli) -> None:
    with (bench / "crucible.toml").open("a") as config:
        config.write(f'[models."openai/x"]\napi_key_env = "{KEY}"\n')
    done = cli("list-scenarios")
    done = done if done.returncode else cli("runs")
    assert (2, False) == (done.returncode, KEY in done.stdout + done.stderr)
    assert "is the name of an environment variable" in done.stderr
