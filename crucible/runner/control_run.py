"""The positive control: before a comparison, one attempt that is told to call each of the treatment's tool servers once.

A comparison in which the treatment's tools were never used tests nothing, and costs as much as one that does. Whether
they can be used at all is known after one attempt: when a model that is told to call a server gets no answer from it, the
wiring is broken. The attempt is stored as a run of its own kind, which no ranking, plan or report mixes with comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from crucible.errors import CrucibleError, UsageError
from crucible.runner.attempt import Bench
from crucible.runner.checks import Say, check_subject
from crucible.runner.choose import Chosen, Options
from crucible.runner.models import close_models
from crucible.runner.plan import Slot
from crucible.runner.recorder import Progress
from crucible.runner.run import Result, Subject, execute, new_run, store_plan
from crucible.runner.until_decided import AllAtOnce
from crucible.scenario.load import LoadedScenario
from crucible.scenario.schema import Arm, Scenario
from crucible.servers import SEPARATOR
from crucible.settings import Settings
from crucible.store.queries import attempt_row, spent
from crucible.store.tables import RunRow
from crucible.store.traces import Call, Trace, traces
from crucible.store.writes import Store
from crucible.transcript.declared import belongs

KIND = "control"
NOBODY = "none"
"""The judge of a run that is not judged."""


def controlled(chosen: Chosen) -> tuple[LoadedScenario, ...]:
    """The scenarios whose treated arm has tool servers. Raises UsageError when there is nothing to control."""
    options = chosen.options
    if options.rehearse:
        raise UsageError("--control asks a model; a rehearsal asks none", hint="leave out one of the two")
    found = tuple(one for one in chosen.loaded if _servers(one.scenario, options))
    if not found:
        raise UsageError(f"--control: there is nothing to control: {_why_nothing(chosen)}", hint="leave out --control")
    return found


def _servers(scenario: Scenario, options: Options) -> tuple[str, ...]:
    left_out = options.without_extra_tools or options.arm not in (None, scenario.treatment.id)
    return () if left_out else scenario.treatment.extra_tools


def _why_nothing(chosen: Chosen) -> str:
    if chosen.options.without_extra_tools:
        return "the tool servers are left out (--without-extra-tools)"
    if chosen.options.arm is not None:
        return f"only {chosen.options.arm} is run, and it is not the treated arm or has no tool servers"
    arms = (f"{one.scenario.treatment.id} of {one.scenario.name}" for one in chosen.loaded)
    return f"{', '.join(arms)} has no tool servers (extra_tools)"


async def control_run(
    bench: Path, chosen: Chosen, settings: Settings, store: Store, say: Say, progress: Progress | None
) -> Result:
    """Make the control's attempts and look at what was answered; its run, when every server answered a call.

    Raises UsageError when there is nothing to control, CrucibleError naming the server that was not reached.
    """
    scenarios = controlled(chosen)
    with TemporaryDirectory(prefix="crucible-") as scratch:
        subjects = {}
        for loaded in scenarios:
            subject = await check_subject(loaded, bench, settings, store, chosen.mode, Path(scratch))
            subjects[subject.prepared.hash] = _asking_for_calls(subject)
        run_id = store_plan(store, _row(bench, chosen), _slots(subjects))
        say(f"run {run_id}: the positive control, {_many(subjects)} that must call {_named(subjects)}")
        where = Bench(store, settings, chosen.mode, Path(scratch), run_id, False, progress, chosen.options.instead)
        result = await _execute(where, subjects, chosen)
    say(_cost(store, run_id))
    _check(store, result, subjects)
    return result


async def _execute(where: Bench, subjects: Mapping[str, Subject], chosen: Chosen) -> Result:
    try:
        pace = AllAtOnce(where.store, where.run_id)
        return await execute(where, subjects, _unjudged, pace, parallel=1, max_cost=chosen.options.max_cost)
    finally:
        await close_models()


async def _unjudged(attempt_id: int) -> None:
    """A control is not scored: whether it solved anything is not what it was asked."""


def _row(bench: Path, chosen: Chosen) -> RunRow:
    options = chosen.options
    return new_run(
        str(bench),
        chosen.mode,
        rehearsal=False,
        seed=0,
        blocks=1,
        judge=NOBODY,
        samples=0,
        parallel=1,
        max_cost=options.max_cost,
        without_extra_tools=False,
        tools=options.tools,
        kind=KIND,
    )


def _slots(subjects: Mapping[str, Subject]) -> list[Slot]:
    return [
        Slot(digest, 1, subject.prepared.scenario.treatment, baseline=False) for digest, subject in subjects.items()
    ]


def _asking_for_calls(subject: Subject) -> Subject:
    """The scenario with a task that is to call every server; file and hash stay the same."""
    loaded = subject.prepared.loaded
    asked = loaded.scenario.model_copy(update={"task_prompt": control_prompt(loaded.scenario.treatment)})
    return replace(subject, prepared=replace(subject.prepared, loaded=replace(loaded, scenario=asked)))


def control_prompt(arm: Arm) -> str:
    """What the treated arm is asked. The model has the tools themselves in front of it."""
    servers = "\n".join(f"- {name}: its tools are named {name}{SEPARATOR}..." for name in arm.extra_tools)
    return (
        "This is a check that your tools can be reached; there is nothing to solve and nothing to change.\n"
        "Call one tool of each of these servers, with arguments that make sense in this repository:\n"
        f"{servers}\n"
        "If a call comes back with an error, try once more, with other arguments or another tool of the same server. "
        "Then reply without a tool call."
    )


def _many(subjects: Mapping[str, Subject]) -> str:
    return "one attempt" if len(subjects) == 1 else f"{len(subjects)} attempts"


def _named(subjects: Mapping[str, Subject]) -> str:
    names = (name for subject in subjects.values() for name in subject.prepared.scenario.treatment.extra_tools)
    return ", ".join(dict.fromkeys(names))


def _cost(store: Store, run_id: int) -> str:
    dollars, unknown = spent(store, run_id)
    return f"the control cost {f'{dollars:.4f} US dollars' if not unknown else 'an amount that is not known'}"


# What came of it


def _check(store: Store, result: Result, subjects: Mapping[str, Subject]) -> None:
    """Raises CrucibleError when an attempt did not get to its end, or a server did not answer in it."""
    traced, reached = traces(store, result.run_id), set()
    for attempt_id in result.made:
        row = attempt_row(store, attempt_id)
        arm = subjects[row.scenario_hash].prepared.scenario.treatment
        if not row.counted:
            continue
        reached.add(row.scenario_hash)
        for server in arm.extra_tools:
            _check_server(server, arm, traced[attempt_id])
    if lost := [digest for digest in subjects if digest not in reached]:
        last = [attempt_row(store, one) for one in result.made]
        why = next(
            (f"{row.ending}: {row.detail}" for row in reversed(last) if row.scenario_hash == lost[0]), result.stopped
        )
        raise CrucibleError(
            f"{subjects[lost[0]].prepared.scenario.name}: the control could not be made ({why})",
            hint="mend that first; nothing of the comparison was made",
        )


def _check_server(server: str, arm: Arm, trace: Trace) -> None:
    offered = (trace.offered or {}).get(server, ())
    calls = [call for call in trace.calls if call.tool in offered or belongs(call.tool, arm.extra_tools) == server]
    if any(call.ok for call in calls):
        return
    raise CrucibleError(
        f"the tool server {server} gave {arm.id} no answer: {_what_came(calls)}; it offered {_listed(offered)}",
        hint=f"the wiring is broken, or the model does not call tools; nothing of the comparison was made: "
        f"crucible show {trace.attempt_id}",
    )


def _what_came(calls: Sequence[Call]) -> str:
    if not calls:
        return "it was told to call it, and no call arrived"
    failed = [name for name, many in (
        ("an error", sum(call.reached for call in calls)),
        ("refused by a policy", sum(call.refused for call in calls)),
        ("not understood", sum(not call.reached and not call.refused for call in calls)),
    ) if many]  # fmt: skip
    return f"{len(calls)} call{'' if len(calls) == 1 else 's'} of it came back, each {' or '.join(failed)}"


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - 8} more" if len(every) > 8 else ""
    return f"{', '.join(every[:8])}{more}" if every else "nothing that was recorded"
