"""The smallest finished run of every format: what each carries is read, and what it does not is unknown."""

from __future__ import annotations

import json

import pytest

from crucible.transcript.neutral import UNKNOWN, NeutralCall, NeutralTokens
from crucible.transcript.readers import FORMATS, Carries, detect, read_transcript
from tests.transcript.samples import ANSWER, ASKED, SAMPLES, lines

WORKED = NeutralCall("archive", ASKED, ok=True, result="ok")
FAILED = NeutralCall("archive", ASKED, ok=False, result="locked")
BARE = NeutralCall("archive", ok=True)
CALLS: dict[str, tuple[NeutralCall, ...] | None] = {
    "claude-stream": (WORKED, FAILED),
    "claude-json": None,
    "codex": (NeutralCall("board.archive", ASKED, True, "ok"), NeutralCall("board.archive", ASKED, False, "locked")),
    "gemini-stream": (WORKED, FAILED),
    "gemini-json": None,
    "mini-swe-agent": (
        NeutralCall("bash", {"command": "ls"}, True, "ok"),
        NeutralCall("bash", {"command": "cat x"}, False, "locked"),
    ),
    "openhands": (WORKED, FAILED),
    "openai-chat": (NeutralCall("archive", ASKED, True, "first"), NeutralCall("archive", ASKED, True, "second")),
    "openai-responses": (WORKED,),
    "otel": (WORKED, FAILED),
    "tool-names": (BARE, BARE),
}
TOKENS = {
    "claude-stream": NeutralTokens(5, 7, 90),
    "claude-json": NeutralTokens(5, 7, 90),
    "codex": NeutralTokens(95, 7, 90),
    "gemini-stream": NeutralTokens(95, 7, 90),
    "gemini-json": NeutralTokens(5, 7, 90),
    "openai-responses": NeutralTokens(95, 7, 90),
    "otel": NeutralTokens(100, 6),
}


def test_every_format_has_a_sample() -> None:
    """A reader without a test of its own is not one."""
    assert set(FORMATS) == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_finished_run_is_read(name: str) -> None:
    """Calls, answer and tokens, and that it counts."""
    run = read_transcript(SAMPLES[name])
    assert name == detect(SAMPLES[name])
    assert CALLS[name] == run.calls
    assert ANSWER == run.final_text
    assert TOKENS.get(name) == run.tokens
    assert (True, True, None, 0) == (run.valid, run.complete, run.reason, run.skipped_lines)


@pytest.mark.parametrize("name", SAMPLES)
def test_what_a_format_carries_is_what_is_read(name: str) -> None:
    """What a format is said not to carry is unknown in its sample, and what it always carries is there."""
    run, known = read_transcript(SAMPLES[name]), FORMATS[name]
    there = {
        Carries.TOOLS: run.calls is not None or run.tool_counts is not None,
        Carries.ORDER: run.calls is not None,
        Carries.ARGUMENTS: bool(run.calls) and all(call.args is not UNKNOWN for call in run.calls or ()),
        Carries.RESULTS: bool(run.calls) and all(call.result is not None for call in run.calls or ()),
        Carries.TEXT: run.final_text is not UNKNOWN,
        Carries.TOKENS: run.tokens is not None,
        Carries.COST: run.cost_usd is not None,
        Carries.TURNS: run.turns is not None,
    }
    for what, found in there.items():
        assert found or what not in known.carries, what
        assert not found or what in known.carries | known.sometimes, what


@pytest.mark.parametrize("name", SAMPLES)
def test_one_line_crlf_bom_and_utf16_change_nothing(name: str) -> None:
    """How a shell or an editor wrote the bytes is not what the agent did."""
    data = SAMPLES[name]
    expected = read_transcript(data)
    assert expected == read_transcript(data.replace(b"\n", b"\r\n"))
    assert expected == read_transcript(b"\xef\xbb\xbf" + data)
    assert expected == read_transcript(data.decode().encode("utf-16"))
    if name not in ("claude-stream", "codex", "gemini-stream", "openhands"):
        assert expected == read_transcript(lines(json.loads(data)))
