"""A person scores attempts blind, and the agreement with the judge is shown.

They see what a judge sees: no arm, no model, no cost, no judge's score, and no number of an attempt, until they have said
what they think.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import SystemRandom
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException

from crucible.errors import nearest
from crucible.judging.types import TOP_SCORE
from crucible.report.agreement import FEWEST, Agreement, agreement, as_label
from crucible.report.agreement_text import agreement_lines
from crucible.report.words import percent
from crucible.runner.judge import SCRIPTED
from crucible.runner.labelling import SCALE, pick, question
from crucible.store.labels import JudgedScore, Label, add_label, judged_scores, label_row, labels, take_back_label
from crucible.store.queries import attempt_row, run_record
from crucible.web.desk import Ticket
from crucible.web.guard import same_token
from crucible.web.site import LARGEST_ID, Ask, Data, NotFound, Site

if TYPE_CHECKING:
    from fastapi import FastAPI

ANCHORS = tuple(tuple(anchor.split(" ", 1)) for anchor in SCALE.split(", "))
CANNOT_SAY = "s"
LONGEST_NAME, LARGEST_FORM = 80, 8_192


@dataclass(frozen=True)
class _Chosen:
    """What is scored, and by whom."""

    run: int | None
    dimension: str | None
    labeller: str

    def query(self, **more: Any) -> dict[str, str]:
        said = {"run": self.run, "dimension": self.dimension, "labeller": self.labeller, **more}
        return {name: str(value) for name, value in said.items() if value not in (None, "")}


def review_page(site: Site, ask: Ask) -> Data:
    """`/review?run=N&dimension=NAME&labeller=NAME`. Scoring needs a site that was started to be written to."""
    scores = _scores(site, ask)
    chosen = _chosen(ask, scores)
    known = labels(site.store, chosen.run)
    mine = [score for score in scores if chosen.dimension in (None, score.dimension)]
    scoring = not site.read_only and bool(chosen.labeller) and bool(mine)
    ticket = _ticket(site, chosen, mine, known) if scoring else None
    return {
        "run": chosen.run,
        "dimension": chosen.dimension,
        "labeller": chosen.labeller,
        "me": _me(),
        "dimensions": sorted({score.dimension for score in scores}),
        "judged": len(mine),
        "labelled": _labelled(mine, known, chosen.labeller),
        "scripted": any(score.judge == SCRIPTED for score in mine),
        "scoring": scoring,
        "asked": _asked(site, ticket),
        "last": _last(site, ask, scores) if scoring else None,
        "anchors": ANCHORS,
        "agreement": [_agreement(one) for one in agreement(scores, known)],
        "fewest": FEWEST,
    }


def _scores(site: Site, ask: Ask) -> list[JudgedScore]:
    run = _run(ask)
    if run is not None and run_record(site.store, run) is None:
        raise NotFound(f"there is no run {run} in this store", hint="runs are listed under Runs")
    return judged_scores(site.store, run)


def _run(ask: Ask) -> int | None:
    said = ask.query.get("run", "").strip()
    if not said:
        return None
    if not (said.isascii() and said.isdigit()) or int(said) > LARGEST_ID:
        raise NotFound(f"there is no run {said[:40]!r} in this store", hint="runs are listed under Runs")
    return int(said)


def _chosen(ask: Ask, scores: Sequence[JudgedScore]) -> _Chosen:
    dimension = ask.query.get("dimension") or None
    known = sorted({score.dimension for score in scores})
    if dimension is not None and scores and dimension not in known:
        raise NotFound(
            f"no judged dimension {dimension[:80]!r}{nearest(dimension, known)}", hint=f"judged: {', '.join(known)}"
        )
    return _Chosen(_run(ask), dimension, ask.query.get("labeller", "").strip()[:LONGEST_NAME])


def _ticket(site: Site, chosen: _Chosen, scores: Sequence[JudgedScore], known: Sequence[Label]) -> Ticket | None:
    def next_one() -> JudgedScore | None:
        return next(iter(pick(scores, known, chosen.labeller, 1, SystemRandom())), None)

    return site.desk.hand((chosen.labeller, chosen.run, chosen.dimension), next_one)


def _asked(site: Site, ticket: Ticket | None) -> Data | None:
    """What is shown of the attempt. Its number stays here."""
    if ticket is None:
        return None
    shown = question(site.store, ticket.score)
    return {
        "ticket": ticket.number,
        "dimension": shown.dimension,
        "criteria": shown.criteria,
        "parts": [{"name": part.name, "text": part.text.rstrip(), "cut": part.cut} for part in shown.evidence.parts],
    }


def _labelled(scores: Sequence[JudgedScore], known: Sequence[Label], labeller: str) -> int:
    here = {(score.attempt_id, score.dimension) for score in scores}
    return sum(label.labeller == labeller and (label.attempt_id, label.dimension) in here for label in known)


def _last(site: Site, ask: Ask, scores: Sequence[JudgedScore]) -> Data | None:
    """The label given just now; what it was of only once that was asked for."""
    number = ask.count("last", 0, LARGEST_ID)
    row = label_row(site.store, number) if number and site.desk.standing(number) else None
    if row is None:
        return None
    said: Data = {
        "label": number,
        "value": row.value,
        "dimension": row.dimension,
        "revealed": site.desk.revealed(number),
    }
    if not said["revealed"]:
        return said
    attempt = attempt_row(site.store, row.attempt_id)
    judged = next((s for s in scores if (s.attempt_id, s.dimension) == (row.attempt_id, row.dimension)), None)
    return {
        **said,
        **{name: getattr(attempt, name) for name in ("id", "arm", "model", "run_id", "cost_usd", "passed")},
        "judge": judged.judge if judged else None,
        "judge_score": judged.value if judged else None,
        "judge_label": as_label(judged.value) if judged else None,
    }


def _agreement(one: Agreement) -> Data:
    lines = [line.strip() for line in agreement_lines([one]) if line.strip()]
    table = len(one.table) + 1
    return {
        **one.as_dict(),
        "same_text": percent(one.same),
        "lines": [*lines[1:2], *lines[-(len(lines) - 2 - table) :]],
    }


def _me() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no login name here; which of the two depends on the version of Python
        return ""


def answer_form(site: Site, form: Mapping[str, str]) -> str:
    """Do what a form asks - score, take back, reveal - and where to go on from there. Raises HTTPException."""
    if not same_token(form.get("token"), site.token):
        raise HTTPException(403, "this form is of an earlier start of the site: go back and load the page again")
    run = form.get("run", "")
    chosen = _Chosen(
        int(run) if run.isdigit() and run.isascii() else None, form.get("dimension"), form.get("labeller", "")
    )
    doing: dict[str, Callable[[Site, _Chosen, Mapping[str, str]], dict[str, str]]] = {
        "score": _score,
        "undo": _undo,
        "reveal": _reveal,
    }
    do = doing.get(form.get("action", ""))
    if do is None:
        raise HTTPException(400, f"no such action: {form.get('action', '')[:40]!r}; known: {', '.join(doing)}")
    from urllib.parse import urlencode

    return f"/review?{urlencode(do(site, chosen, form))}"


def _score(site: Site, chosen: _Chosen, form: Mapping[str, str]) -> dict[str, str]:
    value = form.get("value", "")
    if value != CANNOT_SAY and value not in map(str, range(TOP_SCORE + 1)):
        raise HTTPException(400, f"{value[:40]!r} is no score: 0 to {TOP_SCORE}, or s for cannot say")
    ticket = site.desk.take(form.get("ticket", ""), chosen.labeller)
    if ticket is None:
        raise HTTPException(
            409, "this one is scored already, or was asked by an earlier start of the site: go on at /review"
        )
    given = None if value == CANNOT_SAY else int(value)
    label = add_label(
        site.store, ticket.score.attempt_id, ticket.score.dimension, given, chosen.labeller, ticket.seconds
    )
    site.desk.given(label, chosen.labeller)
    return chosen.query(last=label)


def _undo(site: Site, chosen: _Chosen, form: Mapping[str, str]) -> dict[str, str]:
    label = _label(form)
    if not site.desk.take_back(label, chosen.labeller):
        raise HTTPException(
            409, "it cannot be taken back: it was revealed what it was of, or it was given before this start"
        )
    take_back_label(site.store, label)
    return chosen.query()


def _reveal(site: Site, chosen: _Chosen, form: Mapping[str, str]) -> dict[str, str]:
    label = _label(form)
    if not site.desk.reveal(label, chosen.labeller):
        raise HTTPException(409, "only a score of your own that was given since this start can be revealed")
    return chosen.query(last=label)


def _label(form: Mapping[str, str]) -> int:
    said = form.get("label", "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < len(str(LARGEST_ID)) else 0


def add_review_form(app: FastAPI, site: Site) -> None:
    """Take the forms of the page. Who may send one at all is the guard's business."""
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

    async def take(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_FORM:
                raise HTTPException(413, "the form is too large")
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        return RedirectResponse(await run_in_threadpool(answer_form, site, form), status_code=303)

    app.router.add_route("/review", take, methods=["POST"])
