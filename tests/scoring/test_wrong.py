"""Right values fail every assertion that was made wrong; the rest of the file stays as it is."""

from __future__ import annotations

import ast
import difflib
import textwrap
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.scoring.wrong import sites, spoil

FIXTURES = Path(__file__).parents[2] / "fixtures"
RIGHT: dict[str, Any] = {
    "two": 2,
    "half": 0.5,
    "yes": True,
    "no": False,
    "none": None,
    "name": "mara",
    "text": "Green tea (7%)",
    "pair": (2, "mara"),
    "items": ["ash", "fir"],
    "nothing": [],
    "table": {"id": 7, "tags": ["a"]},
    "chosen": {1, 2},
    "other": [2],
}


def seeded(seed: int) -> Random:
    """The same values each time, so that a failure comes again."""
    return Random(seed)  # noqa: S311 (nothing here is a secret)


def passes(source: bytes) -> bool:
    """Whether the test in a file passes with right values."""
    exec("from decimal import Decimal\nfrom pytest import approx, raises", space := {**RIGHT})  # noqa: S102 (the tests' own text)
    exec(compile(source, "test", "exec"), space)  # noqa: S102 (same)
    try:
        space["test_it"]()
    except AssertionError:
        return False
    return True


def in_a_test(body: str) -> bytes:
    return f"def test_it():\n{textwrap.indent(textwrap.dedent(body), '    ')}\n".encode()


@pytest.mark.parametrize(
    "body",
    [
        "assert two == 2",
        "assert 2 == two",
        "assert two == 2, 'a message'",
        "assert half == approx(0.5)",
        "assert half == approx(0.5, abs=0.1)",
        "assert half == 0.5 and two == 2",
        "assert yes is True",
        "assert no is False",
        "assert yes == True",
        "assert none is None",
        "assert none == None",
        "assert two is not None",
        "assert yes",
        "assert not no",
        "assert not (no or none)",
        "assert (yes)",
        "assert two != 3",
        "assert two < 3 and two <= 2",
        "assert two > 1 and two >= 2",
        "assert 1 < two < 3",
        "assert 'tea' in text",
        "assert 'cup' not in text",
        "assert isinstance(two, int)",
        "assert all(n for n in (1, two))",
        "assert name == 'mara'",
        "assert text == (\n    'Green '  # first\n    'tea (7%)'\n)",
        'assert text == """Green tea (7%)"""',
        "assert pair == (2, 'mara')",
        "assert (two, name) == (2, 'mara')",
        "assert items == ['ash', 'fir']",
        "assert nothing == []",
        "assert table == {'id': 7, 'tags': ['a']}",
        "assert chosen == {1, 2}",
        "assert chosen <= {1, 2, 3}",
        "assert len(items) == 2",
        "assert Decimal('2.00') == Decimal('2.0')",
        "assert two == Decimal('2')",
        "assert -two == -2",
        "assert items == sorted(items)",
        "assert name == f'{name}'",
        "expected = ['ash', 'fir']\nassert items == expected",
        "for n in (two,):\n    assert n == 2",
        "if yes:\n    assert two == 2",
        "with raises(ValueError):\n    assert two == 2\n    raise ValueError",
        "assert two == 2; assert name == 'mara'",
    ],
)
def test_right_values_fail_whatever_was_made_wrong(body: str) -> None:
    source = in_a_test(body)
    assert passes(source)
    found = sites(source)
    assert ["::test_it"] == list(found)
    for claim in found["::test_it"]:
        for seed in range(20):
            spoiled = spoil(source, [claim], seeded(seed))
            assert spoiled is not None
            assert not passes(spoiled), spoiled.decode()


@pytest.mark.parametrize(
    "body", ["two", "assert True", "assert yes or no", "def inner():\n    assert two == 2", "pass"]
)
def test_what_claims_nothing_that_can_be_made_wrong_is_left_alone(body: str) -> None:
    assert {} == sites(in_a_test(body))


def test_what_equals_everything_passes_all_the_same() -> None:
    class Anything:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment] # equal to everything, so no hash fits

    for body in ("assert two == 2", "assert two == [1, 'a']", "assert two == name", "assert two != 3"):
        claim = sites(in_a_test(body))["::test_it"][0]
        spoiled = spoil(in_a_test(body), [claim], seeded(1))
        assert spoiled is not None
        exec(compile(spoiled, "test", "exec"), space := {**RIGHT, "two": Anything()})  # noqa: S102 (the tests' own text)
        space["test_it"]()


