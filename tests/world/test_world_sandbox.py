"""The walls of the sandbox, tried from inside with real processes, and looked at from outside."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crucible.errors import FixtureError, SandboxError
from crucible.world import make_world
from crucible.world.base import ToolboxWorld
from crucible.world.tree import file_hash, walk
from crucible.world.types import Limits, SandboxMode, ToolOutcome, World, WorldSpec
from tests.world.test_world_processes import new_mark, until_running

CANARY = "CRUCIBLE_TEST_API_KEY"


async def bash(world: World, command: str, **more: object) -> ToolOutcome:
    return await world.call("bash", {"command": command, **more})


def said(bench, command: str, **spec: object) -> str:
    """What a command prints inside."""
    return bench.run(lambda world: bash(world, command), **spec).text


def command_lines() -> list[bytes]:
    """Every command line of the machine, as the host sees them."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found.append((folder / "cmdline").read_bytes())
            except OSError:
                continue
    return found


def test_nothing_of_the_host_is_there_but_the_system(sandboxed, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    roots = {"bin", "dev", "etc", "home", "lib", "lib64", "opt", "proc", "sbin", "tmp", "usr", "workspace"}
    assert set(said(sandboxed, "ls -A /").split("\n")) - {"lib32", "libx32", *_parents_of_python()} <= roots
    assert said(sandboxed, "ls -A /home ~ /tmp/ | grep -v :; ls /opt/crucible").split() == [
        "agent",
        "python",
        "reports",
        "toolbox",
    ]
    assert said(sandboxed, f"ls -d /work /mnt /srv /var /sys {tmp_path}").count("No such file or directory") == 6


def _parents_of_python() -> set[str]:
    """The interpreter is shown at its own path; of the folders above it nothing else is."""
    return {Path(os.path.realpath(sys.base_prefix)).parts[1]}


def test_of_the_folders_above_the_interpreter_nothing_else_is_shown(sandboxed) -> None:
    prefix = Path(os.path.realpath(sys.base_prefix))
    if prefix.is_relative_to("/usr"):
        pytest.skip("the interpreter is the system's")
    top = prefix.parents[-2]
    assert "\n".join(map(str, [*reversed(prefix.parents[:-1]), prefix])) == said(
        sandboxed, f"find {top} -path {prefix} -prune -print -o -print"
    )


def test_no_variable_of_ours_is_in_any_environment(sandboxed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CANARY, "sk-canary")
    assert (
        said(sandboxed, "cat /proc/*/environ /proc/self/environ 2>/dev/null | grep -c -a -e CANARY -e sk-canary").split(
            "\n"
        )[0]
        == "0"
    )
    names = {line.partition("=")[0] for line in said(sandboxed, "env").split("\n")}
    assert {"PATH", "HOME", "LANG", "TZ", "TERM", "PAGER", "GIT_TERMINAL_PROMPT", "NO_COLOR"} <= names
    assert not {name for name in names if name.startswith(("CRUCIBLE", "VIRTUAL_ENV", "SSH", "AWS"))}


def test_host_paths_of_ours_are_on_no_command_line(sandboxed) -> None:
    seen = said(sandboxed, "cat /proc/*/cmdline | tr '\\0' ' '")
    assert str(sandboxed.snapshot.root) not in seen
    assert str(sandboxed.scratch) not in seen


def test_no_process_of_the_host_is_seen(sandboxed) -> None:
    pids = said(
        sandboxed, "cd /proc; ls -d [0-9]* | tr '\\n' ' '; echo; cat /proc/1/cmdline | tr '\\0' ' ' | cut -c1-400"
    )
    assert "toolbox" in pids
    assert len(pids.split("\n")[0].split()) < 12


def test_the_user_has_no_capability_and_is_nobody_special(sandboxed) -> None:
    seen = said(sandboxed, "id -un; grep -e CapEff -e CapPrm -e CapBnd -e NoNewPrivs /proc/self/status; hostname")
    assert seen.split("\n")[:4] == [
        "agent",
        "CapPrm:\t0000000000000000",
        "CapEff:\t0000000000000000",
        "CapBnd:\t0000000000000000",
    ]
    assert seen.endswith("NoNewPrivs:\t1\ncrucible")


WAYS = (
    "echo x >> tests/test_price.py",
    "sed -i s/4/5/ tests/test_price.py",
    "mv tests away",
    "mv tests/test_price.py away.py",
    "rm -rf tests",
    "ln -sf /dev/null tests/test_price.py",
    "touch tests/new.py",
    "chmod 777 tests/test_price.py",
    "ln tests/test_price.py hard && echo x > hard",
    "echo x >> src/price.py; git commit -qam x; git rm -q -r tests && git commit -qm y",
    "echo broken > /tmp/t; cp /tmp/t tests/test_price.py",
    'python3 -c \'open("tests/test_price.py","w").write("x")\'',
    "python3 -c 'import os; os.truncate(\"tests/data/in.txt\", 0)'",
    'python3 -c \'import os; os.rename("tests", "other")\'',
    "ln -s tests alias; echo x > alias/test_price.py",
    "cd tests && echo x > ../tests/./test_price.py",
    "umount tests",
    "mount -o remount,rw tests",
    "unshare -Urm umount /workspace/tests",
    "unshare -Urm mount -o remount,rw,bind /workspace/tests",
    "unshare -Urm sh -c 'mount -t tmpfs none /workspace/tests && echo x > /workspace/tests/test_price.py'; false",
    "mkdir other && rm -rf tests && mv other tests",
    "rsync -a --delete src/ tests/ || patch tests/test_price.py < /dev/null && false",
    "printf 'hello' | tee tests/test_price.py >/dev/null; test ${PIPESTATUS[1]} = 0",
)


@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_writing_a_protected_path_works(way: str, sandboxed) -> None:
    async def body(world: World) -> tuple[int | None, str, set[str]]:
        outcome = await bash(world, way)
        content = await bash(world, "cat tests/test_price.py tests/data/in.txt; ls -A tests")
        touched = {path for path in (await world.change()).paths if path.startswith("tests")}
        return outcome.exit_code, content.text, touched

    code, content, touched = sandboxed.run(body, protected=("tests",))
    assert code != 0
    assert (
        content
        == "from src.price import price\n\n\ndef test_price():\n    assert price(2) == 4\nin\ndata\ntest_price.py"
    )
    assert set() == touched


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
@pytest.mark.parametrize(
    "path",
    ["tests/test_price.py", "src/../tests/test_price.py", "/workspace/tests/test_price.py", "alias/test_price.py"],
)
def test_no_tool_writes_a_protected_path_and_it_says_why(tool: str, path: str, sandboxed) -> None:
    async def body(world: World) -> ToolOutcome:
        await bash(world, "ln -s tests alias")
        more = {"content": "x"} if tool == "write_file" else {"old": "4", "new": "5"}
        return await world.call(tool, {"path": path, **more})

    outcome = sandboxed.run(body, protected=("tests",))
    assert not outcome.ok
    assert f"{path}: protected, cannot be written" == outcome.text


@pytest.mark.parametrize(
    "way",
    [
        "mv src src2",
        "rm -rf src",
        "mv src/deep d",
        "mv src /tmp/s; mkdir -p src/deep/inner; echo x > src/deep/inner/one.py",
    ],
)
def test_a_protected_path_stays_when_its_parents_are_moved(way: str, sandboxed) -> None:
    async def body(world: World) -> str:
        await bash(world, way)
        return (await bash(world, "cat src/deep/inner/one.py")).text

    assert sandboxed.run(body, protected=("src/deep/inner/one.py",)) == "ONE = 1"


def test_a_protected_file_may_be_one_file_in_a_folder_that_is_free(sandboxed) -> None:
    seen = said(sandboxed, "echo x > src/new.py && echo free; echo x > src/price.py", protected=("src/price.py",))
    assert seen == "free\nbash: line 1: src/price.py: Read-only file system\n[exit code 1]"


@pytest.mark.parametrize(
    ("path", "why"), [("nowhere", "not in the fixture"), ("", "not in the fixture"), ("link.py", "is a link")]
)
def test_a_protected_path_that_cannot_be_protected_is_an_error_at_once(path: str, why: str, sandboxed) -> None:
    for mode in ("overlay", "copy"):
        with pytest.raises(FixtureError, match=why):
            make_world(WorldSpec(sandboxed.snapshot, protected=(path,)), mode, sandboxed.scratch)


CONNECT = 'python3 -c \'import socket; socket.create_connection(("127.0.0.1", {port}), 2).close(); print("connected")\''


def test_the_network_is_closed_but_the_loopback_of_the_sandbox(sandboxed) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert "ConnectionRefusedError" in said(sandboxed, CONNECT.format(port=port))
    assert "Network is unreachable" in said(
        sandboxed, "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 9), 2)'"
    )
    own = 'import socket as s; own = s.create_server(("", 0)); s.create_connection(own.getsockname()); print("own")'
    assert said(sandboxed, f"python3 -c '{own}'") == "own"


def test_the_network_is_there_when_the_scenario_asks(sandboxed) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert said(sandboxed, CONNECT.format(port=server.getsockname()[1]), network=True) == "connected"


@pytest.mark.parametrize(
    "way",
    [
        "setsid sleep {mark} & ",
        "nohup sleep {mark} & disown",
        "(setsid sh -c 'trap \"\" TERM INT HUP; sleep {mark}; sleep {mark}' &) ",
        """python3 -c 'import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: os.execvp("sleep", ["sleep", "{mark}"])'""",
    ],
)
def test_no_process_outlives_its_world(way: str, sandboxed) -> None:
    mark = f"{secrets.randbelow(10**6) + 10**6}.25"

    async def body(world: World) -> int:
        await bash(world, f"{way.format(mark=mark)}\n{until_running(mark)}")
        return sum(mark.encode() in line for line in command_lines())

    alive = sandboxed.run(body)
    assert alive > 0 or "nohup" in way  # what stays in the command's own session ends with the command
    assert [line for line in command_lines() if mark.encode() in line] == []


def test_a_background_job_ends_with_its_command_and_a_daemon_does_not(sandboxed) -> None:
    async def body(world: World) -> str:
        await bash(world, f"sleep 771 & setsid sleep 772 & {until_running('77[12]', 2)}")
        return (await bash(world, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).text

    seen = sandboxed.run(body)
    assert "sleep 772" in seen
    assert "sleep 771" not in seen


def test_no_signal_from_inside_ends_the_toolbox(sandboxed) -> None:
    # on the host this command would end everything, so it first makes sure that it is not there
    inside = "[ $(hostname) = crucible ] && [ -d /opt/crucible/toolbox ] && [ ! -e /sys ] && [ $(id -un) = agent ]"

    async def body(world: World) -> list[str]:
        for number in ("TERM", "INT", "ALRM", "HUP", "CHLD", "USR1", "KILL"):
            await bash(world, f"{inside} && kill -{number} 1; {inside} && kill -{number} -1")
        return [(await bash(world, "echo alive")).text, (await world.call("search", {"pattern": "ONE"})).text]

    assert sandboxed.run(body) == ["alive", "src/deep/inner/one.py:1: ONE = 1"]


def test_the_toolbox_cannot_be_traced_and_its_pipe_not_opened(sandboxed) -> None:
    async def body(world: World) -> list[str]:
        words = [
            (await bash(world, c)).text for c in ("cat /proc/1/fd/3", "cat /proc/1/mem", "echo junk > /proc/1/fd/3")
        ]
        return [*words, (await bash(world, "echo alive")).text]

    *refused, alive = sandboxed.run(body)
    assert all("Permission denied" in words for words in refused)
    assert alive == "alive"


def test_commands_get_no_descriptor_of_the_toolbox(sandboxed) -> None:
    seen = said(sandboxed, "for f in /proc/self/fd/*; do readlink $f; done; ls -l /proc/$$/fd | awk '{print $9, $NF}'")
    assert "/dev/null" in seen
    assert seen.count("pipe:[") <= 6
    assert "socket" not in seen


def test_a_command_that_reads_its_input_ends_and_there_is_no_terminal(sandboxed) -> None:
    assert said(sandboxed, "cat") == "[no output]"
    assert (
        said(sandboxed, "tty >/dev/null || test -t 1 || (: < /dev/tty) 2>/dev/null || echo no terminal")
        == "no terminal"
    )


def test_a_flood_of_output_is_stopped_and_its_head_and_tail_kept(sandboxed) -> None:
    outcome = sandboxed.run(lambda world: bash(world, "echo first; yes | head -c 200000000; echo last"))
    assert (outcome.ok, outcome.exit_code, outcome.timed_out) == (False, None, False)
    assert outcome.text.startswith("first\ny\n")
    assert outcome.text.endswith("[stopped: it wrote more than 67108864 bytes]")
    assert len(outcome.text) < 40_000
    assert outcome.size > 64 * 1024 * 1024


def test_long_output_keeps_head_and_tail_and_tells_the_true_size(sandboxed) -> None:
    outcome = sandboxed.run(lambda world: bash(world, "seq 100000"))
    assert (outcome.ok, outcome.size) == (True, 588895)
    assert outcome.text.startswith("1\n2\n")
    assert outcome.text.endswith("\n100000")
    assert " of 588895 bytes left out here" in outcome.text


def test_binary_output_is_text_with_replacement(sandboxed) -> None:
    outcome = sandboxed.run(lambda world: bash(world, r"printf 'a\xff\x00\x80b'"))
    assert (outcome.text, outcome.size) == ("a\ufffd\ufffd\ufffdb", 5)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 60",
        "trap '' TERM; while :; do :; done",
        "setsid --wait sleep 60",
        "exec >/dev/null 2>&1; sleep 60",
        "sleep 60 | cat",
    ],
)
def test_a_command_is_stopped_at_its_time_out_whatever_it_does(command: str, sandboxed) -> None:
    for seconds in (0.4, 4, 20):  # a busy machine may need longer than the shortest to begin
        outcome = sandboxed.run(lambda world: bash(world, f"echo begun; {command}", timeout=seconds))  # noqa: B023 - run at once
        assert (outcome.ok, outcome.timed_out, outcome.exit_code) == (False, True, None)
        assert outcome.text.endswith(f"[stopped: not done after {seconds:g} seconds]")
        if outcome.text.startswith("begun"):
            break
    else:
        pytest.fail("it never began")
    assert outcome.seconds < 60


