"""What a policy says of a call, and which paths it protects."""

from __future__ import annotations

from typing import Any

import pytest

from crucible.policy.protection import Protection
from crucible.policy.rules import decide
from crucible.scenario.schema import Matcher, Policy


def policy(enforcement: str = "block", policy_id: str = "P1", **matcher: Any) -> Policy:
    given = {"tool": "write_file", "arg_key": "path", "op": "starts_with", "value": "tests/"} | matcher
    return Policy(id=policy_id, rule="Hands off.", enforcement=enforcement, matchers=(Matcher.model_validate(given),))  # type: ignore[arg-type] # parametrised


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_a_path_matcher_on_one_writing_tool_holds_for_all(tool: str) -> None:
    (decision,) = decide([policy()], tool, {"path": "tests/a.py"})
    assert ("P1", "block") == (decision.policy_id, decision.action)
    assert "Hands off." in decision.told()


def test_reading_is_not_writing() -> None:
    assert decide([policy()], "read_file", {"path": "tests/a.py"}) == []


def test_a_mention_in_text_never_blocks() -> None:
    assert decide([policy()], "write_file", {"path": "notes.md", "content": "see tests/a.py"}) == []
    assert decide([policy()], "bash", {"command": "echo tests/a.py > notes.md"}) == []


def test_the_strongest_policy_comes_first() -> None:
    decisions = decide(
        [policy("warn", "W"), policy("fail", "F"), policy("block", "B")], "write_file", {"path": "tests/a.py"}
    )
    assert ["F", "B", "W"] == [d.policy_id for d in decisions]


def test_an_argument_that_is_no_path_is_compared_as_it_stands() -> None:
    shell = policy(tool="bash", arg_key="command", op="regex", value=r"\bgit\s+log\b")
    assert decide([shell], "bash", {"command": "git  log --all"})
    assert not decide([shell], "bash", {"command": "GIT LOG"})


def test_not_turns_the_condition_round() -> None:
    only_src = policy(value="src/", **{"not": True})
    assert decide([only_src], "edit_file", {"path": "README.md"})
    assert decide([only_src], "edit_file", {"path": "SRC/a.py"})
    assert not decide([only_src], "edit_file", {"path": "src/a.py"})


FILES = ("README.md", "src/a.py", "src/b/c.py", "tests/a.py", "tests/b/c.py", "docs/x.md", "docs/y.txt")


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        ({}, ("tests",)),
        ({"op": "equals", "value": "src/a.py"}, ("src/a.py",)),
        ({"op": "ends_with", "value": ".md"}, ("README.md", "docs/x.md")),
        ({"op": "glob", "value": "tests/**"}, ("tests",)),
        ({"value": "src/", "not": True}, ("README.md", "docs", "tests")),
        ({"op": "glob", "value": "**/c.py"}, ("src/b/c.py", "tests/b/c.py")),
        ({"value": "absent/"}, ()),
    ],
)
def test_mounts_are_the_fewest_paths_that_cover_what_is_protected(
    matcher: dict[str, Any], expected: tuple[str, ...]
) -> None:
    guards = tuple(("P1", m) for m in policy(**matcher).matchers)
    assert expected == Protection(guards, ()).mounts(FILES)


def test_the_protected_list_protects_folders_and_globs() -> None:
    protection = Protection((), ("docs", "src/*.py"))
    assert "protected" == protection.by("docs/x.md")
    assert "protected" == protection.by("src/a.py")
    assert protection.by("src/b/c.py") is None
    assert ("docs", "src/a.py") == protection.mounts(FILES)
