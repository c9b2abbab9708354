"""Where an attempt's tokens went: the prompt, the tools' schemas, their output, the model's own words.

What went in and out in all is the provider's count, and known. How the input divides is not told by anybody; `split` says
by what rule it is estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crucible.store.traces import Trace
from crucible.transcript.opening import as_text


@dataclass(frozen=True, slots=True)
class Split:
    """Billed tokens of an attempt by what they were for; all add up to `input + output`, which are known.

    Estimated: `prompt` (system prompt and task), `schemas` (the tools' descriptions), `results` (what each tool returned, by
    tool), `replies` (the model's own earlier replies, read again). All of it once for every turn that sent it.
    """

    input: float
    output: float
    prompt: float
    schemas: float
    results: Mapping[str, float] = field(default_factory=dict)
    replies: float = 0.0

    @property
    def returned(self) -> float:
        """What all tools returned."""
        return sum(self.results.values())


@dataclass(frozen=True, slots=True)
class Sizes:
    """What every request of an attempt begins with, in characters."""

    prompt: int
    schemas: int


def sizes(opening: Mapping[str, Any]) -> Sizes:
    """Of an opening (see transcript.opening)."""
    messages = opening.get("messages") or []
    texts = (m.get("content") for m in messages)
    return Sizes(
        sum(len(text if isinstance(text, str) else as_text({"": text})) for text in texts), schemas_size(opening)
    )


def schemas_size(opening: Mapping[str, Any], only: Iterable[str] | None = None) -> int:
    """Characters of the tools' names, descriptions and schemas as compact JSON; `only` of tools with these names."""
    wanted = None if only is None else set(only)
    return sum(len(as_text(t)) for t in opening.get("tools") or [] if wanted is None or t.get("name") in wanted)


def split(trace: Trace, start: Sizes | None) -> Split | None:
    """Where the tokens of an attempt went, estimated: each turn's input, as the provider counted it, is divided in
    proportion to the characters that were sent.

    That is what was there at the start, every earlier reply, and every earlier tool result as the model was shown it. None
    when the provider did not count a turn, when nothing was asked, or when the start was not recorded: unknown stays unknown.
    It cannot know what an agent CLI forgot or summed up in between, nor how a provider packs schemas.
    """
    counts = [(r.input, r.output) for r in trace.replies]
    if start is None or not counts or any(i is None or o is None for i, o in counts):
        return None
    parts: dict[tuple[str, str], float] = {}
    sent: dict[tuple[str, str], float] = {("prompt", ""): start.prompt, ("schemas", ""): start.schemas}
    for reply in trace.replies:
        _divide(reply.input or 0, sent, parts)
        sent["replies", ""] = sent.get(("replies", ""), 0) + reply.said
        for call in trace.calls:
            if call.turn == reply.turn:
                sent["result", call.tool] = sent.get(("result", call.tool), 0) + call.shown
    return Split(
        input=sum(i or 0 for i, _ in counts),
        output=sum(o or 0 for _, o in counts),
        prompt=parts.get(("prompt", ""), 0.0),
        schemas=parts.get(("schemas", ""), 0.0),
        results={tool: tokens for (kind, tool), tokens in parts.items() if kind == "result"},
        replies=parts.get(("replies", ""), 0.0),
    )


def _divide(tokens: int, sent: Mapping[tuple[str, str], float], into: dict[tuple[str, str], float]) -> None:
    whole = sum(sent.values())
    for part, characters in sent.items():
        share = characters / whole if whole else float(part == ("prompt", ""))
        into[part] = into.get(part, 0.0) + tokens * share


def mean_split(splits: Sequence[Split | None]) -> tuple[Split | None, int]:
    """The mean of those that are known, and how many that is."""
    known = [one for one in splits if one is not None]
    if not known:
        return None, 0
    tools = dict.fromkeys(tool for one in known for tool in one.results)
    mean = {name: sum(getattr(one, name) for one in known) / len(known) for name in _NUMBERS}
    results = {tool: sum(one.results.get(tool, 0.0) for one in known) / len(known) for tool in tools}
    return Split(**mean, results=results), len(known)


_NUMBERS = ("input", "output", "prompt", "schemas", "replies")