def test_a_time_out_can_be_lowered_and_not_raised(sandboxed) -> None:
    outcome = sandboxed.run(lambda world: bash(world, "sleep 60", timeout=50), limits=Limits(call_seconds=0.3))
    assert outcome.timed_out
    assert "after 0.3 seconds" in outcome.text


def test_a_process_that_holds_the_output_open_does_not_hold_the_call(sandboxed) -> None:
    outcome = sandboxed.run(lambda world: bash(world, "setsid sleep 60 & echo done"))
    assert (outcome.text, outcome.exit_code, outcome.timed_out) == ("done", 0, False)
    assert outcome.seconds < 10


def test_exit_codes_and_signals_are_told(sandboxed) -> None:
    async def body(world: World) -> list[tuple[bool, int | None, str]]:
        outcomes = [await bash(world, command) for command in ("exit 3", "kill -SEGV $$", "true")]
        return [(o.ok, o.exit_code, o.text) for o in outcomes]

    expected = [
        (True, 3, "[no output]\n[exit code 3]"),
        (True, -11, "[no output]\n[ended by signal 11]"),
        (True, 0, "[no output]"),
    ]
    assert expected == sandboxed.run(body)


def test_signals_mean_in_commands_what_they_mean_elsewhere(sandboxed) -> None:
    script = """from signal import *
print([getsignal(s) == SIG_DFL for s in (SIGTERM, SIGHUP, SIGCHLD, SIGALRM)], pthread_sigmask(SIG_BLOCK, []))"""
    assert said(sandboxed, f"python3 -c '{script}'") == "[True, True, True, True] set()"
    assert said(sandboxed, "yes | head -1 >/dev/null; echo ${PIPESTATUS[0]}") == "141"


