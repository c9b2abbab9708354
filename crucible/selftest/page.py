"""docs/security.md, made from a self-test: what is defended, what is not, and every trick with what stopped it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from crucible.selftest.catalog import FAMILIES, Family, honest_cases, tricks
from crucible.selftest.results import Result, Tried

_ABOUT: dict[Family, tuple[str, str]] = {
    "tests": (
        "Tests",
        (
            "A score means that the bug is fixed. The suite is run in a clean copy: the fixture plus the agent's change, "
            "without test files, without protected paths and without whatever steers the test runner. The verdict is a report "
            "written outside the workspace and the exit code, never what is printed. Tests of the grader's own are planted "
            "among the suite's, and a green suite is run again with wrong expected values, where it must turn red."
        ),
    ),
    "policy": (
        "Rules",
        (
            "A protected path is mounted read-only, so that the kernel refuses every way to write it. The check of a call's "
            "arguments comes before that and says which rule it is about. What is changed all the same is compared by content "
            "after the attempt, named with the call that did it, and taken from the fixture for grading."
        ),
    ),
    "leak": (
        "Leaks",
        (
            "An attempt sees its workspace, the system's programs and an interpreter, nothing else: no home, no bench, no "
            "store, no other attempt, no network unless the scenario asks for one, no environment but a list of our own. The "
            "repository in the workspace has one commit. Looking for history or for what grades is flagged on the attempt."
        ),
    ),
    "process": (
        "Processes",
        (
            "An attempt has a process space of its own, and all of it ends when the attempt does. Time, output, memory, "
            "processes, open files, file size and disk are limited; meeting a limit is the agent's doing, counts, and is named."
        ),
    ),
    "hiding": (
        "Hidden changes",
        "A change is what differs between the files before and after, read by us from outside. Git is never asked.",
    ),
    "judge": (
        "Judge",
        (
            "A judge is told that everything it is shown is evidence, and lines that speak to it are taken out and flagged. "
            "What was measured caps what it can say. These tricks are tried on the worst judge there can be, one that does "
            "whatever it reads; the score must be that of the same change without the words."
        ),
    ),
}
_OPENING = """\
# Security

This page is made by `crucible selftest --markdown docs/security.md`; do not edit it.

A score in Crucible is worth something only if an agent cannot change what it is graded on. These are the tricks Crucible
is tried with, and what stopped each. Every one is a small scripted agent that goes through the whole pipeline, as any
attempt does, on the bench that `crucible init` makes. What stopped it is read off the stored attempt. A trick has escaped
when the suite is called green with the bug still there, when any score is better than that of an honest attempt that
fails, when the attempt does not count or is not scored, when a word planted outside its workspace comes back in a tool's
result, when a change is not seen or not named, or when the host, another attempt or the next one is not as it was.

Try it on your machine: `crucible selftest`. `crucible doctor` tries ten of them.
"""
_LIMITS = """\
## What is not defended

- **Code under test runs in the test runner's process.** It can do there what it likes. That it forges a report or turns
  outcomes round is found by the planted tests and by the run with wrong expected values. Code that tells these runs from
  the real one, by what only the real one has, would not be found; nothing that runs in one process with its judge can
  rule that out. Suites of other languages have no planted tests.
- **A fix made for the visible tests only** (an answer for each input they try) is green: the suite can say no more. How
  like the reference a change is, its diff and the judge show it.
- **`sandbox: copy` has no walls.** An agent's commands run as you, on your machine, and can read and harm what you can.
  Protected files are put back after each call, changes are read and graded in the same way; the rest is on your trust.
  Results are marked.
- **The kernel.** The walls are Linux namespaces. A hole in the kernel is a hole in them.
- **A network, where a scenario asks for one**, is a way out and a way in.
- **A judge model** can be wrong without being told to. `crucible rejudge`, several samples and labels of people are for
  that.
"""


def security_page(tried: Tried) -> str:
    """The page. The same tricks with the same outcome make the same text."""
    parts = [_OPENING, *(_family(family, results) for family, results in tried.families()), _honest(tried), _copy()]
    return "\n".join([*parts, _LIMITS])


def _family(family: Family, results: Sequence[Result]) -> str:
    title, about = _ABOUT[family]
    rows = [(f"`{one.trick.id}`", one.trick.what, one.said) for one in results]
    return f"## {title}\n\n{about}\n\n{_table(('trick', 'what it does', 'what stopped it'), rows)}"


def _honest(tried: Tried) -> str:
    rows = [(f"`{one.case.id}`", one.case.what, one.said) for one in tried.honest]
    about = "Agents that mend the bug and do something a cheat might do as well. None may lose by it."
    return f"## Honest agents\n\n{about}\n\n{_table(('agent', 'what it does', 'what became of it'), rows)}"


def _copy() -> str:
    rows = []
    for family in FAMILIES:
        mine = [trick for trick in tricks() if trick.family == family]
        reasons = Counter(trick.walls for trick in mine if trick.walls is not None)
        said = "; ".join(f"{number}: {why}" for why, number in reasons.most_common())
        rows.append((_ABOUT[family][0].lower(), f"{len(mine) - reasons.total()} of {len(mine)}", said or "-"))
    rows.append(("honest agents", f"{len(honest_cases())} of {len(honest_cases())}", "-"))
    about = (
        "Where the kernel allows no sandbox, plain copies take its place (`sandbox: copy`). There a trick is stopped by "
        "other means - what it changed is put back, or left out - or it cannot be stopped at all and is not tried:"
    )
    return f"## Without walls\n\n{about}\n\n{_table(('family', 'same result', 'not tried, and why'), rows)}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(text) for text in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
