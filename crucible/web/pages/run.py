"""One run as it goes: blocks filling in, what it has cost, when it will be done. It says nothing about the arms.

The stream tells a browser when to look again. It asks the store once a second with one query, and ends with the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from crucible.report.arms import line
from crucible.report.terminal import REHEARSAL
from crucible.store.live import Pace, run_pace, run_pulse, running
from crucible.store.measures import RunMeasures, Slot, run_measures
from crucible.store.pages import RunListed, one_run
from crucible.store.tables import RunRow
from crucible.web.pages.comparison import no_run
from crucible.web.pages.runs import is_left, run_row
from crucible.web.pictures import MOST_BLOCKS, cell
from crucible.web.site import Ask, Data, Site

SECONDS_BETWEEN = 1.0
KEEP_ALIVE_EVERY = 15
"""Looks without news after which something is said, so that nothing between takes the stream for dead."""
MOST_STREAMS = 16


def run_page(site: Site, ask: Ask) -> Data:
    """How the run stands."""
    run_id = ask.number("run", "run")
    found = one_run(site.store, run_id)
    measures = run_measures(site.store, run_id) if found else None
    if found is None or measures is None:
        raise no_run(run_id)
    listed, row = found
    left = is_left(row.status, row.owner)
    return {
        "run": run_row(listed),
        "declared": _declared(row),
        "live": row.status == "running" and not left,
        "left": left,
        "rehearsal": REHEARSAL if row.rehearsal else None,
        "estimate": _estimate(listed, row, run_pace(site.store, run_id)),
        "running": running(site.store, run_id),
        "blocks": _blocks(measures),
    }


def _declared(row: RunRow) -> Data:
    names = ("primary_metric", "margin", "blocks", "seed", "parallel", "judge", "judge_samples", "max_cost_usd")
    return {name: getattr(row, name) for name in (*names, "version", "tools", "without_extra_tools")}


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


def _blocks(measures: RunMeasures) -> list[Data]:
    standing = measures.standing()
    found = []
    for digest in measures.hashes:
        plan = [slot for slot in measures.plan if slot.scenario_hash == digest]
        arms = list(dict.fromkeys(slot.arm for slot in sorted(plan, key=lambda slot: slot.baseline)))
        by_block: dict[int, dict[str, Slot]] = {}
        for slot in plan:
            by_block.setdefault(slot.block, {})[slot.arm] = slot
        shown = [
            {
                "block": block,
                "both": None,
                "cells": [
                    cell(arm, line(of[arm], standing.get((digest, arm, block))) if arm in of else None) for arm in arms
                ],
            }
            for block, of in sorted(by_block.items())[:MOST_BLOCKS]
        ]
        more = max(0, len(by_block) - MOST_BLOCKS)
        found.append({"scenario": measures.scenarios[digest].name, "arms": arms, "blocks": shown, "more": more})
    return found


async def pulses(site: Site, run_id: int, gone: Callable[[], Any]) -> AsyncIterator[str]:
    """Server-sent events: `change` when there is news, `over` at the end. `gone` tells whether anybody still listens."""
    before, quiet = await asyncio.to_thread(_pulse, site, run_id), 0
    yield "retry: 5000\n\n"
    while before is not None and not await gone():
        await asyncio.sleep(SECONDS_BETWEEN)
        now = await asyncio.to_thread(_pulse, site, run_id)
        quiet = 0 if now != before else quiet + 1
        if now is not None and now != before:
            yield "event: change\ndata: 1\n\n"
        elif quiet and quiet % KEEP_ALIVE_EVERY == 0:
            yield ": still here\n\n"
        before = now
    yield "event: over\ndata: 1\n\n"


def _pulse(site: Site, run_id: int) -> tuple[Any, ...] | None:
    """None when the run is over, or nobody makes it any more, or there is none."""
    found = run_pulse(site.store, run_id)
    return None if found is None or found.status != "running" or is_left(found.status, found.owner) else found.counts