def test_a_file_cannot_grow_past_its_limit_and_no_core_is_left(sandboxed) -> None:
    seen = said(
        sandboxed,
        "head -c 200000 /dev/zero > big; stat -c %s big; kill -SEGV $BASHPID; ls",
        limits=Limits(file_bytes=100_000),
    )
    assert "100000" in seen
    assert "core" not in seen


def test_a_command_too_long_to_start_is_an_error_result(sandboxed) -> None:
    outcome = sandboxed.run(lambda world: bash(world, ": " + "x" * 300_000))
    assert (outcome.ok, outcome.text.endswith("Argument list too long")) == (False, True)


def test_calls_at_once_are_answered_each_with_its_own(sandboxed) -> None:
    async def body(world: World) -> list[str]:
        outcomes = await asyncio.gather(*(bash(world, f"sleep 0.0{9 - n}; echo {n}") for n in range(9)))
        return [outcome.text for outcome in outcomes]

    assert list("012345678") == sandboxed.run(body)


def test_resolve_follows_links_as_the_kernel_does(sandboxed) -> None:
    async def body(world: World) -> list[str]:
        await bash(world, "ln -s tests alias; ln -s /etc out")
        paths = (".", "alias/x", "src/../link.py", "/workspace/src", "out/passwd", "../x", "a\0b", "new/file")
        return [await world.resolve(path) for path in paths]

    expected = [
        "/workspace",
        "/workspace/tests/x",
        "/workspace/src/price.py",
        "/workspace/src",
        "/etc/passwd",
        "/x",
        "a\0b",
        "/workspace/new/file",
    ]
    assert expected == sandboxed.run(body)


