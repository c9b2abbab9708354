"""Which format some output is of, and what may be asked of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from crucible.errors import UsageError
from crucible.transcript.readers import FORMATS, Carries, ReadError, detect, read_transcript, require
from tests.transcript.samples import CLAUDE, CLAUDE_RESULT, CODEX, GEMINI, SAMPLES, lines

DOCS = Path(__file__).parents[2] / "docs" / "transcripts.md"


@pytest.mark.parametrize("data", [b"[]", b" [ ]\n"])
def test_what_could_be_two_formats_is_refused_with_both(data: bytes) -> None:
    with pytest.raises(ReadError, match="could be openai-chat or openai-responses"):
        read_transcript(data)


def test_two_agents_in_one_output_are_refused() -> None:
    with pytest.raises(ReadError, match="claude-stream or codex or gemini-stream"):
        detect(lines(*CLAUDE, *CODEX, *GEMINI))


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses"])
def test_naming_the_format_settles_it(name: str) -> None:
    assert not read_transcript(b"[]", name).valid


def test_a_format_that_does_not_exist_names_the_nearest() -> None:
    with pytest.raises(ReadError, match="no transcript format 'claude-steam'; did you mean 'claude-stream'") as error:
        read_transcript(b"{}", "claude-steam")
    assert 2 == error.value.exit_code
    assert "codex" in (error.value.hint or "")


def test_output_of_another_format_than_was_said_is_told() -> None:
    run = read_transcript(SAMPLES["codex"], "claude-stream")
    assert not run.valid
    assert "read as claude-stream, it looks like codex" in (run.reason or "")


def test_a_lone_result_read_as_a_stream_has_no_calls_rather_than_none_made() -> None:
    """`--output-format json` where a stream was promised: a forbidden call would seem not to have been made."""
    run = read_transcript(lines(CLAUDE_RESULT), "claude-stream")
    assert (False, None) == (run.valid, run.calls)


def test_a_result_after_many_events_is_still_the_stream_s() -> None:
    assert "claude-stream" == detect(lines(*CLAUDE))
    assert "claude-json" == detect(lines(CLAUDE_RESULT))


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"a": 1}', b"null", b"[1, 2]", b"[{}]", b"hello", b'{"type": "result"}']
)
def test_output_of_no_format_is_of_none_and_a_run_that_does_not_count(data: bytes) -> None:
    assert detect(data) is None
    assert read_transcript(data).reason


def test_the_reason_shows_how_the_output_began() -> None:
    reason = read_transcript(b"agent: no such option --jsn\nusage: agent\n", exit_code=2).reason or ""
    assert "41 bytes that begin with 'agent: no such option --jsn' (exit code 2)" in reason


def test_tool_checks_on_claude_json_are_refused_with_the_flag_to_use() -> None:
    with pytest.raises(UsageError) as error:
        require("claude-json", Carries.TOOLS)
    assert "claude-json carries no tool calls; run with --output-format stream-json --verbose" == error.value.message


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("gemini-json", Carries.ORDER),
        ("gemini-json", Carries.ARGUMENTS),
        ("codex", Carries.COST),
        ("otel", Carries.COST),
    ],
)
def test_what_a_format_cannot_say_is_refused_with_what_can(name: str, what: Carries) -> None:
    with pytest.raises(UsageError, match=r"carries no .*; (run with|formats that carry it: claude-stream)"):
        require(name, what)


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_format_carries_may_be_asked_of_it(name: str) -> None:
    for what in FORMATS[name].carries | FORMATS[name].sometimes:
        require(name, what)


def test_the_documented_table_is_the_one_in_the_code() -> None:
    """One row a format: yes, when recorded, or no, in the order of `Carries`."""
    words = {True: "yes", None: "recorded", False: "no"}
    for known in FORMATS.values():
        cells = [words[True if w in known.carries else None if w in known.sometimes else False] for w in Carries]
        assert f"| `{known.name}` | {' | '.join(cells)} |" in DOCS.read_text("utf-8")
