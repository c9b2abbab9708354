"""The plan is fair and repeatable."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from crucible.runner.plan import plan
from crucible.scenario.schema import Arm, Dimension, Rubric, Scenario


def scenario(name: str, blocks: int) -> tuple[str, Scenario]:
    made = Scenario(
        name=name, fixture_path="f", test_command="t", reference_fix="r", task_prompt="p", blocks=blocks,
        arms=(Arm(id="a", model="m"), Arm(id="b", model="m")),
        rubric=Rubric(dimensions=(Dimension(name="d", weight=1, criteria="c"),)),
    )  # fmt: skip
    return f"hash-{name}", made


@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(1, 6))
def test_every_block_has_each_arm_once_and_blocks_come_in_order(seed: int, first: int, second: int) -> None:
    slots = plan([scenario("x", first), scenario("y", second)], None, seed)
    assert 2 * (first + second) == len(slots)
    assert {1} == set(Counter((s.scenario_hash, s.block, s.arm.id) for s in slots).values())
    assert sorted(s.block for s in slots) == [s.block for s in slots]


def test_the_same_seed_is_the_same_order_and_another_seed_is_not() -> None:
    def order(seed: int) -> list[str]:
        return [s.arm.id for s in plan([scenario("x", 20)], None, seed)]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_both_orders_occur() -> None:
    slots = plan([scenario("x", 40)], None, seed=3)
    firsts = Counter(a.arm.id for a, _ in zip(slots[::2], slots[1::2], strict=True))
    assert min(firsts.values()) > 8


def test_blocks_and_arm_can_be_chosen() -> None:
    assert [("b", 1), ("b", 2)] == [(s.arm.id, s.block) for s in plan([scenario("x", 9)], 2, 0, only="b")]


def test_baseline_is_the_named_one_else_the_last() -> None:
    assert ["b"] == sorted({s.arm.id for s in plan([scenario("x", 1)], None, 0) if s.baseline})
