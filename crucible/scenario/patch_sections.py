"""One file of a patch: its header lines, then hunks, binary data or nothing (an empty file, a mode, a rename)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from crucible.scenario import patch_paths as paths
from crucible.scenario.patch_binary import read_binary
from crucible.scenario.patch_hunks import read_hunk
from crucible.scenario.patch_lines import LineReader, at_plain_header, shown
from crucible.scenario.patch_types import BinaryData, FilePatch, Hunk, Status

_EXTENDED = re.compile(
    rb"(?:(old mode|new mode|new file mode|deleted file mode) ([0-7]{6})"
    rb"|(rename from|rename to|copy from|copy to) (.+)"
    rb"|(index) ([0-9a-f]{4,64}\.\.[0-9a-f]{4,64})(?: ([0-7]{6}))?"
    rb"|(?:dis)?similarity index [0-9]{1,3}%)$"
)
_BINARY_MARKER = re.compile(rb"Binary files .+ and .+ differ$")


@dataclass
class _Header:
    """Everything said about a file before its first hunk."""

    line: int
    git: bytes | None = None
    fields: dict[str, bytes] = field(default_factory=dict)
    old: bytes | None = None
    new: bytes | None = None
    sides: bool = False

    def mode(self, *names: str) -> int | None:
        return next((int(self.fields[name], 8) for name in names if name in self.fields), None)


def read_section(reader: LineReader) -> FilePatch:
    """The file that begins at the next line: at `diff --git`, or at `---` with `+++`. Raises PatchError."""
    header = _Header(line=reader.line)
    if reader.starts(b"diff --git "):
        header.git = reader.take()[len(b"diff --git ") :]
        _read_extended(reader, header)
    if at_plain_header(reader):
        header.sides = True
        header.old, header.new = (paths.header_name(reader.take()[4:]) for _ in range(2))
    binary, data = (False, None) if header.sides else _read_binary(reader)
    hunks = _read_hunks(reader) if header.sides else ()
    return _assemble(reader, header, hunks, binary=binary, data=data)


def _read_extended(reader: LineReader, header: _Header) -> None:
    while (line := reader.peek()) is not None and (match := _EXTENDED.match(line)):
        for name, value in zip(match.groups()[0:6:2], match.groups()[1:6:2], strict=True):
            if name is not None and header.fields.setdefault(name.decode(), value or b"") != value:
                raise reader.error(f"a second, different `{name.decode()}` line for one file")
        if match.group(7):
            header.fields.setdefault("index mode", match.group(7))
        reader.take()


def _read_binary(reader: LineReader) -> tuple[bool, BinaryData | None]:
    if reader.peek() == b"GIT binary patch":
        return True, read_binary(reader)
    if _BINARY_MARKER.match(reader.peek() or b""):
        reader.take()
        return True, None
    return False, None


def _read_hunks(reader: LineReader) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    while reader.starts(b"@@") and not reader.starts(b"@@@"):
        hunks.append(read_hunk(reader))
    return tuple(hunks)


def _assemble(
    reader: LineReader, header: _Header, hunks: tuple[Hunk, ...], *, binary: bool, data: BinaryData | None
) -> FilePatch:
    status = _status(reader, header)
    old, new = _names(reader, header, status)
    old_blob, _, new_blob = header.fields.get("index", b"").decode().partition("..")
    file = FilePatch(
        line=header.line,
        status=status,
        old=None if status == "add" else paths.checked_path(reader, old, header.line),
        new=None if status == "delete" else paths.checked_path(reader, new, header.line),
        added=None if binary else sum(hunk.added for hunk in hunks),
        removed=None if binary else sum(hunk.removed for hunk in hunks),
        binary=binary,
        old_mode=header.mode("old mode", "deleted file mode", "index mode") if status != "add" else None,
        new_mode=header.mode("new mode", "new file mode", "index mode") if status != "delete" else None,
        hunks=hunks,
        data=data,
        old_blob=old_blob or None,
        new_blob=new_blob or None,
    )
    _refuse_nonsense(reader, header, file)
    return file


def _status(reader: LineReader, header: _Header) -> Status:
    """What happens to the file, by its header lines; contradictions are refused."""
    null_old, null_new = (header.sides and side is None for side in (header.old, header.new))
    says: dict[Status, bool] = {
        "add": "new file mode" in header.fields or null_old,
        "delete": "deleted file mode" in header.fields or null_new,
        "rename": "rename from" in header.fields,
        "copy": "copy from" in header.fields,
    }
    said = [status for status, yes in says.items() if yes]
    if len(said) > 1:
        raise reader.error(f"one file cannot be both {said[0]} and {said[1]}", line=header.line)
    if header.sides and not (null_old or null_new) and said in (["add"], ["delete"]):
        raise reader.error(f"the header says {said[0]}, but neither side is /dev/null", line=header.line)
    return said[0] if said else "modify"


def _names(reader: LineReader, header: _Header, status: Status) -> tuple[bytes, bytes]:
    """Old and new name without prefix; all header lines must agree on them."""
    if status in ("rename", "copy"):
        old, new = (paths.plain_name(header.fields.get(f"{status} {end}", b"")) for end in ("from", "to"))
        if not new or old == new:
            raise reader.error(f"a {status} needs two different names", line=header.line)
    else:
        old = new = _one_name(reader, header)
    if header.sides and not (paths.same_file(header.old, old) and paths.same_file(header.new, new)):
        raise reader.error(f"the header lines do not agree on the name {shown(new)}", line=header.line)
    return old, new


def _one_name(reader: LineReader, header: _Header) -> bytes:
    name = None if header.git is None else paths.git_name(header.git)
    if name is None and header.sides:
        if header.old is not None and header.new is not None:
            name = paths.common_name(header.old, header.new)
        else:
            name = paths.lone_name(header.old or header.new or b"")
    if name is None:
        what = "the header names two different files" if header.sides else "the two names cannot be told apart"
        raise reader.error(what, line=header.line, hint="a rename needs `rename from` and `rename to` lines")
    return name


def _refuse_nonsense(reader: LineReader, header: _Header, file: FilePatch) -> None:
    """What reads as a file of a patch but says nothing, or more than its kind allows."""
    if header.sides and not file.hunks:
        raise reader.error("`---` and `+++` lines without a hunk", line=header.line)
    mode_changes = file.old_mode != file.new_mode
    if file.status == "modify" and not (file.hunks or file.binary or mode_changes):
        raise reader.error(
            f"{shown(file.path.encode('utf-8', 'replace'))} is named, but nothing of it changes", line=header.line
        )
    for hunk in file.hunks:
        if (file.status == "add" and hunk.old_lines) or (file.status == "delete" and hunk.new_lines):
            side = "before" if file.status == "add" else "after"
            raise reader.error(f"a file that the patch says to {file.status} has lines {side}", line=hunk.line)
