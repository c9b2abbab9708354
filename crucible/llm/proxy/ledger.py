"""What has been asked and answered so far, and whether more may be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from crucible.errors import CrucibleError, ProviderError
from crucible.llm.dialects import Route
from crucible.llm.proxy.exchange import Asked, Exchange, Trouble

_STRAYS = 100
_STRAY_CHARACTERS = 200


@dataclass
class Ledger:
    """The account of one proxy; `admit` and `seen` are those of ModelProxy, `failure` what one of them raised."""

    admit: Callable[[int], str | None]
    seen: Callable[[Exchange], None]
    first: Asked | None = None
    failure: CrucibleError | None = None
    strays: dict[str, None] = field(default_factory=dict)
    _calls: int = 0
    _answered: int = 0
    _failures: int = 0
    _since: int = 0
    _last: ProviderError | None = None

    def asked(self, route: Route, body: dict[str, Any]) -> Asked:
        """Number a request, and keep it if it is the first of its kind."""
        self._calls += 1
        model = route.model or str(body.get("model") or "")
        asked = Asked(self._calls, route.dialect, model, body, route.streamed or body.get("stream") is True)
        if self.first is None or (body.get("tools") and not self.first.body.get("tools")):
            self.first = asked
        return asked

    def refusal(self, asked: Asked, tokens: int) -> str | None:
        """Why a request may not be made, told of as its exchange; None when it may."""
        try:
            why = self.admit(tokens) if self.failure is None else "the attempt is over"
        except CrucibleError as error:
            self.failure, why = error, "the attempt is over"
        if why is not None:
            self.tell(Exchange(asked, None, error=why, refused=True))
        return why

    def tell(self, exchange: Exchange) -> None:
        """Pass on an exchange that is over."""
        self._answered += exchange.answered
        self._since += exchange.answered
        try:
            self.seen(exchange)
        except CrucibleError as error:
            self.failure = self.failure or error

    def failed(self, error: ProviderError) -> None:
        """Keep a failure of the provider."""
        self._failures, self._since, self._last = self._failures + 1, 0, error

    def turned_away(self, method: str, path: str, status: int) -> None:
        """Keep what was asked and not passed on."""
        if len(self.strays) < _STRAYS:
            self.strays[f"{method[:16]} {path[:_STRAY_CHARACTERS]} {status}"] = None

    def trouble(self) -> Trouble | None:
        """See ModelProxy."""
        return None if self._last is None else Trouble(self._last, self._failures, self._answered, self._since)
