"""The parts of a run's report, each a few lines or a small table; what is not known is a dash, never a zero.

Every part is given the whole run and says nothing when it has nothing to say. Rates and means are over scenarios, all
weighing the same; counts are sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.table import Table

from crucible.report.arms import ArmSummary, Line
from crucible.report.overall import Overall
from crucible.report.tables import Arms, by_role, heads, known_mean, noise_cell, noise_column, noise_of, table
from crucible.report.tallies import Metric, signed_number
from crucible.report.uptake_rows import uptake_rows
from crucible.report.words import UNKNOWN, number, p_number, percent_range
from crucible.stats.effect import cliffs_delta

Show = Callable[[Arms], str]
MOST_STEPS = 3
"""Numbers of tries for which reliability is shown."""
EXPLORED = "exploratory"


def tested(run: Overall) -> Table:
    """What was tried and what counts, before any number."""
    made = table("", *heads(run))
    rows: list[tuple[str, Show]] = [
        ("model", lambda arms: ", ".join(dict.fromkeys(a.model for a in arms))),
        ("attempts counted", lambda arms: _counted(arms, "of at most" if run.sequential else "of")),
        ("scored", _scored),
        ("calls blocked / warned / got past", _calls),
        ("flagged", lambda arms: _causes(arms, "flags") or "none"),
    ]
    for title, show in rows:
        made.add_row(title, *(show(arms) for arms in by_role(run)))
    for title, cells in uptake_rows(run):
        made.add_row(title, *cells)
    return made


def _counted(arms: Arms, of: str) -> str:
    lost = _causes(arms, "not_counted")
    return f"{sum(a.counted for a in arms)} {of} {sum(a.planned for a in arms)}" + (
        f" (not counted: {lost})" if lost else ""
    )


def _scored(arms: Arms) -> str:
    missing = _causes(arms, "unscored")
    return f"{sum(a.total.n for a in arms)} of {sum(a.counted for a in arms)}" + (
        f" (missing: {missing})" if missing else ""
    )


def _calls(arms: Arms) -> str:
    if not any(a.counted for a in arms):
        return UNKNOWN
    return " / ".join(str(sum(getattr(a, kind) for a in arms)) for kind in ("blocked", "warned", "got_past"))


def _causes(arms: Arms, which: str) -> str:
    """`2 provider, 1 harness`, over all scenarios."""
    counts: dict[str, int] = {}
    for arm in arms:
        for cause, many in getattr(arm, which).items():
            counts[cause] = counts.get(cause, 0) + many
    return ", ".join(f"{many} {cause}" for cause, many in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def differences(run: Overall) -> Table:
    """Rates, scores and likeness; the interval stands on the row that the verdict is about, noise behind every row."""
    floor = noise_of(run)
    columns = ["difference"] * (len(heads(run)) > 1) + noise_column(floor)
    made = table("mean over scenarios" if len(run.comparisons) > 1 else "", *heads(run), *columns)
    rates = [[a.pass_rate for a in arms] for arms in by_role(run)]
    scores = [[a.total.value for a in arms] for arms in by_role(run)]
    alone = len(run.comparisons) == 1
    looked_at: list[tuple[str, list[list[float | None]], Metric]] = [
        ("pass rate", rates, "pass_rate"),
        ("score", scores, "score"),
    ]
    for title, values, metric in looked_at:
        shown = [_percent(v) if metric == "pass_rate" else number(known_mean(v)) for v in values]
        if alone and metric == "pass_rate":
            shown = [_with_interval(text, arms[0]) for text, arms in zip(shown, by_role(run), strict=True)]
        made.add_row(title, *shown, *[_difference(run, metric, values), *noise_cell(floor, title)][: len(columns)])
    likeness = [[a.similarity.value for a in arms] for arms in by_role(run)]
    shown = [number(known_mean(values)) for values in likeness]
    made.add_row("like the reference", *shown, *[_beside(run, likeness, "score")][: len(columns)])
    return made


def reliability(run: Overall) -> Table | None:
    """What several tries at the same task would come to."""
    rows = [row for row in run.reliability if row.k > 1][:MOST_STEPS]
    if not rows:
        return None
    made = table("", *heads(run))
    for row in rows:
        made.add_row(f"all of {row.k} pass (pass^{row.k})", *map(_share, row.pass_hat))
    for row in rows:
        made.add_row(f"one of {row.k} passes (pass@{row.k})", *map(_share, row.pass_at))
    return made


def _difference(run: Overall, metric: Metric, values: Sequence[Sequence[float | None]]) -> str:
    claim = run.claims[0]
    if metric != run.metric:
        return _beside(run, values, metric)
    if claim.difference is None:
        return ""
    within = f"95%: {run.terms.limits(claim.interval)}" if claim.interval else "no interval"
    overlap = f"; Cliff's delta {_delta(run):+.2f}" if metric == "score" and len(run.comparisons) == 1 else ""
    return f"{run.terms.amount(claim.difference)} ({within}){overlap}"


def _beside(run: Overall, values: Sequence[Sequence[float | None]], metric: Metric) -> str:
    """The plain difference of a row that the verdict is not about."""
    means = [known_mean(mine) for mine in values]
    if not run.explored or len(means) != 2 or means[0] is None or means[1] is None:
        return ""
    difference = means[0] - means[1]
    shown = f"{signed_number(100 * difference, 0)} points" if metric == "pass_rate" else signed_number(difference, 2)
    return f"{shown} ({EXPLORED})"


def _delta(run: Overall) -> float:
    """How far the scores of the two arms lie apart, whatever their scale: 1 when every one of the treatment's is higher."""
    (one,) = run.comparisons
    scored = [(line.arm, line.total) for line in one.lines if line.counted and line.total is not None]
    treatment, baseline = ([total for arm, total in scored if arm == name] for name in (run.treatment, run.baseline))
    return cliffs_delta(treatment, baseline)


