"""The comparison as one file: the page's own template with its style inside, nothing to load and nothing to run."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from markupsafe import Markup

from crucible.report.overall import Overall
from crucible.store.writes import Store
from crucible.web.pages.comparison import comparison_data
from crucible.web.rendering import render

STYLE = Path(__file__).parent / "static" / "app.css"


def one_file(store: Store, run: Overall) -> str:
    """The file. Its policy allows the one style that is in it, by hash, and nothing else."""
    style = STYLE.read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    rows = [(one.scenario, line) for one in run.comparisons for line in one.lines]
    data = {**comparison_data(store, run), "made": run.run_id, "attempts": rows[:MOST_ATTEMPTS], "total": len(rows)}
    # The style is this package's own file; escaping would break its selectors.
    return render("onefile.html", {**data, "policy": policy, "style": Markup(style)})  # noqa: S704 - no data in it


MOST_ATTEMPTS = 2_000
"""Attempts that are listed: the file is to be mailed, and stays under 2 MB."""
