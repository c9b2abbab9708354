"""LiteLLMModel: the real litellm against the loopback server, in one process because litellm takes seconds to load."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from crucible.errors import ProviderError
from crucible.llm._litellm import load
from crucible.llm.client import LiteLLMModel, close_connections, unknown_provider
from crucible.llm.loopback import Answer, Calls, Counts, Cut, LoopbackServer, Slow, Status, Text
from crucible.llm.price import Price
from crucible.llm.retry import RetryNote, RetryPolicy
from crucible.llm.types import Reply, Request
from crucible.llm.wire import wire_messages, wire_tools
from crucible.transcript.messages import Message, ToolCall, ToolSpec, Usage

pytestmark = pytest.mark.slow  # the first test here loads litellm

ASK = Request((Message("system", "Be brief."), Message("user", "Hello?")), timeout=120.0)
BASH = ToolSpec("bash", "Runs a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
HASTY = RetryPolicy(attempts=4, first_wait=0.0)
TOO_LONG = {"error": {"message": "This model's maximum context length is 10 tokens", "code": "context_length_exceeded"}}


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    async def closing() -> Any:
        try:
            return await work()
        finally:
            await close_connections()

    return asyncio.run(closing())


def model_at(url: str, **options: Any) -> LiteLLMModel:
    return LiteLLMModel("openai/tiny", api_base=url, api_key="loopback", **{"retry": HASTY, **options})


def ask(script: list[Answer], request: Request = ASK, **options: Any) -> tuple[Reply, list[dict[str, Any]]]:
    with LoopbackServer(script) as server:
        return run(lambda: model_at(server.base_url, **options).complete(request)), server.requests


def fail(script: list[Answer], request: Request = ASK, **options: Any) -> tuple[ProviderError, int]:
    with LoopbackServer(script) as server:
        with pytest.raises(ProviderError) as caught:
            run(lambda: model_at(server.base_url, **options).complete(request))
        return caught.value, len(server.requests)


LOADING = """
import sys
import crucible.llm.client, crucible.llm.price
assert not {"litellm", "openai", "httpx"} & set(sys.modules), "imported too early"

def watch(event, args):
    assert not event.startswith("socket.") or event == "socket.__new__", f"{event} {args}"

sys.addaudithook(watch)
assert crucible.llm.price.known_price("gpt-4o-mini").input == 1.5e-07
"""


def test_litellm_is_imported_late_quietly_and_without_the_network() -> None:
    """Importing the client loads nothing heavy; loading then prints nothing, warns of nothing, opens no socket."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", LOADING], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_is_said_on_stdout_or_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither loading, a reply, retries, nor a failure prints anything."""
    ask([Status(500), Text("Hi.")])
    fail([Status(400, body=TOO_LONG)])
    assert unknown_provider("nosuch/model") is not None
    assert tuple(capfd.readouterr()) == ("", "")


def test_a_plain_reply() -> None:
    """Text, finish reason and time come back, nothing was waited for, and the conversation went out as it is."""
    load()
    reply, requests = ask([Text("Hi.")])
    assert (reply.text, reply.tool_calls, reply.finish_reason, reply.waited) == ("Hi.", (), "stop", 0.0)
    assert reply.seconds > 0
    assert requests[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello?"},
    ]
    assert {"model", "messages"} == set(requests[0])


def test_parallel_tool_calls_come_back_raw() -> None:
    """Calls keep their order and ids; arguments are the text that came, malformed or not."""
    reply, _ = ask([Calls([("bash", {"command": "ls"}), ("bash", '{"command": ')], ids=["a", "b"])])
    assert (ToolCall("a", "bash", '{"command": "ls"}'), ToolCall("b", "bash", '{"command": ')) == reply.tool_calls
    assert reply.text == ""


def test_tools_limit_and_schema_reach_the_wire() -> None:
    """The request's tools, output limit and response schema are sent; a closed schema strictly."""
    schema: dict[str, Any] = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
    schema["additionalProperties"] = False
    request = Request(ASK.messages, tools=(BASH,), max_output_tokens=77, response_schema=schema)
    _, [sent] = ask([Text("{}")], request)
    assert sent["max_tokens"] == 77
    assert BASH.parameters == sent["tools"][0]["function"]["parameters"]
    assert {"name": "reply", "schema": schema, "strict": True} == sent["response_format"]["json_schema"]


def test_no_content_is_an_empty_text() -> None:
    """A reply without content has the text ""."""
    assert ask([Text(None)])[0].text == ""


def test_missing_and_duplicate_call_ids_are_made_unique() -> None:
    """An id is kept unless the reply or the conversation already has it."""
    before = Message("assistant", "", (ToolCall("call_0", "bash", "{}"),))
    request = Request((*ASK.messages, before, Message("tool", "ok", tool_call_id="call_0")))
    reply, _ = ask([Calls([("bash", {})] * 4, ids=["call_0", "x", "x", ""])], request)
    ids = [call.id for call in reply.tool_calls]
    assert ids[1] == "x"
    assert len({*ids, "call_0"}) == 5


