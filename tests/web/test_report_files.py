"""`crucible report`: the comparison as files for others. Each says the same and means nothing but what it says."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.report.files.junit import clean, junit
from crucible.report.files.markdown import escaped, markdown
from crucible.report.files.table import table
from crucible.report.overall import Overall, overall
from crucible.report.terminal import beside
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store
from crucible.web.onefile import one_file
from tests.conftest import Cli
from tests.web.conftest import Kept


def read(filled: Kept, run: int) -> Overall:
    found = overall(filled.store, run)
    assert found is not None
    return found


@pytest.mark.parametrize("run", ["rehearsal", "better", "incomplete", "several"])
def test_the_page_is_one_small_file_that_loads_and_runs_nothing(filled: Kept, run: str) -> None:
    html = one_file(filled.store, read(filled, getattr(filled, run)))
    assert len(html.encode()) < 2_000_000
    assert [] == re.findall(r"<script|<link|<img|<iframe|\ssrc=|\sstyle=|url\(|@import|\son[a-z]+=|https?://", html)
    assert set() == {href for href in re.findall(r'href="([^"]*)"', html) if not href.startswith("#")}


def test_the_policy_of_the_page_allows_its_own_style_and_no_other(filled: Kept) -> None:
    html = one_file(filled.store, read(filled, filled.better))
    style = re.search(r"(?s)<style>(.*?)</style>", html)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in unescape(html)


def test_the_page_says_the_verdict_and_marks_a_rehearsal(filled: Kept) -> None:
    said = unescape(one_file(filled.store, read(filled, filled.better)))
    assert read(filled, filled.better).verdict.sentence in said
    assert "REHEARSAL" in one_file(filled.store, read(filled, filled.rehearsal))


@pytest.mark.slow
def test_the_page_of_ten_thousand_attempts_can_be_mailed(tmp_path: Path) -> None:
    arms = {arm: [Filled(n % 3 == 0, 0.5) for n in range(1_000)] for arm in "ab"}
    with Store(tmp_path / "store.db") as store:
        found = overall(store, fill_run(store, {f"s{n}": arms for n in range(5)}, "b"))
        assert found is not None
        assert len(one_file(store, found).encode()) < 2_000_000


def test_markdown_puts_the_verdict_first_and_folds_the_rest(filled: Kept) -> None:
    run = read(filled, filled.better)
    lines = markdown(run, beside(filled.store, run)).splitlines()
    assert lines[0].startswith("### \N{BLACK UP-POINTING TRIANGLE} better: refund")
    assert f"**{escaped(run.verdict.sentence)}**" == lines[2]
    assert any(line.startswith("<details><summary>Cost") for line in lines)


@given(st.text())
def test_text_in_markdown_formats_nothing_and_calls_nobody(text: str) -> None:
    made = escaped(text)
    assert "\n" not in made
    assert [] == re.findall(r"(?<!\\)[`*_\[\]<>#|]", made.replace("\\\\", ""))
    assert "@" not in made.replace("@\u200b", "")


def test_junit_counts_what_is_in_it(filled: Kept) -> None:
    root = ET.fromstring(junit(read(filled, filled.incomplete)))  # noqa: S314 - our own
    verdict, suite = root.findall("testsuite")
    assert ("1", "1", "0") == (verdict.get("tests"), verdict.get("skipped"), verdict.get("failures"))
    assert ("20", "1", "6") == (suite.get("tests"), suite.get("skipped"), suite.get("failures"))
    (skipped,) = suite.findall("testcase/skipped")
    assert "not counted: provider" == skipped.get("message")


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_can_be_written_as_xml(text: str) -> None:
    ET.fromstring(ET.tostring(ET.Element("a", b=clean(text))))  # noqa: S314 - our own


def test_csv_has_a_row_for_each_planned_attempt_and_nothing_for_what_is_not_known(filled: Kept) -> None:
    rows = list(csv.DictReader(table(read(filled, filled.incomplete)).splitlines()))
    assert 20 == len(rows)
    (lost,) = [row for row in rows if row["counted"] == "false"]
    assert ("provider", "", "") == (lost["cause"], lost["passed"], lost["total"])


def test_csv_marks_what_a_spreadsheet_would_compute(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = fill_run(store, {"s": {"a": [Filled(None, cause="=1+1")], "b": [Filled(True)]}}, "b")
        found = overall(store, run)
    assert found is not None
    (row,) = [row for row in csv.DictReader(table(found).splitlines()) if row["counted"] == "false"]
    assert "'=1+1" == row["cause"]


@pytest.mark.slow
def test_the_command_writes_all_of_them_at_once(cli: Cli, bench: Path) -> None:
    with Store(bench / "s.db") as store:
        fill_run(store, {"s": {"a": [Filled(True)] * 4, "b": [Filled(False)] * 4}}, "b")
    asked = [part for kind in ("html", "markdown", "junit", "json", "csv") for part in (f"--{kind}", f"out.{kind}")]
    done = cli("--store", "s.db", "report", "1", *asked)
    assert (0, "") == (done.returncode, done.stdout)
    assert 5 == len(done.stderr.splitlines())
    compared = cli("--store", "s.db", "compare", "1", "--json")
    assert json.loads(compared.stdout) == json.loads((bench / "out.json").read_text("utf-8"))
    assert cli("--store", "s.db", "report", "1").stdout == (bench / "out.markdown").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["1", "--html", "none/x.html"], "none/x.html: cannot be written: No such file or directory"),
        (["9"], "there is no run 9 in this store"),
        (["1", "--csv", "-", "--junit", "-"], "only one of them can go to stdout"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(cli: Cli, bench: Path, arguments: list[str], says: str) -> None:
    with Store(bench / "s.db") as store:
        fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(False)]}}, "b")
    done = cli("--store", "s.db", "report", *arguments)
    assert (2, says) == (done.returncode, done.stderr.splitlines()[0])
    assert "Traceback" not in done.stderr
