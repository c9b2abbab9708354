"""Reading a JUnit XML report: which tests passed, failed, errored or were skipped. Never text on stdout."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree as ET

MOST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Junit:
    """Test ids by what became of them. An id is `classname::name`, as the report says."""

    passed: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()

    def without(self, names: frozenset[str]) -> Junit:
        """The report on all other tests."""
        return Junit(self.passed - names, self.failed - names, self.skipped - names)


def read_junit(data: bytes | None) -> Junit | str:
    """The report, or why it cannot be read. A test seen both passed and failed is failed."""
    if data is None:
        return "no report was written"
    if len(data) > MOST_BYTES:
        return f"the report is {len(data):,} bytes, more than {MOST_BYTES:,}"
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        return "the report declares entities"
    try:
        root = ET.fromstring(data)  # noqa: S314 - entities and doctypes are refused above
    except (ET.ParseError, ValueError) as error:
        return f"the report is not XML: {error}"
    return _sorted(root)


def _sorted(root: ET.Element) -> Junit:
    passed: set[str] = set()
    failed: set[str] = set()
    skipped: set[str] = set()
    for case in root.iter("testcase"):
        children = {child.tag for child in case}
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        if children & {"failure", "error"}:
            failed.add(name)
        elif "skipped" in children:
            skipped.add(name)
        else:
            passed.add(name)
    return Junit(frozenset(passed - failed - skipped), frozenset(failed), frozenset(skipped - failed))
