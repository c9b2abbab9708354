"""Every page of the site, and what is no page of data: the live stream of a run."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import FastAPI, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from crucible.web.pages.attempt import attempt_page
from crucible.web.pages.blocks import blocks_page
from crucible.web.pages.comparison import comparison_page
from crucible.web.pages.leaderboard import leaderboard_page
from crucible.web.pages.review import add_review_form, review_page
from crucible.web.pages.run import MOST_STREAMS, pulses, run_page
from crucible.web.pages.runs import runs_page
from crucible.web.pages.scenarios import scenario_page, scenarios_page
from crucible.web.pages.side_by_side import side_by_side_page
from crucible.web.site import Ask, Page, Site

PAGES = (
    Page("/", "leaderboard.html", leaderboard_page),
    Page("/scenarios", "scenarios.html", scenarios_page),
    Page("/scenarios/{name}", "scenario.html", scenario_page),
    Page("/runs", "runs.html", runs_page),
    Page("/runs/{run}", "run.html", run_page),
    Page("/runs/{run}/comparison", "comparison.html", comparison_page),
    Page("/runs/{run}/blocks", "blocks.html", blocks_page),
    Page("/attempts/{attempt}", "attempt.html", attempt_page),
    Page("/compare/{one}/{other}", "side_by_side.html", side_by_side_page),
    Page("/review", "review.html", review_page),
)


def extend(app: FastAPI, site: Site) -> None:
    """Add what answers otherwise than with a page of data."""
    add_review_form(app, site)
    open_streams = 0

    async def stream(request: Request) -> Response:
        """The pulse of a run; a browser that is one too many asks again later."""
        nonlocal open_streams
        run_id = Ask(dict(request.path_params)).number("run", "run")
        # What a browser was told last before its connection broke, else what its page showed.
        seen = request.headers.get("last-event-id") or request.query_params.get("seen")
        if open_streams >= MOST_STREAMS:
            return PlainTextResponse("too many pages follow a run\n", 503, {"Retry-After": "10"})

        async def counted() -> AsyncIterator[str]:
            nonlocal open_streams
            open_streams += 1
            try:
                async for said in pulses(site, run_id, request.is_disconnected, seen):
                    yield said
            finally:
                open_streams -= 1

        return StreamingResponse(counted(), media_type="text/event-stream")

    app.get("/runs/{run}/events")(stream)
