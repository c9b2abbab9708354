"""What a frozen failure asserts about a run, ready to be held against one."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from crucible.scoring.trajectory.expected import ExpectedCall
from crucible.scoring.trajectory.match import Order

ANY_TOOL = "*"
"""In `recovers_from`: errors of whatever tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The most a run may use, each None for no limit. Reaching a limit is within it.

    `calls` are tool calls, `turns` and `tokens` as the format counts them, `cost_usd` US dollars, `seconds` wall clock.
    """

    calls: int | None = None
    turns: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None

    def asked(self) -> dict[str, float]:
        """The limits there are, by name."""
        pairs = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: limit for name, limit in pairs if limit is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The assertions of one scenario; what is empty or None is not asked.

    `expect_tool`      tools that have to be called; one that is listed twice, twice
    `forbid_tool`      tools that must not be called, by the agent or by any sub-agent
    `expect_args`      calls that have to be made with these arguments; others may be made too
    `expect_order`     what the order may be, of `expect_args` or else of `expect_tool`
    `expect_contains`  what the final answer has to contain, `forbid_contains` what it must not
    `recovers_from`    tools whose errors have to be repaired by a later call, or ANY_TOOL
    `caps`             what a run may use

    Tool names are the scenario's own: `archive_ticket` stands for `mcp__board__archive_ticket` and
    `board.archive_ticket` as well.
    """

    expect_tool: tuple[str, ...] = ()
    forbid_tool: tuple[str, ...] = ()
    expect_args: tuple[ExpectedCall, ...] = ()
    expect_order: Order | None = None
    expect_contains: tuple[str, ...] = ()
    forbid_contains: tuple[str, ...] = ()
    recovers_from: tuple[str, ...] = ()
    caps: Caps = field(default_factory=Caps)

    @property
    def asserts(self) -> bool:
        """Whether anything is asserted; limits alone assert nothing."""
        others = (one.name for one in fields(self) if one.name not in ("expect_order", "caps"))
        return any(getattr(self, name) for name in others)

    @property
    def wanted(self) -> tuple[ExpectedCall, ...]:
        """The expected calls: with their arguments where they are given, by name where not."""
        return self.expect_args or tuple(map(ExpectedCall, self.expect_tool))

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of all expected tools, each once."""
        return tuple(dict.fromkeys((*self.expect_tool, *(call.tool for call in self.expect_args))))
