"""What a run declares before its first attempt, and is held to: the metric, the margin, and whether it may stop early.

Declared means stored on the run's row before anything is spent; going on with a run never changes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crucible.errors import UsageError
from crucible.stats.sequential import FIRST_LOOK, MOST_PAIRS

Metric = Literal["pass_rate", "score"]

MARGIN = 0.10
WIDEST_MARGIN = 0.50
LEAST_BY_DEFAULT = 5
"""Pairs a run until decided may make at least when only its scenario says how many."""


@dataclass(frozen=True, slots=True)
class Declared:
    """`primary` is what the verdict is about, `margin` (in [0, 0.5]) what counts as equivalent: a share of attempts, or
    score points. With `until_decided` the run may stop before `max_blocks` (None: what its scenarios say, at least 5).
    """

    primary: Metric = "pass_rate"
    margin: float = MARGIN
    until_decided: bool = False
    max_blocks: int | None = None


def check_declared(declared: Declared, *, blocks: int | None, arm: str | None) -> None:
    """What is declared must fit together. Raises UsageError."""
    if not 0 <= declared.margin <= WIDEST_MARGIN:  # NaN too
        raise UsageError(f"--margin takes 0 to {100 * WIDEST_MARGIN:.0f} points, got {100 * declared.margin:g}")
    if declared.until_decided:
        _check_sequential(declared, blocks, arm)
    elif declared.max_blocks is not None:
        raise UsageError(
            "--max-blocks is the most a run --until-decided may make",
            hint=f"add --until-decided, or fix the number with --blocks {declared.max_blocks}",
        )


def _check_sequential(declared: Declared, blocks: int | None, arm: str | None) -> None:
    if blocks is not None:
        raise UsageError(
            "--blocks fixes the number of blocks, --until-decided leaves it open",
            hint=f"say the most it may be with --max-blocks {max(blocks, FIRST_LOOK)}",
        )
    if arm is not None:
        raise UsageError("--until-decided compares two arms; --arm runs one", hint="leave out one of the two")
    if declared.primary != "pass_rate":
        raise UsageError(
            "--until-decided decides on the pass rate: there is no exact sequential test of scores",
            hint="leave out --primary score, or run a fixed number of blocks with --blocks N",
        )
    if declared.max_blocks is not None and not FIRST_LOOK <= declared.max_blocks <= MOST_PAIRS:
        raise UsageError(
            f"--max-blocks takes {FIRST_LOOK} to {MOST_PAIRS}, got {declared.max_blocks}",
            hint=f"the first look is after {FIRST_LOOK} pairs; fewer attempts are a fixed run: --blocks {declared.max_blocks}"
            if declared.max_blocks < FIRST_LOOK
            else "more pairs than that are a fixed run: --blocks N",
        )


def blocks_of(declared: Declared, asked: int | None, said: Sequence[int]) -> list[int]:
    """Blocks to plan for scenarios that say `said`, when the user asked for `asked`.

    A run that may stop early plans the most it may make, which is the same for all its scenarios.
    """
    if declared.until_decided:
        most = declared.max_blocks or min(max(LEAST_BY_DEFAULT, *said), MOST_PAIRS)
        return [most for _ in said]
    return [asked or blocks for blocks in said]
