"""New bench folders and new scenarios: files written once, never over anything that is there."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from crucible.errors import UsageError
from crucible.scenario.jsonschema import scenario_json_schema_text
from crucible.scenario.schema import Name

_BENCH = Path(__file__).with_name("bench")
_STUB = Path(__file__).with_name("stub")
_SCHEMA = "scenarios/scenario.schema.json"
"""Where editors find the schema that the comment in a scenario file names."""
_IGNORED = {"__pycache__", ".pytest_cache"}


def make_bench(folder: Path) -> list[Path]:
    """Make a bench folder with one small scenario that can be rehearsed at once. Raises UsageError if it is one already."""
    if (folder / "crucible.toml").exists():
        raise UsageError(f"{folder} is a bench folder already", hint="crucible new NAME adds a scenario to it")
    return _write({**_files(_BENCH), _SCHEMA: scenario_json_schema_text()}, folder)


def make_scenario(bench: Path, name: str) -> list[Path]:
    """Make stubs of a scenario, its fixture and its reference. Raises UsageError for a bad or taken name."""
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        raise UsageError(f"{name!r} cannot name a scenario: use a-z, 0-9, dot, dash and underscore") from None
    files = {path.replace("NAME", name): text.replace("NAME", name) for path, text in _files(_STUB).items()}
    if not (bench / _SCHEMA).exists():
        files[_SCHEMA] = scenario_json_schema_text()
    return _write(files, bench)


def _files(template: Path) -> dict[str, str]:
    return {
        file.relative_to(template).as_posix(): file.read_text("utf-8")
        for file in sorted(template.rglob("*"))
        if file.is_file() and not _IGNORED & set(file.parts)
    }


def _write(files: dict[str, str], folder: Path) -> list[Path]:
    targets = {folder / path: text for path, text in files.items()}
    if taken := [str(target) for target in targets if target.exists()]:
        raise UsageError(f"{taken[0]} is there already; nothing was written")
    for target, text in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    return list(targets)
