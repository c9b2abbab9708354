"""The diff for people, proved with the real `git apply`."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crucible.world.diff import DiffText, diff_bytes, quoted, render_diff
from crucible.world.tree import contents, walk
from crucible.world.types import Change, ChangeStatus, FileChange, FileState

GIT = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
TEXT = st.lists(
    st.sampled_from([b"a", b"b", b"", b"\r", b"a\r", b"\xff\xfe", b"@@ -1 +1 @@", b"-- x", b"+y"]), max_size=12
)


def state(data: bytes, mode: int = 0o100644) -> FileState:
    kind = "symlink" if mode == 0o120000 else "file"
    return FileState(kind, mode, len(data), hashlib.sha256(data).hexdigest(), data)


def modified(before: bytes, after: bytes, path: str = "f") -> Change:
    return Change((FileChange(path, "modify", state(before), state(after)),))


def place(folder: Path, path: str, one: FileState | None) -> None:
    file = Path(os.fsdecode(os.fsencode(folder) + b"/" + path.encode("utf-8", "surrogateescape")))
    if one is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    if one.kind == "symlink":
        file.symlink_to(os.fsdecode(one.data or b""))
    else:
        file.write_bytes(one.data or b"")
        file.chmod(one.mode & 0o777)


def found(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Every file below a folder: what it is, and its bytes."""
    entries = [entry for entry in walk(folder) if not entry.is_folder]
    return {entry.path: (oct(entry.mode), b"".join(contents(entry))) for entry in entries}


def applied(change: Change, folder: Path) -> None:
    """What `git apply` makes of our diff has to be what the change says."""
    (before := folder / "before").mkdir()
    (after := folder / "after").mkdir()
    for file in change.files:
        place(before, file.old_path or file.path, file.before)
        place(after, file.path, file.after)
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"], cwd=before, env=GIT, input=diff_bytes(change), capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert found(after) == found(before)


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(TEXT, TEXT, st.booleans(), st.booleans())
def test_git_apply_gives_the_file_after_whatever_the_lines_are(
    tmp_path_factory: pytest.TempPathFactory, old: list[bytes], new: list[bytes], old_ends: bool, new_ends: bool
) -> None:
    before = b"\n".join(old) + b"\n" * old_ends
    after = b"\n".join(new) + b"\n" * new_ends
    if before != after:
        applied(modified(before, after), tmp_path_factory.mktemp("apply"))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_git_apply_gives_the_file_after_for_any_bytes_that_are_text(
    tmp_path_factory: pytest.TempPathFactory, before: bytes, after: bytes
) -> None:
    before, after = before.replace(b"\0", b"0"), after.replace(b"\0", b"0")
    if before != after:
        applied(modified(before, after), tmp_path_factory.mktemp("apply"))


def test_git_apply_takes_a_change_of_many_kinds_at_once(tmp_path: Path) -> None:
    numbers = b"".join(b"%d\n" % n for n in range(40))
    files = (
        FileChange("added/empty", "add", None, state(b"")),
        FileChange("added/with space", "add", None, state(b"x\n")),
        FileChange('caf\u00e9\t"q\\', "modify", state(b"a\n"), state(b"b\n")),
        FileChange("deleted", "delete", state(b"gone\n"), None),
        FileChange("deleted-empty", "delete", state(b""), None),
        FileChange(
            "far", "modify", state(numbers), state(numbers.replace(b"\n3\n", b"\nx\n").replace(b"\n30\n", b"\n"))
        ),
        FileChange("link", "modify", state(b"old", 0o120000), state(b"new", 0o120000)),
        FileChange("mode", "modify", state(b"same\n"), state(b"same\n", 0o100755)),
        FileChange("mode-and-text", "modify", state(b"a\n"), state(b"b\n", 0o100755)),
        FileChange("new-name", "rename", state(b"r\n"), state(b"r\n", 0o100755), "old name"),
        FileChange("now-a-file", "modify", state(b"target", 0o120000), state(b"text\n")),
        FileChange("now-a-link", "modify", state(b"text\n"), state(b"target", 0o120000)),
        FileChange("not-text-\udce9", "modify", state(b"a"), state(b"b")),
    )
    applied(Change(files), tmp_path)