def test_usage_is_split_without_counting_twice() -> None:
    """Cached tokens are part of the prompt; reasoning tokens of the output; the total is prompt plus output."""
    counts = Counts(prompt_tokens=120, completion_tokens=30, cached_tokens=64, reasoning_tokens=5)
    usage = ask([Text("Hi.", usage=counts)])[0].usage
    assert Usage(input_uncached=56, input_cached=64, output=30, reasoning=5) == usage
    assert usage.total == 150
    assert usage.raw["prompt_tokens_details"]["cached_tokens"] == 64


def test_absent_usage_is_unknown() -> None:
    """A provider that does not count gives None, not the zeros litellm puts there."""
    usage = ask([Text("Hi.", usage=None)])[0].usage
    assert Usage() == usage
    assert usage.total is None


def test_cost_comes_from_the_price_given_else_is_unknown() -> None:
    """An unpriced model costs None; a price given by the caller is applied."""
    price = Price.per_million(2.0, 10.0)
    counts = Counts(prompt_tokens=1000, completion_tokens=100)
    assert ask([Text("Hi.", usage=counts)])[0].usage.cost_usd is None
    assert pytest.approx(0.003) == ask([Text("Hi.", usage=counts)], price=price)[0].usage.cost_usd
    assert (model_at("").price_known(), model_at("", price=price).price_known()) == (False, True)
    assert (model_at("").cost_of(10, 10), model_at("", price=price).cost_of(500, 0)) == (None, pytest.approx(0.001))


def test_rate_limit_is_waited_out() -> None:
    """A 429 with Retry-After costs one more request, at least that wait, and a note; the wait is not in `seconds`."""
    notes: list[RetryNote] = []
    reply, requests = ask([Status(429, retry_after=0.2), Text("Hi.")], on_retry=notes.append)
    assert len(requests) == 2
    assert reply.waited >= 0.2
    assert [(note.tries, note.wait, note.kind) for note in notes] == [(1, 0.2, "rate_limit")]


def test_retry_after_beyond_the_bound_ends_at_once() -> None:
    """A provider that asks for more patience than is allowed is not asked again."""
    error, requests = fail([Status(429, retry_after=600)], retry=RetryPolicy(total_seconds=120))
    assert (error.kind, error.status, error.retry_after, requests) == ("rate_limit", 429, 600.0, 1)


def test_server_errors_are_tried_again() -> None:
    """Two 500s and then a reply are three requests and one reply."""
    reply, requests = ask([Status(500), Status(500), Text("Hi.")])
    assert (reply.text, len(requests)) == ("Hi.", 3)
    assert reply.waited > 0


def test_a_server_that_keeps_failing_gets_exactly_the_allowed_tries() -> None:
    """Nobody but us retries: as many requests as attempts, then a ProviderError."""
    error, requests = fail([Status(503)] * 9)
    assert ("server", 503, HASTY.attempts) == (error.kind, error.status, requests)
    assert "after 4 tries" in error.message


def test_a_cut_connection_is_tried_again() -> None:
    """A connection that ends in the middle of a reply is the server's failure, not a refusal."""
    notes: list[RetryNote] = []
    reply, requests = ask([Cut(), Text("Hi.")], on_retry=notes.append)
    assert (reply.text, len(requests), [note.kind for note in notes]) == ("Hi.", 2, ["server"])


def test_a_slow_reply_is_a_timeout() -> None:
    """A reply later than the request's time-out is of kind timeout and is tried again."""
    ask([Text("Hi.")])  # a first call imports more of the library, which may take longer than this time-out
    request = Request(ASK.messages, timeout=1.5)
    error, requests = fail([Slow(60, Text("late"))] * 2, request, retry=RetryPolicy(attempts=2, first_wait=0.0))
    assert (error.kind, error.status, requests) == ("timeout", None, 2)


