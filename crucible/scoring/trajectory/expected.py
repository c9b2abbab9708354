"""A call that is expected, and how calls are written out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from crucible.scoring.trajectory.arguments import ArgsRule
from crucible.scoring.trajectory.values import show
from crucible.transcript.neutral import UNKNOWN, Arguments, NeutralCall


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that should be made. Without `args` any will do; `rule` says how they are compared, None leaves it open.

    `succeeds`: a call that answered with an error does not do.
    """

    tool: str
    args: Arguments = UNKNOWN
    rule: ArgsRule | None = None
    succeeds: bool = False


def show_call(call: NeutralCall | ExpectedCall) -> str:
    """A call on one line: `archive_ticket(ticket_id="T-481")`; `(…)` stands for arguments that are not known.

    An expected call that leaves its arguments open is its name alone.
    """
    if isinstance(call.args, Mapping):
        inner = ", ".join(f"{name}={show(value)}" for name, value in call.args.items())
    elif call.args is None:
        inner = (
            f"unreadable: {show(call.raw_args)}" if isinstance(call, NeutralCall) and call.raw_args else "unreadable"
        )
    elif isinstance(call, ExpectedCall):
        return call.tool
    else:
        inner = "…"
    return f"{call.tool}({inner})"
