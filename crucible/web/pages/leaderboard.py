"""The leaderboard: every arm on every scenario it was really run on, or over the scenarios that arms share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from crucible.errors import nearest
from crucible.report.leaderboard import LEGEND, left_out_text, rank_text
from crucible.report.ranking import Across, Ranked, board, rank_within
from crucible.store.standings import LeaderboardLine, leaderboard
from crucible.web.site import Ask, Data, NotFound, Site

SORTS = ("rank", "arm", "model", "rate", "score", "cost", "success")
BEST_FIRST = ("rate", "score")
"""Sorts that begin with the highest unless asked otherwise: whoever asks for them looks for the best."""
SCENARIOS_A_PAGE = 20


def leaderboard_page(site: Site, ask: Ask) -> Data:
    """`?view=overall`, `?scenario=NAME`, `?sort=` one of SORTS with `dir=up|down`, `?page=N`."""
    every = leaderboard(site.store)
    names = list(dict.fromkeys(line.scenario for line in every))
    view, chosen = ask.choice("view", ("scenarios", "overall")), ask.query.get("scenario") or None
    if chosen is not None and chosen not in names:
        raise NotFound(
            f"no real attempt is stored on {chosen!r}{nearest(chosen, names)}", hint="rehearsals are never ranked"
        )
    lines = [line for line in every if chosen in (None, line.scenario)]
    sort = ask.choice("sort", SORTS)
    up = ask.rising(sort, BEST_FIRST)
    shown = {"view": view, "scenario": chosen, "scenarios": names, "sort": sort, "up": up, "legend": LEGEND}
    if view == "overall" and chosen is None:
        return {**shown, "board": _board(lines, sort, up), "groups": [], "page": 1, "pages": 1}
    return {**shown, "board": None, **_groups(lines, ask, sort, up)}


def _groups(lines: Sequence[LeaderboardLine], ask: Ask, sort: str, up: bool) -> Data:
    by_scenario = [list(mine) for _, mine in groupby(lines, lambda line: line.label)]
    pages = max(1, -(-len(by_scenario) // SCENARIOS_A_PAGE))
    page = ask.count("page", 1, pages)
    first = (page - 1) * SCENARIOS_A_PAGE
    return {
        "groups": [_group(mine, sort, up) for mine in by_scenario[first : first + SCENARIOS_A_PAGE]],
        "page": page,
        "pages": pages,
    }


def _group(lines: list[LeaderboardLine], sort: str, up: bool) -> Data:
    return {
        "scenario": lines[0].scenario,
        "label": lines[0].label,
        "arms": _sorted([_ranked(one) for one in rank_within(lines)], sort, up),
        "notes": _notes(lines),
    }


def _ranked(one: Ranked) -> Data:
    line = one.line
    return {
        **one.as_dict(),
        "name": line.arm_as_run,
        "rank_text": rank_text(one.rank),
        "rate": line.passed / line.counted if line.counted else None,
        "cost": line.mean_cost_usd,
        "cost_of": (line.priced, line.counted),
    }


def _board(lines: Sequence[LeaderboardLine], sort: str, up: bool) -> Data:
    made = board(lines)
    arms = [
        {
            **{name: getattr(one, name) for name in Across.__dataclass_fields__},
            "name": f"{one.arm} ({one.setup})" if one.setup else one.arm,
            "rank_text": rank_text(one.rank),
            "rate": one.pass_rate,
            "cost": one.mean_cost_usd,
        }
        for one in made.arms
    ]
    return {"scenarios": made.scenarios, "arms": _sorted(arms, sort, up), "apart": made.apart}


def _sorted(arms: list[Data], sort: str, up: bool) -> list[Data]:
    """In the order asked for; what is not known comes last either way, and equals by their rate."""
    keys: dict[str, Callable[[Data], Any]] = {
        "rank": lambda a: a["rank"],
        "arm": lambda a: a["name"].lower(),
        "model": lambda a: a["model"].lower(),
        "rate": lambda a: a["rate"],
        "score": lambda a: a["mean_total"],
        "cost": lambda a: a["cost"],
        "success": lambda a: a["cost_per_success"],
    }
    key = keys[sort]
    by_rate = sorted(arms, key=lambda a: -1.0 if a["rate"] is None else a["rate"], reverse=True)
    known = sorted((a for a in by_rate if key(a) is not None), key=key, reverse=not up)
    return known + [a for a in by_rate if key(a) is None]


def _notes(lines: Sequence[LeaderboardLine]) -> list[str]:
    said = []
    if len(lines) == 1:
        said.append("Only one arm: there is nothing to rank it against.")
    if left := left_out_text((line.arm_as_run, line.left_out) for line in lines):
        said.append(left)
    if others := max(line.other_judges for line in lines):
        said.append(
            f"Scores are by the judge version with most of these attempts; those of {others} other are left out."
        )
    return said
