"""A small OpenAI-compatible server on 127.0.0.1 that answers from a script.

For tests, and for trying Crucible without a provider::

    with LoopbackServer([Calls([("bash", {"command": "ls"})]), Text("done")]) as server:
        model = LiteLLMModel("openai/tiny", api_base=server.base_url, api_key="loopback")

It speaks `POST /v1/chat/completions` (not streamed) and `GET /v1/models`, nothing else, and asks for no key.
A script that has run out, and a model that has none, are answered with an error that is not retried.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

from crucible.errors import nearest


@dataclass(frozen=True, slots=True)
class Counts:
    """The usage of one answer, in tokens. Cached ones are part of the prompt's, reasoning ones of the completion's."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The `usage` object of the wire format; a count that is None is left out."""
        usage: dict[str, Any] = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
        }
        if self.cached_tokens is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": self.cached_tokens}
        if self.reasoning_tokens is not None:
            usage["completion_tokens_details"] = {"reasoning_tokens": self.reasoning_tokens}
        return usage


SOME = Counts(prompt_tokens=100, completion_tokens=10)
"""The usage of an answer that says nothing about it."""


@dataclass(frozen=True, slots=True)
class Text:
    """A plain reply. `usage=None` leaves the usage out, as some servers do."""

    text: str | None
    usage: Counts | None = SOME
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class Calls:
    """A reply with tool calls: (name, arguments), arguments as an object or as the raw text to send.

    `ids` are the call ids to send, None for an id left empty; without it they are unique over the server's life.
    """

    calls: Sequence[tuple[str, Mapping[str, Any] | str]]
    text: str = ""
    usage: Counts | None = SOME
    ids: Sequence[str | None] | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error. `retry_after` is sent as the header: seconds, or text such as an HTTP date."""

    code: int
    retry_after: float | str | None = None
    body: Any = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Half a reply, then the connection is closed."""


@dataclass(frozen=True, slots=True)
class Slow:
    """`then`, after `seconds`; closing the server ends the wait."""

    seconds: float
    then: Answer


Answer = Text | Calls | Status | Cut | Slow
Script = Sequence[Answer] | Callable[[dict[str, Any]], Answer]
"""Answers in order, or a function from the request's body to its answer; it is called by one thread at a time."""


class LoopbackServer:
    """The server, as a context manager, on a free port. One script for all models, or one for each model name.

    Model names are as on the wire: `tiny` for a model called `openai/tiny`.
    """

    def __init__(self, script: Script | Mapping[str, Script]) -> None:
        scripts = dict(script) if isinstance(script, Mapping) else {"": script}
        self._next = {model: _as_function(model, one) for model, one in scripts.items()}
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._requests: list[dict[str, Any]] = []
        self.closing = threading.Event()
        self._http = _Http(("127.0.0.1", 0), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="crucible-loopback")

    @property
    def base_url(self) -> str:
        """What to give a client as its `api_base`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests so far, in order of arrival."""
        with self._lock:
            return list(self._requests)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def models(self) -> list[str]:
        """The model names that have a script of their own."""
        return [model for model in self._next if model]

    def answer(self, request: dict[str, Any]) -> Answer:
        """Record a request and take the next answer of its model's script."""
        model = str(request.get("model"))
        with self._lock:
            self._requests.append(request)
            take = self._next.get(model) or self._next.get("")
            return take(request) if take else _error(404, f"no script for model '{model}'{nearest(model, self._next)}")

    def completion(self, request: dict[str, Any], answer: Text | Calls) -> dict[str, Any]:
        """The body of a successful reply."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if isinstance(answer, Calls):
            message["tool_calls"] = [*self._tool_calls(answer)]
        reason = "tool_calls" if isinstance(answer, Calls) else answer.finish_reason
        body: dict[str, Any] = {
            "id": f"chatcmpl-{next(self._ids)}",
            "object": "chat.completion",
            "created": 0,
            "model": request.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        }
        return body if answer.usage is None else body | {"usage": answer.usage.as_json()}

    def _tool_calls(self, answer: Calls) -> Iterable[dict[str, Any]]:
        ids = answer.ids if answer.ids is not None else [f"call_{next(self._ids)}" for _ in answer.calls]
        for call_id, (name, arguments) in zip(ids, answer.calls, strict=True):
            raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
            yield {"id": call_id, "type": "function", "function": {"name": name, "arguments": raw}}


def _as_function(model: str, script: Script) -> Callable[[dict[str, Any]], Answer]:
    if callable(script):
        return script
    answers = iter(script)
    used = len(script)
    spent = _error(400, f"the loopback script{f' of {model}' if model else ''} has run out after {used} answers")
    return lambda _request: next(answers, spent)


def _error(code: int, message: str) -> Status:
    return Status(code, body={"error": {"message": message, "type": "loopback", "code": None}})


class _Http(ThreadingHTTPServer):
    # Not daemons: closing joins every handler, so no socket outlives the server.
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], loopback: LoopbackServer) -> None:
        super().__init__(address, _Handler)
        self.loopback = loopback


class _Handler(BaseHTTPRequestHandler):
    # HTTP/1.0, one request a connection: an idle kept-alive connection would hold up closing.
    protocol_version = "HTTP/1.0"
    timeout: ClassVar[float] = 5.0  # seconds for a client that connects and says nothing
    server: _Http

    def do_GET(self) -> None:
        models = [{"id": model, "object": "model"} for model in self.server.loopback.models()]
        found = self.path.rstrip("/") == "/v1/models"
        self._send(200 if found else 404, {"object": "list", "data": models} if found else {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.rstrip("/") != "/v1/chat/completions":
            return self._respond({}, _error(404, f"nothing at {self.path}"))
        try:
            request = json.loads(body)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            return self._respond({}, _error(400, "the body is not a JSON object"))
        if request.get("stream"):
            return self._respond({}, _error(400, "replies are not streamed here"))
        return self._respond(request, self.server.loopback.answer(request))

    def _respond(self, request: dict[str, Any], answer: Answer) -> None:
        while isinstance(answer, Slow):
            self.server.loopback.closing.wait(answer.seconds)
            answer = answer.then
        if isinstance(answer, Cut):
            return self._send(200, {"choices": "x" * 100}, cut=True)
        if isinstance(answer, Status):
            return self._send(answer.code, answer.body, retry_after=answer.retry_after)
        return self._send(200, self.server.loopback.completion(request, answer))

    def _send(self, code: int, body: Any, *, retry_after: float | str | None = None, cut: bool = False) -> None:
        data = json.dumps(body).encode()
        # A client that gave up waiting is part of what this server is for.
        with suppress(ConnectionError):
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if retry_after is not None:
                self.send_header("Retry-After", str(retry_after))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if cut else data)

    def log_message(self, *_: object) -> None:
        """Nothing: a server that talks on stderr spoils the output of what is tried with it."""
