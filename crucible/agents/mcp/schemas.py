"""Input schemas as every provider takes them.

A schema that is a valid JSON Schema (2020-12) of an object is sent as it is, but for what providers refuse at its top
and what says nothing of the arguments. That is, in order:

    `type` missing, or a list with "object" in it   becomes "object"
    `properties` missing                            becomes {}
    `$schema`, `$id`, `$anchor`, `$comment`          left out
    `$ref` at the top                               replaced by what it points at
    `allOf` at the top                              properties of all, required by any
    `anyOf`, `oneOf` at the top                     properties of all, required by every one
    `not`, `enum`, `const`, `if`, `then`, `else` at the top     left out
    `pattern` that Python cannot read               left out
    `items: [...]`, `exclusiveMinimum: true` (older drafts)     the same in the words of 2020-12

Each of these lets through at least what the server's own schema does; the server still judges the arguments itself.
A reference that leads outside, nowhere or round in a circle, and whatever is no schema of an object, cannot be sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

Schema = dict[str, Any]

_SAYS_NOTHING = ("$schema", "$id", "$anchor", "$dynamicAnchor", "$comment")
_NOT_AT_TOP = ("not", "enum", "const", "if", "then", "else")
_ONE = ("items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "propertyNames", "not",
        "if", "then", "else", "additionalItems", "contentSchema")  # fmt: skip
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_IN_PLACE = ("allOf", "anyOf", "oneOf")
_KEPT = ("$defs", "definitions")


class SchemaError(ValueError):
    """A schema that cannot be sent, and why."""


def sendable(schema: object) -> Schema:
    """The schema as it is sent; see the module. Raises SchemaError."""
    if not isinstance(schema, dict):
        raise SchemaError(f"it is {_kind(schema)}, not an object")
    try:
        sent: Schema = json.loads(_as_sent(json.dumps(schema)))
    except RecursionError:
        raise SchemaError("it is nested too deeply") from None
    return sent


@lru_cache(maxsize=512)
def _as_sent(schema: str) -> str:
    """A server lists the same tools in every attempt, and checking a schema takes a millisecond."""
    return json.dumps(_sendable(json.loads(schema)))


def _sendable(whole: Schema) -> Schema:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError as Invalid

    for each in _within(whole):
        _modernise(each)
    try:
        Draft202012Validator.check_schema(whole)
    except Invalid as error:
        raise SchemaError(f"{error.json_path}: {error.message[:200]}") from error
    _check_references(whole)
    top = {"type": "object", "properties": {}} | _at_top(whole, whole) | {"type": "object"}
    _check_references(top)
    return top


def _within(schema: object) -> Iterator[Schema]:
    """A schema and all schemas in it. What is data (enum, const, default, examples) is not looked into."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            inner = list(value.values())
        elif isinstance(value, list) and (key in _LISTS or key == "items"):
            inner = value
        else:
            inner = [value] if key in _ONE else []
        for each in inner:
            yield from _within(each)


def _modernise(schema: Schema) -> None:
    """Without what says nothing, what older drafts say otherwise, and what Python's patterns cannot say."""
    for key in _SAYS_NOTHING:
        schema.pop(key, None)
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    if isinstance(schema.get("required"), bool):
        del schema["required"]
    _readable_patterns(schema)


def _readable_patterns(schema: Schema) -> None:
    if "pattern" in schema and not _is_pattern(schema["pattern"]):
        del schema["pattern"]
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict):
        schema["patternProperties"] = {key: value for key, value in patterns.items() if _is_pattern(key)}


def _is_pattern(text: object) -> bool:
    try:
        return bool(re.compile(str(text)))
    except (re.error, RecursionError, OverflowError):
        return False


def _check_references(whole: Schema) -> None:
    """Nothing is fetched, and applying schemas to one value comes to an end."""
    seen: set[int] = set()
    for each in _within(whole):
        if "$dynamicRef" in each:
            raise SchemaError("it uses $dynamicRef")
        _apply(each, whole, (), seen)


def _apply(schema: object, whole: Schema, above: tuple[int, ...], seen: set[int]) -> None:
    """Go where applying a schema to one value goes. `seen` are those that come to an end."""
    if not isinstance(schema, dict) or id(schema) in seen:
        return
    if id(schema) in above:
        raise SchemaError(f"{schema.get('$ref', 'a reference')!r} leads round in a circle")
    applied = [each for key in _IN_PLACE for each in schema.get(key, ())]
    applied += [schema.get(key) for key in ("not", "if", "then", "else")]
    if "$ref" in schema:
        applied.append(_target(schema["$ref"], whole))
    for each in applied:
        _apply(each, whole, (*above, id(schema)), seen)
    seen.add(id(schema))


def _target(reference: object, whole: Schema) -> Any:
    """What a reference within the schema points at."""
    if reference == "#":
        return whole
    if not isinstance(reference, str) or not reference.startswith("#/"):
        raise SchemaError(f"{reference!r} refers to something outside of it")
    found: Any = whole
    for step in reference[2:].split("/"):
        name = _unescaped(step)
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            raise SchemaError(f"{reference!r} leads nowhere")
    return found


def _unescaped(step: str) -> str:
    from urllib.parse import unquote

    return unquote(step).replace("~1", "/").replace("~0", "~")


def _at_top(schema: Schema, whole: Schema) -> Schema:
    """The schema without what providers refuse at the top."""
    top = {key: value for key, value in schema.items() if key not in _NOT_AT_TOP}
    if "$ref" in top:
        target = _object(_target(top.pop("$ref"), whole), whole)
        top = _joined([target, top], every=False)
    for key in _IN_PLACE:
        if key in top:
            branches = [_object(each, whole) for each in top.pop(key) if _may_be_object(each, whole)]
            if not branches:
                raise SchemaError(f"no branch of {key} is an object")
            top = _joined([_joined(branches, every=key != "allOf"), top], every=False)
    if not _says_object(top):
        raise SchemaError(f"its type is {top['type']!r}, not 'object'")
    return top


def _object(schema: object, whole: Schema) -> Schema:
    return _at_top(schema, whole) if isinstance(schema, dict) else {}


def _may_be_object(schema: object, whole: Schema) -> bool:
    if isinstance(schema, dict) and "$ref" in schema:
        return _may_be_object(_target(schema["$ref"], whole), whole)
    return schema is not False and (not isinstance(schema, dict) or _says_object(schema))


def _says_object(schema: Schema) -> bool:
    said = schema.get("type", "object")
    return said == "object" or (isinstance(said, list) and "object" in said)


def _joined(schemas: list[Schema], *, every: bool) -> Schema:
    """One object schema with the properties of all. `every`: required is what every one of them requires, else any.

    A property that they say differently may be as any of them says. Other limits are kept where all are joined, and
    left out where one of them is enough.
    """
    joined: Schema = {}
    for schema in schemas:
        kept = {key: value for key, value in schema.items() if not every or key in _KEPT}
        joined |= {key: value for key, value in kept.items() if key not in ("properties", "required")}
    properties: Schema = {}
    for schema in schemas:
        for name, value in schema.get("properties", {}).items():
            properties[name] = value if properties.get(name, value) == value else _either(properties[name], value)
    required = [list(schema.get("required", ())) for schema in schemas]
    names = [
        name for name in dict.fromkeys(chain.from_iterable(required)) if not every or all(name in r for r in required)
    ]
    return joined | {"type": "object", "properties": properties} | ({"required": names} if names else {})


def _either(first: Any, second: Any) -> Schema:
    return {"anyOf": [first, second]}


def _kind(value: object) -> str:
    return "missing" if value is None else type(value).__name__