def test_a_second_world_sees_nothing_of_the_first(sandboxed) -> None:
    async def dirty(world: World) -> None:
        await bash(
            world,
            "echo x | tee left src/price.py /tmp/left ~/left; rm README.md; git commit -qam x",
        )

    sandboxed.run(dirty)
    look = (
        "git rev-list --all --count; git status --short; cat README.md src/price.py; ls -A ~ /tmp/ | grep left; ls left"
    )
    seen = said(sandboxed, look)
    assert seen.startswith("1\n# Shop\ndef price(n):\n    return n * 2\nls: cannot access 'left'")


def test_two_worlds_at_once_do_not_meet(sandboxed) -> None:
    async def body(first: World) -> tuple[str, str]:
        second = make_world(WorldSpec(sandboxed.snapshot), "overlay", sandboxed.scratch)
        await second.open()
        try:
            await bash(first, "echo first > mine; echo first > /tmp/mine")
            await bash(second, "echo second > mine")
            return (await bash(first, "cat mine")).text, (await bash(second, "cat mine; ls /tmp")).text
        finally:
            await second.close()

    assert sandboxed.run(body) == ("first", "second")


def test_the_snapshot_is_the_same_after_many_worlds(sandboxed) -> None:
    def state() -> list[tuple[object, ...]]:
        found = walk(sandboxed.snapshot.root)
        return [(e.path, e.status.st_mode, e.status.st_mtime_ns, "" if e.is_folder else file_hash(e)) for e in found]

    before = state()
    for command in (
        "rm -rf * .git",
        "chmod -R 000 .",
        "echo x | tee $(git ls-files)",
        "git gc -q; git commit -q --allow-empty -m x",
    ):
        said(sandboxed, command, protected=("tests",))
    assert before == state()


