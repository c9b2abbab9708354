"""What is copied from a report or a transcript is found, however it is written; ids, and a world of one's own, are not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible.scenario.copied import RUN, Copied, Kind, Source, copied
from crucible.scenario.personal import is_card

from .conftest import SEED

REPORT = """\
It deleted resolved tickets instead of archiving them. I watched it happen on two of the last ten
cleanup runs, with Jane Doe (jane.doe@acme.test, +49 170 555 12 34) on the line about T-481 and T-490.
"""
THEIRS = st.sampled_from(["invoice", "late", "again", "Ärger", "über", "the", "customer's", "angry", "mail", "on-call"])
OURS = st.sampled_from(["fresh", "plain", "world", "made", "up", "zebra", "lamp"])
IDS = st.from_regex(r"\A[A-Z]{1,5}-[0-9]{1,4}\Z")


def kinds(scenario: str, *texts: str) -> set[Kind]:
    return {one.kind for one in copied(scenario, [Source("r.md", text) for text in texts])}


def query(text: str, *, ascii_only: bool = False) -> str:
    return json.dumps({"name": "n", "query": text}, ensure_ascii=ascii_only)


def test_the_scenario_of_the_report_copies_nothing_but_ids() -> None:
    assert [] == copied(json.dumps(SEED), [Source("report.md", REPORT)])


def test_the_shape_of_a_transcript_may_be_shared_and_its_text_may_not() -> None:
    tickets = [{"id": f"T-{n}", "status": "resolved", "priority": "high"} for n in range(9)]
    transcript = json.dumps({"type": "tool_result", "content": json.dumps({"tickets": tickets})})
    assert [] == copied(json.dumps({"context": {"tickets": tickets}}), [Source("t.jsonl", transcript)])


@settings(deadline=None)
@given(
    st.lists(THEIRS, min_size=RUN, max_size=12),
    st.lists(OURS, max_size=6),
    st.lists(OURS, max_size=6),
    st.booleans(),
    st.sampled_from([" ", "\n", ", ", " — ", "  > "]),
)
def test_five_words_in_a_row_are_found_in_any_case_escaping_and_layout(
    run: list[str], before: list[str], after: list[str], ascii_only: bool, gap: str
) -> None:
    said = " ".join([*before, *(word.upper() for word in run), *after])
    for source in (gap.join(run), json.dumps({"log": json.dumps(gap.join(run))})):
        assert Kind.WORDS in kinds(query(said, ascii_only=ascii_only), source)


@settings(deadline=None)
@given(st.lists(OURS, max_size=30), st.lists(THEIRS, max_size=30), st.lists(IDS, max_size=9))
def test_words_of_ones_own_and_ids_are_no_copy(ours: list[str], theirs: list[str], ids: list[str]) -> None:
    assert [] == copied(query(" ".join([*ours, *ids])), [Source("r.md", " ".join([*ids, *theirs]))])


@settings(deadline=None)
@given(st.lists(THEIRS.filter(str.isalpha), min_size=RUN - 1, max_size=RUN - 1, unique=True))
def test_four_words_are_no_copy(run: list[str]) -> None:
    assert set() == kinds(query(" ".join(run)), " ".join([*run, "and", "more"]))


@settings(deadline=None)
@given(st.lists(THEIRS, min_size=RUN, max_size=9), IDS, IDS)
def test_another_id_in_a_sentence_does_not_hide_that_it_is_copied(run: list[str], theirs: str, ours: str) -> None:
    assert Kind.WORDS in kinds(query(" ".join([*run[:2], ours, *run[2:]])), " ".join([*run[:2], theirs, *run[2:]]))


def test_text_without_spaces_between_its_words_is_compared_by_the_character() -> None:
    source = "客户说系统删除了所有已解决的工单"
    assert {Kind.WORDS} == kinds(query("系统删除了所有已解决的"), source)
    assert set() == kinds(query("删除了所有"), source)


def test_where_it_was_copied_from_is_named_with_its_line() -> None:
    source = "One.\n\nThe board was empty when we looked.\n"
    found = copied(query("Say that the BOARD was empty when asked."), [Source("a.md", "x"), Source("b.md", source)])
    assert [Copied("b.md", 3, Kind.WORDS, "the board was empty when")] == found
    assert "b.md:3: words in a row copied: 'the board was empty when'" == str(found[0])


@pytest.mark.parametrize(
    ("held", "source", "expected"),
    [
        ("mail Jane.Doe@Acme.test", "from: <jane.doe@acme.test>", {Kind.EMAIL}),
        ("mail ann@example.org", "from: jane.doe@acme.test", set()),
        ("dial 0170 5551234", "her number, +49 (170) 555-12-34", {Kind.PHONE}),
        ("dial 1705551234", '{"phone": "1705551234"}', {Kind.PHONE}),
        ("order 1705551234", '{"order": "1705551234"}', set()),
        ("on 2026-11-30 10:15, 10.0.12.113", "at 2026-11-30 10:15 from 10.0.12.113", set()),
        ("ORD-2024-000123 and 2024-000123", "ORD-2024-000123 is 2024-000123", set()),
        ("pay with 4242424242424242", "card 4242 4242 4242 4242 12/30", {Kind.CARD}),
        ("pay with 4242-4242-4242-4242", "card 4242424242424242", {Kind.CARD}),
        ("id 4242424242424241", "id 4242424242424241", set()),
    ],
)
def test_addresses_and_numbers_are_found_however_they_are_written_and_ids_are_not(
    held: str, source: str, expected: set[Kind]
) -> None:
    assert expected == kinds(query(held), source)


def test_numbers_in_the_scenario_are_looked_at_too() -> None:
    assert {Kind.CARD} == kinds(json.dumps({"context": {"n": 4242424242424242}}), "paid by 4242 4242 4242 4242")


@settings(deadline=None)
@given(st.from_regex(r"\A[2-6][0-9]{11,17}\Z"), st.sampled_from([" ", "-", ""]), st.integers(1, 6))
def test_any_card_number_is_found_in_groups_of_any_size(digits: str, gap: str, size: int) -> None:
    (card,) = [digits + check for check in "0123456789" if is_card(digits + check)]
    grouped = gap.join(card[at : at + size] for at in range(0, len(card), size))
    assert Kind.CARD in kinds(query(card), f"charged to {grouped}, twice")


@pytest.mark.parametrize(
    ("held", "source", "expected"),
    [
        ("ask Jane Doe", "I called Jane Doe today.", {Kind.NAME}),
        ("ask jane_doe", "I called Jane\nDoe today.", {Kind.NAME}),
        ("ask Jane M. Doe", "I called Jane Doe today.", {Kind.NAME}),
        ("ask Jürgen Müller", "Der Kunde ist Jürgen Müller-Lüdenscheidt.", {Kind.NAME}),
        ("ask Ludwig Beethoven", "It was Ludwig van Beethoven.", {Kind.NAME}),
        ("ask Jane Doe", '{"customer": "Jane Doe"}', {Kind.NAME}),
        ("ask Jane Doe", "Jane Doe said so.", {Kind.NAME}),
        ("the ticket board", "# Ticket Board\n\nIt is empty.", set()),
        ("The Board is empty", "We saw The Board empty.", set()),
        ("clean up the board", "Clean Up the board.", set()),
        ("ask Ann Lee", "I called Jane Doe today.", set()),
        ("Jane and a doe", "I called Jane Doe today.", set()),
    ],
)
def test_personal_names_are_found_and_common_words_are_not(held: str, source: str, expected: set[Kind]) -> None:
    assert expected == kinds(query(held), source)


def test_a_name_in_two_fields_is_found() -> None:
    assert {Kind.NAME} == kinds(json.dumps({"first": "Jane", "last": "Doe"}), "I called Jane Doe today.")


@settings(deadline=None)
@given(st.text(), st.text())
def test_any_text_can_be_held_against_any_other(one: str, other: str) -> None:
    copied(one, [Source("a", other)])
    copied(query(one), [Source("a", json.dumps(other))])


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None)
@given(JSON, st.text())
def test_how_the_file_is_laid_out_makes_no_difference(value: Any, source: str) -> None:
    sources = [Source("s", source)]
    assert copied(json.dumps(value, indent=3), sources) == copied(json.dumps(value, ensure_ascii=False), sources)


@pytest.mark.slow
@pytest.mark.parametrize("long", ["a" * 10**6, "1 " * 10**5, "Ab " * 10**4, "a-" * 10**5, "a@" * 10**5, "[" * 10**5])
def test_a_long_source_of_any_shape_is_read_through(long: str) -> None:
    assert [] == copied(query("fine"), [Source("s", long)])


def test_a_scenario_that_is_nested_without_end_is_read_as_text() -> None:
    assert {Kind.EMAIL} == kinds("[" * 10**5 + ' "ann@example.org"', "ann@example.org")
