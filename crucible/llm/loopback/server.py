"""The server: scripts by model, what was asked of it, and its life."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from crucible.errors import nearest
from crucible.llm.loopback.http import Http
from crucible.llm.loopback.script import Answer, Script, as_function, failure


@dataclass(frozen=True, slots=True)
class Heard:
    """A request as it arrived. `headers` are by their names in lower case; `body` is its bytes."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class LoopbackServer:
    """The server, as a context manager, on a free port. One script for all models, or one for each model name.

    Model names are as on the wire: `tiny` for a model called `openai/tiny`.
    """

    def __init__(self, script: Script | Mapping[str, Script]) -> None:
        scripts = dict(script) if isinstance(script, Mapping) else {"": script}
        self._next = {model: as_function(model, one) for model, one in scripts.items()}
        self._lock = threading.Lock()
        self._requests: list[dict[str, Any]] = []
        self._heard: list[Heard] = []
        self.numbers = itertools.count(1)
        self.closing = threading.Event()
        self._http = Http(("127.0.0.1", 0), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="crucible-loopback")

    @property
    def root_url(self) -> str:
        """What to give a client of Anthropic's dialect as its base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def base_url(self) -> str:
        """What to give a client of OpenAI's dialects as its base URL (`api_base`)."""
        return f"{self.root_url}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the model calls so far, in order of arrival."""
        with self._lock:
            return list(self._requests)

    @property
    def heard(self) -> list[Heard]:
        """All requests so far, also those that are no model calls."""
        with self._lock:
            return list(self._heard)

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

    def hear(self, heard: Heard) -> None:
        """Keep a request."""
        with self._lock:
            self._heard.append(heard)

    def answer(self, request: dict[str, Any]) -> Answer:
        """Record a model call and take the next answer of its model's script."""
        model = str(request.get("model"))
        with self._lock:
            self._requests.append(request)
            take = self._next.get(model) or self._next.get("")
            return take(request) if take else failure(404, f"no script for model '{model}'{nearest(model, self._next)}")
