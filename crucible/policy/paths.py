"""Paths as policies see them: relative to the workspace, without tricks, compared by component."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from crucible.scenario.schema import MatchOp

WORKSPACE = "/workspace"


def normalise(path: str) -> str | None:
    """The path relative to the workspace with `.`, `..`, `//` and absolute forms folded, in NFC; '' is the root.

    None when it leads outside. Links are not followed here: the caller resolves them in the world first.
    """
    text = unicodedata.normalize("NFC", path)
    parts: list[str] = [] if text.startswith("/") else [WORKSPACE.strip("/")]
    for part in text.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts[1:]) if parts[:1] == [WORKSPACE.strip("/")] else None


def path_matches(op: MatchOp, value: str, path: str, *, exact_case: bool = False) -> bool:
    """Whether a normalised path meets a condition, by whole components, case-folded unless `exact_case`.

    Rules that forbid compare case-folded, since a file system may; rules that allow (`not: true`) compare exactly.
    """
    if op == "regex":
        return re.search(value, path, 0 if exact_case else re.IGNORECASE) is not None
    fold = str if exact_case else str.casefold
    wanted, have = fold(_wanted(op, value)), fold(path)
    if op == "glob":
        return _glob(wanted).fullmatch(have) is not None
    if op == "contains":
        return wanted in f"{have}/"
    if op == "equals":
        return wanted == have
    if op == "starts_with":
        return have == wanted or have.startswith(f"{wanted}/") or wanted == ""
    return _ends_with(have, wanted)


def _wanted(op: MatchOp, value: str) -> str:
    text = unicodedata.normalize("NFC", value)
    return normalise(text) or "" if op in ("starts_with", "equals") else text.removeprefix("./")


def _ends_with(have: str, wanted: str) -> bool:
    if "/" in wanted:
        return have == wanted or have.endswith("/" + wanted.lstrip("/"))
    return have.endswith(wanted)


@lru_cache(maxsize=1024)
def _glob(pattern: str) -> re.Pattern[str]:
    """`*` and `?` stay within a component, `**` crosses them, `dir/` and `dir/**` mean everything below dir."""
    if pattern.endswith("/"):
        pattern += "**"
    out, i = "", 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out, i = out + "(?:[^/]+/)*", i + 3
        elif pattern.startswith("**", i):
            out, i = out + ".*", i + 2
        elif (closing := _set_end(pattern, i)) is not None:
            out, i = out + _set(pattern[i + 1 : closing]), closing + 1
        else:
            out, i = out + {"*": "[^/]*", "?": "[^/]"}.get(pattern[i], re.escape(pattern[i])), i + 1
    return re.compile(out, re.DOTALL)


def _set_end(pattern: str, start: int) -> int | None:
    end = pattern.find("]", start + 2)
    return end if pattern[start] == "[" and end > 0 else None


def _set(body: str) -> str:
    negated = body[0] in "!^"
    inner = "".join(c if c == "-" else re.escape(c) for c in body.lstrip("!^"))
    return f"(?!/)[{'^' if negated else ''}{inner or re.escape(body)}]"


def text_matches(op: MatchOp, value: str, text: str) -> bool:
    """Whether an argument that is not a path meets a condition; as it stands, case and all."""
    match op:
        case "starts_with":
            return text.startswith(value)
        case "ends_with":
            return text.endswith(value)
        case "equals":
            return text == value
        case "contains":
            return value in text
        case "glob":
            return _glob(value).fullmatch(text) is not None
        case "regex":
            return re.search(value, text) is not None
