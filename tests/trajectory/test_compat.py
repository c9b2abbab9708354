"""What the recorded cases do not show of the compatibility modes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from crucible.scoring.trajectory import UNKNOWN, Call
from crucible.scoring.trajectory.compat import (
    CompatibilityError,
    adk,
    agentevals,
    deepeval,
    promptfoo,
    pydantic_evals,
    tau2,
)


def message(*calls: tuple[str, Any], role: str = "assistant") -> dict[str, Any]:
    listed = [{"function": {"name": tool, "arguments": json.dumps(args)}} for tool, args in calls]
    return {"role": role, "content": None, "tool_calls": listed}


def test_agentevals_result_has_the_librarys_shape_and_the_input_is_left_alone() -> None:
    made = [message(("a", {"x": 1}))]
    before = copy.deepcopy(made)
    evaluate = agentevals.create_trajectory_match_evaluator(trajectory_match_mode="unordered")
    found = evaluate(outputs=made, reference_outputs={"messages": made}, inputs="left aside")
    assert {"key": "trajectory_unordered_match", "score": True, "comment": None, "metadata": None} == found
    assert before == made


def test_agentevals_reads_calls_in_langchains_shape_too() -> None:
    theirs = {"role": "ai", "content": "", "tool_calls": [{"name": "a", "args": {"x": 1}, "id": "1"}]}
    assert agentevals.trajectory_match([theirs], [message(("a", {"x": 1.0}))])


def test_agentevals_knows_wrong_modes_before_it_looks_at_a_message() -> None:
    for wrong in ({"trajectory_match_mode": "ordered"}, {"tool_args_match_mode": "partial"}):
        with pytest.raises(CompatibilityError) as caught:
            agentevals.create_trajectory_match_evaluator(**wrong)  # type: ignore[arg-type]  # what is wrong is the point
        assert "ValueError" == caught.value.name


def test_an_error_carries_the_librarys_name_and_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="JSONDecodeError: Expecting") as caught:
        agentevals.trajectory_match([{"role": "ai", "tool_calls": [{"function": {"name": "a", "arguments": "{"}}]}], [])
    assert "JSONDecodeError" == caught.value.name  # type: ignore[attr-defined]  # a CompatibilityError has it


@pytest.mark.parametrize("written", ["IN_ORDER", "in order", "In-Order", " in_order "])
def test_adk_match_types_may_be_written_in_any_way(written: str) -> None:
    turn, more = [Call("a", {})], [Call("a", {}), Call("b", {})]
    assert 1.0 == adk.tool_trajectory([more], [turn], written).score
    with pytest.raises(CompatibilityError):
        adk.tool_trajectory([more], [turn], "sideways")


def test_deepeval_takes_the_first_of_two_that_are_equally_good() -> None:
    called = [deepeval.ToolCall("a", {"x": 1, "y": 0}), deepeval.ToolCall("a", {"x": 1, "y": 9})]
    wanted = [deepeval.ToolCall("a", {"x": 1, "y": 5}), deepeval.ToolCall("a", {"x": 1, "y": 0})]
    assert 0.5 == deepeval.tool_correctness(called, wanted, ["args"]).score


def test_pydantic_evals_says_why_arguments_cannot_be_compared() -> None:
    hidden = pydantic_evals.argument_correctness([Call("a", UNKNOWN)], "a", {})
    unread = pydantic_evals.argument_correctness([Call("a", None, raw_args="{x")], "a", {})
    assert "not available in span" in str(hidden.reason)
    assert "could not be parsed as JSON" in str(unread.reason)
    never_ran = [Call("a", {}, executed=False)]
    assert 0 == pydantic_evals.max_tool_calls(never_ran, 0).score - 1


def test_promptfoo_refuses_an_assertion_it_does_not_know() -> None:
    with pytest.raises(CompatibilityError, match="Unknown assertion type: trajectory:goal"):
        promptfoo.assertion("trajectory:goal", [], "x")


def test_tau2_finds_facts_without_case_and_commas_in_one_message() -> None:
    found = tau2.communicated(["It costs $1,250.", "Refund TOMORROW"], ["1250", "tomorrow", "costs tomorrow"])
    assert (0.0, (1.0, 1.0, 0.0)) == (found.score, found.parts)
    assert 1.0 == tau2.communicated([], []).score


def test_tau2_has_no_estimate_for_more_trials_than_there_were() -> None:
    with pytest.raises(CompatibilityError, match="less than k"):
        tau2.pass_hat_k(3, 3, 4)