def test_the_workspace_repository_has_one_commit_inside_too(sandboxed) -> None:
    seen = said(
        sandboxed,
        "git log --all --format=%s; git status --short; git reflog; git fsck --unreachable; git remote; git tag",
    )
    assert seen == "Workspace"


def test_a_report_is_read_from_outside_the_workspace(sandboxed) -> None:
    async def body(world: World) -> tuple[object, ...]:
        before = (await bash(world, "ls -A /opt/crucible/reports; cat /proc/self/mountinfo")).text
        token = world.outside.rpartition("/")[2]
        done = await world.execute(
            "echo $EXTRA > $OUT/r.xml; echo out; exit 3", seconds=20, env={"EXTRA": "e", "OUT": world.outside}
        )
        return (
            token in before,
            done.exit_code,
            done.output,
            done.size,
            await world.read_outside("r.xml"),
            (await world.change()).files,
        )

    assert sandboxed.run(body) == (False, 3, "out\n", 4, b"e\n", ())


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("ln -s /etc/passwd $OUT/r", "r"),
        ("mkfifo $OUT/r", "r"),
        ("mkdir $OUT/r", "r"),
        ("rm -r $OUT; ln -s /etc $OUT", "passwd"),
        ("mv $OUT $OUT.old; mkdir $OUT; echo forged > $OUT/r", "r"),
        ("truncate -s 100M $OUT/r", "r"),
        ("true", "../../info"),
        ("true", "r"),
    ],
)
def test_what_is_not_a_plain_report_in_its_own_folder_is_not_read(command: str, name: str, sandboxed) -> None:
    async def body(world: World) -> bytes | None:
        await world.execute(command, seconds=20, env={"OUT": world.outside})
        return await world.read_outside(name)

    assert sandboxed.run(body) is None


def test_a_graded_command_is_stopped_at_its_own_time_out(sandboxed) -> None:
    async def body(world: World) -> tuple[int | None, str]:
        for seconds in (0.3, 4, 20):  # a busy machine may need longer than the shortest to begin
            done = await world.execute("echo a; sleep 60", seconds=seconds, env={})
            if done.output:
                break
        return done.exit_code, done.output

    assert sandboxed.run(body) == (None, "a\n")


@pytest.mark.parametrize("mode", ["overlay", "copy"])
def test_a_pattern_that_explodes_is_stopped_in_time(mode: SandboxMode, sandboxed) -> None:
    async def body(world: World) -> ToolOutcome:
        await world.call("write_file", {"path": "a.txt", "content": "a" * 40 + "!\n"})
        return await world.call("search", {"pattern": "(a+)+$"})

    outcome = sandboxed.run(body, mode, limits=Limits(call_seconds=0.3))
    assert (outcome.ok, outcome.timed_out) == (False, True)
    assert "took too long" in outcome.text


