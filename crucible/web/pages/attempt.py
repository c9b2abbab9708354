"""One attempt: how it ended and whether it counts, its scores and what they rest on, tests, change, and turns by the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from crucible.store.around import around
from crucible.store.live import not_counted
from crucible.store.queries import AttemptRecord
from crucible.store.states import attempt_state, run_state
from crucible.store.tables import ScoreRow, TestReportRow, ValidationRow
from crucible.store.timeline import Turn, attempt_head, events_of_turns, tests_before, turn_line, where_said
from crucible.web.changes import Diff, diff_lines, quoted_at
from crucible.web.site import Ask, Data, NotFound, Site
from crucible.web.turns import cut, turns_of

TURNS_A_PAGE = 20
MOST_BARS = 240
"""Turns that are drawn one by one; of more, as many together as make so many bars."""
WIDEST_BARS = 24
"""Of fewer turns each is drawn as wide as one of so many."""
OUTPUT = 20_000
_HEAD = (
    *(
        "id",
        "run_id",
        "scenario",
        "arm",
        "block",
        "retry",
        "baseline",
        "model",
        "agent",
        "rehearsal",
        "session",
        "sandbox",
    ),
    *(
        "setup",
        "servers",
        "started_at",
        "ended_at",
        "ending",
        "cause",
        "detail",
        "counted",
        "passed",
        "turns",
        "tool_calls",
    ),
    *("blocked", "warned", "got_past", "seconds", "waited_seconds", "overhead_seconds", "tokens", "cost_usd"),
    *("input_uncached", "input_cached", "cache_write", "output", "reasoning", "scripted_usage", "diff_size"),
    *("similarity", "structural", "textual", "similarity_reasons", "size_ratio"),
)


def attempt_page(site: Site, ask: Ask) -> Data:
    """`?turn=N` opens the page that holds the turn; with `full=1` that turn alone, uncut."""
    number = ask.number("attempt", "attempt")
    record = attempt_head(site.store, number)
    if record is None:
        raise NotFound(f"there is no attempt {number} in this store", hint="attempts are listed in a run's comparison")
    line = turn_line(site.store, number)
    change, reference = diff_lines(record.attempt.diff or ""), diff_lines(record.scenario.reference_text)
    return {
        "attempt": {name: getattr(record.attempt, name) for name in _HEAD},
        **_around(site, record),
        "again": _again(site, record),
        "flags": [{"kind": f.kind, "turn": f.turn, "detail": f.detail} for f in record.flags],
        **_timeline(site, record, line, ask),
        "bars": bars(line),
        "widest_bars": WIDEST_BARS,
        "change": change if record.attempt.diff is not None else None,
        "reference": reference,
        "files": [file.model_dump(exclude={"after", "attempt_id"}) for file in record.files],
        "tests": _tests(record.report, tests_before(site.store, record.scenario.hash)),
        "judge": record.judge,
        "scores": [_score(site, record, score, change) for score in record.scores],
        "total": record.total,
    }


def _around(site: Site, record: AttemptRecord) -> Data:
    """How it stands, the run's attempts before and after it, and the other arms' of its block."""
    near = around(site.store, record.attempt)
    return {
        "state": attempt_state(record.attempt.ending, run_state(near.status, near.owner)),
        "drawn": "arm-b" if record.attempt.baseline else "arm-t",
        "previous": near.before,
        "next": near.after,
        "beside": near.block,
    }


def _again(site: Site, record: AttemptRecord) -> int | None:
    """The attempt that was made in the place of one that does not count; None where there is none."""
    if record.attempt.counted is not False:
        return None
    lost = not_counted(site.store, record.attempt.run_id)
    return next((one.again for one in lost if one.attempt == record.attempt.id), None)


def _timeline(site: Site, record: AttemptRecord, line: Sequence[Turn], ask: Ask) -> Data:
    last = max((turn.turn for turn in line), default=0)
    turn = ask.count("turn", 1, max(1, last))
    full = ask.query.get("full") == "1"
    pages = max(1, -(-last // TURNS_A_PAGE))
    page = (turn - 1) // TURNS_A_PAGE + 1
    first = turn if full else (page - 1) * TURNS_A_PAGE + 1
    until = turn if full else page * TURNS_A_PAGE
    shown_from = 0 if first == 1 else first
    events = events_of_turns(site.store, record.attempt.id or 0, shown_from, until)
    return {
        "timeline": turns_of(events, full=full),
        "turn": turn,
        "first": first,
        "last": min(until, last),
        "turns": last,
        "full": full,
        "page": page,
        "pages": pages,
        "turns_a_page": TURNS_A_PAGE,
        "numbers": {one.turn: one for one in line if shown_from <= one.turn <= until},
    }


def bars(line: Sequence[Turn]) -> Data:
    """Every turn, or some together, with the largest of each measure, which the bars are drawn against."""
    each = -(-len(line) // MOST_BARS) or 1
    drawn = [_together(line[n : n + each]) for n in range(0, len(line), each)]
    return {
        "each": each,
        "turns": drawn,
        "most_tokens": max(((t.input or 0) + (t.output or 0) for t in drawn), default=0),
        "most_seconds": max((t.seconds for t in drawn), default=0.0),
    }


def _together(turns: Sequence[Turn]) -> Turn:
    if len(turns) == 1:
        return turns[0]
    sums: dict[str, Any] = {
        name: sum(getattr(t, name) for t in turns) for name in ("seconds", "calls", "failed", "blocked")
    }
    known: dict[str, Any] = {
        name: None if any(getattr(t, name) is None for t in turns) else sum(getattr(t, name) for t in turns)
        for name in ("input", "output")
    }
    return replace(turns[0], **sums, **known)


def _tests(report: TestReportRow | None, before: ValidationRow | None) -> Data | None:
    """Every test that a page needs to name, with its state before and after; those that pass both times are only counted."""
    if report is None:
        return None
    failing, passing = (set(before.failing_before), set(before.passing_before)) if before else (set(), set())
    after = {**dict.fromkeys(report.passed, "passes"), **dict.fromkeys(report.failed, "fails")}
    after |= {name: "is missing" for name in report.missing if name not in after}
    names = sorted({*after, *failing, *passing})
    rows = [
        {
            "test": name,
            "before": "fails" if name in failing else "passes" if name in passing else None,
            "after": after.get(name, "is missing"),
        }
        for name in names
    ]
    return {
        **{name: getattr(report, name) for name in ("state", "detail", "seconds", "exit_code", "control")},
        "changed": [row for row in rows if row["before"] != row["after"] or row["after"] != "passes"],
        "steady": sum(row["before"] == row["after"] == "passes" for row in rows),
        "fixed": report.fixed,
        "broke": report.broke,
        "known_before": before is not None,
        "output": cut(report.output, OUTPUT, len(report.output), full=False),
    }


def _score(site: Site, record: AttemptRecord, score: ScoreRow, change: Diff) -> Data:
    evidence = [{"quote": quote, "link": _link(site, record, quote, change)} for quote in score.evidence]
    return {**score.model_dump(exclude={"attempt_id", "judge_id", "evidence"}), "evidence": evidence}


def _link(site: Site, record: AttemptRecord, quote: str, change: Diff) -> Data | None:
    """Where the words stand: in the change, in the suite's report, or in a turn; None where they are nowhere to be found."""
    if (line := quoted_at(quote, change.lines)) is not None:
        return {"href": f"#c-{line}", "where": "in the change"}
    report = record.report
    if report is not None and quote.strip() and quote.strip() in f"{report.detail}\n{report.output}":
        return {"href": "#tests", "where": "in the suite's report"}
    if (said := where_said(site.store, record.attempt.id or 0, quote.strip())) is not None:
        return {"href": f"?turn={max(1, said[0])}#e-{said[1]}", "where": f"in turn {said[0]}"}
    return None
