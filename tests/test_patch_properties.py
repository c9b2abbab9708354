"""Whatever text comes in: a patch with at least one file, or a PatchError with a line that exists."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crucible.errors import PatchError
from crucible.scenario.patch import Patch, apply_patch, parse_patch
from crucible.scenario.patch_block import Block, find_block

LINES = """diff --git a/x b/x|--- a/x|+++ b/x|--- /dev/null|+++ /dev/null|@@ -1 +1 @@|@@ -1,2 +1 @@|@@ -0,0 +1 @@|@@|@@@
-a|+b| c||\\ No newline at end of file|new file mode 100644|deleted file mode 100644|old mode 100644|new mode 100755
rename from x|rename to y|copy from x|copy to y|similarity index 90%|index 1234567..89abcde 100644|GIT binary patch
literal 2|IcmZ|delta 3|Binary files a/x and b/x differ|-- |2.39.1|hello|diff --git "a/\\303\\251" b/x|-- x|++ x"""
WORDS = [line.encode() for row in LINES.split("\n") for line in row.split("|")] + [b"\xff", b"\0", b"\r", b"\x1b[1m"]
texts = st.one_of(
    st.binary(max_size=200),
    st.lists(st.sampled_from(WORDS), max_size=14).map(b"\n".join),
    st.lists(st.sampled_from(WORDS), max_size=14).map(b"\r\n".join),
)


def parsed(data: bytes) -> tuple[Patch | None, int]:
    """The patch, or the line of the error."""
    try:
        return parse_patch(data, file="x", first_line=3), 0
    except PatchError as error:
        return None, error.problem.line


def found(data: bytes) -> tuple[Block | None, int]:
    try:
        return find_block(data, "x.md"), 0
    except PatchError as error:
        return None, error.problem.line


@given(texts)
def test_a_text_is_a_change_or_an_error_with_a_line_of_it(data: bytes) -> None:
    patch, line = parsed(data)
    if patch is None:
        assert 3 <= line <= 3 + data.count(b"\n")
        return
    assert bool(data) == bool(patch.files)
    for file in patch.files:
        assert file.old is not None or file.new is not None
        assert file.binary or file.hunks or file.status != "modify" or file.old_mode != file.new_mode


@given(texts, st.dictionaries(st.sampled_from(["x", "y", "é"]), st.sampled_from([b"", b"a\n", b"a\nc\n", b"a\r\n"])))
def test_applying_answers_with_bytes_or_an_error(data: bytes, files: dict[str, bytes]) -> None:
    try:
        after = apply_patch(parse_patch(data), files.get)
    except PatchError:
        return
    assert all(value is None or isinstance(value, bytes) for value in after.values())


MARKDOWN = b"<!-- crucible:reference-patch -->|```diff|```|````|~~~|~~~ diff| ```|-a|+b|text".split(b"|")


@given(st.lists(st.sampled_from(MARKDOWN), max_size=12).map(b"\n".join))
def test_a_markdown_file_has_one_block_or_an_error_with_a_line_of_it(data: bytes) -> None:
    block, line = found(data)
    if block is None:
        assert 1 <= line <= 1 + data.count(b"\n")
        return
    rows = data.split(b"\n")
    assert block.data.split(b"\n")[:-1] == rows[block.first_line - 1 : block.first_line - 1 + block.data.count(b"\n")]
