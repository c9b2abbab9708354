"""The file of a comparison, opened from disk by a browser, as whoever it was mailed to opens it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from crucible.store.writes import Store
from tests.conftest import environment
from tests.web.browsing import (
    NARROW,
    NO_BROWSER,
    WIDE,
    launched,
    overflow,
    screenshots,
    violations,
    watching,
)
from tests.web.hostile import fill_hostile

pytestmark = [pytest.mark.slow, NO_BROWSER]
LARGEST = 2_000_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, rehearsed: Path) -> dict[str, Path]:
    """The file of a rehearsed run, and that of the hostile one."""
    folder = tmp_path_factory.mktemp("report")
    bench = shutil.copytree(rehearsed, folder / "bench", symlinks=True)
    with Store(folder / "hostile.db") as store:
        fill_hostile(store)
    stores = {"rehearsed": bench / "results" / "crucible.db", "hostile": folder / "hostile.db"}
    made = {name: folder / f"{name}.html" for name in stores}
    for name, store_file in stores.items():
        command = [
            sys.executable,
            "-m",
            "crucible",
            "--store",
            str(store_file),
            "report",
            "1",
            "--html",
            str(made[name]),
        ]
        done = subprocess.run(
            command, cwd=bench, env=environment(), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of this file."""
    with launched() as one:
        yield one


@pytest.mark.parametrize("name", ["rehearsed", "hostile"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_file_opens_from_disk_and_asks_for_nothing(
    browser: Browser, files: dict[str, Path], name: str, width: int, tmp_path: Path
) -> None:
    assert files[name].stat().st_size < LARGEST
    with watching(browser, files[name].as_uri(), width) as seen:
        seen.open("")
        seen.page.screenshot(path=screenshots(tmp_path) / f"file-{name}-{width}.png", full_page=True)
        assert ([], []) == (overflow(seen.page), seen.problems)
        assert "owned" != seen.page.title()
        assert 1 == seen.page.locator("h1").count()
        assert 0 == seen.page.locator("script").count()


def test_the_file_says_in_its_tab_what_it_is_about_and_folds_what_was_asked(
    browser: Browser, files: dict[str, Path]
) -> None:
    with watching(browser, files["rehearsed"].as_uri()) as seen:
        seen.open("")
        assert "careful against baseline on first-bug: not tested" == seen.page.title()
        task = seen.page.get_by_text("One test of the shelf package fails.")
        assert not task.is_visible()
        seen.page.get_by_text("What was asked").click()
        expect(task).to_be_visible()


def test_an_attempt_in_the_drawing_leads_to_its_row_and_that_to_its_turns(
    browser: Browser, files: dict[str, Path]
) -> None:
    with watching(browser, files["rehearsed"].as_uri()) as seen:
        seen.open("")
        seen.page.locator("a.dot").first.click()
        seen.arrived(re.compile(r".*#attempt-\d+"))
        expect(seen.page.locator("tr:target")).to_be_visible()
        seen.page.locator('a[href="#telling"]').first.click()
        expect(seen.page.locator("#telling:target .turns")).to_be_visible()
        assert [] == seen.problems


def test_the_file_prints_the_verdict_first_and_what_is_folded_too(
    browser: Browser, files: dict[str, Path], tmp_path: Path
) -> None:
    with watching(browser, files["rehearsed"].as_uri()) as seen:
        seen.open("")
        seen.page.emulate_media(media="print")
        tops = [seen.page.locator(what).first.bounding_box() for what in (".verdict", ".asked pre")]
        assert all(tops)
        assert tops[0] is not None
        assert tops[1] is not None
        assert tops[0]["y"] < tops[1]["y"]
        assert tops[1]["height"] > 0
        seen.page.pdf(path=screenshots(tmp_path) / "file-rehearsed.pdf", format="A4")


def test_the_file_is_accessible(browser: Browser, files: dict[str, Path]) -> None:
    with watching(browser, files["rehearsed"].as_uri(), bypass_csp=True) as seen:
        seen.open("")
        assert [] == violations(seen.page)
