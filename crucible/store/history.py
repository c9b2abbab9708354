"""What stored attempts say about the next ones: how often an arm passed, what it cost, how long it took.

Rehearsals, controls and attempts that do not count are left out, and for plans those that were set up otherwise than the
scenario says; every mean comes with the number of attempts it is over.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text
from sqlmodel import col, select

from crucible.store.tables import AttemptRow, RunRow, TotalRow
from crucible.store.writes import Store


@dataclass(frozen=True, slots=True)
class History:
    """Counted real attempts of one arm, set up as the scenario says, with one model on scenarios of one name.

    Earlier versions of the scenario are included. Means are None where nothing is known; US dollars and seconds of one attempt.
    """

    attempts: int
    passed: int
    priced: int
    mean_cost_usd: float | None
    timed: int
    mean_seconds: float | None

    @property
    def pass_rate(self) -> float | None:
        """The share that passed."""
        return self.passed / self.attempts if self.attempts else None


_HISTORY = text("""
SELECT COUNT(*), COALESCE(SUM(CASE WHEN passed THEN 1 ELSE 0 END), 0),
       COUNT(cost_usd), AVG(cost_usd), COUNT(seconds), AVG(seconds)
FROM attempt WHERE rehearsal = :no AND scenario = :scenario AND arm = :arm AND model = :model AND setup = ''
AND counted = :yes AND run_id NOT IN (SELECT id FROM run WHERE kind = 'control')
""")

_OF_CONTROLS = (
    select(AttemptRow.id).join(RunRow, col(RunRow.id) == col(AttemptRow.run_id)).where(RunRow.kind == "control")
)


def history(store: Store, scenario: str, arm: str, model: str) -> History:
    """What is stored of an arm; all zero and None when nothing is."""
    asked = {"scenario": scenario, "arm": arm, "model": model, "no": False, "yes": True}
    with store.reading() as session:
        return History(*session.connection().execute(_HISTORY, asked).one())


def past_totals(store: Store, scenario: str, arm: str, model: str) -> list[float]:
    """The weighted scores of an arm's stored attempts under the judge version that was used last, oldest first."""
    with store.reading() as session:
        query = select(TotalRow.judge_id, TotalRow.value).where(
            TotalRow.scenario == scenario,
            TotalRow.arm == arm,
            TotalRow.model == model,
            TotalRow.setup == "",
            col(TotalRow.rehearsal).is_(False),
            col(TotalRow.value).is_not(None),
            col(TotalRow.attempt_id).not_in(_OF_CONTROLS),
        )
        rows = session.exec(query.order_by(col(TotalRow.seq))).all()
    return [value for judge, value in rows if judge == rows[-1][0] and value is not None]


@dataclass(frozen=True, slots=True)
class Twin:
    """One counted attempt of an A/A run; `again` tells the two halves apart. Unknown is None.

    `total` is the weighted score under the judge version that was used last on any of these attempts.
    """

    run_id: int
    again: bool
    passed: bool
    cost_usd: float | None
    seconds: float | None
    tokens: int | None
    total: float | None


_OF_TWINS = """
FROM attempt a JOIN run r ON r.id = a.run_id
WHERE r.kind = 'aa' AND a.scenario_hash = :hash AND a.rehearsal = :rehearsal AND a.counted = :yes
AND (:like = 0 OR a.setup IN (SELECT setup FROM attempt WHERE run_id = :like AND scenario_hash = :hash))
"""
_TWINS = text(f"SELECT a.id, a.run_id, a.baseline, a.passed, a.cost_usd, a.seconds, a.tokens {_OF_TWINS} ORDER BY a.id")
_THEIR_TOTALS = text(
    f"SELECT attempt_id, judge_id, value FROM total WHERE attempt_id IN (SELECT a.id {_OF_TWINS}) ORDER BY seq"  # noqa: S608 - constants
)


def twins(store: Store, scenario_hash: str, *, rehearsal: bool = False, like: int | None = None) -> list[Twin]:
    """The counted attempts of all A/A runs on a scenario, by age; of rehearsals only when asked for.

    `like` is a run: only attempts that were set up in a way in which that run set one up are of use to it.
    """
    asked = {"hash": scenario_hash, "rehearsal": rehearsal, "yes": True, "like": like or 0}
    with store.reading() as session:
        attempts = session.connection().execute(_TWINS, asked).all()
        totals = session.connection().execute(_THEIR_TOTALS, asked).all()
    values = {row.attempt_id: row.value for row in totals if row.judge_id == totals[-1].judge_id}
    return [
        Twin(a.run_id, not a.baseline, bool(a.passed), a.cost_usd, a.seconds, a.tokens, values.get(a.id))
        for a in attempts
    ]
