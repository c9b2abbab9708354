"""The recorded cases beside the checkout, and how each one is put to our compatibility modes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from crucible.scoring.trajectory import Call
from crucible.scoring.trajectory.compat import (
    Scored,
    adk,
    agentevals,
    deepeval,
    promptfoo,
    pydantic_evals,
    ragas,
    strands,
    tau2,
)
from tests.beside import BESIDE

ORACLE = BESIDE / "oracle" / "trajectory"
FORMATS = BESIDE / "formats"
FILES = ("agentevals", "deepeval", "strands", "adk", "pydantic_evals", "promptfoo", "ragas", "tau", "tau_actions")

Case = dict[str, Any]


def cases(name: str) -> list[Case]:
    """The cases of one file, none when the folder is not beside the checkout."""
    file = ORACLE / f"{name}.json"
    return json.loads(file.read_text("utf-8"))["cases"] if file.exists() else []


def calls(listed: list[Mapping[str, Any]]) -> list[Call]:
    """Calls as the files write them; `args` left out are none."""
    return [Call(one["tool"], one.get("args"), ok=not one.get("failed", False)) for one in listed]


def openai_messages(messages: Any) -> Any:
    """The files' short messages as OpenAI chat messages."""
    return None if messages is None else [_openai_message(message) for message in messages]


def _openai_message(message: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message["role"], "content": message["text"]}
    if "calls" in message:
        listed = message["calls"]
        out["tool_calls"] = None if listed is None else [_openai_call(call) for call in listed]
    return out


def _openai_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": call["tool"], "arguments": json.dumps(call["args"])}
    return {"type": "function", "id": "1", "function": function}


def _function(spec: Mapping[str, Any]) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    key, values = spec.get("key", ""), spec.get("values", ())
    word = spec.get("word", "")
    return {
        "both_in": lambda one, other: one[key] in values and other[key] in values,
        "if_ref_contains_then_actual_contains": lambda one, other: word not in other[key] or word in one[key],
        "const": lambda _one, _other: spec["value"],
        "first_arg_has_key": lambda one, _other: key in one,
    }[spec["$fn"]]


def _agentevals(case: Case) -> Scored:
    params = case["params"]
    overrides = {
        tool: _function(rule) if isinstance(rule, dict) else rule for tool, rule in params.get("overrides", {}).items()
    }
    sides = [case[side] if case.get("raw_openai") else openai_messages(case[side]) for side in ("actual", "expected")]
    return Scored(agentevals.trajectory_match(*sides, params["mode"], params["args_mode"], overrides))


def _deepeval(case: Case) -> Scored:
    params = case["params"]
    sides = [
        [deepeval.ToolCall(**{**one, "args": one.get("args")}) for one in case[side]] for side in ("actual", "expected")
    ]
    given = {name: params[name] for name in ("exact", "ordering", "threshold", "strict_mode")}
    return deepeval.tool_correctness(*sides, params["compare"], **given)


def _strands(case: Case) -> Scored:
    if case["fn"] == "tool_called":
        return strands.tool_called(case["actual"], case["expected"])
    score = {"exact": strands.exact_match, "in_order": strands.in_order_match, "any_order": strands.any_order_match}
    return Scored(score[case["fn"]](case["actual"], case["expected"]))


def _adk(case: Case) -> Scored:
    actual, expected = ([calls(turn) for turn in case[side]] for side in ("actual", "expected"))
    return adk.tool_trajectory(actual, expected, **case["params"])


def _pydantic_evals(case: Case) -> Scored:
    actual, expected, params = calls(case["actual"]), case["expected"], case["params"]
    if case["fn"] == "argument_correctness":
        return pydantic_evals.argument_correctness(actual, expected["tool"], expected["args"], **params)
    return getattr(pydantic_evals, case["fn"])(actual, expected, **params)


def _promptfoo(case: Case) -> Scored:
    return promptfoo.assertion(case["fn"], calls(case["actual"]), case["value"], case.get("threshold", 1))


def _ragas(case: Case) -> Scored:
    return Scored(getattr(ragas, case["fn"])(calls(case["actual"]), calls(case["expected"]), **case["params"]))


def _tau(case: Case) -> Scored:
    return Scored(tau2.pass_hat_k(case["params"]["n"], case["params"]["c"], case["params"]["k"]))


def _tau_actions(case: Case) -> Scored:
    wanted = [tau2.Action(one["tool"], one["args"], one.get("compare")) for one in case["expected"]]
    return tau2.action_checks(calls(case["actual"]), wanted)


PUT: dict[str, Callable[[Case], Scored]] = {
    "agentevals": _agentevals,
    "deepeval": _deepeval,
    "strands": _strands,
    "adk": _adk,
    "pydantic_evals": _pydantic_evals,
    "promptfoo": _promptfoo,
    "ragas": _ragas,
    "tau": _tau,
    "tau_actions": _tau_actions,
}
