"""One object with `tools`, the names of the tools called in order, beside the answer in `result`.

The simplest thing a wrapper around an agent can print. Arguments and results are not in it. An entry may also be an
object with `name` and, where known, `args`. Printing it at all is the end of the run; a bad exit code takes that back.
"""

from __future__ import annotations

from typing import Any

from crucible.transcript.neutral import UNKNOWN, NeutralRun
from crucible.transcript.readers.draft import Draft
from crucible.transcript.readers.scan import Scan
from crucible.transcript.readers.values import amount, count, given, mapping, text


def claims(value: Any) -> bool:
    """An object with a list of tools that is no event of some stream."""
    run = mapping(value)
    return isinstance(run.get("tools"), list) and not {"type", "kind", "messages"} & run.keys()


def read(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its one object."""
    draft = Draft(scan, exit_code, calls=None, final_text=UNKNOWN, heed_damage=False)
    runs = [value for value in scan.events() if claims(value)]
    if len(runs) > 1:
        draft.invalid(f"{len(runs)} objects in one output: that is more than one run")
    for run in runs[-1:]:
        draft.calls = []
        for entry in run["tools"]:
            _call(draft, entry)
        draft.final_text = text(run["result"]) if "result" in run else UNKNOWN
        draft.turns = count(run.get("num_turns"))
        draft.cost_usd = amount(run.get("total_cost_usd"))
        if run.get("is_error"):
            draft.end_failed("error", f"ended by an error: {text(run.get('result')) or 'no reason given'}")
        else:
            draft.end(None)
    return draft.close(None)


def _call(draft: Draft, entry: Any) -> None:
    """One entry. It is listed because it was called; that it went well is this format's word, for want of another."""
    call = {"name": entry} if isinstance(entry, str) else mapping(entry)
    index = draft.ask(call.get("name"), given(call, "args"))
    draft.settle(index, not call.get("is_error", False), call.get("result"))
