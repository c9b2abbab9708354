"""What a score was made with, as hashes. Scores of different judge versions are never compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from crucible.judging.evidence import BUDGET_CHARS, LEAST_BUDGET, fit
from crucible.judging.facts import RULES
from crucible.judging.protocol import SCHEMA, ask_again, prefix, question
from crucible.judging.types import Evidence
from crucible.scenario.schema import Dimension

FACTS = "facts"
"""The name that stands for a judge model when scores come from measurements."""
METHOD = 2
"""Raised whenever blinding, fitting, reading or clamping changes what a score means."""


def prompt_hash() -> str:
    """SHA-256 of every word said to all judges, taken from two specimens of a whole conversation, and of the method."""
    said = [_specimen(Evidence("", "", "", "", "")), _specimen(Evidence(*["x" * LEAST_BUDGET] * 5))]
    return _digest(["prompt", METHOD, BUDGET_CHARS, SCHEMA, said])


def facts_hash() -> str:
    """SHA-256 of the rules of facts mode; it stands where a judge model has its prompt hash."""
    return _digest(["facts", METHOD, RULES])


def rubric_hash(dimensions: Iterable[Dimension]) -> str:
    """SHA-256 of the dimensions in order: names, weights, criteria."""
    return _digest([[dimension.name, float(dimension.weight), dimension.criteria] for dimension in dimensions])


def judge_version(model: str, prompt: str, rubric: str, samples: int) -> str:
    """The id of a judge: 16 hexadecimal digits over its model, prompt hash, rubric hash and number of samples."""
    return _digest([model, prompt, rubric, samples])[:16]


def version_of(model: str, dimensions: Iterable[Dimension], samples: int) -> str:
    """The judge version for a model name, or for `facts` (which has no samples)."""
    facts = model == FACTS
    return judge_version(
        model, facts_hash() if facts else prompt_hash(), rubric_hash(dimensions), 0 if facts else samples
    )


def _specimen(evidence: Evidence) -> list[list[str]]:
    dimension = Dimension(name="dimension", weight=1, criteria="criteria")
    said = (
        *prefix(fit(evidence, str, LEAST_BUDGET), "marker"),
        question(dimension, str),
        *ask_again("reply", "reason"),
    )
    return [[message.role, message.content] for message in said]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True, allow_nan=False).encode()).hexdigest()
