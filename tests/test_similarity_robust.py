"""Whatever bytes an agent leaves behind, similarity answers, in range and the same each time."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from crucible.scoring.distance import bag_distance, edit_distance, edits_in_common, touched_lines
from crucible.scoring.similarity import similarity, size_ratio

SUFFIXES = "py js ts tsx go rs java c cpp cs rb php kt swift scala lua sh txt yaml"
WORDS = "class,A,def f(self):,function f() {,},(,),',`,=,x,import y,#,//,/*,f'{,${,<,@d,;"
PIECES = [*WORDS.encode().split(b","), b",", b'"', b"\n", b"    ", b"\t", b"\xff", b"\0", b"\r", b"\xe2\x80\xa8"]
sources = st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join))
paths = st.sampled_from([f"dir/a.{suffix}" for suffix in SUFFIXES.split()] + ["b.py", "c", "caf\udce9.py"])
before_files = st.dictionaries(paths, sources, max_size=3)
after_files = st.dictionaries(paths, st.none() | sources, max_size=3)
tokens = st.lists(st.sampled_from(["a", "b", "c", "(", ")", ","]), max_size=12)


@given(before_files, after_files, after_files)
def test_any_bytes_give_numbers_in_range_and_sentences(
    before: dict[str, bytes], candidate: dict[str, bytes | None], reference: dict[str, bytes | None]
) -> None:
    result = similarity(before, candidate, reference)
    for value in (result.structural, result.textual, result.combined):
        assert 0.0 <= value <= 1.0
    assert all(reason.encode() for reason in result.reasons), "plain sentences that can be stored"
    assert result == similarity(dict(reversed(before.items())), dict(reversed(candidate.items())), reference)


@given(before_files, after_files)
def test_the_reference_is_like_itself_and_nothing_is_unlike_it(
    before: dict[str, bytes], reference: dict[str, bytes | None]
) -> None:
    assert similarity(before, reference, reference).combined == (1.0 if reference else 0.0)
    assert similarity(before, {}, reference).combined == 0.0


@given(before_files, after_files, after_files)
def test_the_size_ratio_is_a_positive_number_or_unknown(
    before: dict[str, bytes], candidate: dict[str, bytes | None], reference: dict[str, bytes | None]
) -> None:
    ratio = size_ratio(candidate, reference, before)
    assert ratio is None or (math.isfinite(ratio) and ratio >= 0)


@given(tokens, tokens, tokens)
def test_what_two_edits_share_is_symmetric_and_between_nothing_and_all(
    before: list[str], one: list[str], other: list[str]
) -> None:
    shared = edits_in_common(before, one, other)
    assert 0.0 <= shared <= 1.0
    assert math.isclose(shared, edits_in_common(before, other, one))
    assert (shared == 1.0) == (one == other != before)
    assert edits_in_common(before, before, other) == 0.0


@given(tokens, tokens)
def test_distances_are_those_of_deleting_and_inserting(a: list[str], b: list[str]) -> None:
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, left in enumerate(a):
        for j, right in enumerate(b):
            longest[i + 1][j + 1] = longest[i][j] + 1 if left == right else max(longest[i][j + 1], longest[i + 1][j])
    assert len(a) + len(b) - 2 * longest[-1][-1] == edit_distance(a, b)
    assert bag_distance(a, b) <= edit_distance(a, b)


@given(tokens, tokens)
def test_lines_are_touched_where_and_only_where_something_changes(a: list[str], b: list[str]) -> None:
    lines = list(range(len(a)))
    touched = touched_lines(a, lines, b)
    assert touched <= set(lines)
    assert bool(touched) == (a != b and bool(a))
