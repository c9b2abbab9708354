"""A literal gives way to another of its type and shape, never to one that could be taken for it."""

from __future__ import annotations

import ast
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.scoring.literals import another, word

SEEDS = st.integers(0, 10**9)


def seeded(seed: int) -> Random:
    """The same values each time, so that a failure comes again."""
    return Random(seed)  # noqa: S311 (nothing here is a secret)


@given(st.one_of(st.integers(0, 10**12), st.booleans(), st.text(), st.binary(), st.floats(1e-300, 1e300)), SEEDS)
def test_another_is_of_the_same_type_and_another_value(value: object, seed: int) -> None:
    new = another(repr(value), seeded(seed))
    assert new is not None
    other = ast.literal_eval(new)
    assert type(value) is type(other)
    assert value != other


@given(st.floats(1e-6, 1e9), SEEDS)
def test_floats_are_further_apart_than_a_tolerance(value: float, seed: int) -> None:
    new = another(repr(value), seeded(seed))
    assert new is not None
    assert abs(float(new) - value) > 0.2 * value


@given(st.integers(0, 10**12), SEEDS)
def test_ints_are_no_booleans_and_further_apart_than_a_tolerance(value: int, seed: int) -> None:
    new = int(another(str(value), seeded(seed)) or 0)
    assert new >= 2
    assert abs(new - value) >= max(1, value // 20)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('"30.45"', r'"[1-9]\d\.\d\d"'),
        ('"0.5"', r'"0\.\d"'),
        ('"mara"', r'"[a-z]{4}"'),
        ("'Enamel'", r"'[A-Z][a-z]{5}'"),
        ('"€"', r'"[a-z]{6}"'),
        ('""', r'"[a-z]{6}"'),
        ("b''", r'b"[a-z]{6}"'),
        (r'"\none\n"', r'"\\n[a-z]{3}\\n"'),
        ('r"ab\\d"', r'r?"([a-z]{2}\\d|[a-z]{6})"'),
        ("0x1f", r"0x[0-9a-f]+"),
        ("1_000", r"\d_?\d+|\d+"),
        ("0.25", r"\d\.\d\d"),
        ("1e-9", r"\d(\.\d+)?e-\d+"),
        ("True", "False"),
    ],
)
def test_the_shape_is_kept(text: str, shape: str) -> None:
    for seed in range(50):
        new = another(text, seeded(seed))
        assert new is not None
        assert re.fullmatch(shape, new), new


@pytest.mark.parametrize("text", ["None", "...", "f'{x}'", "name", "1 +", "[1]", "2j"])
def test_what_is_no_such_literal_has_no_other(text: str) -> None:
    assert another(text, seeded(0)) is None


@given(st.integers(1, 12), SEEDS)
def test_a_word_is_as_long_as_asked(length: int, seed: int) -> None:
    assert length == len(word(length, seeded(seed)))
