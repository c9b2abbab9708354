"""The site in a real browser, over a real rehearsal: every page, wide and narrow, by keyboard, without script, and live."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from sqlmodel import select

from crucible.store.tables import AttemptRow, PlannedRow, RunRow, ScenarioRow
from crucible.store.writes import Store, now
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
PATHS = {
    "leaderboard": "/",
    "leaderboard-overall": "/?view=overall",
    "scenarios": "/scenarios",
    "scenario": "/scenarios/first-bug",
    "runs": "/runs",
    "run": "/runs/1",
    "comparison": "/runs/1/comparison",
    "blocks": "/runs/1/blocks",
    "attempt": "/attempts/1",
    "side-by-side": "/compare/1/2",
    "itself": "/compare/2/2",
    "review": "/review?run=1",
    "scoring": "/review?run=1&labeller=ann",
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, rehearsed: Path) -> Path:
    """A bench with a rehearsed run."""
    return shutil.copytree(rehearsed, tmp_path_factory.mktemp("browser") / "bench", symlinks=True)


@pytest.fixture(scope="module")
def site(bench: Path) -> Iterator[str]:
    """The site over it, to be written to."""
    with serving(bench / "results" / "crucible.db", "--writable", cwd=bench) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of this file."""
    with launched() as one:
        yield one


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_opens_without_an_error_and_fits_the_window(
    browser: Browser, site: str, width: int, scheme: str, tmp_path: Path
) -> None:
    kept, found = screenshots(tmp_path), {}
    with watching(browser, site, width, color_scheme=scheme) as seen:
        for name, path in PATHS.items():
            status = seen.open(path)
            seen.page.screenshot(path=kept / f"{name}-{width}-{scheme}.png", full_page=True)
            problems = [*overflow(seen.page), *([] if status == 200 else [f"status {status}"])]
            if seen.page.locator("h1").count() != 1:
                problems.append("not one heading of the page")
            if problems:
                found[name] = problems
        assert ({}, []) == (found, seen.problems)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible(browser: Browser, site: str, scheme: str) -> None:
    with watching(browser, site, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce") as seen:
        found = {}
        for name, path in PATHS.items():
            seen.open(path)
            if wrong := violations(seen.page):
                found[name] = wrong
        assert {} == found


def test_keys_move_through_rows_and_open_them(browser: Browser, site: str) -> None:
    with watching(browser, site) as seen:
        seen.open("/runs")
        seen.page.keyboard.press("j")
        expect(seen.page.locator("[data-row]").first).to_be_focused()
        seen.page.keyboard.press("Enter")
        seen.arrived(re.compile(rf"{site}/runs/1(/comparison)?"))
        assert [] == seen.problems


def test_keys_help_find_and_leave(browser: Browser, site: str) -> None:
    with watching(browser, site) as seen:
        seen.open("/")
        seen.page.keyboard.press("?")
        expect(seen.page.get_by_role("dialog", name="Keyboard")).to_be_visible()
        seen.page.keyboard.press("Escape")
        expect(seen.page.get_by_role("dialog")).to_be_hidden()
        seen.page.keyboard.press("/")
        expect(seen.page.locator("#find")).to_be_focused()
        seen.page.keyboard.type("j?first")
        expect(seen.page.locator("#find")).to_have_value("j?first")
        expect(seen.page.get_by_role("dialog")).to_be_hidden()
        seen.page.locator("#find").fill("first")
        seen.page.keyboard.press("Enter")
        seen.arrived(f"{site}/runs?q=first")
        assert [] == seen.problems


def test_the_theme_that_was_chosen_is_kept_from_page_to_page(browser: Browser, site: str) -> None:
    def ground() -> str:
        return str(seen.page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))

    with watching(browser, site, color_scheme="light") as seen:
        seen.open("/")
        light = ground()
        button = seen.page.locator("#theme")
        for _ in range(3):
            if ground() != light:
                break
            button.click()
        dark = ground()
        assert light != dark
        seen.open("/runs")
        assert dark == ground()
        assert [] == seen.problems


def test_keys_go_from_difference_to_difference(browser: Browser, site: str) -> None:
    with watching(browser, site) as seen:
        seen.open("/compare/1/2")
        differing = seen.page.locator("li.pair[data-row]")
        seen.page.keyboard.press("j")
        expect(differing.nth(0)).to_be_focused()
        seen.page.keyboard.press("j")
        expect(differing.nth(1)).to_be_focused()
        seen.page.keyboard.press("k")
        expect(differing.nth(0)).to_be_focused()
        assert 0 == seen.page.locator("li.pair.equal[data-row]").count()
        assert [] == seen.problems


def test_a_difference_opens_its_turn_and_keys_go_on_from_attempt_to_attempt(browser: Browser, site: str) -> None:
    with watching(browser, site) as seen:
        seen.open("/compare/1/2")
        seen.page.locator("a", has_text="B turn").last.click()
        seen.arrived(re.compile(rf"{site}/attempts/2\?turn=(\d+)#turn-\1"))
        expect(seen.page.locator("article.turn:target")).to_be_in_viewport()
        seen.page.keyboard.press("n")
        seen.arrived(f"{site}/attempts/3")
        seen.page.keyboard.press("p")
        seen.arrived(f"{site}/attempts/2")
        seen.page.get_by_role("link", name="beside attempt").click()
        seen.arrived(re.compile(rf"{site}/compare/\d+/\d+"))
        expect(seen.page.get_by_role("heading", level=1)).to_contain_text("beside")
        seen.page.keyboard.press("n")
        expect(seen.page.get_by_role("heading", level=1)).to_have_text(re.compile("^Attempt [34] beside attempt [34]$"))
        assert [] == seen.problems


