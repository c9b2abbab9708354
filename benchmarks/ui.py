"""Pages of the site over what is large: an attempt of 2,000 events and 20 MB, two of them side by side, a run of 10,000
attempts, a list of 1,000 runs. Times are of whole answers, against that of the smallest page."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from starlette.testclient import TestClient

from crucible.settings import Settings
from crucible.store.filling import Filled, fill_run
from crucible.store.tables import EventRow
from crucible.store.writes import Store
from crucible.transcript.events import Answered, Event, Replied, Started
from crucible.web.app import make_app

REPEATS = 5
TURNS, RESULT = 1_000, 20_000
BLOCKS, SCENARIOS, RUNS = 1_000, 5, 1_000


def fill(store: Store) -> None:
    """Run 1 is small, its attempts 1 and 2 are long; run 2 is of many attempts; more runs follow."""
    one = [Filled(True, 0.5, 0.01, 1_000, 2.0)]
    fill_run(store, {"small": {"better": one, "baseline": one}}, "baseline")
    for attempt in (1, 2):
        store.add_events(rows(attempt))
    many = {
        arm: [Filled(n % k > 0, n % 10 / 10, 0.01, 1_000 + n % 99, 2.0) for n in range(BLOCKS)]
        for arm, k in (("better", 4), ("baseline", 3))
    }
    fill_run(store, {f"many-{n}": many for n in range(SCENARIOS)}, "baseline")
    for _ in range(RUNS):
        fill_run(store, {"small": {"better": one, "baseline": one}}, "baseline")


def rows(attempt: int) -> list[EventRow]:
    """2,000 events of 10 kB each and one more; the two attempts do the same but for every seventh turn."""
    return [
        EventRow(attempt_id=attempt, seq=n, kind=e.kind, turn=e.turn, at=e.at, data=e.model_dump_json())
        for n, e in enumerate(events(attempt))
    ]


def events(attempt: int) -> Iterator[Event]:
    """Turns of one call each."""
    yield Started(at=0, turn=0, system_prompt="", task="", tools=("bash",), first_request_sha256="x")
    for turn in range(1, TURNS + 1):
        yield Replied(
            at=turn, turn=turn, text="The next file.", text_size=14, tool_calls=(), input_uncached=900, input_cached=0,
            cache_write=0, output=90, reasoning=None, cost_usd=0.001, raw_usage={}, seconds=0.5, waited_seconds=0,
        )  # fmt: skip
        command = f"cat src/{turn % 50}.py" if turn % 7 else f"grep -n {attempt} src/{turn}.py"
        yield Answered(
            at=turn + 0.5, turn=turn, call_id=f"c{turn}", tool="bash", arguments={"command": command}, ok=True,
            text="def f(x):\n    return x + 1\n" * (RESULT // 27), text_size=RESULT, seconds=0.1, exit_code=0,
        )  # fmt: skip


def main() -> None:
    """Print medians, sizes and ratios."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "ui.db") as store:
        fill(store)
        client = TestClient(make_app(store, Path(folder), Settings()), base_url="http://127.0.0.1")
        pages = {
            "an empty review": "/review",
            f"attempt of {2 * TURNS:,} events": "/attempts/1",
            "the same, in the middle": f"/attempts/1?turn={TURNS // 2}",
            "two of them side by side": "/compare/1/2",
            f"run of {2 * BLOCKS * SCENARIOS:,} attempts": "/runs/2",
            "its comparison": "/runs/2/comparison",
            f"list of {RUNS + 2:,} runs": "/runs",
            "its last page": "/runs?page=999",
            "leaderboard": "/",
        }
        first = None
        for name, path in pages.items():
            median, size = measure(client, path)
            first = first or median
            print(f"{name:32} {median * 1000:8.1f} ms  {size / 1000:8.1f} kB  {median / first:6.1f}x")


def measure(client: TestClient, path: str) -> tuple[float, int]:
    """Median seconds and size of the answer; the first one is not counted, as it reads the templates."""
    times = []
    for _ in range(REPEATS + 1):
        began = perf_counter()
        answer = client.get(path)
        times.append(perf_counter() - began)
        assert answer.status_code == 200, (path, answer.status_code)
    return statistics.median(times[1:]), len(answer.content)


if __name__ == "__main__":
    main()
