"""The change a world comes to, read from outside: the same in both sandboxes, whatever was done to hide it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crucible.errors import SandboxError
from crucible.world.tree import is_junk
from crucible.world.types import Change, FileChange, FileState, Limits, SandboxMode, World

MODES: tuple[SandboxMode, ...] = ("overlay", "copy")
Summary = set[tuple[str, ...]]


def summary(change: Change) -> Summary:
    """Path, status and what matters of each file."""
    return {(f.path, f.status, *([f.old_path] if f.old_path else [])) for f in change.files}


def does(script: str) -> Callable[[World], object]:
    """Run a script in the workspace and take the change."""

    async def body(world: World) -> Change:
        outcome = await world.call("bash", {"command": f"set -e\n{script}"})
        assert outcome.exit_code == 0, outcome.text
        return await world.change()

    return body


SCRIPTS: dict[str, tuple[str, Summary]] = {
    "nothing": ("true", set()),
    "modify": ("echo x >> src/price.py", {("src/price.py", "modify")}),
    "touch is no change": ("touch src/price.py; cat README.md > $TMPDIR/r; cat $TMPDIR/r > README.md", set()),
    "written back is no change": ("echo x >> README.md; git checkout -q README.md", set()),
    "replaced by an equal file": ("cp README.md $TMPDIR/r; rm README.md; cp $TMPDIR/r README.md", set()),
    "add": ("mkdir -p new/deep; echo x > new/deep/a", {("new/deep/a", "add")}),
    "empty file": ("touch empty", {("empty", "add")}),
    "empty folders": ("mkdir -p new/deep/er", set()),
    "delete": ("rm README.md", {("README.md", "delete")}),
    "delete a folder": (
        "rm -r src/deep",
        {("src/deep/inner/one.py", "delete"), ("src/deep/inner/two.py", "delete")},
    ),
    "a folder made anew hides what was in it": (
        "rm -r src/deep; mkdir -p src/deep/inner; echo ONE = 1 > src/deep/inner/one.py; echo x > src/deep/new.py",
        {("src/deep/inner/two.py", "delete"), ("src/deep/new.py", "add")},
    ),
    "file to folder": (
        "rm README.md; mkdir README.md; echo x > README.md/a",
        {("README.md", "delete"), ("README.md/a", "add")},
    ),
    "folder to file": (
        "rm -r src/deep; echo x > src/deep",
        {("src/deep", "add"), ("src/deep/inner/one.py", "delete"), ("src/deep/inner/two.py", "delete")},
    ),
    "file to empty folder": ("rm README.md; mkdir README.md", {("README.md", "delete")}),
    "file to link": ("ln -sf src/price.py README.md", {("README.md", "modify")}),
    "link to file": ("cp --remove-destination src/price.py link.py", {("link.py", "modify")}),
    "link elsewhere": ("ln -sfn src/crlf.txt link.py", {("link.py", "modify")}),
    "folder to link": (
        "mv src/deep $TMPDIR/deep; ln -s . src/deep",
        {("src/deep", "add"), ("src/deep/inner/one.py", "delete"), ("src/deep/inner/two.py", "delete")},
    ),
    "a link out of the workspace": ("ln -s /etc/passwd escape", {("escape", "add")}),
    "executable": ("chmod +x README.md; chmod 600 src/price.py", {("README.md", "modify")}),
    "rename": ("mv README.md src/README.txt", {("src/README.txt", "rename", "README.md")}),
    "rename of a folder": (
        "mv src/deep src/moved",
        {
            ("src/moved/inner/one.py", "rename", "src/deep/inner/one.py"),
            ("src/moved/inner/two.py", "rename", "src/deep/inner/two.py"),
        },
    ),
    "rename and edit is two changes": (
        "mv README.md R; echo x >> R",
        {("R", "add"), ("README.md", "delete")},
    ),
    "a swap is two modifications": (
        "cd src/deep/inner; mv one.py $TMPDIR/t; mv two.py one.py; mv $TMPDIR/t two.py",
        {("src/deep/inner/one.py", "modify"), ("src/deep/inner/two.py", "modify")},
    ),
    "ignored files": ("mkdir build; echo x > build/out; echo y > a.log", {("build/out", "add"), ("a.log", "add")}),
    "hidden by exclude": ("echo secret.py >> .git/info/exclude; echo x > secret.py", {("secret.py", "add")}),
    "assumed unchanged": (
        """git update-index --assume-unchanged src/price.py; git update-index --skip-worktree README.md
        echo x >> src/price.py; echo x >> README.md""",
        {("src/price.py", "modify"), ("README.md", "modify")},
    ),
    "committed": ("echo x >> README.md; git commit -qam fix; git reset -q --hard", {("README.md", "modify")}),
    "a nested repository": (
        "mkdir sub; cd sub; git init -q; echo x > a; rm -rf .git/*; echo x > .git/HEAD",
        {("sub/a", "add"), ("sub/.git/HEAD", "add")},
    ),
    "the repository gone": ("rm -rf .git; echo x > README.md", {("README.md", "modify")}),
    "the repository a file": ("rm -rf .git; echo x > .git", set()),
    "hostile git configuration": (
        "git config core.fsmonitor 'touch pwned'; git config diff.external 'touch pwned'; echo x > README.md",
        {("README.md", "modify")},
    ),
    "caches": (
        "mkdir -p src/__pycache__ .pytest_cache/v .hypothesis; touch src/__pycache__/a.pyc src/b.pyc .pytest_cache/v/x",
        set(),
    ),
    "names that are not text": (
        r"touch -- $'caf\xe9' $'a\nb' '-rf' '\'",
        {("caf\udce9", "add"), ("a\nb", "add"), ("-rf", "add"), ("\\", "add")},
    ),
    "unreadable": (
        "mkdir d; echo x > d/a; echo x > README.md; chmod 000 README.md d/a d; chmod 000 src/deep",
        {("d/a", "add"), ("README.md", "modify")},
    ),
    "crlf to lf": ("sed -i 's/\\r//' src/crlf.txt", {("src/crlf.txt", "modify")}),
    "a hard link": ("ln README.md again.md", {("again.md", "add")}),
    "pipes and sockets": ("mkfifo p; rm README.md; mkfifo README.md", {("README.md", "delete")}),
    "node_modules are part of it": (
        "mkdir -p node_modules/a; echo x > node_modules/a/i.js",
        {("node_modules/a/i.js", "add")},
    ),
}


@pytest.mark.parametrize("mode", ["overlay", pytest.param("copy", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SCRIPTS)
def test_every_way_of_changing_files_is_seen_alike_in_both_sandboxes(name: str, mode: SandboxMode, sandboxed) -> None:
    script, expected = SCRIPTS[name]
    assert expected == summary(sandboxed.run(does(script), mode))


async def _applied(world: World, change: Change) -> Change:
    left = await world.apply(change)
    assert left == ()
    return await world.change()


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_change_applied_to_a_fresh_world_is_that_change(name: str, sandboxed) -> None:
    change = sandboxed.run(does(SCRIPTS[name][0]))
    again = sandboxed.run(lambda world: _applied(world, change))
    assert change.files == again.files


def test_a_change_of_one_sandbox_applies_in_the_other(sandboxed) -> None:
    script = "rm -r src/deep; ln -s price.py src/deep; chmod +x README.md; mv run.sh bin.sh"
    change = sandboxed.run(does(script), "copy")
    assert change.files == sandboxed.run(lambda world: _applied(world, change), "overlay").files
    assert change.files == sandboxed.run(lambda world: _applied(world, change), "copy").files


STEPS = (
    "rm -rf src/deep",
    "mkdir -p src/deep/inner",
    "echo a > src/deep/inner/one.py",
    "echo b > src/deep",
    "rm -f README.md; mkdir -p README.md; echo c > README.md/x",
    "rm -rf README.md; echo d > README.md",
    "rm -rf README.md; ln -s src README.md",
    "rm -rf src; mkdir src",
    "mv src lib",
    "mv lib src",
    "git checkout -q -f HEAD -- src",
    "chmod -R a+x src",
    "cp -r src/deep copy",
    "rm -rf copy",
    "mv copy/inner src/deep",
    "echo ONE = 1 > src/deep/inner/one.py",
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=10))
def test_any_sequence_of_steps_is_one_change_in_both_sandboxes_and_applies(sandboxed, steps: list[str]) -> None:
    script = "\n".join(f"( {step} ) 2>/dev/null || true" for step in steps)
    change = sandboxed.run(does(script))
    assert change.files == sandboxed.run(does(script), "copy").files
    assert change.files == sandboxed.run(lambda world: _applied(world, change)).files


@pytest.mark.parametrize("mode", MODES)
def test_states_hold_bytes_modes_and_hashes_before_and_after(mode: SandboxMode, sandboxed) -> None:
    change = sandboxed.run(does("printf 'a\\r\\n' > README.md; chmod +x README.md; ln -sfn nowhere link.py"), mode)
    link, readme = sorted(change.files, key=lambda f: f.path, reverse=True)
    assert FileState("file", 0o100644, 7, readme.before.sha256, b"# Shop\n") == readme.before
    assert (readme.after.mode, readme.after.size, readme.after.data) == (0o100755, 3, b"a\r\n")
    assert (link.before.kind, link.before.mode, link.before.data) == ("symlink", 0o120000, b"src/price.py")
    assert (link.after.kind, link.after.mode, link.after.data) == ("symlink", 0o120000, b"nowhere")


@pytest.mark.parametrize("mode", MODES)
def test_junk_is_named_with_folders_once(mode: SandboxMode, sandboxed) -> None:
    script = SCRIPTS["caches"][0] + "; mkfifo pipe; git commit -q --allow-empty -m x"
    junk = sandboxed.run(does(script), mode).junk
    assert sorted({*junk, ".git/"}) == [
        ".git/",
        ".hypothesis/",
        ".pytest_cache/",
        "pipe",
        "src/__pycache__/",
        "src/b.pyc",
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_file_over_the_cap_is_known_by_hash_and_left_out_when_applied(mode: SandboxMode, sandboxed) -> None:
    limits = Limits(file_data_bytes=1000)
    change = sandboxed.run(does("head -c 1001 /dev/zero > big; head -c 1000 /dev/zero > small"), mode, limits=limits)
    by_path = {f.path: f.after for f in change.files}
    assert (by_path["big"].size, by_path["big"].data) == (1001, None)
    assert len(by_path["big"].sha256) == 64
    assert len(by_path["small"].data or b"") == 1000

    async def apply(world: World) -> tuple[tuple[str, ...], Change]:
        return await world.apply(change), await world.change()

    left, applied = sandboxed.run(apply, mode)
    assert left == ("big",)
    assert {("small", "add")} == summary(applied)


def test_bytes_are_held_for_modified_and_small_files_first(sandboxed) -> None:
    script = does("head -c 90 /dev/zero > a-big; echo x > z-small; echo y >> README.md")
    change = sandboxed.run(script, limits=Limits(change_data_bytes=100))
    held = {f.path: f.after.data is not None for f in change.files}
    assert held == {"README.md": True, "a-big": False, "z-small": True}


def test_a_change_that_cannot_be_made_is_an_error_that_names_the_path(sandboxed) -> None:
    one = FileState("file", 0o644, 1, "", b"x")
    for path in ("tests/test_price.py", "tests/new.py"):
        change = Change((FileChange(path, "add", None, one),))
        with pytest.raises(SandboxError, match=f"cannot be applied: {path}: Read-only"):
            sandboxed.run(lambda world, change=change: world.apply(change), protected=("tests",))


def test_a_removed_file_takes_its_empty_folders_with_it(sandboxed) -> None:
    change = sandboxed.run(does("rm -r src/deep"))

    async def body(world: World) -> str:
        await world.apply(change)
        return (await world.call("list_files", {"path": "src"})).text

    assert sandboxed.run(body).split("\n") == ["src/crlf.txt", "src/price.py"]


@pytest.mark.slow
def test_a_thousand_files_and_a_very_deep_folder_are_read(sandboxed) -> None:
    script = """
