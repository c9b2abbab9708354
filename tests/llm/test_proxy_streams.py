"""The proxy under streams: pieces as they come, replies that break off, agents that hang up, providers that fall silent.

Nothing here waits for time to pass: each side goes on when the other has done its part.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging

import pytest

from crucible.llm.loopback import Cut, LoopbackServer, Slow, Text
from crucible.llm.proxy import HUNG_UP
from tests.llm.serving import DIALECTS, SSE_HEAD, agent_at, answer, chunk, provider, streamed


def event(data: object) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def text(piece: str) -> bytes:
    return event({"model": "tiny", "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})


END = event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
DONE = b"data: [DONE]\n\n"
START = {"type": "message_start", "message": {"model": "tiny", "usage": {"input_tokens": 70, "output_tokens": 1}}}


def test_each_piece_of_a_stream_arrives_before_the_next_is_sent() -> None:
    """The provider sends the next piece only once the agent has the last: a buffer anywhere would never end."""

    async def run() -> None:
        arrived: asyncio.Queue[None] = asyncio.Queue()

        async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(SSE_HEAD)
            for piece in ("one", "two", "three"):
                writer.write(chunk(text(piece)))
                await arrived.get()
            writer.write(chunk(END + DONE) + b"0\r\n\r\n")

        path, body = streamed("chat")
        async with provider(serve) as base, agent_at(base) as agent:
            got = b""
            async with agent.client.stream("POST", path, json=body) as response:
                async for piece in response.aiter_bytes():
                    got += piece
                    arrived.put_nowait(None)
            assert b"".join(map(text, ("one", "two", "three"))) + END + DONE == got
            assert "onetwothree" == agent.seen[0].text

    asyncio.run(asyncio.wait_for(run(), 120))


def test_events_that_are_cut_anywhere_come_out_whole() -> None:
    """A provider's packets end in the middle of an event, of a line end, of a letter."""
    stream = b": a comment\r\n\r\nevent: x\r\n" + text("caf\u00e9 \U0001f600").replace(b"\n", b"\r\n") + END + DONE

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD)
        for at in range(len(stream)):
            writer.write(chunk(stream[at : at + 1]))
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    async def run() -> None:
        async with provider(serve) as base, agent_at(base) as agent:
            assert stream == (await agent.post("chat", stream=True)).content
            assert "caf\u00e9 \U0001f600" == agent.seen[0].text

    asyncio.run(run())


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_reply_that_breaks_off_breaks_off_for_the_agent_too(dialect: str, stream: bool) -> None:
    """What came is passed, the end is not made up; the output is unknown, and the failure the provider's."""

    async def run(server: LoopbackServer) -> None:
        async with agent_at(server.base_url) as agent:
            if stream:
                path, body = streamed(dialect)
                got = b""
                with pytest.raises(Exception, match="incomplete chunked read"):  # noqa: PT012 - the break is inside
                    async with agent.client.stream("POST", path, json=body) as response:
                        async for piece in response.aiter_bytes():
                            got += piece
                assert b"data:" in got
            else:
                assert 502 == (await agent.post(dialect)).status_code
            [exchange] = agent.seen
            assert exchange.error
            assert exchange.usage.output is None
            assert exchange.usage.cost_usd is None
            trouble = agent.proxy.trouble()
            assert trouble is not None
            assert ("server", 0) == (trouble.last.kind, trouble.since)

    with LoopbackServer([Cut()]) as server:
        asyncio.run(run(server))


def test_of_a_broken_reply_the_input_is_known_and_the_output_is_not() -> None:
    """Anthropic counts the input at the start, and only guesses the output there."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + chunk(event(START)))

    async def run() -> None:
        async with provider(serve) as base, agent_at(base) as agent:
            with contextlib.suppress(Exception):
                await agent.post("anthropic", stream=True)
            usage = agent.seen[0].usage
            assert (70, None, None) == (usage.input_uncached, usage.output, usage.cost_usd)

    asyncio.run(run())


def test_a_stream_that_ends_politely_before_the_reply_does_is_a_failure_too() -> None:
    """The connection ends as it should, the reply does not."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + chunk(text("half")) + b"0\r\n\r\n")

    async def run() -> None:
        async with provider(serve) as base, agent_at(base) as agent:
            assert text("half") == (await agent.post("chat", stream=True)).content
            assert "the stream ended before the reply did" in str(agent.seen[0].error)
            assert agent.proxy.trouble() is not None

    asyncio.run(run())


def test_an_error_in_the_middle_of_a_stream_is_a_failure() -> None:
    """The status was 200 long ago."""
    overloaded = event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + chunk(event(START) + overloaded) + b"0\r\n\r\n")

    async def run() -> None:
        async with provider(serve) as base, agent_at(base) as agent:
            assert event(START) + overloaded == (await agent.post("anthropic", stream=True)).content
            assert "Overloaded" in str(agent.seen[0].error)
            trouble = agent.proxy.trouble()
            assert trouble is not None
            assert "Overloaded" in trouble.last.message

    asyncio.run(run())


def test_an_agent_that_hangs_up_ends_the_providers_work() -> None:
    """The call upstream is closed, told as the agent's doing, and no failure of the provider."""

    async def run() -> None:
        ended = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(SSE_HEAD + chunk(text("one")))
            assert b"" == await reader.read()
            ended.set()

        path, body = streamed("chat")
        async with provider(serve) as base, agent_at(base) as agent:
            async with agent.client.stream("POST", path, json=body) as response:
                assert text("one") == await anext(response.aiter_bytes())
            await ended.wait()
            [exchange] = agent.seen
            assert (HUNG_UP, "one", None) == (exchange.error, exchange.text, exchange.usage.output)
            assert agent.proxy.trouble() is None

    asyncio.run(asyncio.wait_for(run(), 120))


