"""Two runs held against each other, arm by arm: what changed between then and now?

Only what was made under the same conditions is compared: the same scenarios by content (their budgets and arms are part of
it), the same judge versions, the same sandbox. The runs were not interleaved: a difference may also be the time between
them, a provider's silent change included, and no statistics can take that out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from difflib import unified_diff
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from crucible.report.arms import Side
from crucible.report.claims import Claim, claims
from crucible.report.gather import Gathered, gather
from crucible.report.noise import noise_floor
from crucible.report.tallies import Pair
from crucible.store.openings import Opening, openings
from crucible.store.writes import Store

CAUTION = (
    "The runs were made one after the other: a difference may also be the time between them. "
    "For a fair comparison put both set-ups into one run, as its two arms."
)
MOST_LINES = 6


@dataclass(frozen=True, slots=True)
class ArmThenAndNow:
    """One arm that both runs have: `now` is the treatment, `then` the baseline. `model` says what changed of it, `same_start`
    whether both were first asked the same (None: not known). `noise` is what identical arms do, in sentences.
    """

    arm: str
    claims: tuple[Claim, ...]
    model: str
    same_start: bool | None = None
    noise: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TwoRuns:
    """`incomparable` are the exact differences that forbid the comparison; without any, `arms` holds it."""

    then: int
    now: int
    incomparable: tuple[str, ...] = ()
    arms: tuple[ArmThenAndNow, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "caution": CAUTION if self.arms else None}


def two_runs(store: Store, then: int, now: int) -> TwoRuns | None:
    """Run `now` against run `then`; None when one of them does not exist."""
    before, after = gather(store, then), gather(store, now)
    if before is None or after is None:
        return None
    if then == now:
        return TwoRuns(then, now, (f"both are run {then}; a run says nothing against itself",))
    if problems := tuple(_differences(before, after)):
        return TwoRuns(then, now, problems)
    common = [arm for arm in _arms(before) if arm in _arms(after)]
    opened = openings(store, then) | openings(store, now)
    found = (_then_and_now(before, after, arm, opened) for arm in common)
    return TwoRuns(then, now, (), tuple(replace(one, noise=_noise(store, before, after, one.arm)) for one in found))


def _differences(before: Gathered, after: Gathered) -> Iterator[str]:
    """Everything that forbids the comparison, each with both values."""
    for what in ("rehearsal", "sandbox", "without_extra_tools", "kind", "sequential", "primary_metric", "margin"):
        values = [getattr(run.measures.run, what) for run in (before, after)]
        if values[0] != values[1]:
            yield f"{what.replace('_', ' ')}: {values[0]} then, {values[1]} now"
    if before.measures.run.sequential or after.measures.run.sequential:
        yield "early stopping: how many attempts such a run has depends on its results; compare runs of a fixed size"
    kinds = {before.measures.run.kind, after.measures.run.kind}
    if "aa" in kinds:
        yield "kind: a run of an arm against itself measures noise; see it with crucible compare RUN"
    if "control" in kinds:
        yield "kind: a control only shows that the tool servers can be used"
    yield from _scenarios(before, after)
    shared = {scene.digest for scene in before.scenes} & {scene.digest for scene in after.scenes}
    judges = [_judges(run, shared) for run in (before, after)]
    if judges[0] != judges[1]:
        yield f"judge version: {_named(judges[0])} then, {_named(judges[1])} now"
    elif len(judges[0]) > len({digest for digest, _ in judges[0]}):
        yield f"judge version: several within each run ({_named(judges[0])})"
    if not set(_arms(before)) & set(_arms(after)):
        yield f"arms: {', '.join(_arms(before))} then, {', '.join(_arms(after))} now; none in common"


def _scenarios(before: Gathered, after: Gathered) -> Iterator[str]:
    names = [{scene.scenario.name: scene for scene in run.scenes} for run in (before, after)]
    for name in dict.fromkeys([*names[0], *names[1]]):
        then, now = names[0].get(name), names[1].get(name)
        if then is None or now is None:
            yield f"scenario {name}: only in the run {'now' if then is None else 'then'}"
        elif then.digest != now.digest:
            texts = [run.measures.scenarios[scene.digest].text for run, scene in ((before, then), (after, now))]
            yield f"scenario {name} was edited: {_edit(*texts) or 'its fixture or its reference changed'}"


def _edit(then: str, now: str) -> str:
    """The changed lines, the first few of them."""
    lines = [
        re.sub(r"\s+", " ", line)
        for line in unified_diff(then.splitlines(), now.splitlines(), n=0, lineterm="")
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    rest = len(lines) - MOST_LINES
    return "; ".join(lines[:MOST_LINES]) + (f"; and {rest} lines more" if rest > 0 else "")


def _judges(run: Gathered, shared: set[str]) -> set[tuple[str, str]]:
    """Scenario and judge version of what was judged on the scenarios that both runs have."""
    counted = (a for a in run.measures.attempts if a.counted and a.scenario_hash in shared)
    return {(a.scenario_hash, a.judge_id) for a in counted if a.judge_id}


def _named(judges: set[tuple[str, str]]) -> str:
    return ", ".join(sorted({version for _, version in judges})) or "none"


def _arms(run: Gathered) -> list[str]:
    return list(dict.fromkeys(side.arm for scene in run.scenes for side in scene.sides))


def _then_and_now(before: Gathered, after: Gathered, arm: str, opened: Mapping[int, Opening]) -> ArmThenAndNow:
    then, now = _sides(before, arm), _sides(after, arm)
    common = [digest for digest in now if digest in then]
    ids = [run.measures.run.id for run in (after, before)]
    pairs = [
        Pair(
            replace(now[digest].tally(), arm=f"{arm} of run {ids[0]}"),
            replace(then[digest].tally(), arm=f"{arm} of run {ids[1]}"),
            _name(after, digest),
        )
        for digest in common
    ]
    models = [", ".join(dict.fromkeys(sides[digest].model for digest in common)) for sides in (then, now)]
    model = models[0] if models[0] == models[1] else f"{models[0]} then, {models[1]} now"
    why_not = "the sessions are scripted, no model was asked" if after.measures.run.rehearsal else None
    return ArmThenAndNow(arm, claims(pairs, why_not, after.terms), model, _same_start(common, (then, now), opened))


def _same_start(common: list[str], sides: tuple[dict[str, Side], ...], opened: Mapping[int, Opening]) -> bool | None:
    """Whether the arm began alike then and now; None where a beginning is unknown, or was recorded in another way."""
    begun = [[opened[a.id] for digest in common for a in of[digest].counted if a.id in opened] for of in sides]
    asked = [{opening.fingerprint for opening in of} for of in begun]
    recorded = {opening.content is None for of in begun for opening in of}
    return asked[0] == asked[1] if all(asked) and len(recorded) == 1 else None


def _noise(store: Store, before: Gathered, after: Gathered, arm: str) -> tuple[str, ...]:
    """What chance does between identical arms of this size, on each scenario where an arm was run against itself."""
    then, now = _sides(before, arm), _sides(after, arm)
    said: list[str] = []
    for digest in (digest for digest in now if digest in then):
        fewest = min(len(now[digest].counted), len(then[digest].counted))
        run = after.measures.run
        floor = noise_floor(store, digest, fewest, rehearsal=run.rehearsal, like=run.id)
        where = f"{_name(after, digest)}: " if len(now) > 1 else ""
        said += [f"{where}{line}" for line in floor.lines()] if floor else []
    return tuple(said)


def _name(run: Gathered, digest: str) -> str:
    return run.measures.scenarios[digest].name


def _sides(run: Gathered, arm: str) -> dict[str, Side]:
    return {scene.digest: side for scene in run.scenes for side in scene.sides if side.arm == arm}


def two_runs_view(found: TwoRuns) -> RenderableType:
    """For a terminal."""
    title = Text(f"\nrun {found.now} (now) against run {found.then} (then)", style="bold")
    if found.incomparable:
        return Group(title, Text("Incomparable:", style="bold"), *(f"  {line}" for line in found.incomparable))
    parts: list[RenderableType] = [title, CAUTION]
    for arm in found.arms:
        other = "; its first request is not the same any more" if arm.same_start is False else ""
        parts.append(Text(f"\n{arm.arm}  (model: {arm.model}{other})", style="bold"))
        parts += [*(claim.verdict.sentence for claim in arm.claims), *arm.noise]
    return Group(*parts)
