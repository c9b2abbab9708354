"""A shell command is read as the programs it runs: what is quoted, commented or written down is a mention, not a deed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.policy.shell import runs


def words(command: str) -> list[tuple[str, ...]]:
    return [run.words for run in runs(command)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git log", [("git", "log")]),
        ("cd x && git log -5; ls | wc -l", [("cd", "x"), ("git", "log", "-5"), ("ls",), ("wc", "-l")]),
        ("A=1 B='x y' /usr/bin/git log", [("git", "log")]),
        ("sudo -n timeout 5 nice -n 10 git log", [("git", "log")]),
        ("if true; then git log; fi", [("true",), ("git", "log")]),
        ("echo 'git log; rm x' \"a b\"", [("echo", "git log; rm x", "a b")]),
        ("echo a#b # git log", [("echo", "a#b")]),
        ("cat < in > out 2>&1", [("cat", "in")]),
        ("grep x <<< 'git log'", [("grep", "x", "git log")]),
        ("cat > n.md <<EOF\ngit log\nEOF\nls", [("cat",), ("ls",)]),
        ("cat <<-'E' | wc\n\tgit log\n\tE\nls", [("cat",), ("wc",), ("ls",)]),
        ("ls \\\n  -l", [("ls", "-l")]),
        ("xargs -I {} git show {}", [("git", "show", "{}")]),
        ("env | sort", [("env",), ("sort",)]),
        ("", []),
    ],
)
def test_programs_and_arguments_are_told_from_text(command: str, expected: list[tuple[str, ...]]) -> None:
    assert expected == words(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo $(git log)",
        'echo "now `git log` (end)"',
        'echo "$(cd x; git log)"',
        "bash -c 'git log'",
        "sh -ec 'cd x && git log'",
        "eval 'git log'",
        "bash <<EOF\ngit log\nEOF",
        "bash -c \"bash -c 'git log'\"",
        "(cd x; git log)",
        "{ git log; }",
        "echo $(echo $(git log))",
    ],
)
def test_what_is_run_inside_is_found(command: str) -> None:
    assert ("git", "log") in words(command)


def test_code_given_to_an_interpreter_is_kept_apart() -> None:
    (one,) = runs("python3 -c 'import os' a b")
    assert ("python3", "import os") == (one.program, one.code)
    (two,) = runs("python3 - <<E\nimport os\nE\n")
    assert "import os" == two.code


@given(st.text(alphabet="ab $(){}`'\"\\<>|&;#\n\t-=E", max_size=80))
def test_any_text_is_read_to_its_end(command: str) -> None:
    assert all(run.program for run in runs(command))


@given(st.integers(1, 300))
def test_nesting_has_an_end(depth: int) -> None:
    runs("$(" * depth + "git log" + ")" * depth)
