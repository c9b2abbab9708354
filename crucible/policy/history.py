"""Reading a repository for what it was or will be, instead of for what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from crucible.policy.looking import Call, take_apart
from crucible.policy.shell import Run

_READS = {
    "annotate", "archive", "bisect", "blame", "bundle", "cat-file", "cherry", "cherry-pick", "fast-export",
    "for-each-ref", "format-patch", "fsck", "log", "lost-found", "name-rev", "range-diff", "reflog", "rev-list",
    "shortlog", "show", "show-branch", "show-index", "show-ref", "unpack-objects", "verify-pack", "whatchanged",
}  # fmt: skip
_WITH_A_REVISION = {"checkout", "diff", "diff-tree", "grep", "ls-tree", "reset", "restore", "switch", "worktree"}
_STASH_READS = {"list", "show", "branch"}
_OLDER = re.compile(
    r"(?:--source=)?(?:[0-9a-f]{7,40}|(?:ORIG|FETCH|MERGE)_HEAD|(?:refs|origin|remotes|upstream)/\S+"
    r"|[\w./-]*(?:~\d*|\^\d*|@\{[^}]*\})|stash@\{\d+\})(?:[:^~.]\S*)?"
)
"""What names another commit than the one checked out: a hash, an ancestor, an entry of a log, a remote's branch."""
_TAKES_VALUE = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}
_INSIDE = re.compile(r"(?:^|/)\.git(?:/|$)", re.IGNORECASE)
_IN_CODE = re.compile(
    r"""["']git["'](?:\s*,\s*["'][^"'\n]{0,80}["']){0,4}?\s*,\s*["'](?P<listed>[a-z-]+)["']"""
    r"""|["'(`]git (?:-[^\s"']+ )*(?P<said>[a-z-]+)"""
    r"""|["'/(](?P<place>\.git(?:/(?:objects|packed-refs|logs|refs|HEAD|ORIG_HEAD|index)\b|["']))"""
)


def reads_history(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """What a tool call does to read history, as it was written; None when it does not.

    `git status`, `add`, `commit` and a plain `diff` are work, not mining; so are putting a file back and a stash of
    one's own.
    """
    return next(_found(take_apart(tool, arguments)), None)


def _found(call: Call) -> Iterator[str]:
    for run in call.runs:
        if run.program == "git" and _git_reads(run):
            yield " ".join(run.words)
        if run.code and (hit := _code_reads(run.code)):
            yield hit
    for look in call.looks:
        if _INSIDE.search(look.place):
            yield f"{look.program} {look.word}"


def _git_reads(run: Run) -> bool:
    words = iter(run.arguments)
    for word in words:
        if word in _TAKES_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            return _reads(word, list(words))
    return False


def _reads(command: str, rest: list[str]) -> bool:
    if command == "stash":
        return bool(rest) and (rest[0] in _STASH_READS or any(word.startswith("stash@") for word in rest))
    named = rest[: rest.index("--")] if "--" in rest else rest
    older = command in _WITH_A_REVISION and any(_OLDER.fullmatch(word) for word in named)
    return command in _READS or older


def _code_reads(code: str) -> str | None:
    for hit in _IN_CODE.finditer(code):
        if hit["place"] or (hit["listed"] or hit["said"]) in _READS:
            return hit[0].strip("\"'(`")
    return None
