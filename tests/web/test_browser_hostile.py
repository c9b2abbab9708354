"""The hostile store in a real browser: nothing runs, nothing is asked for elsewhere, and every page keeps its shape."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from crucible.store.writes import Store
from tests.web.browsing import NARROW, NO_BROWSER, WIDE, launched, overflow, screenshots, serving, violations, watching
from tests.web.hostile import Hostile, fill_hostile

pytestmark = [pytest.mark.slow, NO_BROWSER]
INJECTED = """() => [...document.querySelectorAll('iframe, base, embed, object, img, video, audio, link[rel=import], [style]')]
    .concat([...document.querySelectorAll('script')].filter((s) => !s.src.startsWith(location.origin + '/static/')))
    .concat([...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => a.name.startsWith('on'))))
    .concat([...document.querySelectorAll('a[href], form[action]')]
        .filter((e) => new URL(e.href ?? e.action, location).origin !== location.origin))
    .map((e) => e.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Hostile]:
    """The store's file and what is in it."""
    file = tmp_path_factory.mktemp("hostile") / "store.db"
    (file.parent / "crucible.toml").touch()
    with Store(file) as store:
        return file, fill_hostile(store)


@pytest.fixture(scope="module")
def site(filled: tuple[Path, Hostile]) -> Iterator[str]:
    """The site over it, to be written to."""
    with serving(filled[0], "--writable", cwd=filled[0].parent) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of this file."""
    with launched() as one:
        yield one


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_runs_and_every_page_keeps_its_shape(
    browser: Browser, site: str, filled: tuple[Path, Hostile], width: int, tmp_path: Path
) -> None:
    kept, found = screenshots(tmp_path), {}
    with watching(browser, site, width) as seen:
        for n, path in enumerate(filled[1].paths):
            status = seen.open(path)
            for summary in seen.page.locator("summary:visible").all()[:6]:
                summary.click()
            problems = [
                *seen.page.evaluate(INJECTED),
                *overflow(seen.page),
                *([] if status == 200 else [f"status {status}"]),
            ]
            if "owned" in seen.page.title().split(" ")[0] or not seen.page.locator("footer").is_visible():
                problems.append("the page was taken over")
            if n < 14:
                seen.page.screenshot(path=kept / f"hostile-{n}-{width}.png", full_page=False)
            if problems:
                found[path[:60]] = problems
        assert ({}, []) == (found, seen.problems)


def test_an_address_that_means_harm_is_told_back_as_text(
    browser: Browser, site: str, filled: tuple[Path, Hostile]
) -> None:
    with watching(browser, site, ignored=["the server responded with a status of 404"]) as seen:
        found = {}
        for path in filled[1].nowhere:
            status = seen.open(path)
            problems = [
                *seen.page.evaluate(INJECTED),
                *overflow(seen.page),
                *([] if status == 404 else [f"status {status}"]),
            ]
            if problems:
                found[path[:60]] = problems
        assert ({}, []) == (found, seen.problems)


def test_hostile_pages_are_as_accessible_as_any(browser: Browser, site: str, filled: tuple[Path, Hostile]) -> None:
    made = filled[1]
    with watching(browser, site, bypass_csp=True, reduced_motion="reduce") as seen:
        found = {}
        for path in (f"/runs/{made.run}/comparison", f"/attempts/{made.one}", f"/compare/{made.one}/{made.other}"):
            seen.open(path)
            if wrong := violations(seen.page):
                found[path] = wrong
        assert {} == found
