"""Writes docs/scenarios.md and docs/scenario.schema.json from the models: `python -m crucible.scenario.docs`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crucible.scenario.jsonschema import scenario_json_schema, scenario_json_schema_text
from crucible.scenario.schema import PATTERN_WORDS, TOOL_ARGUMENTS

INTRO = """\
# Scenario files

<!-- Written by `python -m crucible.scenario.docs`; change crucible/scenario/, not this file. -->

A scenario is one Markdown file, `scenarios/<name>.md`, that freezes a comparison: the same fixture, the same task,
two arms, one rubric. The YAML between the two `---` lines is the scenario. What follows it is for people; the loader
does not read it.

`crucible validate NAME` says whether a scenario holds: the fixture is red as it is and green with the reference fix.
`crucible new NAME` writes the stubs of a new one.
"""

RULES = """\
## How the file is read

- **Fences.** The first line is exactly `---`, and the next such line at column 0 ends the YAML. Trailing blanks,
  CRLF line ends, a byte order mark and a file that ends with the fence are all fine. Four dashes are not a fence.
- **Text is text.** YAML takes some unquoted words for something else: `no` is false, `010` is 8, `12:30` is 750,
  `2024-01-01` is a date. Where text is wanted, such a value is refused: quote it. Nothing is converted; `"25"` is no
  number, and `010` is refused where a number is wanted too. A key with nothing after it is refused: delete it.
- **One meaning.** Duplicate keys, unknown keys, anchors, aliases, merge keys and tags are refused.
- **All at once.** Every problem of a file is one line, `file:line: what, got what, nearest known name`, and the exit
  code is 2.

Beyond single fields:

- the name is the file's name without `.md`;
- `fixture_path` and `reference_fix` are there, inside the bench folder; `test_report` and `protected` stay inside the
  workspace. None is absolute or has `..` in it;
- arm ids, policy ids and dimension names are unique, and at most one arm is marked `baseline: true`;
- weights sum to 1, within 0.001;
- a matcher names a built-in tool and one of its arguments, or `<server>__<tool>` of a server that some arm has in
  `extra_tools`;
- a `regex` compiles, and no matcher but `equals` has an empty value.

A scenario is known by the SHA-256 of its file, body included, as `sha256sum` prints it: an edited file is another
scenario.

## In an editor

`docs/scenario.schema.json` is the JSON Schema; `crucible schema` prints it. Editors use it when a comment at
the top of the YAML says where it is, from the scenario file on:

```yaml
# yaml-language-server: $schema=../docs/scenario.schema.json
```
"""

EXAMPLE = """\
---
name: asd-vs-baseline
description: >
  Does ASD+CTX help gpt-4o-mini fix a real bug faster / better?
fixture_path: fixtures/asd-vs-baseline/repo
test_command: python3 -m pytest -q
reference_fix: fixtures/asd-vs-baseline/REFERENCE_FIX.md
task_prompt: |
  The store package has a failing test. Fix the bug in the source
  (not the tests) and re-run the suite.
arms:
  - id: assisted
    description: Same model with ASD + CTX MCP tools available.
    model: anthropic/claude-sonnet-4-6
    extra_tools: [asd, ctx]
    system_prompt: ...
  - id: baseline
    description: Same model, filesystem+bash only.
    model: anthropic/claude-sonnet-4-6
budget:
  max_turns: 25
  max_total_tokens: 60000
  max_wall_clock_seconds: 300
policies:
  - id: P1
    rule: Do not modify any file under tests/.
    enforcement: block
    matchers:
      - tool: write_file
        arg_key: path
        op: starts_with
        value: tests/
rubric:
  dimensions:
    - name: correctness
      weight: 0.40
      criteria: Tests pass. Bonus if the fix matches reference.
    - name: minimality
      weight: 0.25
      criteria: Diff as small as reference. No incidental changes.
    - name: reasoning_quality
      weight: 0.20
      criteria: Located the bug deliberately, not by trial and error.
    - name: efficiency
      weight: 0.15
      criteria: Fewer tool calls, fewer tokens at equal quality.
---

The markdown body below the YAML is human commentary — the loader ignores it.
"""


def scenarios_page() -> str:
    """docs/scenarios.md as text."""
    schema = scenario_json_schema()
    parts = [INTRO, "## Example\n\n```markdown\n" + EXAMPLE + "```\n", "## Fields\n", _section("Scenario", schema)]
    parts += [_section(name, schema["$defs"][name]) for name in _reading_order(schema)]
    return "\n".join([*parts, _tools(), RULES])


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
    for inner in (field, field.get("items", {}), *field.get("anyOf", [])):
        if "$ref" in inner:
            yield inner["$ref"].rsplit("/", 1)[-1]


def _section(name: str, part: dict[str, Any]) -> str:
    head = f"### {name}\n\n{part['description']}\n\n| field | type | default | meaning |\n|---|---|---|---|\n"
    required = part.get("required", [])
    return head + "".join(_row(key, field, key in required) for key, field in part["properties"].items())


def _row(key: str, field: dict[str, Any], required: bool) -> str:
    default = "required" if required else _default(field)
    cells = (f"`{key}`", _type(field), default, field["description"])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _default(field: dict[str, Any]) -> str:
    match field["default"]:
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
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
    return words[field["type"]] + _bounds(field)


def _list_type(field: dict[str, Any]) -> str:
    low, high = field.get("minItems", 0), field.get("maxItems")
    count = f"exactly {low} of " if low == high else f"at least {low} of " if low else ""
    return f"list: {count}{_type(field['items'])}"


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