mkdir many; cd many; for i in $(seq 1000); do echo $i > f$i; done; cd ..
python3 -c 'import os
for i in range(1500): os.mkdir("dd"); os.chdir("dd")
open("bottom", "w").close()'
"""
    change = sandboxed.run(does(script))
    assert 1000 <= len(change.files) <= 1001
    assert list(sandboxed.scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_five_thousand_changed_files_are_read(mode: SandboxMode, sandboxed) -> None:
    script = """python3 -c 'import os
for i in range(5000):
    os.makedirs(f"m/{i % 100}", exist_ok=True)
    open(f"m/{i % 100}/{i}", "w").write(str(i))'"""
    assert len(sandboxed.run(does(script), mode).files) == 5_000


def test_calls_after_the_change_are_refused(sandboxed) -> None:
    async def body(world: World) -> None:
        await world.change()
        await world.call("bash", {"command": "true"})

    with pytest.raises(SandboxError, match="the world has ended"):
        sandboxed.run(body)


def test_the_change_can_be_taken_twice(sandboxed) -> None:
    async def body(world: World) -> tuple[Change, Change]:
        await world.call("write_file", {"path": "a", "content": "x"})
        return await world.change(), await world.change()

    first, second = sandboxed.run(body)
    assert first == second
    assert {("a", "add")} == summary(first)


