"""The fences of a scenario file: what is one, what is not, and that nothing is ever taken for an empty scenario."""

from __future__ import annotations

import pytest

from crucible.errors import ScenarioError
from crucible.scenario.frontmatter import Frontmatter, decode, split


def read(data: bytes) -> Frontmatter:
    return split(decode(data, "x.md"), "x.md")


def refusal(data: bytes) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        read(data)
    return caught.value.lines()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"---\na: b\n---\nbody\n", "a: b\n", id="LF"),
        pytest.param(b"---\r\na: b\r\n---\r\nbody\r\n", "a: b\r\n", id="CRLF"),
        pytest.param(b"\xef\xbb\xbf---\na: b\n---\n", "a: b\n", id="a byte order mark"),
        pytest.param(b"--- \t\na: b\n---  \n", "a: b\n", id="blanks after the dashes"),
        pytest.param(b"---\na: b\n---", "a: b\n", id="the file ends with the closing fence"),
        pytest.param(b"---\na: b\n---\n\n---\n", "a: b\n", id="a rule in the body"),
        pytest.param(b"---\na: |\n  ---\n  b\n---\n", "a: |\n  ---\n  b\n", id="an indented fence is text"),
        pytest.param(b"---\na: b\n--- a/x.py\n---\n", "a: b\n--- a/x.py\n", id="text after the dashes is no fence"),
        pytest.param(b"---\na: b\n--\n---\n", "a: b\n--\n", id="two dashes are no fence"),
        pytest.param(b"---\n---\n", "", id="nothing between"),
        pytest.param("---\na: \u2028b\n---\n".encode(), "a: \u2028b\n", id="other line separators are text"),
    ],
)
def test_the_yaml_is_what_stands_between_the_fences(data: bytes, text: str) -> None:
    assert Frontmatter(text, 2) == read(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "x.md:1: the file is empty; a scenario begins with a line that is exactly '---'", id="empty"),
        pytest.param(
            b"\n \r\n", "x.md:1: the file is empty; a scenario begins with a line that is exactly '---'", id="blank"
        ),
        pytest.param(
            b"# Title\n", "x.md:1: no frontmatter: the first line must be exactly '---', got '# Title'", id="no fence"
        ),
        pytest.param(
            b"\n\n---\na: b\n---\n",
            "x.md:1: no frontmatter: the first line must be exactly '---', got ''; "
            "delete what stands before the '---' of line 3",
            id="blank lines above",
        ),
        pytest.param(
            b" ---\na: b\n---\n",
            "x.md:1: no frontmatter: the first line must be exactly '---', got ' ---'; "
            "a fence has nothing before or after it",
            id="an indented first fence",
        ),
        pytest.param(
            b"--- yaml\na: b\n---\n",
            "x.md:1: no frontmatter: the first line must be exactly '---', got '--- yaml'; "
            "a fence has nothing before or after it",
            id="text on the first fence",
        ),
        pytest.param(
            b"----\na: b\n----\n", "x.md:1: a fence has three dashes, got '----'; write '---'", id="four dashes open"
        ),
        pytest.param(
            b"---\na: b\n----\nbody\n---\n",
            "x.md:3: a fence has three dashes, got '----'; write '---'",
            id="four dashes close, though a rule stands in the body",
        ),
        pytest.param(
            b"---\na: b\n",
            "x.md:1: the frontmatter that begins here never ends; close it with a line that is just '---'",
            id="unclosed",
        ),
        pytest.param(
            b"---\na: |\n  x\n  ---\n",
            "x.md:1: the frontmatter that begins here never ends; close it with a line that is just '---'",
            id="closed only inside a text",
        ),
        pytest.param(
            b"---\r\na: caf\xe9\r\n---\r\n",
            "x.md:2: not UTF-8 text, got byte 0xe9; save the file as UTF-8",
            id="Latin-1",
        ),
        pytest.param(
            "---\na: b\n---\n".encode("utf-16"),
            "x.md:1: not UTF-8 text, got UTF-16; save the file as UTF-8",
            id="UTF-16",
        ),
        pytest.param(
            b"---\na: b\n---\n\n\0", "x.md:5: a NUL byte; save the file as UTF-8 text", id="a NUL byte in the body"
        ),
        pytest.param(
            b"---\n# x\na: \x07\n---\n", "x.md:3: a control character, got U+0007; delete it", id="a control character"
        ),
    ],
)
def test_a_file_without_two_fences_around_text_is_refused_with_its_line(data: bytes, message: str) -> None:
    assert [message] == refusal(data)
