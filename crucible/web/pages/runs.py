"""The list of runs, newest first, by the page."""

from __future__ import annotations

from dataclasses import asdict

from crucible.store.pages import RunListed, list_runs
from crucible.store.run_search import attempt_like
from crucible.store.states import RUNNING, UNFINISHED, is_elsewhere
from crucible.web.site import Ask, Data, Site

RUNS_A_PAGE = 25
SHOWN = ("all", "real", "rehearsals")
LONGEST_SEARCH = 80


def runs_page(site: Site, ask: Ask) -> Data:
    """`?q=` part of a scenario's or an arm's name, `run 7`, `7` or `#5` for an attempt, `?show=` one of SHOWN, `?page=N`."""
    show, text = ask.choice("show", SHOWN), ask.query.get("q", "").strip()[:LONGEST_SEARCH]
    rehearsals = None if show == "all" else show == "rehearsals"
    page = ask.count("page", 1, 10**9)
    found, total = list_runs(
        site.store, offset=(page - 1) * RUNS_A_PAGE, limit=RUNS_A_PAGE, text=text, rehearsals=rehearsals
    )
    pages = max(1, -(-total // RUNS_A_PAGE))
    if page > pages:
        return runs_page(site, Ask(ask.params, {**ask.query, "page": str(pages)}))
    return {
        "runs": [run_row(run) for run in found],
        "attempt": attempt_like(site.store, text),
        "total": total,
        "q": text,
        "show": show,
        "page": page,
        "pages": pages,
    }


def run_row(run: RunListed) -> Data:
    """A run as lists show it."""
    done = min(run.planned, run.counted)
    return {
        **asdict(run),
        "share": done / run.planned if run.planned else None,
        "state": run.state,
        "over": run.status != RUNNING,
        "left": run.state == UNFINISHED,
        "elsewhere": run.state == RUNNING and is_elsewhere(run.owner),
    }
