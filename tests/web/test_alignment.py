"""Two attempts side by side: the pairing of turns, and the moments that are read off them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.agents.builtin import builtin_tools
from crucible.agents.calls import read_arguments
from crucible.report.alignment import MOST, Row, align, tool_use
from crucible.report.moments import UNSEEN, different_edits, first_edit, first_green, moment_at
from crucible.report.went import went
from crucible.store.turns import Step, Turn
from crucible.transcript.messages import ToolCall


def step(tool: str, exit_code: int | None = None, ok: bool = True, at: float = 1.0, **arguments: Any) -> Step:
    return Step(seq=0, tool=tool, arguments=arguments, ok=ok, exit_code=exit_code, at=at)


def bash(command: str, exit_code: int | None = 0) -> Step:
    return step("bash", exit_code, command=command)


def turns(*steps: Step | str | tuple[Step, ...], tokens: int | None = 10) -> list[Turn]:
    """One turn for each: of one call, of several, or of words only."""
    made = []
    for number, one in enumerate(steps, 1):
        calls = one if isinstance(one, tuple) else (one,) if isinstance(one, Step) else ()
        said = one if isinstance(one, str) else ""
        made.append(Turn(number, said, len(said), tokens, float(number), calls))
    return made


CALLS = st.one_of(
    st.builds(lambda path: step("read_file", path=path), st.sampled_from(["a.py", "b.py"])),
    st.builds(
        lambda path, new: step("edit_file", path=path, old="x", new=new),
        st.sampled_from(["a", "b"]),
        st.text(max_size=2),
    ),
    st.builds(bash, st.sampled_from(["pytest -q", "pytest", "ls -la", "cat a | head"]), st.sampled_from([0, 1, None])),
    st.builds(lambda tool, said: step(tool, said=said), st.sampled_from(["asd__find", "\x00<b>"]), st.text(max_size=2)),
)
ATTEMPTS = st.lists(
    st.one_of(st.lists(CALLS, min_size=1, max_size=3).map(tuple), st.text(max_size=3)), max_size=30
).map(lambda made: turns(*made))


@given(ATTEMPTS, ATTEMPTS)
def test_every_turn_of_both_appears_exactly_once_and_in_order(one: list[Turn], other: list[Turn]) -> None:
    rows = align(one, other).rows
    assert list(range(len(one))) == [row.one for row in rows if row.one is not None]
    assert list(range(len(other))) == [row.other for row in rows if row.other is not None]
    assert all((row.kind == "only") == (row.one is None or row.other is None) for row in rows)


@given(ATTEMPTS)
def test_an_attempt_beside_itself_is_all_equal(one: list[Turn]) -> None:
    same = align(one, one)
    assert [Row("equal", n, n) for n in range(len(one))] == list(same.rows)
    assert (None, None) == (same.first_difference, same.parted)


@given(ATTEMPTS, ATTEMPTS)
def test_seen_from_the_other_side_it_is_the_mirror_image(one: list[Turn], other: list[Turn]) -> None:
    there, back = align(one, other), align(other, one)
    # Turns alone between two pairs may stand in either order; what is beside what may not differ.
    assert {row.mirrored() for row in there.rows} == set(back.rows)
    assert (there.first_difference, there.parted) == (back.first_difference, back.parted)


@given(ATTEMPTS, ATTEMPTS)
def test_they_part_no_earlier_than_they_differ(one: list[Turn], other: list[Turn]) -> None:
    found = align(one, other)
    if found.parted is not None:
        assert found.first_difference is not None
        assert found.first_difference <= found.parted


EDIT = {"path": "a.py", "old": "x", "new": "1"}


@pytest.mark.parametrize(
    ("mine", "theirs", "kind"),
    [
        (step("edit_file", **EDIT), step("edit_file", **EDIT | {"new": "2"}), "apart"),
        (step("write_file", path="a.py", content="1"), step("write_file", path="a.py", content="2"), "apart"),
        (step("Edit", file_path="a", old_string="x", new_string="1"), step("edit_file", **EDIT | {"path": "a"}), "similar"),
        (step("Edit", file_path="a", old_string="x", new_string="2"), step("edit_file", **EDIT | {"path": "a"}), "apart"),
        (step("replace", file_path="a", instruction="so", new_string="1"),
         step("replace", file_path="a", instruction="or so", new_string="1"), "similar"),
        (step("apply_patch", input="+1"), step("apply_patch", input="+2"), "apart"),
        (step("str_replace_editor", command="view", path="a", view_range=[1, 2]),
         step("str_replace_editor", command="view", path="a", view_range=[1, 9]), "similar"),
        (step("str_replace_editor", command="insert", path="a", insert_line=0, new_str="x"),
         step("str_replace_editor", command="insert", path="a", insert_line=1, new_str="x"), "apart"),
        (bash("cat > a.py <<'E'\n1\nE"), bash("cat > a.py <<'E'\n2\nE"), "apart"),
        (bash("sed -i s/a/b/ x.py && pytest -q"), bash("sed -i s/a/c/ x.py && pytest -q"), "apart"),
        (bash("sed -i s/a/b/ x.py && pytest -q"), bash("sed -i s/a/b/ x.py && pytest -x"), "similar"),
        (step("read_file", path="a.py"), step("read_file", path="b.py"), "apart"),
        (step("read_file", path="a.py", first=1), step("read_file", path="a.py", first=2), "similar"),
    ],
)  # fmt: skip
def test_the_same_calls_that_write_something_else_are_apart(mine: Step, theirs: Step, kind: str) -> None:
    found = align(turns(bash("ls"), mine), turns(bash("ls"), theirs))
    assert ["equal", kind] == [row.kind for row in found.rows]
    assert (1 if kind == "apart" else None) == found.parted


def test_the_same_file_edited_otherwise_stays_side_by_side() -> None:
    """Although the two part there: between them is nothing that would be closer."""
    look, test = step("read_file", path="a.py"), bash("pytest")
    one, other = turns(look, step("edit_file", **EDIT), test), turns(step("edit_file", **EDIT | {"new": "2"}), test)
    assert [(0, None), (1, 0), (2, 1)] == [(row.one, row.other) for row in align(one, other).rows]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([step("edit_file", **EDIT)], [step("edit_file", **EDIT | {"new": "2"})], ((1, "1"), (1, "2"))),
        ([bash("ls"), step("edit_file", **EDIT)], [step("edit_file", **EDIT), bash("ls")], (None, None)),
        ([step("edit_file", **EDIT)], [step("Edit", file_path="a.py", old_string="x", new_string="1")], (None, None)),
        ([step("edit_file", **EDIT)], [bash("ls")], ((1, "1"), None)),
        ([step("edit_file", **EDIT)], [step("edit_file", ok=False, **EDIT | {"new": "2"})], ((1, "1"), None)),
        ([step("write_file", path="a", content="same\n  one\n")], [step("write_file", path="a", content="same\n\ntwo")],
         ((1, "one"), (1, "two"))),
        ([step("write_file", path="a", content="1"), bash("sed -i s/a/b/ x")], [step("write_file", path="a", content="1")],
         ((2, ""), None)),
    ],
)  # fmt: skip
def test_the_first_different_edit_is_one_that_the_other_never_makes(
    one: list[Step], other: list[Step], expected: tuple[tuple[int, str] | None, ...]
) -> None:
    found = different_edits(turns(*one), turns(*other), "none")
    assert expected == tuple(None if moment.turn is None else (moment.turn, moment.wrote) for moment in found)


@pytest.mark.parametrize(
    ("call", "refused", "expected"),
    [
        (step("read_file", path="a"), None, "✓ ok"),
        (bash("ls", 0), None, "✓ exit code 0"),
        (bash("ls", 4), None, "✗ exit code 4"),
        (bash("ls", 4), "P1", "⊘ refused by P1, exit code 4"),
        (step("edit_file", ok=False, path="a"), "P1", "⊘ refused by P1"),
        (step("edit_file", ok=False, path="a"), None, "✗ error"),
        (step("edit_file", 0, ok=False, path="a"), None, "✗ error"),
        (Step(0, "bash", {}, ok=False, timed_out=True), None, "✗ timed out"),
        (Step(0, "bash", {}, ok=True, exit_code=0, limit="file_size"), None, "✗ stopped at the limit of file size"),
        (Step(0, "bash", None, ok=True), None, "✓ ok"),
    ],
)
def test_how_a_call_went_is_a_sign_and_a_few_words(call: Step, refused: str | None, expected: str) -> None:
    how = went(call, refused)
    assert expected == f"{how.sign} {how.words}"


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [("run_tests", "{}", "no such tool"), ("bash", "{", "arguments could not be read"),
     ("bash", '{"commande": "ls"}', "arguments could not be read")],
)  # fmt: skip
def test_a_tool_that_is_none_is_told_from_arguments_that_cannot_be_read(name: str, said: str, expected: str) -> None:
    """By the very words with which the loop answers such a call."""
    tools = {tool.name: tool for tool in builtin_tools()}
    told = read_arguments(ToolCall("1", name, said), tools)
    assert isinstance(told, str)
    how = went(Step(0, name, None, ok=False, text=told))
    assert ("?", expected) == (how.sign, how.words)


def test_a_command_with_other_options_is_similar() -> None:
    rows = align(turns(bash("cd /workspace && pytest -q tests")), turns(bash("pytest tests -x"))).rows
    assert ["similar"] == [row.kind for row in rows]


def test_test_runs_are_alike_whatever_runs_them() -> None:
    rows = align(turns(bash("python3 -m pytest -q 2>&1 | tail -5")), turns(bash("make test", 2))).rows
    assert ["similar"] == [row.kind for row in rows]


def test_what_one_did_more_stands_alone_and_the_rest_stays_beside_its_like() -> None:
    look, edit, test = step("read_file", path="a"), step("write_file", path="a", content="x"), bash("pytest")
    rows = align(turns(look, edit, test), turns(look, step("search", pattern="x"), step("list_files"), edit, test)).rows
    assert [(0, 0), (None, 1), (None, 2), (1, 3), (2, 4)] == [(row.one, row.other) for row in rows]


def test_a_tool_of_an_agent_cli_is_held_against_the_builtin_one_that_does_the_same() -> None:
    rows = align(turns(step("Read", file_path="a.py")), turns(step("read_file", path="a.py"))).rows
    assert ["similar"] == [row.kind for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("length", [MOST - 1, 2 * MOST + 3])
def test_long_attempts_are_aligned_whole(length: int) -> None:
    one = turns(*(bash(f"cat {n % 7}") for n in range(length)))
    other = turns(step("list_files"), *(bash(f"cat {n % 7}") for n in range(length)), bash("ls"))
    found = align(one, other)
    assert length + 2 == sum(row.other is not None for row in found.rows)
    assert length == found.counts["equal"]


def test_arguments_that_cannot_be_read_are_a_call_like_any_other() -> None:
    broken = Step(seq=0, tool="bash", arguments=None, ok=False)
    assert ["equal", "apart"] == [row.kind for row in align(turns(broken, broken), turns(broken, bash("ls"))).rows]


def test_tools_that_were_called_most_unlike_come_first() -> None:
    one = turns((bash("ls"), bash("ls"), bash("ls")), step("read_file", path="a"))
    other = turns(bash("ls"), step("read_file", path="a"), step("asd__find"))
    assert [("bash", 3, 1), ("asd__find", 0, 1), ("read_file", 1, 1)] == [
        (use.tool, use.one, use.other) for use in tool_use(one, other)
    ]


@pytest.mark.parametrize(
    ("call", "writes"),
    [
        (step("edit_file", path="a", old="x", new="y"), True),
        (step("write_file", path="a", content=""), True),
        (step("Edit", file_path="a"), True),
        (bash("sed -i s/a/b/ x.py"), True),
        (bash("cat > x.py <<'E'\nif a > b: pass\nE"), True),
        (bash("echo hello >> notes.txt"), True),
        (bash("git apply fix.patch"), True),
        (bash("echo x | tee x.py"), True),
        (bash("pytest -q 2>&1 | tail -5"), False),
        (bash("python - <<'E'\nprint(2 > 1)\nE"), False),
        (bash("grep -n '=> x' a.js 2>/dev/null"), False),
        (bash("ls > /dev/null"), False),
        (bash("sed -n 1,20p x.py"), False),
        (step("read_file", path="a"), False),
        (bash("sed -i s/a/b/ x.py", 4), False),
        (step("edit_file", ok=False, path="a", old="x", new="y"), False),
    ],
)
def test_the_first_edit_is_the_first_call_known_to_write(call: Step, writes: bool) -> None:
    assert writes == (first_edit(turns(call)).turn == 1)


def test_tokens_and_seconds_are_those_up_to_and_with_the_turn() -> None:
    made = turns(bash("ls"), step("write_file", path="a", content=""), tokens=40)
    assert (2, 80, 1.0) == ((edit := first_edit(made)).turn, edit.tokens, edit.seconds)


def test_one_unknown_count_makes_the_sum_unknown() -> None:
    made = [*turns(bash("ls"), tokens=None), *turns(step("write_file", path="a"), tokens=3)]
    assert None is first_edit(made).tokens


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([bash("pytest", 1), bash("pytest -q", 0)], (2, "")),
        ([bash("cd x && python3 -m pytest -q", 1), bash("make test", 0)], (2, "")),
        ([bash("npm test", 1), bash("npm run test", 0)], (2, "")),
        ([bash("node --test", 1), bash("node --test a.js", 0)], (2, "")),
        ([bash("./check.sh fast", 2), bash("./check.sh fast", 0)], (2, "")),
        ([bash("pytest", 0), bash("pytest", 1), bash("pytest", 0)], (3, "")),
        ([bash("pytest", 0)], (1, UNSEEN)),
        ([bash("pytest | tail", 0), bash("pytest", 0), bash("pytest", 1)], (2, UNSEEN)),
        ([bash("pytest", 1), bash("pytest | tail", 0)], "1 of 2 test runs do not tell how they ended"),
        ([bash("pytest", 1), bash("pytest; true", 0)], "1 of 2 test runs do not tell how they ended"),
        ([bash("pytest", None)], "1 of 1 test runs do not tell how they ended"),
        ([bash("pytest", 1), bash("pytest", 1)], "its tests failed each time they were run (2)"),
        (
            [bash("grep -rn pytest .", 1), bash("uv pip install pytest", 0)],
            "ran no tests that are known as such",
        ),
        ([bash("pip install pytest", 0), bash("grep pytest x", 0)], "ran no tests that are known as such"),
    ],
)
def test_green_is_a_test_run_that_passed_best_after_one_that_had_failed(
    steps: list[Step], expected: tuple[int, str] | str
) -> None:
    found = first_green(turns(*steps), "./check.sh fast")
    assert expected == (found.why_not if found.turn is None else (found.turn, found.note))


@given(ATTEMPTS, st.text(max_size=5))
def test_moments_are_found_in_whatever_was_called(made: list[Turn], test_command: str) -> None:
    for moment in (first_edit(made), first_green(made, test_command), moment_at(made, None, "none")):
        assert (moment.turn is None) == (moment.why_not is not None)


WILD: st.SearchStrategy[Mapping[str, Any]] = st.dictionaries(
    st.sampled_from(["command", "path", "cmd", "file_path", "x"]),
    st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=2), max_leaves=4),
)


@given(st.sampled_from(["bash", "Bash", "edit_file", "shell", "x"]), WILD, st.booleans())
def test_arguments_of_any_kind_are_read_without_an_error(tool: str, arguments: Mapping[str, Any], ok: bool) -> None:
    made = turns(Step(seq=0, tool=tool, arguments=arguments, ok=ok))
    assert ["equal"] == [row.kind for row in align(made, made).rows]
    first_edit(made)
    first_green(made, "pytest")
    moment_at(made, 0, "")
