"""A patch applies where its lines say or can only be meant; the file keeps its line ends."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible.errors import PatchError
from crucible.scenario.patch import apply_patch, parse_patch, patched_modes

NO_NEWLINE = "\\ No newline at end of file\n"
HEAD = "--- a/f\n+++ b/f\n"


def apply(text: str | bytes, **files: bytes) -> dict[str, bytes | None]:
    data = text.encode() if isinstance(text, str) else text
    return apply_patch(parse_patch(data, file="fix.md", first_line=5), files.get)


def refused(text: str, **files: bytes) -> PatchError:
    with pytest.raises(PatchError) as caught:
        apply(text, **files)
    return caught.value


def test_a_hunk_applies_at_its_stated_line_even_where_others_would_do() -> None:
    assert {"f": b"a\nx\na\ny\n"} == apply(HEAD + "@@ -4 +4 @@\n-b\n+y\n", f=b"a\nx\na\nb\n")
    assert {"f": b"b\nc\nb\n"} == apply(HEAD + "@@ -2 +2 @@\n-b\n+c\n", f=b"b\nb\nb\n")


def test_a_hunk_that_is_elsewhere_applies_at_its_only_place() -> None:
    assert {"f": b"1\n2\n3\na\nc\n"} == apply(HEAD + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", f=b"1\n2\n3\na\nb\n")


def test_a_bare_hunk_is_found_by_its_lines() -> None:
    assert {"f": b"x\nc\nz\n"} == apply(HEAD + "@@\n-b\n+c\n", f=b"x\nb\nz\n")
    assert {"f": b"b\nx\nc\n"} == apply(HEAD + "@@\n x\n-b\n+c\n", f=b"b\nx\nb\n")
    assert {"f": b"2\nb\n1\n"} == apply(HEAD + "@@\n-c\n+1\n@@\n-a\n+2\n", f=b"a\nb\nc\n")


def test_several_places_are_an_error_that_names_them() -> None:
    error = refused(HEAD + "@@\n-b\n+c\n", f=b"b\nx\nb\nb\n")
    assert error.message == "fix.md:7: this hunk fits f in 3 places: lines 1, 3, 4"


def test_no_place_is_an_error_that_names_the_missing_line() -> None:
    error = refused(HEAD + "@@\n x\n-b\n+c\n", f=b"x\nd\n")
    assert error.message == "fix.md:7: this hunk fits f nowhere"
    assert error.hint == "the file has no line 'b'"
    assert "not together" in (refused(HEAD + "@@\n x\n-b\n+c\n", f=b"b\nx\n").hint or "")
    assert "after the change already" in (refused(HEAD + "@@\n-b\n+c\n", f=b"c\n").hint or "")


def test_there_is_no_fuzz() -> None:
    refused(HEAD + "@@ -1,2 +1,2 @@\n x \n-b\n+c\n", f=b"x\nb\n")
    refused(HEAD + "@@ -1 +1 @@\n-b\n\\ No newline at end of file\n+c\n", f=b"b\n")
    refused(HEAD + "@@ -1 +1 @@\n-b\n+c\n", f=b"b")


def test_hunks_of_one_file_are_placed_in_the_file_as_it_was() -> None:
    """An earlier hunk may bring in what a later one looks for."""
    assert {"f": b"b\nb\nc\n"} == apply(HEAD + "@@\n-a\n+b\n+b\n@@\n-b\n+c\n", f=b"a\nb\n")
    error = refused(HEAD + "@@\n-a\n+1\n@@\n-a\n+2\n", f=b"a\n")
    assert error.message == "fix.md:10: two hunks of f change the same lines"


def test_a_hunk_without_old_lines_goes_where_its_numbers_say() -> None:
    assert {"f": b"a\nx\nb\n"} == apply(HEAD + "@@ -1,0 +2 @@\n+x\n", f=b"a\nb\n")
    assert {"f": b"x\na\n"} == apply(HEAD + "@@ -0,0 +1 @@\n+x\n", f=b"a\n")
    assert "no place in f: there is no line 9" in refused(HEAD + "@@ -9,0 +9 @@\n+x\n", f=b"a\n").message
    assert "needs a context or removed line" in refused(HEAD + "@@\n+x\n", f=b"a\n").message
    assert {"f": b"x\n"} == apply(HEAD + "@@\n+x\n", f=b"")


def test_a_patch_with_line_feeds_applies_to_a_crlf_file_and_keeps_its_ends() -> None:
    assert {"f": b"x\r\nc\r\nd\r\n"} == apply(HEAD + "@@ -1,2 +1,3 @@\n x\n-b\n+c\n+d\n", f=b"x\r\nb\r\n")
    assert {"f": b"x\r\nc"} == apply(
        HEAD + "@@\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", f=b"x\r\nb"
    )


def test_a_file_of_mixed_line_ends_needs_the_exact_bytes() -> None:
    refused(HEAD + "@@\n-b\n+c\n", f=b"x\nb\r\n")
    assert {"f": b"x\nb\n"} == apply(HEAD.encode() + b"@@\n-b\r\n+b\n", f=b"x\nb\r\n")
    assert {"f": b"x\ny\n"} == apply(HEAD.encode() + b"@@ -1,2 +1,2 @@\n-x\r\n-b\r\n+x\n+y\n", f=b"x\r\nb\r\n")


def test_the_newline_at_the_end_comes_and_goes_only_at_the_end() -> None:
    assert {"f": b"a\nb"} == apply(HEAD + "@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n", f=b"a\nb\n")
    assert {"f": b"a\nb\n"} == apply(HEAD + "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n", f=b"a\nb")
    refused(HEAD + "@@ -1 +1 @@\n-a\n+c\n\\ No newline at end of file\n", f=b"a\nb\n")
    assert "no newline at its end" in refused(HEAD + "@@ -1,0 +2 @@\n+c\n", f=b"a").message


def test_added_deleted_renamed_and_copied_files() -> None:
    assert {"f": b"a\n"} == apply("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n")
    assert {"f": None} == apply("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", f=b"a\n")
    rename = (
        "diff --git a/f b/g\nsimilarity index 50%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert {"f": None, "g": b"b\n"} == apply(rename, f=b"a\n")
    assert {"g": b"a\n"} == apply("diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n", f=b"a\n")


def test_a_file_that_is_missing_in_the_way_or_longer_is_an_error() -> None:
    assert "there is no file f" in refused(HEAD + "@@\n-a\n+b\n").message
    assert "f is there already" in refused("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n", f=b"").message
    assert "more than the lines" in refused("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", f=b"a\nb\n").message


def test_a_later_section_sees_what_an_earlier_one_made() -> None:
    """So does a file that becomes a link: deleted, then added."""
    assert {"f": b"c\n"} == apply(HEAD + "@@\n-a\n+b\n" + HEAD + "@@\n-b\n+c\n", f=b"a\n")
    deleted = "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    link = "diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+to\n" + NO_NEWLINE
    assert {"f": b"to"} == apply(deleted + link, f=b"a\n")
    assert {"f": 0o120000} == patched_modes(parse_patch((deleted + link).encode()))


def test_modes_are_given_where_they_change() -> None:
    patch = parse_patch(b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n")
    assert {"f": 0o100755} == patched_modes(patch)
    assert {"f": b"a"} == apply_patch(patch, {"f": b"a"}.get)
    assert {} == patched_modes(parse_patch((HEAD + "@@\n-a\n+b\n").encode()))


def test_a_binary_marker_holds_no_data_to_apply() -> None:
    marker = "diff --git a/f b/f\nindex 1234567..89abcde 100644\nBinary files a/f and b/f differ\n"
    error = refused(marker, f=b"\0")
    assert "holds no data" in error.message
    assert "--binary" in (error.hint or "")


def git(folder: Path, *arguments: str) -> bytes:
    command = ["git", "-c", "core.autocrlf=false", "-c", "core.quotePath=true", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout


def diff_of(folder: Path, before: dict[str, bytes], after: dict[str, bytes], *options: str) -> bytes:
    """git's diff of two small trees."""
    git(folder, "init", "-q", ".")
    trees = []
    for files in (before, after):
        for old in [path for path in folder.iterdir() if path.name != ".git"]:
            old.unlink()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        git(folder, "add", "-A", "-f")
        trees.append(git(folder, "write-tree").decode().strip())
    return git(folder, "diff", "--no-color", "--no-ext-diff", "--full-index", *options, *trees)


