"""A real server and a real browser: the site as its users have it, and a page that notes everything that goes wrong on it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from time import sleep
from typing import IO, Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request, expect, sync_playwright

from tests.conftest import environment

CHROMIUM = Path("/usr/bin/chromium")
PATIENCE = 60_000
"""Milliseconds that something may take to appear: how long it does says how busy the machine is."""
expect.set_options(timeout=PATIENCE)
WIDE, NARROW = 1280, 390
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
NO_BROWSER = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed: apt-get install chromium")


@contextmanager
def launched() -> Iterator[Browser]:
    """Chromium. It is to be closed before any other test starts an event loop: Playwright's own runs in this thread."""
    with sync_playwright() as playwright:
        # As root, which containers are, Chromium does not start its own sandbox.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options, timeout=3 * PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def serving(store: Path, *options: str, cwd: Path) -> Iterator[str]:
    """`crucible ui` over a store on a free port; its address, without the last slash."""
    command = [sys.executable, "-m", "crucible", "--store", str(store), "ui", "--port", "0", *options]
    # Into a file: nobody reads a pipe while the tests go on, and a server that has said much would stand still.
    with TemporaryFile("w+") as said, subprocess.Popen(command, cwd=cwd, env=environment(), stderr=said) as server:
        try:
            yield _address(server, said)
        finally:
            server.terminate()
            server.wait(timeout=120)


def _address(server: subprocess.Popen[bytes], said: IO[str]) -> str:
    """Where it listens, once it says so."""
    while server.poll() is None:
        if found := re.search(r"http://\S+(?=/\s)", _said(said)):
            return found[0]
        sleep(0.05)
    raise AssertionError(f"crucible ui did not start: {_said(said)}")


def _said(file: IO[str]) -> str:
    # Its place in the file is the server's too, which would write wherever it was moved to.
    return os.pread(file.fileno(), 1_000_000, 0).decode()


class Watched:
    """A page, with everything that went wrong on it: errors on the console, dialogs, and requests to anywhere else."""

    def __init__(self, context: BrowserContext, base: str, ignored: Sequence[str] = ()) -> None:
        self.base, self.ignored = base, tuple(ignored)
        self.problems: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)

    def open(self, path: str) -> int:
        """Open a page of the site; the status of the answer."""
        answer = self.page.goto(f"{self.base}{path}", wait_until="load")
        assert answer is not None
        return answer.status

    def arrived(self, where: str | re.Pattern[str]) -> None:
        """Wait until the page that a key or a click led to is loaded whole: before, it knows no keys and lacks links."""
        at = re.compile(re.escape(where)) if isinstance(where, str) else where
        self.page.wait_for_url(lambda url: at.fullmatch(url) is not None)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(text in message.text for text in self.ignored):
            self.problems.append(f"{message.type}: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.base, "data:")):
            self.problems.append(f"request: {request.url[:120]}")


@contextmanager
def watching(
    browser: Browser, base: str, width: int = WIDE, *, ignored: Sequence[str] = (), **options: Any
) -> Iterator[Watched]:
    """A page in a context of its own."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    try:
        yield Watched(context, base, ignored)
    finally:
        context.close()


def overflow(page: Page) -> list[str]:
    """What sticks out to the right of the window, outside of what scrolls by itself."""
    found: list[str] = page.evaluate("""() => {
        const root = document.documentElement;
        if (root.scrollWidth <= root.clientWidth) return [];
        const scrolls = (e) => e && (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
        const out = (e) => e.getBoundingClientRect().right > root.clientWidth + 1;
        return [...document.querySelectorAll('body *')].filter((e) => out(e) && !scrolls(e.parentElement))
            .slice(0, 4).map((e) => `${e.tagName}.${e.className?.baseVal ?? e.className}: ${e.textContent.slice(0, 40)}`);
    }""")
    return found


def violations(page: Page) -> list[str]:
    """What axe finds that is not accessible. The context needs bypass_csp: the page itself would not let it in."""
    page.evaluate(AXE.read_text("utf-8"))
    found: list[str] = page.evaluate("""async () => {
        const result = await axe.run(document, { resultTypes: ['violations'] });
        const said = (n) => `${n.html.slice(0, 140)} (${n.failureSummary.slice(0, 200)})`;
        return result.violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => `${v.id}: ${said(n)}`));
    }""")
    return found


def screenshots(folder: Path) -> Path:
    """Where pictures are kept: $CRUCIBLE_SCREENSHOTS, else a folder that nobody looks at."""
    kept = Path(os.environ.get("CRUCIBLE_SCREENSHOTS") or folder)
    kept.mkdir(parents=True, exist_ok=True)
    return kept
