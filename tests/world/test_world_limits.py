"""What a world may use, exceeded for real: the call ends, the limit is named, and the next call works.

What could harm the host runs in the sandbox only, behind INSIDE; the copy gets tame variants.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from crucible.errors import SandboxError
from crucible.world.toolbox.others import processes
from crucible.world.types import Change, Execution, FileChange, FileState, Limits, ToolOutcome, World

MB = 1 << 20
INSIDE = (
    "[ $(hostname) = crucible ] && [ -d /opt/crucible/toolbox ] && [ ! -e /sys ] && [ $(id -un) = agent ] || exit 99\n"
)
ALLOCATE = "python3 -c 'x = bytearray({n}); import time; time.sleep(60)'"


async def bash(world: World, command: str, **more: object) -> ToolOutcome:
    return await world.call("bash", {"command": INSIDE + command if world.mode == "overlay" else command, **more})


def commands_with(mark: str) -> list[bytes]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found.append((folder / "cmdline").read_bytes())
            except OSError:
                continue
    return [line for line in found if mark.encode() in line]


async def gone(mark: str) -> None:
    """Wait until no process of the machine carries a mark."""
    for _ in range(2400):
        if not commands_with(mark):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{mark} is still there")


def python(*lines: str) -> str:
    return "python3 - <<'EOF'\n" + "\n".join(lines) + "\nEOF"


EXCESSES = {
    "a fork bomb": (":(){ :|:& };: ; sleep 60", "processes"),
    "a burst of processes": ("for i in $(seq 500); do setsid sleep 60 & done; sleep 60", "processes"),
    "processes nobody reaps": (
        python("import os, time", "for _ in range(300):", "    os.fork() or os._exit(0)", "time.sleep(60)"),
        "processes",
    ),
    "many threads": (
        python(
            "import threading, time",
            "for _ in range(5000): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
            "time.sleep(60)",
        ),
        "processes",
    ),
    "one allocation": (ALLOCATE.format(n=10 << 30), "memory"),
    "several that are too much together": (
        f"for i in 1 2 3 4 5 6; do {ALLOCATE.format(n=32 * MB)} & done; wait",
        "memory",
    ),
    "shared memory": (
        python("import mmap, time", "m = mmap.mmap(-1, 1 << 30)", "for _ in range(1024): m.write(bytes(1 << 20))"),
        "memory",
    ),
    "files in memory without a name": (
        python(
            "import os, time",
            "fds = [os.memfd_create('x') for _ in range(20)]",
            "for fd in fds: os.write(fd, bytes(16 << 20))",
            "time.sleep(60)",
        ),
        "memory",
    ),
    "system v shared memory": (
        python(
            "import ctypes, time",
            "libc = ctypes.CDLL(None)",
            "libc.shmat.restype = ctypes.c_void_p",
            "for _ in range(20):",
            "    at = libc.shmat(libc.shmget(0, 16 << 20, 0o1666), None, 0)",
            "    ctypes.memset(at, 1, 16 << 20)",
            "    libc.shmdt(ctypes.c_void_p(at))",
            "time.sleep(60)",
        ),
        "memory",
    ),
    "a large file": ("head -c 3G /dev/zero > big; sleep 60", "disk"),
    "many small files": ("for i in $(seq 20000); do : > small$i; done; sleep 60", "disk"),
    "files on disk without a name": (
        python(
            "import os, time",
            "for n in range(10):",
            "    fd = os.open('gone', os.O_CREAT | os.O_RDWR)",
            "    os.unlink('gone')",
            "    os.write(fd, bytes(16 << 20))",
            "time.sleep(60)",
        ),
        "disk",
    ),
    "a hole": ("truncate -s 60M hole; sleep 60", "disk"),
    "a flood of output": ("yes", "output"),
    "a gigabyte of output": ("head -c 1G /dev/zero", "output"),
}
SMALL = Limits(
    memory_bytes=128 * MB, processes=64, disk_bytes=48 * MB, drain_bytes=16 * MB, file_bytes=64 * MB, call_seconds=45
)


SMALLER = replace(SMALL, disk_bytes=8 * MB)


SLOW = {"a fork bomb", "many small files"}


@pytest.mark.parametrize(
    "excess", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in EXCESSES]
)
def test_an_excess_ends_the_call_by_name_and_the_next_one_works(excess: str, sandboxed) -> None:
    command, limit = EXCESSES[excess]

    async def body(world: World) -> tuple[ToolOutcome, ToolOutcome, tuple[str, ...], tuple[str, ...]]:
        stopped = await bash(world, command)
        after = await bash(world, "find . -name 'small*' -delete; rm -f big hole; echo alive")
        await world.change()
        return stopped, after, world.limits_hit, world.survivors

    stopped, after, hit, survivors = sandboxed.run(body, limits=SMALLER if limit == "disk" else SMALL)
    assert (limit, False, None, False) == (stopped.limit, stopped.ok, stopped.exit_code, stopped.timed_out)
    assert "\n[stopped: " in stopped.text
    assert (True, "alive") == (after.ok, after.text)
    assert ((limit,), ()) == (hit, survivors)


def test_a_limit_is_told_to_the_grader_too_and_the_output_stays_as_it_is(sandboxed) -> None:
    async def body(world: World) -> tuple[Execution, Execution]:
        stopped = await world.execute(f"{INSIDE}echo a; {ALLOCATE.format(n=1 << 30)}", seconds=45, env={})
        return stopped, await world.execute("echo b", seconds=45, env={})

    stopped, after = sandboxed.run(body, limits=SMALL)
    assert ("memory", None, "a\n") == (stopped.limit, stopped.exit_code, stopped.output)
    assert (None, 0, "b\n") == (after.limit, after.exit_code, after.output)


def test_pages_that_processes_share_count_once(sandboxed) -> None:
    outcome = sandboxed.run(
        lambda world: bash(
            world,
            python(
                "import os, time",
                "x = bytearray(b'x') * (90 << 20)",
                "for _ in range(6):",
                "    os.fork() or (time.sleep(0.5), os._exit(0))",
                "for _ in range(6): os.wait()",
                "print('done')",
            ),
        ),
        limits=SMALL,
    )
    assert (None, "done") == (outcome.limit, outcome.text)


def test_one_that_has_ended_holds_nothing_although_it_did_when_it_was_listed() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        (listed,) = processes([process.pid])
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        (ended,) = processes([process.pid])
        assert ((0, 0), False) == (listed.share(), ended.has_memory)


def test_folders_in_memory_are_full_before_memory_is(sandboxed) -> None:
    async def body(world: World) -> list[ToolOutcome]:
        fill = (
            "for f in /tmp ~ /dev/shm; do head -c 100M /dev/zero > $f/x 2>/dev/null || stat -c %s $f/x; done; sleep 0.3"
        )
        return [await bash(world, fill), await bash(world, ALLOCATE.format(n=128 * MB)), await bash(world, "rm /tmp/x")]

    full, over, after = sandboxed.run(body, limits=SMALL)
    assert (None, f"{32 * MB}\n{32 * MB}\n{32 * MB}") == (full.limit, full.text)
    assert ("memory", None, 0) == (over.limit, after.limit, after.exit_code)


def test_memory_that_no_limit_sees_cannot_be_mounted_or_made_in_dev(sandboxed) -> None:
    outcome = sandboxed.run(
        lambda world: bash(
            world, "touch /dev/x; unshare -Urm true; mount -t tmpfs x /tmp; echo x > /dev/null && echo ok"
        )
    )
    assert outcome.text.startswith("touch: cannot touch '/dev/x': Read-only file system\nunshare: ")
    assert outcome.text.endswith("\nok")


def test_a_full_disk_can_be_read_and_emptied_and_not_written(sandboxed) -> None:
    async def body(world: World) -> list[ToolOutcome]:
        return [
            await bash(world, "head -c 20M /dev/zero > a; head -c 20M /dev/zero > b; sleep 60"),
            await bash(world, "ls a b; head -c 1000 /dev/zero > more; echo code $?; stat -c %s more"),
            await world.call("read_file", {"path": "README.md"}),
            await world.call("write_file", {"path": "README.md", "content": "x"}),
            await world.call("read_file", {"path": "README.md"}),
            await bash(world, "rm a b more"),
            await world.call("write_file", {"path": "README.md", "content": "x"}),
            await bash(world, "echo more > more && cat more"),
        ]

    found = sandboxed.run(body, limits=Limits(disk_bytes=30 * MB))
    full = f"[full: {30 * MB} bytes on disk; nothing can be written until some are deleted]"
    assert ["disk", "disk", "disk", "disk", "disk", None, None, None] == [outcome.limit for outcome in found]
    assert [False, True, True, False, True, True, True, True] == [outcome.ok for outcome in found]
    _, look, read, refused, unchanged, *_, wrote = found
    assert look.text.endswith(f"code 153\n0\n{full}")
    assert f"nothing was written\n{full}" == refused.text
    assert [f"# Shop\n{full}"] * 2 == [text.replace("\n\n", "\n") for text in (read.text, unchanged.text)]
    assert "more" == wrote.text


def test_growing_past_a_full_disk_ends_everything_again(sandboxed) -> None:
    raised = "ulimit -S -f unlimited; head -c 50M /dev/zero > {name}; sleep 60"

    async def body(world: World) -> list[ToolOutcome]:
        return [await bash(world, raised.format(name=name)) for name in "ab"]

    for outcome in sandboxed.run(body, limits=Limits(disk_bytes=30 * MB)):
        assert ("disk", None, False) == (outcome.limit, outcome.exit_code, outcome.timed_out)


def test_output_counts_over_all_calls_and_a_little_can_always_be_said(sandboxed) -> None:
    async def body(world: World) -> list[tuple[str | None, int | None]]:
        outcomes = [await bash(world, command) for command in ("seq 50000", "seq 50000", "seq 50000", "echo hi")]
        return [*((o.limit, o.exit_code) for o in outcomes), (" ".join(world.limits_hit), None)]

    limits = Limits(output_bytes=2000, total_output_bytes=400_000)
    expected = [(None, 0), ("total_output", None), ("total_output", None), (None, 0), ("total_output", None)]
    assert expected == sandboxed.run(body, limits=limits)


def test_the_harness_keeps_of_a_flood_what_it_shows(sandboxed) -> None:
    async def body(world: World) -> int:
        await bash(world, "head -c 60M /dev/zero")
        return int((await bash(world, "grep VmHWM /proc/1/status")).text.split()[1]) * 1024

    assert sandboxed.run(body) < 40 * MB


def test_a_program_sees_that_it_can_open_no_more_files(sandboxed) -> None:
    async def body(world: World) -> list[str]:
        many = python(
            "try:", "    x = [open('/dev/null') for _ in range(3000)]", "except OSError as e:", "    print(e.strerror)"
        )
        return [(await bash(world, command)).text for command in (many, "echo alive")]

    assert ["Too many open files", "alive"] == sandboxed.run(body, limits=Limits(open_files=100))


BEHIND = (
    "setsid sh -c 'touch ~/up; until [ -e go ]; do sleep 0.02; done; {daemon}; : {mark}' >/dev/null 2>&1 & "
    "until [ -e ~/up ]; do sleep 0.02; done; echo started"
)
GO = Change((FileChange("go", "add", None, FileState("file", 0o100644, 0, "", b"")),))
"""Applied to a world, it lets go what was started BEHIND: not before the call that started it has been answered."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("daemon", "limit"),
    [
        ("for i in $(seq 300); do sleep 60 & done; sleep 60", "processes"),
        ('python3 -c "x = bytearray(1 << 30); import time; time.sleep(60)"', "memory"),
        ("head -c 60M /dev/zero > big; sleep 60", "disk"),
    ],
)
def test_a_daemon_is_ended_between_calls_and_the_next_call_says_so(daemon: str, limit: str, sandboxed) -> None:
    mark = secrets.token_hex(8)

    async def body(world: World) -> tuple[ToolOutcome, ToolOutcome]:
        first = await bash(world, BEHIND.format(daemon=daemon, mark=mark))
        await world.apply(GO)
        await gone(mark)
        return first, await world.call("read_file", {"path": "README.md"})

    first, second = sandboxed.run(body, limits=SMALL)
    assert (None, limit, True) == (first.limit, second.limit, second.ok)
    assert "[stopped in the background: more than " in second.text


