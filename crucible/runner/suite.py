"""Suite files and schedule files of `crucible nightly`: small YAML files, read as strictly as scenarios."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, ValidationError

from crucible.errors import Problem, ScenarioError, UsageError, nearest
from crucible.scenario.catalog import scenario_files
from crucible.scenario.explain import explain
from crucible.scenario.frontmatter import decode
from crucible.scenario.load import shown_path
from crucible.scenario.schema import Name, Number, Text
from crucible.scenario.tree import UNUSABLE, Finding, Tree, read_tree
from crucible.scenario.words import shown

SUITE_FOLDER = "suites"
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


class Suite(BaseModel):
    """What is run every night, and how often a false alarm may come."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Name = Field(description="Name of the suite, the file's own; the history is kept under it.")
    scenarios: tuple[Text, ...] = Field(description="Names of scenarios.")
    blocks: Annotated[StrictInt, Field(ge=1, le=1000)] | None = Field(
        default=None, description="Attempts per arm and night; default: what each scenario says."
    )
    arm: Name | None = Field(default=None, description="Run only this arm; default: both.")
    models: dict[str, Text] = Field(default_factory=dict, description="Another model for an arm, by the arm's name.")
    judge: Text | None = Field(default=None, description="Judge model, or `facts`.")
    parallel: Annotated[StrictInt, Field(ge=1, le=64)] | None = Field(default=None, description="Attempts at a time.")
    max_cost_usd: Annotated[Number, Field(ge=0)] | None = Field(
        default=None, description="Stop starting attempts of a night at this cost."
    )
    without_extra_tools: StrictBool = Field(default=False, description="Leave out the tool servers scenarios name.")
    false_alarm_nights: Annotated[StrictInt, Field(ge=2, le=100_000)] = Field(
        default=365, description="Nights between false alarms, on average and at least, over all charts together."
    )
    baseline_nights: Annotated[StrictInt, Field(ge=1, le=1000)] = Field(
        default=20, description="Nights that set the rate which must be kept; watching begins after them."
    )


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a night begins, by the local clock: at this time on these days (0 is Monday)."""

    at: time
    days: frozenset[int]

    def next_after(self, moment: datetime) -> datetime:
        """The first beginning after this moment, which must know its time zone."""
        for days in range(9):
            day = moment.date() + timedelta(days=days)
            # Without a zone this is the wall clock, whatever daylight saving makes of it on that day.
            begins = datetime.combine(day, self.at).astimezone()
            if day.weekday() in self.days and begins > moment:
                return begins
        raise AssertionError("a schedule has at least one day a week")


def find_suite(bench: Path, name_or_path: str) -> Suite:
    """A suite by its name (suites/NAME.yaml of the bench) or by its file. Raises UsageError, ScenarioError."""
    if name_or_path.endswith((".yaml", ".yml")) or "/" in name_or_path:
        for path in (Path(name_or_path), bench / name_or_path):
            if path.is_file():
                return load_suite(path, bench)
    elif (path := bench / SUITE_FOLDER / f"{name_or_path}.yaml").is_file():
        return load_suite(path, bench)
    known = sorted(file.stem for file in (bench / SUITE_FOLDER).glob("*.yaml"))
    hint = f"known: {', '.join(known)}" if known else f"write {SUITE_FOLDER}/NAME.yaml: name, scenarios, blocks"
    raise UsageError(f"no suite {name_or_path!r}{nearest(Path(name_or_path).stem, known)}", hint=hint)


def load_suite(path: Path, bench: Path) -> Suite:
    """Read a suite file. Raises ScenarioError with every problem in it, each with its line."""
    tree, file = _tree(path, bench)
    return _model(tree, file, Suite, lambda: _suite_problems(tree, path, bench))


def load_schedule(path: Path, bench: Path) -> Schedule:
    """Read a schedule file: `at: "02:30"`, and `days: mon-fri`, a list of days, or `daily`. Raises ScenarioError."""
    tree, file = _tree(path, bench)
    root = _root(tree, file)
    problems = list(_unknown(tree, root, ("at", "days")))
    at = _TIME.fullmatch(_as_written(tree, "at"))
    days = _days(root.get("days", "daily"))
    if at is None:
        got = f", got {shown(_as_written(tree, 'at'))}" if "at" in root else ""
        problems.append((_line(tree, "at"), f'at must be a time of day, such as "02:30"{got}'))
    if not days:
        problems.append((_line(tree, "days"), f"days must be daily, mon-fri or a list of days{_got_days(tree, root)}"))
    if problems or tree.findings or at is None:
        raise _error(file, [*tree.findings, *problems])
    return Schedule(time(int(at[1]), int(at[2])), days)


def _tree(path: Path, bench: Path) -> tuple[Tree, str]:
    file = shown_path(path, bench)
    try:
        text = decode(path.read_bytes(), file)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
    if not text.strip():
        raise _error(file, [(1, "the file is empty")])
    return read_tree(text, 1), file


Model = TypeVar("Model", bound=BaseModel)


def _model(tree: Tree, file: str, model: type[Model], more: Callable[[], Iterable[Finding]]) -> Model:
    """The file as this model, or all that is wrong with it."""
    root = _root(tree, file)
    known = {key: value for key, value in root.items() if key in model.model_fields}
    missing = [name for name, field in model.model_fields.items() if field.is_required() and name not in root]
    findings = [*tree.findings, *_unknown(tree, root, model.model_fields)]
    findings += [(1, f"missing key '{name}'") for name in missing]
    try:
        made = model.model_validate(known | dict.fromkeys(missing, UNUSABLE))
    except ValidationError as error:
        raise _error(file, [*findings, *explain(tree, error), *more()]) from None
    if findings or (findings := list(more())):
        raise _error(file, findings)
    return made


def _root(tree: Tree, file: str) -> dict[str, Any]:
    if isinstance(tree.root, dict):
        return tree.root
    raise _error(file, tree.findings or [(1, "the file must be keys and values, such as `name: nightly`")])


def _suite_problems(tree: Tree, path: Path, bench: Path) -> Iterator[Finding]:
    name, scenarios = tree.value(("name",)), tree.value(("scenarios",))
    if isinstance(name, str) and name != path.stem:
        yield tree.line(("name",)), f"name must be the file's, {shown(path.stem)}, got {shown(name)}"
    if scenarios == ():
        yield tree.line(("scenarios",)), "scenarios is empty; a suite runs at least one"
    known = [file.stem for file in scenario_files(bench)]
    for place, one in enumerate(scenarios if isinstance(scenarios, tuple) else ()):
        if not isinstance(one, str):
            continue
        if one in (scenarios if isinstance(scenarios, tuple) else ())[:place]:
            yield tree.line(("scenarios", place)), f"scenario {shown(one)} is named twice"
        elif one not in known and "/" not in one:
            yield tree.line(("scenarios", place)), f"no scenario {shown(one)}{nearest(one, known)}"


def _unknown(tree: Tree, root: dict[str, Any], known: Iterable[str]) -> Iterator[Finding]:
    names = list(known)
    for key in root:
        if key not in names:
            advice = nearest(key, names) or f"; known keys: {', '.join(names)}"
            yield _line(tree, key), f"unknown key {shown(key)}{advice}"


def _days(value: object) -> frozenset[int]:
    """The days of the week meant; empty when the value means none."""
    given = [value] if isinstance(value, str) else list(value) if isinstance(value, tuple) else []
    found: set[int] = set()
    for one in given:
        days = _span(one.lower()) if isinstance(one, str) else ()
        if not days:
            return frozenset()
        found.update(days)
    return frozenset(found)


def _span(text: str) -> tuple[int, ...]:
    first, dash, last = text.partition("-")
    if text == "daily":
        return tuple(range(7))
    if first not in DAYS or (dash and last not in DAYS):
        return ()
    begin, end = DAYS.index(first), DAYS.index(last or first)
    return tuple((begin + step) % 7 for step in range((end - begin) % 7 + 1))


def _as_written(tree: Tree, key: str) -> str:
    """The text as it stands in the file: YAML 1.1 would make a number to base 60 of 12:30."""
    value = tree.value((key,))
    return tree.written.get((key,)) or (value if isinstance(value, str) else "")


def _got_days(tree: Tree, root: dict[str, Any]) -> str:
    value = root.get("days")
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else _as_written(tree, "days")
    return f", got {shown(text)}" if text else ""


def _line(tree: Tree, key: str) -> int:
    return max(1, tree.line((key,)))


def _error(file: str, findings: Iterable[Finding]) -> ScenarioError:
    return ScenarioError([Problem(file, max(1, line), what) for line, what in dict.fromkeys(findings)])
