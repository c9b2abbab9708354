"""REFERENCE_FIX.md: one marker, one diff below it, applied to the fixture; every mistake has its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from crucible.errors import PatchError
from crucible.scenario.reference import Reference, load_reference

MARKER = "<!-- crucible:reference-patch -->"
DIFF = "--- a/store/pricing.py\n+++ b/store/pricing.py\n@@\n-    return raw * pct\n+    return raw * (1 - pct)\n"
FIXTURE = {"store/pricing.py": b"def discount(raw, pct):\n    return raw * pct\n"}
FIXED = b"def discount(raw, pct):\n    return raw * (1 - pct)\n"
FIXTURES = Path(__file__).parents[1] / "fixtures"


def load(folder: Path, text: str | bytes, files: dict[str, bytes] | None = None) -> Reference:
    path = folder / "REFERENCE_FIX.md"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_reference(path, (FIXTURE if files is None else files).get)


def refused(folder: Path, text: str, line: int, what: str) -> PatchError:
    with pytest.raises(PatchError) as caught:
        load(folder, text)
    assert (str(folder / "REFERENCE_FIX.md"), line) == (caught.value.problem.file, caught.value.problem.line)
    assert what in caught.value.message
    return caught.value


def test_the_documented_example_loads_with_its_bare_hunk(tmp_path: Path) -> None:
    reference = load(tmp_path, f"# Fix\n\nWhy.\n\n{MARKER}\n```diff\n{DIFF}```\n")
    assert DIFF == reference.text
    assert {"store/pricing.py": FIXED} == reference.after
    assert FIXTURE == reference.before
    assert ("return raw * (1 - pct)",) == reference.added_lines
    assert 7 == reference.patch.files[0].line


@pytest.mark.parametrize(
    ("opening", "closing"), [("```diff", "```"), ("~~~ diff", "~~~~"), ("`````diff -u", "`````  ")]
)
def test_any_fence_will_do(tmp_path: Path, opening: str, closing: str) -> None:
    assert {"store/pricing.py": FIXED} == load(
        tmp_path, f"{MARKER}\n\nSee:\n\n{opening}\n{DIFF}{closing}\nEnd.\n"
    ).after


def test_a_file_stored_with_crlf_and_a_byte_order_mark_loads(tmp_path: Path) -> None:
    text = f"\ufeff{MARKER}\n```diff\n{DIFF}```\n".replace("\n", "\r\n")
    assert {"store/pricing.py": FIXED} == load(tmp_path, text).after


def test_a_marker_in_a_code_block_is_an_example_of_one(tmp_path: Path) -> None:
    example = f"````md\n{MARKER}\n```diff\nnothing\n```\n````\n"
    assert {"store/pricing.py": FIXED} == load(tmp_path, f"{example}\n{MARKER}\n```diff\n{DIFF}```\n").after
    assert "no other block" in refused(tmp_path, example, 2, "this is no marker").message


def test_fences_in_the_diff_are_content_when_they_are_shorter_or_begin_with_a_space(tmp_path: Path) -> None:
    diff = "--- a/x.md\n+++ b/x.md\n@@ -1,3 +1,3 @@\n ````\n-old\n+new text here\n ```\n"
    reference = load(tmp_path, f"{MARKER}\n```diff\n{diff}```\n", {"x.md": b"````\nold\n```\n"})
    assert {"x.md": b"````\nnew text here\n```\n"} == reference.after


def test_no_marker_says_what_to_write_and_where_it_nearly_was(tmp_path: Path) -> None:
    assert "```diff" in (refused(tmp_path, "# Fix\n", 1, "there is no marker").hint or "")
    refused(tmp_path, "# Fix\n\n<!-- crucible:reference_patch -->\n", 3, "this is no marker")


def test_a_second_marker_is_refused_and_names_the_first(tmp_path: Path) -> None:
    refused(tmp_path, f"{MARKER}\n```diff\n{DIFF}```\n{MARKER}\n", 9, "the first is on line 1")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (f"{MARKER}\n", 1, "no fenced block follows"),
        (f"```diff\n{DIFF}```\n\n{MARKER}\ntext\n", 9, "no fenced block follows"),
        (f"{MARKER}\n```python\nx\n```\n", 2, "no unindented ```diff block"),
        (f"{MARKER}\n```\n{DIFF}```\n", 2, "no unindented ```diff block"),
        (f"{MARKER}\n  ```diff\n{DIFF}  ```\n", 2, "no unindented ```diff block"),
        (f"{MARKER}\n````diff\n{DIFF}```\n", 2, "not closed by ````"),
        (f"{MARKER}\n```diff\n```\n", 3, "changes nothing"),
        (f"{MARKER}\n```diff\nhello\n```\n", 3, "no change is described"),
        (f"{MARKER}\n```diff\n{DIFF.replace('raw * pct', 'raw / pct')}```\n", 5, "fits store/pricing.py nowhere"),
        (f"{MARKER}\n```diff\n{DIFF.replace('pricing', 'prices')}```\n", 3, "there is no file store/prices.py"),
        (f"{MARKER}\n```diff\n--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n```\n", 5, "counts 9 lines"),
        (f"{MARKER}\n```diff\n{DIFF.replace('(1 - pct)', 'pct')}```\n", 3, "changes nothing"),
    ],
)
def test_mistakes_are_refused_at_their_line_in_the_markdown_file(
    tmp_path: Path, text: str, line: int, what: str
) -> None:
    refused(tmp_path, text, line, what)


def test_a_file_that_cannot_be_read_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match=r"REFERENCE_FIX\.md:1: cannot be read: No such file"):
        load_reference(tmp_path / "REFERENCE_FIX.md", FIXTURE.get)


def test_lines_worth_searching_for_are_new_long_enough_and_each_once(tmp_path: Path) -> None:
    moved = "-    moved_line()\n+moved_line()\n"
    new = "+\n+short()\n+    the_new_line()\n+the_new_line()\n"
    diff = f"--- a/f\n+++ b/f\n@@ -1,3 +1,7 @@\n{moved} x = 1\n{new} kept_line()\n"
    reference = load(tmp_path, f"{MARKER}\n```diff\n{diff}```\n", {"f": b"    moved_line()\nx = 1\nkept_line()\n"})
    assert ("the_new_line()",) == reference.added_lines


def test_modes_and_deletions_are_part_of_the_reference(tmp_path: Path) -> None:
    diff = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\ndiff --git a/g b/g\ndeleted file mode 100644\n"
    reference = load(tmp_path, f"{MARKER}\n```diff\n{diff}```\n", {"f": b"x", "g": b""})
    assert ({"f": b"x", "g": None}, {"f": 0o100755}) == (reference.after, reference.modes)


@pytest.mark.parametrize("scenario", sorted(path.name for path in FIXTURES.iterdir() if path.is_dir()))
def test_the_bundled_references_load_and_give_something_to_search_for(scenario: str) -> None:
    def read(path: str) -> bytes | None:
        file = FIXTURES / scenario / "repo" / path
        return file.read_bytes() if file.is_file() else None

    reference = load_reference(FIXTURES / scenario / "REFERENCE_FIX.md", read)
    assert reference.added_lines
    assert set(reference.before) == set(reference.after)
