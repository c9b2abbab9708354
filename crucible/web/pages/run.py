"""One run as it goes: blocks filling in, what it has cost, when it will be done. What came of the arms is said at the end.

The stream tells a browser when to look again. It asks the store once a second with one query, and ends with the run. The page
says which pulse it was made at, so that nothing is missed between it and its stream, or while a stream was broken off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any

from crucible.report.arms import line
from crucible.report.terminal import REHEARSAL
from crucible.store.live import Pace, judge_spend, run_pace, run_pulse, running
from crucible.store.measures import Measured, RunMeasures, run_measures
from crucible.store.pages import RunListed, one_run
from crucible.store.states import RUNNING, UNFINISHED, attempt_state, run_state
from crucible.store.tables import RunRow
from crucible.web.pages.runs import run_row
from crucible.web.pictures import grid
from crucible.web.run_arms import set_apart
from crucible.web.site import Ask, Data, Site, no_run

SECONDS_BETWEEN = 1.0
KEEP_ALIVE_EVERY = 15
"""Looks without news after which something is said, so that nothing between takes the stream for dead."""
MOST_STREAMS = 16


def run_page(site: Site, ask: Ask) -> Data:
    """How the run stands."""
    run_id = ask.number("run", "run")
    pulse = _pulse(site, run_id)  # before all else: what comes meanwhile is then told once too often, never too rarely
    found = one_run(site.store, run_id)
    measures = run_measures(site.store, run_id) if found else None
    if found is None or measures is None:
        raise no_run(run_id)
    listed, row = found
    return {
        "run": run_row(listed),
        "declared": _declared(row),
        "live": listed.state == RUNNING,
        "pulse": pulse,
        "left": listed.state == UNFINISHED,
        "rehearsal": REHEARSAL if row.rehearsal else None,
        "seconds": _seconds(listed),
        "judging": judge_spend(site.store, run_id),
        "apart": set_apart(measures),
        "estimate": _estimate(listed, row, run_pace(site.store, run_id)),
        "running": running(site.store, run_id),
        "blocks": _blocks(measures, attempt_state(None, listed.state)),
    }


def _declared(row: RunRow) -> Data:
    names = ("primary_metric", "margin", "blocks", "seed", "parallel", "judge", "judge_samples", "max_cost_usd")
    return {name: getattr(row, name) for name in (*names, "version", "tools", "without_extra_tools")}


def _seconds(run: RunListed) -> float | None:
    """From its first start to its end; None while it has none."""
    if run.ended is None:
        return None
    return (datetime.fromisoformat(run.ended) - datetime.fromisoformat(run.started)).total_seconds()


def _estimate(run: RunListed, row: RunRow, pace: Pace) -> Data:
    """From the attempts that count so far; None while there is none. A run that may stop early is done at the latest then."""
    to_do = max(0, run.planned - run.counted)
    known = pace.seconds is not None and to_do > 0
    return {
        "to_do": to_do,
        "of": pace.finished,
        "seconds": pace.seconds * to_do / row.parallel if known and pace.seconds is not None else None,
        "cost_usd": pace.cost_usd * to_do if to_do and pace.cost_usd is not None else None,
        "at_most": row.sequential,
    }


def _blocks(measures: RunMeasures, going: str) -> list[Data]:
    standing = measures.standing()
    lost = _made_again(measures, {attempt.id for attempt in standing.values()})
    found = []
    for digest, (plan, _) in measures.by_scenario().items():
        arms = list(dict.fromkeys(slot.arm for slot in sorted(plan, key=lambda slot: slot.baseline)))
        lines = [line(slot, standing.get((digest, slot.arm, slot.block)), going) for slot in plan]
        drawn = grid(measures.scenarios[digest].name, arms, lines)
        for block in drawn["blocks"]:
            block["again"] = lost.get((digest, block["block"]))
        found.append(drawn)
    return found


def _made_again(measures: RunMeasures, standing: set[int]) -> dict[tuple[str, int], Data]:
    """Attempts that do not count and were made again, by scenario and block, and where to read of them."""
    found: dict[tuple[str, int], list[Measured]] = {}
    for one in measures.attempts:
        if one.id not in standing:
            found.setdefault((one.scenario_hash, one.block), []).append(one)
    return {block: _again(measures.run.id, lost) for block, lost in found.items()}


def _again(run_id: int | None, lost: list[Measured]) -> Data:
    return {
        "attempts": [one.id for one in lost],
        "says": "; ".join(f"{one.arm}: not counted ({one.cause}) and made again" for one in lost),
        "href": f"/attempts/{lost[0].id}" if len(lost) == 1 else f"/runs/{run_id}/comparison#lost",
    }


async def pulses(site: Site, run_id: int, gone: Callable[[], Any], seen: str | None = None) -> AsyncIterator[str]:
    """Server-sent events: `change` when there is news, `over` at the end. `gone` tells whether anybody still listens;
    `seen` is the pulse of what they have before them, which may be an old one."""
    now, quiet = await asyncio.to_thread(_pulse, site, run_id), 0
    before = seen or now
    yield "retry: 5000\n\n"
    while now is not None and not await gone():
        quiet = 0 if now != before else quiet + 1
        if now != before:
            yield f"event: change\nid: {now}\ndata: 1\n\n"
        elif quiet % KEEP_ALIVE_EVERY == 0:
            yield ": still here\n\n"
        before = now
        await asyncio.sleep(SECONDS_BETWEEN)
        now = await asyncio.to_thread(_pulse, site, run_id)
    yield "event: over\ndata: 1\n\n"


def _pulse(site: Site, run_id: int) -> str | None:
    """None when the run is over, or nobody makes it any more, or there is none."""
    found = run_pulse(site.store, run_id)
    if found is None or run_state(found.status, found.owner) != RUNNING:
        return None
    return "-".join(map(str, found.counts))
