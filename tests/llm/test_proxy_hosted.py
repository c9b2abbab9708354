"""Without a network, tools that the provider runs are taken out of what an agent asks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from crucible.llm.dialects import Dialect
from crucible.llm.loopback import LoopbackServer, Text
from crucible.llm.proxy.hosted import without_hosted
from tests.llm.serving import REQUESTS, agent_at

OWN: dict[Dialect, dict[str, Any]] = {
    "anthropic": {"name": "bash", "type": "bash_20250124"},
    "chat": {"type": "function", "function": {"name": "bash"}},
    "responses": {"type": "custom", "name": "apply_patch"},
    "gemini": {"functionDeclarations": [{"name": "bash"}]},
}
HOSTED: dict[Dialect, tuple[dict[str, Any], str]] = {
    "anthropic": ({"type": "web_search_20250305", "name": "web_search"}, "web_search_20250305"),
    "chat": ({"type": "web_search"}, "web_search"),
    "responses": ({"type": "mcp", "server_url": "https://example.org"}, "mcp"),
    "gemini": ({"googleSearch": {}}, "googleSearch"),
}


@pytest.mark.parametrize("dialect", OWN)
def test_hosted_tools_go_and_the_agents_own_stay(dialect: Dialect) -> None:
    hosted, name = HOSTED[dialect]
    mixed = {"model": "m", "tools": [OWN[dialect], hosted]}
    assert ({"model": "m", "tools": [OWN[dialect]]}, (name,)) == without_hosted(dialect, mixed)
    assert ({"model": "m"}, (name,)) == without_hosted(
        dialect, {"model": "m", "tools": [hosted], "tool_choice": "auto"}
    )


@pytest.mark.parametrize("dialect", OWN)
def test_a_request_without_hosted_tools_is_the_same_object(dialect: Dialect) -> None:
    for body in ({"model": "m"}, {"model": "m", "tools": [OWN[dialect]]}, {"model": "m", "tools": "odd"}):
        assert without_hosted(dialect, body)[0] is body


def test_options_that_do_the_same_go_too() -> None:
    assert ({"model": "m"}, ("mcp_servers",)) == without_hosted("anthropic", {"model": "m", "mcp_servers": [{}]})
    assert ({"model": "m"}, ("web_search_options",)) == without_hosted(
        "chat", {"model": "m", "web_search_options": {"a": 1}}
    )


@pytest.mark.parametrize("network", [False, True])
def test_what_was_taken_out_is_noted_and_the_provider_does_not_get_it(network: bool) -> None:
    hosted, _ = HOSTED["anthropic"]

    async def run(server: LoopbackServer) -> tuple[list[Any], bool]:
        async with agent_at(server.root_url, "anthropic/tiny", network=network) as agent:
            path, body = REQUESTS["anthropic"]
            await agent.client.post(path, json=body | {"tools": [OWN["anthropic"], hosted]})
            return server.requests[0]["tools"], any("no network" in note for note in agent.seen[0].notes)

    with LoopbackServer([Text("done")]) as server:
        tools, noted = asyncio.run(run(server))
    assert ([OWN["anthropic"]] if not network else [OWN["anthropic"], hosted], not network) == (tools, noted)