def test_the_diff_is_gits_own_form() -> None:
    change = Change(
        (
            FileChange("a b.py", "modify", state(b"one\ntwo"), state(b"one\n2\n")),
            FileChange("moved", "rename", state(b"x\n"), state(b"x\n"), "was"),
            FileChange("pic", "add", None, state(b"\0\1", 0o100755)),
        )
    )
    expected = (
        "diff --git a/a b.py b/a b.py\n"
        "--- a/a b.py\t\n"
        "+++ b/a b.py\t\n"
        "@@ -1,2 +1,2 @@\n"
        " one\n"
        "-two\n"
        "\\ No newline at end of file\n"
        "+2\n"
        "diff --git a/was b/moved\n"
        "similarity index 100%\n"
        "rename from was\n"
        "rename to moved\n"
        "diff --git a/pic b/pic\n"
        "new file mode 100755\n"
        "Binary files /dev/null and b/pic differ\n"
    )
    assert DiffText(expected, len(expected), cut=False) == render_diff(change)


def test_crlf_is_kept_and_lines_end_at_lf_only() -> None:
    text = render_diff(modified(b"a\r\nb\x0cb\x85\r\n", b"a\r\nc\x0cb\x85\r\n")).text
    assert "\n a\r\n-b\x0cb\ufffd\r\n+c\x0cb\ufffd\r\n" in text


def test_a_file_whose_bytes_are_not_held_is_named_and_not_shown() -> None:
    big = FileState("file", 0o100644, 10**9, "f" * 64, None)
    change = Change((FileChange("big", "modify", state(b"x"), big), FileChange("new", "add", None, big)))
    assert "Binary files a/big and b/big differ\n" in render_diff(change).text
    assert "Binary files /dev/null and b/new differ\n" in render_diff(change).text


@given(st.integers(0, 400))
def test_a_cut_diff_is_whole_lines_within_the_cap_and_knows_its_true_size(cap: int) -> None:
    change = modified(b"a\n" * 20, b"b\n" * 20)
    whole = diff_bytes(change).decode()
    shown = render_diff(change, cap=cap)
    assert len(whole) == shown.true_size
    assert (len(whole) > cap) is shown.cut
    assert len(shown.text) <= cap or not shown.cut
    assert whole.startswith(shown.text)
    assert shown.text == "" or shown.text.endswith("\n")


def test_modes_that_are_not_gits_are_shown_as_gits(tmp_path: Path) -> None:
    applied(Change((FileChange("a", "modify", state(b"1\n", 0o644), state(b"2\n", 0o755)),)), tmp_path)


def test_files_of_equal_lines_without_end_are_one_block_for_another_and_it_says_so(tmp_path: Path) -> None:
    before, after = b"start\n" + b"x\n\n" * 4000 + b"end\n", b"begin\n" + b"\nx\n" * 4000 + b"end\n"
    change = modified(before, after)
    assert render_diff(change).coarse == ("f",)
    applied(change, tmp_path)


def test_a_one_line_change_of_a_large_file_is_one_small_hunk() -> None:
    lines = [b"line %d\n" % n for n in range(200_000)]
    after = [*lines]
    after[100_000] = b"changed\n"
    shown = render_diff(modified(b"".join(lines), b"".join(after)))
    assert "@@ -99998,7 +99998,7 @@" in shown.text
    assert shown.true_size < 300


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (b"plain name-1.py", b"plain name-1.py"),
        (b'q"uote', b'"q\\"uote"'),
        (b"back\\slash", b'"back\\\\slash"'),
        ("caf\u00e9".encode(), b'"caf\\303\\251"'),
        (b"tab\tnl\nbel\a", b'"tab\\tnl\\nbel\\a"'),
        (b"\x01\x7f", b'"\\001\\177"'),
    ],
)
def test_names_are_quoted_as_git_quotes_them(name: bytes, expected: bytes) -> None:
    assert expected == quoted(name)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [lambda i: i % 2, lambda i: i % 30, lambda i: (i * i) % 97, lambda i: i % 1000])
def test_comparing_lines_ends_for_awkward_files(shape) -> None:
    before = b"".join(b"%d\n" % shape(i) for i in range(3000))
    after = b"".join(b"%d\n" % shape(i * 7 + 3) for i in range(3000))
    assert render_diff(modified(before, after)).true_size > 0


def test_an_empty_change_is_an_empty_diff() -> None:
    assert DiffText("", 0, cut=False) == render_diff(Change())


def test_every_status_has_a_section() -> None:
    statuses: tuple[ChangeStatus, ...] = ("add", "delete", "modify", "rename")
    one = state(b"x\n")
    sides = {"add": (None, one), "delete": (one, None), "modify": (one, state(b"y\n")), "rename": (one, one)}
    for status in statuses:
        change = Change((FileChange("new", status, *sides[status], "old" if status == "rename" else None),))
        assert render_diff(change).text.startswith("diff --git a/")