def test_parameters_are_given_a_value_that_no_case_has() -> None:
    source = b"""
import pytest

@pytest.mark.parametrize("n, expected", [(1, "0.05"), (2, "0.10"), pytest.param(3, "0.15", id="three")])
def test_it(n, expected):
    assert f(n) == Decimal(expected)
"""
    (claim,) = sites(source)["::test_it"]
    spoiled = spoil(source, [claim], seeded(3))
    assert spoiled is not None
    (line,) = [line for line in spoiled.decode().splitlines() if "assert" in line]
    value, _, rest = line.strip().partition("; ")
    assert value.startswith("expected = ")
    assert ast.literal_eval(value.removeprefix("expected = ")) not in {"0.05", "0.10", "0.15"}
    assert "assert f(n) == Decimal(expected)" == rest


def test_values_come_before_truth_and_what_is_always_reached_before_what_may_not_be() -> None:
    source = in_a_test("assert yes\nif yes:\n    assert two == 2\nassert name == 'mara'\nassert not no")
    (claim,) = sites(source)["::test_it"]
    spoiled = spoil(source, [claim], seeded(0)) or b""
    assert b"name == 'mara'" not in spoiled
    assert b"two == 2" in spoiled


def test_of_many_assertions_the_first_the_middle_and_the_last_are_taken() -> None:
    source = in_a_test("\n".join(f"assert two == {n}" for n in range(10, 17)))
    lines = [claim.edits[0].start[0] for claim in sites(source)["::test_it"]]
    assert [2, 5, 8] == lines


def test_unittest_assertions_are_known() -> None:
    source = b"""
import unittest

class TestIt(unittest.TestCase):
    def test_a(self):
        self.assertEqual(f(), 3)
        self.assertAlmostEqual(f(), 0.25)
    def test_b(self):
        self.assertTrue(g())
    def test_c(self):
        self.assertIn("a", h())
    def test_d(self):
        self.assertAlmostEqual(f(), 0.25, places=1)
"""
    found = sites(source)
    assert ["TestIt::test_a", "TestIt::test_b", "TestIt::test_c"] == list(found)
    spoiled = (spoil(source, [claims[0] for claims in found.values()], seeded(0)) or b"").decode()
    assert "self.assertEqual(f(), 3)" not in spoiled
    assert "self.assertFalse(g())" in spoiled
    assert 'self.assertNotIn("a", h())' in spoiled


@pytest.mark.parametrize(
    "source",
    [b"def test_a(:\n", b"\xff", b"# coding: latin-1\ndef test_a():\n    assert x == 1\n", b"\0", b"(" * 5000],
)
def test_what_is_not_python_in_utf8_has_no_tests(source: bytes) -> None:
    assert {} == sites(source)


@given(st.binary(max_size=100))
def test_any_bytes_are_taken(source: bytes) -> None:
    assert isinstance(sites(source), dict)


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.glob("*/repo/tests/test_*.py")), ids=lambda p: f"{p.parts[-4]}-{p.stem}"
)
def test_bundled_suites_change_in_a_line_per_test_and_stay_valid(path: Path) -> None:
    source = path.read_bytes()
    found = sites(source)
    for turn in range(3):
        spoiled = spoil(source, [claims[turn % len(claims)] for claims in found.values()], seeded(turn))
        assert spoiled is not None
        ast.parse(spoiled)
        lines = difflib.ndiff(source.decode().splitlines(), spoiled.decode().splitlines())
        changed = [line for line in lines if line[0] == "+"]
        assert len(found) == len(changed)


def test_line_endings_and_wide_characters_do_not_move_the_place() -> None:
    source = "def test_it():\r\n    x = 'ä€😀'; assert two == 2\r\n".encode()
    spoiled = spoil(source, [sites(source)["::test_it"][0]], seeded(0)) or b""
    assert spoiled.startswith("def test_it():\r\n    x = 'ä€😀'; assert two == ".encode())
    assert spoiled.endswith(b"\r\n")
    assert not passes(spoiled)
