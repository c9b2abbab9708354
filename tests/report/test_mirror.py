"""Through the whole path, store to report: which arm is called the baseline changes signs and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crucible.report.overall import Overall, overall
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store

ONE_STORE = settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""Runs of all examples lie in one store, which is part of what is put to the test."""
UNMOVED = (
    "claims", "could_see", "costs", "times", "dominance", "reliability", "dimensions", "scenarios_summary",
)  # fmt: skip
Scenes = dict[str, dict[str, list[Filled]]]


@st.composite
def scenes(draw: st.DrawFn) -> Scenes:
    many, attempts = draw(st.integers(1, 3)), draw(st.integers(1, 7))
    one = st.builds(
        Filled,
        passed=st.booleans(),
        score=st.sampled_from((0.0, 0.25, 1 / 3, 0.7, 1.0)),
        cost_usd=st.sampled_from((0.1, 0.25, 0.7)),
        tokens=st.sampled_from((100, 250)),
        seconds=st.sampled_from((3.0, 9.5)),
    )
    arm = st.lists(one, min_size=attempts, max_size=attempts)
    return {f"s{n}": {"x": draw(arm), "y": draw(arm)} for n in range(many)}


def both(store: Store, made: Scenes, **run: Any) -> tuple[Overall, Overall]:
    """x against y, and y against x, of the same attempts made in the same order."""
    turned = {f"turned-{name}": arms for name, arms in made.items()}
    found = overall(store, fill_run(store, made, "y", **run)), overall(store, fill_run(store, turned, "x", **run))
    assert found[0] is not None
    assert found[1] is not None
    return found[0], found[1]


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, abs=1e-9, rel=1e-9)


def turned_round(interval: tuple[float, float] | None) -> Any:
    return None if interval is None else pytest.approx((-interval[1], -interval[0]), abs=1e-9)


def check(one: Overall, other: Overall) -> None:
    for mine, theirs in zip(one.claims, other.claims, strict=True):
        assert {"better": "worse", "worse": "better"}.get(mine.verdict.word, mine.verdict.word) == theirs.verdict.word
        assert mine.p_value == near(theirs.p_value)
        assert mine.difference == near(None if theirs.difference is None else -theirs.difference)
        assert mine.interval == turned_round(theirs.interval)
        assert said(mine.verdict.sentence) == said(theirs.verdict.sentence)
    for row, mirrored in zip(one.dimensions, other.dimensions, strict=True):
        assert (row.difference, row.p_value, row.holm) == (
            near(-mirrored.difference), near(mirrored.p_value), near(mirrored.holm),
        )  # fmt: skip
    for scene, mirrored_scene in zip(one.scenarios, other.scenarios, strict=True):
        assert scene.counts == (*mirrored_scene.counts[2:], *mirrored_scene.counts[:2])
        assert (scene.p_value, scene.holm) == (near(mirrored_scene.p_value), near(mirrored_scene.holm))
    assert [(row.pass_hat, row.pass_at) for row in one.reliability] == [
        (row.pass_hat[::-1], row.pass_at[::-1]) for row in other.reliability
    ]
    check_costs(one, other)
    assert one.order is not None
    assert other.order is not None
    assert one.order.effect == near(other.order.effect)
    assert one.order.first == other.order.first[::-1]
    assert one.scenarios_summary == (other.scenarios_summary and other.scenarios_summary.replace("turned-", ""))


def check_costs(one: Overall, other: Overall) -> None:
    assert one.costs is not None
    assert other.costs is not None
    assert one.costs.success.cost == other.costs.success.cost[::-1]
    assert one.costs.success.within == other.costs.success.within[::-1]
    for way, mirrored in zip(one.costs.ways, other.costs.ways, strict=True):
        assert (way.treatment, way.baseline) == (mirrored.baseline, mirrored.treatment)
        assert way.ratio == near(mirrored.ratio and 1 / mirrored.ratio)
        assert way.interval == (mirrored.interval and pytest.approx([1 / limit for limit in mirrored.interval[::-1]]))


def said(sentence: str) -> list[str]:
    """Its words without names, signs, directions and numbers: what must be the same for both."""
    plain = re.sub(r"[-+]?[0-9][0-9.,%]*|\b(x|y|better|worse|turned-)\b|turned-", "", sentence)
    return sorted(plain.split())


@ONE_STORE
@given(scenes(), st.sampled_from(("pass_rate", "score")))
def test_a_report_is_mirrored_when_the_arms_change_roles(store: Store, made: Scenes, metric: str) -> None:
    """Claims, dimensions, scenarios, reliability, costs, order, and every sentence."""
    check(*both(store, made, primary_metric=metric))


@pytest.mark.slow
@ONE_STORE
@given(scenes())
def test_a_run_until_decided_is_mirrored_as_well(store: Store, made: Scenes) -> None:
    one, other = both(store, made, sequential=True, blocks=8)
    for mine, theirs in zip(one.comparisons, other.comparisons, strict=True):
        words = {"better": "worse", "worse": "better"}
        assert words.get(mine.verdict.word, mine.verdict.word) == theirs.verdict.word
        assert mine.verdict.interval == turned_round(theirs.verdict.interval)
        assert said(mine.verdict.sentence) == said(theirs.verdict.sentence)


@pytest.mark.slow
@ONE_STORE
@given(scenes(), st.sampled_from(("pass_rate", "score")), st.integers(1, 3))
def test_attempts_that_do_not_count_in_both_arms_change_nothing_but_their_number(
    store: Store, made: Scenes, metric: str, lost: int
) -> None:
    """Whatever is computed is as it was; only the count of what does not count has grown."""
    more = {
        f"more-{name}": {arm: [*attempts, *[Filled(None)] * lost] for arm, attempts in arms.items()}
        for name, arms in made.items()
    }
    blocks = len(next(iter(made.values()))["x"])
    plain, grown = (
        overall(store, fill_run(store, run, "y", primary_metric=metric, blocks=blocks)) for run in (made, more)
    )
    assert plain is not None
    assert grown is not None
    for name in UNMOVED:
        assert json.dumps(plain.as_dict()[name]) == json.dumps(grown.as_dict()[name]).replace("more-", ""), name
    assert all(arm.not_counted == {"provider": lost} for one in grown.comparisons for arm in one.arms)
