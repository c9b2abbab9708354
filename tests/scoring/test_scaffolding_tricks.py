"""Ways to steer a test runner, one by one: none of them is graded. And honest changes that look like them, which are."""

from __future__ import annotations

import hashlib

import pytest

from crucible.scoring.scaffolding import Filtered, filter_change, grades
from crucible.world.types import Change, FileChange, FileState

OLD, NEW = b"x = 1\n", b"x = 2\n"
PYTEST_SETTINGS = b'[project]\nname = "a"\n[tool.pytest.ini_options]\naddopts = "-q"\n'


def state(data: bytes | None, *, link: bool = False) -> FileState | None:
    if data is None:
        return None
    return FileState("symlink" if link else "file", 0o100644, len(data), hashlib.sha256(data).hexdigest(), data)


def added(path: str, data: bytes = NEW, *, link: bool = False) -> FileChange:
    return FileChange(path, "add", None, state(data, link=link))


def deleted(path: str) -> FileChange:
    return FileChange(path, "delete", state(OLD), None)


def modified(path: str, before: bytes = OLD, after: bytes = NEW, *, link: bool = False) -> FileChange:
    return FileChange(path, "modify", state(before), state(after, link=link))


def filtered(*changes: FileChange, command: str = "python3 -m pytest", files: tuple[str, ...] = ()) -> Filtered:
    return filter_change(Change(changes), lambda _: None, command=command, files=files)


@pytest.mark.parametrize(
    "path",
    [
        "CONFTEST.PY",
        "conftest.py/__init__.py",
        "pytest.ini/x",
        "pytest.toml",
        ".pytest.toml",
        "src/sitecustomize/__init__.py",
        "sitecustomize.cpython-311-x86_64-linux-gnu.so",
        "usercustomize.py",
        "deep/down/evil.PTH",
        "evil.DIST-INFO/entry_points.txt",
        "src/evil.egg-info/entry_points.txt",
        "evil.egg-info",
        "pytest_evil.py",
        "pytest_evil/__init__.py",
        "_pytest/hookspec.py",
        "xdist/__init__.py",
        "src/pytest.py",
        "lib/json/__init__.py",
        "hypothesis/__init__.py",
        "tests/__init__.py",
        "tests/pyproject.toml",
        ".coveragerc",
        "pyvenv.cfg",
    ],
)
def test_new_files_that_steer_the_runner_are_left_out(path: str) -> None:
    assert [path] == list(filtered(added(path), files=("store/cart.py", "tests/test_cart.py")).left_out)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("pyproject.toml", PYTEST_SETTINGS),
        ("src/PyProject.toml", PYTEST_SETTINGS),
        ("tox.ini", b"[pytest]\naddopts = -p evil\n"),
        ("sub/tox.ini", b"[pytest]\naddopts = -p evil\n"),
        ("setup.cfg", b"[tool:pytest]\naddopts = -p evil\n"),
        ("setup.cfg", b"[coverage:run]\nplugins = evil\n"),
    ],
)
def test_settings_of_the_runner_are_left_out_at_any_depth(path: str, data: bytes) -> None:
    assert [path] == list(filtered(added(path, data)).left_out)


def test_a_link_in_place_of_settings_is_left_out_whatever_its_target_is_called() -> None:
    change = modified("pyproject.toml", b'[project]\nname = "a"\n', b"a=1", link=True)
    assert ["pyproject.toml"] == list(filtered(change).left_out)


def test_settings_that_were_renamed_into_place_are_new() -> None:
    rename = FileChange("pyproject.toml", "rename", state(PYTEST_SETTINGS), state(PYTEST_SETTINGS), "doc/sample.toml")
    assert {"pyproject.toml": "changes settings of the test runner"} == filtered(rename).left_out


def test_a_module_that_was_renamed_over_the_standard_library_is_new() -> None:
    rename = FileChange("json.py", "rename", state(OLD), state(OLD), "store/codec.py")
    found = filtered(rename, files=("store/codec.py",))
    assert ["json.py"] == list(found.left_out)
    assert [("store/codec.py", "delete")] == [(f.path, f.status) for f in found.graded.files]


