"""Writes docs/scenarios.md and docs/scenario.schema.json from the models: `python -m crucible.scenario.docs`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crucible.scenario.docs_text import ARMS, EXAMPLE, INTRO, RULES
from crucible.scenario.jsonschema import scenario_json_schema, scenario_json_schema_text
from crucible.scenario.schema import PATTERN_WORDS, TOOL_ARGUMENTS


def scenarios_page() -> str:
    """docs/scenarios.md as text."""
    schema = scenario_json_schema()
    parts = [INTRO, "## Example\n\n```markdown\n" + EXAMPLE + "```\n", "## Fields\n", _section("Scenario", schema)]
    parts += [_section(name, schema["$defs"][name]) for name in _reading_order(schema)]
    return "\n".join([*parts, _tools(), ARMS + RULES])


def _reading_order(schema: dict[str, Any]) -> list[str]:
    """Names of the parts in the order in which the fields above mention them."""
    found: dict[str, None] = {}

    def visit(part: dict[str, Any]) -> None:
        for field in part["properties"].values():
            for name in _references(field):
                if name not in found:
                    found[name] = None
                    visit(schema["$defs"][name])

    visit(schema)
    return list(found)


def _references(field: dict[str, Any]) -> Iterator[str]:
    for inner in (field, field.get("items", {}), *field.get("anyOf", []), *_values(field)):
        if "$ref" in inner:
            yield inner["$ref"].rsplit("/", 1)[-1]


def _values(field: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The values of a field that is a mapping with names of one's own."""
    yield from field.get("patternProperties", {}).values()
    if isinstance(field.get("additionalProperties"), dict):
        yield field["additionalProperties"]


def _section(name: str, part: dict[str, Any]) -> str:
    head = f"### {name}\n\n{part['description']}\n\n| field | type | default | meaning |\n|---|---|---|---|\n"
    required = part.get("required", [])
    return head + "".join(_row(key, field, key in required) for key, field in part["properties"].items())


def _row(key: str, field: dict[str, Any], required: bool) -> str:
    default = "required" if required else _default(field)
    cells = (f"`{key}`", _type(field), default, field["description"])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _default(field: dict[str, Any]) -> str:
    match field.get("default"):
        case dict():
            return "its own defaults"
        case None | "" | []:
            return "none"
        case default:
            return f"`{json.dumps(default)}`"


def _type(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return _type(next(one for one in field["anyOf"] if one.get("type") != "null"))
    if "$ref" in field:
        name = next(_references(field))
        return f"[{name}](#{name.lower()})"
    if "enum" in field:
        return ", ".join(f"`{one}`" for one in field["enum"])
    if field["type"] == "array":
        return _list_type(field)
    if field["type"] == "object":
        return f"map: name to {_type(next(_values(field)))}"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
    return words[field["type"]] + _bounds(field)


def _list_type(field: dict[str, Any]) -> str:
    low, high = field.get("minItems", 0), field.get("maxItems")
    count = f"exactly {low} of " if low == high else f"at least {low} of " if low else ""
    said = _type(field["items"])
    return (
        f"list of lists: {said.removeprefix('list: ')}"
        if field["items"].get("type") == "array"
        else f"list: {count}{said}"
    )


def _bounds(field: dict[str, Any]) -> str:
    words = {
        "minimum": "at least {}",
        "exclusiveMinimum": "more than {}",
        "maximum": "at most {}",
        "maxLength": "at most {} characters",
    }
    said = [text.format(field[key]) for key, text in words.items() if key in field]
    if "pattern" in field:
        said.insert(0, PATTERN_WORDS[field["pattern"]].removeprefix("text that is "))
    return f"; {'; '.join(said)}" if said else ""


def _tools() -> str:
    rows = "".join(
        f"| `{tool}` | {', '.join(f'`{one}`' for one in names)} |\n" for tool, names in TOOL_ARGUMENTS.items()
    )
    head = "### Built-in tools\n\nWhat the `tool` and `arg_key` of a matcher may name.\n\n"
    return f"{head}| tool | arguments |\n|---|---|\n{rows}"


def write(folder: Path) -> list[Path]:
    """Write both files into `folder` and return their paths."""
    pages = {"scenarios.md": scenarios_page(), "scenario.schema.json": scenario_json_schema_text()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in pages]


if __name__ == "__main__":
    written = write(Path(__file__).parents[2] / "docs")
    sys.stdout.write("".join(f"{path}\n" for path in written))
