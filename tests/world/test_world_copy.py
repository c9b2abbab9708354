"""The copy sandbox: no walls, but checks after each call, and nothing left behind.

Everything here runs on the host itself: only commands that touch nothing but their own folder and processes.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from crucible.errors import SandboxError
from crucible.world.copied import CopyWorld
from crucible.world.processes import MARK, end_all
from crucible.world.types import Limits, ToolOutcome, World
from tests.world.test_world_processes import new_mark, until_running

WAYS = (
    "echo x >> tests/test_price.py",
    "sed -i s/4/5/ tests/test_price.py",
    "mv tests away",
    "rm -rf tests; ln -s src tests",
    "ln -sf /dev/null tests/test_price.py",
    "touch tests/new.py; mkdir tests/more; touch tests/more/x.py",
    "chmod +x tests/test_price.py",
    "rm -rf tests; echo x > tests",
    "rm tests/test_price.py; mkdir tests/test_price.py; touch tests/test_price.py/x",
    "ln tests/test_price.py hard; echo x > hard",
)


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


@pytest.mark.parametrize("way", WAYS)
def test_protected_paths_are_put_back_after_each_call_and_the_outcome_says_so(way: str, bench) -> None:
    async def body(world: World) -> tuple[ToolOutcome, str, set[str]]:
        outcome = await bash(world, way)
        seen = (await bash(world, "cat tests/test_price.py tests/data/in.txt; find tests ! -type d | sort")).text
        return outcome, seen, {path for path in (await world.change()).paths if path.startswith("tests")}

    outcome, seen, touched = bench.run(body, "copy", protected=("tests",))
    assert outcome.restored
    assert all(path.startswith("tests/") for path in outcome.restored)
    assert f"put back: {', '.join(outcome.restored)}]" in outcome.text
    original = (bench.snapshot.root / "tests/test_price.py").read_text()
    assert seen == f"{original}in\ntests/data/in.txt\ntests/test_price.py"
    assert touched == set()


def test_a_protected_path_below_a_folder_that_became_a_link_is_put_back_in_place(bench) -> None:
    async def body(world: World) -> str:
        await bash(
            world,
            "mkdir other; cp -r src/deep other; mv src $TMPDIR/src; ln -s other src; echo x > src/deep/inner/one.py",
        )
        return (
            await bash(world, "cat src/deep/inner/one.py; test -L src || echo folder; cat other/deep/inner/one.py")
        ).text

    assert bench.run(body, "copy", protected=("src/deep/inner/one.py",)) == "ONE = 1\nfolder\nx"


def test_a_call_that_touches_nothing_protected_says_nothing_of_it(bench) -> None:
    outcome = bench.run(
        lambda world: bash(world, "echo x > src/new.py; cat tests/data/in.txt"), "copy", protected=("tests",)
    )
    assert (outcome.text, outcome.restored) == ("in", ())


def test_writing_tools_are_guarded_too(bench) -> None:
    async def body(world: World) -> tuple[ToolOutcome, str]:
        outcome = await world.call("write_file", {"path": "tests/data/in.txt", "content": "x"})
        return outcome, (await world.call("read_file", {"path": "tests/data/in.txt"})).text

    outcome, now = bench.run(body, "copy", protected=("tests",))
    assert (outcome.restored, now) == (("tests/data/in.txt",), "in\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [
        "setsid sleep {mark} &",
        "env -i setsid sleep {mark} &",
        "(setsid sh -c 'trap \"\" TERM INT HUP; sleep {mark}' &)",
        "env -i setsid sh -c 'env -i setsid sleep {mark} & sleep {mark}' &",
    ],
)
def test_no_process_outlives_its_world(way: str, bench) -> None:
    mark = f"{secrets.randbelow(10**6) + 2 * 10**6}.125"

    async def body(world: World) -> int:
        await bash(world, f"{way.format(mark=mark)}\n{until_running(mark)}")
        return len(commands_with(mark))

    assert bench.run(body, "copy") > 0
    assert commands_with(mark) == []


def test_a_process_is_found_by_its_mark_when_its_toolbox_is_gone(bench) -> None:
    mark = new_mark()

    async def body(world: World) -> None:
        await bash(world, f"setsid sleep {mark} & {until_running(mark)}")
        assert isinstance(world, CopyWorld)
        assert world._toolbox is not None
        world._toolbox._process.kill()
        with pytest.raises(SandboxError, match="the toolbox died during bash"):
            await bash(world, "sleep 5")

    bench.run(body, "copy")
    assert commands_with(mark) == []


def test_ending_processes_leaves_those_of_others_alone() -> None:
    end_all(None, "a mark that nobody carries")
    assert f"{MARK}=a mark" not in os.environ


def test_the_environment_is_from_an_allow_list_here_too(bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRUCIBLE_TEST_API_KEY", "sk-canary")
    text = bench.run(lambda world: bash(world, "env; echo ~"), "copy").text
    assert "canary" not in text
    assert "GIT_TERMINAL_PROMPT=0" in text
    assert text.endswith("/home")


def test_python_finds_pytest_and_nothing_else_of_ours(bench) -> None:
    text = bench.run(
        lambda world: bash(world, "python3 -m pytest -q 2>&1 | tail -1; python3 -c 'import pydantic'"), "copy"
    ).text
    assert "1 passed" in text
    assert "No module named 'pydantic'" in text


def test_worlds_are_copies_that_do_not_meet_and_leave_nothing(bench) -> None:
    bench.run(lambda world: bash(world, "echo x > README.md; rm -r src"), "copy")
    assert bench.run(lambda world: bash(world, "cat README.md; git status --short; ls"), "copy").text == (
        "# Shop\nREADME.md\nlink.py\nrun.sh\nsrc\ntests"
    )
    assert list(bench.scratch.iterdir()) == []


def test_limits_hold_here_too(bench) -> None:
    async def body(world: World) -> list[object]:
        slow = await bash(world, "sleep 60", timeout=0.3)
        flood = await bash(world, "yes")
        big = await bash(world, "head -c 200000 /dev/zero > big; stat -c %s big")
        return [slow.timed_out, flood.exit_code, flood.ok, big.text.split("\n")[-1]]

    limits = Limits(drain_bytes=1_000_000, file_bytes=100_000)
    assert bench.run(body, "copy", limits=limits) == [True, None, False, "100000"]


def test_a_report_is_read_and_resolve_speaks_of_the_workspace(bench) -> None:
    async def body(world: World) -> list[object]:
        done = await world.execute("echo r > $OUT/r", seconds=20, env={"OUT": world.outside})
        return [
            done.exit_code,
            await world.read_outside("r"),
            await world.resolve("link.py"),
            await world.resolve("/etc"),
        ]

    assert bench.run(body, "copy") == [0, b"r\n", "/workspace/src/price.py", "/etc"]


def test_the_root_of_a_copy_removed_by_a_command_is_a_change_and_no_crash(bench) -> None:
    async def body(world: World) -> int:
        await bash(world, 'rm -rf "$PWD"')
        assert not (await world.call("read_file", {"path": "README.md"})).ok
        return len((await world.change()).files)

    assert bench.run(body, "copy") == len(bench.snapshot.files)
