"""Programs that run beside the tools in a world, and connections into and out of it, in both sandboxes."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from crucible.agents.stub_tools import StubTools, StubWorld
from crucible.errors import HarnessError, SandboxError
from crucible.redaction import MARK, guard
from crucible.world import make_world
from crucible.world.streams import LARGEST_LINE, SAID_CHARACTERS
from crucible.world.types import Limits, Program, Running, SandboxMode, World, WorldSpec
from tests.world.test_world_processes import bash, commands_with, new_mark, until_running

MODES = pytest.mark.parametrize("mode", ["overlay", "copy"])
MB = 1 << 20
SERVE = "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); print(s.server_port)"


def program(*command: str, **more: object) -> Program:
    return Program("a tool", command, **more)  # type: ignore[arg-type]  # a test's shorthand


def python(*lines: str, **more: object) -> Program:
    return program("python3", "-u", "-c", "\n".join(lines), **more)


def descriptors() -> set[str]:
    """What this process has open, but for what listing it takes."""
    found = set()
    for fd in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(f"{fd.name} {fd.readlink()}")
    return {one for one in found if "/proc/" not in one}


async def all_of(running: Running) -> str:
    return (await running.reader.read()).decode()


@MODES
def test_a_program_answers_line_by_line_and_ends_when_its_input_does(mode: SandboxMode, sandboxed) -> None:
    async def body(world: World) -> tuple[object, ...]:
        running = await world.start(program("cat"))
        said = []
        for line in (b"one\n", b"two\n"):
            running.writer.write(line)
            said.append(await running.reader.readline())
        before = await running.exit_code()
        running.writer.write_eof()
        return said, before, await running.reader.read(), await running.exit_code()

    assert ([b"one\n", b"two\n"], None, b"", 0) == sandboxed.run(body, mode)


@MODES
def test_it_starts_in_the_workspace_with_the_worlds_environment_its_own_and_its_files(
    mode: SandboxMode, sandboxed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRUCIBLE_TEST_API_KEY", "sk-0123456789abcdef")
    script = 'cat README.md ~/.config/tool/settings.toml; echo "$MINE $PAGER $(umask)"; env'
    files = {".config/tool/settings.toml": "level = 'ü'\n"}

    async def body(world: World) -> tuple[str, str]:
        running = await world.start(program("sh", "-c", script, env={"MINE": "1"}, files=files, stdin=False))
        return await all_of(running), (await bash(world, "env")).text

    said, environment = sandboxed.run(body, mode)
    assert said.startswith("# Shop\nlevel = 'ü'\n1 cat 0022\n")
    assert "CRUCIBLE_TEST_API_KEY" not in said
    ours = set(said.splitlines()[3:])
    assert {"MINE=1"} == {
        line for line in ours - set(environment.splitlines()) if not line.startswith(("_=", "SHLVL="))
    }


@MODES
def test_without_input_it_reads_the_end_of_file_at_once(mode: SandboxMode, sandboxed) -> None:
    async def body(world: World) -> tuple[str, int | None]:
        running = await world.start(program("cat", stdin=False))
        with pytest.raises(HarnessError, match="a tool was started without standard input"):
            _ = running.writer
        return await all_of(running), await running.exit_code()

    assert ("", 0) == sandboxed.run(body, mode)


@MODES
def test_its_streams_are_pipes_that_can_be_opened_by_name_and_it_has_no_other_descriptor(
    mode: SandboxMode, sandboxed
) -> None:
    script = (
        "import os; print([os.readlink(f'/proc/self/fd/{n}')[:4] for n in os.listdir('/proc/self/fd') if n != '3'])"
    )

    async def body(world: World) -> tuple[str, str, str, str]:
        await world.start(program("sleep", "60"))
        running = await world.start(
            program("sh", "-c", "cat /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr")
        )
        running.writer.write(b"in\n")
        running.writer.write_eof()
        said = await all_of(running), running.said()
        listed = await all_of(await world.start(python(script)))
        return *said, listed, (await bash(world, f'python3 -c "{script}"')).text

    out, err, of_program, of_command = sandboxed.run(body, mode)
    assert ("in\nout\n", "err\n", "['pipe', 'pipe', 'pipe']\n") == (out, err, of_program)
    assert "['/dev', 'pipe', 'pipe']" == of_command


@pytest.mark.slow
@MODES
def test_a_program_that_prints_without_end_is_held_up_and_nothing_is_lost(mode: SandboxMode, sandboxed) -> None:
    size = 5 * LARGEST_LINE

    async def body(world: World) -> tuple[int, int, int | None]:
        running = await world.start(program("head", "-c", str(size), "/dev/zero"))
        largest = total = 0
        while data := await running.reader.read(MB // 2):
            total += len(data)
            largest = max(largest, len(running.reader._buffer))  # type: ignore[attr-defined]  # what it holds
            if total == len(data):
                await asyncio.sleep(0.3)  # as somebody does who has other things to do
        return total, largest, await running.exit_code()

    total, largest, code = sandboxed.run(body, mode)
    assert (size, 0) == (total, code)
    assert largest <= 2 * LARGEST_LINE + MB


@MODES
def test_a_line_of_megabytes_is_one_line_and_a_longer_one_than_that_an_error(mode: SandboxMode, sandboxed) -> None:
    async def body(world: World) -> int:
        running = await world.start(python(f"print('x' * {LARGEST_LINE - 1}); print('y' * {3 * LARGEST_LINE})"))
        line = await running.reader.readline()
        with pytest.raises(ValueError, match="limit"):
            await running.reader.readline()
        return len(line)

    assert LARGEST_LINE == sandboxed.run(body, mode)


@MODES
def test_of_what_it_says_on_standard_error_the_end_is_kept_without_keys(mode: SandboxMode, sandboxed) -> None:
    key = "sk-live-" + "0123456789abcdef" * 8
    guard([key])
    flood = python("import sys", f"sys.stderr.write('{key}' * 50000 + 'ü' * 3900 + ' the end {key}')")

    async def body(world: World) -> tuple[str, str, int | None]:
        quiet = await world.start(program("sh", "-c", f"echo '{key}\tbad' >&2; exit 3"))
        await quiet.reader.read()
        short = quiet.said()
        loud = await world.start(flood)
        await loud.reader.read()
        await loud.exit_code()
        return short, loud.said(), await quiet.exit_code()

    short, long, code = sandboxed.run(body, mode)
    assert (f"{MARK}\tbad\n", 3) == (short, code)
    assert SAID_CHARACTERS == len(long)
    assert long.endswith(f"ü the end {MARK}")
    assert "0123" not in long


@MODES
def test_how_it_ended_is_told_whatever_runs_meanwhile(mode: SandboxMode, sandboxed) -> None:
    async def body(world: World) -> list[int | None]:
        commands = ("exit 0", "exit 7", "kill -KILL $$", "kill -TERM $$", "exec sleep 60")
        running = [await world.start(program("sh", "-c", command)) for command in commands]
        await bash(world, "sleep 0.3; (sleep 0.01 &)")
        await bash(world, "true")
        for one in running[:-1]:
            await one.reader.read()
        return [await one.exit_code() for one in running]

    assert [0, 7, -9, -15, None] == sandboxed.run(body, mode)


@MODES
def test_the_exit_code_is_there_when_the_output_has_ended(mode: SandboxMode, sandboxed) -> None:
    async def body(world: World) -> list[int | None]:
        codes = []
        for code in range(40):
            running = await world.start(program("sh", "-c", f"exit {code}"))
            await running.reader.read()
            codes.append(await running.exit_code())
        return codes

    assert list(range(40)) == sandboxed.run(body, mode)


@pytest.mark.slow
@MODES
def test_a_program_that_closed_its_output_and_runs_on_has_no_exit_code(mode: SandboxMode, sandboxed) -> None:
    async def body(world: World) -> tuple[str, int | None]:
        running = await world.start(program("sh", "-c", "exec sleep 60 >&-"))
        return await all_of(running), await running.exit_code()

    assert ("", None) == sandboxed.run(body, mode)


BAD = {
    "no such command": (program("no-such-tool"), r"a tool cannot be started: no command 'no-such-tool' on PATH /"),
    "no such file": (program("./bin/none"), r"a tool cannot be started: no command '\./bin/none' there"),
    "not on its own PATH": (program("cat", env={"PATH": "/nowhere"}), r"no command 'cat' on PATH /nowhere"),
    "not executable": (program("./README.md"), r"\./README.md is not executable"),
    "a folder": (program("./src"), r"no command '\./src' there"),
    "its interpreter is missing": (program("./run-by-none"), r"\./run-by-none names an interpreter that is not here"),
    "no format that runs": (program("./no-program"), r"\./no-program: Exec format error"),
    "an argument with a NUL": (program("echo", "a\0b"), r"embedded null byte"),
    "too many arguments": (program("echo", "x" * (3 * MB)), r"Argument list too long"),
    "no command": (program(), r"a tool has no command"),
    "an empty command": (program(""), r"a tool has no command"),
    "a file above the home folder": (program("cat", files={"a/../../x": ""}), r"a/../../x is not below the home"),
    "a file elsewhere": (program("cat", files={"/etc/passwd": ""}), r"/etc/passwd is not below the home folder"),
}


@MODES
def test_what_cannot_be_started_is_an_error_that_says_why_and_the_world_lives_on(mode: SandboxMode, sandboxed) -> None:
    prepare = "printf '#!/no/where\\n' > run-by-none; printf '\\1\\2' > no-program; chmod +x run-by-none no-program"

    async def body(world: World) -> str:
        await bash(world, prepare)
        before = descriptors()
        for bad, why in BAD.values():
            with pytest.raises(HarnessError, match=why):
                await world.start(bad)
            assert before == descriptors()
        return await all_of(await world.start(program("echo", "still here")))

    assert "still here\n" == sandboxed.run(body, mode)


def test_its_files_go_past_what_lies_in_the_way_in_the_home_folder(sandboxed) -> None:
    async def body(world: World) -> str:
        await bash(world, "mkfifo ~/pipe; ln -s /workspace/README.md ~/link; echo > ~/a; ln -s /workspace/src ~/s")
        files = {"pipe": "1", "link": "2", "a/b": "3", "s/new": "4"}
        running = await world.start(program("sh", "-c", "cd; cat pipe link a/b s/new", files=files))
        said = await all_of(running)
        assert () == (await world.change()).files
        return said

    assert "1234" == sandboxed.run(body)


@pytest.mark.slow
@MODES
def test_stop_ends_a_program_that_ignores_sigterm_and_forks_with_all_of_its_session(
    mode: SandboxMode, sandboxed
) -> None:
    mark = new_mark()
    forks = f"for i in 1 2 3; do sh -c 'sleep {mark}; sleep {mark}' & done; echo up; while :; do sleep {mark}; done"
    script = f"trap '' TERM; {forks}"

    async def body(world: World) -> tuple[int, int | None, str]:
        running = await world.start(program("sh", "-c", script))
        await running.reader.readline()
        for _ in range(3000):  # `up` is said before the last of them has started
            if (there := len(commands_with(mark))) >= 4:
                break
            await asyncio.sleep(0.02)
        await running.stop()
        await running.stop()
        assert [] == commands_with(mark)
        return there, await running.exit_code(), (await bash(world, "echo on")).text

    there, code, text = sandboxed.run(body, mode)
    assert there >= 4
    assert (-signal.SIGKILL, "on") == (code, text)


@MODES
def test_stop_lets_a_program_end_well_and_ends_what_an_ended_one_left_in_its_session(
    mode: SandboxMode, sandboxed
) -> None:
    mark = new_mark()

    async def body(world: World) -> tuple[bytes, int | None, int | None]:
        # a shell, since it ends in no time: a program has but a moment to
        good = await world.start(program("sh", "-c", "trap 'echo bye >&2; exit 1' TERM; echo 1; while :; do :; done"))
        await good.reader.readline()
        await good.stop()
        left = await world.start(program("sh", "-c", f"sleep {mark} & exit 4"))
        await bash(world, until_running(mark))
        for _ in range(3000):  # it may still be about to end
            if await left.exit_code() is not None:
                break
            await asyncio.sleep(0.02)
        assert 4 == await left.exit_code()
        assert 1 == len(commands_with(mark))
        await left.stop()
        assert [] == commands_with(mark)
        return good.said().encode(), await good.exit_code(), await left.exit_code()

    assert (b"bye\n", 1, 4) == sandboxed.run(body, mode)


@MODES
def test_nothing_is_left_of_programs_and_connections_when_a_world_closes(mode: SandboxMode, sandboxed) -> None:
    mark = new_mark()

    async def body() -> None:
        world = make_world(WorldSpec(sandboxed.snapshot), mode, sandboxed.scratch)
        before = descriptors()
        await world.open()
        for _ in range(3):
            await world.start(program("sh", "-c", f"trap '' TERM; setsid sleep {mark} & sleep {mark}; sleep {mark}"))
        running = await world.start(python(SERVE, "s.serve_forever()"))
        _, writer = await world.dial(int(await running.reader.readline()))
        deaf = await world.start(program("sleep", mark))
        deaf.writer.write(b"x" * MB)
        deaf.writer.close()  # it waits for somebody to read
        writer.write(b"half a request")
        waiting = asyncio.ensure_future(deaf.reader.read())
        await asyncio.sleep(0.1)
        await world.close()
        assert [] == commands_with(mark)
        assert b"" == await waiting
        assert before == descriptors()

    asyncio.run(body())


@pytest.mark.slow
@MODES
def test_the_change_ends_programs_none_of_them_a_survivor_and_all_with_an_exit_code(
    mode: SandboxMode, sandboxed
) -> None:
    mark, other = new_mark(), new_mark()

    async def body(world: World) -> tuple[object, ...]:
        script = f"setsid sleep {mark} & sleep {mark} & echo > new.txt; echo up; sleep {mark}"
        running = await world.start(program("sh", "-c", script))
        ended = await world.start(program("sh", "-c", "exit 5"))
        await running.reader.readline()
        await bash(world, f"setsid tail -f -s {other} /dev/null & {until_running(other, names='tail')}")
        change = await world.change()
        assert [] == commands_with(mark)
        with pytest.raises(SandboxError, match="the world has ended"):
            await world.start(program("cat"))
        await running.stop()
        return (
            change.paths,
            world.survivors,
            await running.reader.read(),
            await running.exit_code(),
            await ended.exit_code(),
        )

    assert ({"new.txt"}, ("tail",), b"", -signal.SIGKILL, 5) == sandboxed.run(body, mode)


@MODES
def test_what_a_program_left_behind_when_it_ended_is_a_survivor(mode: SandboxMode, sandboxed) -> None:
    mark = new_mark()

    async def body(world: World) -> tuple[str, ...]:
        running = await world.start(program("sh", "-c", f"sleep {mark} >/dev/null 2>&1 & exit 0"))
        await running.reader.read()
        await bash(world, until_running(mark))
        await running.exit_code()
        await world.change()
        return world.survivors

    assert ("sleep",) == sandboxed.run(body, mode)


@pytest.mark.slow
@MODES
@pytest.mark.parametrize(
    ("script", "limits", "limit"),
    [
        ("print(1); x = bytearray(300 << 20); import time; time.sleep(60)", Limits(memory_bytes=150 * MB), "memory"),
        (
            "print(1); import os, time; [os.fork() or time.sleep(60) for _ in range(12)]; time.sleep(60)",
            Limits(processes=8),
            "processes",
        ),
        (
            "print(1); import time; f = open('big', 'wb'); [f.write(b'x' * 65536) and time.sleep(.001) for _ in range(9999)]",
            Limits(disk_bytes=8 * MB),
            "disk",
        ),
    ],
)
def test_programs_count_towards_the_limits_and_are_ended_with_everything_when_one_is_exceeded(
    mode: SandboxMode, script: str, limits: Limits, limit: str, sandboxed
) -> None:
    async def body(world: World) -> tuple[object, ...]:
        other = await world.start(program("cat"))
        running = await world.start(python(script))
        await running.reader.read()
        codes = await running.exit_code(), await other.exit_code(), await other.reader.read()
        again = await world.start(program("echo", "next"))
        said = await all_of(again)
        await world.change()
        return *codes, said, world.limits_hit

    assert (-9, -9, b"", "next\n", (limit,)) == sandboxed.run(body, mode, limits=limits)


def test_protected_paths_are_read_only_for_programs_too(sandboxed) -> None:
    async def body(world: World) -> tuple[str, frozenset[str]]:
        running = await world.start(program("sh", "-c", "echo > tests/x; rm tests/test_price.py; mv tests t; exit 0"))
        await running.reader.read()
        return running.said(), (await world.change()).paths

    said, paths = sandboxed.run(body, protected=("tests",))
    assert 2 == said.count("Read-only file system")
    assert frozenset() == paths


async def _hello(reader: StreamReader, writer: StreamWriter) -> None:
    request = (await reader.readuntil(b"\r\n\r\n")).split()[1]
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello " + request)
    await writer.drain()
    writer.close()


FETCH = "import urllib.request as u, sys; print(u.urlopen('http://127.0.0.1:%d/%s').read().decode())"


@MODES
def test_a_server_outside_is_reached_at_a_port_of_the_loopback_inside(mode: SandboxMode, sandboxed) -> None:
    async def body(world: World) -> tuple[str, str, str]:
        (first, port), (second, other) = await world.listen(), await world.listen()
        async with await asyncio.start_server(_hello, sock=first), await asyncio.start_server(_hello, sock=second):
            running = await world.start(python(FETCH % (other, "program")))
            said = await all_of(running)
            loops = f"for i in $(seq 20); do curl -s http://127.0.0.1:{port}/$i & done; wait"
            return (
                said,
                (await bash(world, loops)).text,
                (await bash(world, f'python3 -c "{FETCH % (port, "x")}"')).text,
            )

    program_said, curled, command_said = sandboxed.run(body, mode)
    assert ("hello /program\n", "hello /x") == (program_said, command_said)
    assert sorted(map(str, range(1, 21))) == sorted(re.findall(r"hello /(\d+)", curled))


def test_that_port_is_the_worlds_own(sandboxed) -> None:
    async def body(world: World) -> str:
        listener, port = await world.listen()
        with listener, pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        return (await bash(world, f"curl -sS http://127.0.0.1:{port}/")).text

    assert "Couldn't connect" in sandboxed.run(body)  # it is closed by then


@MODES
def test_a_server_inside_is_dialled_from_outside(mode: SandboxMode, sandboxed) -> None:
    async def body(world: World) -> list[bytes]:
        running = await world.start(python(SERVE, "s.serve_forever()"))
        port = int(await running.reader.readline())
        found = []
        for _ in range(3):
            reader, writer = await world.dial(port)
            writer.write(b"GET /src/price.py HTTP/1.0\r\n\r\n")
            found.append((await reader.read()).rpartition(b"\r\n\r\n")[2])
            writer.close()
            await writer.wait_closed()
        await running.stop()
        with pytest.raises(HarnessError, match=f"nothing answers at 127.0.0.1:{port}: Connection refused"):
            await world.dial(port)
        return found

    assert [b"def price(n):\n    return n * 2\n"] * 3 == sandboxed.run(body, mode)


def test_a_server_that_knows_the_new_protocol_only_is_dialled_too(sandboxed) -> None:
    serve = (
        "import errno, socket, sys",
        "try:",
        "    s = socket.create_server(('::1', 0), family=socket.AF_INET6)",
        "except OSError as error:",
        "    if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL): raise",
        "    sys.exit(print(0))",
        "print(s.getsockname()[1])",
        "s.accept()[0].send(b'six')",
    )

    async def body(world: World) -> bytes:
        running = await world.start(python(*serve))
        if not (port := int(await running.reader.readline())):
            pytest.skip("this kernel has no IPv6")
        return await (await world.dial(port))[0].read()

    assert b"six" == sandboxed.run(body)


@pytest.mark.slow
@MODES
def test_worlds_side_by_side_have_programs_and_ports_of_their_own(mode: SandboxMode, sandboxed) -> None:
    async def attempt(name: str) -> tuple[str, str, tuple[str, ...]]:
        world = make_world(WorldSpec(sandboxed.snapshot), mode, sandboxed.scratch)
        try:
            await world.open()

            async def serve(reader: StreamReader, writer: StreamWriter) -> None:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(f"HTTP/1.0 200 OK\r\n\r\n{name}".encode())
                writer.close()

            listener, port = await world.listen()
            async with await asyncio.start_server(serve, sock=listener):
                running = await world.start(python(FETCH % (port, ""), "open('mine', 'w').write('" + name + "')"))
                said = await all_of(running)
                mine = (await bash(world, "cat mine")).text
                await world.change()
                return said.strip(), mine, world.survivors
        finally:
            await world.close()

    async def body() -> list[tuple[str, str, tuple[str, ...]]]:
        return await asyncio.gather(*(attempt(str(n)) for n in range(4)))

    assert [(str(n), str(n), ()) for n in range(4)] == asyncio.run(body())


CUT = [lambda world: world.start(program("cat")), lambda world: world.listen(), lambda world: world.dial(1)]


@pytest.mark.slow
@MODES
@pytest.mark.parametrize("doing", CUT)
def test_one_that_is_cancelled_anywhere_leaves_nothing_and_the_world_lives_on(
    mode: SandboxMode, doing: Callable[[World], object], sandboxed
) -> None:
    async def body() -> tuple[str, tuple[str, ...]]:
        world = make_world(WorldSpec(sandboxed.snapshot), mode, sandboxed.scratch)
        outer = descriptors()
        try:
            await world.open()
            before = descriptors()
            for steps in range(12):
                task = asyncio.ensure_future(doing(world))  # type: ignore[call-overload]  # each is a coroutine
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises((asyncio.CancelledError, HarnessError)):
                    await task
            text = (await bash(world, "ps -e 2>/dev/null | grep -c cat; echo on")).text
            await bash(world, "sleep 0.1")
            for _ in range(3000):
                await asyncio.sleep(0.01)
                if before == descriptors():
                    break
            assert before == descriptors()
            await world.change()
            return text, world.survivors
        finally:
            await world.close()
            assert outer == descriptors()

    text, survivors = asyncio.run(body())
    assert text.endswith("on")
    assert () == survivors


@MODES
@pytest.mark.parametrize("how", ["the toolbox dies", "a call is cut off"])
def test_a_reader_that_waits_is_at_its_end_when_the_world_is_lost(mode: SandboxMode, how: str, sandboxed) -> None:
    async def body(world: World) -> tuple[bytes, int | None]:
        running = await world.start(program("cat"))
        waiting = asyncio.ensure_future(running.reader.read())
        if how == "the toolbox dies":
            world._toolbox.signal(signal.SIGKILL)  # type: ignore[attr-defined]  # from inside nobody could
        else:
            call = asyncio.ensure_future(bash(world, "sleep 60"))
            await asyncio.sleep(0.1)
            call.cancel()
            await asyncio.wait([call])
            with pytest.raises(SandboxError, match="bash was interrupted"):
                await running.exit_code()
        await world.close()
        await running.stop()
        return await waiting, await running.exit_code()

    assert (b"", -signal.SIGKILL) == sandboxed.run(body, mode)


HARNESS = """
import asyncio, sys
from pathlib import Path
from crucible.world import make_world
from crucible.world.types import Program, Snapshot, WorldSpec

