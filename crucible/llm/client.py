"""A model behind litellm: one request, one reply, our retries, the provider's own count of tokens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from crucible.errors import ProviderError, nearest
from crucible.llm import estimate
from crucible.llm._litellm import call_errors, is_loaded, load, load_seconds
from crucible.llm.errors import as_provider_error
from crucible.llm.keys import keys_of, missing_key
from crucible.llm.price import Price, cost_usd, known_price, most_usd
from crucible.llm.retry import PATIENT, RetryNote, RetryPolicy, with_retries
from crucible.llm.types import Reply, Request
from crucible.llm.usage import read_usage
from crucible.llm.wire import (
    read_text,
    read_tool_calls,
    takes_cache_marks,
    wire_messages,
    wire_schema,
    wire_tools,
)
from crucible.redaction import guard


class LiteLLMModel:
    """A Model that litellm reaches; `name` is litellm's `provider/model`.

    `api_base` and `api_key` replace the provider's own address and environment variable. `price` is for models
    whose list price is not known. `on_retry` is told of every try that failed and will be made again.
    Nothing but what a request says is sent: no temperature, no seed.
    """

    def __init__(
        self,
        name: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        price: Price | None = None,
        retry: RetryPolicy = PATIENT,
        on_retry: Callable[[RetryNote], None] | None = None,
    ) -> None:
        self.name = name
        self._api_base = api_base
        self._api_key = api_key
        self._price = price
        self._retry = retry
        self._on_retry = on_retry
        guard([api_key, *keys_of(name)])

    async def complete(self, request: Request) -> Reply:
        """Answer a request. Raises ProviderError when no answer could be had within the retries allowed.

        The seconds the library takes to load, once, count as waited.
        """
        loading = load_seconds()
        reply, waited = await with_retries(lambda: self._try(request), self._retry, self._on_retry)
        return replace(reply, waited=loading + waited)

    def price(self) -> Price | None:
        """The price of its tokens: the one given, else the list price, else None."""
        return self._price or known_price(self.name)

    def price_known(self) -> bool:
        """Whether a call's cost can be told."""
        return self.price() is not None

    def cost_of(self, input_tokens: int, output_tokens: int) -> float | None:
        """What a call of that size costs at most, in US dollars; None when the price is unknown."""
        return most_usd(input_tokens, output_tokens, self.price())

    def estimate_tokens(self, request: Request) -> int:
        """A cheap upper guess of the input tokens of a request."""
        return estimate.estimate_tokens(request)

    def _arguments(self, request: Request) -> dict[str, Any]:
        cache = takes_cache_marks(self.name)
        optional = {
            "tools": wire_tools(request.tools, cache=cache) or None,
            "max_tokens": request.max_output_tokens,
            "response_format": self._response_format(request),
            "api_base": self._api_base,
            "api_key": self._api_key or self._no_key(),
        }
        return {
            "model": self.name,
            "messages": wire_messages(request.messages, cache=cache),
            "timeout": request.timeout,
            # Both are needed for one request a call: left alone, a 500 is sent three times behind our back.
            "num_retries": 0,
            "max_retries": 0,
            **{key: value for key, value in optional.items() if value is not None},
        }

    def _no_key(self) -> str | None:
        """A word in place of a key at an address of one's own: the client library refuses to ask without any."""
        return "none" if self._api_base and missing_key(self.name) else None

    def _response_format(self, request: Request) -> dict[str, Any] | None:
        """None also where the provider takes no schema: it would refuse the request, and the prompt asks as well."""
        takes = load().get_supported_openai_params(self.name) or () if request.response_schema else ()
        return wire_schema(request.response_schema) if request.response_schema and "response_format" in takes else None

    async def _try(self, request: Request) -> Reply:
        litellm, arguments = load(), self._arguments(request)
        started = time.monotonic()
        try:
            # litellm's time-out is for each read; this one is for the try.
            async with asyncio.timeout(request.timeout):
                raw = await litellm.acompletion(**arguments)
        except call_errors() as error:
            raise as_provider_error(error, self.name) from error
        return self._read(raw, request, time.monotonic() - started)

    def _read(self, raw: Any, request: Request, seconds: float) -> Reply:
        if not raw.choices:
            raise ProviderError(f"{self.name}: the provider's answer is empty", kind="bad_reply")
        message = raw.choices[0].message
        text = read_text(message.content)
        # Not finish_reason: some providers say "stop" beside tool calls.
        calls = read_tool_calls(message.tool_calls or (), request)
        usage = read_usage(getattr(raw, "usage", None), answered=bool(text or calls))
        usage = replace(usage, cost_usd=cost_usd(usage, self.price()))
        return Reply(text, calls, usage, raw.choices[0].finish_reason, seconds)


def unknown_provider(model: str) -> str | None:
    """One line about a model name that no provider answers to, with the nearest one; None when there is one."""
    litellm = load()
    try:
        litellm.get_llm_provider(model)
    except litellm.BadRequestError:
        known = [str(getattr(one, "value", one)) for one in litellm.provider_list]
        return f"no provider for model '{model}': a name is provider/model{nearest(model.partition('/')[0], known)}"
    return None


async def close_connections() -> None:
    """Close the connections that models have kept open; to be awaited before an event loop that used them ends."""
    if is_loaded():
        litellm = load()
        await litellm.close_litellm_async_clients()
        litellm.in_memory_llm_clients_cache.flush_cache()
