"""The list of runs, newest first, by the page."""

from __future__ import annotations

import socket
from dataclasses import asdict

from crucible.store.pages import RunListed, list_runs
from crucible.store.writes import is_alive, this_process
from crucible.web.site import Ask, Data, Site

RUNS_A_PAGE = 25
SHOWN = ("all", "real", "rehearsals")
LONGEST_SEARCH = 80


def runs_page(site: Site, ask: Ask) -> Data:
    """`?q=` part of a scenario's name or a run's number, `?show=` one of SHOWN, `?page=N`."""
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
        "over": run.status != "running",
        "left": is_left(run.status, run.owner),
    }


def is_left(status: str, owner: str | None) -> bool:
    """Whether the process that was making the run is gone. What runs on another machine is believed to run."""
    here = owner in (None, this_process()) or (owner or "").rpartition(":")[0] != socket.gethostname()
    return status == "running" and not here and not is_alive(owner)