async def main():
    mode, root, scratch, mark = sys.argv[1:]
    world = make_world(WorldSpec(Snapshot(Path(root), "", ("README.md",))), mode, Path(scratch))
    await world.open()
    running = await world.start(Program("x", ("sh", "-c", f"trap '' TERM; setsid sleep {mark} & echo; sleep {mark}")))
    await running.reader.readline()
    print("ready", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@MODES
def test_a_killed_harness_leaves_no_program(mode: SandboxMode, sandboxed) -> None:
    mark = new_mark()
    command = [sys.executable, "-c", HARNESS, mode, str(sandboxed.snapshot.root), str(sandboxed.scratch), mark]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as harness:
        assert harness.stdout is not None
        assert b"ready\n" == harness.stdout.readline()
        for _ in range(3000):  # one that is just becoming another has no command line for a moment
            if (there := len(commands_with(mark))) >= 3:
                break
            time.sleep(0.02)
        assert there >= 3
        harness.kill()
    for _ in range(1200):
        if not commands_with(mark):
            break
        time.sleep(0.05)
    assert [] == commands_with(mark)


def test_what_is_shown_is_seen_read_only_at_its_own_path_and_not_on_path(sandboxed, tmp_path: Path) -> None:
    tool = tmp_path / "tools/bin/my-tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho tool\n")
    tool.chmod(0o755)
    (tmp_path / "tools/nested").mkdir()
    (tmp_path / "other").write_text("x")
    shown = (
        tool.parent,
        tmp_path / "tools/nested",
        tmp_path / "tools",
        tmp_path / "tools",
        Path("/usr/bin"),
        tmp_path / "other",
    )

    async def body(world: World) -> tuple[str, str]:
        running = await world.start(program(str(tool)))
        with pytest.raises(HarnessError, match="no command 'my-tool' on PATH"):
            await world.start(program("my-tool"))
        return await all_of(running), (await bash(world, f"echo x > {tool}; ls {tmp_path}")).text

    said, listed = sandboxed.run(body, shown=shown)
    assert "tool\n" == said
    assert "Read-only file system" in listed
    assert listed.endswith("other\ntools")


@pytest.mark.parametrize("path", ["/", "/home", "/tmp", "/workspace", "/workspace/tools", "/etc", "/dev"])
def test_what_would_take_the_place_of_the_sandboxs_own_is_not_shown(path: str, sandboxed) -> None:
    async def body(_: World) -> None:
        raise AssertionError("opened")

    with pytest.raises(SandboxError, match=f"{path} cannot be shown"):
        sandboxed.run(body, shown=(Path(path),))


def test_stub_tools_refuse_programs_and_connections() -> None:
    async def body() -> None:
        world: World = StubWorld(StubTools({}, []))
        for doing in CUT:
            with pytest.raises(HarnessError, match="stub tools"):
                await doing(world)

    asyncio.run(body())
