"""The proxy between real HTTP clients and the loopback server: what passes, what is told, what is refused."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from crucible.errors import HarnessError
from crucible.llm.loopback import Answer, Calls, Counts, LoopbackServer, Slow, Status, Text
from crucible.llm.proxy import Exchange, ModelProxy
from crucible.transcript.messages import ToolCall, Usage
from tests.llm.serving import DIALECTS, KEY, REQUESTS, Agent, agent_at, upstream_at

TOOLS = [{"name": "bash"}]
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
every = pytest.mark.parametrize("dialect", DIALECTS)


def with_agent(
    script: Any, work: Callable[[Agent, LoopbackServer], Awaitable[Any]], model: str = "openai/tiny", **options: Any
) -> Any:
    async def run(server: LoopbackServer) -> Any:
        base = server.root_url if model.startswith("anthropic") else server.base_url
        async with agent_at(base, model, **options) as agent:
            return await work(agent, server)

    with LoopbackServer(script) as server:
        return asyncio.run(run(server))


def test_a_call_of_any_dialect_is_told_with_text_calls_counts_and_cost() -> None:
    """Whole or streamed, the exchange says the same; what the dialect cannot count is None."""
    counts = Counts(1000, 50, cached_tokens=600, reasoning_tokens=20, cache_write_tokens=100)
    made = Calls(
        [("bash", {"command": "ls"}), ("read", '{"p": "é"}')], text="Let me look.", usage=counts, ids=["a", "b"]
    )

    def usage(*, written: bool, reasoning: bool, free: int) -> Usage:
        writing = 100 if written else None
        cost = (free * 1.0 + 600 * 0.1 + (100 if written else 0) + 50 * 10.0) / 1e6
        return Usage(free, 600, writing, 50, 20 if reasoning else None, pytest.approx(cost))

    expected = {
        "anthropic": usage(written=True, reasoning=False, free=300),
        "chat": usage(written=True, reasoning=True, free=300),
        "responses": usage(written=False, reasoning=True, free=400),
        "gemini": usage(written=False, reasoning=True, free=400),
    }

    async def work(agent: Agent, _server: LoopbackServer) -> list[Exchange]:
        for dialect in DIALECTS:
            assert [200, 200] == [(await agent.post(dialect, stream=stream)).status_code for stream in (False, True)]
        return agent.seen

    seen = with_agent([made] * 8, work)
    assert list(range(1, 9)) == [one.number for one in seen]
    for exchange in seen:
        assert ("Let me look.", None, 200) == (exchange.text, exchange.error, exchange.status)
        assert (ToolCall("a", "bash", '{"command": "ls"}'), ToolCall("b", "read", '{"p": "é"}')) == exchange.tool_calls
        assert expected[exchange.asked.dialect] == exchange.usage
        assert "tiny" == exchange.answered_by == exchange.asked.model
        assert exchange.usage.raw
    assert [False, True] * 4 == [exchange.asked.streamed for exchange in seen]
    assert ["tool_use", "tool_calls", "completed", "STOP"] == [exchange.finish_reason for exchange in seen[::2]]


@both
@every
def test_what_is_not_counted_is_unknown_never_zero(dialect: str, stream: bool) -> None:
    """A reply without usage has neither tokens nor a cost."""

    async def work(agent: Agent, _server: LoopbackServer) -> Usage:
        await agent.post(dialect, stream=stream)
        return agent.seen[0].usage

    usage = with_agent([Text("hm", usage=None)], work)
    assert Usage() == usage
    assert {} == usage.raw


@both
@every
def test_the_reply_reaches_the_agent_byte_for_byte(dialect: str, stream: bool) -> None:
    """What comes through the proxy is what the provider sent."""
    options = {"stream_options": {"include_usage": True}} if dialect == "chat" else {}
    script: list[Answer] = [Calls([("bash", {"command": "ls"})], text="so", ids=["a"])]

    async def work(agent: Agent, server: LoopbackServer) -> tuple[bytes, bytes]:
        through = await agent.post(dialect, stream=stream, **options)
        agent.client.base_url = server.root_url
        direct = await agent.post(dialect, stream=stream, **options)
        return through.content, direct.content

    through, direct = with_agent(script * 2, work)
    for kind in (b"chatcmpl-", b"msg_", b"resp_", b"item_", b"gemini-"):
        direct = direct.replace(kind + b"2", kind + b"1")
    assert direct == through


def test_a_chat_stream_is_counted_though_the_agent_did_not_ask_and_does_not_see_it() -> None:
    """The count is asked for on the way out, noted, and taken out of the stream again."""

    async def work(agent: Agent, server: LoopbackServer) -> None:
        response = await agent.post("chat", stream=True)
        assert b"prompt_tokens" not in response.content
        assert response.content.endswith(b"data: [DONE]\n\n")
        assert {"include_usage": True} == server.requests[0]["stream_options"]
        [exchange] = agent.seen
        assert "stream_options" not in exchange.asked.body
        assert (100, 10) == (exchange.usage.input_uncached, exchange.usage.output)
        assert 1 == len(exchange.notes)

    with_agent([Text("hm")], work)


@every
def test_the_key_is_added_outside_and_the_agents_own_is_dropped(dialect: str) -> None:
    """The provider gets our key once and nothing of the agent's; the agent's other headers arrive."""
    placeholders = {"Authorization": "Bearer mine", "X-Api-Key": "mine", "x-goog-api-key": "mine", "Cookie": "mine=1"}

    async def work(agent: Agent, server: LoopbackServer) -> None:
        path, body = REQUESTS[dialect]
        headers = {**placeholders, "anthropic-beta": "tools-1", "User-Agent": "an-agent/1"}
        await agent.client.post(f"{path}?key=mine&beta=true", json=body, headers=headers)
        [heard] = server.heard
        assert "mine" not in f"{heard.path}{heard.headers}"
        assert "beta=true" in heard.path
        assert ("tools-1", "an-agent/1") == (heard.headers["anthropic-beta"], heard.headers["user-agent"])
        assert 1 == sum(KEY in value for value in heard.headers.values())
        carried = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}.get(dialect, "authorization")
        assert KEY in heard.headers[carried]

    with_agent([Text("hm")], work)


@every
def test_no_key_means_none_is_sent(dialect: str) -> None:
    """A local server that needs no key gets no header for one."""

    async def work(agent: Agent, server: LoopbackServer) -> None:
        await agent.post(dialect)
        assert not {"authorization", "x-api-key", "x-goog-api-key"} & set(server.heard[0].headers)

    with_agent([Text("hm")], work, key=None)


@both
@every
def test_a_key_that_a_provider_quotes_never_comes_back(dialect: str, stream: bool) -> None:
    """Neither in an error nor in a reply, and not in what is told."""
    script: list[Answer] = [Status(401, body={"error": {"message": f"wrong key: {KEY}"}}), Text(f"your key is {KEY}")]

    async def work(agent: Agent, _server: LoopbackServer) -> None:
        error, reply = [await agent.post(dialect, stream=stream) for _ in range(2)]
        assert 401 == error.status_code
        assert KEY.encode() not in error.content + f"{error.headers}{reply.headers}".encode()
        if not stream:  # a stream's pieces are cut in the middle of it
            assert KEY.encode() not in reply.content
        assert KEY not in f"{agent.seen}{agent.proxy.trouble()}"

    with_agent(script, work)


@every
def test_a_refused_call_asks_nobody_and_is_not_to_be_retried(dialect: str) -> None:
    """The agent gets an error in its dialect's shape, the provider gets nothing, and the refusal is told."""

    async def work(agent: Agent, server: LoopbackServer) -> None:
        await agent.post(dialect)
        agent.refusal = "3 of 3 turns used"
        response = await agent.post(dialect, stream=dialect != "gemini")
        assert ({"chat": 404}.get(dialect, 400), "false") == (response.status_code, response.headers["x-should-retry"])
        assert "3 of 3 turns used" == response.json()["error"]["message"]
        assert 1 == len(server.requests)
        [_, refused] = agent.seen
        assert (True, None, "3 of 3 turns used") == (refused.refused, refused.status, refused.error)
        assert Usage() == refused.usage
        assert agent.proxy.trouble() is None

    with_agent([Text("hm")] * 2, work)


