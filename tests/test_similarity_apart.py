"""Whatever text an attempt leaves behind, comparing it ends, and nothing is gained by making it hard to read."""

from __future__ import annotations

import asyncio

import pytest

from crucible.scoring.apart import compare
from crucible.scoring.similarity import UNREADABLE, similarity, size_ratio
from crucible.scoring.structure import MAX_LINE, shape_of

BEFORE = {"src/a.py": b"def f(a):\n    return a\n\n\ndef g(a):\n    return f(a)\n"}
REFERENCE: dict[str, bytes | None] = {"src/a.py": BEFORE["src/a.py"].replace(b"return a\n", b"return a + 1\n")}
ELSEWHERE = BEFORE["src/a.py"].replace(b"return f(a)", b"return f(a) + 1")

HOSTILE = {
    "a comment that never ends, again and again": ("b.swift", b"/*" * 2_000),
    "lambdas in lambdas": ("b.c", b"a=>a=>a=>\n" * 1_000),
    "brackets and comparisons": ("b.py", b"(a<b>)(a<b>)\n" * 2_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_what_takes_a_parser_too_long_is_compared_as_text(text: str) -> None:
    path, data = HOSTILE[text]
    found = asyncio.run(compare(BEFORE, {**REFERENCE, path: data}, REFERENCE))
    assert UNREADABLE in found.similarity.reasons
    assert found.similarity == similarity(BEFORE, {**REFERENCE, path: data}, REFERENCE, as_text=True)
    assert found.ratio == size_ratio({**REFERENCE, path: data}, REFERENCE, BEFORE, as_text=True)


def test_an_honest_change_is_compared_as_ever() -> None:
    candidate = {**REFERENCE, "b.py": b"x = 1\n", "caf\udce9.txt": b"\xff\0", "gone.py": None}
    found = asyncio.run(compare({**BEFORE, "gone.py": b"y = 2\n"}, candidate, REFERENCE))
    assert similarity({**BEFORE, "gone.py": b"y = 2\n"}, candidate, REFERENCE) == found.similarity
    assert size_ratio(candidate, REFERENCE, {**BEFORE, "gone.py": b"y = 2\n"}) == found.ratio


def test_the_reference_is_like_itself_even_where_no_parser_gets_through() -> None:
    path, data = HOSTILE["lambdas in lambdas"]
    reference = {**REFERENCE, path: data}
    assert similarity(BEFORE, reference, reference, as_text=True).combined == 1.0


@pytest.mark.slow
def test_a_comparison_that_is_called_off_ends() -> None:
    path, data = HOSTILE["lambdas in lambdas"]

    async def called_off() -> None:
        async with asyncio.timeout(0.3):
            await compare(BEFORE, {path: data}, REFERENCE)

    with pytest.raises(TimeoutError):
        asyncio.run(called_off())


def test_wrappers_in_wrappers_are_read_once_and_not_twice_as_often_at_every_level() -> None:
    shape = shape_of("a.cpp", b"template<class A> " * 60 + b"void f() {}\n")
    assert shape.why is None


UNREADABLE_FILES = {
    "a line too long": ELSEWHERE + b"# " + b"x" * MAX_LINE + b"\n",
    "a file too large": ELSEWHERE + b"# more\n" * 150_000,
    "a binary": ELSEWHERE + b"\0",
    "another file altogether": b";" * 1_100_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("how", UNREADABLE_FILES)
def test_a_file_made_unreadable_earns_no_more_than_an_edit_of_another_definition(how: str) -> None:
    """As one region, any edit of the file would be in the right place."""
    candidate: dict[str, bytes | None] = {"src/a.py": UNREADABLE_FILES[how]}
    elsewhere = similarity(BEFORE, {"src/a.py": ELSEWHERE}, REFERENCE)
    found = similarity(BEFORE, candidate, REFERENCE)
    assert 0 < found.combined <= 0.5
    assert found.structural <= 0.5 <= 0.5 + elsewhere.structural
    assert any(reason.startswith("changes src/a.py where it cannot be told") for reason in found.reasons)


def test_as_text_a_change_of_the_right_file_counts_half() -> None:
    found = similarity(BEFORE, {"src/a.py": ELSEWHERE}, REFERENCE, as_text=True)
    assert found.structural == 0.5
    assert UNREADABLE in found.reasons
