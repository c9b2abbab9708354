"""JSON values are found in whatever an agent printed, and what could have been one and cannot be read is told."""

from __future__ import annotations

import json

import pytest

from crucible.transcript.readers import read_transcript
from crucible.transcript.readers.scan import DEPTH_CAP, LINE_CAP, Scan
from tests.transcript.samples import CLAUDE, CLAUDE_RESULT, GEMINI_JSON, lines, whole


@pytest.mark.parametrize(
    ("data", "values", "skipped"),
    [
        (b'{"a":1}', [{"a": 1}], 0),
        (b'{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}], 0),
        (b'{"a":1}{"a":2} [3]\n', [{"a": 1}, {"a": 2}, [3]], 0),
        (b"\n\n  \n", [], 0),
        (b'starting\n{"a":1}\nLoaded 3 tools\n', [{"a": 1}], 2),
        (b'{"a":1} done\n', [{"a": 1}], 1),
        (b'\x1b[2K\x1b[1G{"a":1}\x1b[?25h\n{"a":2}\n', [{"a": 1}, {"a": 2}], 0),
        (b'{\n  "a": 1\n}\n', [{"a": 1}], 0),
        (b'log\n{\n  "a": 1\n}\nlog\n[\n  {\n    "b": 2\n  }\n]\n', [{"a": 1}, [{"b": 2}]], 2),
        (b'{\n  error: "x"\n}\n{"a":1}\n', [{"a": 1}], 3),
        (b'{\nnever closed\n{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}], 2),
        (b'[INFO] ready\n123\n"text"\nnull\n', [], 4),
        (b'{"a":"\xff\xe2\x80\xa8"}\n', [{"a": "\ufffd\u2028"}], 0),
        (b'{"a":"tab\there"}\n', [{"a": "tab\there"}], 0),
        (b'{"a":NaN,"b":-Infinity,"c":1e400}\n', [{"a": "NaN", "b": "-Infinity", "c": "1e400"}], 0),
    ],
)
def test_values_are_found_and_the_rest_is_counted(data: bytes, values: list[object], skipped: int) -> None:
    scan = Scan(data)
    assert (values, skipped) == (list(scan), scan.skipped)
    assert values == list(scan), "a second pass finds the same"


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"del',
        b'Loading...{"type":"tool_use","tool_name":"delete"}',
        b'{"a":1}{"type":"tool_use","tool_na',
        b'{"type":"x","n":' + b"9" * 5000 + b"}",
        b'{"type":"x","n":' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"type":"x","n":' + b"[" * 100_000,
        b'{\n  "type": "tool_use",\n  "tool_name": \n}',
        b'{"pad":"' + b"x" * LINE_CAP + b'"}',
    ],
    ids=["torn", "behind a log", "glued", "number", "deep", "deeper", "block", "long"],
)
def test_a_line_that_may_have_been_a_call_and_cannot_be_read_makes_the_run_invalid(line: bytes) -> None:
    """Before the end it may have hidden the forbidden call; after it nothing can."""
    before, after = lines(*CLAUDE[:3]), lines(*CLAUDE[3:])
    run = read_transcript(before + line + b"\n" + after)
    assert not run.valid
    assert "line" in (run.reason or "")
    assert read_transcript(before + after + line + b"\n").valid


def test_long_noise_is_only_noise() -> None:
    run = read_transcript(b"x" * (LINE_CAP + 1) + b"\n" + lines(*CLAUDE))
    assert (True, 1) == (run.valid, run.skipped_lines)


def test_logs_around_a_document_do_not_spoil_it() -> None:
    data = b"Loaded cached credentials.\n" + whole(GEMINI_JSON) + b'[dep] {"type": "warn\n'
    run = read_transcript(data)
    assert (True, 2, "Archived T-1.") == (run.valid, run.skipped_lines, run.final_text)


def test_the_depth_that_is_read_can_be_written_again() -> None:
    deep = json.loads("[" * (DEPTH_CAP - 2) + "]" * (DEPTH_CAP - 2))
    assert [{"a": deep}] == list(Scan(lines({"a": deep})))
    assert [] == list(Scan(lines({"a": [[deep]]})))


@pytest.mark.slow
def test_a_hundred_megabytes_are_read_line_by_line() -> None:
    """Noise, many events and long lines: nothing is lost, and the cut is seen at the very end."""
    noise = (b"downloading everything there is to download, " * 12 + b"\n") * 100_000
    event = lines({"type": "system", "subtype": "status", "pad": "y" * 500_000})
    data = lines(*CLAUDE[:-1]) + noise + event * 100 + lines(CLAUDE_RESULT)
    assert len(data) > 100_000_000
    run = read_transcript(data)
    assert (True, 100_000) == (run.valid, run.skipped_lines)
    assert not read_transcript(data[:-2]).valid


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", [b"{", b"[", b"{\n", b"[\n", b'{"a":1,\n', b"{}", b"[[1,\n2],\n", b'{"a":', b"\\", b"\x1b["]
)
def test_brackets_without_end_take_no_more_than_linear_time(piece: bytes) -> None:
    """Half a megabyte of each; were it quadratic, this would not come back."""
    run = read_transcript(piece * (500_000 // len(piece)))
    assert not run.valid
