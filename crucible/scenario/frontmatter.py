"""A scenario file's bytes -> the YAML between its two fences. Nothing is guessed: no fence, no scenario."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple, NoReturn

import yaml

from crucible.errors import Problem, ScenarioError
from crucible.scenario.words import shown

FENCE = re.compile(r"---[ \t]*")
LONG_FENCE = re.compile(r"-{4,}[ \t]*")


class Frontmatter(NamedTuple):
    """The YAML of a scenario file. `first_line` is the 1-based line of the file on which `text` begins."""

    text: str
    first_line: int


def decode(data: bytes, file: str) -> str:
    """The text of a scenario file without its byte order mark; line endings stay the file's own.

    Raises ScenarioError for what is not UTF-8 text. `file` names the file in the message.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        _refuse(file, 1, "not UTF-8 text, got UTF-16; save the file as UTF-8")
    if b"\0" in data:
        _refuse(file, _line(data, data.index(b"\0")), "a NUL byte; save the file as UTF-8 text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        got = f"byte 0x{data[error.start]:02x}"
        _refuse(file, _line(data, error.start), f"not UTF-8 text, got {got}; save the file as UTF-8")


def split(text: str, file: str) -> Frontmatter:
    """What lies between the fence on the first line and the next fence.

    A fence is a line that is exactly `---` plus optional trailing blanks, beginning at column 0. Lines end in
    LF or CRLF; the closing fence may end the file. Raises ScenarioError when either fence is not there.
    """
    lines = text.split("\n")
    if not _is(FENCE, lines[0]):
        _refuse_opening(file, lines)
    end = next((index for index, line in enumerate(lines) if index and _closes(line)), None)
    if end is None:
        _refuse(file, 1, "the frontmatter that begins here never ends; close it with a line that is just '---'")
    if _is(LONG_FENCE, lines[end]):
        _refuse(file, end + 1, f"a fence has three dashes, got {shown(lines[end].rstrip())}; write '---'")
    return _readable("".join(f"{line}\n" for line in lines[1:end]), file)


def _closes(line: str) -> bool:
    return _is(FENCE, line) or _is(LONG_FENCE, line)


def _is(fence: re.Pattern[str], line: str) -> bool:
    return fence.fullmatch(line.removesuffix("\r")) is not None


def _readable(text: str, file: str) -> Frontmatter:
    """YAML takes no control characters: say which and where, in the file's own lines."""
    if found := yaml.reader.Reader.NON_PRINTABLE.search(text):
        line = 2 + text.count("\n", 0, found.start())
        _refuse(file, line, f"a control character, got U+{ord(found.group()):04X}; delete it")
    return Frontmatter(text, 2)


def _refuse_opening(file: str, lines: list[str]) -> NoReturn:
    first = lines[0].rstrip()
    if not any(line.strip() for line in lines):
        _refuse(file, 1, "the file is empty; a scenario begins with a line that is exactly '---'")
    if _is(LONG_FENCE, lines[0]):
        _refuse(file, 1, f"a fence has three dashes, got {shown(first)}; write '---'")
    later = next((number for number, line in enumerate(lines, start=1) if _is(FENCE, line)), None)
    if first.lstrip().startswith("---"):
        advice = "; a fence has nothing before or after it"
    else:
        advice = f"; delete what stands before the '---' of line {later}" if later else ""
    _refuse(file, 1, f"no frontmatter: the first line must be exactly '---', got {shown(first)}{advice}")


def _line(data: bytes, offset: int) -> int:
    return 1 + data.count(b"\n", 0, offset)


def _refuse(file: str, line: int, what: str) -> NoReturn:
    raise ScenarioError([Problem(file, line, what)])
