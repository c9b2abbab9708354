"""A scenario file -> a `Scenario`, or all that is wrong with it at once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from crucible.errors import Problem, ScenarioError, StoreError
from crucible.scenario import checks, frontmatter
from crucible.scenario.explain import explain
from crucible.scenario.schema import Scenario
from crucible.scenario.tree import UNUSABLE, Finding, Tree, dotted, read_tree

MAX_BYTES = 256 * 1024
"""A scenario file is something people read; what is larger is another kind of file."""
HINT = "`crucible schema` describes every field; so does docs/scenarios.md of the source"


@dataclass(frozen=True, slots=True)
class LoadedScenario:
    """A scenario with the file it came from.

    `sha256` is of the file's bytes as they lie, body included: what `sha256sum` prints. `text` is the whole file
    decoded, without a byte order mark. `lines` maps `arms.0.model` and the like to 1-based lines.
    """

    scenario: Scenario
    path: Path
    sha256: str
    text: str
    lines: dict[str, int]


def load_scenario(path: Path, bench: Path) -> LoadedScenario:
    """Read one scenario file; paths in it are relative to the folder `bench`. Raises ScenarioError."""
    file = shown_path(path, bench)
    data = _read(path, file)
    text = frontmatter.decode(data, file)
    tree = read_tree(*frontmatter.split(text, file))
    scenario = _scenario(tree, path, bench, file)
    lines = {dotted(loc): line for loc, line in tree.lines.items() if loc}
    return LoadedScenario(scenario, path, hashlib.sha256(data).hexdigest(), text, lines)


def parse_stored(text: str) -> Scenario:
    """The scenario in a text that was valid when it was stored; nothing outside the text is looked at.

    Raises StoreError where this version reads scenarios otherwise than the one that stored it.
    """
    try:
        return Scenario.model_validate(read_tree(*frontmatter.split(text, "<stored scenario>")).root)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{dotted(first['loc'])}: {first['msg']}"
        raise StoreError(
            f"a scenario in the store is not one that this version of Crucible reads ({what})",
            hint="look at its runs with the version of Crucible that made them",
        ) from error


def shown_path(path: Path, bench: Path) -> str:
    """The path as its user knows it: relative to the working folder or the bench when below one of them."""
    full = path.absolute()
    for root in (Path.cwd(), bench.absolute()):
        if full.is_relative_to(root):
            return full.relative_to(root).as_posix()
    return str(path)


def _read(path: Path, file: str) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise ScenarioError([Problem(file, 1, "not a file")])
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ScenarioError([Problem(file, 1, f"too large: at most {MAX_BYTES} bytes, got {size}")])
        return path.read_bytes()
    except OSError as error:
        raise ScenarioError([Problem(file, 1, f"cannot be read: {error.strerror}")]) from error


def _scenario(tree: Tree, path: Path, bench: Path, file: str) -> Scenario:
    findings = list(tree.findings)
    scenario: Scenario | None = None
    if tree.root is not UNUSABLE:
        findings += checks.check(tree, path, bench)
        try:
            scenario = Scenario.model_validate(tree.root)
        except ValidationError as error:
            findings += list(explain(tree, error)) or _unexplained(findings, error)
    if findings or scenario is None:
        raise ScenarioError(sorted({Problem(file, *finding) for finding in findings}), hint=HINT)
    return scenario


def _unexplained(findings: list[Finding], error: ValidationError) -> list[Finding]:
    """A refusal that nothing has words for must still be seen."""
    return [] if findings else [(1, str(one["msg"])) for one in error.errors()]
