"""The leaderboard over stores of 1,000, 10,000 and 100,000 attempts, each judged once: the query, and the pages it makes.

The first page is timed apart: what it alone has to load, `crucible ui` loads while it starts to listen.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

from starlette.testclient import TestClient

from crucible.settings import Settings
from crucible.store.standings import leaderboard
from crucible.store.tables import AttemptRow, JudgeRow, RunRow, ScenarioRow, TotalRow
from crucible.store.writes import Store, now
from crucible.web.app import make_app

RUNS = 5
PAGES = ("/", "/?scenario=s3", "/?sort=cost&dir=down", "/?page=2", "/?view=overall", "/index.json")


def fill(store: Store, attempts: int) -> None:
    """Attempts of 10 scenarios, 2 arms and 2 models."""
    store.add(JudgeRow(id="j", model="facts", samples=0, prompt_hash="", rubric_hash="", created_at=now()))
    for n in range(10):
        store.add(
            ScenarioRow(hash=f"h{n}", name=f"s{n}", text="", fixture_digest="", reference_text="", created_at=now())
        )
    run = RunRow(
        created_at=now(), status="done", rehearsal=False, seed=0, blocks=attempts, sandbox="overlay", judge="facts",
        judge_samples=1, parallel=1, version="0", bench=".",
    )  # fmt: skip
    run_id = store.create_run(run, [])
    with store.writing() as session:
        session.execute(AttemptRow.__table__.insert(), [attempt(run_id, n) for n in range(attempts)])
        session.execute(TotalRow.__table__.insert(), [total(n) for n in range(attempts)])


def attempt(run_id: int, n: int) -> dict[str, object]:
    """One stored attempt."""
    return {
        "id": n + 1, "run_id": run_id, "scenario_hash": f"h{n % 10}",
        "scenario": f"s{n % 10}", "arm": "ab"[n // 10 % 2],
        "block": n // 40 + 1, "retry": n // 20 % 2, "baseline": n // 10 % 2 == 1, "model": f"m{n // 20 % 2}",
        "rehearsal": False, "sandbox": "overlay", "started_at": now(), "ending": "finished", "cause": "agent",
        "counted": True, "passed": n % 3 > 0, "tokens": 1000 + n % 500, "cost_usd": 0.01, "seconds": 1.5, "detail": "",
        "scripted_usage": False, "similarity_reasons": [], "diff": "x" * 2000,
    }  # fmt: skip


def total(n: int) -> dict[str, object]:
    """Its total."""
    return {
        "attempt_id": n + 1, "judge_id": "j", "seq": n + 1, "value": n % 100 / 100, "partial": None,
        "weight_scored": 1.0, "missing": [], "cuts": [], "scenario": f"s{n % 10}", "scenario_hash": f"h{n % 10}",
        "arm": "ab"[n // 10 % 2],
        "model": f"m{n // 20 % 2}", "rehearsal": False,
    }  # fmt: skip


def main() -> None:
    """Print medians: of the query with its growth, of the pages as multiples of the query."""
    sizes = [int(size) for size in sys.argv[1:]] or [1_000, 10_000, 100_000]
    first = None
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "bench.db") as store:
            fill(store, size)
            lines = len(leaderboard(store))
            query = median_of(partial(leaderboard, store))
            first = first or query
            print(f"{size:>8,} attempts: {query * 1000:8.1f} ms for {lines} lines  {query / first:6.1f}x")
            client = TestClient(make_app(store, Path(folder), Settings()), base_url="http://127.0.0.1")
            print_pages(client, query)


def print_pages(client: TestClient, query: float) -> None:
    """The first page, then each of them warm."""
    began = perf_counter()
    client.get("/")
    print(f"         {'the first page':22} {(perf_counter() - began) * 1000:8.1f} ms")
    for path in PAGES:
        assert client.get(path).status_code == 200, path
        page = median_of(partial(client.get, path))
        print(f"         {path:22} {page * 1000:8.1f} ms  {page / query:6.1f}x the query")


def median_of(work: Callable[[], object]) -> float:
    """Seconds."""
    times = []
    for _ in range(RUNS):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return statistics.median(times)


if __name__ == "__main__":
    main()
