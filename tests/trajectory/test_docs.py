"""The examples in docs/trajectory.md do what they show, and its tables name what there is."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

from crucible.scoring.trajectory import Dimension, Order
from tests.beside import beside
from tests.trajectory.oracle import FILES, cases

PAGE = Path(__file__).parents[2] / "docs" / "trajectory.md"
TEXT = PAGE.read_text("utf-8")


def test_the_examples_of_the_page_hold() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert 0 == found.failed
    assert 10 < found.attempted


def test_every_order_and_every_dimension_has_its_row() -> None:
    rows = {row.strip("` ") for row in re.findall(r"^\| ([^|]+) \|", TEXT, re.MULTILINE)}
    assert {order.value for order in Order} | {name.value for name in Dimension} <= rows


def test_every_function_named_beside_a_library_is_there() -> None:
    for module, functions in re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|", TEXT, re.MULTILINE):
        there = importlib.import_module(f"crucible.scoring.trajectory.compat.{module}")
        assert all(callable(getattr(there, name)) for name in re.findall(r"\w+", functions)), module


def test_the_number_of_recorded_results_is_the_one_told() -> None:
    beside("oracle", "trajectory")
    assert f"{sum(len(cases(file)) for file in FILES)} recorded results" in TEXT
