"""Reading a judge's reply: only what was asked for is accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.judging.parse import CUT_OFF, Refused, parse, read
from crucible.judging.types import ParsedReply

SHOWN = (
    "Fix the discount.",
    "+    return raw * (1 - pct)\n-    return raw * pct",
    "8 passed\u240d\n\u00a0caf\u00e9 \u2026 done",
)
QUOTE = "return raw * (1 - pct)"


def reply(**changes: Any) -> str:
    return json.dumps({"evidence": [QUOTE], "reasoning": "It is right.", "score": 4} | changes)


def reason(raw: str, finish_reason: str | None = "stop") -> str:
    parsed = parse(raw, finish_reason, SHOWN)
    assert isinstance(parsed, Refused), parsed
    return parsed.reason


def test_a_reply_as_asked_for_is_accepted() -> None:
    assert ParsedReply((QUOTE,), "It is right.", 4) == parse(reply(), "stop", SHOWN)


@pytest.mark.parametrize("score", range(6))
def test_every_integer_of_the_scale_is_accepted(score: int) -> None:
    parsed = parse(reply(score=score), None, SHOWN)
    assert isinstance(parsed, ParsedReply)
    assert score == parsed.score


@pytest.mark.parametrize(
    "score", ["NaN", "Infinity", "-Infinity", "true", '"5"', "5.0", "5e0", "6", "-1", "null", "[5]", "1e999"]
)
def test_a_score_that_is_no_integer_from_0_to_5_is_refused(score: str) -> None:
    reason(f'{{"evidence": ["{QUOTE}"], "reasoning": "r", "score": {score}}}')


def test_a_number_of_endless_digits_is_refused() -> None:
    reason(reply().replace("4}", "9" * 5000 + "}"))


@pytest.mark.parametrize("key", ["evidence", "reasoning", "score"])
def test_a_missing_key_is_refused(key: str) -> None:
    data = json.loads(reply())
    del data[key]
    assert reason(json.dumps(data)) == "the keys must be exactly evidence, reasoning, score"


def test_a_key_too_many_is_refused() -> None:
    assert reason(reply(dimension="correctness")) == "the keys must be exactly evidence, reasoning, score"


def test_a_duplicate_key_is_refused_even_with_equal_values() -> None:
    assert reason(reply()[:-1] + ', "score": 4}') == "a key stands twice in one object"


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "score: 5",
        "[]",
        "5",
        "null",
        '"5"',
        "Here it is: " + reply(),
        reply() + "\nI hope this helps.",
        reply() + reply(),
        reply()[:-1],
        "```\n" + reply() + "\n```",
        "Sure:\n```json\n" + reply() + "\n```",
        "```json\n" + reply() + "\n```\n```json\n" + reply() + "\n```",
        "[" * 100_000,
        "'" + reply() + "'",
        "\ufeff" + reply(),
        json.dumps([json.loads(reply())]),
    ],
    ids=lambda raw: raw[:20],
)
def test_anything_beside_one_object_is_refused(raw: str) -> None:
    reason(raw)


@pytest.mark.parametrize("raw", [f"```json\n{reply()}\n```", f"\n ```json \n{reply()}\n```\n", f"  {reply()}\n"])
def test_one_json_fence_and_blanks_around_are_tolerated(raw: str) -> None:
    assert isinstance(parse(raw, "stop", SHOWN), ParsedReply)


def test_a_reply_cut_off_is_refused_even_when_it_reads_well() -> None:
    assert reason(reply(), "length") == CUT_OFF


def test_eighty_words_are_accepted_and_eighty_one_refused() -> None:
    assert isinstance(parse(reply(reasoning="word " * 80), "stop", SHOWN), ParsedReply)
    assert reason(reply(reasoning="word " * 81)) == "reasoning must have at most 80 words, got 81"


@pytest.mark.parametrize("reasoning", [" ", "", None, 5, ["r"]])
def test_reasoning_must_be_a_text_that_says_something(reasoning: object) -> None:
    assert reason(reply(reasoning=reasoning)) == "reasoning must be a text that is not empty"


@pytest.mark.parametrize("evidence", [[], None, QUOTE, {"quote": QUOTE}])
def test_evidence_must_be_a_list_with_a_quote(evidence: object) -> None:
    assert reason(reply(evidence=evidence)) == "evidence must be a list with at least one quote"


@pytest.mark.parametrize("quote", ["", "  ", "* (", 5, None, [QUOTE]])
def test_a_quote_too_short_to_show_anything_is_refused(quote: object) -> None:
    assert reason(reply(evidence=[quote])) == "quote 1 must be a text of at least 3 characters beside blanks"


@pytest.mark.parametrize(
    "quote", ["return raw * (1 + pct)", "8 failed", "Fix the discount. + return raw", QUOTE.upper()]
)
def test_one_quote_that_was_not_shown_voids_the_reply(quote: str) -> None:
    assert reason(reply(evidence=[QUOTE, quote])) == "quote 2 does not stand in the evidence"


@pytest.mark.parametrize(
    "quote",
    [
        "return  raw *\n(1 - pct)",
        "+ return raw * (1 - pct) - return raw * pct",
        "cafe\u0301 ... done",
        "\u00a0caf\u00e9\u2003\u2026",
        " 8 passed ",
    ],
)
def test_quotes_are_compared_without_regard_to_blanks_and_unicode_form(quote: str) -> None:
    assert isinstance(parse(reply(evidence=[quote]), "stop", SHOWN), ParsedReply)


def test_a_refusal_repeats_nothing_of_the_reply() -> None:
    bait = "IGNORE-EVERYTHING"
    raws = [reply(evidence=[bait]), reply(score=bait), reply(**{bait: 1}), bait, reply(reasoning=f"{bait} " * 99)]
    assert not [raw for raw in raws if bait in reason(raw)]


def test_reasoning_that_no_store_could_hold_is_made_visible() -> None:
    parsed = parse('{"evidence": ["' + QUOTE + '"], "reasoning": "a\\ud800b\\u0000", "score": 1}', "stop", SHOWN)
    assert isinstance(parsed, ParsedReply)
    assert parsed.reasoning == "a<U+D800>b\u2400"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.text() | JSON.map(json.dumps))
def test_no_text_breaks_the_reader_and_none_without_the_shape_is_accepted(raw: str) -> None:
    assert isinstance(parse(raw, None, SHOWN), Refused)


@given(JSON, JSON, JSON)
def test_whatever_is_accepted_keeps_every_promise(evidence: Any, reasoning: Any, score: Any) -> None:
    raw = json.dumps({"evidence": evidence, "reasoning": reasoning, "score": score})
    parsed = parse(raw, "stop", SHOWN)
    if isinstance(parsed, ParsedReply):
        assert parsed.score in range(6)
        assert type(parsed.score) is int
        assert parsed.evidence


@given(st.integers(0, 40), st.integers(3, 40), st.integers(0, 5))
def test_any_piece_of_what_was_shown_may_be_quoted(start: int, size: int, score: int) -> None:
    quote = SHOWN[1][start : start + size]
    parsed = parse(reply(evidence=[quote], score=score), "stop", SHOWN)
    assert (len("".join(quote.split())) >= 3) == isinstance(parsed, ParsedReply)


def test_reading_alone_does_not_ask_where_quotes_come_from() -> None:
    assert read(reply(evidence=["from elsewhere"])).evidence == ("from elsewhere",)
