"""What a tool server returned, as the one text a model reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from crucible.redaction import redact
from crucible.world.toolbox.text import Kept
from crucible.world.types import Limits, ToolOutcome

MOST_BYTES = Limits().output_bytes
"""Bytes of a result that are kept, head and tail: as many as of a built-in tool's."""
_SLICE = 64 * 1024
_LONGEST_ERROR = 64 * 1024


def outcome_of(result: Mapping[str, Any], seconds: float, *, text_errors: bool) -> ToolOutcome:
    """The outcome of a call from the result of tools/call.

    Texts are joined by newlines. What is no text (images, sounds, links, blobs) becomes a line that names its type and
    size; structured content is told as JSON where there is no text. `text_errors`: see Server.
    """
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [text for block in blocks if (text := _text(block)) is not None]
    structured = result.get("structuredContent")
    if structured is not None and not any(map(_is_text, blocks)):
        texts.append(_as_json(structured))
    failed = result.get("isError") is True or (text_errors and len(texts) == 1 and _is_error(texts[0]))
    return text_outcome("\n".join(texts) if len(texts) != 1 else texts[0], seconds, ok=not failed)


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "[structured content, nested too deeply, not shown]"


def text_outcome(text: str, seconds: float, *, ok: bool, timed_out: bool = False) -> ToolOutcome:
    """An outcome with as much of a text as is kept. Keys are taken out first: the cut could go through one."""
    kept = Kept(MOST_BYTES)
    for data in _slices(redact(text)):
        kept.add(data)
    return ToolOutcome(ok=ok, text=kept.text(), size=kept.size, seconds=round(seconds, 4), timed_out=timed_out)


def _slices(text: str) -> Iterator[bytes]:
    for at in range(0, len(text), _SLICE):
        yield text[at : at + _SLICE].encode("utf-8", "replace")


def _is_text(block: object) -> bool:
    match block:
        case {"type": "text", "text": str()} | {"type": "resource", "resource": {"text": str()}}:
            return True
    return False


def _text(block: object) -> str | None:
    if not isinstance(block, dict):
        return None
    match block:
        case {"type": "text", "text": str() as text}:
            return text
        case {"type": ("image" | "audio") as kind, "data": str() as data}:
            return f"[{kind}: {_type_of(block)}, {_decoded_bytes(data):,} bytes, not shown]"
        case {"type": "resource", "resource": {"text": str() as text} as resource}:
            return f"[resource {_uri_of(resource)}]\n{text}"
        case {"type": "resource", "resource": {"blob": str() as blob} as resource}:
            return f"[resource {_uri_of(resource)}: {_type_of(resource)}, {_decoded_bytes(blob):,} bytes, not shown]"
        case {"type": "resource_link"}:
            size = block.get("size")
            return (
                f"[link to {_uri_of(block)}: {_type_of(block)}{f', {size:,} bytes' if isinstance(size, int) else ''}]"
            )
        case {"type": str() as kind}:
            return f"[content of type {kind[:80]}, not shown]"
    return None


def _type_of(block: Mapping[str, Any]) -> str:
    return str(block.get("mimeType") or "unknown type")[:80]


def _uri_of(block: Mapping[str, Any]) -> str:
    return str(block.get("uri") or block.get("name") or "without an address")[:400]


def _decoded_bytes(base64: str) -> int:
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def _is_error(text: str) -> bool:
    if len(text) > _LONGEST_ERROR or not text.lstrip().startswith("{"):
        return False
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and said.keys() == {"error"}