def test_a_call_that_is_stopped_names_what_stopped_it_and_the_world_remembers_both(sandboxed) -> None:
    mark = secrets.token_hex(8)

    async def body(world: World) -> tuple[str | None, tuple[str, ...]]:
        await bash(world, BEHIND.format(daemon="for i in $(seq 300); do sleep 60 & done; sleep 60", mark=mark))
        await world.apply(GO)
        await gone(mark)
        return (await bash(world, "yes")).limit, world.limits_hit

    assert ("output", ("processes", "output")) == sandboxed.run(body, limits=SMALL)


def test_an_excess_after_the_last_call_is_known_at_the_end(sandboxed) -> None:
    mark = secrets.token_hex(8)

    async def body(world: World) -> tuple[str, ...]:
        await bash(world, BEHIND.format(daemon="for i in $(seq 300); do sleep 60 & done; sleep 60", mark=mark))
        await world.apply(GO)
        await gone(mark)
        assert () == world.limits_hit
        await world.resolve("README.md")  # what only the harness asks takes the news from nobody
        await world.change()
        return world.limits_hit

    assert ("processes",) == sandboxed.run(body, limits=SMALL)


@pytest.mark.slow
def test_a_pattern_that_explodes_does_not_keep_the_watch_from_looking(sandboxed) -> None:
    waits = 'python3 -c \'import os, time\nopen("up", "w")\nwhile not os.path.exists("go"): time.sleep(0.02)\n'
    allocates = "time.sleep(0.3)\nx = bytearray(1 << 30)\ntime.sleep(60)'"
    begun = "until [ -e up ]; do sleep 0.02; done"

    async def body(world: World) -> ToolOutcome:
        await world.call("write_file", {"path": "a.txt", "content": "a" * 40 + "!\n"})
        await bash(world, f"setsid {waits}{allocates} >/dev/null 2>&1 & {begun}")
        await world.apply(GO)
        return await world.call("search", {"pattern": "(a+)+$"})

    outcome = sandboxed.run(body, limits=Limits(memory_bytes=128 * MB, call_seconds=10))
    assert ("memory", True) == (outcome.limit, outcome.timed_out)


