"""Score what an agent did: its tool calls, their arguments and order, and its answer, held against what was expected.

Two ways in, both pure functions on plain data:

    match(actual, expected, "at-least")   hold one list of calls against another
    score_run(expectation, run)           score a whole run on ten dimensions, each by itself

and `crucible.scoring.trajectory.compat`, the scorers of eight libraries, quirks included. docs/trajectory.md explains the
choices. Nothing here is imported that is not in the standard library or in Crucible.
"""

from crucible.scoring.trajectory.answer import contains
from crucible.scoring.trajectory.arguments import (
    ABSENT,
    ArgsMode,
    ArgsRule,
    ArgumentDifference,
    argument_differences,
    fits,
)
from crucible.scoring.trajectory.assignment import maximum_matching
from crucible.scoring.trajectory.difference import Difference, Kind
from crucible.scoring.trajectory.dimensions import score_run
from crucible.scoring.trajectory.expectation import ANY_TOOL, Caps, Expectation
from crucible.scoring.trajectory.expected import ExpectedCall, show_call
from crucible.scoring.trajectory.match import Match, Order, match
from crucible.scoring.trajectory.naming import same_tool
from crucible.scoring.trajectory.parsing import KEYS, ExpectationError, parse_expectation
from crucible.scoring.trajectory.results import Dimension, Result, State, overall, verdict_line
from crucible.scoring.trajectory.values import json_equal
from crucible.transcript.neutral import UNKNOWN, NeutralCall, NeutralRun, NeutralTokens

Call = NeutralCall
"""One call: `Call("archive_ticket", {"ticket_id": "T-481"})`."""

__all__ = [
    "ABSENT",
    "ANY_TOOL",
    "KEYS",
    "UNKNOWN",
    "ArgsMode",
    "ArgsRule",
    "ArgumentDifference",
    "Call",
    "Caps",
    "Difference",
    "Dimension",
    "Expectation",
    "ExpectationError",
    "ExpectedCall",
    "Kind",
    "Match",
    "NeutralCall",
    "NeutralRun",
    "NeutralTokens",
    "Order",
    "Result",
    "State",
    "argument_differences",
    "contains",
    "fits",
    "json_equal",
    "match",
    "maximum_matching",
    "overall",
    "parse_expectation",
    "same_tool",
    "score_run",
    "show_call",
    "verdict_line",
]
