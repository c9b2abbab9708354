"""Paths are compared resolved, by component and case-folded, whatever tricks they are written with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.policy.paths import normalise, path_matches

SPELLINGS_OF_TESTS = [
    "tests/a.py",
    "./tests/a.py",
    "tests//a.py",
    "src/../tests/a.py",
    "/workspace/tests/a.py",
    "/workspace/../workspace/tests/a.py",
    "../workspace/tests/a.py",
    "TESTS/a.py",
    "tests/./a.py",
]


@pytest.mark.parametrize("path", SPELLINGS_OF_TESTS)
def test_every_spelling_of_a_protected_path_is_matched(path: str) -> None:
    clean = normalise(path)
    assert clean is not None
    assert path_matches("starts_with", "tests/", clean)


@pytest.mark.parametrize("path", ["tests_extra/a.py", "src/tests.py", "testsuite/a.py", "contests/a.py"])
def test_a_longer_name_is_another_component(path: str) -> None:
    assert not path_matches("starts_with", "tests/", path)
    assert not path_matches("starts_with", "tests", path)


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "/etc/passwd", "/workspace/../etc/passwd", "/workspacex"])
def test_a_path_that_leads_outside_has_no_form(path: str) -> None:
    assert normalise(path) is None


@pytest.mark.parametrize(
    ("op", "value", "path", "expected"),
    [
        ("ends_with", ".lock", "a/poetry.lock", True),
        ("ends_with", "conf/settings.py", "src/conf/settings.py", True),
        ("ends_with", "conf/settings.py", "src/myconf/settings.py", False),
        ("equals", "setup.py", "setup.py", True),
        ("equals", "./setup.py", "setup.py", True),
        ("equals", "setup.py", "src/setup.py", False),
        ("contains", "migrations/", "app/migrations/0001.py", True),
        ("contains", "migrations/", "app/migrations", True),
        ("glob", "**/*.snap", "a/b/c.snap", True),
        ("glob", "**/*.snap", "c.snap", True),
        ("glob", "*.py", "a/b.py", False),
        ("glob", "tests/", "tests/deep/x", True),
        ("glob", "src/[!a]*.py", "src/b.py", True),
        ("glob", "src/[!a]*.py", "src/a.py", False),
        ("regex", r"^docs/.*\.md$", "docs/a/b.md", True),
        ("regex", r"^docs/.*\.md$", "src/docs/b.md", False),
    ],
)
def test_operators_on_paths(op: str, value: str, path: str, expected: bool) -> None:
    assert path_matches(op, value, path) is expected  # type: ignore[arg-type] # parametrised


def test_rules_that_allow_compare_case_exactly() -> None:
    assert path_matches("starts_with", "src/", "SRC/a.py")
    assert not path_matches("starts_with", "src/", "SRC/a.py", exact_case=True)


def test_unicode_forms_of_one_name_are_one_name() -> None:
    assert path_matches("equals", "caf\u00e9.py", normalise("cafe\u0301.py") or "")


_part = st.text(st.characters(blacklist_characters="/\x00", blacklist_categories=["Cs"]), min_size=1, max_size=6)


@given(st.lists(st.one_of(_part, st.sampled_from(["..", ".", ""])), max_size=8))
def test_a_normal_form_is_its_own_normal_form(parts: list[str]) -> None:
    clean = normalise("/".join(parts))
    if clean is not None:
        assert clean == normalise(clean)
        assert ".." not in clean.split("/")


@given(st.lists(_part.filter(lambda p: p not in ("..", ".")), min_size=1, max_size=4), st.data())
def test_detours_do_not_change_the_normal_form(parts: list[str], data: st.DataObject) -> None:
    detoured: list[str] = []
    for part in parts:
        detour = data.draw(st.sampled_from([[], ["."], [""], ["x", ".."]]))
        detoured += [*detour, part]
    direct = normalise("/".join(["", "workspace", *parts]))
    assert direct == normalise("/".join(["", "workspace", *detoured]))
