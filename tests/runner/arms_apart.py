"""A bench whose arms differ in a tool server, run for real: litellm, a model server on loopback, MCP servers in sandboxes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from crucible.llm.loopback import Answer, Calls, LoopbackServer, Text
from crucible.runner.choose import Chosen
from crucible.runner.command import Options, choose, start
from crucible.runner.run import Result
from crucible.settings import Settings, load_settings
from crucible.store.writes import Store

SERVERS = Path(__file__).parent / "servers"
FIX = {"path": "shelf/pages.py", "old": "start + size - 1]", "new": "start + size]"}
ASK = {"name": "page"}


def solver(*first: tuple[str, dict[str, Any]]) -> Callable[[dict[str, Any]], Answer]:
    """A model that makes these calls, one a turn, where it has the tool; then fixes the bug and ends."""

    def reply(request: dict[str, Any]) -> Answer:
        has = {tool["function"]["name"] for tool in request.get("tools", ())}
        calls = [call for call in first if call[0] in has] + [("edit_file", FIX)]
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        return Calls([calls[turn]]) if turn < len(calls) else Text("Done.")

    return reply


def with_tools(bench: Path, server: LoopbackServer, arms: Mapping[str, Sequence[str]], *how: str) -> Settings:
    """The bench with a model on loopback, servers `small` and `other`, and these extra tools for its arms."""
    file = bench / "scenarios" / "first-bug.md"
    text = file.read_text()
    for arm, tools in arms.items():
        text = text.replace(f"  - id: {arm}\n", f"  - id: {arm}\n    extra_tools: [{', '.join(tools)}]\n")
    file.write_text(text.replace("anthropic/claude-sonnet-4-6", "openai/tiny"))
    with (bench / "crucible.toml").open("a") as config:
        config.write(f'[models."openai/tiny"]\napi_base = "{server.base_url}"\n')
        config.write("input_usd_per_million = 1.0\noutput_usd_per_million = 2.0\n")
        for name in ("small", "other"):
            args = ["-I", "-S", str(SERVERS / "small.py"), *how]
            config.write(f'[servers.{name}]\ncommand = "python3"\nargs = {args!r}\nfolders = ["{SERVERS}"]\n')
    return load_settings(bench)


def chosen_for(bench: Path, settings: Settings, **options: Any) -> Chosen:
    asked = Options(names=("first-bug",), seed=1, judge="facts", **{"blocks": 2, **options})
    return choose(bench, asked, settings, lambda _: None)


def run(bench: Path, settings: Settings, **options: Any) -> tuple[Store, Result, list[str]]:
    """The store, what the run came to, and what was said."""
    said: list[str] = []
    store = Store(bench / "results" / "crucible.db")
    chosen = chosen_for(bench, settings, **options)
    return store, asyncio.run(start(bench, chosen, settings, store, said.append, None)), said