def test_the_budget_is_asked_with_an_upper_guess_of_the_input() -> None:
    """A third of the request's bytes."""

    async def work(agent: Agent, server: LoopbackServer) -> None:
        await agent.post("chat", padding="x" * 3000)
        assert [-(-len(server.heard[0].body) // 3)] == agent.asked
        assert agent.asked[0] > 1000

    with_agent([Text("hm")], work)


def test_a_call_is_accounted_before_the_agent_can_make_its_next() -> None:
    """Whoever has the end of a reply, streamed or not, finds it told; so a budget of one call refuses the second."""

    async def work(agent: Agent, _server: LoopbackServer) -> None:
        for dialect in DIALECTS:
            for stream in (False, True):
                before = len(agent.seen)
                await agent.post(dialect, stream=stream)
                assert before + 1 == len(agent.seen)

    with_agent([Text("hm")] * 8, work)


@every
def test_a_providers_errors_pass_and_are_remembered(dialect: str) -> None:
    """The agent sees status, body and Retry-After; trouble() tells the last failure and what came after it."""
    said = {"error": {"message": "Overloaded", "type": "overloaded_error"}}
    script: list[Answer] = [Status(529, body=said), Status(429, retry_after=7, body=said), Text("hm")]

    async def work(agent: Agent, _server: LoopbackServer) -> None:
        first, second = await agent.post(dialect), await agent.post(dialect, stream=True)
        assert (529, said) == (first.status_code, first.json())
        assert (429, "7") == (second.status_code, second.headers["Retry-After"])
        trouble = agent.proxy.trouble()
        assert trouble is not None
        assert ("rate_limit", 429, 7.0) == (trouble.last.kind, trouble.last.status, trouble.last.retry_after)
        assert "Overloaded" in trouble.last.message
        assert (2, 0, 0) == (trouble.failures, trouble.answered, trouble.since)
        await agent.post(dialect)
        after = agent.proxy.trouble()
        assert after is not None
        assert (2, 1, 1) == (after.failures, after.answered, after.since)
        assert [529, 429, 200] == [one.status for one in agent.seen]
        assert [False, False, True] == [one.answered for one in agent.seen]

    with_agent(script, work)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "invalid x-api-key", "auth"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "context"),
        (400, "tools.0: bad schema", "bad_request"),
        (500, "oops", "server"),
    ],
)
def test_a_failure_has_the_kind_that_says_whose_it_is(status: int, message: str, kind: str) -> None:
    """As for the built-in agent's own calls."""

    async def work(agent: Agent, _server: LoopbackServer) -> Any:
        await agent.post("anthropic")
        return agent.proxy.trouble()

    trouble = with_agent([Status(status, body={"error": {"message": message}})], work)
    assert (kind, status) == (trouble.last.kind, trouble.last.status)


