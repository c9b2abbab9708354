"""What an agent's calls are about, read from their words: what a shell command writes, and whether it ran tests. Pure.

Advice, never proof: what a program does by itself is not in the words that started it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from crucible.agents.external.naming import as_builtin
from crucible.policy.shell import Run, runs
from crucible.scenario.schema import PATH_ARGUMENT

_LONGEST_TARGET = 200
_MOST_PROGRAMS = 4
_RUNNERS = frozenset({
    "pytest", "py.test", "unittest", "nose2", "tox", "nox", "jest", "vitest", "mocha", "ava", "rspec", "phpunit", "ctest",
    "behave", "trial",
})  # fmt: skip
_BUILDERS = frozenset({
    "npm", "pnpm", "yarn", "bun", "deno", "go", "cargo", "make", "mvn", "gradle", "gradlew", "dotnet", "swift", "mix", "sbt",
    "bazel", "rake", "composer", "zig", "lein",
})  # fmt: skip
_SPEAK_OF = frozenset(
    {"grep", "rg", "cat", "ls", "which", "pip", "pip3", "echo", "printf", "find", "git", "sed", "head"}
)
"""Programs that may name a test runner without running it."""
_TASKS = frozenset({"test", "tests", "check", "t", "verify"})
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_REDIRECTED = re.compile(r"(?<![<>=&-])(?:\b1)?>{1,2}\|?\s*(?!&|\s|/dev/|/tmp/|\()\S")


@lru_cache(maxsize=4096)
def programs_of(command: str) -> tuple[Run, ...]:
    """The programs a command runs. Agents say the same ones over and over, and each is asked about several things."""
    return tuple(runs(command))


def command_of(tool: str, arguments: Mapping[str, Any] | None) -> str | None:
    """The command of a call of a shell, under whatever name an agent has for it; None for any other call."""
    command = (arguments or {}).get("command")
    if tool == "bash" and isinstance(command, str):  # by far the most calls: nothing to translate
        return command
    name, said = as_builtin(tool, arguments or {})
    command = said.get("command")
    return command if name == "bash" and isinstance(command, str) else None


def target(tool: str, arguments: Mapping[str, Any]) -> str:
    """What a call is about: a path, a pattern, the programs a command runs without their options, else its first text.

    Test runs are about the same thing, whatever runs them.
    """
    command = command_of(tool, arguments)
    if command is not None:
        return _command_target(command)
    named = (arguments.get(name) for name in (PATH_ARGUMENT, "pattern", *sorted(arguments)))
    return next((text for text in named if isinstance(text, str) and text), "")[:_LONGEST_TARGET]


@lru_cache(maxsize=4096)
def _command_target(command: str) -> str:
    if ran_tests(command) is not None:
        return "tests"
    programs = [run for run in programs_of(command) if run.program != "cd"][:_MOST_PROGRAMS]
    return "; ".join(" ".join(word for word in run.words if not word.startswith("-")) for run in programs)


@lru_cache(maxsize=4096)
def shell_writes(command: str) -> str | None:
    """The part of a command that writes, by its words: an edit in place, else all of it for a redirection or a patch. None
    when nothing in it does; what a program of its own does is not known."""
    programs = programs_of(command)
    # A document given to a program is no part of the command, nor is what stands in quotes.
    said = command.partition("\n")[0] if "<<" in command else command
    if _REDIRECTED.search(_QUOTED.sub("''", said)) or any(_patches(run) for run in programs):
        return command.strip()
    return "; ".join(" ".join(run.words) for run in programs if _edits_in_place(run)) or None


def _edits_in_place(run: Run) -> bool:
    return run.program in ("sed", "perl") and any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in run.arguments)


def _patches(run: Run) -> bool:
    if run.program == "tee":
        return any(not word.startswith(("-", "/dev/", "/tmp/")) for word in run.arguments)  # noqa: S108 - read, not used
    return run.program == "patch" or (run.program == "git" and run.arguments[:1] == ("apply",))


@lru_cache(maxsize=4096)
def ran_tests(command: str, own: tuple[tuple[str, ...], ...] = ()) -> bool | None:
    """None when it ran no tests; else whether its exit code is theirs, which it is when they were run last."""
    programs = programs_of(command)
    tests = [place for place, run in enumerate(programs) if _is_tests(run, own)]
    return tests[-1] == len(programs) - 1 if tests else None


def _is_tests(run: Run, own: tuple[tuple[str, ...], ...]) -> bool:
    first = [word.rpartition("/")[2] for word in run.words[:5]]
    if _RUNNERS.intersection(first) and run.program not in _SPEAK_OF and "install" not in run.arguments:
        return True
    if run.program in _BUILDERS and _TASKS.intersection(run.arguments[:2]):
        return True
    return (run.program == "node" and "--test" in run.arguments) or any(run.words[: len(o)] == o for o in own if o)
