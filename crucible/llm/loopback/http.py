"""The server's HTTP: one request a connection, bodies or server-sent events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from crucible.llm.dialects import Dialect, Route, error_body, route
from crucible.llm.loopback import anthropic, chat, gemini, responses
from crucible.llm.loopback.said import SSE, Said, encoded, said
from crucible.llm.loopback.script import Answer, Cut, Slow, Status, Text, failure

if TYPE_CHECKING:
    from crucible.llm.loopback.server import LoopbackServer

_BODY: dict[Dialect, Callable[[Said], dict[str, Any]]] = {
    "chat": chat.body,
    "anthropic": anthropic.body,
    "responses": responses.body,
    "gemini": gemini.body,
}
_EVENTS: dict[Dialect, Callable[[Said, dict[str, Any]], Iterator[SSE]]] = {
    "chat": chat.events,
    "anthropic": anthropic.events,
    "responses": responses.events,
    "gemini": gemini.events,
}
_CUT = Text("This reply is cut off before its end.", usage=None)


class Http(ThreadingHTTPServer):
    """Listens; a thread for each connection."""

    # Not daemons: closing joins every handler, so no socket outlives the server.
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], loopback: LoopbackServer) -> None:
        super().__init__(address, _Handler)
        self.loopback = loopback


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout: ClassVar[float] = 5.0  # seconds for a client that connects and says nothing
    server: Http

    def do_HEAD(self) -> None:
        self._take()

    def do_GET(self) -> None:
        self._take()

    def do_POST(self) -> None:
        self._take()

    def _take(self) -> None:
        from crucible.llm.loopback.server import Heard

        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.loopback.hear(Heard(self.command, self.path, headers, raw))
        found = route(self.command, urlsplit(self.path).path, headers)
        if found is None:
            self._answer({}, failure(404, f"nothing at {self.path}"), Route("call", "chat"))
        elif found.kind in ("hello", "list"):
            self._send(200, self._models() if found.kind == "list" else {})
        else:
            self._asked(found, raw)

    def _models(self) -> dict[str, Any]:
        names = self.server.loopback.models()
        return {
            "object": "list",
            "data": [{"id": name, "object": "model"} for name in names],
            "models": [{"name": f"models/{name}"} for name in names],
        }

    def _asked(self, found: Route, raw: bytes) -> None:
        try:
            request = json.loads(raw)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            return self._answer({}, failure(400, "the body is not a JSON object"), found)
        if found.kind == "count":
            return self._send(200, _count(found.dialect, len(raw)))
        if found.model:
            request.setdefault("model", found.model)
        return self._answer(request, self.server.loopback.answer(request), found)

    def _answer(self, request: dict[str, Any], answer: Answer, found: Route) -> None:
        while isinstance(answer, Slow):
            self.server.loopback.closing.wait(answer.seconds)
            answer = answer.then
        if isinstance(answer, Status):
            body = error_body(found.dialect, answer.code, "as the script says") if answer.body is None else answer.body
            return self._send(answer.code, body, retry_after=answer.retry_after)
        cut = isinstance(answer, Cut)
        reply = said(_CUT if isinstance(answer, Cut) else answer, str(request.get("model")), self._number())
        if found.streamed or request.get("stream"):
            return self._stream(list(_EVENTS[found.dialect](reply, request)), cut=cut)
        return self._send(200, _BODY[found.dialect](reply), cut=cut)

    def _number(self) -> int:
        return next(self.server.loopback.numbers)

    def _send(self, code: int, body: Any, *, retry_after: float | str | None = None, cut: bool = False) -> None:
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        if retry_after is not None:
            headers["Retry-After"] = str(retry_after)
        sent = data[: len(data) // 2] if cut else data
        self._write(code, headers, [] if self.command == "HEAD" else [sent])

    def _stream(self, events: list[SSE], *, cut: bool) -> None:
        chunks = [b"%x\r\n%s\r\n" % (len(data), data) for event in events if (data := encoded(event))]
        sent = chunks[: len(chunks) // 2] if cut else [*chunks, b"0\r\n\r\n"]
        self._write(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}, sent)

    def _write(self, code: int, headers: dict[str, str], parts: Iterable[bytes]) -> None:
        # A client that gave up waiting is part of what this server is for.
        with suppress(ConnectionError):
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            # One request a connection: an idle one that is kept alive would hold up closing.
            self.send_header("Connection", "close")
            self.end_headers()
            for part in parts:
                self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Nothing: a server that talks on stderr spoils the output of what is tried with it."""


def _count(dialect: Dialect, size: int) -> dict[str, Any]:
    return {"totalTokens": size // 4} if dialect == "gemini" else {"input_tokens": size // 4}