def test_nobody_at_the_address_is_a_failure_of_the_provider() -> None:
    """The agent gets 502; trouble() says that nothing answers."""

    async def run() -> None:
        async with agent_at("http://127.0.0.1:9/v1") as agent:
            assert 502 == (await agent.post("chat")).status_code
            trouble = agent.proxy.trouble()
            assert trouble is not None
            assert ("refused", None) == (trouble.last.kind, trouble.last.status)
            assert agent.seen[0].error

    asyncio.run(run())


def test_other_paths_are_not_passed() -> None:
    """No open proxy: 404 from us, recorded once without its query; the provider hears nothing of it."""

    async def work(agent: Agent, server: LoopbackServer) -> None:
        for method, path in [
            ("GET", "/v1/files?key=1"),
            ("GET", "/v1/files?key=2"),
            ("POST", "/v1/messages/batches"),
            ("GET", "/v1/chat/completions"),
            ("POST", "/v1beta/models/..:generateContent"),
            ("POST", "/v1/models/a%2F..%2Fb:generateContent"),
            ("DELETE", "/v1/models/tiny"),
        ]:
            assert 404 == (await agent.client.request(method, path, content=b"{}")).status_code
        assert [] == server.heard == agent.seen
        assert "GET /v1/files 404" == agent.proxy.strays[0]
        assert 6 == len(agent.proxy.strays)

    with_agent([], work)


def test_lists_counts_and_looks_pass_untold() -> None:
    """A list of models, a count of tokens and a client's look are no model calls, and cost no turn."""

    async def work(agent: Agent, server: LoopbackServer) -> None:
        assert 200 == (await agent.client.head("/")).status_code
        assert "tiny" == (await agent.client.get("/v1/models")).json()["data"][0]["id"]
        assert "models/tiny" == (await agent.client.get("/v1beta/models")).json()["models"][0]["name"]
        count = await agent.client.post("/v1/messages/count_tokens", json=REQUESTS["anthropic"][1])
        assert count.json()["input_tokens"] > 0
        assert [] == agent.seen == agent.asked
        assert all(KEY in str(heard.headers) for heard in server.heard)
        assert 3 == len(server.heard)

    with_agent({"tiny": [Text("hm")]}, work)


