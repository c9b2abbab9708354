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
from markdown_it import MarkdownIt

from crucible.report.files.about import About, about
from crucible.report.files.escaping import escaped
from crucible.report.files.escaping import table as markdown_table
from crucible.report.files.junit import clean, junit
from crucible.report.files.markdown import LARGEST, markdown
from crucible.report.files.table import table
from crucible.report.overall import Overall, overall
from crucible.report.terminal import beside
from crucible.store.filling import Filled, fill_run
from crucible.store.writes import Store
from crucible.web.onefile import LARGEST as LARGEST_PAGE
from crucible.web.onefile import one_file
from tests.conftest import Cli
from tests.web.conftest import Kept
from tests.web.hostile import fill_hostile

RENDERED = MarkdownIt("commonmark").enable("table").enable("strikethrough")


def read(filled: Kept, run: int) -> Overall:
    found = overall(filled.store, run)
    assert found is not None
    return found


def told(filled: Kept, run: int) -> About:
    return about(filled.store, run)


def comment(store: Store, run: int) -> str:
    found = overall(store, run)
    assert found is not None
    return markdown(found, beside(store, found), about(store, run))


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


def test_the_title_of_the_page_says_what_was_held_against_what_and_what_came_of_it(filled: Kept) -> None:
    html = one_file(filled.store, read(filled, filled.better))
    assert "<title>search against plain on refund: better</title>" in html


def test_the_page_says_what_was_asked_when_how_and_by_whom_it_was_judged(filled: Kept) -> None:
    html = unescape(one_file(filled.store, read(filled, filled.rehearsal)))
    run, (scenario,) = told(filled, filled.rehearsal).run, told(filled, filled.rehearsal).scenarios.values()
    for text in (scenario.description, scenario.task_prompt.strip(), scenario.treatment.system_prompt or "", run.judge):
        assert text.strip() in html
    assert f"{run.created_at[:16].replace('T', ' ')} UTC" in html
    assert f"2 blocks, seed {run.seed}" in html
    assert "on the pass rate, margin 10 points" in html


def test_the_page_shows_one_block_turn_by_turn(filled: Kept) -> None:
    html = unescape(one_file(filled.store, read(filled, filled.rehearsal)))
    assert "One block, turn by turn: block" in html
    assert "They part here" in html
    assert "One block, turn by turn" not in one_file(filled.store, read(filled, filled.better))


def test_attempts_that_are_in_the_page_are_led_to_and_no_others(filled: Kept) -> None:
    for run in (filled.rehearsal, filled.incomplete, filled.several):
        html = one_file(filled.store, read(filled, run))
        led_to = set(re.findall(r'href="#([^"]+)"', html))
        assert led_to
        assert set() == led_to - set(re.findall(r'id="([^"]+)"', html))


@pytest.mark.slow
def test_the_page_of_a_thousand_scenarios_is_shortened_until_it_can_be_mailed(tmp_path: Path) -> None:
    arms = {arm: [Filled(n > 0, 0.5) for n in range(2)] for arm in "ab"}
    with Store(tmp_path / "store.db") as store:
        found = overall(store, fill_run(store, {f"s{n}": arms for n in range(1_000)}, "b"))
        assert found is not None
        html = one_file(store, found)
    assert len(html.encode()) < LARGEST_PAGE
    assert "crucible report 1 --csv FILE has them all" in html


def test_markdown_says_what_a_reviewer_needs_before_what_is_folded(filled: Kept) -> None:
    run, row = read(filled, filled.better), told(filled, filled.better).run
    opened, _, folded = comment(filled.store, filled.better).partition("<details>")
    lines = opened.splitlines()
    assert "### \N{BLACK UP-POINTING TRIANGLE} better: search against plain on refund" == lines[0]
    assert f"**{escaped(run.verdict.sentence)}**" == lines[2]
    assert escaped(run.claims[1].verdict.sentence) in lines
    assert escaped(run.dominance or "-") in lines
    assert "| search | openai/simulated | 20 of 20 | 90% (18 of 20; 95%: 70-97%) |" in opened
    assert f"Run {filled.better} of {row.created_at[:10]}" in lines[-2]
    assert f"seed {row.seed}" in lines[-2]
    assert f"`crucible compare {filled.better} --details`" in lines[-2]
    assert "#### Cost" in folded
    assert run.verdict.sentence not in folded


@pytest.mark.parametrize("run", ["rehearsal", "better", "incomplete", "several"])
def test_markdown_is_short_and_holds_no_list_of_attempts_and_no_raw_numbers(filled: Kept, run: str) -> None:
    text = comment(filled.store, getattr(filled, run))
    assert len(text.partition("<details>")[0].encode()) < 3_000
    assert len(text.encode()) < LARGEST
    assert [] == [word for word in ("mann_whitney", "WRONG", "Every number", "#### Attempts") if word in text]


def test_markdown_says_once_why_attempts_were_lost(filled: Kept) -> None:
    lines = comment(filled.store, filled.incomplete).splitlines()
    assert ["- 1 attempt of search (block 10; provider; not made again)"] == [line for line in lines if line[:1] == "-"]


def test_markdown_of_many_scenarios_says_where_the_rest_is(tmp_path: Path) -> None:
    arms = {arm: [Filled((n + (arm == "a")) % 3 != 0, 0.5, 0.01) for n in range(6)] for arm in "ab"}
    with Store(tmp_path / "store.db") as store:
        text = comment(store, fill_run(store, {f"scenario-{n}": arms for n in range(40)}, "b"))
    assert len(text.encode()) < LARGEST
    assert "25 rows more: `crucible compare 1`" in text
    assert "and 37 more" in text


