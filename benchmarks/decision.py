"""The decision on a run of 2 arms x 40 scenarios x 50 attempts: CPU of the whole report, and of its parts."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import process_time

from crucible.report import comparison, costs, evidence, exploratory, order, overall
from crucible.report.gather import gather
from crucible.stats import distribution
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store

SCENARIOS, ATTEMPTS = 40, 50


def fill(store: Store, scenarios: int, attempts: int, metric: str) -> int:
    """A run whose arms differ by some ten points, with scores, costs and times."""
    random = Random(1)  # noqa: S311 - an experiment that can be repeated, not a secret

    def arm(rate: float) -> list[Filled]:
        return [
            Filled(
                random.random() < rate, round(random.random(), 2), random.uniform(0.1, 1), 1000, random.uniform(1, 90)
            )
            for _ in range(attempts)
        ]

    run = {f"s{n}": {"new": arm(0.35 + n / 100), "old": arm(0.25 + n / 100)} for n in range(scenarios)}
    return fill_run(store, run, "old", primary_metric=metric)


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU."""
    began = process_time()
    work()
    return process_time() - began


def main() -> None:
    """Print seconds, and each part as a share of the whole."""
    scenarios, attempts = [int(size) for size in sys.argv[1:]] or (SCENARIOS, ATTEMPTS)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "bench.db") as store:
        warm = fill(store, 2, 3, "pass_rate")
        overall.overall(store, warm)
        for metric in ("pass_rate", "score"):
            measured(store, fill(store, scenarios, attempts, metric), metric, 2 * scenarios * attempts)


def measured(store: Store, run: int, metric: str, attempts: int) -> None:
    """One run: the first report, and then its parts in turn, each computed once."""
    print(f"{attempts:,} attempts, verdict on the {metric}")
    whole = cpu(lambda: overall.overall(store, run))
    again = cpu(lambda: overall.overall(store, run))
    for cache in (evidence._passes_on_these, evidence.scores_on_these, evidence.permuted, distribution._by_table_kept):  # noqa: SLF001 - measured cold
        cache.cache_clear()
    gathered = gather(store, run)
    assert gathered is not None
    sides = [(scene.sides[0], scene.sides[1]) for scene in gathered.scenes]
    parts: dict[str, Callable[[], object]] = {
        "read": lambda: gather(store, run),
        "claims": lambda: overall.claims(gathered.pairs, None, gathered.terms),
        "scenario by scenario": lambda: comparison.comparisons_of(store, gathered),
        "costs": lambda: costs.costs(sides),
        "order": lambda: order.order(gathered),
        "dimensions": lambda: exploratory.dimension_rows(gathered),
    }
    print(f"  whole report {whole:6.2f} s, once more {again:6.2f} s ({again / whole:.0%})")
    for name, work in parts.items():
        print(f"  {name:22} {cpu(work) / whole:6.0%}")


if __name__ == "__main__":
    main()
