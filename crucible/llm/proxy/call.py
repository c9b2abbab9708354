"""One model call on its way: what came of it so far, told once when its outcome is certain."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from crucible.errors import ProviderError
from crucible.llm.errors import broken_off, http_error, retry_after
from crucible.llm.price import cost_usd
from crucible.llm.proxy.exchange import Asked, Exchange
from crucible.llm.proxy.ledger import Ledger
from crucible.llm.proxy.reader import ReplyReader
from crucible.llm.proxy.readers import reader
from crucible.llm.proxy.stream import Event, Events, parse_list, parse_object
from crucible.llm.proxy.upstream import Upstream
from crucible.redaction import redact_bytes
from crucible.transcript.messages import Usage

_ADDED = "stream_options.include_usage was added to the request, and the count taken out of the reply again"
_TAKEN = "tools that the provider runs were taken out of the request, as the scenario has no network: {}"


class Call:
    """A call that was admitted. Bytes of the reply go in, bytes for the agent come out.

    `taken` names what was taken out of the request; `asked` is without it.
    """

    def __init__(self, asked: Asked, upstream: Upstream, ledger: Ledger, taken: tuple[str, ...] = ()) -> None:
        self.asked, self._taken = asked, taken
        self.status: int | None = None
        self.error: str | None = None
        self._upstream, self._ledger = upstream, ledger
        self._reader: ReplyReader = reader(asked.dialect)
        self._events = Events()
        self._started = time.monotonic()
        self._told = False
        self._count_added = asked.dialect == "chat" and asked.streamed and not _wants_count(asked.body)

    def sent(self) -> dict[str, Any] | None:
        """The body to send in place of the agent's; None when the agent's own will do."""
        if not self._count_added:
            return self.asked.body if self._taken else None
        options = self.asked.body.get("stream_options")
        counted = {**(options if isinstance(options, dict) else {}), "include_usage": True}
        return {**self.asked.body, "stream_options": counted}

    def take(self, chunk: bytes) -> bytes:
        """What to pass on of a stream once this has come. Its end is accounted before it is passed on."""
        return self._passed(self._events.feed(chunk))

    def rest(self) -> bytes:
        """What to pass on at the end of a stream, which is the end of the call."""
        passed = self._passed([self._events.rest()])
        if not self._reader.finished and self._reader.finish_reason is None and self._reader.error is None:
            self.broke("the stream ended before the reply did")
        self.end()
        return passed

    def whole(self, raw: bytes, headers: Mapping[str, str]) -> bytes:
        """What to pass on of a reply that is not a stream, which is the end of the call."""
        failed = self.status is not None and self.status >= 300
        bodies = [body] if (body := parse_object(raw)) is not None else parse_list(raw)
        if failed:
            self._refused(bodies[0] if bodies else {}, raw, headers)
        elif not bodies:
            self.broke("the reply is not JSON")
        for one in bodies if not failed else ():
            self._reader.whole(one)
        self.end()
        return redact_bytes(raw)

    def broke(self, error: BaseException | str) -> None:
        """The provider failed to answer, or in the middle of its answer."""
        self._fail(broken_off(self._upstream.model, error))

    def end(self, hung_up: str | None = None) -> None:
        """Tell of the call; only the first time counts. An agent may hang up once it has all it wants to know."""
        if self._told:
            return
        if self._reader.error is not None:  # said in a reply that had begun well
            self.broke(self._reader.error)
        if self._reader.finish_reason is None:
            self.error = self.error or hung_up
        self._told = True
        self._ledger.tell(self._exchange())

    def _exchange(self) -> Exchange:
        read = self._reader
        return Exchange(
            self.asked,
            self.status,
            text=read.text,
            tool_calls=read.tool_calls(),
            usage=self._usage(),
            seconds=time.monotonic() - self._started,
            finish_reason=read.finish_reason,
            answered_by=read.model,
            error=self.error,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        added = (_ADDED,) if self._count_added else ()
        return (*added, *([_TAKEN.format(", ".join(self._taken))] if self._taken else []))

    def _usage(self) -> Usage:
        usage = self._reader.usage()
        if self._reader.unpriced:
            return usage
        price = self._upstream.price(self.asked.model, self._reader.model)
        return replace(usage, cost_usd=cost_usd(usage, price))

    def _passed(self, events: Iterable[Event]) -> bytes:
        passed = bytearray()
        for event in events:
            self._reader.event(event)
            if not self._is_added_count(event):
                passed += event.raw
        if self._reader.finished:
            self.end()
        return redact_bytes(bytes(passed))

    def _is_added_count(self, event: Event) -> bool:
        data = event.data
        return self._count_added and data is not None and data.get("choices") == [] and bool(data.get("usage"))

    def _refused(self, body: dict[str, Any], raw: bytes, headers: Mapping[str, str]) -> None:
        self._reader.refused(body.get("error") or body.get("message") or raw.decode("utf-8", "replace"))
        wait = retry_after({name.lower(): value for name, value in headers.items()}, datetime.now(UTC))
        words = self._reader.error or ""
        if "insufficient_quota" in raw.decode("utf-8", "replace"):
            words = f"{words} (insufficient_quota)"
        self._fail(http_error(self._upstream.model, self.status or 0, words, wait))

    def _fail(self, error: ProviderError) -> None:
        if not self._told and self.error is None:
            self.error = error.message
            self._ledger.failed(error)


def _wants_count(body: dict[str, Any]) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True
