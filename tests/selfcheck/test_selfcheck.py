"""A fast slice of the self-check: known truths go through store, decision and report, and the words are counted."""

from __future__ import annotations

import pytest

from crucible.stats import looks, sequential
from crucible.stats.power import power_two_arms
from tests.selfcheck.experiments import ALPHA, Experiment, simulate

EQUAL = [
    Experiment(((0.5, 0.5),), 5),
    Experiment(((0.9, 0.9),), 12),
    Experiment(((0.5, 0.5),), 20, sequential=True),
    Experiment(((0.2, 0.2), (0.5, 0.5), (0.8, 0.8)), 5),
    Experiment(((0.3, 0.3),), 6, score=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EQUAL, ids=str)
def test_equal_arms_get_a_direction_in_at_most_five_percent(experiment: Experiment) -> None:
    assert simulate(experiment, 150, seed=1).keeps(ALPHA)


@pytest.mark.slow
def test_a_known_difference_is_found_as_often_as_the_plan_promised() -> None:
    promised = power_two_arms(0.9, 0.3, 12, 12)
    assert promised > 0.8
    found = simulate(Experiment(((0.9, 0.3),), 12), 150, seed=2)
    assert found.reaches(promised)
    assert found.words.get("worse", 0) == 0


@pytest.mark.slow
def test_a_sequential_run_finds_it_as_often_as_its_design_promised_and_stops_early() -> None:
    promised = looks.operating(sequential.calibrated(20), 0.9, 0.3)
    found = simulate(Experiment(((0.9, 0.3),), 20, sequential=True), 150, seed=3)
    assert found.reaches(promised.power)
    assert found.mean_attempts < 20