def _percent(values: Sequence[float | None]) -> str:
    mean = known_mean(values)
    return UNKNOWN if mean is None else _share(mean)


def _share(value: float) -> str:
    return f"{100 * value:.1f}%".replace(".0%", "%")


def _with_interval(text: str, arm: ArmSummary) -> str:
    return f"{text} ({arm.passed} of {arm.counted}; {percent_range(arm.pass_interval)})" if arm.counted else text


def dimensions(run: Overall) -> Table | None:
    """Every dimension of the rubric, adjusted by Holm."""
    if not run.dimensions:
        return None
    made = table("dimension", "difference", "p", "Holm", "scored")
    for row in run.dimensions:
        scored = f"{row.scored[0]} and {row.scored[1]}"
        made.add_row(row.name, signed_number(row.difference, 2), p_number(row.p_value), p_number(row.holm), scored)
    return made


def scenarios(run: Overall) -> Table | None:
    """Every scenario by itself, where there are several."""
    if len(run.scenarios) < 2:
        return None
    floors = {one.scenario: one.noise_floor for one in run.comparisons if one.noise_floor is not None}
    made = table("scenario", *heads(run), "points", "p", "Holm", "BH", *noise_column(floors))
    for row in run.scenarios:
        k_t, n_t, k_b, n_b = row.counts
        tests = (p_number(p) for p in (row.p_value, row.holm, row.benjamini_hochberg))
        alike = noise_cell(floors.get(row.scenario), "pass rate")
        points = signed_number(100 * row.difference, 0)
        made.add_row(row.scenario, f"{k_t} of {n_t}", f"{k_b} of {n_b}", points, *tests, *alike)
    return made


def attempts(lines: Sequence[Line]) -> Table:
    """Every planned attempt as it stands."""
    made = table("block", "arm", "attempt", "ending", "suite", "score", "like reference", "turns", "tokens", "blocked")
    for line in lines:
        made.add_row(
            str(line.block),
            line.arm,
            str(line.attempt_id or UNKNOWN),
            _ending(line),
            UNKNOWN if line.passed is None else "green" if line.passed else "red",
            _score(line),
            number(line.similarity),
            number(line.turns, 0),
            number(line.tokens, 0),
            number(line.blocked, 0),
        )
    return made


def _ending(line: Line) -> str:
    return line.ending if line.counted or line.counted is None else f"{line.ending} (not counted: {line.cause})"


def _score(line: Line) -> str:
    if line.total is not None:
        return f"{line.total:.2f}"
    return "not scored" if line.partial is None else f"partial {line.partial:.2f}"


def numbers(run: Overall) -> Iterator[str]:
    """Every number behind the comparison, to the last digit."""
    for number_ in run.numbers:
        yield f"{number_.key} = {number_.value}   ({number_.says})"
