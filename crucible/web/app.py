"""The application: pages, their JSON, the live stream of a run, and errors as pages that say what to do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from threading import Thread
from typing import Any

from fastapi import FastAPI, Request
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from crucible import __version__
from crucible.errors import CrucibleError, StoreError
from crucible.settings import Settings
from crucible.stats.exact import two_arms
from crucible.store.writes import Store
from crucible.web.catalog import PAGES, extend
from crucible.web.guard import HEADERS, Guard
from crucible.web.rendering import as_json, environment, render
from crucible.web.site import Ask, NotFound, Page, Site

STATIC = Path(__file__).parent / "static"
READING = ["GET", "HEAD"]
HELD = "another process may hold it: wait a moment and load the page again"
LOST = "crucible runs lists what is stored"


def make_app(
    store: Store, bench: Path, settings: Settings, *, read_only: bool = True, hosts: Sequence[str] = ()
) -> FastAPI:
    """The site over an open store. `hosts` are names it may be asked for under, besides the loopback ones."""
    site = Site(store, bench, settings, read_only)
    app = FastAPI(
        title="Crucible", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, lifespan=_getting_ready
    )
    app.state.site = site
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for page in PAGES:
        # The JSON first: a name in a path would otherwise take the ending for its own.
        app.api_route(page.json_path, methods=READING)(_answer(site, page, _json))
        app.api_route(page.path, methods=READING)(_answer(site, page, _html))
    extend(app, site)
    app.add_exception_handler(CrucibleError, _on_error(site))
    app.add_exception_handler(OperationalError, _on_error(site))
    app.add_exception_handler(HTTPException, _on_error(site))
    app.add_exception_handler(Exception, _on_error(site))
    app.add_middleware(Guard, hosts=hosts, read_only=read_only)
    return app


@asynccontextmanager
async def _getting_ready(_app: FastAPI) -> AsyncIterator[None]:
    # Beside the server: pages are answered at once, and the first one finds loaded what it would have had to load.
    Thread(target=_load, daemon=True).start()
    yield


def _load() -> None:
    """The templates, and the libraries of the statistics, which arrive with the first test."""
    for name in environment().list_templates():
        environment().get_template(name)
    two_arms(1, 1, 0, 1)


def _answer(site: Site, page: Page, write: Callable[..., Response]) -> Callable[[Request], Response]:
    # A plain function: it reads the store, which blocks, and so belongs in a thread.
    def answer(request: Request) -> Response:
        ask = Ask(dict(request.path_params), dict(request.query_params))
        return write(site, page, ask, page.says(site, ask), request)

    return answer


def _json(_site: Site, _page: Page, _ask: Ask, data: Any, _request: Request) -> Response:
    return Response(as_json(data), media_type="application/json")


def _html(site: Site, page: Page, ask: Ask, data: Any, request: Request) -> Response:
    return HTMLResponse(render(page.template, {**frame(site, request.url.path, ask), **data}))


def frame(site: Site, path: str, ask: Ask) -> dict[str, Any]:
    """What the page around every page's data needs."""
    return {
        "path": path,
        "query": ask.query,
        "json_path": "/index.json" if path == "/" else f"{path}.json",
        "read_only": site.read_only,
        "token": site.token,
        "store_name": site.store.where,
    }


def _on_error(site: Site) -> Callable[[Request, Exception], Response]:
    def answer(request: Request, error: Exception) -> Response:
        status, lines, hint = _explained(error)
        path = request.url.path
        if path.endswith(".json"):
            return Response(as_json({"error": lines, "hint": hint}), status, HEADERS, media_type="application/json")
        said = {"status": status, "title": HTTPStatus(status).phrase, "lines": lines, "hint": hint}
        # An unexpected error is answered outside the guard, which would add them.
        return HTMLResponse(render("error.html", {**frame(site, path, Ask()), **said}), status, HEADERS)

    return answer


def _explained(error: Exception) -> tuple[int, list[str], str | None]:
    """Status, what is wrong, and what to do about it."""
    match error:
        case NotFound():
            return 404, error.message.splitlines(), error.hint
        case StoreError():
            return 503, [error.message], error.hint or HELD
        case OperationalError():
            return 503, [f"the store cannot be read: {error.orig}"], HELD
        case CrucibleError():
            return 400, error.message.splitlines(), error.hint
        case HTTPException(status_code=404):
            return 404, ["there is no such page"], LOST
        case HTTPException():
            return error.status_code, [str(error.detail)], None
    return 500, [f"the page could not be made: {type(error).__name__}"], "the terminal that runs crucible ui says more"
