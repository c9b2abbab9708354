"""The comparison as one file: the page's own template with its style inside, nothing to load and nothing to run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from crucible.errors import UsageError
from crucible.report.files.about import About, about, blocks, judged, made, subject, terms
from crucible.report.overall import Overall
from crucible.store.writes import Store
from crucible.web.asked import asked
from crucible.web.pages.blocks import parting_part
from crucible.web.pages.comparison import comparison_data
from crucible.web.rendering import render
from crucible.web.site import Data
from crucible.web.telling import telling

STATIC = Path(__file__).parent / "static"
STYLES = ("app.css", "file.css")
LARGEST = 2_000_000
"""Bytes of the file: it is to be mailed."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of what can be long is shown: attempts in the list, blocks drawn of a scenario, characters of a text, rows of
    the block that is shown turn by turn, scenarios whose task and prompts are shown."""

    attempts: int
    blocks: int
    text: int
    rows: int
    scenarios: int


SIZES = (
    Sizes(2_000, 150, 8_000, 24, 10),
    Sizes(500, 40, 2_000, 20, 5),
    Sizes(100, 8, 400, 10, 2),
    Sizes(0, 0, 200, 0, 0),
)
"""From the most to the least: the first with which the file is small enough is taken."""


def one_file(store: Store, run: Overall) -> str:
    """The file. Its policy allows the one style that is in it, by hash, and nothing else."""
    told = about(store, run.run_id)
    data = comparison_data(store, run)
    for sizes in SIZES:
        file = _file(store, run, told, data, sizes)
        if len(file.encode()) < LARGEST:
            return file
    raise UsageError(
        f"run {run.run_id} is too large for one page of {LARGEST / 1e6:g} MB: it has {len(run.comparisons):,} scenarios",
        hint=f"crucible report {run.run_id} --json FILE has every number, crucible ui shows it page by page",
    )


def _file(store: Store, run: Overall, told: About, data: Data, sizes: Sizes) -> str:
    style = "".join((STATIC / name).read_text("utf-8") for name in STYLES)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    rows = [(one.scenario, line) for one in run.comparisons for line in one.lines]
    shown = rows[: sizes.attempts]
    listed = {line.attempt_id for _, line in shown if line.attempt_id is not None}
    made_of = {
        **data,
        "blocks": [_fewer(one, sizes.blocks, listed) for one in data["blocks"]],
        **_head(run, told),
        "asked": [asked(told, one) for one in run.comparisons[: sizes.scenarios]],
        "unasked": max(0, len(run.comparisons) - sizes.scenarios),
        "telling": telling(store, run, sizes.rows),
        "partings": parting_part(store, run.run_id),
        "attempts": shown,
        "total": len(rows),
        "listed": listed,
    }  # fmt: skip
    # The style is this package's own file; escaping would break its selectors.
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    whole = {**short(made_of, sizes.text), "policy": policy, "style": Markup(style)}  # noqa: S704 - no data in it
    return render("onefile.html", whole)


def _fewer(one: Data, most: int, listed: Collection[int]) -> Data:
    """A scenario's first blocks; only attempts that are in the list are led to."""
    shown = [
        {**block, "cells": [{**cell, "attempt": _listed(cell["attempt"], listed)} for cell in block["cells"]]}
        for block in one["blocks"][:most]
    ]
    return {**one, "blocks": shown, "more": one["more"] + len(one["blocks"]) - len(shown)}


def _listed(attempt: int | None, listed: Collection[int]) -> int | None:
    return attempt if attempt in listed else None


def _head(run: Overall, told: About) -> Data:
    row = told.run
    facts = {
        "Run": f"{run.run_id}, {row.status}",
        "Begun": made(row),
        "Declared before it": terms(run),
        "Planned": f"{blocks(row)}, seed {row.seed}",
        "Judge": judged(row),
        "Sandbox": row.sandbox,
        "Made with": f"Crucible {row.version}",
    }
    questions = [told.scenarios[one.scenario_hash].description for one in run.comparisons if one.scenario_hash]
    return {"subject": subject(run), "facts": facts, "questions": list(dict.fromkeys(filter(str.strip, questions)))}


def short(value: Any, most: int) -> Any:
    """The same with every text cut after so many characters, whatever it stands in."""
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]} [... {len(value) - most:,} characters more]"
    if isinstance(value, Mapping):
        return {key: short(one, most) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(short(one, most) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: short(getattr(value, one.name), most) for one in fields(value)})
    return value
