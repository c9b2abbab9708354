"""Where an attempt's tokens went: the prompt, the tools' schemas, their output, the model's own words.

What went in and out in all is the provider's count, and known. How the input divides is not told by anybody; `split` says
by what rule it is estimated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
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
    inputs = [reply.input for reply in trace.replies if reply.input is not None]
    outputs = [reply.output for reply in trace.replies if reply.output is not None]
    if start is None or not len(trace.replies) == len(inputs) == len(outputs) > 0:
        return None
    rates = _rates(trace, inputs, start)
    rest = list(accumulate(reversed(rates)))[::-1]
    after = {reply.turn: tokens for reply, tokens in zip(trace.replies[:-1], rest[1:], strict=True)}
    results: dict[str, float] = defaultdict(float)
    for call in trace.calls:
        if call.turn in after:
            results[call.tool] += call.shown * after[call.turn]
    return Split(
        input=sum(inputs),
        output=sum(outputs),
        prompt=start.prompt * rest[0] + sum(n for n, rate in zip(inputs, rates, strict=True) if not rate),
        schemas=start.schemas * rest[0],
        results=dict(results),
        replies=sum(reply.said * after[reply.turn] for reply in trace.replies[:-1]),
    )


def _rates(trace: Trace, inputs: Sequence[int], start: Sizes) -> list[float]:
    """Input tokens of a character in each turn; 0 where none was sent, which leaves the tokens to the prompt."""
    shown: dict[int, int] = defaultdict(int)
    for call in trace.calls:
        shown[call.turn] += call.shown
    sent, rates = start.prompt + start.schemas, []
    for reply, tokens in zip(trace.replies, inputs, strict=True):
        rates.append(tokens / sent if sent else 0.0)
        sent += reply.said + shown[reply.turn]
    return rates


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
