"""How long a reset takes: open and close of a sandboxed world, by size of the fixture, beside a plain copy of it."""

from __future__ import annotations

import asyncio
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from crucible.world import make_world
from crucible.world.snapshot import take_snapshot
from crucible.world.types import Snapshot, WorldSpec

SIZES = (20, 2_000, 20_000)
RESETS, COPIES = 20, 3
FILE = b"def answer() -> int:\n    return 42\n" * 30


def main() -> None:
    """Print one row for each size; medians in milliseconds."""
    print(f"Median ms on {sys.platform}; open and close {RESETS} times, copytree {COPIES} times.")
    print(f"{'files':>8} {'reset':>9} {'of it open':>11} {'copytree':>10} {'ratio':>7}")
    with tempfile.TemporaryDirectory(prefix="crucible-bench-") as folder:
        for size in SIZES:
            snapshot = take_snapshot(_fixture(Path(folder, f"fixture-{size}"), size), Path(folder, "cache"))
            opened, reset = asyncio.run(_resets(snapshot, Path(folder, "scratch")))
            copied = statistics.median(_copy(snapshot, Path(folder, "copy")) for _ in range(COPIES))
            print(f"{size:>8} {reset:>9.1f} {opened:>11.1f} {copied:>10.1f} {copied / reset:>6.0f}x")


def _fixture(folder: Path, size: int) -> Path:
    for n in range(size):
        file = folder / f"package_{n // 100}" / f"module_{n}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(FILE)
    return folder


async def _resets(snapshot: Snapshot, scratch: Path) -> tuple[float, float]:
    """Median of opening alone and of opening and closing; the first one, which probes and builds, is not counted."""
    times = [await _reset(snapshot, scratch) for _ in range(RESETS + 1)][1:]
    return statistics.median(opened for opened, _ in times), statistics.median(both for _, both in times)


async def _reset(snapshot: Snapshot, scratch: Path) -> tuple[float, float]:
    began = perf_counter()
    world = make_world(WorldSpec(snapshot, protected=("package_0",)), "overlay", scratch)
    try:
        await world.open()
        opened = perf_counter()
    finally:
        await world.close()
    return (opened - began) * 1000, (perf_counter() - began) * 1000


def _copy(snapshot: Snapshot, target: Path) -> float:
    milliseconds = _timed(lambda: shutil.copytree(snapshot.root, target, symlinks=True))
    shutil.rmtree(target)
    return milliseconds


def _timed(action: Callable[[], object]) -> float:
    began = perf_counter()
    action()
    return (perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
