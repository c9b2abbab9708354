"""What is read as a patch, and what is refused with its line instead of being guessed at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crucible.errors import PatchError
from crucible.scenario.patch import FilePatch, parse_patch
from tests.beside import BESIDE, or_absent

PATCHES = BESIDE / "patches"
MANIFEST = PATCHES / "manifest.json"
ENTRIES: list[dict[str, Any]] = json.loads(MANIFEST.read_text()) if MANIFEST.is_file() else []
BARE = "seed-bare-hunk.diff"

HUNK = "@@ -1,2 +1,2 @@\n x\n-a\n+b\n"
PLAIN = "--- a/f.py\n+++ b/f.py\n"


def parse(text: str | bytes) -> tuple[FilePatch, ...]:
    return parse_patch(text.encode() if isinstance(text, str) else text, file="fix.diff").files


def only(text: str | bytes) -> FilePatch:
    (file,) = parse(text)
    return file


def refused(text: str | bytes) -> PatchError:
    with pytest.raises(PatchError) as caught:
        parse(text)
    assert caught.value.problem.file == "fix.diff"
    return caught.value


@pytest.mark.parametrize("entry", or_absent(ENTRIES, "patches"), ids=lambda entry: str(entry["file"]))
def test_awkward_patches_are_read_as_git_reads_them_or_refused(entry: dict[str, Any]) -> None:
    """The one exception is a hunk header without numbers, which git refuses and a reference may have."""
    data = (PATCHES / entry["file"]).read_bytes()
    if entry["verdict"] == "reject" and entry["file"] != BARE:
        refused(data)
        return
    expected = [("modify", "store/pricing.py", "store/pricing.py", 1, 1, False)] if entry["file"] == BARE else []
    keys = ("status", "old", "new", "added", "removed", "binary")
    expected += [tuple(one[key] for key in keys) for one in entry["expect"]]
    assert expected == [(f.status, f.old, f.new, f.added, f.removed, f.binary) for f in parse(data)]


def test_no_bytes_are_no_change_and_any_other_text_without_one_is_refused() -> None:
    assert parse("") == ()
    for text in ("\n", " ", "hello\n", "\0", "diff --git a/x b/x\n", "--- a/x\n+++ b/x\n", "index 123..456\n"):
        refused(text)


NAMES = [
    ("diff --git a/x b/x\n--- a/x\n+++ b/x\n", "x"),
    ("diff --git x x\n--- x\n+++ x\n", "x"),
    ("diff --git a/x a/x\n--- a/x\n+++ a/x\n", "a/x"),
    ("diff --git i/d/x w/d/x\n--- i/d/x\n+++ w/d/x\n", "d/x"),
    ("diff --git old/x new/x\n--- old/x\n+++ new/x\n", "x"),
    ("diff --git a/b/x b/b/x\n--- a/b/x\n+++ b/b/x\n", "b/x"),
    ("diff --git a/x b/x b/x b/x\n--- a/x b/x\t\n+++ b/x b/x\t\n", "x b/x"),
    (
        'diff --git "a/t\\303\\251\\"\\t" "b/t\\303\\251\\"\\t"\n--- "a/t\\303\\251\\"\\t"\n+++ "b/t\\303\\251\\"\\t"\n',
        'té"\t',
    ),
    ('diff --git "a/\\377" "b/\\377"\n--- "a/\\377"\n+++ "b/\\377"\n', "\udcff"),
    ("--- a/x\t2024-01-01 00:00:00 +0000\n+++ b/x\t2024-01-02 00:00:00 +0000\n", "x"),
    ("--- x\n+++ x\n", "x"),
    ("--- before/d/x\n+++ after/d/x\n", "d/x"),
]


@pytest.mark.parametrize(("header", "name"), NAMES)
def test_names_lose_quotes_and_prefixes_and_nothing_else(header: str, name: str) -> None:
    assert (name, name) == (only(header + HUNK).old, only(header + HUNK).new)


def test_a_file_with_only_one_side_loses_a_known_prefix() -> None:
    added = only("--- /dev/null\n+++ b/d/x\n@@ -0,0 +1 @@\n+a\n")
    assert ("add", None, "d/x") == (added.status, added.old, added.new)
    deleted = only("--- d/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")
    assert ("delete", "d/x", None) == (deleted.status, deleted.old, deleted.new)


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "d//x", "./x", "d/", "x\0y", ".."])
def test_a_path_that_leaves_the_workspace_or_is_none_is_refused(name: str) -> None:
    refused(f"diff --git {name} {name}\nnew file mode 100644\n")
    refused(f"--- a/{name}\n+++ b/{name}\n{HUNK}")


def test_renames_copies_modes_and_blobs_are_read_from_the_headers() -> None:
    text = "diff --git a/o b/n\nold mode 100644\nnew mode 100755\nsimilarity index 90%\nrename from o\nrename to n\n"
    file = only(text + "index 1234567..89abcde\n--- a/o\n+++ b/n\n" + HUNK)
    assert ("rename", "o", "n") == (file.status, file.old, file.new)
    assert (0o100644, 0o100755) == (file.old_mode, file.new_mode)
    assert ("1234567", "89abcde") == (file.old_blob, file.new_blob)
    quoted = only('diff --git a/o "b/\\303\\251"\nsimilarity index 100%\ncopy from o\ncopy to "\\303\\251"\n')
    assert ("copy", "o", "é") == (quoted.status, quoted.old, quoted.new)


CONTRADICTIONS = [
    "diff --git a/x b/x\nnew file mode 100644\ndeleted file mode 100644\n",
    "diff --git a/x b/x\nnew file mode 100644\nnew file mode 100755\n",
    "diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ b/x\n" + HUNK,
    "diff --git a/x b/x\n--- a/y\n+++ b/y\n" + HUNK,
    "diff --git a/x b/x\nrename from x\nrename to x\n",
    "diff --git a/x b/y\nrename from x\n",
    "diff --git a/x b/y\n--- a/x\n+++ b/y\n" + HUNK,
    "--- a/x\n+++ b/y\n" + HUNK,
    "--- /dev/null\n+++ /dev/null\n" + HUNK,
    "--- /dev/null\n+++ b/x\n" + HUNK,
    "--- a/x\n+++ /dev/null\n" + HUNK,
    "diff --git a/x b/x\nold mode 100644\nnew mode 100644\n",
]


@pytest.mark.parametrize("text", CONTRADICTIONS)
def test_headers_that_contradict_one_another_or_change_nothing_are_refused(text: str) -> None:
    refused(text)


FOREIGN = [
    ("\x1b[1mdiff --git a/x b/x\x1b[m\n", "coloured"),
    ("diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,2 @@@\n", "combined"),
    ("diff --combined x\n", "combined"),
    (PLAIN + "@@@ -1,2 -1,2 +1,2 @@@\n  x\n", "without a hunk"),
    ("*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n", "apply_patch"),
    ("***************\n*** 1,2 ****\n", "context diff"),
    ("*** a/x\n--- b/x\n***************\n", "follow one another"),
    ("Only in a: x\n", "one side only"),
    ("Binary files a/x and b/x differ\n", "binary difference"),
    ("@@ -1 +1 @@\n-a\n+b\n", "without a file header"),
    ("+++ b/x\n" + HUNK, "follow one another"),
]


@pytest.mark.parametrize(("text", "what"), FOREIGN)
def test_other_formats_are_refused_by_name(text: str, what: str) -> None:
    assert what in refused(text).message


HUNKS = [
    ("@@ -1,3 +1,3 @@\n x\n-a\n+b\n", 3, "counts 3 lines before and 3 after, but 2 and 2"),
    ("@@ -1 +1 @@\n-a\n+b\n+c\n", 6, "counts too few lines"),
    ("@@ -1,1 +1,2 @@\n-a\n-b\n+c\n", 3, "counts 1 lines before"),
    ("@@ -1,2 +1,2 @@\n x\n y\n", 3, "changes nothing"),
    ("@@ -0,0 +0,0 @@\n", 3, "changes nothing"),
    ("@@ -1,2 +1,2\n x\n-a\n+b\n", 3, "no hunk header"),
    ("@@ def f():\n-a\n+b\n", 3, "no hunk header"),
    ("@@ -1,2 +1,2 @@\n x\nfoo\n+b\n", 5, "begins with neither"),
    ("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n+c\n", 7, "counts too few"),
    ("@@ -1,2 +1 @@\n-a\n\\ No newline at end of file\n-b\n+c\n", 6, "marked as the file's last"),
    ("@@ -1 +1 @@\n-a\n+b\nthe end\n", 6, "no part of a patch"),
]


@pytest.mark.parametrize(("hunk", "line", "what"), HUNKS)
def test_a_hunk_that_is_wrong_is_refused_at_its_line(hunk: str, line: int, what: str) -> None:
    error = refused(PLAIN + hunk)
    assert what in error.message
    assert line == error.problem.line


def test_word_diff_is_recognised() -> None:
    error = refused(PLAIN + "@@ -1,2 +1,2 @@\ndef f():\n    return [-a-]{+b+}\n")
    assert "word-diff" in (error.hint or "")


def test_lines_that_look_like_headers_are_content_inside_a_hunk() -> None:
    body = "--- a/x\n+++ b/x\n-@@ -1 +1 @@\n+diff --git a/x b/x\n"
    file = only(f"--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n{body}")
    assert tuple(line.encode() for line in body.splitlines()) == file.hunks[0].lines


def test_lines_end_at_the_line_feed_alone() -> None:
    content = "-a\x0bb\x0cc\x1cd\x85e\u2028f\rg".encode()
    file = only(PLAIN.encode() + b"@@ -1 +1 @@\n" + content + b"\n+h\n")
    assert (content, b"+h") == file.hunks[0].lines


def test_a_text_stored_with_crlf_throughout_loses_it_and_content_with_cr_keeps_it() -> None:
    assert (b" x", b"-a", b"+b") == only((PLAIN + HUNK).replace("\n", "\r\n")).hunks[0].lines
    content = "@@ -1,2 +1,2 @@\n x\r\n-a\r\n+b\r\n"
    assert (b" x\r", b"-a\r", b"+b\r") == only(PLAIN + content).hunks[0].lines


def test_a_byte_order_mark_is_no_part_of_the_patch() -> None:
    assert "y" == only("\ufeffdiff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n").new


def test_an_empty_line_in_a_hunk_is_an_empty_context_line() -> None:
    assert (b" x", b" ", b"+b") == only(PLAIN + "@@ -1,2 +1,3 @@\n x\n\n+b\n").hunks[0].lines


def test_the_last_line_needs_no_line_feed_and_the_marker_is_kept() -> None:
    hunk = only(PLAIN + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b").hunks[0]
    assert (True, False) == (hunk.old_no_newline, hunk.new_no_newline)
    assert ([b"a"], [b"b\n"]) == (hunk.old, hunk.new)


def test_bare_hunks_end_at_the_next_header_and_keep_their_lines() -> None:
    text = PLAIN + "@@\n-a\n+b\n@@ ... @@\n x\n+y\n\n--- a/g\n+++ b/g\n@@ @@\n---- q\n+p\n\n"
    first, second = parse(text)
    assert [(True, 3, 1, 1), (True, 6, 1, 2)] == [(h.bare, h.line, h.old_lines, h.new_lines) for h in first.hunks]
    assert (b"---- q", b"+p") == second.hunks[0].lines


def test_a_commit_message_may_come_before_and_a_signature_after() -> None:
    mail = "From 1234 Mon Sep 17\nSubject: [PATCH] x\n\n- a list\n---\n f.py | 2 +-\n\n"
    assert "f.py" == only(mail + "diff --git a/f.py b/f.py\n" + PLAIN + HUNK + "-- \n2.39.1\n\n").path
    several = mail + PLAIN + HUNK + "-- \n2.39.1\n\n" + mail + "--- a/g\n+++ b/g\n" + HUNK
    assert ["f.py", "g"] == [file.path for file in parse(several)]
    assert 2 == len(parse("Index: f.py\n====\n" + PLAIN + HUNK + "diff -ru a/g b/g\n--- a/g\n+++ b/g\n" + HUNK))


def test_lines_are_counted_from_where_the_patch_stands_in_its_file() -> None:
    patch = parse_patch((PLAIN + HUNK).encode(), file="REFERENCE_FIX.md", first_line=11)
    assert (11, 13) == (patch.files[0].line, patch.files[0].hunks[0].line)
    with pytest.raises(PatchError, match=r"^REFERENCE_FIX.md:13: this hunk changes nothing"):
        parse_patch((PLAIN + "@@ -1 +1 @@\n x\n").encode(), file="REFERENCE_FIX.md", first_line=11)
