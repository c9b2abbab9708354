"""How much a world has on disk: real folders, with everything in them that could fool the count."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from time import sleep

import pytest

from crucible.world.disk import Disk
from crucible.world.types import Limits, World

KB = 1024


def is_full_after(folder: Path, script: str, limit: int) -> bool:
    """Whether a world is full once a script ran in its folder."""
    disk = Disk([folder], limit)
    subprocess.run(["bash", "-c", script], cwd=folder, check=True)
    asyncio.run(disk.measure())
    return disk.is_full


@pytest.mark.parametrize(
    ("script", "size"),
    [
        ("head -c 100000 /dev/zero > f", 100_000),
        ("truncate -s 100000 hole", 100_000),
        ("for i in $(seq 25); do : > f$i; done", 25 * 4 * KB),
        ("mkdir d; for i in $(seq 24); do ln -s x d/f$i; done", 25 * 4 * KB),
        ("head -c 100000 /dev/zero > f; for i in $(seq 9); do ln f g$i; done", 100_000),
        ("mkdir -p a/b/c; head -c 90000 /dev/zero > a/b/c/f", 90_000 + 3 * 4 * KB),
    ],
)
def test_everything_is_counted_once_and_no_file_for_nothing(script: str, size: int, tmp_path: Path) -> None:
    for name, limit in (("under", size + 8 * KB), ("over", size)):
        folder = tmp_path / name
        folder.mkdir()
        assert (limit == size) == is_full_after(folder, script, limit)


def test_what_was_there_before_does_not_count_and_deleting_frees(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(bytes(100_000))
    assert not is_full_after(tmp_path, "head -c 40000 /dev/zero > new", 50_000)
    assert not is_full_after(tmp_path, "rm old; head -c 60000 /dev/zero > newer", 50_000)


def test_whiteouts_cost_nothing(sandboxed) -> None:
    async def body(world: World) -> tuple[str, ...]:
        await world.call("bash", {"command": "rm -rf README.md run.sh link.py tests/data .gitignore"})
        await world.change()
        return world.limits_hit

    assert () == sandboxed.run(body, limits=Limits(disk_bytes=10 * KB))


def test_a_tree_deeper_than_a_path_can_be_long_is_counted(tmp_path: Path) -> None:
    script = (
        "for i in $(seq 60); do n=$(printf 'd%.0s' $(seq 100)); mkdir $n; cd -P $n 2>/dev/null || cd ./$n; done; "
        "head -c 300000 /dev/zero > f"
    )
    assert is_full_after(tmp_path, script, 60 * 4 * KB + 250_000)


def test_a_link_out_of_the_world_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host/big").write_bytes(bytes(200_000))
    folder = tmp_path / "world"
    folder.mkdir()
    assert not is_full_after(folder, "ln -s ../host x; ln -s /usr y", 50_000)


class LargeDisk(Disk):
    """One on which measuring takes longer than what was ended is given to end."""

    def _measure(self) -> None:
        sleep(0.3)
        super()._measure()


@pytest.mark.parametrize("kind", [Disk, LargeDisk])
def test_a_call_right_after_the_one_that_was_ended_is_ended_as_well(kind: type[Disk], tmp_path: Path) -> None:
    async def body() -> int:
        disk, stopped = kind([tmp_path], 1000 * KB), asyncio.Event()
        watching = asyncio.create_task(disk.watch(stopped.set))
        ended = 0
        for name in "abc":
            await disk.look()  # a call begins, and writes within the time that ending the one before took
            stopped.clear()
            (tmp_path / name).write_bytes(bytes(3000 * KB))
            async with asyncio.timeout(60):
                ended += await stopped.wait()
        watching.cancel()
        return ended

    assert 3 == asyncio.run(body())


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder, and no privilege to look into what is closed: root, to whom nothing is, becomes somebody else."""
    folder, user = Path(mkdtemp(prefix="crucible-disk-")), os.geteuid()
    folder.chmod(0o755)
    if user == 0:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        os.seteuid(user)
        (folder / "d").chmod(0o700)
        shutil.rmtree(folder)


def test_what_cannot_be_looked_into_is_taken_for_what_the_file_system_lost(unprivileged: Path) -> None:
    disk = Disk([unprivileged], 40_000_000)
    for name in "abcde":  # others, who free what they have there meanwhile, cannot make up for all of it
        script = f"mkdir -p d; chmod 700 d; head -c 50000000 /dev/zero > d/{name}; chmod 0 d; sync -f ."
        subprocess.run(["bash", "-c", script], cwd=unprivileged, check=True)
        asyncio.run(disk.measure())
    assert disk.is_full