def test_attributes_named_as_the_overlays_own_void_no_change(sandboxed) -> None:
    """The layer has them under another name; an agent that set one could once have its attempt not count.

    Kernels that let none be set say so for each.
    """
    script = (
        "import os",
        "given = (('src', 'redirect', b'/tests'), ('src', 'metacopy', b'/tests'), ('tests', 'opaque', b'y'))",
        "for path, name, value in given:",
        "    try: print(os.setxattr(path, f'user.overlay.{name}', value) or 'set')",
        "    except OSError as error: print(type(error).__name__)",
    )

    async def body(world: World) -> tuple[list[str], Change]:
        await world.call("write_file", {"path": "src/new", "content": "x\n"})
        done = await world.execute(f"python3 -c {shlex.quote(chr(10).join(script))}", seconds=60, env={})
        return done.output.split(), await world.change()

    said, change = sandboxed.run(body)
    assert (3, 1) == (len(said), len(set(said)))
    assert {("src/new", "add")} == summary(change)


def test_what_a_process_wrote_before_the_change_was_taken_is_in_it_and_nothing_after(sandboxed) -> None:
    async def body(world: World) -> tuple[Change, Change]:
        await world.call(
            "bash",
            {"command": "setsid sh -c 'while :; do date +%N > busy; done' & until [ -s busy ]; do sleep 0.02; done"},
        )
        return await world.change(), await world.change()

    first, second = sandboxed.run(body)
    assert {("busy", "add")} == summary(first)
    assert first == second


@given(
    st.sampled_from(["a/__pycache__", "x.pyc", ".hypothesis", "a/.ruff_cache"]),
    st.sampled_from(["node_modules", "b.py", ".git"]),
)
def test_caches_are_junk_and_nothing_else_is(junk: str, ours: str) -> None:
    assert is_junk(junk)
    assert not is_junk(ours)


def test_paths_of_a_change_include_old_names(tmp_path: Path) -> None:
    one = FileState("file", 0o100644, 1, "x", b"x")
    renamed = FileChange("new", "rename", one, one, "old")
    assert {"new", "old"} == Change((renamed,)).paths
    assert {"new"} == Change((replace(renamed, old_path=None),)).paths
