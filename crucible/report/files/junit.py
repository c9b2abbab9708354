"""A report as JUnit XML: the verdict as one test case, then every planned attempt as one.

Only the verdict can fail, and does when the treatment is worse: `inconclusive` and `not tested` are skipped, for they say
nothing either way. A red suite of an attempt is what is being measured and fails nothing, or every baseline that is beaten
would turn a CI server red; its case says so in its name. An attempt that does not count, or was not made, is skipped with the
reason. What was made again is told with the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from crucible.report.arms import Line
from crucible.report.files.about import About, beside_the_verdict, lost_lines
from crucible.report.overall import Overall

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: Overall, told: About) -> str:
    """The whole document."""
    root = ET.Element("testsuites", name=f"crucible run {run.run_id}")
    _suite(root, "verdict", [_verdict(run, told)])
    for one in run.comparisons:
        _suite(root, clean(one.scenario), [_attempt(one.scenario, line) for line in one.lines])
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(root: ET.Element, name: str, cases: list[ET.Element]) -> None:
    said = {"name": name, "tests": str(len(cases)), "errors": "0"}
    said |= {"failures": _count(cases, "failure"), "skipped": _count(cases, "skipped")}
    suite = ET.SubElement(root, "testsuite", said)
    suite.extend(cases)


def _count(cases: list[ET.Element], kind: str) -> str:
    return str(sum(case.find(kind) is not None for case in cases))


def _verdict(run: Overall, told: About) -> ET.Element:
    case = ET.Element("testcase", classname="crucible", name=clean(f"{run.treatment} against {run.baseline}"))
    word, sentence = run.verdict.word, clean(run.verdict.sentence)
    if word == "worse":
        ET.SubElement(case, "failure", message=sentence)
    elif word in ("inconclusive", "not tested"):
        ET.SubElement(case, "skipped", message=sentence)
    lost = (f"Not counted: {line}" for line in lost_lines(told))
    ET.SubElement(case, "system-out").text = clean("\n".join((run.verdict.sentence, *beside_the_verdict(run), *lost)))
    return case


def _attempt(scenario: str, line: Line) -> ET.Element:
    suite = f": suite {'green' if line.passed else 'red'}" if line.counted else ""
    case = ET.Element("testcase", classname=clean(f"{scenario}.{line.arm}"), name=f"block {line.block}{suite}")
    if not line.counted:
        ET.SubElement(case, "skipped", message=clean("; ".join(_why_not(line))))
    if line.attempt_id is not None:
        ET.SubElement(case, "system-out").text = clean("\n".join(_came_of(line)))
    return case


def _came_of(line: Line) -> Iterator[str]:
    if line.counted:
        yield f"ended: {line.ending}" + ("" if line.total is None else f"; score {line.total:.2f}")
        yield from filter(None, [line.detail])
    yield f"crucible show {line.attempt_id}"


def _why_not(line: Line) -> Iterator[str]:
    yield line.ending if line.counted is None else f"not counted: {line.cause}"
    if line.detail:
        yield line.detail


def clean(text: str) -> str:
    """Without the characters that XML has no way to write."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
