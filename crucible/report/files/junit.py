"""A report as JUnit XML: the verdict as one test case, then every planned attempt as one.

An attempt fails when its suite is red; one that does not count, or was not made, is skipped with the reason. The verdict
fails only when the treatment is worse: `inconclusive` and `not tested` are skipped, for they say nothing either way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from crucible.report.arms import Line
from crucible.report.overall import Overall

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: Overall) -> str:
    """The whole document."""
    root = ET.Element("testsuites", name=f"crucible run {run.run_id}")
    _suite(root, "verdict", [_verdict(run)])
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


def _verdict(run: Overall) -> ET.Element:
    case = ET.Element("testcase", classname="crucible", name=clean(f"{run.treatment} against {run.baseline}"))
    word, sentence = run.verdict.word, clean(run.verdict.sentence)
    if word == "worse":
        ET.SubElement(case, "failure", message=sentence)
    elif word in ("inconclusive", "not tested"):
        ET.SubElement(case, "skipped", message=sentence)
    ET.SubElement(case, "system-out").text = sentence
    return case


def _attempt(scenario: str, line: Line) -> ET.Element:
    case = ET.Element("testcase", classname=clean(f"{scenario}.{line.arm}"), name=f"block {line.block}")
    if not line.counted:
        ET.SubElement(case, "skipped", message=clean("; ".join(_why_not(line))))
    elif not line.passed:
        ET.SubElement(case, "failure", message=clean(f"suite red; ended: {line.ending}"))
    if line.attempt_id is not None:
        ET.SubElement(case, "system-out").text = f"crucible show {line.attempt_id}"
    return case


def _why_not(line: Line) -> Iterator[str]:
    yield line.ending if line.counted is None else f"not counted: {line.cause}"
    if line.detail:
        yield line.detail


def clean(text: str) -> str:
    """Without the characters that XML has no way to write."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