def test_a_comparison_leads_to_two_attempts_side_by_side(browser: Browser, site: str) -> None:
    with watching(browser, site) as seen:
        seen.open("/runs/1/comparison")
        seen.page.locator("a[href^='/compare/']").first.click()
        expect(seen.page.get_by_role("heading", level=1)).to_contain_text("beside")
        assert [] == seen.problems


def test_attempts_are_scored_with_one_key_each(browser: Browser, site: str) -> None:
    with watching(browser, site) as seen:
        seen.open("/review?run=1&labeller=keys")
        expect(seen.page.get_by_text("0 of", exact=False).first).to_be_visible()
        seen.page.keyboard.press("4")
        expect(seen.page.get_by_role("status")).to_contain_text("4 of 5")
        seen.page.get_by_role("button", name="Show what it was").click()
        expect(seen.page.get_by_role("status")).to_contain_text("The judge")
        assert [] == seen.problems


def test_everything_but_keys_and_the_theme_works_without_script(browser: Browser, site: str) -> None:
    with watching(browser, site, java_script_enabled=False) as seen:
        seen.open("/runs/1/comparison")
        seen.page.locator("a[href^='/compare/']").first.click()
        seen.arrived(re.compile(rf"{site}/compare/\d+/\d+"))
        seen.page.locator("summary").first.click()
        seen.open("/review?run=1&labeller=plain")
        seen.page.get_by_role("button", name="5 fully met").click()
        expect(seen.page.get_by_role("status")).to_contain_text("5 of 5")


def test_a_run_is_followed_while_it_goes_on(browser: Browser, site: str, bench: Path) -> None:
    with Store(bench / "results" / "crucible.db") as store, watching(browser, site) as seen:
        run = _begin(store)
        seen.open(f"/runs/{run}")
        before = seen.page.locator("#main").inner_text()
        for block in (1, 2):
            _finish(store, run, block)
            seen.page.wait_for_function("(was) => document.getElementById('main').innerText !== was", arg=before)
            before = seen.page.locator("#main").inner_text()
        store.set_run_status(run, "done")
        seen.page.wait_for_function("(was) => document.getElementById('main').innerText !== was", arg=before)
        expect(seen.page.locator("#live a.dot.green")).to_have_count(2)
        assert [] == seen.problems


def test_an_end_that_could_not_be_fetched_is_fetched_later(browser: Browser, site: str, bench: Path) -> None:
    with (
        Store(bench / "results" / "crucible.db") as store,
        watching(browser, site, ignored=["Failed to load resource"]) as seen,
    ):
        run = _begin(store)
        seen.open(f"/runs/{run}")
        failed: list[str] = []

        def fail_once(route: Route) -> None:
            failed.append(route.request.url)
            route.abort()

        seen.page.route(f"**/runs/{run}", fail_once, times=1)
        store.set_run_status(run, "done")
        expect(seen.page.locator("#live .badge.live")).to_have_count(0)
        assert 1 == len(failed)
        assert [] == seen.problems


def test_whoever_is_on_a_link_or_a_row_of_a_run_that_goes_on_stays_there(
    browser: Browser, site: str, bench: Path
) -> None:
    with Store(bench / "results" / "crucible.db") as store, watching(browser, site) as seen:
        run = _begin(store)
        seen.open(f"/runs/{run}")
        _start(store, run, 2)
        seen.page.locator("#live .button").focus()
        _finish(store, run, 1)
        expect(seen.page.locator("#live a.dot.green")).to_have_count(1)
        expect(seen.page.locator("#live .button")).to_be_focused()
        seen.page.locator("body").press("j")
        expect(seen.page.locator("#live [data-row].here")).to_be_focused()
        before = seen.page.locator("#main").inner_text()
        _start(store, run, 1)
        seen.page.wait_for_function("(was) => document.getElementById('main').innerText !== was", arg=before)
        expect(seen.page.locator("#live [data-row].here")).to_be_focused()
        store.set_run_status(run, "done")
        assert [] == seen.problems


def _begin(store: Store) -> int:
    """A run that goes on, of two planned attempts, none made yet."""
    with store.reading() as session:
        like, scenario = session.get_one(RunRow, 1), session.exec(select(ScenarioRow)).first()
    assert scenario is not None
    columns = {
        **like.model_dump(exclude={"id"}),
        "status": "running",
        "ended_at": None,
        "created_at": now(),
        "blocks": 1,
        # Of nobody: a run of this very process would be taken for one that was left.
        "owner": None,
    }
    plan = [
        PlannedRow(run_id=0, position=n, scenario_hash=scenario.hash, block=1, arm=arm, model="m", baseline=bool(n))
        for n, arm in enumerate(_arms(store))
    ]
    return store.create_run(RunRow(**columns), plan)


def _arms(store: Store) -> list[str]:
    with store.reading() as session:
        made = session.exec(select(AttemptRow).where(AttemptRow.run_id == 1)).all()
    return sorted({row.arm for row in made}, key=lambda arm: any(row.baseline for row in made if row.arm == arm))


def _finish(store: Store, run: int, number: int) -> None:
    """One more attempt, begun and ended."""
    attempt = _start(store, run, number)
    store.finish_attempt(attempt, {"ending": "finished", "cause": "agent", "counted": True, "passed": True})


def _start(store: Store, run: int, number: int) -> int:
    """One more attempt of an arm, without an ending; its number."""
    with store.reading() as session:
        like = session.get_one(AttemptRow, 1)
    columns = like.model_dump(exclude={"id", "ending", "ended_at", "diff", "block", "arm", "baseline"})
    arm = _arms(store)[number - 1]
    row = AttemptRow(**{**columns, "run_id": run, "block": 1, "arm": arm, "baseline": number == 2, "started_at": now()})
    row.counted = row.passed = None
    return store.start_attempt(row)
