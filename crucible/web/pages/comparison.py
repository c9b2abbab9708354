"""The comparison: the verdict first, then everything that lets a reader believe it or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from typing import Any, NamedTuple

from crucible.judging.clamps import NOT_GREEN_CAP
from crucible.report.arms import Line
from crucible.report.costs import prices_of
from crucible.report.files.about import subject
from crucible.report.gather import Gathered, gather
from crucible.report.overall import Overall, overall_of
from crucible.report.plain import plain_parts
from crucible.report.terminal import beside, marks, parts, title
from crucible.store.live import Pulse, not_counted, run_pulse
from crucible.store.pages import one_run
from crucible.store.writes import Store
from crucible.web import pictures
from crucible.web.changes import diff_lines
from crucible.web.pages.blocks import parting_part
from crucible.web.pages.runs import run_row
from crucible.web.site import Ask, Data, Site, no_run

ATTEMPTS_A_PAGE = 100
SHOWN = ("all", "green", "red", "lost", "unfinished", "open")
SORTS = ("block", "arm", "state", "score", "like", "turns", "tokens", "cost", "blocked")
PLACES = (
    ("tested", "Was it tested?"), ("apart", "How far apart?"), ("blocks", "Blocks"), ("parting", "Where they part"),
    ("lost", "Not counted"), ("cost", "Cost"), ("judge", "Judge"), ("dimensions", "Dimensions"), ("attempts", "Attempts"),
    ("words", "Words"),
)  # fmt: skip
_DRAWN = frozenset({"verdict", "attempts"})
"""Parts that the page has in its own form."""


def comparison_page(site: Site, ask: Ask) -> Data:
    """`?show=` one of SHOWN, `?sort=` one of SORTS with `dir=up|down`, `?page=N`: of the attempts."""
    run_id = ask.number("run", "run")
    pulse = run_pulse(site.store, run_id)
    gathered = None if pulse is None else _gathered(site.store, run_id, pulse)
    if gathered is None:
        raise no_run(run_id)
    found = overall_of(site.store, gathered, prices_of(site.settings))
    said = {**comparison_data(site.store, found), "parting": parting_part(site.store, run_id)}
    return {**said, **_standing(site.store, run_id), "places": _places(said), **_attempts(found, ask)}


def _standing(store: Store, run_id: int) -> Data:
    """How the run stands, as the lists of runs have it."""
    listed = one_run(store, run_id)
    return {"standing": None if listed is None else run_row(listed[0])}


@lru_cache(maxsize=2)
def _gathered(store: Store, run_id: int, _pulse: Pulse) -> Gathered | None:
    """A run as it was read at this pulse. What is final never changes, so that there is nothing to read before the next."""
    return gather(store, run_id)


def _places(said: Data) -> list[tuple[str, str]]:
    """The sections of the page that there are, for links."""
    keys = {part.key for part in said["parts"]}
    there = {"judge": "judge" in keys, "dimensions": bool(said["dimensions"]), "cost": said["costs"] or "cost" in keys}
    return [(key, word) for key, word in PLACES if there.get(key, True)]


def comparison_data(store: Store, run: Overall, *, detailed: bool = False) -> Data:
    """What page and file say of a run: the parts of the report, and the numbers that are drawn beside them."""
    said = parts(run, beside(store, run), detailed=detailed)
    return {
        "run": run.run_id,
        "title": title(run),
        "heading": subject(run),
        "cap": NOT_GREEN_CAP,
        "treatment": run.treatment,
        "baseline": run.baseline,
        "differ": _differ(run),
        "openings": _openings(run),
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


def _differ(run: Overall) -> list[str]:
    """In what the arms differ, a sentence for each way in which they do."""
    return list(dict.fromkeys(text for one in run.comparisons for text in one.differ))


def _openings(run: Overall) -> list[Data]:
    """What sets the arms' first requests apart, to the letter, scenario by scenario; the same is shown once."""
    found: dict[Any, list[str]] = {}
    for one in run.comparisons:
        parts = tuple((p["kind"], p["name"], p["declared"], p["diff"]) for p in one.differences or ())
        if parts:
            found.setdefault(parts, []).append(one.scenario)
    return [{"scenarios": names, "parts": [_opening(*part) for part in parts]} for parts, names in found.items()]


def _opening(kind: str, name: str, declared: bool, diff: str) -> Data:
    return {"title": f"{kind} {name}".strip(), "declared": declared, "diff": diff_lines(diff)}


def _by_scenario(run: Overall) -> list[Data]:
    """The verdicts on scenarios by themselves, where none was given on them together."""
    given = run.verdict.p_value is not None or run.verdict.interval is not None
    if given or len(run.comparisons) < 2:
        return []
    return [{"scenario": one.scenario, "sentence": one.verdict.sentence} for one in run.comparisons]


def _attempts(run: Overall, ask: Ask) -> Data:
    names = sorted({arm.arm for one in run.comparisons for arm in one.arms})
    arm = ask.query.get("arm") if ask.query.get("arm") in names else None
    of_arm = ((one.scenario, line) for one in run.comparisons for line in one.lines if arm in (None, line.arm))
    listed = [Listed(scenario, line, pictures.state(line)) for scenario, line in of_arm]
    states = Counter(one.state for one in listed)
    show, sort = ask.choice("show", SHOWN), ask.choice("sort", SORTS)
    up = ask.rising(sort, ("score", "like"))
    chosen = _sorted([one for one in listed if show in ("all", one.state)], sort, up)
    pages = max(1, -(-len(chosen) // ATTEMPTS_A_PAGE))
    page = ask.count("page", 1, pages)
    return {
        "attempts": [one.as_dict() for one in chosen[(page - 1) * ATTEMPTS_A_PAGE : page * ATTEMPTS_A_PAGE]],
        "found": len(chosen),
        "states": {"all": len(listed), **{name: states[name] for name in SHOWN[1:]}},
        "show": show,
        "of_arms": names,
        "arm": arm,
        "sort": sort,
        "up": up,
        "page": page,
        "pages": pages,
    }


class Listed(NamedTuple):
    """One planned attempt of a scenario, and how it stands in one word."""

    scenario: str
    line: Line
    state: str

    def as_dict(self) -> Data:
        """For the page and for JSON."""
        return {"scenario": self.scenario, "state": self.state, **asdict(self.line)}


_KEYS: dict[str, Callable[[Listed], Any]] = {
    "block": lambda one: (one.scenario, one.line.block, one.line.arm),
    "arm": lambda one: one.line.arm,
    "state": lambda one: SHOWN.index(one.state) if one.state in SHOWN else len(SHOWN),
    "score": lambda one: one.line.total,
    "like": lambda one: one.line.similarity,
    "turns": lambda one: one.line.turns,
    "tokens": lambda one: one.line.tokens,
    "cost": lambda one: one.line.cost_usd,
    "blocked": lambda one: one.line.blocked,
}


def _sorted(rows: list[Listed], sort: str, up: bool) -> list[Listed]:
    """What is not known comes last either way."""
    key = _KEYS[sort]
    known = sorted((row for row in rows if key(row) is not None), key=key, reverse=not up)
    return known + [row for row in rows if key(row) is None]
