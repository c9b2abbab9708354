"""Finding the bench folder, and the scenarios in it by name, by path and all together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crucible.errors import ExitCode, ScenarioError, UsageError
from crucible.scenario.catalog import find_bench, get_scenario, list_scenarios
from crucible.scenario.docs_text import EXAMPLE
from crucible.scenario.load import LoadedScenario


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    (tmp_path / "crucible.toml").touch()
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "fixtures/asd-vs-baseline/repo").mkdir(parents=True)
    (tmp_path / "fixtures/asd-vs-baseline/REFERENCE_FIX.md").touch()
    for name in ("tax-bug", "asd-vs-baseline"):
        (tmp_path / f"scenarios/{name}.md").write_text(EXAMPLE.replace("asd-vs-baseline", name, 1))
    return tmp_path


def test_the_bench_is_the_nearest_folder_with_crucible_toml(bench: Path) -> None:
    inner = bench / "fixtures/asd-vs-baseline"
    assert bench == find_bench(bench) == find_bench(inner) == find_bench(inner / "REFERENCE_FIX.md")
    (inner / "crucible.toml").touch()
    assert inner == find_bench(inner / "repo")


def test_no_bench_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no bench folder") as caught:
        find_bench(tmp_path)
    assert caught.value.lines()[-1] == "  -> make one with `crucible init DIR`, or change to one"
    assert caught.value.exit_code is ExitCode.USAGE


def test_scenarios_are_listed_by_name_the_wrong_ones_with_their_problems(bench: Path) -> None:
    (bench / "scenarios/broken.md").write_text("# no frontmatter\n")
    (bench / "scenarios/.#tax-bug.md").symlink_to("nobody@host")
    (bench / "scenarios/notes.txt").touch()
    listed = list_scenarios(bench)
    assert [path.stem for path, _ in listed] == ["asd-vs-baseline", "broken", "tax-bug"]
    assert [LoadedScenario, ScenarioError, LoadedScenario] == [type(found) for _, found in listed]


def test_a_bench_without_scenarios_lists_none(tmp_path: Path) -> None:
    assert list_scenarios(tmp_path) == []


@pytest.mark.parametrize("asked", ["tax-bug", "scenarios/tax-bug.md", "{bench}/scenarios/tax-bug.md"])
def test_a_scenario_is_found_by_name_and_by_path(bench: Path, asked: str) -> None:
    assert get_scenario(bench, asked.format(bench=bench)).scenario.name == "tax-bug"


@pytest.mark.parametrize("asked", ["tax-bgu", "scenarios/tax-bgu.md"])
def test_an_unknown_scenario_is_told_the_nearest_name(bench: Path, asked: str) -> None:
    with pytest.raises(UsageError) as caught:
        get_scenario(bench, asked)
    assert [f"no scenario '{asked}'; did you mean 'tax-bug'?", "  -> known: asd-vs-baseline, tax-bug"] == (
        caught.value.lines()
    )


def test_without_any_scenario_the_hint_says_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no scenario 'x'") as caught:
        get_scenario(tmp_path, "x")
    assert caught.value.hint == "scenarios holds no scenario; `crucible new NAME` makes one"


def test_a_wrong_scenario_raises_its_problems(bench: Path) -> None:
    (bench / "scenarios/broken.md").write_text("# no frontmatter\n")
    with pytest.raises(ScenarioError, match=r"^scenarios/broken\.md:1: no frontmatter"):
        get_scenario(bench, "broken")


def test_a_scenario_is_named_from_the_working_folder_when_it_lies_below(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bench / "scenarios/broken.md").write_text("# no frontmatter\n")
    monkeypatch.chdir(bench / "scenarios")
    with pytest.raises(ScenarioError, match=r"^broken\.md:1: no frontmatter"):
        get_scenario(bench, "broken.md")


def test_loading_scenarios_imports_nothing_heavy() -> None:
    heavy = {"litellm", "scipy", "numpy", "sqlmodel", "sqlalchemy", "git", "unidiff", "rapidfuzz", "jsonschema", "rich"}
    code = "import sys; import crucible.scenario.catalog; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "yaml" in loaded
    assert set() == heavy & set(loaded)
