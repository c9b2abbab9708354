"""Filling a store with attempts that are only counts: for simulated experiments, benchmarks and tests of reports.

What is stored is what a run stores, so that everything that reads a store can be put to the test on known truths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlmodel import func, insert, select

from crucible.store.tables import AttemptRow, JudgeRow, PlannedRow, RunRow, ScenarioRow, ScoreRow, TotalRow
from crucible.store.writes import Store, now

JUDGE = "filled"
_SCENARIO = """\
---
name: {name}
description: a simulated scenario
fixture_path: fixtures/none
reference_fix: fixtures/none/REFERENCE_FIX.md
task_prompt: Nothing is run.
test_command: "true"
budget: {{max_turns: 10, max_total_tokens: 100000, max_wall_clock_seconds: 600}}
arms:
  - {{id: {treatment}, model: {model}}}
  - {{id: {baseline}, model: {model}, baseline: true}}
rubric:
  dimensions:
    - {{name: correctness, weight: 1.0, criteria: "is the suite green?"}}
blocks: {blocks}
---
"""


@dataclass(frozen=True, slots=True)
class Filled:
    """One attempt to store. `passed` None means that it does not count, for `cause`; `score` None that it is not scored."""

    passed: bool | None
    score: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    cause: str = "agent"


Arms = Mapping[str, Sequence[Filled]]


def fill_run(store: Store, scenarios: Mapping[str, Arms], baseline: str, **run: Any) -> int:
    """Store a finished run of attempts by scenario and arm, block after block; its id.

    `run` are columns of the run row, such as `primary_metric` or `sequential`. Arms may differ in length: the plan has
    `blocks`, or the longest. Each scenario needs exactly two arms, one of them the baseline.
    """
    store.ensure(JudgeRow(id=JUDGE, model="facts", samples=0, prompt_hash="", rubric_hash="", created_at=now()))
    longest = max((len(attempts) for arms in scenarios.values() for attempts in arms.values()), default=0)
    blocks = int(run.get("blocks", longest))
    defaults: dict[str, Any] = {
        "created_at": now(), "status": "done", "rehearsal": False, "seed": 0, "blocks": blocks, "sandbox": "overlay",
        "judge": "facts", "judge_samples": 1, "parallel": 1, "version": "0", "bench": ".",
    }  # fmt: skip
    for name, arms in scenarios.items():
        store.ensure(_scenario(name, arms, baseline, blocks))
    run_id = store.create_run(RunRow(**{**defaults, **run}), list(_plan(scenarios, baseline, blocks)))
    _add(store, run_id, scenarios, baseline, bool(run.get("rehearsal", False)))
    return run_id


def _scenario(name: str, arms: Arms, baseline: str, blocks: int) -> ScenarioRow:
    (treatment,) = [arm for arm in arms if arm != baseline]
    text = _SCENARIO.format(
        name=name, treatment=treatment, baseline=baseline, model="openai/simulated", blocks=blocks or 1
    )
    return ScenarioRow(
        hash=f"hash-{name}", name=name, text=text, fixture_digest="", reference_text="", created_at=now()
    )


def _plan(scenarios: Mapping[str, Arms], baseline: str, blocks: int) -> list[PlannedRow]:
    places = [(block, name, arm) for block in range(1, blocks + 1) for name, arms in scenarios.items() for arm in arms]
    return [
        PlannedRow(
            run_id=0,
            position=position,
            scenario_hash=f"hash-{name}",
            block=block,
            arm=arm,
            model="openai/simulated",
            baseline=arm == baseline,
        )
        for position, (block, name, arm) in enumerate(places)
    ]


def _add(store: Store, run_id: int, scenarios: Mapping[str, Arms], baseline: str, rehearsal: bool) -> None:
    attempts, scores, totals = [], [], []
    with store.writing() as session:
        number = session.exec(select(func.max(AttemptRow.id))).one() or 0
        seq = session.exec(select(func.max(TotalRow.seq))).one() or 0
        for name, arms in scenarios.items():
            for arm, filled in arms.items():
                for block, one in enumerate(filled, 1):
                    number, seq = number + 1, seq + 1
                    attempts.append(_attempt(number, run_id, name, arm, block, arm == baseline, one))
                    if one.passed is not None:
                        scores.append(_score(number, one))
                        totals.append(_total(number, seq, name, arm, one))
        for row in (*attempts, *totals):
            row["rehearsal"] = rehearsal
        for table, rows in ((AttemptRow, attempts), (ScoreRow, scores), (TotalRow, totals)):
            if rows:
                session.execute(insert(table), rows)


def _attempt(number: int, run_id: int, name: str, arm: str, block: int, baseline: bool, one: Filled) -> dict[str, Any]:
    return {
        "id": number, "run_id": run_id, "scenario_hash": f"hash-{name}", "scenario": name, "arm": arm, "block": block,
        "retry": 0, "baseline": baseline, "model": "openai/simulated", "sandbox": "overlay",
        **_times(one.seconds), "ending": "finished" if one.passed is not None else "crash",
        "cause": one.cause if one.passed is not None or one.cause != "agent" else "provider", "detail": "",
        "counted": one.passed is not None, "passed": one.passed, "tokens": one.tokens, "cost_usd": one.cost_usd,
        "seconds": one.seconds, "scripted_usage": False, "similarity_reasons": [], "turns": 1,
    }  # fmt: skip


def _times(seconds: float | None) -> dict[str, str]:
    """Ended now, and begun so long before."""
    ended = datetime.now(UTC)
    both = {"started_at": ended - timedelta(seconds=seconds or 0), "ended_at": ended}
    return {name: moment.isoformat(timespec="milliseconds") for name, moment in both.items()}


def _score(number: int, one: Filled) -> dict[str, Any]:
    return {
        "attempt_id": number, "judge_id": JUDGE, "dimension": "correctness", "weight": 1.0, "value": one.score,
        "reason": None if one.score is not None else "not given", "raw": one.score, "samples": [], "asked": 0,
        "clamps": [], "evidence": [], "reasoning": "",
    }  # fmt: skip


def _total(number: int, seq: int, name: str, arm: str, one: Filled) -> dict[str, Any]:
    return {
        "attempt_id": number, "judge_id": JUDGE, "seq": seq, "value": one.score, "partial": one.score,
        "weight_scored": 1.0 if one.score is not None else 0.0, "missing": [] if one.score is not None else ["correctness"],
        "cuts": [], "scenario": name, "scenario_hash": f"hash-{name}", "arm": arm, "model": "openai/simulated",
    }  # fmt: skip
