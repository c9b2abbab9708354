"""Processes of an attempt, the ways they hang a harness, and what is left of them when it ends."""

from __future__ import annotations

import asyncio
import secrets
import signal
from pathlib import Path

import pytest

from crucible.errors import SandboxError
from crucible.world.types import Limits, SandboxMode, ToolOutcome, World

MODES = pytest.mark.parametrize("mode", ["overlay", "copy"])


async def bash(world: World, command: str, **more: object) -> ToolOutcome:
    return await world.call("bash", {"command": command, **more})


def commands_with(mark: str) -> list[bytes]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found.append((folder / "cmdline").read_bytes())
            except OSError:
                continue
    return [line for line in found if mark.encode() in line]


def new_mark() -> str:
    """A number of seconds that no other command of this machine sleeps."""
    return f"{secrets.randbelow(10**6) + 3 * 10**6}.5"


def until_running(mark: str, count: int = 1, names: str = "sleep") -> str:
    """Waits until so many commands with a mark are what they were started as, and no longer a shell or `setsid`."""
    names_of_marked = f"grep -lsa '{mark}' /proc/[0-9]*/cmdline | sed s/cmdline/comm/ | xargs -r cat 2>/dev/null"
    return f"until [ $({names_of_marked} | LC_ALL=C grep -caxE '{names}') -ge {count} ]; do sleep 0.02; done"


@MODES
def test_what_a_command_started_is_gone_once_it_timed_out(mode: SandboxMode, sandboxed) -> None:
    mark = new_mark()

    async def body(world: World) -> tuple[bool, list[bytes]]:
        outcome = await bash(world, f"sh -c 'sleep {mark}; true' | cat & (sleep {mark}; true); wait", timeout=0.4)
        return outcome.timed_out, commands_with(mark)

    assert (True, []) == sandboxed.run(body, mode)


@pytest.mark.slow
@MODES
@pytest.mark.parametrize(
    "command",
    [
        "(trap '' TERM HUP INT; sleep {mark}; sleep {mark}) & echo done",
        "setsid sh -c 'trap \"\" TERM HUP INT; sleep {mark}; sleep {mark}' & echo done",
    ],
)
def test_a_descendant_that_ignores_sigterm_and_holds_the_pipe_does_not_hold_the_call(
    mode: SandboxMode, command: str, sandboxed
) -> None:
    mark = new_mark()

    async def body(world: World) -> ToolOutcome:
        outcome = await bash(world, command.format(mark=mark))
        assert ("done", 0) == ((await bash(world, "echo done")).text, outcome.exit_code)
        return outcome

    outcome = sandboxed.run(body, mode)
    assert ("done", False) == (outcome.text, outcome.timed_out)
    assert [] == commands_with(mark)


@pytest.mark.slow
@MODES
def test_a_time_out_holds_against_descendants_that_ignore_sigterm_and_hold_the_pipe(
    mode: SandboxMode, sandboxed
) -> None:
    mark = new_mark()
    command = f"timeout 0.1 sh -c 'trap \"\" TERM; setsid sleep {mark} & sleep {mark}'; sleep {mark}"
    outcome = sandboxed.run(lambda world: bash(world, command, timeout=0.5), mode)
    assert (True, None) == (outcome.timed_out, outcome.exit_code)
    assert [] == commands_with(mark)


@MODES
@pytest.mark.parametrize(
    "command",
    [
        "cat",
        "grep pattern $(true)",
        'read -r line; echo "got:$line"',
        "python3 -c 'print(repr(input()))'",
        "bash",
        "python3 -",
    ],
)
def test_a_command_that_waits_for_input_gets_the_end_of_it(mode: SandboxMode, command: str, sandboxed) -> None:
    async def body(world: World) -> tuple[bool, int | None]:
        graded = await world.execute(command, seconds=20, env={})
        return (await bash(world, command)).timed_out, graded.exit_code

    timed_out, code = sandboxed.run(body, mode, limits=Limits(call_seconds=20))
    assert not timed_out
    assert code is not None


def test_git_waits_for_no_pager_no_editor_and_no_password(sandboxed) -> None:
    commands = (
        "git log",
        "git -c core.pager=less log -p",
        "git commit --allow-empty --amend",
        "git rebase -i --root",
        "git clone -q https://user@127.0.0.1:9/x.git",
        "git help -m git",
    )

    async def body(world: World) -> list[bool]:
        return [(await bash(world, command)).timed_out for command in commands]

    assert [False] * len(commands) == sandboxed.run(body, limits=Limits(call_seconds=20))


