"""The trajectory scorers of eight libraries, as they are, quirks included: one module each.

    agentevals      create_trajectory_match_evaluator, trajectory_match
    deepeval        tool_correctness
    strands         exact_match, in_order_match, any_order_match, tool_called
    adk             tool_trajectory
    pydantic_evals  trajectory_match, tool_correctness, argument_correctness, max_tool_calls
    promptfoo       assertion
    ragas           tool_call_accuracy, tool_call_f1
    tau2            action_checks, communicated, pass_hat_k

They need none of these libraries. Each gives the result that the version named in its module gives. Where a library
raises, so does its module: a `CompatibilityError` that carries the name of the library's error.
"""

from crucible.scoring.trajectory.compat.common import CompatibilityError, Scored

__all__ = ["CompatibilityError", "Scored"]
