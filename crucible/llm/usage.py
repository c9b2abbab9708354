"""Tokens of a call, read from what the provider said. Unknown stays None."""

from __future__ import annotations

import math
from typing import Any

from crucible.transcript.messages import Usage

_MOST = 10**12
"""A count above it is none: no call has so many tokens, and sums of such counts could not be stored."""


def read_usage(raw: Any, *, answered: bool) -> Usage:
    """The tokens of one call from litellm's usage object, or from its dict.

    litellm's prompt tokens include cached and cache-written ones for every provider, so the uncached rest is
    the difference, never below 0. It also fills counts that the provider left out with 0: an input of 0
    tokens, and an output of 0 for a reply that says something (`answered`), are therefore unknown, not zero.
    """
    said = json_safe(raw if isinstance(raw, dict) else _dump(raw))
    prompt = _count(said, "prompt_tokens") or None
    output = _count(said, "completion_tokens")
    if output == 0 and (answered or prompt is None):
        output = None
    if prompt is None and output is None:
        return Usage()
    cached = _first(_count(_details(said, "prompt"), "cached_tokens"), _count(said, "cache_read_input_tokens"))
    written = _cache_write(said)
    return Usage(
        input_uncached=None if prompt is None else max(0, prompt - (cached or 0) - (written or 0)),
        input_cached=cached,
        cache_write=written,
        output=output,
        reasoning=_count(_details(said, "completion"), "reasoning_tokens"),
        raw=said,
    )


def json_safe(value: Any, levels: int = 20) -> Any:
    """The value as JSON can hold it: what is not finite, or nests deeper than any usage does, is dropped to None.

    What is not JSON becomes its text.
    """
    if isinstance(value, dict | list | tuple) and not levels:
        return None
    if isinstance(value, dict):
        return {str(key): json_safe(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(item, levels - 1) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _cache_write(said: dict[str, Any]) -> int | None:
    details = _details(said, "prompt")
    return _first(
        _count(said, "cache_creation_input_tokens"),
        _count(details, "cache_creation_tokens"),
        _count(details, "cache_write_tokens"),
    )


def _dump(raw: Any) -> dict[str, Any]:
    return dict(raw.model_dump(exclude_none=True)) if hasattr(raw, "model_dump") else {}


def _details(said: dict[str, Any], side: str) -> dict[str, Any]:
    found = said.get(f"{side}_tokens_details")
    return found if isinstance(found, dict) else {}


def _count(said: dict[str, Any], key: str) -> int | None:
    value = said.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST else None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