def test_markdown_of_a_hostile_run_holds_only_our_own_markup(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        text = comment(store, fill_hostile(store).run)
    assert len(text.encode()) < LARGEST
    html = RENDERED.render(text)
    assert {"details", "summary", "sub"} >= set(re.findall(r"<([a-z0-9]+)", html)) - _OURS
    assert "http://" not in text


_OURS = {"h3", "h4", "p", "strong", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code"}


@given(st.text(), st.sampled_from(["", "- ", "1. ", "> ", "# ", "@", "**@", "www.", "http://", "a@", "#1", "==="]))
def test_text_in_markdown_means_only_itself(text: str, start: str) -> None:
    made = escaped(start + text)
    assert "\n" not in made
    html = RENDERED.render(made)
    shown = unescape(html.removeprefix("<p>").removesuffix("</p>\n")).replace("\u200b", "")
    as_it_is = re.sub(
        "[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", "\ufffd", " ".join(f"{start}{text}".split())
    )
    assert as_it_is.replace("\u200b", "") == shown
    (row,) = list(markdown_table(["x"], [[start + text]]))[2:]
    assert as_it_is.replace("\u200b", "") == unescape(
        RENDERED.render(f"| a |\n| - |\n{row}").partition("<td>")[2].partition("</td>")[0]
    ).replace("\u200b", "")


@pytest.mark.parametrize(
    "text",
    [
        "@octocat",
        "see @octocat",
        "**@octocat**",
        "_@octocat",
        "a\n@octocat",
        "\u00e9@octocat",
        "@@octocat",
        "(@octocat)",
    ],
)
def test_a_name_in_markdown_calls_nobody(text: str) -> None:
    assert "@\u200boctocat" in escaped(text)


@pytest.mark.parametrize(
    "text", ["#12", "crucible#12", "gh-12", "https://evil.example", "www.evil.example", "a@evil.example"]
)
def test_numbers_of_issues_and_addresses_in_markdown_lead_nowhere(text: str) -> None:
    assert "\u200b" in escaped(text)


def test_what_calls_nobody_stays_as_it_is() -> None:
    for text in ("one of 2 passes (pass@2)", "p < 0.001", "+80 points (95%: +60 to +91)", "12:30", "openai/gpt-5"):
        assert text == escaped(text)


def test_junit_names_a_red_suite_and_lets_only_the_verdict_fail(filled: Kept) -> None:
    root = ET.fromstring(junit(read(filled, filled.incomplete), told(filled, filled.incomplete)))  # noqa: S314 - our own
    verdict, suite = root.findall("testsuite")
    assert ("1", "1", "0") == (verdict.get("tests"), verdict.get("skipped"), verdict.get("failures"))
    assert ("20", "1", "0") == (suite.get("tests"), suite.get("skipped"), suite.get("failures"))
    (skipped,) = suite.findall("testcase/skipped")
    assert "not counted: provider" == skipped.get("message")
    names = [(case.get("name") or "").partition(": ")[2] for case in suite.iter("testcase")]
    assert (13, 6, 1) == tuple(names.count(name) for name in ("suite green", "suite red", ""))
    said = verdict.findtext("testcase/system-out") or ""
    assert said.startswith("No verdict: the run is not complete")
    assert "Not counted: 1 attempt of search (block 10; provider; not made again)" in said.splitlines()


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_can_be_written_as_xml(text: str) -> None:
    ET.fromstring(ET.tostring(ET.Element("a", b=clean(text))))  # noqa: S314 - our own


def test_csv_has_a_row_for_each_planned_attempt_and_nothing_for_what_is_not_known(filled: Kept) -> None:
    rows = list(csv.DictReader(table(read(filled, filled.incomplete)).splitlines()))
    assert 20 == len(rows)
    (lost,) = [row for row in rows if row["counted"] == "false"]
    assert ("provider", "", "") == (lost["cause"], lost["passed"], lost["total"])


def test_csv_has_the_cost_as_far_as_it_is_known(filled: Kept) -> None:
    run = read(filled, filled.incomplete)
    costs = [row["cost_usd"] for row in csv.DictReader(table(run).splitlines())]
    known = [line.cost_usd for one in run.comparisons for line in one.lines]
    assert known == [pytest.approx(float(cost)) if cost else None for cost in costs]
    assert 19 == sum(cost != "" for cost in costs)


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
    assert cli("--store", "s.db", "report", "1", "--csv", "-").stdout == (bench / "out.csv").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["1", "--html", "none/x.html"], "none/x.html: cannot be written: No such file or directory"),
        (["9"], "there is no run 9 in this store"),
        ([f"{2**63 - 1}"], f"there is no run {2**63 - 1} in this store"),
        (["1", "--csv", "-", "--junit", "-"], "only one of them can go to stdout"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(cli: Cli, bench: Path, arguments: list[str], says: str) -> None:
    with Store(bench / "s.db") as store:
        fill_run(store, {"s": {"a": [Filled(True)], "b": [Filled(False)]}}, "b")
    done = cli("--store", "s.db", "report", *arguments)
    assert (2, says) == (done.returncode, done.stderr.splitlines()[0])
    assert "Traceback" not in done.stderr
