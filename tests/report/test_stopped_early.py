"""A run that stopped early is complete: the blocks its design left out are neither missing nor made later."""

from __future__ import annotations

from pathlib import Path

from crucible.report.overall import overall
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store


def test_blocks_after_the_decision_are_not_called_incomplete(tmp_path: Path) -> None:
    arms = {"a": [Filled(True)] * 6, "b": [Filled(False)] * 6}
    with Store(tmp_path / "store.db") as store:
        found = overall(store, fill_run(store, {"s": arms}, "b", sequential=True, blocks=20))
    assert found is not None
    (comparison,) = found.comparisons
    assert () == comparison.incomplete_blocks
    assert "stopped at" in found.verdict.sentence
    assert "better" == found.verdict.word


def test_blocks_before_a_decision_are_still_due(tmp_path: Path) -> None:
    arms = {"a": [Filled(True), Filled(True), Filled(False), Filled(True)], "b": [Filled(True), *[Filled(False)] * 3]}
    with Store(tmp_path / "store.db") as store:
        found = overall(store, fill_run(store, {"s": arms}, "b", sequential=True, blocks=8))
    assert found is not None
    (comparison,) = found.comparisons
    assert (5, 6, 7, 8) == comparison.incomplete_blocks
    assert "inconclusive" == found.verdict.word