@MODES
def test_an_output_cut_between_the_bytes_of_a_character_shows_no_half_of_one(mode: SandboxMode, sandboxed) -> None:
    command = 'python3 -c \'print("é" * 5000, end="")\''
    outcome = sandboxed.run(
        lambda world: bash(world, f"printf x; {command}; printf y"), mode, limits=Limits(output_bytes=1002)
    )
    assert (10002, False) == (outcome.size, "\ufffd" in outcome.text)


@MODES
def test_a_file_that_is_not_text_is_shown_and_ends_nothing(mode: SandboxMode, sandboxed) -> None:
    outcome = sandboxed.run(lambda world: bash(world, "head -c 3000 /dev/urandom; printf '\\377\\0end'"), mode)
    assert (True, 3005) == (outcome.ok, outcome.size)
    assert outcome.text.endswith("\ufffd\ufffdend")


@pytest.mark.slow
@MODES
def test_who_was_still_alive_at_the_end_is_named(mode: SandboxMode, sandboxed) -> None:
    mark = new_mark()

    async def body(world: World) -> tuple[object, ...]:
        tail = f"tail -f -s {mark} /dev/null"
        await bash(
            world, f"setsid sleep {mark} & setsid {tail} & sleep {mark} & {until_running(mark, 3, 'sleep|tail')}"
        )
        before = world.survivors
        await world.change()
        assert [] == commands_with(mark)
        await world.change()  # once more: nobody is left to ask
        return before, sorted(world.survivors)

    assert ((), ["sleep", "tail"]) == sandboxed.run(body, mode)


@pytest.mark.slow
def test_who_was_still_alive_is_named_by_a_toolbox_that_takes_its_time(sandboxed) -> None:
    mark = new_mark()

    async def body(world: World) -> tuple[str, ...]:
        await bash(world, f"setsid sleep {mark} & {until_running(mark)}")
        toolbox = world._toolbox  # type: ignore[attr-defined]  # held up as by a busy machine
        toolbox.signal(signal.SIGSTOP)
        asyncio.get_running_loop().call_later(3, toolbox.signal, signal.SIGCONT)
        await world.change()
        return world.survivors

    assert ("sleep",) == sandboxed.run(body, "copy")


@pytest.mark.slow
def test_of_many_survivors_ten_are_named_and_of_none_none(sandboxed) -> None:
    mark = new_mark()

    async def body(world: World) -> tuple[str, ...]:
        await bash(world, f"for i in $(seq 15); do setsid sleep {mark} & done; {until_running(mark, 15)}")
        await world.change()
        return world.survivors

    async def quiet(world: World) -> tuple[str, ...]:
        await bash(world, "sleep 60 & (sleep 0 &); sleep 0.1")
        await world.change()
        return world.survivors

    assert ("sleep",) * 10 == sandboxed.run(body)
    assert () == sandboxed.run(quiet)


@pytest.mark.slow
@MODES
def test_a_name_that_is_not_text_or_lies_about_its_fields_is_a_name(mode: SandboxMode, sandboxed) -> None:
    mark = new_mark()
    begun = until_running(mark, names="State:Z.*")

    async def body(world: World) -> tuple[str, ...]:
        await bash(world, f"cp $(which sleep) $'a\\nState:Z\\xff'; setsid ./$'a\\nState:Z\\xff' {mark} & {begun}")
        await world.change()
        return world.survivors

    assert ("a\\nState:Z\ufffd",) == sandboxed.run(body, mode)


@MODES
def test_nothing_is_edited_and_nothing_can_be_called_after_the_end(mode: SandboxMode, sandboxed) -> None:
    writer = "setsid sh -c 'while :; do date +%s%N > src/late.txt; done' >/dev/null 2>&1 & "
    begun = "until [ -s src/late.txt ]; do sleep 0.02; done"

    async def body(world: World) -> tuple[bytes, bytes]:
        await bash(world, writer + begun)
        change = await world.change()
        (late,) = [file.after for file in change.files if file.path == "src/late.txt"]
        await asyncio.sleep(0.1)
        (again,) = [file.after for file in (await world.change()).files if file.path == "src/late.txt"]
        for tool, arguments in (("bash", {"command": "true"}), ("write_file", {"path": "x", "content": "x"})):
            with pytest.raises(SandboxError, match="the world has ended"):
                await world.call(tool, arguments)
        with pytest.raises(SandboxError, match="the world has ended"):
            await world.execute("true", seconds=1, env={})
        assert late is not None
        assert again is not None
        return late.data or b"", again.data or b""

    late, again = sandboxed.run(body, mode)
    assert late == again
