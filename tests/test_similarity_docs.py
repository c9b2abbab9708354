"""The worked example and the constants in docs/scoring.md are what the code computes."""

from __future__ import annotations

import re
from pathlib import Path

from crucible.scenario.reference import load_reference
from crucible.scoring import extent, similarity, structure
from crucible.scoring.edits import MOVED_LIKENESS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "scoring.md").read_text("utf-8")
FIXTURE = ROOT / "fixtures" / "asd-vs-baseline"


def test_the_worked_example_is_right() -> None:
    path = "store/pricing.py"
    before = (FIXTURE / "repo" / path).read_bytes()
    reference = load_reference(FIXTURE / "REFERENCE_FIX.md", {path: before}.get)
    call = b"    pct = max(tier_pct(quantity, tiers), coupon_pct)\n"
    candidate = before.replace(b"return raw * pct", b"return raw - raw * pct").replace(call, call + b"    print(pct)\n")
    result = similarity.similarity({path: before}, {path: candidate}, reference.after)
    ratio = similarity.size_ratio({path: candidate}, reference.after, {path: before})
    example = PAGE.split("### A worked example")[1].split("### Large changes")[0]
    assert f"structural = 1 x 0.941 = **{result.structural:.3f}**" in example
    assert f"textual = **{result.textual:.2f}**" in example
    assert f"combined = 0.941 x (1 + 0.630) / 2 = **{result.combined:.3f}**" in example
    assert f"(2 + 4) / 4 =\n**{ratio}**" in example
    assert all(f"    {reason}\n" in example for reason in result.reasons)


def test_the_constants_on_the_page_are_those_of_the_code() -> None:
    words = re.sub(r"\s+", " ", PAGE)
    assert f"(R + {similarity.ALLOWANCE}) / (R + {similarity.ALLOWANCE} + E)" in words
    assert f"counts {similarity.SAME_LINES} at least" in words
    assert f"at least {MOVED_LIKENESS:.0%}".replace("%", " %") in words
    assert f"Beyond {extent.MAX_TOKENS:,} tokens" in words
    assert f"a line above {structure.MAX_LINE:,} characters" in words
    assert (similarity.FILE_CREDIT, similarity.COMPANION_WEIGHT, structure.MAX_PARSED_BYTES) == (0.5, 0.25, 1_000_000)
