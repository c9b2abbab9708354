"""Names in a patch: quoting, prefixes, and what may not be a path.

A name can hold spaces, ` b/` and any byte but NUL, so a `diff --git` line cannot be split at a space; but where it
names one file twice, its halves are equally long. Prefixes are told from folders by comparing the two names.
"""

from __future__ import annotations

import re

from crucible.scenario.patch_lines import LineReader, shown

DEV_NULL = b"/dev/null"
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_NAMED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_PREFIXES = tuple(letter + b"/" for letter in (b"a", b"b", b"c", b"i", b"o", b"w", b"1", b"2"))


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    return bytes([int(code, 8)]) if code[:1].isdigit() else _NAMED.get(code, code)


def _leading_name(raw: bytes) -> tuple[bytes, bytes]:
    """A quoted name at the start of `raw`, unquoted, and what follows it; unquoted text comes back whole."""
    quoted = _QUOTED.match(raw)
    if quoted is None:
        return raw, b""
    return _ESCAPE.sub(_unescape, quoted.group(1)), raw[quoted.end() :]


def plain_name(raw: bytes) -> bytes:
    """The name on a `rename from` line: no prefix, quoted when git had to."""
    return _leading_name(raw)[0]


def header_name(raw: bytes) -> bytes | None:
    """The name on a `---` or `+++` line, prefix included; None for /dev/null. A tab ends it (a date may follow)."""
    name = _leading_name(raw)[0] if raw.startswith(b'"') else raw.split(b"\t")[0]
    return None if name == DEV_NULL else name


def git_name(raw: bytes) -> bytes | None:
    """The name that a `diff --git` line gives twice, without prefix; None when its two names differ."""
    if raw.startswith(b'"'):
        first, rest = _leading_name(raw)
        return common_name(first, plain_name(rest[1:]))
    middle = len(raw) // 2
    return common_name(raw[:middle], raw[middle + 1 :]) if raw[middle : middle + 1] == b" " else None


def common_name(old: bytes, new: bytes) -> bytes | None:
    """The one file that both sides name, prefixes removed; None when they name two."""
    if old == new:
        return old
    bare = old.partition(b"/")[2]
    return bare if bare and bare == new.partition(b"/")[2] else None


def lone_name(name: bytes) -> bytes:
    """The name of a side whose other side is /dev/null: a known prefix is removed, as there is nothing to compare."""
    return name[2:] if name.startswith(_PREFIXES) else name


def same_file(header: bytes | None, name: bytes) -> bool:
    """True when a `---` or `+++` name, with or without its prefix, is `name`; /dev/null agrees with all."""
    return header is None or name in (header, header.partition(b"/")[2])


def checked_path(reader: LineReader, name: bytes, line: int) -> str:
    """The name as a path of the workspace. Raises PatchError for one that leaves it or cannot be a file."""
    parts = name.split(b"/")
    if name.startswith(b"/") or b".." in parts:
        raise reader.error(f"the path {shown(name)} leads out of the workspace", line=line)
    if b"\0" in name or not all(parts) or b"." in parts:
        raise reader.error(f"{shown(name)} is no path of a file", line=line)
    return name.decode("utf-8", "surrogateescape")
