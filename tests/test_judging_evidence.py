"""What a judge is shown: the digest of a transcript, and everything fitted to the room there is."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.judging.blinding import Blinder, Secrets
from crucible.judging.digest import digest
from crucible.judging.evidence import LEAST_BUDGET, fit
from crucible.judging.types import Evidence
from crucible.transcript.events import Answered, Decided, Ended, Event, Noted, Replied, Started

EVIDENCE = Evidence(
    "Fix the discount.", "+    return raw * (1 - pct)", "8 passed", "+    return raw * (1 - p)", "Turn 1"
)
SECRETS = Secrets(
    arms=("assisted", "baseline"), models=("openai/gpt-4o-mini",), servers=("ctx",), tools=("ctx__recall",)
)


# fitting


def test_what_fits_is_shown_whole() -> None:
    shown = fit(EVIDENCE, str)
    assert Evidence(*shown.texts) == EVIDENCE
    assert shown.cuts == ()


def test_empty_parts_are_said_to_be_empty() -> None:
    assert fit(Evidence("t", " \n", "r", "f", "d"), str).texts[1] == "(nothing was changed)"


def test_no_part_can_push_another_out() -> None:
    shown = fit(Evidence(*[letter * 100_000 for letter in "abcde"]), str, 20_000)
    assert [text[0] for text in shown.texts] == ["a", "b", "c", "d", "e"]
    assert len(shown.cuts) == 5
    assert all(len(text) > 1_900 for text in shown.texts)


def test_room_left_over_goes_to_the_change_before_the_digest() -> None:
    shown = fit(Evidence("t", "c" * 8_900, "r", "f", "d" * 8_900), str, 10_000)
    assert [part.cut for part in shown.parts] == [False, False, False, False, True]


def test_less_room_than_can_be_judged_by_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2000 characters"):
        fit(EVIDENCE, str, LEAST_BUDGET - 1)


@given(st.lists(st.integers(0, 9_000), min_size=5, max_size=5), st.integers(LEAST_BUDGET, 12_000))
def test_the_budget_is_never_exceeded_and_only_cut_parts_are_shorter(sizes: list[int], budget: int) -> None:
    shown = fit(Evidence(*["x" * size for size in sizes]), str, budget)
    assert sum(map(len, shown.texts)) <= budget
    assert [size for size in sizes if size] == [
        part.total for part, size in zip(shown.parts, sizes, strict=True) if size
    ]
    assert all(part.cut == (len(part.text) < part.total) for part in shown.parts)


def test_a_name_is_hidden_before_anything_is_cut() -> None:
    shown = fit(Evidence("t", "openai/gpt-4o-mini " * 2_000, "r", "f", "d"), Blinder(SECRETS), 5_000)
    assert not re.findall(r"gpt|openai|mini", shown.texts[1])


# digest

RESULT = "Traceback: baseline failed\n" + "line\n" * 3_000 + "final line"
REPLIED = Replied(
    at=1,
    turn=1,
    text="I am GPT-4o.\nTurn 7",
    text_size=20,
    tool_calls=({"id": "1", "name": "bash", "raw_arguments": "{"},),
    input_uncached=1,
    input_cached=None,
    cache_write=None,
    output=1,
    reasoning=None,
    cost_usd=0.1234,
    raw_usage={},
    seconds=1,
    waited_seconds=0,
)
ANSWERED = Answered(
    at=2, turn=1, call_id="1", tool="bash", arguments=None, ok=False, text="not JSON", text_size=8, seconds=0
)
EVENTS: list[Event] = [
    Started(at=0, turn=0, system_prompt="SECRET PROMPT", task="task", tools=("bash",), first_request_sha256="0"),
    REPLIED,
    ANSWERED,
    ANSWERED.model_copy(
        update={"call_id": "2", "tool": "ctx__recall", "arguments": {"topic": "x\nbaseline"}, "ok": True}
        | {"text": RESULT, "exit_code": 0}
    ),
    ANSWERED.model_copy(update={"call_id": "3", "arguments": {}, "text": "", "timed_out": True}),
    Decided(at=2, turn=1, call_id="2", policy_id="P1", action="block", detail="tests/"),
    Noted(at=3, turn=1, what="cost", detail="0.1234 USD so far"),
    Ended(at=4, turn=1, ending="completed", cause="agent", detail="cost 0.1234"),
]


def test_the_digest_tells_the_story_turn_by_turn_and_nothing_that_is_hidden() -> None:
    text = digest(EVENTS, blind=Blinder(SECRETS))
    expected = [
        "Turn 1",
        "says:",
        "  | I am model.",
        "  | Turn 7",
        "calls bash with:",
        "  | {",
        "result, error:",
        "  | not JSON",
        "calls tool_1 with:",
        r'  | {"topic": "x\nagent"}',
        "result, ok (exit code 0):",
        "  | Traceback: agent failed",
    ]
    assert expected == text.split("\n")[1:13]
    assert text.split("\n")[-4:] == ["result, timed out:", "  | ", "policy P1: block", "Ended: completed"]
    assert not re.findall(r"(?i)SECRET PROMPT|0\.1234|gpt|baseline|ctx", text)


def test_a_tighter_budget_shortens_texts_but_drops_no_turn_and_says_so() -> None:
    wide, tight = (digest(EVENTS, room, blind=Blinder(SECRETS)) for room in (40_000, 1_500))
    assert len(tight) <= 1_500 < len(wide)
    assert tight.split("\n")[0] == "Texts longer than 500 characters are shown by their head and tail."
    assert "characters left out ...]" in tight
    assert "  | final line" in tight


@pytest.mark.slow
def test_a_digest_too_long_at_its_shortest_is_cut_and_reported_by_the_fitting() -> None:
    text = digest(EVENTS * 100, 1_000, blind=str)
    assert len(text) > 1_000
    cuts = fit(replace(EVIDENCE, digest=text), str, 5_000).cuts
    assert [cut.split(":")[0] for cut in cuts] == ["transcript digest"]


def test_a_digest_of_nothing_is_its_heading() -> None:
    assert len(digest([], blind=str).split("\n")) == 1