rows = [b"a", b"b", b"c", b"-- d", b"++ e", b"", b"@@", b"f\rg", b"h\x0c\xe2\x80\xa8", b"\xff"]
lines = st.lists(st.sampled_from(rows), max_size=12)
contents = st.builds(lambda rows, end: b"\n".join(rows) + end, lines, st.sampled_from([b"", b"\n", b"\n\n"]))
names = st.sampled_from(["f", "x b", "té.py", 'q"u', "-- z", "tab\tbed"])
trees = st.dictionaries(names, contents, max_size=3)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(before=trees, after=trees, context=st.sampled_from(["-U0", "-U1", "-U3"]))
def test_what_git_writes_applies_to_what_git_made_of_it(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, bytes], after: dict[str, bytes], context: str
) -> None:
    """git and this reader agree on any two trees."""
    data = diff_of(tmp_path_factory.mktemp("tree"), before, after, context, "--text", "-M")
    made = apply_patch(parse_patch(data), before.get)
    result = {**before, **made}
    assert after == {path: text for path, text in result.items() if text is not None}


def test_binary_literals_and_deltas_apply_and_notice_another_file(tmp_path: Path) -> None:
    old = bytes(range(256)) * 40
    new = old[:3000] + b"inserted" + old[3100:] + old[:500]
    data = diff_of(tmp_path, {"f": old, "g": b"\0a"}, {"f": new, "g": b"\0b"}, "--binary")
    assert b"\ndelta " in data
    assert b"\nliteral " in data
    patch = parse_patch(data)
    assert {"f": new, "g": b"\0b"} == apply_patch(patch, {"f": old, "g": b"\0a"}.get)
    with pytest.raises(PatchError, match="not the binary file"):
        apply_patch(patch, {"f": old + b"x", "g": b"\0a"}.get)


@pytest.mark.parametrize(
    ("old", "new"), [("literal 2", "literal 3"), ("literal 2", "literal 999999999"), ("IcmZ", "Icm!")]
)
def test_broken_binary_data_is_refused(tmp_path: Path, old: str, new: str) -> None:
    data = diff_of(tmp_path, {"g": b"\0a"}, {"g": b"\0b"}, "--binary")
    with pytest.raises(PatchError):
        parse_patch(data.replace(old.encode(), new.encode()) if old.encode() in data else data[:-12])


def test_git_calls_the_modes_it_writes_what_stat_calls_them() -> None:
    assert stat.S_ISLNK(0o120000)
    assert stat.S_ISREG(0o100755)
