"""How an attempt by an agent CLI ended, and whose fault that was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crucible.agents.external.endings import Seen, ending_of, has_failed
from crucible.agents.types import Ending
from crucible.errors import Cause, HarnessError, ProviderError
from crucible.transcript.neutral import NeutralRun

DONE = NeutralRun(calls=(), final_text="It is done.", complete=True, stop="end_turn")
CUT = NeutralRun(calls=(), complete=False, valid=False, reason="cut off: no result")
FAILED = NeutralRun(calls=(), complete=False, valid=False, stop="error", reason="ended by error: overloaded")
TURNS = Ending("budget_turns", Cause.BUDGET, "3 of 3 turns used")
CLOCK = Ending("budget_time", Cause.BUDGET, "its time was up")
SEEN = Seen("claude-code 2.1", asked=3, answered=3, exit_code=0, run=DONE)
DOWN = ProviderError("the provider failed", kind="server", status=500)


def ended(seen: Seen) -> tuple[str, Cause]:
    ending = ending_of(seen)
    return ending.what, ending.cause


def test_an_agent_that_ended_by_itself_is_finished_with_its_answer() -> None:
    assert Ending("finished", Cause.AGENT, "It is done.") == ending_of(SEEN)


@pytest.mark.parametrize("run", [None, CUT], ids=["no reader", "cut off"])
def test_a_transcript_that_cannot_be_read_does_not_take_the_end_away(run: NeutralRun | None) -> None:
    assert ("finished", Cause.AGENT) == ended(replace(SEEN, run=run))


def test_exit_code_0_with_an_error_in_the_transcript_is_not_finished() -> None:
    assert ("agent_error", Cause.AGENT) == ended(replace(SEEN, run=FAILED))
    assert "overloaded" in ending_of(replace(SEEN, run=FAILED)).detail


def test_a_bad_exit_code_counts_when_the_model_was_asked() -> None:
    seen = replace(SEEN, exit_code=3, run=CUT, said="Traceback: boom")
    assert Ending("agent_failed", Cause.AGENT, "(exit code 3); it said: Traceback: boom") == ending_of(seen)


def test_a_signal_is_told_as_one() -> None:
    assert "(ended by signal 9)" in ending_of(replace(SEEN, exit_code=-9, run=None)).detail


def test_a_limit_of_the_sandbox_is_named_where_it_ended_the_agent() -> None:
    assert ("limit_memory", Cause.AGENT) == ended(replace(SEEN, exit_code=-9, run=CUT, limit="memory"))
    assert ("finished", Cause.AGENT) == ended(replace(SEEN, limit="memory"))


@pytest.mark.parametrize(
    ("cap", "what"),
    [("turns", "budget_turns"), ("spend", "budget_cost"), ("time", "budget_time"), ("tokens", "budget_tokens")],
)
@pytest.mark.parametrize("exit_code", [0, 1, 53])
def test_a_cap_the_agent_reports_is_its_budget_whatever_its_exit_code(cap: str, what: str, exit_code: int) -> None:
    run = NeutralRun(calls=(), complete=False, cap=cap, stop="max_turns")
    assert (what, Cause.BUDGET) == ended(replace(SEEN, exit_code=exit_code, run=run))


def test_a_loop_that_the_agent_saw_itself_is_no_budget() -> None:
    run = NeutralRun(calls=(), complete=False, cap="loop", stop="loop detected")
    assert ("agent_error", Cause.AGENT) == ended(replace(SEEN, run=run))


def test_a_call_refused_for_the_budget_is_the_ending_whatever_the_agent_makes_of_it() -> None:
    for exit_code, run in ((0, DONE), (1, FAILED), (None, CUT)):
        assert TURNS == ending_of(replace(SEEN, refused=TURNS, exit_code=exit_code, run=run))


def test_the_clock_is_the_ending_of_an_agent_that_was_stopped() -> None:
    assert CLOCK == ending_of(replace(SEEN, stopped=CLOCK, exit_code=None, run=CUT))


def test_a_provider_whose_last_word_was_no_is_at_fault_before_the_clock_and_the_exit_code() -> None:
    for seen in (replace(SEEN, exit_code=1), replace(SEEN, stopped=CLOCK, exit_code=None), replace(SEEN, answered=0)):
        with pytest.raises(ProviderError, match="the provider failed"):
            ending_of(replace(seen, failed=DOWN))


def test_a_conversation_too_long_is_the_budget_s_end() -> None:
    full = ProviderError("too long", kind="context", status=400)
    assert ("context_full", Cause.BUDGET) == ended(replace(SEEN, failed=full, exit_code=1))


def test_an_agent_that_never_asked_does_not_count_and_says_why() -> None:
    seen = replace(SEEN, asked=0, answered=0, exit_code=1, run=None, said="no licence found")
    with pytest.raises(
        HarnessError, match=r"claude-code 2.1 never asked its model \(exit code 1\); it said: no licence"
    ):
        ending_of(seen)
    with pytest.raises(HarnessError, match=r"never asked its model; it was ended: its time was up; it said nothing"):
        ending_of(replace(seen, exit_code=None, stopped=CLOCK, said=""))


def test_a_budget_too_small_for_a_first_call_is_the_budget_s_end() -> None:
    assert TURNS == ending_of(replace(SEEN, answered=0, asked=1, refused=TURNS, exit_code=1))


def test_a_first_reply_slower_than_the_clock_is_the_budget_s_end() -> None:
    assert CLOCK == ending_of(replace(SEEN, asked=1, answered=0, exit_code=None, stopped=CLOCK, run=None))


def test_an_agent_that_hung_up_on_every_reply_does_not_count() -> None:
    with pytest.raises(HarnessError, match="broke off every model call"):
        ending_of(replace(SEEN, asked=2, answered=0, exit_code=0))


def test_only_a_transcript_that_says_so_has_failed() -> None:
    assert [True, False, False] == [has_failed(run) for run in (FAILED, CUT, DONE)]