def test_a_path_no_file_can_have_is_an_error_result(sandboxed) -> None:
    async def body(world: World) -> list[bool]:
        tools = (("read_file", {}), ("write_file", {"content": ""}), ("list_files", {}))
        paths = ("a\0b", "\ud800", "x" * 5000, "a/" * 3000)
        return [(await world.call(tool, {"path": path, **more})).ok for path in paths for tool, more in tools]

    assert [False] * 12 == sandboxed.run(body)


def test_an_agent_cannot_call_what_is_the_harnesss(sandboxed) -> None:
    async def body(world: World) -> list[str]:
        return [(await world.call(name, {})).text for name in ("put", "execute", "resolve", "processes")]

    assert all(text.startswith("no tool") for text in sandboxed.run(body))


def test_an_interrupted_call_ends_the_world_and_closing_it_is_still_safe(sandboxed) -> None:
    mark = new_mark()

    async def body(world: World) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await bash(world, f"sleep {mark}")
        with pytest.raises(SandboxError, match="the world has ended: bash was interrupted"):
            await bash(world, "true")
        await world.close()
        await world.close()

    sandboxed.run(body)
    assert [line for line in command_lines() if mark.encode() in line] == []


def test_a_toolbox_that_dies_is_an_error_that_names_the_call(sandboxed) -> None:
    async def body(world: World) -> None:
        assert isinstance(world, ToolboxWorld)
        assert world._toolbox is not None
        asyncio.get_running_loop().call_later(0.3, world._toolbox._process.kill)
        await bash(world, "sleep 60")

    with pytest.raises(SandboxError, match="the toolbox died during bash"):
        sandboxed.run(body)


def test_a_world_that_cannot_start_is_an_error_and_leaves_nothing(sandboxed, tmp_path: Path) -> None:
    missing = WorldSpec(sandboxed.snapshot, toolchain=(tmp_path / "nowhere",))

    async def body() -> None:
        world = make_world(missing, "overlay", sandboxed.scratch)
        with pytest.raises(SandboxError, match="nowhere"):
            await world.open()
        await world.close()

    asyncio.run(body())
    assert list(sandboxed.scratch.iterdir()) == []


@pytest.mark.slow
def test_nothing_is_left_in_the_scratch_folder_when_a_world_is_closed(sandboxed) -> None:
    said(
        sandboxed,
        'mkdir -p a/b; chmod 000 a; python3 -c \'import os\nfor i in range(3000): os.mkdir("d"); os.chdir("d")\'',
    )
    assert list(sandboxed.scratch.iterdir()) == []


def test_a_toolchain_is_seen_read_only_and_its_programs_are_found(sandboxed, tmp_path: Path) -> None:
    tool = tmp_path / "tools/bin/my-tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho tool\n")
    tool.chmod(0o755)
    seen = said(sandboxed, f"my-tool; echo x > {tool}", toolchain=(tmp_path / "tools",))
    assert seen.startswith("tool\n")
    assert "Read-only file system" in seen


SCRIPT = """
import asyncio, sys
from pathlib import Path
from crucible.world import make_world
from crucible.world.types import Snapshot, WorldSpec

async def main():
    root, scratch, mark = sys.argv[1:4]
    world = make_world(WorldSpec(Snapshot(Path(root), "", ("README.md",))), "overlay", Path(scratch))
    await world.open()
    await world.call("bash", {"command": sys.argv[4]})
    print("ready", flush=True)
    await world.call("bash", {"command": f"sleep {mark}"})

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_killed_harness_leaves_no_process_and_the_next_one_removes_its_folder(sandboxed) -> None:
    mark = new_mark()
    daemon = f"setsid sleep {mark} & {until_running(mark)}"
    command = [sys.executable, "-c", SCRIPT, str(sandboxed.snapshot.root), str(sandboxed.scratch), mark, daemon]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"ready\n"
        harness.send_signal(signal.SIGKILL)
    for _ in range(1200):
        left = [line for line in command_lines() if mark.encode() in line and b"crucible.world" not in line]
        if not left:
            break
        time.sleep(0.05)
    assert left == []
    abandoned = list(sandboxed.scratch.glob("world-*"))
    assert len(abandoned) == 1
    from crucible.world.scratch import sweep

    sweep.cache_clear()
    said(sandboxed, "true")
    assert list(sandboxed.scratch.iterdir()) == []
