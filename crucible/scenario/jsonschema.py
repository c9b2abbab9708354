"""The JSON Schema of a scenario's frontmatter, for editors and other tools."""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from crucible.scenario.schema import Scenario


def scenario_json_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12, made from the models: types, bounds and descriptions, no unknown keys.

    What spans several fields (weights that sum to 1, names that are unique, files that exist) is not in it.
    """
    schema = Scenario.model_json_schema(by_alias=True, mode="validation")
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": "Crucible scenario"}


def scenario_json_schema_text() -> str:
    """The schema as text, the same for the same models, byte for byte."""
    return json.dumps(scenario_json_schema(), indent=2, ensure_ascii=False) + "\n"
