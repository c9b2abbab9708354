"""The bench folder, and the scenarios and frozen failures in it."""

from __future__ import annotations

from pathlib import Path

from crucible.errors import ScenarioError, UsageError, nearest
from crucible.scenario.failure_text import is_failure
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
    """Every comparison of a bench, scenarios/*.md, by name. Dot files are editors' and are left out."""
    return [file for file in _files(bench, ".md") if not is_failure(file)]


def failure_files(bench: Path) -> list[Path]:
    """Every frozen failure of a bench, by name: scenarios/*.json, and .md that says `kind: failure`.

    A *.schema.json is what editors check scenarios with, and no failure.
    """
    files = _files(bench, ".json", ".md")
    return [file for file in files if is_failure(file) and not file.name.endswith(".schema.json")]


def find_failure(bench: Path, name_or_path: str) -> Path:
    """The file of a frozen failure, by name or by path. Raises UsageError with the nearest known name."""
    paths = [Path(name_or_path), bench / name_or_path] if _is_path(name_or_path, ".json", ".md") else []
    folder = bench / SCENARIO_FOLDER
    for path in (*paths, *(folder / f"{name_or_path}{ending}" for ending in (".json", ".md"))):
        if path.is_file() and is_failure(path):
            return path
        if path.is_file():
            raise UsageError(
                f"{shown_path(path, bench)} is no frozen failure", hint="it is JSON, or says kind: failure"
            )
    known = [file.stem for file in failure_files(bench)]
    near = nearest(Path(name_or_path).stem, known)
    listing = f"known: {', '.join(known)}" if known else f"{shown_path(folder, bench)} holds none"
    raise UsageError(f"no frozen failure {name_or_path!r}{near}", hint=listing)


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
            if path.is_file() and not is_failure(path):
                return load_scenario(path, bench)
    elif (path := bench / SCENARIO_FOLDER / f"{name_or_path}.md").is_file() and not is_failure(path):
        return load_scenario(path, bench)
    raise _unknown(bench, name_or_path)


def _loaded(file: Path, bench: Path) -> LoadedScenario | ScenarioError:
    try:
        return load_scenario(file, bench)
    except ScenarioError as error:
        return error


def _files(bench: Path, *endings: str) -> list[Path]:
    folder = bench / SCENARIO_FOLDER
    files = (file for ending in endings for file in folder.glob(f"*{ending}"))
    return sorted(file for file in files if not file.name.startswith("."))


def _is_path(text: str, *endings: str) -> bool:
    return text.endswith(endings or ".md") or "/" in text or "\\" in text


def _unknown(bench: Path, asked: str) -> UsageError:
    if Path(asked).stem in {file.stem for file in failure_files(bench)}:
        name = Path(asked).stem
        return UsageError(f"{name} is a frozen failure, not a comparison", hint=f"crucible repro {name}, then confirm")
    known = [file.stem for file in scenario_files(bench)]
    folder = shown_path(bench / SCENARIO_FOLDER, bench)
    near = nearest(Path(asked).stem if _is_path(asked) else asked, known)
    listing = f"known: {', '.join(known)}" if known else f"{folder} holds no scenario; `crucible new NAME` makes one"
    return UsageError(f"no scenario {asked!r}{near}", hint=listing)
