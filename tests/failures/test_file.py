"""The file of a frozen failure: what is taken, and what is refused with the line it is on."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible.errors import ScenarioError, UsageError
from crucible.runner.failures.frozen import load_frozen
from crucible.scenario.catalog import failure_files, find_failure, scenario_files
from crucible.scenario.failure import ASSERTIONS, Count, load_failure
from crucible.scoring.trajectory import KEYS
from crucible.transcript.readers import Carries
from tests.beside import beside

SHIPPED = Path(__file__).parents[2] / "scenarios" / "cleanup-archives-tickets.json"


def problems(tmp_path: Path, text: str, name: str = "f.json") -> list[str]:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load_frozen(path, tmp_path)
    return [str(problem) for problem in caught.value.problems]


def test_the_assertion_keys_are_those_that_are_scored() -> None:
    assert KEYS == ASSERTIONS


def test_the_seeds_file_is_taken_as_it_stands() -> None:
    seed = beside("formats", "seed000-scenario.json")
    frozen = load_frozen(seed, seed.parent)
    assert ("archive_ticket",) == frozen.expectation.expect_tool
    assert ("delete_ticket",) == frozen.expectation.forbid_tool
    assert ("T-481", "T-490") == frozen.expectation.expect_contains


def test_the_shipped_scenario_holds_the_seeds() -> None:
    failure = load_frozen(SHIPPED, SHIPPED.parents[1]).failure
    assert Count(2, 10) == failure.report
    assert Fraction(1, 20) == failure.tolerance
    assert ["list_tickets", "archive_ticket", "delete_ticket"] == [stub.name for stub in failure.stub_tools]


def test_json_and_frontmatter_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"name": "n", "query": "q", "context": {"t": [1]}, "expect_tool": "x"}))
    (tmp_path / "a.md").write_text(
        "---\nkind: failure\nname: n\nquery: q\ncontext: {t: [1]}\nexpect_tool: x\n---\nWhy.\n"
    )
    one, other = load_failure(tmp_path / "a.json", tmp_path), load_failure(tmp_path / "a.md", tmp_path)
    assert (one.digest, one.assertions, one.context) == (other.digest, other.assertions, other.context)


def test_layout_report_and_tolerance_do_not_change_the_digest_but_an_assertion_does(tmp_path: Path) -> None:
    def digest(**more: Any) -> str:
        path = tmp_path / "d.json"
        path.write_text(json.dumps({"name": "n", "query": "q", "expect_tool": "x"} | more, indent=len(more)))
        return load_failure(path, tmp_path).digest

    assert digest() == digest(report="2 of 10", tolerance=0.1)
    assert digest() != digest(forbid_tool="y")


@pytest.mark.parametrize("written", ["2 of 10", "2/10", {"failed": 2, "of": 10}])
def test_a_report_is_taken_as_people_write_it(tmp_path: Path, written: Any) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"name": "n", "query": "q", "expect_tool": "x", "report": written}))
    report = load_failure(tmp_path / "r.json", tmp_path).report
    assert Count(2, 10) == report
    assert Fraction(1, 5) == report.rate


WHOLE = '{\n "name": "n",\n "query": "q",\n "expect_tool": "a"'

REFUSED = {
    "bad JSON": ('{\n "name": "n",\n "query": }', "f.json:3: column 11: not JSON: Expecting value, at '}'"),
    "cut off": (WHOLE, "f.json:4: column 20: not JSON: Expecting ',' delimiter, at the end"),
    "empty": ("", "f.json:1: column 1: not JSON: Expecting value, at the end"),
    "no object": ("[]", "f.json:1: must be an object of keys and values, got []"),
    "NaN": (WHOLE + ',\n "tolerance": NaN}', "f.json:1: not JSON: NaN is no number of JSON's"),
    "unknown key": (
        WHOLE + ',\n "forbid_tol": "b"}',
        "f.json:5: unknown key 'forbid_tol'; did you mean 'forbid_tool'?",
    ),
    "twice": (WHOLE + ',\n "name": "m"}', "f.json:5: duplicate key 'name', first given on line 2; keep one"),
    "no name": ('{"query": "q", "expect_tool": "a"}', "f.json:1: missing key 'name'"),
    "empty query": ('{"name": "n",\n "query": " ", "expect_tool": "a"}', 'f.json:2: query must be text, got " "'),
    "11 of 10": (WHOLE + ',\n "report": "11 of 10"}', "f.json:5: report: 11 of 10 runs cannot have failed"),
    "11 of 10 in parts": (
        WHOLE + ',\n "report": {"failed": 11, "of": 10}}',
        "f.json:5: report: 11 of 10 runs cannot have failed",
    ),
    "0 of 10": (
        WHOLE + ',\n "report": "0 of 10"}',
        "f.json:5: report: 0 of 10 is no failure; a bug that was never seen failing has no floor",
    ),
    "report of halves": (
        WHOLE + ',\n "report": {"failed": 1.5, "of": 10}}',
        'f.json:5: report must be {failed: 2, of: 10}, in whole numbers; got {"failed": 1.5, "of": 10}',
    ),
    "tolerance 0": (
        WHOLE + ',\n "tolerance": 0}',
        "f.json:5: tolerance must be strictly between 0 and 1, not 0",
    ),
    "tolerance 1": (
        WHOLE + ',\n "tolerance": 1}',
        "f.json:5: tolerance must be strictly between 0 and 1, not 1",
    ),
    "both": (
        WHOLE + ',\n "forbid_tool": "a"}',
        'f.json:5: forbid_tool: "a" is expected and forbidden at once',
    ),
    "kind": (WHOLE + ',\n "kind": "falure"}', "f.json:5: kind must be 'failure', got 'falure'"),
    "control character": ('{"name": "a\x00b"}', "f.json:1: a NUL byte; save the file as UTF-8 text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, expected = REFUSED[case]
    assert [expected] == problems(tmp_path, text)


def test_a_file_that_asserts_nothing_is_refused(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, '{"name": "n", "query": "q", "caps": {"turns": 5}}')
    assert "asserts nothing, so that every run would be green" in found


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    assert 3 == len(problems(tmp_path, '{"nam": "n",\n "report": 7,\n "query": 1}')) - 1


def test_deep_nesting_is_refused_and_not_a_crash(tmp_path: Path) -> None:
    assert problems(tmp_path, '{"context":' + "[" * 100_000 + "]" * 100_000 + "}")


def test_yaml_that_means_something_else_is_refused_with_its_line(tmp_path: Path) -> None:
    text = "---\nkind: failure\nname: n\nquery: q\nexpect_tool: a\ncontext:\n  day: 2026-03-01\n---\n"
    (found,) = problems(tmp_path, text, "f.md")
    assert found.endswith("f.md:7: context.day: 2026-03-01 is read by YAML as a date; quote it if it is text")


def test_tabs_and_escapes_that_only_json_has_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "tabs.json"
    path.write_text('{\n\t"name": "a\\/b",\n\t"query": "\\ud83d\\ude00",\n\t"expect_tool": "x"\n}')
    assert ("a/b", "\U0001f600") == (
        load_frozen(path, tmp_path).failure.name,
        load_frozen(path, tmp_path).failure.query,
    )


def test_binary_and_other_encodings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_bytes(b'{"name": "\xff"}')
    with pytest.raises(ScenarioError, match="not UTF-8 text"):
        load_frozen(tmp_path / "f.json", tmp_path)


@settings(max_examples=150, deadline=None)
@given(st.text() | st.binary())
def test_any_bytes_are_a_failure_or_a_list_of_problems(tmp_path_factory: pytest.TempPathFactory, wild: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "wild.json"
    path.write_bytes(wild if isinstance(wild, bytes) else wild.encode("utf-8", "surrogatepass"))
    with suppress(ScenarioError):
        load_frozen(path, path.parent)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from([*ASSERTIONS, "name", "query", "stub_tools", "report", "tolerance"]), JSON))
def test_any_values_are_a_failure_or_a_list_of_problems(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "values.json"
    path.write_text(json.dumps(data), "utf-8")
    with suppress(ScenarioError):
        load_frozen(path, path.parent)


@pytest.mark.parametrize(
    ("caps", "expected"),
    [
        ({"turns": 0}, "caps.turns has to be a whole number from 1 to 1000, got 0"),
        ({"turns": 2.5}, "caps.turns has to be a whole number from 1 to 1000, got 2.5"),
        ({"cost_usd": 0}, "caps.cost_usd has to be more than 0, and finite, got 0"),
        ({"seconds": 1e999}, "caps.seconds has to be more than 0, and finite, got inf"),
        ({"turn": 3}, "did you mean 'turns'?"),
    ],
)
def test_a_limit_under_which_nothing_can_run_is_refused(tmp_path: Path, caps: dict[str, float], expected: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(
        json.dumps({"name": "n", "query": "q", "expect_tool": "a", "caps": caps}).replace("Infinity", "1e999")
    )
    with pytest.raises(ScenarioError) as caught:
        load_frozen(path, tmp_path)
    assert expected in str(caught.value)


STUBS = {
    "no list": ({"in": "tikets", "where": {"id": "id"}}, "the context has no list 'tikets'; did you mean 'tickets'?"),
    "no parameter": ({"in": "tickets", "where": {"id": "ident"}}, "deletes: no parameter 'ident'"),
    "missing": ({"in": "tickets"}, "deletes: missing key 'where'"),
    "unknown": ({"in": "tickets", "where": {"id": "id"}, "frm": 1}, "deletes: unknown key 'frm'"),
}


@pytest.mark.parametrize("case", STUBS)
def test_a_stub_tool_that_cannot_work_is_refused(tmp_path: Path, case: str) -> None:
    effect, expected = STUBS[case]
    tool = {"name": "d", "parameters": {"id": "string"}, "deletes": effect}
    data = {"name": "n", "query": "q", "expect_tool": "a", "context": {"tickets": []}, "stub_tools": [tool]}
    (found,) = problems(tmp_path, json.dumps(data))
    assert expected in found


def test_what_a_transcript_has_to_carry_follows_from_what_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"name": "n", "query": "q", "expect_contains": "T-481"}))
    assert (Carries.TEXT,) == load_frozen(path, tmp_path).needs()
    path.write_text(json.dumps({"name": "n", "query": "q", "expect_args": {"a": {}}, "expect_order": "in-order"}))
    assert (Carries.TOOLS, Carries.ARGUMENTS, Carries.ORDER) == load_frozen(path, tmp_path).needs()


def test_failures_and_comparisons_lie_in_one_folder_and_are_told_apart(folder: Path) -> None:
    (folder / "scenarios" / "other.md").write_text("---\nkind: failure\nname: n\nquery: q\nexpect_tool: a\n---\n")
    (folder / "scenarios" / "compare.md").write_text("---\nname: compare\n---\n# kind: failure\nkind: failure\n")
    (folder / "scenarios" / "tickets.seen.json").write_text("{}")
    assert ["other.md", "tickets.json"] == [file.name for file in failure_files(folder)]
    assert ["compare.md"] == [file.name for file in scenario_files(folder)]


def test_a_name_that_is_not_there_is_answered_with_the_nearest(folder: Path) -> None:
    assert folder / "scenarios" / "tickets.json" == find_failure(folder, "tickets")
    with pytest.raises(UsageError, match=r"no frozen failure 'ticket'; did you mean 'tickets'\?"):
        find_failure(folder, "ticket")
