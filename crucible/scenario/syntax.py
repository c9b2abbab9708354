"""YAML's own complaints, in words that say what to do."""

from __future__ import annotations

import yaml

_WORDS = (
    ("mapping values are not allowed", "a second ': ' in one value; quote the text, or mend the indentation"),
    ("maximum nesting depth", "too many levels of nesting; a scenario has six"),
    ("found unexpected end of stream", "a quote that is never closed"),
    ("could not find expected ':'", "neither 'key: value' nor part of a text; mend the indentation"),
    ("<document start>", "nothing above goes on like this; mend the indentation, or delete a line that is '...'"),
    ("while scanning an alias", "a value that begins with '*' must be quoted"),
    ("while scanning an anchor", "a value that begins with '&' must be quoted"),
    ("while scanning a tag", "a value that begins with '!' must be quoted"),
    ("while parsing a flow sequence", "a '[' that is never closed; close it, or quote the text"),
    ("while parsing a flow mapping", "a '{' that is never closed; close it, or quote the text"),
    ("while parsing a block", "indentation that fits no line above"),
    ("block sequence entries", "a list item where none can be; mend the indentation, or quote the text"),
    ("tab character", "a tab where YAML takes only spaces"),
    ("directive", "a line that begins with '%' must be quoted or indented"),
    ("incompatible YAML document", "a line that begins with '%' must be quoted or indented"),
    ("hexdecimal", "an escape in double quotes that YAML does not have; use single quotes"),
    ("while scanning a block scalar", "indentation that fits no line above"),
    ("escape", "an escape in double quotes that YAML does not have; use single quotes"),
)
"""The first whose key is in the complaint wins."""

_AT_ITS_START = ("quoted scalar", "simple key", "flow sequence", "flow mapping")
"""Complaints that are best shown where the thing began, not where the parser gave up."""


def explain(error: yaml.YAMLError, text: str) -> tuple[int, str]:
    """Offset into `text`, and the complaint in plain words."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return 0, f"not YAML: {' '.join(str(error).split())}"
    complaint = f"{error.context or ''}; {error.problem or ''}"
    offset = _offset(error, complaint)
    problem_offset = error.problem_mark.index if error.problem_mark else offset
    if _tab_indented(text, problem_offset):
        return min(problem_offset, len(text)), "a tab in the indentation; YAML takes only spaces there"
    return offset, _in_words(complaint, text[offset : offset + 1])


def _offset(error: yaml.MarkedYAMLError, complaint: str) -> int:
    marks = [error.problem_mark, error.context_mark]
    if any(thing in complaint for thing in _AT_ITS_START) and "escape" not in complaint:
        marks.reverse()
    return next((mark.index for mark in marks if mark), 0)


def _in_words(complaint: str, character: str) -> str:
    if "cannot start any token" in complaint:
        return f"a value that begins with {character!r} must be quoted"
    known = next((words for key, words in _WORDS if key in complaint), None)
    return known or f"not YAML: {complaint.strip('; ')}"


def _tab_indented(text: str, offset: int) -> bool:
    line = text[text.rfind("\n", 0, offset) + 1 :].split("\n", 1)[0]
    return "\t" in line[: len(line) - len(line.lstrip())]
