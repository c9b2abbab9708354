"""One stored attempt for a terminal: timeline, change beside reference, tests, scores with their evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crucible.report.went import went
from crucible.report.words import dollars, number
from crucible.store.queries import AttemptRecord
from crucible.transcript.events import EVENT, Answered, Decided, Ended, Equipped, Event, Noted, Replied, Started

SHORT = 160
LINES = 12


def attempt_text(record: AttemptRecord, *, full: bool = False) -> str:
    """The whole attempt as text. `full` shows tool results and replies uncut."""
    parts = [
        _head(record),
        *_flags(record),
        *_timeline(record, full),
        *_change(record),
        *_tests(record),
        *_scores(record),
    ]
    return "\n".join(parts)


def _head(record: AttemptRecord) -> str:
    a = record.attempt
    counted = "counted" if a.counted else f"not counted ({a.cause})" if a.ending else "running"
    rehearsal = f"\nREHEARSAL: scripted session {a.session!r}; no model was asked." if a.rehearsal else ""
    return (
        f"attempt {a.id}: {a.scenario}, arm {a.arm}, block {a.block} of run {a.run_id}, model {a.model}, {a.sandbox}\n"
        f"ended: {a.ending or '-'}, cause {a.cause or '-'}, {counted}. {a.detail}\n"
        f"{number(a.turns, 0)} turns, {number(a.tool_calls, 0)} calls, {number(a.tokens, 0)} tokens, "
        f"cost {dollars(a.cost_usd)}, {number(a.seconds, 1)} s (+{number(a.waited_seconds, 1)} s waiting){rehearsal}"
    )


def _flags(record: AttemptRecord) -> Iterator[str]:
    """What a reader must know before the score, and who was stopped by a rule how often."""
    a = record.attempt
    if a.blocked or a.warned or a.got_past:
        yield f"calls blocked {number(a.blocked, 0)}, warned {number(a.warned, 0)}, got past {number(a.got_past, 0)}"
    for flag in record.flags:
        yield f"flagged: {flag.kind}: {f'turn {flag.turn} ' if flag.turn else ''}`{flag.detail}`"


def _timeline(record: AttemptRecord, full: bool) -> Iterator[str]:
    yield "\nTimeline"
    for row in record.events:
        event = EVENT.validate_json(row.data)
        yield from (f"  {line}" for line in _event(event, full).split("\n"))


def _event(event: Event, full: bool) -> str:
    at = f"{event.at:7.2f}s"
    match event:
        case Equipped():
            really = [f"{name}: {what}" for name, what in event.servers.items()] + (
                [event.agent] if event.agent else []
            )
            return f"{at} brought {', '.join(really)} (started in {event.seconds:.1f} s)"
        case Started():
            return f"{at} start   tools: {', '.join(event.tools)}"
        case Replied():
            return f"{at} turn {event.turn:<3}{_cut(event.text, full)}"
        case Decided():
            return f"{at}   ! {event.action} by {event.policy_id}: {event.detail}"
        case Answered():
            arguments = "(unreadable)" if event.arguments is None else json.dumps(event.arguments, ensure_ascii=False)
            status = went(event).words
            return f"{at}   {event.tool} {_cut(arguments, full)}\n{'':9}  -> {status}: {_cut(event.text, full)}"
        case Noted():
            return f"{at}   note {event.what}: {event.detail}"
        case Ended():
            return f"{at} end     {event.ending} ({event.cause})"


def _cut(text: str, full: bool) -> str:
    if full:
        return text.replace("\n", f"\n{'':11}")
    line = " / ".join(part.strip() for part in text.strip().splitlines() if part.strip())
    return line if len(line) <= SHORT else f"{line[:SHORT]} ..."


def _change(record: AttemptRecord) -> Iterator[str]:
    a = record.attempt
    yield f"\nChange ({number(a.diff_size, 0)} bytes of diff)"
    nothing = "  not known: the attempt did not get that far" if a.diff is None else "  nothing was changed"
    yield from (a.diff or nothing).rstrip("\n").split("\n")
    for file in record.files:
        if file.left_out:
            yield f"  left out of grading: {file.path} ({file.left_out})"
    yield "\nReference"
    yield record.scenario.reference_text.rstrip("\n")
    yield (
        f"\nLike the reference: {number(a.similarity)} (structural {number(a.structural)}, textual {number(a.textual)}; "
        f"{number(a.size_ratio)} times its size)"
    )
    yield from (f"  {reason}" for reason in a.similarity_reasons)


def _tests(record: AttemptRecord) -> Iterator[str]:
    report = record.report
    yield "\nTests"
    if report is None:
        yield "  not graded"
        return
    yield f"  {report.state}: {report.detail} ({report.seconds:.2f} s)"
    for title, ids in (("fixed", report.fixed), ("broke", report.broke), ("still failing", _still(report))):
        if ids:
            yield f"  {title} ({len(ids)}): {', '.join(ids[:LINES])}{' ...' if len(ids) > LINES else ''}"


def _still(report: Any) -> list[str]:
    return sorted(set(report.missing) - set(report.broke))


def _scores(record: AttemptRecord) -> Iterator[str]:
    judge = f"{record.judge.model}, version {record.judge.id}" if record.judge else "none yet"
    yield f"\nScores (judge: {judge})"
    for score in record.scores:
        value = f"{score.value:.2f}" if score.value is not None else f"not scored: {score.reason}"
        yield f"  {score.dimension:<20} weight {score.weight:.2f}  {value}"
        if score.raw is not None and score.raw != score.value:
            yield f"    raw {score.raw:.2f}; " + "; ".join(
                f"clamped to {c['cap']:.2f}: {c['why']}" for c in score.clamps
            )
        if len(score.samples) > 1:
            yield f"    samples {score.samples}"
        yield from (f"    > {quote}" for quote in score.evidence)
        if score.reasoning:
            yield f"    {score.reasoning}"
    if record.total is not None:
        total = record.total
        missing = f"; missing {', '.join(total.missing)}" if total.missing else ""
        known = f"{total.value:.2f}" if total.value is not None else f"not known; partial {number(total.partial)}"
        yield from (f"  the judge did not see all: {cut}" for cut in total.cuts)
        yield f"  total {known} (weight scored {total.weight_scored:.2f}{missing})"


def attempt_dict(record: AttemptRecord) -> dict[str, Any]:
    """The whole attempt for JSON; bytes of files are left to the store."""
    return {
        "attempt": record.attempt.model_dump(),
        "scenario": {"hash": record.scenario.hash, "name": record.scenario.name},
        "flags": [row.model_dump(exclude={"attempt_id"}) for row in record.flags],
        "events": [json.loads(row.data) for row in record.events],
        "files": [row.model_dump(exclude={"after"}) for row in record.files],
        "reference": record.scenario.reference_text,
        "tests": record.report.model_dump() if record.report else None,
        "judge": record.judge.model_dump() if record.judge else None,
        "scores": [row.model_dump() for row in record.scores],
        "total": record.total.model_dump() if record.total else None,
        "judgements": [row.model_dump() for row in record.judgements],
    }
