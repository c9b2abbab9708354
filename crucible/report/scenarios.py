"""Scenario files as tables and lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table

from crucible.errors import ScenarioError
from crucible.scenario.load import LoadedScenario

if TYPE_CHECKING:
    from crucible.runner.checks import Check


@dataclass(frozen=True, slots=True)
class ScenarioLine:
    """One file of the catalog; `problems` when it cannot be read."""

    name: str
    file: str
    description: str = ""
    arms: tuple[str, ...] = ()
    blocks: int = 0
    problems: tuple[str, ...] = ()
    kind: Literal["comparison", "failure"] = "comparison"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def scenario_lines(found: Sequence[tuple[Path, LoadedScenario | ScenarioError]]) -> list[ScenarioLine]:
    """The catalog, one line a file."""
    return [_line(path, one) for path, one in found]


def _line(path: Path, found: LoadedScenario | ScenarioError) -> ScenarioLine:
    if isinstance(found, ScenarioError):
        return ScenarioLine(path.stem, str(path), problems=tuple(map(str, found.problems)))
    scenario = found.scenario
    baseline = scenario.baseline.id
    arms = tuple(f"{a.id} (baseline)" if a.id == baseline else a.id for a in scenario.arms)
    return ScenarioLine(scenario.name, str(path), " ".join(scenario.description.split()), arms, scenario.blocks)


def failure_lines(bench: Path) -> list[ScenarioLine]:
    """The frozen failures of a bench, one line a file, with what is known of each."""
    from crucible.scenario.catalog import failure_files

    return [_failure_line(path, bench) for path in failure_files(bench)]


def _failure_line(path: Path, bench: Path) -> ScenarioLine:
    from crucible.runner.failures.frozen import load_frozen
    from crucible.runner.failures.sidecar import read_seen

    try:
        failure = load_frozen(path, bench).failure
        seen = read_seen(failure, bench)
    except ScenarioError as error:
        return ScenarioLine(path.stem, str(path), problems=tuple(map(str, error.problems)), kind="failure")
    state = "not seen failing yet"
    if seen is not None:
        stale = seen.scenario_sha256 != failure.digest
        state = "changed since it was seen failing" if stale else f"seen failing on {seen.date[:10]}"
    reported = f"reported {failure.report}, " if failure.report else ""
    return ScenarioLine(path.stem, str(path), f"{failure.name} ({reported}{state})", kind="failure")


def scenario_table(lines: Sequence[ScenarioLine]) -> Table:
    """The catalog as a table."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("scenario", "arms", "blocks", "what it asks"):
        table.add_column(column, overflow="fold")
    for line in lines:
        many = len(line.problems)
        broken = f"cannot be read: {many} problem{'' if many == 1 else 's'}"
        table.add_row(
            line.name,
            ", ".join(line.arms) or ("(frozen failure)" if line.kind == "failure" else "-"),
            str(line.blocks or "-"),
            broken if line.problems else line.description,
        )
    return table


def validation_lines(checks: Sequence[Check]) -> Iterator[str]:
    """What `crucible validate` prints."""
    for check in checks:
        if check.problems:
            yield f"FAIL  {check.name}"
            yield from (f"      {line}" for problem in check.problems for line in problem.splitlines())
        else:
            times = "twice" if check.repeats == 2 else f"{check.repeats} times"
            yield (
                f"ok    {check.name}: unfixed red{_failing(check)}, reference green "
                f"({_tests(check)}, {check.seconds:.2f} s), {times} each; no line of the reference can be read"
            )
        if check.quarantined:
            yield f"      quarantined, left out of every verdict ({len(check.quarantined)} change their result):"
            yield from (f"        {test}" for test in check.quarantined)


def _failing(check: Check) -> str:
    return f" ({len(check.failing_before)} failing)" if check.tests else ""


def _tests(check: Check) -> str:
    if not check.tests:
        return "tests are not told apart, so none is under a negative control"
    return f"{check.tests} tests, {check.controlled} of them under a negative control"
