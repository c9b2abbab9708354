"""The loopback server in every dialect, read by plain HTTP and, as an independent judge, by litellm's own clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from crucible.llm._litellm import load
from crucible.llm.client import close_connections
from crucible.llm.loopback import Answer, Calls, Counts, Cut, LoopbackServer, Status, Text, for_agent
from tests.llm.serving import DIALECTS, REQUESTS, agent_at, streamed

COUNTS = Counts(1000, 50, cached_tokens=600, reasoning_tokens=20, cache_write_tokens=100)
BOTH = Calls([("bash", {"command": "ls"}), ("read", '{"p": "é"}')], text="Let me look.", usage=COUNTS, ids=["a", "b"])


def post(server: LoopbackServer, dialect: str, *, stream: bool = False, **more: Any) -> httpx.Response:
    path, body = streamed(dialect) if stream else REQUESTS[dialect]
    return httpx.post(f"{server.root_url}{path}", json=body | more, timeout=20)


def events(response: httpx.Response) -> list[tuple[str, Any]]:
    """(name, data) of each event."""
    found = []
    for block in response.text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((lines.get("event", ""), json.loads(lines["data"]) if lines["data"] != "[DONE]" else "[DONE]"))
    return found


def test_anthropic_messages() -> None:
    """Text and calls are blocks; what was cached or written is beside the input, not in it."""
    with LoopbackServer([BOTH]) as server:
        said = post(server, "anthropic").json()
    assert [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "b", "name": "read", "input": {"p": "é"}},
    ] == said["content"]
    assert ("message", "assistant", "tool_use", "tiny") == (
        said["type"],
        said["role"],
        said["stop_reason"],
        said["model"],
    )
    assert {
        "input_tokens": 300,
        "cache_read_input_tokens": 600,
        "cache_creation_input_tokens": 100,
        "output_tokens": 50,
    } == said["usage"]


def test_anthropic_events_are_those_of_the_provider() -> None:
    """In its order; the name of each event is its type."""
    with LoopbackServer([Calls([("bash", {"command": "ls"})], text="So.", ids=["a"])]) as server:
        response = post(server, "anthropic", stream=True)
    found = events(response)
    assert all(name == data["type"] for name, data in found)
    names = [name.removeprefix("content_block_") for name, _ in found if name != "content_block_delta"]
    assert ["message_start", "start", "stop", "start", "stop", "message_delta", "message_stop"] == names
    assert response.headers["content-type"] == "text/event-stream"


def test_responses_events_are_numbered_and_end_with_the_whole_response() -> None:
    """As Codex reads them: items added and done, text in pieces, the response with its usage at the end."""
    with LoopbackServer([BOTH]) as server:
        found = events(post(server, "responses", stream=True))
    assert list(range(len(found))) == [data["sequence_number"] for _, data in found]
    assert ("response.created", "response.completed") == (found[0][0], found[-1][0])
    done = [data["item"] for name, data in found if name == "response.output_item.done"]
    assert ["message", "function_call", "function_call"] == [item["type"] for item in done]
    assert ("a", "bash", '{"command": "ls"}') == tuple(done[1][key] for key in ("call_id", "name", "arguments"))
    assert done == found[-1][1]["response"]["output"]
    assert 600 == found[-1][1]["response"]["usage"]["input_tokens_details"]["cached_tokens"]


def test_chat_streams_a_count_to_those_who_ask() -> None:
    """In a chunk of its own before the end."""
    with LoopbackServer([Text("hm")] * 2) as server:
        without = events(post(server, "chat", stream=True))
        asked = events(post(server, "chat", stream=True, stream_options={"include_usage": True}))
    assert "[DONE]" == without[-1][1] == asked[-1][1]
    assert 1 == len(asked) - len(without)
    assert ([], 100) == (asked[-2][1]["choices"], asked[-2][1]["usage"]["prompt_tokens"])


def test_gemini_takes_its_model_from_the_path() -> None:
    """For the choice of a script, and in what is recorded."""
    with LoopbackServer({"tiny": [Text("hm")]}) as server:
        said = post(server, "gemini").json()
        assert "tiny" == server.requests[0]["model"]
    assert "hm" == said["candidates"][0]["content"]["parts"][0]["text"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_errors_have_the_shape_of_the_dialect(dialect: str) -> None:
    """A status of the script, and a script that has run out."""
    with LoopbackServer([Status(429, retry_after=3)]) as server:
        limited, spent = post(server, dialect), post(server, dialect, stream=True)
    assert (429, "3", 400) == (limited.status_code, limited.headers["retry-after"], spent.status_code)
    assert limited.json()["error"]["message"]
    assert "has run out" in spent.json()["error"]["message"]
    if dialect == "anthropic":
        assert "error" == limited.json()["type"] == spent.json()["type"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_cut_stream_has_begun(dialect: str) -> None:
    """Some events, then the connection ends without the mark of its end."""
    with LoopbackServer([Cut()]) as server, pytest.raises(httpx.RemoteProtocolError):
        post(server, dialect, stream=True)


def test_an_agents_side_calls_do_not_use_up_its_script() -> None:
    """Only requests that offer tools do; a count of tokens is no answer at all."""
    with LoopbackServer(for_agent([Text("one"), Text("two")], side=Text("a title"))) as server:
        texts = []
        for tools in ([], [{"name": "bash"}], [], [{"name": "bash"}]):
            body = REQUESTS["anthropic"][1]
            httpx.post(f"{server.root_url}/v1/messages/count_tokens", json=body)
            texts.append(post(server, "anthropic", tools=tools).json()["content"][0]["text"])
        assert 4 == len(server.requests)
        assert 8 == len(server.heard)
    assert ["a title", "one", "a title", "two"] == texts


def test_a_script_may_tell_requests_apart_by_itself() -> None:
    """It is a function of the body, whatever the dialect."""

    def script(request: dict[str, Any]) -> Answer:
        return Text("title") if "title" in json.dumps(request) else BOTH

    with LoopbackServer(script) as server:
        assert "title" == post(server, "anthropic", system="Give a title.").json()["content"][0]["text"]
        assert 3 == len(post(server, "responses").json()["output"])


Ask = Callable[..., Awaitable[Any]]
BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}}}
litellms = pytest.mark.parametrize("model", ["openai/tiny", "anthropic/tiny", "gemini/tiny"])


@asynccontextmanager
async def asking(server: LoopbackServer, model: str, *, proxied: bool) -> AsyncIterator[tuple[Ask, list[Any]]]:
    """litellm's client of that model, at the server itself or through a proxy; and what the proxy told."""
    litellm = load()
    below = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}[model.partition("/")[0]]

    async def ask(root: str, **more: Any) -> Any:
        messages = [{"role": "user", "content": "Hello?"}]
        return await litellm.acompletion(
            model=model,
            messages=messages,
            tools=[BASH],
            api_base=f"{root}{below}",
            api_key="mine",
            max_retries=0,
            **more,
        )

    try:
        if not proxied:
            yield lambda **more: ask(server.root_url, **more), []
            return
        async with agent_at(f"{server.root_url}{below}", model, in_company=True) as agent:
            yield lambda **more: ask(agent.root, **more), agent.seen
            await close_connections()
    finally:
        await close_connections()