def test_a_world_whose_processes_stay_within_limits_has_hit_none(sandboxed) -> None:
    async def body(world: World) -> tuple[ToolOutcome, tuple[str, ...]]:
        outcome = await bash(world, "seq 200 | xargs -P 100 -I n sh -c 'sleep 0.2'; echo done")
        await world.change()
        return outcome, world.limits_hit

    outcome, hit = sandboxed.run(body)
    assert ("done", None, ()) == (outcome.text, outcome.limit, hit)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["node", "javac", "make"])
def test_the_usual_tools_have_room_in_the_defaults(program: str, sandboxed) -> None:
    if not (shutil.which(program) or "").startswith("/usr"):
        pytest.skip(f"no {program} here")
    commands = {
        "node": "node -e 'new (require(`worker_threads`).Worker)(`1`, {eval: true}); console.log(`fine`)'",
        "javac": "javac -version >/dev/null && echo fine",
        "make": "printf '%%: ; @sleep 0.1\\n' > Makefile; make -s -j50 $(seq -f t%.0f 100) && echo fine",
    }
    outcome = sandboxed.run(lambda world: bash(world, commands[program]))
    assert ("fine", None) == (outcome.text, outcome.limit)


@pytest.mark.parametrize(
    ("command", "limit"),
    [
        ("for i in $(seq 30); do sleep 60 & done; wait", "processes"),
        ("for i in $(seq 30); do setsid sleep 60 & done; sleep 60", "processes"),
        (ALLOCATE.format(n=300 * MB), "memory"),
        ("head -c 20M /dev/zero > big; sleep 60", "disk"),
        ("head -c 20M /dev/zero > $TMPDIR/big; sleep 60", "disk"),
        ("yes", "output"),
    ],
)
def test_limits_are_watched_without_a_sandbox_too(command: str, limit: str, bench) -> None:
    async def body(world: World) -> tuple[ToolOutcome, str]:
        return await bash(world, command), (await bash(world, "rm -f big $TMPDIR/big; echo alive")).text

    limits = Limits(processes=20, memory_bytes=128 * MB, disk_bytes=10 * MB, drain_bytes=MB, call_seconds=45)
    stopped, after = bench.run(body, "copy", limits=limits)
    assert (limit, None, False, "alive") == (stopped.limit, stopped.exit_code, stopped.timed_out, after)


def test_a_world_of_which_nothing_can_be_asked_any_more_names_no_survivor(sandboxed) -> None:
    async def body(world: World) -> tuple[str, ...]:
        await bash(world, "setsid sleep 60 >/dev/null 2>&1 &")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await bash(world, "sleep 60")
        await world.change()
        with pytest.raises(SandboxError, match="bash was interrupted"):
            await bash(world, "true")
        return world.survivors

    assert () == sandboxed.run(body)
