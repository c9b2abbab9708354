"""Scenario files: what loads, and the one line that each mistake is told with."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from crucible.errors import ExitCode, ScenarioError
from crucible.scenario.docs_text import EXAMPLE
from crucible.scenario.load import MAX_BYTES, LoadedScenario, load_scenario
from crucible.scenario.schema import Budget, Matcher, Scenario
from tests.beside import beside

ROOT = Path(__file__).parents[1]
MODEL = "model: anthropic/claude-sonnet-4-6"
"""First on line 14 of the example."""
NUMBERED = dict(enumerate(EXAMPLE.split("\n"), start=1))


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "fixtures/asd-vs-baseline/repo").mkdir(parents=True)
    (tmp_path / "fixtures/asd-vs-baseline/REFERENCE_FIX.md").touch()
    return tmp_path


def load(bench: Path, text: str | bytes, name: str = "asd-vs-baseline") -> LoadedScenario:
    path = bench / "scenarios" / f"{name}.md"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_scenario(path, bench)


def problems(bench: Path, text: str | bytes) -> list[str]:
    """Every problem as `line: what`."""
    with pytest.raises(ScenarioError) as caught:
        load(bench, text)
    prefix = "scenarios/asd-vs-baseline.md:"
    assert {"scenarios/asd-vs-baseline.md"} == {problem.file for problem in caught.value.problems}
    return [str(problem).removeprefix(prefix) for problem in caught.value.problems]


def changed(*changes: tuple[str, str]) -> str:
    text = EXAMPLE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def test_the_document_crucible_was_made_from_loads_as_it_stands(bench: Path) -> None:
    text = beside("seeds", "002_c62bc530beac3a39.txt").read_text()
    start = text.index("---\nname: asd-vs-baseline")
    frontmatter = text[start : text.index("\n---\n", start) + 5]
    scenario = load(bench, frontmatter).scenario
    assert EXAMPLE.startswith(frontmatter)
    assert (scenario.treatment.id, scenario.baseline.id) == ("assisted", "baseline")
    assert scenario.treatment.system_prompt == "..."
    assert scenario.treatment.extra_tools == ("asd", "ctx")
    assert Budget(max_turns=25, max_total_tokens=60000, max_wall_clock_seconds=300) == scenario.budget
    matcher = {"tool": "write_file", "arg_key": "path", "op": "starts_with", "value": "tests/"}
    assert (Matcher.model_validate(matcher),) == scenario.policies[0].matchers
    assert [dimension.weight for dimension in scenario.rubric.dimensions] == [0.40, 0.25, 0.20, 0.15]
    assert (
        scenario.task_prompt
    ) == "The store package has a failing test. Fix the bug in the source\n(not the tests) and re-run the suite.\n"


def test_every_bundled_scenario_loads() -> None:
    for path in sorted((ROOT / "scenarios").glob("*.md")):
        assert path.stem == load_scenario(path, ROOT).scenario.name


def test_what_is_loaded_knows_its_file(bench: Path) -> None:
    data = b"\xef\xbb\xbf" + EXAMPLE.replace("\n", "\r\n").encode()
    loaded = load(bench, data)
    assert hashlib.sha256(data).hexdigest() == loaded.sha256
    assert bench / "scenarios/asd-vs-baseline.md" == loaded.path
    assert loaded.text.replace("\r\n", "\n") == EXAMPLE
    expected = {"name": 2, "arms": 11, "arms.0": 12, "arms.1.model": 19, "policies.0.matchers.0.value": 32}
    assert expected == {key: loaded.lines[key] for key in expected}
    assert "rubric.dimensions.3.weight" in loaded.lines


def test_a_scenario_survives_being_stored_as_json(bench: Path) -> None:
    scenario = load(bench, changed(("value: tests/", "value: tests/\n        not: true"))).scenario
    assert scenario == Scenario.model_validate_json(scenario.model_dump_json())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("max_wall_clock_seconds: 300", "max_wall_clock_seconds: 0.5", id="a fraction of a second"),
        pytest.param("max_total_tokens: 60000", "max_total_tokens: 60_000", id="a number with underscores"),
        pytest.param("rubric:", "network: no\nrubric:", id="no where true or false is wanted"),
        pytest.param("rubric:", "judge: null\nrubric:", id="a written null where a key may be absent"),
        pytest.param(MODEL, "model: 'no'", id="a quoted no"),
        pytest.param(MODEL, "model: 1e3", id="1e3, which YAML leaves a text"),
        pytest.param("tool: write_file", "tool: asd__find_symbol", id="a tool of a server that an arm has"),
        pytest.param("weight: 0.40", "weight: 0.401", id="weights that sum to 1.001"),
        pytest.param("  (not the tests)", "  ---\n  --- a/store.py\n  (not the tests)", id="fences inside a text"),
        pytest.param("policies:\n", "policies: # what is forbidden\n", id="a comment"),
        pytest.param("name: asd", "# yaml-language-server: $schema=../x.json\nname: asd", id="the editor's comment"),
    ],
)
def test_what_is_right_loads(bench: Path, old: str, new: str) -> None:
    assert load(bench, changed((old, new))).scenario


def test_a_single_whole_weight_is_a_number(bench: Path) -> None:
    text = EXAMPLE[: EXAMPLE.index("    - name: minimality")].replace("0.40", "1") + "---\n"
    assert [dimension.weight for dimension in load(bench, text).scenario.rubric.dimensions] == [1.0]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("no", 'must be text, got no, which YAML reads as false; quote it: "no"'),
        ("on", 'must be text, got on, which YAML reads as true; quote it: "on"'),
        ("010", 'must be text, got 010, which YAML reads as 8 (octal); quote it: "010"'),
        ("12:30", 'must be text, got 12:30, which YAML reads as 750 (base 60); quote it: "12:30"'),
        ("2024-01-01", 'must be text, got 2024-01-01, which YAML reads as a date; quote it: "2024-01-01"'),
        ("4.10", 'must be text, got 4.10, which YAML reads as 4.1; quote it: "4.10"'),
        ("~", 'must be text, got ~, which YAML reads as null; quote it: "~"'),
        ("null", 'must be text, got null; quote it: "null"'),
        ("7", 'must be text, got 7; quote it: "7"'),
        ("", "has no value; give it one or delete the key"),
        ("[gpt]", "must be text, got a list"),
        ("{a: b}", "must be text, got keys and values"),
        ("'  '", "must be text that is not blank, got '  '"),
        ('""', "must be text that is not blank, got ''"),
    ],
)
def test_what_yaml_makes_of_an_unquoted_text_is_said(bench: Path, written: str, message: str) -> None:
    assert [f"14: arms.0.model {message}"] == problems(bench, changed((MODEL, f"model: {written}")))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("010", "must be a whole number, got 010, which YAML reads as 8 (octal); write a plain decimal number"),
        ("1:00", "must be a whole number, got 1:00, which YAML reads as 60 (base 60); write a plain decimal number"),
        ("1e3", "must be a whole number, got 1e3, which YAML reads as text; write 1000"),
        ("08", "must be a whole number, got 08, which YAML reads as text; write 8"),
        ("'25'", "must be a whole number, got the text '25'; write 25"),
        ("25.0", "must be a whole number, got 25.0"),
        ("true", "must be a whole number, got true"),
        ("many", "must be a whole number, got 'many'"),
        ("0", "must be at least 1, got 0"),
        ("1001", "must be at most 1000, got 1001"),
    ],
)
def test_a_whole_number_is_never_converted_from_something_else(bench: Path, written: str, message: str) -> None:
    text = changed(("max_turns: 25", f"max_turns: {written}"))
    assert [f"21: budget.max_turns {message}"] == problems(bench, text)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("true", "must be a number, got true"),
        ("'300'", "must be a number, got the text '300'; write 300"),
        (".inf", "must be a finite number, got .inf, which YAML reads as Infinity"),
        (".nan", "must be a finite number, got .nan, which YAML reads as NaN"),
        ("-1", "must be more than 0, got -1"),
        (
            f"0x{'F' * 120}",
            (
                f"must be a number, got 0x{'F' * 95}..., which YAML reads as a number that cannot be held; "
                "write a plain decimal number"
            ),
        ),
    ],
)
def test_a_number_is_finite_and_no_truth_value(bench: Path, written: str, message: str) -> None:
    text = changed(("seconds: 300", f"seconds: {written}"))
    assert [f"23: budget.max_wall_clock_seconds {message}"] == problems(bench, text)


FIELDS = [
    pytest.param(
        [("policies:", "polices:")], ["24: unknown key 'polices'; did you mean 'policies'?"], id="an unknown key"
    ),
    pytest.param(
        [(MODEL, "modle: anthropic/x")],
        ["12: arms.0: missing key 'model'", "14: arms.0: unknown key 'modle'; did you mean 'model'?"],
        id="an unknown key of an arm, and what is missing for it",
    ),
    pytest.param(
        [("  max_turns", "  turns")],
        ["21: budget: unknown key 'turns'; did you mean 'max_turns'?"],
        id="an unknown key of the budget",
    ),
    pytest.param(
        [("arg_key: path", "argument: path")],
        [
            "29: policies.0.matchers.0: missing key 'arg_key'",
            "30: policies.0.matchers.0: unknown key 'argument'; known keys: tool, arg_key, op, value, not",
        ],
        id="an unknown key like no other",
    ),
    pytest.param(
        [("test_command: python3 -m pytest -q\n", "")],
        ["1: missing key 'test_command' in the frontmatter, which ends on line 46"],
        id="a missing field",
    ),
    pytest.param(
        [("      criteria: Tests pass. Bonus if the fix matches reference.\n", "")],
        ["35: rubric.dimensions.0: missing key 'criteria'"],
        id="a missing field of a dimension",
    ),
    pytest.param(
        [("policies:", "policies: []\npolicies:")],
        ["25: duplicate key 'policies', first given on line 24; keep one"],
        id="a duplicate key",
    ),
    pytest.param(
        [("    enforcement: block", "    enforcement: block\n    rule: Another.")],
        ["28: duplicate key 'policies.0.rule', first given on line 26; keep one"],
        id="a duplicate key further in",
    ),
    pytest.param(
        [("enforcement: block", "enforcement: blok")],
        ["27: policies.0.enforcement must be one of block, warn, fail, got 'blok'; did you mean 'block'?"],
        id="a choice misspelt",
    ),
    pytest.param(
        [("op: starts_with", "op: on")],
        [
            (
                "31: policies.0.matchers.0.op must be one of starts_with, ends_with, equals, contains, glob, regex, "
                "got on, which YAML reads as true"
            )
        ],
        id="a choice that YAML takes for a truth value",
    ),
    pytest.param(
        [("value: tests/", "value: tests/\n        not: 'true'")],
        ["33: policies.0.matchers.0.not must be true or false, got 'true', which is text; write true without quotes"],
        id="a quoted truth value",
    ),
    pytest.param(
        [("extra_tools: [asd, ctx]", "extra_tools: asd")],
        ["15: arms.0.extra_tools must be a list, got 'asd'; write [asd]"],
        id="a text for a list",
    ),
    pytest.param(
        [("extra_tools: [asd, ctx]", "extra_tools: [asd, Ctx]")],
        [
            (
                "15: arms.0.extra_tools.1 must be lower-case letters, digits, '.', '_' and '-', "
                "beginning with a letter or digit, got 'Ctx'"
            )
        ],
        id="a name with a capital",
    ),
    pytest.param(
        [("id: assisted", f"id: {'a' * 81}")],
        [f"12: arms.0.id must be at most 80 characters, has 81, got '{'a' * 81}'"],
        id="a name too long",
    ),
    pytest.param(
        [("  - id: assisted", "  - assisted\n  - id: assisted")],
        ["11: arms must be exactly two, got 3", "12: arms.0 must be keys and values, got 'assisted'"],
        id="three arms, one of them a text",
    ),
    pytest.param(
        [("weight: 0.40", "weight: 40")],
        [
            "34: weights must sum to 1 (within 0.001), got 40.6",
            "36: rubric.dimensions.0.weight must be at most 1, got 40",
        ],
        id="a weight in per cent",
    ),
    pytest.param(
        [("policies:\n", "policies:\nblocks: 3\nx:\n")],
        [
            "24: policies has no value; give it one or delete the key",
            (
                "26: unknown key 'x'; known keys: name, description, fixture_path, fixture_ref, test_command, "
                "test_report, reference_fix, task_prompt, arms, budget, policies, protected, network, servers, rubric, judge, "
                "blocks"
            ),
        ],
        id="a key whose content is gone",
    ),
]


@pytest.mark.parametrize(("changes", "messages"), FIELDS)
def test_a_wrong_field_is_told_with_its_line(bench: Path, changes: list[tuple[str, str]], messages: list[str]) -> None:
    assert messages == problems(bench, changed(*changes))


SYNTAX = [
    pytest.param(
        [("  max_turns", "\tmax_turns")], "21: a tab in the indentation; YAML takes only spaces there", id="a tab"
    ),
    pytest.param(
        [("  (not the", "\t(not the")],
        "10: a tab in the indentation; YAML takes only spaces there",
        id="a tab inside a text",
    ),
    pytest.param(
        [("  max_total", "   max_total")],
        "22: a second ': ' in one value; quote the text, or mend the indentation",
        id="one blank too many",
    ),
    pytest.param([("  max_turns", "    max_turns")], "22: indentation that fits no line above", id="one blank too few"),
    pytest.param(
        [("rule: Do not", "rule: Do: not")],
        "26: a second ': ' in one value; quote the text, or mend the indentation",
        id="a colon in a text",
    ),
    pytest.param(
        [("budget:", "budget")], "20: neither 'key: value' nor part of a text; mend the indentation", id="no colon"
    ),
    pytest.param([("rule: Do not", "rule: 'Do not")], "26: a quote that is never closed", id="an open quote"),
    pytest.param(
        [("[asd, ctx]", "[asd, ctx")], "15: a '[' that is never closed; close it, or quote the text", id="an open list"
    ),
    pytest.param([("value: tests/", "value: *.py")], "32: a value that begins with '*' must be quoted", id="a glob"),
    pytest.param([("value: tests/", "value: @x")], "32: a value that begins with '@' must be quoted", id="an at sign"),
    pytest.param(
        [("value: tests/", 'value: "\\d+"')],
        "32: an escape in double quotes that YAML does not have; use single quotes",
        id="a regular expression in double quotes",
    ),
    pytest.param(
        [("value: tests/", 'value: "\\0"')],
        "32: policies.0.matchers.0.value: an escape for the control character U+0000; delete it",
        id="an escaped NUL",
    ),
    pytest.param(
        [(MODEL, "model: {{ model }}")],
        "14: arms.0.model: a key must be text; quote a value that begins with '{' or '['",
        id="a template",
    ),
    pytest.param(
        [(MODEL, "model: !!python/object/apply:os.system ['false']")],
        "14: arms.0.model: tags are not taken, got 'tag:yaml.org,2002:python/object/apply:os.system'; "
        "quote the value if it is text",
        id="a tag",
    ),
    pytest.param(
        [(MODEL, "model: &m anthropic/x")],
        "14: arms.0.model: anchors are not taken, got '&m'; quote it if it is text, else delete it",
        id="an anchor",
    ),
    pytest.param(
        [(MODEL, "model: *m")],
        "14: arms.0.model: aliases are not taken, got '*m'; quote it if it is text, else write it out",
        id="an alias",
    ),
    pytest.param(
        [("budget:\n", "budget:\n  <<: {max_turns: 3}\n")],
        "21: merge keys ('<<') are not taken; write the values out",
        id="a merge key",
    ),
    pytest.param(
        [("  (not the", "--- a/store.py\n  (not the")],
        "10: a second YAML document begins; indent a text that begins with '---'",
        id="a diff header at column 0",
    ),
    pytest.param(
        [("budget:", "...\nbudget:")],
        "21: nothing above goes on like this; mend the indentation, or delete a line that is '...'",
        id="an end-of-document line",
    ),
    pytest.param(
        [("model: anthropic", "model: " + "[" * 40)],
        "14: more than 16 levels of nesting; a scenario has six",
        id="deep nesting",
    ),
]


@pytest.mark.parametrize(("changes", "message"), SYNTAX)
def test_what_is_not_yaml_is_told_in_plain_words(bench: Path, changes: list[tuple[str, str]], message: str) -> None:
    assert message in problems(bench, changed(*changes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\n---\n", "1: the frontmatter is empty; a scenario has at least a name"),
        ("---\n# nothing\n---\n", "1: the frontmatter is empty; a scenario has at least a name"),
        ("---\n- a\n---\n", "1: the frontmatter must be keys and values, got a list"),
        ("---\ntext\n---\n", "1: the frontmatter must be keys and values, got 'text'"),
        (b"\xff\xfe-\0", "1: not UTF-8 text, got UTF-16; save the file as UTF-8"),
        ("---\n#" + "x" * MAX_BYTES, f"1: too large: at most {MAX_BYTES} bytes, got {MAX_BYTES + 5}"),
    ],
)
def test_a_file_that_is_no_scenario_is_one_problem(bench: Path, text: str | bytes, message: str) -> None:
    assert [message] == problems(bench, text)


def test_a_fence_at_column_0_of_a_text_ends_the_frontmatter_and_the_message_says_where(bench: Path) -> None:
    text = changed(("  (not the", "---\n  (not the"))
    assert problems(bench, text) == [
        "1: missing key 'arms' in the frontmatter, which ends on line 10",
        "1: missing key 'rubric' in the frontmatter, which ends on line 10",
    ]


NO_TOOL = (
    "known tools: read_file, list_files, search, write_file, edit_file, bash and <server>__<tool> of an extra tool"
)
MEANING = [
    pytest.param(
        [("weight: 0.40", "weight: 0.4011")], ["34: weights must sum to 1 (within 0.001), got 1.0011"], id="weights"
    ),
    pytest.param(
        [("id: baseline", "id: assisted")], ["17: two arms are called 'assisted', the first on line 12"], id="arm ids"
    ),
    pytest.param(
        [
            (
                "rubric:\n",
                (
                    "  - {id: P1, rule: x, enforcement: warn, matchers: "
                    "[{tool: bash, arg_key: command, op: contains, value: rm}]}\nrubric:\n"
                ),
            )
        ],
        ["33: two policies are called 'P1', the first on line 25"],
        id="policy ids",
    ),
    pytest.param(
        [("name: minimality", "name: correctness")],
        ["38: two dimensions are called 'correctness', the first on line 35"],
        id="dimension names",
    ),
    pytest.param(
        [
            ("  - id: assisted", "  - id: assisted\n    baseline: true"),
            ("- id: baseline", "- id: b\n    baseline: true"),
        ],
        ["19: only one arm can be the baseline, line 13 marks one too"],
        id="two baselines",
    ),
    pytest.param(
        [("  - id: baseline\n    description: Same model, filesystem+bash only.\n    " + MODEL + "\n", "")],
        ["11: arms must be exactly two, got 1"],
        id="one arm",
    ),
    pytest.param(
        [("tool: write_file", "tool: writefile")],
        ["29: no such tool, got 'writefile'; did you mean 'write_file'?"],
        id="a tool misspelt",
    ),
    pytest.param(
        [("tool: write_file", "tool: zip")], [f"29: no such tool, got 'zip'; {NO_TOOL}"], id="an unknown tool"
    ),
    pytest.param(
        [("tool: write_file", "tool: asd__")], [f"29: no such tool, got 'asd__'; {NO_TOOL}"], id="no tool name"
    ),
    pytest.param(
        [("tool: write_file", "tool: ads__find")],
        ["29: no arm has the tool server 'ads' of the tool 'ads__find'; did you mean 'asd'?"],
        id="a tool server misspelt",
    ),
    pytest.param(
        [("tool: write_file", "tool: git__log"), ("    extra_tools: [asd, ctx]\n", "")],
        ["28: no arm has the tool server 'git' of the tool 'git__log'; arms have no extra_tools"],
        id="a tool server where there is none",
    ),
    pytest.param(
        [("arg_key: path", "arg_key: pth")],
        ["30: tool 'write_file' has no argument 'pth'; did you mean 'path'?"],
        id="an argument misspelt",
    ),
    pytest.param(
        [("tool: write_file", "tool: bash")],
        ["30: tool 'bash' has no argument 'path'; it has command, timeout"],
        id="another tool's argument",
    ),
    pytest.param(
        [("op: starts_with", "op: regex"), ("value: tests/", "value: '(a'")],
        [
            (
                "32: policies.0.matchers.0.value is not a regular expression: "
                "missing ), unterminated subpattern at position 0, got '(a'"
            )
        ],
        id="a regular expression",
    ),
    pytest.param(
        [("op: starts_with", "op: regex"), ("value: tests/", f"value: '{'(' * 3000 + ')' * 3000}'")],
        [(f"32: policies.0.matchers.0.value is not a regular expression: too deep or too large, got '{'(' * 97}...'")],
        id="a regular expression that is too deep",
    ),
    pytest.param(
        [("value: tests/", "value: ' '")],
        ["32: policies.0.matchers.0.value is empty, so every call would match; give it a value"],
        id="a path that begins with nothing",
    ),
    pytest.param(
        [("    matchers:", "    matchers: []\n    x:")],
        [
            "28: policies.0.matchers is empty; a policy needs at least one matcher",
            "29: policies.0: unknown key 'x'; known keys: id, rule, enforcement, matchers",
        ],
        id="no matchers",
    ),
    pytest.param(
        [("name: asd-vs-baseline", "name: asd")],
        ["2: name must be the file's, 'asd-vs-baseline', got 'asd'; change one of them"],
        id="the file's name",
    ),
    pytest.param(
        [("fixtures/asd-vs-baseline/repo", "fixtures/asd-vs-basline/repo")],
        ["5: fixture_path: no such folder, got 'fixtures/asd-vs-basline/repo'; did you mean 'asd-vs-baseline'?"],
        id="a fixture that is not there",
    ),
    pytest.param(
        [("fixtures/asd-vs-baseline/repo", "fixtures/asd-vs-baseline/REFERENCE_FIX.md")],
        [
            (
                "5: fixture_path: no such folder, got 'fixtures/asd-vs-baseline/REFERENCE_FIX.md'; "
                "did you mean 'REFERENCE_FIX.md'?"
            )
        ],
        id="a fixture that is a file",
    ),
    pytest.param(
        [("REFERENCE_FIX.md", "REFERENCE.md")],
        [
            (
                "7: reference_fix: no such file, got 'fixtures/asd-vs-baseline/REFERENCE.md'; "
                "did you mean 'REFERENCE_FIX.md'?"
            )
        ],
        id="a reference that is not there",
    ),
    pytest.param(
        [("fixtures/asd-vs-baseline/repo", "/etc"), ("fixtures/asd-vs-baseline/REF", "fixtures/../../REF")],
        [
            "5: fixture_path must be a path inside the bench folder, got '/etc'",
            "7: reference_fix must be a path inside the bench folder, got 'fixtures/../../REFERENCE_FIX.md'",
        ],
        id="paths out of the bench",
    ),
    pytest.param(
        [("reference_fix:", "test_report: /tmp/report.xml\nprotected: [ok, ../x]\nreference_fix:")],
        [
            "7: test_report must be a path inside the workspace, got '/tmp/report.xml'",
            "8: protected.1 must be a path inside the workspace, got '../x'",
        ],
        id="paths out of the workspace",
    ),
]


@pytest.mark.parametrize(("changes", "messages"), MEANING)
def test_what_cannot_be_meant_is_told_with_its_line(
    bench: Path, changes: list[tuple[str, str]], messages: list[str]
) -> None:
    assert messages == problems(bench, changed(*changes))


def test_a_path_too_long_for_the_system_is_not_there(bench: Path) -> None:
    path = "x" * 5000
    (message,) = problems(bench, changed(("fixtures/asd-vs-baseline/repo", path)))
    assert message.startswith("5: fixture_path: no such folder")
    assert len(message) < 200


def test_all_problems_of_a_file_come_at_once_one_line_each(bench: Path) -> None:
    text = changed(
        ("name: asd-vs-baseline", "name: asd-vs-baseline\nname: other"),
        ("test_command:", "test_comand:"),
        (MODEL, "model: no"),
        ("max_turns: 25", "max_turns: '25'"),
        ("tool: write_file", "tool: write_fil"),
        ("weight: 0.15", "weight: 0.25"),
    )
    with pytest.raises(ScenarioError) as caught:
        load(bench, text)
    file = "scenarios/asd-vs-baseline.md"
    assert [
        f"{file}:1: missing key 'test_command' in the frontmatter, which ends on line 48",
        f"{file}:3: duplicate key 'name', first given on line 2; keep one",
        f"{file}:7: unknown key 'test_comand'; did you mean 'test_command'?",
        f'{file}:15: arms.0.model must be text, got no, which YAML reads as false; quote it: "no"',
        f"{file}:22: budget.max_turns must be a whole number, got the text '25'; write 25",
        f"{file}:30: no such tool, got 'write_fil'; did you mean 'write_file'?",
        f"{file}:35: weights must sum to 1 (within 0.001), got 1.1",
        "  -> `crucible schema` describes every field; so does docs/scenarios.md of the source",
    ] == caught.value.lines()
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_file_that_cannot_be_read_is_a_problem_of_it(bench: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(bench / "scenarios/none.md", bench)
    assert str(caught.value) == "scenarios/none.md:1: cannot be read: No such file or directory"
    with pytest.raises(ScenarioError, match=r"^scenarios:1: not a file$"):
        load_scenario(bench / "scenarios", bench)
