"""The oracle's 46 numbers of one data set, each printed by `crucible compare RUN --json` to 1e-9."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crucible.cli.app import run_app
from crucible.scenario.starter import make_bench
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store
from tests.beside import beside


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    file = beside("oracle", "statistics", "worked_example_8_scenarios.json")
    read: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return read


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, example: dict[str, Any]) -> Path:
    """A bench with three stored runs: the eight scenarios, the twelve pairs in order, and the one that stopped early."""
    folder = tmp_path_factory.mktemp("worked") / "bench"
    make_bench(folder)
    results, costs = example["results"], example["results"]["cost_inputs"]
    eight = {
        name: {"a": _arm(a, costs["A"] if name == "asd" else None), "b": _arm(b, costs["B"] if name == "asd" else None)}
        for name, a, b in zip(example["scenarios"], example["passes_A"], example["passes_B"], strict=True)
    }
    pairs = {arm.lower(): [Filled(passed=bool(k)) for k in results["e_inputs"][arm]] for arm in "AB"}
    stopped = {"a": [Filled(passed=i < 11) for i in range(12)], "b": [Filled(passed=i < 4) for i in range(12)]}
    with Store(folder / "results" / "crucible.db") as store:
        assert [1, 2, 3] == [
            fill_run(store, eight, "b"),
            fill_run(store, {"in-order": pairs}, "b"),
            fill_run(store, {"early": stopped}, "b", sequential=True, blocks=20),
        ]
    return folder


def _arm(passes: int, costs: list[float] | None) -> list[Filled]:
    return [Filled(passed=i < passes, cost_usd=costs[i] if costs else None) for i in range(5)]


def printed(bench: Path, run: int, capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert 0 == run_app(["-C", str(bench), "compare", str(run), "--json"])
    said: dict[str, Any] = json.loads(capfd.readouterr().out)
    numbers: dict[str, Any] = said["numbers"]
    return numbers


def test_all_46_numbers_are_printed_by_name(
    bench: Path, example: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    """Every key of the oracle's results has its number, and no number is off by more than 1e-9."""
    eight, ordered, early = (printed(bench, run, capfd) for run in (1, 2, 3))
    arms = {"A": 0, "B": 1}
    found: dict[str, Any] = {name: value for name, value in eight.items() if name in example["results"]}
    for arm, place in arms.items():
        for k in (1, 2, 3, 5):
            for measure in ("pass_hat", "pass_at"):
                found[f"{measure}_{k}_{arm}"] = eight[f"{measure}_{k}"][place]
    for theirs, ours in (
        ("cost_ratio_geomean_A_over_B", "cost_ratio_geomean"),
        *((name, name) for name in ("cost_ratio_ci95_welch_log", "cost_log_welch_p", "mann_whitney_exact_p")),
        *((name, name) for name in ("cost_mean_diff_exact_permutation_p", "cliffs_delta", "hodges_lehmann_shift")),
    ):
        found[theirs] = eight[f"{ours} [asd]"]
    found["cost_per_success_A_scn_asd"] = eight["cost_per_success [asd]"][0]
    found["cost_inputs"] = {arm: eight["cost_inputs [asd]"][place] for arm, place in arms.items()}
    found["e_inputs"] = {arm: ordered["e_inputs [in-order]"][place] for arm, place in arms.items()}
    for name in ("e_discordant_beta_half", "e_turner_beta_0.18", "e_betting_agrapa_075"):
        found[name] = ordered[f"{name} [in-order]"]
    found["repeated_ci_look12_of_20_11_vs_4"] = early["repeated_ci95 [early]"]

    expected = {name: row.get("value", row) for name, row in example["results"].items()}
    for inputs in ("cost_inputs", "e_inputs"):
        expected[inputs] = {arm: expected[inputs][arm] for arm in arms}
    assert (46, set(expected)) == (len(found), set(found))
    for name, value in expected.items():
        if isinstance(value, dict):
            assert value == found[name], name
        else:
            assert value == pytest.approx(found[name], abs=1e-9), name


def test_the_details_are_printed_for_people_too(bench: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`--details` prints the same numbers with what they answer; without it they are not there."""
    assert 0 == run_app(["-C", str(bench), "compare", "1", "--details"])
    said = capfd.readouterr().out
    assert "stratified_exact_permutation_p = 0.016609732694" in said
    assert "Every number" in said
    assert 0 == run_app(["-C", str(bench), "compare", "1"])
    assert "Every number" not in capfd.readouterr().out


def test_the_verdict_of_the_worked_example(bench: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Both claims, each with its own test and interval."""
    assert 0 == run_app(["-C", str(bench), "compare", "1", "--json"])
    said = json.loads(capfd.readouterr().out)
    assert [claim["verdict"]["sentence"] for claim in said["claims"]] == [
        (
            "a is better than b on these 8 scenarios: 72.5% against 47.5% green, +25 points (95% interval +5 to +40, MOVER of "
            "Miettinen-Nurminen; p = 0.017, exact permutation within scenarios)."
        ),
        (
            "a is better than b on scenarios like these: 72.5% against 47.5% green, +25 points (95% interval +0.1 to +50; "
            "p = 0.049, paired t over scenarios)."
        ),
    ]
    assert said["claims"][0]["verdict"] == said["verdict"]
    assert "none significant after Holm (smallest possible p: 0.00195)" == said["scenarios_summary"]
