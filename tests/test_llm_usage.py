"""Usage: what providers say about tokens, read without counting twice and without making anything up."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.llm.estimate import estimate_tokens
from crucible.llm.types import Request
from crucible.llm.usage import json_safe, read_usage
from crucible.transcript.messages import Message, ToolCall, ToolSpec, Usage

ANTHROPIC = {
    "prompt_tokens": 1184,
    "completion_tokens": 30,
    "prompt_tokens_details": {"cached_tokens": 64},
    "cache_creation_input_tokens": 1000,
    "cache_read_input_tokens": 64,
}
counts = st.one_of(st.none(), st.integers(-5, 10**7), st.booleans(), st.floats(), st.text(max_size=3))


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        ({"prompt_tokens": 120, "completion_tokens": 30}, Usage(120, output=30)),
        (ANTHROPIC, Usage(120, 64, 1000, 30)),
        (
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cache_write_tokens": 4}},
            Usage(5, None, 4, 1),
        ),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(0, 9)),
        ({"prompt_tokens": 5, "completion_tokens": "7", "prompt_tokens_details": "?"}, Usage(5)),
        ({"prompt_tokens": 10**30, "completion_tokens": 1}, Usage(output=1)),
    ],
)
def test_input_is_split_into_uncached_cached_and_written(raw: dict[str, Any], usage: Usage) -> None:
    """Prompt tokens include the cached and the written ones; what is not a count is unknown."""
    assert read_usage(raw, answered=True) == usage


@pytest.mark.parametrize("raw", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, "?"])
def test_nothing_said_is_unknown(raw: Any) -> None:
    """An absent usage, which litellm shows as zeros, is None in every field."""
    assert read_usage(raw, answered=True) == read_usage(raw, answered=False) == Usage()


def test_an_output_of_zero_is_believed_only_of_an_empty_reply() -> None:
    """A reply that says something was not made of 0 tokens: the provider left the count out."""
    raw = {"prompt_tokens": 5, "completion_tokens": 0}
    assert read_usage(raw, answered=True).output is None
    assert read_usage(raw, answered=False).output == 0


@given(prompt=counts, output=counts, cached=counts, written=counts, answered=st.booleans())
def test_no_count_is_negative_and_raw_is_json(
    prompt: Any, output: Any, cached: Any, written: Any, answered: bool
) -> None:
    """Whatever a server sends: counts are None or not negative, and what is kept can be stored as strict JSON."""
    raw = {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "prompt_tokens_details": {"cached_tokens": cached},
        "cache_creation_input_tokens": written,
    }
    usage = read_usage(raw, answered=answered)
    fields = (usage.input_uncached, usage.input_cached, usage.cache_write, usage.output, usage.total)
    assert all(one is None or (type(one) is int and one >= 0) for one in fields)
    json.dumps(usage.raw, allow_nan=False)


def test_json_safe_drops_what_is_not_finite_and_names_what_is_not_json() -> None:
    """NaN becomes null; an object becomes its text; the rest stays."""
    assert json_safe({1: [math.nan, 1.5, True], "x": (math.inf, b"y")}) == {"1": [None, 1.5, True], "x": [None, "b'y'"]}


def test_the_estimate_counts_every_part_of_a_request() -> None:
    """Text, past calls, tools and the schema each make a request bigger; three bytes are at most one token."""
    text = Message("user", "é" * 300)
    base = Request((text,))
    assert estimate_tokens(base) >= 200
    call = Message("assistant", "", (ToolCall("a", "bash", '{"command": "ls"}'),))
    bigger = [
        Request((text, call)),
        Request((text,), tools=(ToolSpec("bash", "Runs a command.", {"type": "object"}),)),
        Request((text,), response_schema={"type": "object"}),
    ]
    assert all(estimate_tokens(one) > estimate_tokens(base) for one in bigger)
    assert estimate_tokens(Request((Message("user", "\ud800"),))) > 0


def test_usage_that_nests_without_end_is_cut_and_costs_no_count() -> None:
    """A provider's odd details neither crash an attempt nor hide what was counted."""
    details: dict[str, Any] = {}
    for _ in range(5000):
        details = {"in": details}
    usage = read_usage({"prompt_tokens": 5, "completion_tokens": 1, "odd": details}, answered=True)
    assert Usage(5, output=1) == usage
    assert len(json.dumps(usage.raw)) < 1000
