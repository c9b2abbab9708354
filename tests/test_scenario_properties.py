"""Whatever the bytes: a scenario, or a ScenarioError with lines that the file has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crucible.errors import ScenarioError
from crucible.scenario.docs_text import EXAMPLE
from crucible.scenario.load import LoadedScenario, load_scenario
from crucible.scenario.scalars import Misread, read_plain
from crucible.scenario.tree import read_tree

PRINTABLE = st.characters(codec="utf-8", categories=["L", "M", "N", "P", "S", "Zs"])
TEXT = st.text(PRINTABLE | st.sampled_from("\n: #-'\"\\|>{}[]&*!%@`~"), min_size=1, max_size=60)
SENTENCE = TEXT.filter(str.strip)
SNIPPETS = st.sampled_from(
    [
        *("---", "----", "- ", ": ", "\t", "\r", "\n", "  ", "? ", "...", "#", "%YAML 1.2", "<<: ", "|\n"),
        *("!!x ", "&a ", "*a", "{", "[", "]", "}", "'", '"', "\ufeff", "\u2028", "\x85", "\0", "\x1b", "é"),
        *("null", "no", "010", "12:30", "1e3", "2024-13-45", ".inf", "0x_"),
        *("name: ", "arms:\n", "weight: ", "matchers:\n", "tool: bash", "value: ("),
    ]
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bench = tmp_path_factory.mktemp("bench")
    (bench / "fixtures/asd-vs-baseline/repo").mkdir(parents=True)
    (bench / "fixtures/asd-vs-baseline/REFERENCE_FIX.md").touch()
    return bench


def load(bench: Path, data: bytes) -> LoadedScenario:
    path = bench / "asd-vs-baseline.md"
    path.write_bytes(data)
    return load_scenario(path, bench)


def lines_and_problems(bench: Path, data: bytes) -> tuple[Iterable[int], Sequence[str]]:
    try:
        return load(bench, data).lines.values(), ()
    except ScenarioError as error:
        return [problem.line for problem in error.problems], [str(problem) for problem in error.problems]


def holds(bench: Path, data: bytes) -> None:
    """Load, or raise ScenarioError; either way every line is one of the file's and every problem is one line."""
    lines, problems = lines_and_problems(bench, data)
    last = data.count(b"\n") + 1
    assert lines
    assert all(1 <= line <= last for line in lines)
    assert all(problem.isprintable() for problem in problems)
    assert len(set(problems)) == len(problems)


@given(st.binary(max_size=300))
def test_any_bytes_load_or_are_refused_with_lines_of_the_file(bench: Path, data: bytes) -> None:
    holds(bench, data)


@given(st.lists(SNIPPETS | TEXT, max_size=30), st.sampled_from(["\n", "\r\n"]))
def test_any_yaml_like_text_loads_or_is_refused_with_lines_of_the_file(
    bench: Path, parts: list[str], newline: str
) -> None:
    holds(bench, f"---{newline}{''.join(parts)}{newline}---{newline}".encode())


@given(st.data())
def test_an_example_with_anything_put_in_loads_or_is_refused_with_lines_of_the_file(
    bench: Path, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(EXAMPLE)))
    end = data.draw(st.integers(start, min(len(EXAMPLE), start + 12)))
    holds(bench, (EXAMPLE[:start] + data.draw(SNIPPETS | TEXT) + EXAMPLE[end:]).encode())


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """A valid scenario as data: the example with wild text and numbers wherever a field takes them."""
    scenario: dict[str, Any] = yaml.safe_load(EXAMPLE.split("---\n")[1])
    for key in ("description", "task_prompt", "test_command"):
        scenario[key] = draw(SENTENCE)
    for arm in scenario["arms"]:
        arm |= {"model": draw(SENTENCE), "system_prompt": draw(SENTENCE)}
    scenario["budget"] = {"max_turns": draw(st.integers(1, 1000)), "max_wall_clock_seconds": draw(st.floats(0.1, 1e6))}
    scenario["network"] = draw(st.booleans())
    scenario["policies"][0]["rule"] = draw(SENTENCE)
    return scenario


def written(draw: st.DrawFn, scenario: dict[str, Any]) -> str:
    """The same data in one of the ways YAML is written: block style, wide or narrow, or as JSON."""
    if draw(st.booleans()):
        return json.dumps(scenario, ensure_ascii=False, indent=1) + "\n"
    return yaml.safe_dump(scenario, allow_unicode=draw(st.booleans()), width=draw(st.sampled_from([20, 80, 10_000])))


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_valid_frontmatter_means_the_same_with_any_line_end_mark_and_trailing_blanks(
    bench: Path, data: st.DataObject
) -> None:
    scenario = data.draw(scenarios())
    text = data.draw(st.composite(written)(scenario))
    plain = load(bench, f"---\n{text}---\n".encode()).scenario
    assert scenario["task_prompt"] == plain.task_prompt
    assert scenario["arms"][0]["system_prompt"] == plain.arms[0].system_prompt
    assert scenario["budget"]["max_wall_clock_seconds"] == plain.budget.max_wall_clock_seconds
    blanks, mark = data.draw(st.sampled_from(["", " ", " \t"])), data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    end = data.draw(st.sampled_from(["", "\n", "\n\nbody\n---\n"]))
    varied = f"---{blanks}\n{text}---{blanks}{end}"
    if data.draw(st.booleans()):
        varied = varied.replace("\n", "\r\n")
    assert plain == load(bench, mark + varied.encode()).scenario


@given(st.text("0123456789_:.+-eExboyntruefalshNI~", max_size=150))
def test_an_unquoted_scalar_is_what_pyyaml_makes_of_it_or_is_marked_as_misread(text: str) -> None:
    value = read_plain(text)
    if not isinstance(value, Misread):
        loader = yaml.SafeLoader("")
        tag = loader.resolve(yaml.ScalarNode, text, (True, False))
        expected = loader.construct_object(yaml.ScalarNode(tag, text))
        assert repr(expected) == repr(value)


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ():
        yield from keys(inner)


@given(st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), st.text("xyz \n", max_size=9), max_size=8))
def test_the_line_of_a_key_is_the_line_it_stands_on(fields: dict[str, str]) -> None:
    text = yaml.safe_dump({"k": fields}, default_flow_style=False)
    tree = read_tree(text, 2)
    standing = dict(enumerate(text.split("\n"), start=2))
    assert {"k", *fields} == set(keys(tree.root))
    for key in fields:
        assert standing[tree.line(("k", key))].lstrip(" '?").startswith(key)
