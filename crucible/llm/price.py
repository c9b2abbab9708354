"""What a call costs. A price that is not known is None, never 0."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, Self

from crucible.llm._litellm import price_map
from crucible.transcript.messages import Usage

_LOCAL = ("ollama", "ollama_chat", "lemonade", "lm_studio", "llamafile", "hosted_vllm")
_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token. Without a price of their own, cached and cache-written tokens cost what input costs.

    `above` is (n, price): a request of more than n input tokens is billed wholly at that other price.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    above: tuple[int, Price] | None = None

    @classmethod
    def per_million(
        cls, tokens_in: float, tokens_out: float, *, cached: float | None = None, cache_write: float | None = None
    ) -> Self:
        """A price as price lists give it, in US dollars for a million tokens."""
        return cls(
            tokens_in / 1e6,
            tokens_out / 1e6,
            None if cached is None else cached / 1e6,
            None if cache_write is None else cache_write / 1e6,
        )

    def at(self, input_tokens: int) -> Price:
        """The price a request with that many input tokens is billed at."""
        return self.above[1].at(input_tokens) if self.above and input_tokens > self.above[0] else self


def cost_usd(usage: Usage, price: Price | None) -> float | None:
    """US dollars of one call; None when the price, the input or the output is unknown."""
    if price is None or usage.input_uncached is None or usage.output is None:
        return None
    cached, written = usage.input_cached or 0, usage.cache_write or 0
    rate = price.at(usage.input_uncached + cached + written)
    return (
        usage.input_uncached * rate.input
        + cached * (rate.input if rate.cached is None else rate.cached)
        + written * (rate.input if rate.cache_write is None else rate.cache_write)
        + usage.output * rate.output
    )


def most_usd(input_tokens: int, output_tokens: int, price: Price | None) -> float | None:
    """The most a call of that size can cost in US dollars: nothing cached, or all of it written to the cache."""
    if price is None:
        return None
    rate = price.at(input_tokens)
    return input_tokens * max(rate.input, rate.cache_write or 0.0) + output_tokens * rate.output


@cache
def known_price(model: str) -> Price | None:
    """The list price of a model from litellm's bundled map.

    None when the map does not have it, prices it by something else than tokens, or says 0 for a model that
    does not run locally.
    """
    entry = _entry(model)
    if entry is None or "tiered_pricing" in entry:
        return None
    price = _price(entry)
    free = price is not None and price.input == price.output == 0
    return None if free and entry.get("litellm_provider") not in _LOCAL else price


def nearest_priced(model: str, count: int = 3) -> list[str]:
    """Names of priced models that look like this one, closest first."""
    known = {_spelling(name): name for name in price_map() if known_price(name) is not None}
    close = get_close_matches(_spelling(model), known, n=count, cutoff=0.6)
    bare = get_close_matches(_spelling(model.rpartition("/")[2]), known, n=count, cutoff=0.6)
    return list(dict.fromkeys(known[name] for name in (*bare, *close)))[:count]


def _entry(model: str) -> dict[str, Any] | None:
    prices = price_map()
    prefix, slash, rest = model.partition("/")
    if model in prices or not slash:
        return prices.get(model)
    entry = prices.get(rest)
    # The same name at another host is another price.
    return entry if entry and str(entry.get("litellm_provider")).startswith(prefix) else None


def _price(entry: dict[str, Any], suffix: str = "") -> Price | None:
    def rate(kind: str) -> float | None:
        value = entry.get(f"{kind}{suffix}", entry.get(kind))
        return float(value) if isinstance(value, int | float) and value >= 0 else None

    spent, made = rate("input_cost_per_token"), rate("output_cost_per_token")
    if spent is None or made is None:
        return None
    cached, written = rate("cache_read_input_token_cost"), rate("cache_creation_input_token_cost")
    return Price(spent, made, cached, written, above=None if suffix else _above(entry))


def _above(entry: dict[str, Any]) -> tuple[int, Price] | None:
    above: tuple[int, Price] | None = None
    for thousands in sorted((int(found[1]) for key in entry if (found := _TIER.fullmatch(key))), reverse=True):
        price = _price(entry, f"_above_{thousands}k_tokens")
        if price is not None:
            above = (thousands * 1000, Price(price.input, price.output, price.cached, price.cache_write, above))
    return above


def _spelling(name: str) -> str:
    return name.lower().replace(".", "-").replace("_", "-")