def test_a_link_in_place_of_the_suite_is_left_out() -> None:
    found = filtered(deleted("tests/test_a.py"), added("tests", b"mine", link=True), added("mine/a.py"))
    assert "stands in the place of what is left out" == found.left_out["tests"]
    assert ["mine/a.py"] == [file.path for file in found.graded.files]


def test_a_folder_in_place_of_settings_is_left_out() -> None:
    found = filtered(
        FileChange("pyproject.toml", "delete", state(PYTEST_SETTINGS), None), added("pyproject.toml/readme.md")
    )
    assert ["pyproject.toml", "pyproject.toml/readme.md"] == list(found.left_out)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("make test", "Makefile"),
        ("make -C sub check", "sub/GNUmakefile"),
        ("nox -s tests", "noxfile.py"),
        ("tox -e py", "tox.toml"),
        ("./check.sh", "check.sh"),
        ("cd . && sh ci/run", "ci/run"),
        ("python3 run_tests.py", "run_tests.py"),
        ("npm test", ".npmrc"),
        ("npx jest", "jest.config.js"),
        ("just test", "justfile"),
        ("cargo test", ".cargo/config.toml"),
    ],
)
def test_what_the_command_reads_is_left_out_where_that_is_the_command(command: str, path: str) -> None:
    assert [path] == list(filtered(modified(path), command=command).left_out)
    assert {} == filtered(modified(path), command="python3 -m unittest").left_out


def test_scripts_of_a_package_are_left_out_and_its_other_fields_are_not() -> None:
    before = b'{"name": "a", "scripts": {"test": "node --test"}}'
    steering = modified("package.json", before, before.replace(b"node --test", b"true"))
    harmless = modified("package.json", before, before.replace(b'"a"', b'"b"'))
    assert ["package.json"] == list(filtered(steering, command="npm test").left_out)
    assert {} == filtered(harmless, command="npm test").left_out


@pytest.mark.parametrize(
    "path",
    [
        "store/json.py",
        "store/conftests.py",
        "calendar/holidays.py",
        "code/new.py",
        "py/more.py",
        "src/store/types.py",
        "docs/pytest.md",
        "Makefile",
        "noxfile.py",
        "spec.md",
        "testing_notes.txt",
        "contest/py.py",
    ],
)
def test_honest_new_files_are_graded(path: str) -> None:
    files = ("calendar/days.py", "code/old.py", "py/a.py", "store/cart.py")
    assert {} == filtered(added(path), files=files).left_out


def test_a_formatter_over_everything_leaves_the_source_in_and_the_suite_out() -> None:
    paths = ("store/cart.py", "store/json.py", "setup.py", "tests/test_cart.py", "tests/conftest.py")
    found = filtered(*map(modified, paths), files=paths)
    assert ["tests/test_cart.py", "tests/conftest.py"] == list(found.left_out)
    assert ["store/cart.py", "store/json.py", "setup.py"] == [file.path for file in found.graded.files]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/test_a.py", True),
        ("tests/conftest.py", True),
        ("pytest.ini", True),
        ("tests/data/table.csv", False),
        ("store/cart.py", False),
        ("pyproject.toml", False),
    ],
)
def test_code_that_grades_is_known_from_data_and_source(path: str, expected: bool) -> None:
    assert expected is grades(path)


@pytest.mark.slow
def test_many_files_take_no_time_to_speak_of() -> None:
    change = [added(f"store/part{n}/module.py") for n in range(3000)]
    change += [deleted(f"tests/test_{n}.py") for n in range(3000)]
    assert 3000 == len(filtered(*change).left_out)


def test_every_path_is_either_graded_or_named() -> None:
    rename = FileChange("src/a.py", "rename", state(OLD), state(OLD), "tests/a.py")
    found = filtered(rename, added("b.py"), added("conftest.py"))
    named = set(found.left_out) | {file.path for file in found.graded.files}
    assert {"src/a.py", "b.py", "conftest.py"} == named
