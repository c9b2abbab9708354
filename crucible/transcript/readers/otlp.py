"""OTLP JSON as spans in a tree: attributes decoded, times as numbers, every span with where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from crucible.transcript.readers.values import arguments, count, mapping, objects, text

CHATS: Final = ("chat", "generate_content", "text_completion")
"""Operations that are one call of a model."""

_AGENTS: Final = ("invoke_agent", "create_agent")
_NAMES: Final = ("gen_ai.tool.name", "ai.toolCall.name", "tool.name")
_CALL_IDS: Final = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id")
_ERROR: Final = 2


@dataclass(slots=True)
class Span:
    """One span. Times are nanoseconds; `order` is its place in the file.

    Set by `place`: `owner` is the id of the call or agent span under which a sub-agent made it, None for the agent
    itself; `within` is the tool span it is a part of; `reached` is False when its ancestors are not all there.
    """

    id: str
    parent: str
    trace: str
    order: int
    start: int
    end: int
    attributes: dict[str, Any]
    failed: bool
    message: str | None
    owner: str | None = None
    under_agent: bool = False
    within: Span | None = None
    reached: bool = False
    children: list[Span] = field(default_factory=list)

    @property
    def operation(self) -> str | None:
        """`chat`, `execute_tool`, `invoke_agent`, ... or None for a span of something else."""
        return text(self.attributes.get("gen_ai.operation.name"))

    @property
    def tool(self) -> str | None:
        """The tool whose execution this span is; None when it is none."""
        if self.operation in (*CHATS, *_AGENTS):
            return None
        return text(self.first(_NAMES)) or ("" if self.operation == "execute_tool" else None)

    @property
    def call_id(self) -> str | None:
        """The id of the call in the model's reply, where it was recorded."""
        return text(self.first(_CALL_IDS))

    @property
    def is_agent(self) -> bool:
        """Whether it is a whole run of an agent."""
        return self.operation == "invoke_agent"

    @property
    def is_chat(self) -> bool:
        """Whether it is one call of a model."""
        return self.operation in CHATS

    def first(self, names: tuple[str, ...]) -> Any:
        """The first of these attributes that is there."""
        return next((self.attributes[name] for name in names if name in self.attributes), None)

    def messages(self, key: str) -> list[dict[str, Any]] | None:
        """Recorded messages, which may be a JSON text; None when they were not recorded."""
        if key not in self.attributes:
            return None
        value = self.attributes[key]
        if isinstance(value, str):
            # A list is no arguments object: wrapped, the one reader of JSON text serves both.
            value = mapping(arguments(f'{{"messages": {value}}}')[0]).get("messages")
        return list(objects(value)) if isinstance(value, list) else None


def spans(document: dict[str, Any], first: int) -> Iterator[Span]:
    """Every span of one export, in file order, counted from `first`."""
    order = first
    for resource in objects(document.get("resourceSpans")):
        for key in ("scopeSpans", "instrumentationLibrarySpans"):
            for scope in objects(resource.get(key)):
                for raw in objects(scope.get("spans")):
                    yield _span(raw, order)
                    order += 1


def place(found: list[Span]) -> None:
    """Say of every span under which call or agent it stands, from the roots down."""
    by_id = {span.id: span for span in found}
    roots = [span for span in found if not span.parent]
    for span in found:
        if span.parent in by_id:
            by_id[span.parent].children.append(span)
    for span in roots:
        span.reached = True
    waiting = roots
    while waiting:
        waiting = [child for parent in waiting for child in parent.children if _enter(parent, child)]


def _enter(parent: Span, child: Span) -> bool:
    if child.reached:
        return False
    child.reached = True
    child.under_agent = parent.under_agent or parent.is_agent
    child.owner, child.within = parent.owner, parent.within
    if parent.tool is not None:
        child.owner, child.within = parent.call_id or parent.id, parent
    elif parent.is_agent:
        child.within = None
        child.owner = parent.owner or (parent.id if parent.under_agent else None)
    elif parent.is_chat:
        child.within = None
    return True


def _span(raw: dict[str, Any], order: int) -> Span:
    attributes = _attributes(raw.get("attributes"))
    for event in objects(raw.get("events")):
        # Contents may be recorded on an event instead of on the span.
        recorded = _attributes(event.get("attributes")).items()
        attributes |= {key: value for key, value in recorded if key.startswith("gen_ai.") and key not in attributes}
    status = mapping(raw.get("status"))
    parent = text(raw.get("parentSpanId")) or ""
    return Span(
        id=text(raw.get("spanId")) or "",
        parent=parent if parent.strip("0") else "",
        trace=text(raw.get("traceId")) or "",
        order=order,
        start=count(raw.get("startTimeUnixNano")) or 0,
        end=count(raw.get("endTimeUnixNano")) or 0,
        attributes=attributes,
        failed=status.get("code") in (_ERROR, "STATUS_CODE_ERROR") or "error.type" in attributes,
        message=text(status.get("message")) or text(attributes.get("error.type")),
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair["key"]: _any_value(pair.get("value")) for pair in objects(pairs) if isinstance(pair.get("key"), str)}


def _any_value(value: Any) -> Any:
    for kind, inner in mapping(value).items():
        if kind == "intValue":
            return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdigit() and len(inner) < 21 else inner
        if kind == "arrayValue":
            return [_any_value(item) for item in objects(mapping(inner).get("values"))]
        if kind == "kvlistValue":
            return _attributes(mapping(inner).get("values"))
        return inner
    return None