@pytest.mark.slow  # the first of these loads litellm
@pytest.mark.parametrize("proxied", [False, True], ids=["direct", "proxied"])
@litellms
def test_litellm_reads_what_the_script_says(model: str, proxied: bool) -> None:
    """Whole and streamed: text, calls and counts, as its own client of the provider's dialect understands them."""

    async def run(server: LoopbackServer) -> None:
        litellm = load()
        async with asking(server, model, proxied=proxied) as (ask, seen):
            whole = await ask()
            chunks = [chunk async for chunk in await ask(stream=True, stream_options={"include_usage": True})]
            joined = litellm.stream_chunk_builder(chunks)
            for reply in (whole, joined):
                message = reply.choices[0].message
                calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]
                assert ("Let me look.", [("bash", {"command": "ls"}), ("read", {"p": "é"})]) == (message.content, calls)
                assert (1000, 50) == (reply.usage.prompt_tokens, reply.usage.completion_tokens)
                assert 600 == reply.usage.prompt_tokens_details.cached_tokens
            told = [(one.text, one.usage.output, one.error) for one in seen]
            assert [("Let me look.", 50, None)] * 2 * proxied == told

    with LoopbackServer([BOTH] * 2) as server:
        asyncio.run(run(server))


@pytest.mark.slow
@litellms
def test_litellm_takes_a_refusal_for_final(model: str) -> None:
    """A budget that is used up is no rate limit and no failure of a server, which clients would retry."""

    async def run(server: LoopbackServer) -> Any:
        litellm = load()
        below = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}[model.partition("/")[0]]
        async with agent_at(f"{server.root_url}{below}", model, in_company=True) as agent:
            agent.refusal = "3 of 3 turns used"
            base = f"{agent.root}{below}"
            with pytest.raises((litellm.BadRequestError, litellm.NotFoundError)) as caught:
                await litellm.acompletion(
                    model=model, messages=[{"role": "user", "content": "x"}], api_base=base, api_key="mine"
                )
            await close_connections()
            assert 1 == len(agent.seen)
            assert [] == server.heard
        return str(caught.value)

    with LoopbackServer([]) as server:
        assert "3 of 3 turns used" in asyncio.run(run(server))


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_openais_client_reads_responses_through_the_proxy(stream: bool) -> None:
    """Its own types take every event and the final response."""

    async def run(server: LoopbackServer) -> None:
        load()
        from openai import AsyncOpenAI

        async with (
            agent_at(server.base_url, in_company=True) as agent,
            AsyncOpenAI(base_url=f"{agent.root}/v1", api_key="mine", max_retries=0) as client,
        ):
            if stream:
                kinds = [
                    event.type async for event in await client.responses.create(model="tiny", input="x", stream=True)
                ]
                assert "response.completed" == kinds[-1]
            else:
                said = await client.responses.create(model="tiny", input="x")
                assert "Let me look." == said.output_text
                assert [None, "bash", "read"] == [getattr(item, "name", None) for item in said.output]
                assert (1000, 600) == (said.usage.input_tokens, said.usage.input_tokens_details.cached_tokens)
            assert ["bash", "read"] == [call.name for call in agent.seen[0].tool_calls]

    with LoopbackServer([BOTH]) as server:
        asyncio.run(run(server))