def test_an_agent_that_hangs_up_at_the_last_word_has_its_reply() -> None:
    """Some do not wait for the count; the reply is whole, and the count unknown."""

    async def run() -> None:
        ended = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(SSE_HEAD + chunk(text("one") + END))
            await reader.read()
            ended.set()

        path, body = streamed("chat")
        async with provider(serve) as base, agent_at(base) as agent:
            async with agent.client.stream("POST", path, json=body) as response:
                assert text("one") + END == await anext(response.aiter_bytes())
            await ended.wait()
            [exchange] = agent.seen
            assert (None, "one", "stop", None) == (
                exchange.error,
                exchange.text,
                exchange.finish_reason,
                exchange.usage.output,
            )

    asyncio.run(asyncio.wait_for(run(), 120))


def test_an_agent_that_hangs_up_before_any_answer_ends_the_providers_work() -> None:
    """The same while the provider still thinks."""

    async def run() -> None:
        asked, ended = asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            asked.set()
            await reader.read()
            ended.set()

        async with provider(serve) as base, agent_at(base) as agent:
            call = asyncio.create_task(agent.post("chat"))
            await asked.wait()
            call.cancel()
            await ended.wait()
            assert [(HUNG_UP, None)] == [(one.error, one.status) for one in agent.seen]

    asyncio.run(asyncio.wait_for(run(), 120))


@pytest.mark.parametrize(
    ("head", "silence"), [(b"", 0.05), (SSE_HEAD + chunk(text("one")), 1.5)], ids=["at once", "in the middle"]
)
def test_a_provider_that_falls_silent_is_given_up(head: bytes, silence: float) -> None:
    """504 before an answer, a cut stream in its middle; told as the provider's time-out."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        await reader.read()

    async def run() -> None:
        async with provider(serve) as base, agent_at(base, silence=silence) as agent:
            if head:
                with pytest.raises(Exception, match="incomplete chunked read"):
                    await agent.post("chat", stream=True)
            else:
                assert 504 == (await agent.post("chat", stream=True)).status_code
            trouble = agent.proxy.trouble()
            assert trouble is not None
            assert "timeout" == trouble.last.kind

    asyncio.run(run())


def test_closing_ends_calls_that_are_still_open(caplog: pytest.LogCaptureFixture) -> None:
    """Three open calls, streamed and not, and an idle connection: all end with the proxy, and all are told.

    `agent_at` holds that no task and no socket is left.
    """

    async def run() -> None:
        open_calls = asyncio.Semaphore(0)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(SSE_HEAD + chunk(text("one")))
            open_calls.release()
            await reader.read()

        async with provider(serve) as base:
            async with agent_at(base) as agent:
                await agent.client.head("/")
                calls = [asyncio.create_task(agent.post("chat", stream=True)) for _ in range(3)]
                for _ in calls:
                    await open_calls.acquire()
                seen = agent.seen
                await agent.proxy.__aexit__(None, None, None)
                ended = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(one, Exception) for one in ended)
            assert [HUNG_UP] * 3 == [one.error for one in seen]

    with caplog.at_level(logging.DEBUG):
        asyncio.run(asyncio.wait_for(run(), 120))
    assert [] == [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_compressed_or_html_answer_is_no_harm() -> None:
    """A gateway's error page in HTML reaches the agent with its status; a reply that is no JSON is a failure."""
    page = answer(b"<html>Bad gateway</html>", "502 Bad Gateway", Set_Cookie="session=1", Server="x", X_Request_Id="r1")
    replies = [page, answer(b"<html>hello</html>")]

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(replies.pop(0))

    async def run() -> None:
        async with provider(serve) as base, agent_at(base) as agent:
            first, second = await agent.post("chat"), await agent.post("chat")
            assert (502, 200) == (first.status_code, second.status_code)
            assert "r1" == first.headers["x-request-id"]
            assert "set-cookie" not in first.headers
            assert "Bad gateway" in str(agent.seen[0].error)
            assert "not JSON" in str(agent.seen[1].error)

    asyncio.run(run())


def test_a_redirect_is_not_followed() -> None:
    """The key goes to the address that was set and nowhere else."""
    asked = 0

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        writer.write(answer(b"{}", "307 Temporary Redirect", Location="/v1/elsewhere"))

    async def run() -> None:
        async with provider(serve) as base, agent_at(base) as agent:
            response = await agent.post("chat")
            assert (307, 1) == (response.status_code, asked)
            assert "location" not in response.headers
            assert not agent.seen[0].answered

    asyncio.run(run())


def test_gemini_streams_a_list_to_those_who_do_not_ask_for_events() -> None:
    """Without alt=sse a stream is one JSON list, read like its events."""
    parts = [
        {"candidates": [{"content": {"parts": [{"text": "one "}]}}]},
        {
            "candidates": [{"content": {"parts": [{"text": "two"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2},
        },
    ]

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(json.dumps(parts).encode()))

    async def run() -> None:
        async with provider(serve) as base, agent_at(base, "gemini/tiny") as agent:
            assert parts == (await agent.post("gemini", stream=True)).json()
            [exchange] = agent.seen
            assert ("one two", 7, 2) == (exchange.text, exchange.usage.input_uncached, exchange.usage.output)

    asyncio.run(run())


def test_a_provider_that_is_slow_but_not_silent_for_long_is_waited_for() -> None:
    """The time-out is for silence, not for the whole reply."""

    async def run(server: LoopbackServer) -> None:
        async with agent_at(server.base_url, silence=60) as agent:
            assert 200 == (await agent.post("chat")).status_code
            assert agent.seen[0].seconds > 0

    with LoopbackServer([Slow(0.05, Text("hm"))]) as server:
        asyncio.run(run(server))
