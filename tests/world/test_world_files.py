"""The file tools, called directly: bytes stay bytes, line endings are the file's own, nothing outside is touched."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crucible.world.toolbox import edits, globs, search, text
from crucible.world.toolbox.files import ToolError, Workspace
from crucible.world.toolbox.operations import checked

LINE_TEXT = st.text(alphabet="ab\n", max_size=30)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "workspace"
    root.mkdir()
    return Workspace(str(root), output_bytes=2000)


def put(workspace: Workspace, path: str, data: bytes) -> Path:
    file = Path(workspace.root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def test_reading_shows_lf_lines_and_says_nothing_more_when_all_is_shown(workspace: Workspace) -> None:
    put(workspace, "a.txt", b"one\r\ntwo\r\nthree")
    assert workspace.read("a.txt") == ("one\ntwo\nthree", 15)


def test_reading_a_part_says_which_lines_and_how_to_go_on(workspace: Workspace) -> None:
    put(workspace, "a.txt", b"one\ntwo\nthree\nfour\n")
    assert workspace.read("a.txt", 2, 2)[0] == "two\nthree\n[lines 2 to 3; 19 bytes in all: go on with offset=4]"
    assert workspace.read("a.txt", 4, 5)[0] == "four\n"
    assert workspace.read("a.txt", 9)[0] == "[the file has 4 lines; 19 bytes in all]"
    assert (put(workspace, "e", b""), workspace.read("e")[0])[1] == "[empty file]"


def test_reading_a_long_file_stops_at_a_line_within_the_limit(workspace: Workspace) -> None:
    put(workspace, "a.txt", b"".join(b"%06d\n" % n for n in range(1, 1001)))
    shown, size = workspace.read("a.txt")
    assert size == 7000
    assert shown.startswith("000001\n")
    assert shown.endswith("000285\n[lines 1 to 285; 7000 bytes in all: go on with offset=286]")
    assert workspace.read("a.txt", 286)[0].startswith("000286\n")


def test_a_line_longer_than_the_limit_is_cut_between_characters(workspace: Workspace) -> None:
    put(workspace, "a.txt", "é".encode() * 5000 + b"\nnext\n")
    shown, _ = workspace.read("a.txt")
    assert shown == "é" * 1000 + " [line cut]\n[lines 1 to 1; 10006 bytes in all: go on with offset=2]"
    assert workspace.read("a.txt", 2)[0] == "next\n"


def test_a_binary_file_is_named_as_one_with_its_size(workspace: Workspace) -> None:
    put(workspace, "a.bin", b"\x89PNG\0\1")
    assert workspace.read("a.bin") == ("[binary file, 6 bytes]", 6)


def test_text_that_is_not_utf_8_is_shown_with_replacement(workspace: Workspace) -> None:
    put(workspace, "a.txt", b"caf\xe9\n")
    assert workspace.read("a.txt")[0] == "caf\ufffd\n"


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "link", "folder/link/x", "dangling"])
def test_no_file_tool_reaches_outside_whatever_links_there_are(path: str, workspace: Workspace, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"victim")
    root = Path(workspace.root)
    (root / "link").symlink_to(victim)
    (root / "folder").mkdir()
    (root / "folder/link").symlink_to(tmp_path)
    (root / "dangling").symlink_to(tmp_path / "new")
    for attempt in (
        lambda: workspace.read(path),
        lambda: workspace.write(path, "x"),
        lambda: workspace.edited(path, "v", "x"),
        lambda: search.list_files(workspace, path),
        lambda: search.search(workspace, "v", path),
    ):
        with pytest.raises(ToolError, match="outside the workspace"):
            attempt()
    assert victim.read_bytes() == b"victim"
    assert not (tmp_path / "new").exists()


def test_a_link_that_stays_inside_is_followed(workspace: Workspace) -> None:
    file = put(workspace, "a/real.txt", b"x\n")
    Path(workspace.root, "link").symlink_to("a/real.txt")
    assert workspace.write("link", "y\n") == "wrote a/real.txt (2 bytes)"
    assert file.read_bytes() == b"y\n"
    assert Path(workspace.root, "link").is_symlink()


def test_a_file_with_another_name_is_not_written(workspace: Workspace, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"victim")
    Path(workspace.root, "hard").hardlink_to(victim)
    with pytest.raises(ToolError, match="hard: has 2 hard links"):
        workspace.write("hard", "x")
    assert victim.read_bytes() == b"victim"


def test_folders_and_pipes_are_refused_without_waiting(workspace: Workspace) -> None:
    os.mkfifo(Path(workspace.root, "pipe"))
    Path(workspace.root, "folder").mkdir()
    for path, said in (("pipe", "not a plain file"), ("folder", "is a folder")):
        with pytest.raises(ToolError, match=said):
            workspace.read(path)
        with pytest.raises(ToolError, match=said):
            workspace.write(path, "x")


def test_writing_makes_folders_and_keeps_modes(workspace: Workspace) -> None:
    assert workspace.write("new/deep/a.py", "x\n") == "created new/deep/a.py (2 bytes)"
    script = put(workspace, "run.sh", b"old")
    script.chmod(0o755)
    workspace.write("run.sh", "new")
    assert oct(0o755) == oct(script.stat().st_mode & 0o777)


def test_writing_over_a_crlf_file_keeps_crlf_and_over_a_mixed_one_does_not(workspace: Workspace) -> None:
    crlf, mixed = put(workspace, "crlf", b"a\r\nb\r\n"), put(workspace, "mixed", b"a\r\nb\n")
    workspace.write("crlf", "a\nc\n")
    workspace.write("mixed", "a\nc\n")
    assert crlf.read_bytes() == b"a\r\nc\r\n"
    assert mixed.read_bytes() == b"a\nc\n"


def test_half_a_character_is_refused_before_anything_is_written(workspace: Workspace) -> None:
    file = put(workspace, "a", b"old")
    with pytest.raises(ToolError, match=r"U\+D83D"):
        workspace.write("a", "\ud83d")
    assert file.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "b", "x", b"a\r\nx\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\r\nb", "a\r\nx", b"a\r\nx\r\nc\r\n"),
        (b"a\nb\r\nc\n", "a\nb\nc", "a\nb\nd", b"a\nb\r\nd\n"),
        (b"a\nb\r\nc\n", "b\n", "b\nnew\n", b"a\nb\r\nnew\nc\n"),
        (b"one\nlast", "last", "end", b"one\nend"),
        (b"one\r\nlast", "last", "last\nmore", b"one\r\nlast\r\nmore"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        (b"caf\xe9 = 1\n", "= 1", "= 2", b"caf\xe9 = 2\n"),
        (b"a\rb\r", "a\rb", "a\rc", b"a\rc\r"),
        (b"x\n\n\ny\n", "x\n\n\ny", "x\ny", b"x\ny\n"),
        (b"f(a)\n", "f(a)", "", b"\n"),
    ],
)
def test_an_edit_changes_what_differs_and_no_byte_beside_it(data: bytes, old: str, new: str, expected: bytes) -> None:
    assert (expected, 1) == edits.replace(data, old.encode(), new.encode())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("x", "y", "does not occur"),
        ("a", "b", "occurs 3 times"),
        ("", "b", "is empty"),
        ("a", "a", "are the same"),
        ("aa", "b", "occurs 2 times"),
    ],
)
def test_an_edit_that_is_not_unique_or_does_nothing_says_why(old: str, new: str, said: str) -> None:
    with pytest.raises(edits.EditError, match=said):
        edits.replace(b"aaa\n", old.encode(), new.encode())


@pytest.mark.slow
@pytest.mark.parametrize("end", [b"", b"\r\n"])
def test_a_large_file_is_edited_in_no_time_and_never_grows_beyond_what_is_edited(end: bytes) -> None:
    """Millions of occurrences, looked at one by one, once took longer than a call may and so voided the attempt."""
    data = b"a" * 30_000_000 + end
    assert (b"b" * 30_000_000 + end, 30_000_000) == edits.replace(data, b"a", b"b", everywhere=True)
    with pytest.raises(edits.EditError, match="occurs 30000000 times"):
        edits.replace(data, b"a", b"b")
    with pytest.raises(edits.EditError, match="would be larger"):
        edits.replace(data, b"a", b"bbb", everywhere=True)


def test_an_edit_of_all_replaces_every_occurrence_once() -> None:
    assert edits.replace(b"aaaa ab\r\n", b"aa", b"b", everywhere=True) == (b"bb ab\r\n", 2)


@given(st.text(alphabet="ab\r\n", max_size=40), LINE_TEXT, LINE_TEXT)
def test_an_edit_on_bytes_is_the_edit_on_the_lf_view(raw: str, old: str, new: str) -> None:
    data = raw.encode()
    view = data.replace(b"\r\n", b"\n")
    try:
        after, count = edits.replace(data, old.encode(), new.encode(), everywhere=True)
    except edits.EditError:
        assert not old or old == new or old.encode() not in view
        return
    assert view.count(old.encode()) == count
    if b"\r" not in view:
        assert view.replace(old.encode(), new.encode()) == after.replace(b"\r\n", b"\n")


@given(st.lists(st.sampled_from(["aa", "bb", "c", ""]), min_size=1, max_size=8), st.integers(0, 7), st.booleans())
def test_a_one_line_edit_of_a_crlf_file_changes_one_line(lines: list[str], at: int, ends: bool) -> None:
    at %= len(lines)
    before = [line.encode() for line in [*lines[:at], "needle", *lines[at:]]]
    data = b"\r\n".join(before) + b"\r\n" * ends
    after, _ = edits.replace(data, b"needle", b"thread")
    assert [b"thread" if line == b"needle" else line for line in data.split(b"\r\n")] == after.split(b"\r\n")


@given(st.binary(max_size=60), st.integers(1, 40))
def test_kept_output_never_exceeds_its_limit_and_says_its_true_size(data: bytes, limit: int) -> None:
    kept = text.Kept(limit)
    for at in range(0, len(data), 7):
        kept.add(data[at : at + 7])
    assert len(data) == kept.size
    if len(data) <= 2 * max(limit // 2, 1):
        assert text.decode(data) == kept.text()
    else:
        assert f" of {len(data)} bytes left out here" in kept.text()


@given(st.text(alphabet="aé€😀", min_size=30, max_size=80), st.integers(8, 40))
def test_cutting_output_never_splits_a_character(words: str, limit: int) -> None:
    kept = text.Kept(limit)
    kept.add(words.encode())
    assert "\ufffd" not in kept.text()


def test_listing_is_in_order_with_folders_marked_and_git_left_out(workspace: Workspace) -> None:
    for path in ("b.py", "a/z.py", "a/b/c.txt", ".git/HEAD", ".gitignore"):
        put(workspace, path, b"")
    Path(workspace.root, "a/loop").symlink_to("..")
    listed, _ = search.list_files(workspace)
    assert listed.split("\n") == [".gitignore", "a/", "a/b/", "a/b/c.txt", "a/loop", "a/z.py", "b.py"]
    assert search.list_files(workspace, "a", "*.txt")[0] == "a/b/c.txt"
    assert search.list_files(workspace, "b.py")[0] == "b.py"
    assert search.list_files(workspace, "a/b", "*.py")[0] == "[no files]"


def test_a_long_listing_says_how_many_there_are(workspace: Workspace) -> None:
    for n in range(500):
        put(workspace, f"file-{n:03}", b"")
    listed, size = search.list_files(workspace)
    assert listed.endswith("file-221\n[222 of 500 files shown]")
    assert size == 4500


def test_searching_finds_lines_with_their_numbers_and_skips_what_is_not_text(workspace: Workspace) -> None:
    put(workspace, "a.py", b"one\r\ndef two():\r\n")
    put(workspace, "b.bin", b"def\0")
    put(workspace, ".git/c", b"def")
    os.mkfifo(Path(workspace.root, "pipe"))
    assert search.search(workspace, r"^def \w+\(\):$")[0] == "a.py:2: def two():"
    assert search.search(workspace, "def", glob="*.txt")[0] == "[no matches]"
    assert search.search(workspace, "one", "a.py")[0] == "a.py:1: one"


def test_a_bad_pattern_is_an_error_that_quotes_it(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match=r"not a regular expression: '\('"):
        search.search(workspace, "(")
    with pytest.raises(ToolError, match="no such file or folder"):
        search.search(workspace, "a", "nowhere")


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.py", "a/b/c.py", True),
        ("a/*.py", "a/b/c.py", False),
        ("a/**/*.py", "a/c.py", True),
        ("a/**", "a/b/c", True),
        ("**/c.py", "c.py", True),
        ("*.{ts,tsx}", "x/y.tsx", True),
        ("[!a].py", "b.py", True),
        ("[!a].py", "a.py", False),
        ("?.py", "ab.py", False),
        ("./a.py", "a.py", True),
        ("a.py", "axpy", False),
        ("[", "[", True),
        ("{", "{", True),
    ],
)
def test_globs_mean_what_they_mean_elsewhere(glob: str, path: str, expected: bool) -> None:
    assert expected is bool(globs.matcher(glob).match(path))


@example("[[a]")
@example("[a--]")
@example("[a&&b]")
@given(st.text(alphabet="a*?[]!^-{},/.\\&|~", max_size=12))
def test_any_glob_is_a_pattern_or_refused_as_one(glob: str) -> None:
    try:
        globs.matcher(glob).match("a/b.c")
    except re.error:
        assert "[" in glob


def test_a_bad_glob_is_an_error_that_quotes_it(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match=r"not a glob: '\[z-a\]'"):
        search.list_files(workspace, glob="[z-a]")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("nope", {}, "no tool 'nope'; there are read_file"),
        ("read_file", {}, "read_file needs 'path'"),
        ("read_file", {"path": 1}, "'path' is text, got 1"),
        ("read_file", {"path": "a", "offset": True}, "'offset' is a whole number, got True"),
        ("read_file", {"path": "a", "lines": 2}, "no argument 'lines'; it takes path, offset, limit"),
        ("bash", {"command": "true", "timeout": "1"}, "'timeout' is a number, got '1'"),
        ("edit_file", {"path": "a", "old": "b", "new": "c", "all": 1}, "'all' is true or false, got 1"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(tool: str, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ToolError, match=said):
        checked(tool, arguments)


def test_null_is_as_good_as_absent() -> None:
    assert checked("read_file", {"path": "a", "offset": None}) == {"path": "a"}
