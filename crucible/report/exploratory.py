"""Beside the verdict: every dimension of the rubric and every scenario by itself. Exploratory, and adjusted as such.

Dimensions are few and adjusted by Holm; scenarios by Holm and by Benjamini and Hochberg. Where so few attempts could not
have reached significance at all, that is said, or the reader takes "not significant" for "no difference".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crucible.report.evidence import least_p, permuted
from crucible.report.gather import Gathered
from crucible.report.tallies import ALPHA, Pairs
from crucible.stats.exact import two_arms
from crucible.stats.multiplicity import benjamini_hochberg, holm, tarone


@dataclass(frozen=True, slots=True)
class DimensionRow:
    """One dimension over the scenarios that score it: difference of mean scores, treatment minus baseline, with its exact
    permutation test, plain and adjusted by Holm. `scored` attempts of (treatment, baseline)."""

    name: str
    difference: float
    p_value: float
    holm: float
    scored: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """One scenario's pass rates: `counts` are passes and attempts of the treatment, then of the baseline; `smallest` is
    the smallest p-value that so many attempts can ever give."""

    scenario: str
    counts: tuple[int, int, int, int]
    difference: float
    p_value: float
    test: str
    holm: float
    benjamini_hochberg: float
    smallest: float


def dimension_rows(gathered: Gathered) -> tuple[DimensionRow, ...]:
    """Every dimension on which both arms have scores."""
    found = []
    for name in dict.fromkeys(d.name for scene in gathered.scenes for d in scene.scenario.rubric.dimensions):
        strata = [
            tuple(
                tuple(value for a in side.counted if (value := a.scores.get(name)) is not None) for side in scene.sides
            )
            for scene in gathered.scenes
        ]
        both = tuple((s[0], s[1]) for s in strata if len(s) == 2 and s[0] and s[1])
        if both:
            found.append((name, permuted(both), (sum(len(t) for t, _ in both), sum(len(b) for _, b in both))))
    adjusted = holm([test.p_value for _, test, _ in found])
    return tuple(
        DimensionRow(name, test.difference, test.p_value, p, scored)
        for (name, test, scored), p in zip(found, adjusted, strict=True)
    )


def scenario_rows(pairs: Pairs) -> tuple[ScenarioRow, ...]:
    """Every scenario on which both arms have attempts that count."""
    pairs = [p for p in pairs if p.treatment.counted and p.baseline.counted]
    tests = [two_arms(*p.counts) for p in pairs]
    plain = [p for p, _ in tests]
    rows = zip(pairs, tests, holm(plain), benjamini_hochberg(plain), strict=True)
    sizes = {(p.treatment.counted, p.baseline.counted) for p in pairs}
    smallest = {size: least_p(*size) for size in sizes}
    return tuple(
        ScenarioRow(
            pair.scenario, pair.counts, pair.counts[0] / pair.counts[1] - pair.counts[2] / pair.counts[3], p_value, test,
            family, rate, smallest[pair.treatment.counted, pair.baseline.counted],
        )
        for pair, (p_value, test), family, rate in rows
    )  # fmt: skip


def scenarios_summary(rows: Sequence[ScenarioRow]) -> str:
    """What the scenarios say together, and whether they could have said anything."""
    if not rows:
        return "no scenario has attempts of both arms"
    found = tarone([row.p_value for row in rows], [row.smallest for row in rows], ALPHA)
    significant = [row.scenario for row in rows if row.holm < ALPHA]
    said = f"significant after Holm: {', '.join(significant)}" if significant else "none significant after Holm"
    said += f" (smallest possible p: {min(row.smallest for row in rows):.3g})"
    if len(found.testable) == len(rows) or significant:
        return said
    if not found.testable:
        return f"{said}; with so few attempts none could have been"
    return f"{said}; {len(rows) - len(found.testable)} of {len(rows)} never could have been, by Tarone's count"
