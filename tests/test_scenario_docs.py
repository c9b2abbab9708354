"""The JSON Schema and the page about scenario files are made from the models, and are current."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from crucible.scenario.docs import write
from crucible.scenario.docs_text import EXAMPLE
from crucible.scenario.jsonschema import scenario_json_schema, scenario_json_schema_text

DOCS = Path(__file__).parents[1] / "docs"


def example() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(EXAMPLE.split("---\n")[1])
    return loaded


def complaints(scenario: dict[str, Any]) -> list[str]:
    return [error.message for error in Draft202012Validator(scenario_json_schema()).iter_errors(scenario)]


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for inner in schema.values():
            yield from objects(inner)


def test_the_generated_docs_are_current(tmp_path: Path) -> None:
    for made in write(tmp_path):
        assert made.read_text() == (DOCS / made.name).read_text(), "run `python -m crucible.scenario.docs`"


def test_the_schema_is_a_json_schema_without_unknown_keys() -> None:
    schema = scenario_json_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "$id" not in schema
    found = list(objects(schema))
    assert len(found) == 10
    assert all(one["additionalProperties"] is False and one["title"] and one["description"] for one in found)


def test_every_field_has_a_description() -> None:
    for one in objects(scenario_json_schema()):
        assert [key for key, field in one["properties"].items() if not field.get("description")] == []


def test_the_schema_takes_the_example_and_refuses_what_the_loader_refuses() -> None:
    assert complaints(example()) == []
    wrong = example()
    wrong["arms"].append(wrong["arms"][0])
    wrong["budget"]["max_turns"] = "25"
    wrong["polices"] = []
    wrong["policies"][0]["enforcement"] = "blok"
    assert len(complaints(wrong)) == 4


def test_the_schema_text_is_the_schema() -> None:
    assert scenario_json_schema() == json.loads(scenario_json_schema_text())


@pytest.mark.parametrize(
    "key", ["fixture_path", "max_cost_usd", "extra_tools", "not", "samples", "criteria", "env_from", "api"]
)
def test_the_page_has_a_row_for_a_field(key: str) -> None:
    assert f"| `{key}` |" in (DOCS / "scenarios.md").read_text()
