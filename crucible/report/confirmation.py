"""A confirmation for machines and for a pull request: JUnit XML, and a summary in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from crucible.report.failures import claims, difference, headline, warnings
from crucible.runner.failures.confirm import Confirmation, Verdict
from crucible.runner.failures.made import Colour, Made

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold, not even escaped."""
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")


def junit_xml(found: Confirmation) -> str:
    """One test case for the verdict, one for each run. Only a confirmed failure has a verdict that passes."""
    runs = sorted(found.series.made, key=lambda made: made.number)
    suite = ET.Element(
        "testsuite",
        name=_text(found.frozen.failure.name),
        tests=str(len(runs) + 1),
        failures=str((found.verdict is Verdict.REFUTED) + len(found.series.of(Colour.RED))),
        errors=str(int(found.verdict is Verdict.INCONCLUSIVE)),
        skipped=str(len(found.series.of(Colour.INVALID))),
        time=f"{found.series.seconds:.3f}",
    )
    _verdict(found, _case(suite, found, "confirmed", found.series.seconds))
    for made in runs:
        _run(_case(suite, found, f"run {made.number}", made.seconds), made)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, found: Confirmation, name: str, seconds: float) -> ET.Element:
    slug = _text(found.frozen.failure.slug)
    return ET.SubElement(suite, "testcase", classname=slug, name=name, time=f"{seconds:.3f}")


def _verdict(found: Confirmation, case: ET.Element) -> None:
    kind = {Verdict.REFUTED: "failure", Verdict.INCONCLUSIVE: "error"}.get(found.verdict)
    if kind is not None:
        _note(case, kind, headline(found), "\n".join([*claims(found), *difference(found)]))
    ET.SubElement(case, "system-out").text = _text("\n".join([*claims(found), *warnings(found)]))


def _run(case: ET.Element, made: Made) -> None:
    if made.colour is Colour.RED:
        _note(case, "failure", made.line, f"transcript sha256 {made.sha256}")
    elif made.colour is Colour.INVALID:
        _note(case, "skipped", f"does not count: {made.line}", "")


def _note(case: ET.Element, kind: str, message: str, more: str) -> None:
    ET.SubElement(case, kind, message=_text(message)).text = _text(more)


def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def markdown_text(found: Confirmation) -> str:
    """The verdict, its claims and its runs, for a pull request or a job summary."""
    return "\n".join([*_summary(found), ""])


def _summary(found: Confirmation) -> Iterator[str]:
    yield f"### {_escaped(found.frozen.failure.name)}"
    yield ""
    yield f"**{_escaped(headline(found))}**"
    yield ""
    for line in [*claims(found), *warnings(found)]:
        yield f"{'  ' if line.startswith('  ') else ''}- {_escaped(line.strip())}"
    yield ""
    yield "| run | | verdict | seconds |"
    yield "|---:|---|---|---:|"
    for made in sorted(found.series.made, key=lambda made: made.number):
        yield f"| {made.number} | {made.colour.value} | {_escaped(made.line)} | {made.seconds:.1f} |"
    lines = list(difference(found))
    if lines:
        yield from ("", *_fenced(lines))


def _fenced(lines: list[str]) -> list[str]:
    """A code block that nothing in it can close."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}diff", *(" ".join(line.removeprefix("  ").splitlines()) for line in lines), fence]


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
