"""The leaderboard query: every arm that was really compared, as counts and means, over the whole store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import text

from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class LeaderboardLine:
    """One arm, set up in one way, on one version (hash) of a scenario over all real comparisons.

    Sums and means are over what is known; the counts say how many that is. An edited scenario is another scenario: where
    there are several, `label` tells them apart. `setup` is what was run otherwise than the scenario says, empty for nothing.

    `scored` and `mean_total` are of one judge version, `judge_id`, the same for all arms of a scenario: the one that judged
    most of their attempts, of equals the newest. `other_judges` is the number of versions that are left out.

    `left_out` are attempts of runs that may stop early, and of runs that are not over: still being made, interrupted, or
    stopped; they are in none of the other numbers. Such a run ends, or goes on, because of what was seen, so that its
    attempts are no sample of a size fixed beforehand, as these rates, intervals and tests need. `crucible compare` has the
    verdict of the former, which accounts for that.
    """

    scenario: str
    version: str
    arm: str
    model: str
    counted: int
    not_counted: int
    passed: int
    scored: int
    mean_total: float | None
    priced: int
    mean_cost_usd: float | None
    mean_tokens: float | None
    mean_seconds: float | None
    several_versions: bool = False
    setup: str = ""
    judge_id: str | None = None
    other_judges: int = 0
    left_out: int = 0

    @property
    def label(self) -> str:
        """The scenario's name, with its version where there are several."""
        return f"{self.scenario} @{self.version[:8]}" if self.several_versions else self.scenario

    @property
    def arm_as_run(self) -> str:
        """The arm, with what was run otherwise than the scenario says."""
        return f"{self.arm} ({self.setup})" if self.setup else self.arm


_KEY = "scenario, scenario_hash, arm, model, setup"
_OPEN = "(sequential OR status NOT IN ('done', 'incomplete'))"
"""Runs whose size was not fixed beforehand, or that did not reach it. An incomplete one did, and lost attempts to others."""
_RANKED = f"counted AND NOT {_OPEN}"
# Both read a covering index from end to end, in the order of the groups, and no table but that of the runs.
_ATTEMPTS = text(f"""
SELECT {_KEY},
       COUNT(CASE WHEN {_RANKED} THEN 1 END), COUNT(CASE WHEN NOT counted AND NOT {_OPEN} THEN 1 END),
       COUNT(CASE WHEN {_RANKED} AND passed THEN 1 END), COUNT(CASE WHEN {_RANKED} THEN cost_usd END),
       AVG(CASE WHEN {_RANKED} THEN cost_usd END),
       AVG(CASE WHEN {_RANKED} THEN tokens END),
       AVG(CASE WHEN {_RANKED} THEN seconds END),
       COUNT(CASE WHEN {_OPEN} THEN 1 END)
FROM attempt JOIN run ON run.id = run_id
WHERE attempt.rehearsal = :no AND counted IS NOT NULL AND kind = 'comparison' GROUP BY {_KEY}
""")  # noqa: S608 - put together from constants
_TOTALS = text(f"""
SELECT {_KEY}, judge_id, COUNT(*), MAX(seq), COUNT(value), AVG(value)
FROM total WHERE rehearsal = :no AND attempt_id NOT IN (
    SELECT id FROM attempt WHERE run_id IN (SELECT id FROM run WHERE kind <> 'comparison' OR {_OPEN})
) GROUP BY {_KEY}, judge_id
""")  # noqa: S608 - put together from constants

QUERIES = (_ATTEMPTS, _TOTALS)
Key = tuple[str, ...]
"""Scenario, its hash, arm, model and setup."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """What one judge version made of one line: attempts judged, the newest judging's number, scores given, their mean."""

    key: Key
    judge_id: str
    judged: int
    newest: int
    scored: int
    mean: float | None


def leaderboard(store: Store) -> list[LeaderboardLine]:
    """Every arm of every scenario that was really compared. By scenario, best pass rate first.

    Rehearsals, A/A runs and controls are never in it.
    """
    with store.reading() as session:
        attempts, totals = (
            [tuple(row) for row in session.connection().execute(query, {"no": False})] for query in QUERIES
        )
    scores = _one_version_each([_Judged(row[:5], *row[5:]) for row in totals])
    versions = Counter(name for name, _ in {row[:2] for row in attempts})
    lines = [_line(row[:5], row[5:], scores.get(row[:5], {}), versions[row[0]] > 1) for row in attempts]
    return sorted(lines, key=_rank)


def _line(key: Key, counts: Any, score: Mapping[str, Any], several_versions: bool) -> LeaderboardLine:
    scenario, version, arm, model, setup = key
    counted, not_counted, passed, priced, cost, tokens, seconds, left_out = counts
    return LeaderboardLine(
        scenario=scenario, version=version, arm=arm, model=model, counted=counted, not_counted=not_counted, passed=passed,
        scored=score.get("scored", 0), mean_total=score.get("mean"), priced=priced, mean_cost_usd=cost, mean_tokens=tokens,
        mean_seconds=seconds, several_versions=several_versions, setup=setup, judge_id=score.get("judge_id"),
        other_judges=score.get("others", 0), left_out=left_out,
    )  # fmt: skip


def _one_version_each(judged: list[_Judged]) -> dict[Key, dict[str, Any]]:
    """By line, the scores of the judge version that stands for its scenario."""
    found: dict[Key, dict[str, Any]] = {}
    for _, group in groupby(judged, lambda one: one.key[1]):
        mine = list(group)
        chosen = _standing_version(mine)
        others = len({one.judge_id for one in mine}) - 1
        for one in mine:
            if one.judge_id == chosen:
                found[one.key] = {"judge_id": chosen, "others": others, "scored": one.scored, "mean": one.mean}
    return found


def _standing_version(judged: list[_Judged]) -> str:
    """The version with most judgings; of equals the one that judged last."""
    sums = Counter[str]()
    newest: dict[str, int] = {}
    for one in judged:
        sums[one.judge_id] += one.judged
        newest[one.judge_id] = max(newest.get(one.judge_id, 0), one.newest)
    return max(sums, key=lambda judge: (sums[judge], newest[judge]))


def _rank(line: LeaderboardLine) -> tuple[str, str, float, float, str, str, str]:
    rate = line.passed / line.counted if line.counted else -1.0
    return line.scenario, line.version, -rate, -(line.mean_total or 0.0), line.arm, line.model, line.setup
