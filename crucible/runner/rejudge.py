"""`crucible rejudge`: stored attempts judged again, under another judge; none is made."""

from __future__ import annotations

from crucible.errors import UsageError
from crucible.judging.versions import FACTS
from crucible.runner.checks import Say
from crucible.runner.choose import warn_of_family
from crucible.runner.control_run import KIND as CONTROL
from crucible.runner.judge import JudgeChoice, JudgeQueue
from crucible.runner.models import check_models, close_models
from crucible.settings import Settings
from crucible.store.queries import run_record, unjudged
from crucible.store.writes import Store


async def rejudge(
    run_id: int, choice: JudgeChoice, settings: Settings, store: Store, say: Say
) -> tuple[int, dict[int, str]]:
    """Judge a run's stored attempts again under another judge. How many were judged, and those still pending with why."""
    from crucible.scenario.load import parse_stored

    record = run_record(store, run_id)
    if record is None:
        raise UsageError(f"there is no run {run_id} in this store", hint="crucible runs")
    if record.run.kind == CONTROL:
        raise UsageError(
            f"run {run_id} only shows that the tool servers can be used; its attempts are not scored",
            hint="name a run of a comparison: crucible runs",
        )
    if choice.model != FACTS:
        check_models([choice.model], settings)
        warn_of_family(choice.model, [p.model for p in record.plan], say)
    queue = JudgeQueue(store, choice, settings)
    todo = [
        attempt_id
        for digest, row in record.scenarios.items()
        for attempt_id in unjudged(store, run_id, choice.version(parse_stored(row.text)), digest)
    ]
    for number, attempt_id in enumerate(todo, 1):
        say(f"judging attempt {attempt_id} ({number} of {len(todo)})")
        await queue.judge(attempt_id)
    await close_models()
    return len(todo) - len(queue.pending), queue.pending
