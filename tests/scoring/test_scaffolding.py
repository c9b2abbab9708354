"""What could steer the verdict is left out of grading and named; an honest change is kept whole."""

from __future__ import annotations

import hashlib

import pytest

from crucible.scoring.scaffolding import filter_change
from crucible.world.types import Change, FileChange, FileState


def state(data: bytes | None) -> FileState | None:
    return None if data is None else FileState("file", 0o644, len(data), hashlib.sha256(data).hexdigest(), data)


def changed(path: str, before: bytes | None = None, after: bytes | None = b"x = 1\n") -> Change:
    status = "add" if before is None else "delete" if after is None else "modify"
    return Change((FileChange(path, status, state(before), state(after)),))  # type: ignore[arg-type] # a literal by construction


def nothing_protected(_: str) -> None:
    return None


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "pkg/conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "sitecustomize.py",
        "usercustomize.py",
        "evil.pth",
        "evil-1.dist-info/entry_points.txt",
        "pytest.py",
        "_pytest/__init__.py",
        "pluggy/__init__.py",
        "json.py",
        "unittest/__init__.py",
        "tests/test_new.py",
        "test_new.py",
        "pkg/thing_test.py",
        "src/button.test.ts",
    ],
)
def test_added_files_that_steer_the_runner_are_left_out(path: str) -> None:
    filtered = filter_change(changed(path), nothing_protected)
    assert () == filtered.graded.files
    assert [path] == list(filtered.left_out)


@pytest.mark.parametrize(
    "path", ["store/pricing.py", "store/json.py", "new_module.py", "docs/notes.md", "latest/contest.py"]
)
def test_honest_files_are_kept(path: str) -> None:
    assert {} == filter_change(changed(path), nothing_protected).left_out


def test_a_changed_or_deleted_test_is_the_fixtures_own() -> None:
    for after in (b"def test_a(): pass\n", None):
        change = changed("tests/test_a.py", b"def test_a(): assert f() == 1\n", after)
        assert {"tests/test_a.py": "the suite is the fixture's own"} == filter_change(
            change, nothing_protected
        ).left_out


def test_tests_that_the_reference_changes_are_part_of_the_task() -> None:
    change = changed("tests/test_a.py", b"old\n", b"new\n")
    assert {} == filter_change(change, nothing_protected, frozenset({"tests/test_a.py"})).left_out


def test_protected_paths_name_their_policy() -> None:
    filtered = filter_change(changed("db/schema.sql"), lambda path: "P7" if path.startswith("db/") else None)
    assert {"db/schema.sql": "protected by P7"} == filtered.left_out


def test_shared_settings_are_left_out_only_when_the_runners_part_changed() -> None:
    before = b'[project]\nname = "a"\n[tool.pytest.ini_options]\naddopts = "-q"\n'
    harmless = changed("pyproject.toml", before, before.replace(b'"a"', b'"b"'))
    steering = changed("pyproject.toml", before, before.replace(b"-q", b"-p evil"))
    broken = changed("pyproject.toml", before, b"[tool.pytest")
    assert {} == filter_change(harmless, nothing_protected).left_out
    assert ["pyproject.toml"] == list(filter_change(steering, nothing_protected).left_out)
    assert ["pyproject.toml"] == list(filter_change(broken, nothing_protected).left_out)


def test_ini_settings_are_compared_by_section() -> None:
    before = b"[metadata]\nname = a\n"
    assert {} == filter_change(changed("setup.cfg", before, b"[metadata]\nname = b\n"), nothing_protected).left_out
    steering = changed("setup.cfg", before, before + b"[tool:pytest]\naddopts = -k nothing\n")
    assert ["setup.cfg"] == list(filter_change(steering, nothing_protected).left_out)


def test_a_rename_out_of_the_suite_keeps_only_the_honest_half() -> None:
    content = state(b"x = 1\n")
    rename = Change((FileChange("src/a.py", "rename", content, content, old_path="tests/a.py"),))
    filtered = filter_change(rename, nothing_protected)
    assert [("src/a.py", "add")] == [(f.path, f.status) for f in filtered.graded.files]
