"""The site in a real browser, in every state a run can be in: names as long as they may be, nothing made, nothing counted, one
arm scored, decided, going on. It fits the window, and every number explains itself."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store
from tests.web.browsing import (
    NARROW,
    NO_BROWSER,
    WIDE,
    launched,
    overflow,
    screenshots,
    serving,
    violations,
    watching,
)

pytestmark = [pytest.mark.slow, NO_BROWSER]
LONG = {"scenario": f"s-{'s' * 76}", "treatment": f"t-{'t' * 76}", "baseline": f"b-{'b' * 76}"}
PLACES = ("/runs/{}", "/runs/{}/comparison", "/runs/{}/blocks")
REHEARSED = (
    "/scenarios", "/scenarios/first-bug", "/runs/1", "/runs/1/comparison", "/runs/1/blocks", "/attempts/1", "/compare/1/2",
)  # fmt: skip
UNEXPLAINED = """() => [...document.querySelectorAll('main td, main dl.figures dd, main .result b, main .amount')]
    .filter((cell) => /\\d/.test(cell.innerText) && !cell.querySelector('table'))
    .flatMap((cell) => {
        const inner = [...cell.querySelectorAll('*'), cell].find((one) =>
            [...one.childNodes].some((node) => node.nodeType === 3 && /\\d/.test(node.data)));
        if (!inner) return [];
        inner.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
        return inner.closest('[title]')?.title ? [] : [`${inner.tagName}: ${inner.innerText.slice(0, 60)}`];
    })"""
"""Numbers that say nothing of what they are to whoever points at them."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, rehearsed: Path) -> Path:
    """A rehearsed run, and one of every state."""
    bench = shutil.copytree(rehearsed, tmp_path_factory.mktemp("states") / "bench", symlinks=True)
    green, red = Filled(True, 0.9, 0.02, 20_000, 30.0), Filled(False, 0.2, 0.03, 25_000, 40.0)
    with Store(bench / "results" / "crucible.db") as store:
        both = {"t": [green] * 8 + [red] * 2, "b": [green] * 3 + [red] * 7}
        long = {LONG["treatment"]: both["t"], LONG["baseline"]: both["b"]}
        fill_run(store, {LONG["scenario"]: long}, LONG["baseline"])
        fill_run(store, {"export": {**both, "b": [Filled(True), Filled(False)] * 5}}, "b")
        fill_run(
            store, {"lost": {"t": [Filled(None, cause="provider")] * 3, "b": [Filled(None, cause="harness")] * 3}}, "b"
        )
        fill_run(store, {"nothing": {"t": [], "b": []}}, "b", blocks=4, status="running", owner="elsewhere:1")
        fill_run(store, {"left": {"t": [green] * 3, "b": [red] * 2}}, "b", blocks=9, status="interrupted")
        fill_run(store, dict.fromkeys(("one", "two", "three"), both), "b", primary_metric="score", margin=0.025)
    return bench


@pytest.fixture(scope="module")
def addresses(bench: Path) -> list[str]:
    """Every page of every run but the first, and the pages over all of them."""
    with Store(bench / "results" / "crucible.db") as store:
        from crucible.store.pages import list_runs

        runs = sorted(run.run for run in list_runs(store)[0] if run.run > 1)
    return ["/", "/?view=overall", "/runs", *(place.format(run) for run in runs for place in PLACES)]


@pytest.fixture(scope="module")
def site(bench: Path) -> Iterator[str]:
    """The site over it."""
    with serving(bench / "results" / "crucible.db", cwd=bench) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of this file."""
    with launched() as one:
        yield one


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_state_of_a_run_fits_the_window(
    browser: Browser, site: str, addresses: list[str], width: int, tmp_path: Path
) -> None:
    kept, found = screenshots(tmp_path), {}
    with watching(browser, site, width) as seen:
        for path in addresses:
            status = seen.open(path)
            seen.page.screenshot(path=kept / f"state-{path.strip('/').replace('/', '-')}-{width}.png", full_page=True)
            if problems := [*overflow(seen.page), *([] if status == 200 else [f"status {status}"])]:
                found[path] = problems
        assert ({}, []) == (found, seen.problems)


def test_a_name_as_long_as_it_may_be_hides_no_column_of_the_lists(browser: Browser, site: str) -> None:
    with watching(browser, site) as seen:
        for path in ("/", "/runs", "/runs/2/comparison"):
            seen.open(path)
            assert [] == seen.page.evaluate(
                "() => [...document.querySelectorAll('.wide')].filter((one) => one.scrollWidth > one.clientWidth + 1)"
                ".map((one) => one.innerText.slice(0, 40))"
            ), path


def test_unusual_states_of_a_run_are_accessible(browser: Browser, site: str) -> None:
    with watching(browser, site, bypass_csp=True, reduced_motion="reduce") as seen:
        found = {}
        for path in ("/", "/runs", "/runs/1/blocks", *(place.format(run) for run in (2, 5) for place in PLACES)):
            seen.open(path)
            if wrong := violations(seen.page):
                found[path] = wrong
        assert {} == found


def test_every_number_explains_itself_to_whoever_points_at_it(
    browser: Browser, site: str, addresses: list[str]
) -> None:
    with watching(browser, site) as seen:
        found = {}
        for path in [*addresses, *REHEARSED]:
            seen.open(path)
            unfold(seen.page)
            if silent := seen.page.evaluate(UNEXPLAINED):
                found[path] = sorted(set(silent))
        assert {} == found


def unfold(page: Page) -> None:
    """Open all that is folded, whose numbers would have no text to be seen."""
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def test_a_cell_has_the_explanation_of_its_column_and_one_of_its_own_is_kept(browser: Browser, site: str) -> None:
    with watching(browser, site) as seen:
        seen.open("/runs/2/comparison")
        cell = seen.page.locator("#attempts tbody tr").first.locator("td").nth(8)
        cell.hover()
        expect(cell).to_have_attribute(
            "title", "Input, cached or not, plus output, each once, as the provider counted them."
        )
        seen.page.locator("#apart .forest .draw span[title]").last.hover()
        expect(seen.page.locator("#apart .forest td.draw")).not_to_have_attribute("title", "")