def test_a_refused_connection_is_told_and_not_tried_again() -> None:
    """Nothing listens there: kind refused, no retry, and a hint about the base URL."""
    notes: list[RetryNote] = []
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # taken, so that nobody else comes to listen there
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        with pytest.raises(ProviderError, match="Connect call failed") as caught:
            run(lambda: model_at(url, on_retry=notes.append).complete(ASK))
    assert (caught.value.kind, caught.value.status, notes) == ("refused", None, [])
    assert "base URL" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["openai/tiny", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"])
def test_a_missing_key_is_auth(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key the error is of kind auth, names the variable, and is not tried again."""
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    notes: list[RetryNote] = []
    with pytest.raises(ProviderError) as caught:
        run(lambda: LiteLLMModel(name, on_retry=notes.append).complete(ASK))
    assert (caught.value.kind, notes) == ("auth", [])
    assert "_API_KEY" in str(caught.value.hint)


def test_an_address_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local server is asked although no key is set."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with LoopbackServer([Text("Hi.")]) as server:
        model = LiteLLMModel("openai/tiny", api_base=server.base_url)
        assert run(lambda: model.complete(ASK)).text == "Hi."


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Status(400, body=TOO_LONG), "context"),
        (Status(400, body={"error": {"message": "your prompt mentions a rate limit"}}), "bad_request"),
        (Status(401, body={"error": {"message": "Incorrect API key"}}), "auth"),
        (Status(403), "auth"),
        (Status(404, body={"error": {"message": "no such model"}}), "bad_request"),
        (Status(429, body={"error": {"message": "out of credit", "code": "insufficient_quota"}}), "auth"),
    ],
)
def test_what_will_not_change_is_not_tried_again(answer: Status, kind: str) -> None:
    """The true HTTP status decides, not litellm's guess from the text, and the provider's words are quoted."""
    error, requests = fail([answer] * 2)
    assert (kind, answer.code, 1) == (error.kind, error.status, requests)
    if answer.body:
        assert answer.body["error"]["message"] in error.message


@pytest.mark.parametrize("body", ["nonsense", {}, {"choices": []}, {"choices": [{"index": 0, "message": None}]}])
def test_an_unreadable_reply_is_tried_again(body: Any) -> None:
    """A 200 that holds no reply is of kind bad_reply, and the next try may do."""
    notes: list[RetryNote] = []
    reply, requests = ask([Status(200, body=body), Text("Hi.")], on_retry=notes.append)
    assert (reply.text, len(requests), [note.kind for note in notes]) == ("Hi.", 2, ["bad_reply"])


def test_cancellation_passes_at_once() -> None:
    """A cancelled call is neither retried nor turned into a provider error."""

    async def cancelled() -> tuple[bool, int]:
        loop, asked = asyncio.get_running_loop(), asyncio.Event()

        def script(_: dict[str, Any]) -> Answer:
            loop.call_soon_threadsafe(asked.set)
            return Slow(60, Text("late"))

        with LoopbackServer(script) as server:
            task = asyncio.create_task(model_at(server.base_url).complete(ASK))
            await asked.wait()
            task.cancel()
            await asyncio.wait([task])
            return task.cancelled(), len(server.requests)

    assert run(cancelled) == (True, 1)


def test_a_malformed_past_call_and_a_lone_surrogate_can_be_sent() -> None:
    """What a model once wrote can always be sent back: arguments as a JSON object, text as UTF-8."""
    calls = (
        ToolCall("a", "bash", '{"command": '),
        ToolCall("b", "bash", "[1]"),
        ToolCall("c", "bash", '{"x": "\ud800"}'),
    )
    history = (*ASK.messages, Message("assistant", "\udcff", calls))
    answers = tuple(Message("tool", "no", tool_call_id=call.id) for call in calls)
    _, [sent] = ask([Text("Hi.")], Request((*history, *answers)))
    arguments = [call["function"]["arguments"] for call in sent["messages"][2]["tool_calls"]]
    assert arguments == ['{"malformed_arguments": "{\\"command\\": "}', '{"malformed_arguments": "[1]"}', '{"x": "?"}']


def test_two_models_have_two_scripts() -> None:
    """One server answers each model name from its own script."""

    async def both(url: str) -> list[str]:
        models = [LiteLLMModel(f"openai/{name}", api_base=url, api_key="loopback") for name in ("one", "two")]
        return [(await model.complete(ASK)).text for model in models]

    with LoopbackServer({"one": [Text("1")], "two": lambda request: Text(request["model"])}) as server:
        assert run(lambda: both(server.base_url)) == ["1", "two"]


def test_cache_marks_survive_litellms_translation() -> None:
    """Anthropic's own request carries the three marks: system, last tool, last message."""
    messages = (*ASK.messages, Message("assistant", "", (ToolCall("a", "bash", "{}"),)))
    messages = (*messages, Message("tool", "done", tool_call_id="a"))
    body = (
        load()
        .AnthropicConfig()
        .transform_request(
            model="claude-sonnet-4-5",
            messages=wire_messages(messages, cache=True),
            optional_params={"max_tokens": 10},
            litellm_params={},
            headers={},
        )
    )
    [tool], _ = load().AnthropicConfig()._map_tools(wire_tools((BASH,), cache=True))
    mark = {"type": "ephemeral"}
    marked = [body["system"][0], tool, body["messages"][-1]["content"][-1]]
    assert [mark] * 3 == [one["cache_control"] for one in marked]
    assert str(body).count("cache_control") == 2


def test_an_unknown_provider_is_told_with_the_nearest() -> None:
    """A misspelt provider is found before anything is spent."""
    assert "did you mean 'openai'" in str(unknown_provider("opnai/gpt-4o"))
    assert unknown_provider("openai/anything") is None


def test_closing_connections_leaves_models_usable() -> None:
    """After the connections were closed the next call opens new ones."""

    async def twice(url: str) -> list[str]:
        model = model_at(url)
        first = (await model.complete(ASK)).text
        await close_connections()
        return [first, (await model.complete(ASK)).text]

    with LoopbackServer([Text("1"), Text("2")]) as server:
        assert run(lambda: twice(server.base_url)) == ["1", "2"]
