"""Whatever run comes: it is scored, twice the same, and never green by what is not known."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from crucible.scoring.trajectory import (
    UNKNOWN,
    Call,
    Caps,
    Dimension,
    Expectation,
    ExpectedCall,
    NeutralRun,
    NeutralTokens,
    Order,
    State,
    overall,
    score_run,
    verdict_line,
)

names = st.sampled_from(["archive_ticket", "mcp__b__archive_ticket", "delete_ticket", "look"])
args = st.dictionaries(st.sampled_from(["id", "at"]), st.sampled_from(["T-1", "T-2", 1, True, None, ["T-3"], {"x": 1}]))
maybe = st.sampled_from([True, False, None])
calls = st.lists(
    st.builds(
        Call,
        names,
        args | st.just(UNKNOWN) | st.none(),
        ok=maybe,
        result=st.sampled_from([None, "", "T-1", {"ok": 1}]),
        parent=st.sampled_from([None, "p"]),
        executed=maybe,
        raw_args=st.sampled_from([None, "{bad"]),
    ),
    max_size=5,
).map(tuple)
texts = st.sampled_from(["", "Archived T-1 and T-2.", "T-1 could not be archived", "Deleted T-2"]) | st.text(
    max_size=30
)
counts = st.none() | st.integers(0, 3)
runs = st.builds(
    NeutralRun,
    st.none() | calls,
    texts | st.none() | st.just(UNKNOWN),
    complete=maybe,
    stop=st.sampled_from([None, "end"]),
    turns=counts,
    tokens=st.none() | st.builds(NeutralTokens, input=counts, output=counts),
    valid=st.booleans(),
    tool_counts=st.none() | st.dictionaries(names, st.integers(0, 3)),
    denied=calls,
    unseen=st.sampled_from([None, None, "not printed"]),
)
some = st.lists(st.sampled_from(["archive_ticket", "look"]), max_size=3).map(tuple)
expectations = st.builds(
    Expectation,
    expect_tool=some,
    forbid_tool=st.sampled_from([(), ("delete_ticket",)]),
    expect_args=st.lists(st.builds(ExpectedCall, names, args), max_size=3).map(tuple),
    expect_order=st.none() | st.sampled_from(Order),
    expect_contains=st.sampled_from([(), ("T-1",)]),
    forbid_contains=st.sampled_from([(), ("Deleted",)]),
    recovers_from=st.sampled_from([(), ("*",), ("look",)]),
    caps=st.builds(Caps, turns=counts, tokens=counts, calls=counts),
)


@given(expectations, runs)
def test_every_run_is_scored_on_every_dimension_and_summed_up_in_one_line(asked: Expectation, run: NeutralRun) -> None:
    results = score_run(asked, run)
    assert list(Dimension) == list(results)
    assert results == score_run(asked, run)
    line = verdict_line(results)
    assert line.startswith(f"{overall(results).value}: ")
    assert all(result.detail for result in results.values() if result.state is not State.NOT_ASKED)


@given(expectations, runs)
def test_a_run_that_does_not_count_is_neither_green_nor_red(asked: Expectation, run: NeutralRun) -> None:
    results = score_run(asked, replace(run, valid=False))
    assert {result.state for result in results.values()} <= {State.UNKNOWN, State.NOT_ASKED}
    assert State.UNKNOWN is overall(results)


@given(expectations, runs)
def test_forgetting_what_was_called_never_turns_a_run_green(asked: Expectation, run: NeutralRun) -> None:
    blind = replace(run, calls=None, tool_counts=None)
    of_calls = (
        Dimension.RIGHT_TOOL,
        Dimension.FORBIDDEN_EXECUTED,
        Dimension.ARGUMENTS,
        Dimension.ORDER,
        Dimension.RECOVERY,
    )
    states = {score_run(asked, blind)[name].state for name in of_calls}
    assert State.PASS not in states


@given(expectations, runs)
def test_seeing_less_never_turns_a_run_green_or_red(asked: Expectation, run: NeutralRun) -> None:
    seen, unseen = (score_run(asked, replace(run, unseen=why)) for why in (None, "not printed"))
    for name, result in unseen.items():
        by_counts = run.tool_counts is not None
        assert by_counts or result.state in (seen[name].state, State.UNKNOWN)


@given(expectations, runs)
def test_a_forbidden_call_that_ran_is_always_red(asked: Expectation, run: NeutralRun) -> None:
    more = (*(run.calls or ()), Call("mcp__b__delete_ticket", {}, executed=True, parent="p"))
    wanted = replace(asked, forbid_tool=("delete_ticket",))
    assert State.FAIL is overall(score_run(wanted, replace(run, calls=more, valid=True)))
