"""What every request and every answer passes: who may ask, and what a browser may do with what it gets.

A page on another site must not read this one (DNS rebinding: the Host header is checked) or write through it (a POST needs
the page's own origin; forms carry the token besides). A browser runs nothing but the scripts of this package.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})
POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_READING = frozenset({"GET", "HEAD"})


class Guard:
    """ASGI middleware. `hosts` are names, besides the loopback ones, under which the site may be asked for."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str] = (), read_only: bool = True) -> None:
        self.app = app
        self.hosts = LOCAL | {host.lower() for host in hosts}
        self.read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on and add the headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if "cache-control" not in headers:
                    headers["Cache-Control"] = "no-store"
            await send(message)

        if (refusal := self._refusal(scope)) is not None:
            status, why = refusal
            await PlainTextResponse(f"{why}\n", status)(scope, receive, guarded)
            return
        await self.app(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if _name(host) not in self.hosts:
            return 421, f"this site is not called {host[:80]!r}; open it as http://127.0.0.1:PORT"
        if scope["method"] in _READING:
            return None
        if scope["method"] != "POST":
            return 405, "only GET, HEAD and POST are understood"
        if self.read_only:
            return 403, "this site is read-only; start it with: crucible ui --writable"
        if not _own(headers.get("origin"), host):
            return 403, "a form is only taken from this site itself"
        return None


def same_token(given: str | None, token: str) -> bool:
    """Whether a form carries the token of this start, compared in constant time."""
    return hmac.compare_digest((given or "").encode(), token.encode())


def _name(host: str) -> str:
    """The host without its port; an IPv6 address keeps its brackets."""
    return host.rsplit(":", 1)[0] if not host.endswith("]") and ":" in host else host


def _own(origin: str | None, host: str) -> bool:
    return origin is not None and urlsplit(origin).netloc.lower() == host
