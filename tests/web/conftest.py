"""A store as the site meets it: one real rehearsal, and runs that are only counts but look real, verdict and all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from starlette.testclient import TestClient

from crucible.settings import load_settings
from crucible.store.filling import Filled, fill_run
from crucible.store.tables import EventRow
from crucible.store.writes import Store
from crucible.transcript.events import EVENT, Answered, Decided, Replied
from crucible.web.app import make_app

ADDRESS = "http://127.0.0.1"
LONG_TURNS = 50
"""Turns of the attempt that is longer than a page."""


@dataclass(frozen=True)
class Kept:
    """What is in the store, by number of run or attempt."""

    bench: Path
    store: Store
    rehearsal: int
    better: int
    incomplete: int
    several: int
    long: int


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory, rehearsed: Path) -> Iterator[Kept]:
    """One store for all tests of pages, which only read it."""
    bench = shutil.copytree(rehearsed, tmp_path_factory.mktemp("web") / "bench", symlinks=True)
    with Store(bench / "results" / "crucible.db") as store:
        random = Random(4)  # noqa: S311 - made-up numbers, the same every time
        better = fill_run(store, {"refund": {"search": _arm(random, 18, 20), "plain": _arm(random, 5, 20)}}, "plain")
        lost = [*_arm(random, 8, 9), Filled(None, cause="provider")]
        incomplete = fill_run(store, {"export": {"search": lost, "plain": _arm(random, 5, 10)}}, "plain")
        names = ("cache", "export", "refund")
        several = fill_run(
            store, {name: {"search": _arm(random, 9, 10), "plain": _arm(random, 4, 10)} for name in names}, "plain"
        )
        long = fill_run(store, {"long": {"search": [Filled(True)], "plain": [Filled(False)]}}, "plain")
        attempt = _add_turns(store, long)
        yield Kept(bench, store, 1, better, incomplete, several, attempt)


@pytest.fixture(scope="session")
def site(filled: Kept) -> Iterator[TestClient]:
    """The site over it, read-only."""
    app = make_app(filled.store, filled.bench, load_settings(filled.bench))
    with TestClient(app, base_url=ADDRESS) as client:
        yield client


def _arm(random: Random, passes: int, attempts: int) -> list[Filled]:
    done = [n < passes for n in range(attempts)]
    random.shuffle(done)
    return [
        Filled(ok, random.uniform(0.6, 1) if ok else random.uniform(0, 0.5), random.uniform(0.01, 0.05), 20_000, 60.0)
        for ok in done
    ]


def _add_turns(store: Store, run_id: int) -> int:
    """A transcript for the run's first attempt; its number."""
    from crucible.store.queries import run_record

    record = run_record(store, run_id)
    assert record is not None
    number = record.attempts[0].id or 0
    events: list[Replied | Answered | Decided] = []
    for turn in range(1, LONG_TURNS + 1):
        events += [_reply(turn), _answer(turn)]
    events.append(
        Decided(at=1, turn=7, call_id="c7", policy_id="P1", action="block", detail="tests are not to be changed")
    )
    rows = [
        EventRow(attempt_id=number, seq=seq, kind=e.kind, turn=e.turn, at=e.at, data=EVENT.dump_json(e).decode())
        for seq, e in enumerate(sorted(events, key=lambda e: (e.turn, e.kind != "replied")))
    ]
    store.add_events(rows)
    return number


def _reply(turn: int) -> Replied:
    text = f"This is turn {turn} speaking."
    return Replied(
        at=turn, turn=turn, text=text, text_size=len(text), tool_calls=(), input_uncached=100 * turn, input_cached=0,
        cache_write=0, output=10, reasoning=None, cost_usd=None, raw_usage={}, seconds=0.5, waited_seconds=0,
    )  # fmt: skip


def _answer(turn: int) -> Answered:
    text = f"result {turn}: " + "x" * 9_000
    return Answered(
        at=turn + 0.5, turn=turn, call_id=f"c{turn}", tool="bash", arguments={"command": f"echo {turn}"},
        ok=turn % 5 != 0, text=text, text_size=len(text), seconds=0.1,
    )  # fmt: skip
