"""Globs over workspace paths: `*` and `?` within a name, `**` across folders, `[...]`, `{a,b}`."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[[!^]?\]?[^\]/]*\]|\{[^{}/]*\}|.", re.DOTALL)
_WILD = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matcher(glob: str) -> re.Pattern[str]:
    """The glob as a pattern for whole paths. One without a `/` is about the last name, wherever it is."""
    pattern = glob.removeprefix("./").removeprefix("/")
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    return re.compile("".join(map(_translate, _TOKEN.findall(pattern))) + r"\Z", re.DOTALL)


def _translate(token: str) -> str:
    if token in _WILD:
        return _WILD[token]
    if len(token) > 2 and token[0] == "[":
        negated = token[1] in "!^"
        inner = "".join(map(_in_set, token[1 + negated : -1])).replace("--", r"-\-")
        return f"(?!/)[{'^' * negated}{inner}]" if inner else re.escape(token)
    if len(token) > 1 and token[0] == "{":
        return "(?:" + "|".join(map(_alternative, token[1:-1].split(","))) + ")"
    return re.escape(token)


def _in_set(char: str) -> str:
    # Two of some marks in a row will mean a set operation one day, and warn of it today.
    return char if char == "-" or char.isalnum() else f"\\{char}"


def _alternative(part: str) -> str:
    return "".join(map(_translate, _TOKEN.findall(part)))
