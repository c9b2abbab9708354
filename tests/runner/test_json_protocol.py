"""An arm with `tool_protocol: json`, from its scenario file to the report, against an arm with native calls."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from crucible.llm.loopback import Answer, Calls, LoopbackServer, Text
from crucible.report.comparison import comparisons
from crucible.runner.command import Options, choose, start
from crucible.settings import load_settings
from crucible.store import queries
from crucible.store.writes import Store

FIX = {"path": "shelf/pages.py", "old": "start + size - 1]", "new": "start + size]"}


def turns(request: dict[str, Any]) -> int:
    return sum(message["role"] == "assistant" for message in request["messages"])


def native(request: dict[str, Any]) -> Answer:
    assert request["tools"]
    return Text("Done.") if turns(request) else Calls([("edit_file", FIX)])


def written(request: dict[str, Any]) -> Answer:
    """Fails native calls: it writes its actions."""
    assert "tools" not in request
    said = [
        "I will fix it.",
        "```json\n" + json.dumps({"tool": "edit_file", "arguments": FIX}) + "\n```",
        json.dumps({"done": "Fixed the slice."}),
    ]
    return Text(said[turns(request)])


@pytest.mark.slow
def test_an_arm_asked_in_json_actions_is_made_counted_and_compared(bench: Path) -> None:
    scenario = bench / "scenarios" / "first-bug.md"
    text = scenario.read_text()
    assert "  - id: careful\n" in text
    scenario.write_text(text.replace("  - id: careful\n", "  - id: careful\n    tool_protocol: json\n"))
    with LoopbackServer({"writes": written, "calls": native}) as server:
        with (bench / "crucible.toml").open("a") as config:
            for name in ("writes", "calls"):
                config.write(f'[models."openai/{name}"]\napi_base = "{server.base_url}"\n')
        models = {"careful": "openai/writes", "baseline": "openai/calls"}
        asked = Options(names=("first-bug",), blocks=1, seed=1, models=models, judge="facts")
        settings = load_settings(bench)
        store = Store(bench / "results" / "crucible.db")
        chosen = choose(bench, asked, settings, lambda _: None)
        result = asyncio.run(start(bench, chosen, settings, store, lambda _: None, None))
    with store:
        (comparison,) = comparisons(store, result.run_id)
        assert [("careful", 1.0), ("baseline", 1.0)] == [(arm.arm, arm.pass_rate) for arm in comparison.arms]
        (line,) = [line for line in comparison.lines if line.arm == "careful"]
        record = queries.attempt_record(store, line.attempt_id or 0)
        assert record is not None
        assert (3, 2, "Fixed the slice.") == (record.attempt.turns, record.attempt.tool_calls, record.attempt.detail)
