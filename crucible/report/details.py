"""Every number behind a comparison, by name: for who wants to check the verdict, or to know what another method says.

None of these decides anything. Lists over scenarios are in the order of the scenarios; of two numbers the first is the
treatment's or the lower limit. A number that these attempts cannot give is None.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from crucible.report.evidence import differences
from crucible.report.exploratory import ScenarioRow
from crucible.report.gather import Gathered, Scene
from crucible.report.reliability import reliability
from crucible.report.tallies import Pairs, Terms
from crucible.stats.across import clustered_se, mover, paired_t
from crucible.stats.effect import cliffs_delta, cost_per_success, hodges_lehmann, ratio_of_geometric_means
from crucible.stats.evalues import betting, discordant, turner
from crucible.stats.exact import fisher
from crucible.stats.permutation import permutation, rank_sum, sign_flip, stratified_passes
from crucible.stats.sequential import FIRST_LOOK, calibrated, repeated_interval
from crucible.stats.stratified import mantel_haenszel
from crucible.store.looks import complete_pairs

PASSES = Terms("pass_rate")


@dataclass(frozen=True, slots=True)
class Number:
    """One number, or a few that belong together, with what it answers. `scenario` is set when it is of one of several."""

    name: str
    value: Any
    says: str
    scenario: str | None = None

    @property
    def key(self) -> str:
        """Its name in JSON."""
        return self.name if self.scenario is None else f"{self.name} [{self.scenario}]"


def details(gathered: Gathered, rows: Sequence[ScenarioRow]) -> tuple[Number, ...]:
    """All of them, of the scenarios on which both arms have attempts that count."""
    pairs = [p for p in gathered.pairs if p.treatment.counted and p.baseline.counted]
    scenes = [s for s in gathered.scenes if len(s.sides) == 2 and all(side.counted for side in s.sides)]
    if not pairs:
        return ()
    found = [*_over_scenarios(pairs), *_by_scenario(rows), *_several_attempts(pairs)]
    for scene in scenes:
        found += [*_costs(scene), *_in_order(gathered, scene)]
    return tuple(found)


def _over_scenarios(pairs: Pairs) -> Iterator[Number]:
    by_scenario, counts = differences(pairs, PASSES), [p.counts for p in pairs]
    student, these, common = paired_t(by_scenario), mover(counts), mantel_haenszel(counts)
    k_t, n_t, k_b, n_b = (sum(c[i] for c in counts) for i in range(4))
    rates = [(k_t / n_t, n_t), (k_b / n_b, n_b)]
    limits = [student.interval.low, student.interval.high] if student.interval else None
    yield Number("mean_diff", student.mean, "mean over scenarios of the difference of pass rates")
    yield Number("paired_t_se", student.se, "its standard error, scenarios varying")
    yield Number("paired_t_p", student.p_value, "on scenarios like these: Student's test")
    yield Number("paired_t_ci95", limits, "on scenarios like these: Student's interval")
    yield Number("cluster_robust_se_CR0", clustered_se(by_scenario, range(len(pairs))), "too small for few scenarios")
    yield Number(
        "naive_pooled_se", sqrt(sum(p * (1 - p) / n for p, n in rates)), "as if all attempts were one scenario's"
    )
    yield Number("sign_flip_exact_p", sign_flip(by_scenario), "on scenarios like these, assuming least")
    yield Number("stratified_exact_permutation_p", stratified_passes(counts).p_value, "on these scenarios: the test")
    yield Number("mover_miettinen_nurminen_ci95_these_scenarios", [these.low, these.high], "on these: the interval")
    yield Number("cmh_chi2", common.chi_square, "Cochran-Mantel-Haenszel, for large numbers")
    yield Number("cmh_p", common.p_value, "its p-value")
    yield Number("mantel_haenszel_or", common.odds_ratio, "common odds ratio")
    yield Number("pooled_fisher_two_sided_WRONG_unit", fisher(k_t, n_t, k_b, n_b), "attempts pooled: what not to do")


def _by_scenario(rows: Sequence[ScenarioRow]) -> Iterator[Number]:
    yield Number("per_scenario_boschloo_p", [row.p_value for row in rows], "each scenario by itself, unadjusted")
    yield Number("per_scenario_holm", [row.holm for row in rows], "adjusted by Holm")
    yield Number("per_scenario_bh", [row.benjamini_hochberg for row in rows], "adjusted by Benjamini and Hochberg")


def _several_attempts(pairs: Pairs) -> Iterator[Number]:
    for row in reliability(pairs):
        yield Number(f"pass_hat_{row.k}", list(row.pass_hat), f"all of {row.k} attempts pass")
        yield Number(f"pass_at_{row.k}", list(row.pass_at), f"at least one of {row.k} attempts passes")


def _costs(scene: Scene) -> Iterator[Number]:
    """What attempts cost, where every cost is known."""
    bills = [[a.cost_usd for a in side.counted if a.cost_usd is not None] for side in scene.sides]
    if [len(arm) for arm in bills] != [len(side.counted) for side in scene.sides]:
        return
    a, b, where = bills[0], bills[1], scene.scenario.name
    passes = [sum(bool(x.passed) for x in side.counted) for side in scene.sides]
    each = [cost_per_success(arm, k) for arm, k in zip(bills, passes, strict=True)]
    yield Number("cost_inputs", [a, b], "US dollars of every attempt, block by block", where)
    if min(*a, *b) > 0:
        ratio = ratio_of_geometric_means(a, b)
        limits = [ratio.interval.low, ratio.interval.high] if ratio.interval else None
        yield Number("cost_ratio_geomean", ratio.ratio, "a typical attempt's cost, treatment to baseline", where)
        yield Number("cost_ratio_ci95_welch_log", limits, "its interval", where)
        yield Number("cost_log_welch_p", ratio.p_value, "its test", where)
    yield Number("cost_mean_diff_exact_permutation_p", permutation(a, b).p_value, "is one bill higher?", where)
    yield Number("mann_whitney_exact_p", rank_sum(a, b).p_value, "does one arm rank dearer?", where)
    yield Number("cliffs_delta", cliffs_delta(a, b), "P(dearer) - P(cheaper), of one attempt of each", where)
    yield Number("hodges_lehmann_shift", hodges_lehmann(a, b), "typical difference, US dollars", where)
    yield Number("cost_per_success", each, "US dollars, failed attempts included", where)


def _in_order(gathered: Gathered, scene: Scene) -> Iterator[Number]:
    """What is read off the pairs in the order of their blocks: open-ended evidence, and a sequential run's interval."""
    made, where, run = complete_pairs(gathered.measures, scene.digest), scene.scenario.name, gathered.measures.run
    if not made:
        return
    yield Number("e_inputs", [[int(pair[arm]) for pair in made] for arm in (0, 1)], "passes, block by block", where)
    yield Number("e_discordant_beta_half", discordant(made), "e-value after each block; 20 is evidence at 5%", where)
    yield Number("e_turner_beta_0.18", turner(made), "the same, more flexible", where)
    yield Number("e_betting_agrapa_075", betting(made), "the same, by bets", where)
    if run.sequential and FIRST_LOOK <= len(made) <= run.blocks:
        passes = [sum(pair[arm] for pair in made) for arm in (0, 1)]
        shown = repeated_interval(calibrated(run.blocks), len(made), passes[0], passes[1])
        says = f"the interval after stopping at {len(made)} of {run.blocks}"
        yield Number("repeated_ci95", [shown.low, shown.high], says, where)