def test_the_first_request_is_the_first_that_offers_tools() -> None:
    """A side call before it does not count, unless there is nothing else."""

    async def work(agent: Agent, _server: LoopbackServer) -> None:
        assert agent.proxy.first_request is None
        await agent.post("anthropic", system="Give a title.")
        assert 1 == agent.proxy.first_request.number
        await agent.post("anthropic", system="Work.", tools=TOOLS)
        await agent.post("anthropic", system="Work on.", tools=TOOLS)
        first = agent.proxy.first_request
        assert (2, "anthropic", "tiny") == (first.number, first.dialect, first.model)
        assert REQUESTS["anthropic"][1] | {"system": "Work.", "tools": TOOLS} == first.body

    with_agent([Text("hm")] * 3, work)


def test_a_body_that_is_too_large_or_no_json_is_refused() -> None:
    """413 and 400 from us; the provider hears nothing."""

    async def work(agent: Agent, server: LoopbackServer) -> None:
        path, _ = REQUESTS["anthropic"]
        assert 413 == (await agent.client.post(path, content=b"x" * 1001)).status_code

        async def pieces() -> Any:
            for _ in range(3):
                yield b"x" * 500

        assert 413 == (await agent.client.post(path, content=pieces())).status_code
        for body in (b"{", b"[]", b"", b"[" * 900):
            assert 400 == (await agent.client.post(path, content=body)).status_code
        assert [] == server.heard == agent.seen
        assert ("POST /v1/messages 413", "POST /v1/messages 400") == agent.proxy.strays

    with_agent([], work, body_bytes=1000)


def test_a_reply_that_is_too_large_is_not_passed() -> None:
    """413 from us, told as a failure."""

    async def work(agent: Agent, _server: LoopbackServer) -> None:
        assert 413 == (await agent.post("chat")).status_code
        assert "larger than 1,000 bytes" in str(agent.seen[0].error)

    with_agent([Text("x" * 2000)], work, body_bytes=1000)


def test_many_calls_at_a_time_are_each_told_with_their_own_reply() -> None:
    """Twenty calls of mixed dialects, answered in any order."""

    def echo(request: dict[str, Any]) -> Answer:
        return Slow(0.01 * (request["n"] % 3), Text(f"reply {request['n']}"))

    async def work(agent: Agent, _server: LoopbackServer) -> None:
        async with asyncio.TaskGroup() as group:
            for n in range(20):
                group.create_task(agent.post(DIALECTS[n % 4], stream=n % 8 > 3, n=n))
        assert {f"reply {n}" for n in range(20)} == {one.text for one in agent.seen}
        assert all(f"reply {one.asked.body['n']}" == one.text for one in agent.seen)
        assert set(range(1, 21)) == {one.number for one in agent.seen}

    with_agent(echo, work)


def test_an_error_of_the_account_ends_the_calls_and_is_raised_at_the_end() -> None:
    """A store that is full must not be found out about later."""

    async def work(agent: Agent, server: LoopbackServer) -> None:
        agent.broken = HarnessError("disk full")
        assert 200 == (await agent.post("chat")).status_code
        assert 404 == (await agent.post("chat")).status_code
        assert 1 == len(server.requests)

    with pytest.raises(HarnessError, match="disk full"):
        with_agent([Text("hm")] * 2, work)


def test_nothing_of_the_proxy_shows_the_key() -> None:
    """Neither the upstream's text nor an exchange's."""

    async def work(agent: Agent, _server: LoopbackServer) -> None:
        await agent.post("chat")
        assert KEY not in f"{agent.upstream!r}{agent.seen!r}{json.dumps(agent.seen[0].asked.body)}"

    with_agent([Text("hm")], work)


def test_a_unix_socket_serves_as_well(tmp_path: Path) -> None:
    """What a sandbox without a network gives: connections inside arrive at a socket in the file system."""

    async def run(server: LoopbackServer) -> None:
        seen: list[Exchange] = []
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(tmp_path / "model"))
        upstream = upstream_at(server.base_url)
        way = httpx.AsyncHTTPTransport(uds=str(tmp_path / "model"))
        async with (
            ModelProxy(listening, upstream, admit=lambda _: None, seen=seen.append),
            httpx.AsyncClient(transport=way, base_url="http://127.0.0.1:4000") as client,
        ):
            path, body = REQUESTS["chat"]
            assert 200 == (await client.post(path, json=body)).status_code
        assert ["hm"] == [one.text for one in seen]

    with LoopbackServer([Text("hm")]) as server:
        asyncio.run(run(server))
