"""The bench folder and the scenarios in it."""

from __future__ import annotations

from pathlib import Path

from crucible.errors import ScenarioError, UsageError, nearest
from crucible.scenario.load import LoadedScenario, load_scenario, shown_path

BENCH_FILE = "crucible.toml"
SCENARIO_FOLDER = "scenarios"


def find_bench(start: Path) -> Path:
    """The nearest folder at or above `start` that holds crucible.toml. Raises UsageError when there is none."""
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / BENCH_FILE).is_file():
            return folder
    raise UsageError(
        f"no bench folder: neither {start} nor a folder above it holds {BENCH_FILE}",
        hint="make one with `crucible init DIR`, or change to one",
    )


def scenario_files(bench: Path) -> list[Path]:
    """Every scenarios/*.md of a bench, by name. Dot files are editors' and are left out."""
    files = (bench / SCENARIO_FOLDER).glob("*.md")
    return sorted(file for file in files if not file.name.startswith("."))


def list_scenarios(bench: Path) -> list[tuple[Path, LoadedScenario | ScenarioError]]:
    """Every scenario file of a bench with its scenario, or with what is wrong with it."""
    return [(file, _loaded(file, bench)) for file in scenario_files(bench)]


def get_scenario(bench: Path, name_or_path: str) -> LoadedScenario:
    """One scenario, by name or by the path of its file.

    A path is looked up in the working folder, then in the bench. Raises UsageError with the nearest known name
    when there is no such scenario, and ScenarioError when there is and it is wrong.
    """
    if _is_path(name_or_path):
        for path in (Path(name_or_path), bench / name_or_path):
            if path.is_file():
                return load_scenario(path, bench)
    elif (path := bench / SCENARIO_FOLDER / f"{name_or_path}.md").is_file():
        return load_scenario(path, bench)
    raise _unknown(bench, name_or_path)


def _loaded(file: Path, bench: Path) -> LoadedScenario | ScenarioError:
    try:
        return load_scenario(file, bench)
    except ScenarioError as error:
        return error


def _is_path(text: str) -> bool:
    return text.endswith(".md") or "/" in text or "\\" in text


def _unknown(bench: Path, asked: str) -> UsageError:
    known = [file.stem for file in scenario_files(bench)]
    folder = shown_path(bench / SCENARIO_FOLDER, bench)
    near = nearest(Path(asked).stem if _is_path(asked) else asked, known)
    listing = f"known: {', '.join(known)}" if known else f"{folder} holds no scenario; `crucible new NAME` makes one"
    return UsageError(f"no scenario {asked!r}{near}", hint=listing)
