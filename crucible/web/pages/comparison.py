"""The comparison: the verdict first, then everything that lets a reader believe it or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from crucible.report.arms import Line
from crucible.report.costs import prices_of
from crucible.report.overall import Overall, overall
from crucible.report.plain import plain_parts
from crucible.report.terminal import beside, marks, parts, title
from crucible.store.live import not_counted
from crucible.store.writes import Store
from crucible.web import pictures
from crucible.web.site import Ask, Data, NotFound, Site

ATTEMPTS_A_PAGE = 100
SHOWN = ("all", "green", "red", "lost", "open")
SORTS = ("block", "arm", "state", "score", "like", "turns", "tokens", "cost", "blocked")
_DRAWN = frozenset({"verdict", "attempts"})
"""Parts that the page has in its own form."""


def comparison_page(site: Site, ask: Ask) -> Data:
    """`?show=` one of SHOWN, `?sort=` one of SORTS with `dir=up|down`, `?page=N`: of the attempts."""
    run_id = ask.number("run", "run")
    found = overall(site.store, run_id, prices_of(site.settings))
    if found is None:
        raise no_run(run_id)
    return {**comparison_data(site.store, found), **_attempts(found, ask)}


def no_run(run_id: int) -> NotFound:
    """There is no such run."""
    return NotFound(f"there is no run {run_id} in this store", hint="the runs that are stored are listed under Runs")


def comparison_data(store: Store, run: Overall, *, detailed: bool = False) -> Data:
    """What page and file say of a run: the parts of the report, and the numbers that are drawn beside them."""
    said = parts(run, beside(store, run), detailed=detailed)
    return {
        "run": run.run_id,
        "title": title(run),
        "names": [one.scenario for one in run.comparisons],
        "kind": run.kind,
        "metric": run.metric,
        "sequential": run.sequential,
        "rehearsal": any(one.rehearsal for one in run.comparisons),
        "unsandboxed": any(one.unsandboxed for one in run.comparisons),
        "marks": marks(run),
        "verdict": run.verdict,
        "claims": [{"about": claim.about, "sentence": claim.verdict.sentence} for claim in run.claims[1:]],
        "by_scenario": _by_scenario(run),
        "arms": pictures.arms(run),
        "differences": pictures.differences(run),
        "blocks": pictures.blocks(run),
        "strips": pictures.strips(run),
        "costs": pictures.costs(run),
        "dominance": run.dominance,
        "dimensions": pictures.dimensions(run),
        "lost": [asdict(one) for one in not_counted(store, run.run_id)],
        "parts": [part for part in plain_parts(said) if part.key not in _DRAWN],
    }


def _by_scenario(run: Overall) -> list[Data]:
    """The verdicts on scenarios by themselves, where none was given on them together."""
    given = run.verdict.p_value is not None or run.verdict.interval is not None
    if given or len(run.comparisons) < 2:
        return []
    return [{"scenario": one.scenario, "sentence": one.verdict.sentence} for one in run.comparisons]


def _attempts(run: Overall, ask: Ask) -> Data:
    lines = [(one.scenario, line) for one in run.comparisons for line in one.lines]
    states = [pictures.state(line) for _, line in lines]
    show, sort, up = ask.choice("show", SHOWN), ask.choice("sort", SORTS), ask.query.get("dir") != "down"
    rows = [_row(scenario, line, state) for (scenario, line), state in zip(lines, states, strict=True)]
    chosen = _sorted([row for row in rows if show in ("all", row["state"])], sort, up)
    pages = max(1, -(-len(chosen) // ATTEMPTS_A_PAGE))
    page = ask.count("page", 1, pages)
    return {
        "attempts": chosen[(page - 1) * ATTEMPTS_A_PAGE : page * ATTEMPTS_A_PAGE],
        "found": len(chosen),
        "states": {"all": len(rows), **{name: states.count(name) for name in SHOWN[1:]}},
        "show": show,
        "sort": sort,
        "up": up,
        "page": page,
        "pages": pages,
    }


def _row(scenario: str, line: Line, state: str) -> Data:
    return {
        "scenario": scenario,
        "state": state,
        **{name: getattr(line, name) for name in Line.__dataclass_fields__},
    }


_KEYS: dict[str, Callable[[Data], Any]] = {
    "block": lambda row: (row["scenario"], row["block"], row["arm"]),
    "arm": lambda row: row["arm"],
    "state": lambda row: SHOWN.index(row["state"]) if row["state"] in SHOWN else len(SHOWN),
    "score": lambda row: row["total"],
    "like": lambda row: row["similarity"],
    "turns": lambda row: row["turns"],
    "tokens": lambda row: row["tokens"],
    "cost": lambda row: row["cost_usd"],
    "blocked": lambda row: row["blocked"],
}


def _sorted(rows: list[Data], sort: str, up: bool) -> list[Data]:
    """What is not known comes last either way."""
    key = _KEYS[sort]
    known = sorted((row for row in rows if key(row) is not None), key=key, reverse=not up)
    return known + [row for row in rows if key(row) is None]
