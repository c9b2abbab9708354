"""How an arm's tools were taken up on one scenario, attempt by attempt and together, and where its tokens went. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crucible.report.arms import Side
from crucible.report.calls import Calls, calls_of, together
from crucible.report.token_split import Sizes, Split, mean_split, schemas_size, sizes, split
from crucible.report.words import attempts_in_words
from crucible.scenario.schema import Arm
from crucible.store.openings import Opening
from crucible.store.traces import Trace
from crucible.transcript.declared import belongs
from crucible.transcript.opening import instructions_of

ServerOf = Mapping[str, str | None]
"""Which of an arm's tool servers a tool is of, by the tool's name, of all that were called."""


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool server of an arm as it was offered: what it really is (empty where that was not recorded), how many tools,
    and the characters of their schemas; None is unknown. `used`: attempts in which it answered a call. `started`: False
    where it was not, as in a rehearsal. `instructions`: characters of those it has models given. `absent`: attempts in which
    an agent CLI first asked its model without any of its tools: it had not waited for the server, or offers tools later."""

    server: str
    really: str
    tools: int | None
    characters: int | None
    used: int
    started: bool = True
    instructions: int = 0
    absent: int = 0

    @property
    def named(self) -> str:
        """Its name, and what stands behind it where the name does not say so."""
        return self.server if not self.really else self.really if self.really.startswith(self.server) else (
            f"{self.server} = {self.really}"
        )  # fmt: skip

    def text(self) -> str:
        """`asd: 8 tools, 12.1 KB of schemas`."""
        if not self.started:
            return f"{self.named}: not started"
        if self.tools is None:
            return self.named
        many = f"{self.tools} tool{'' if self.tools == 1 else 's'}"
        size = "" if self.characters is None else f", {self.characters / 1000:.1f} KB of schemas"
        told = f" and {self.instructions:,} characters of instructions" if size and self.instructions else ""
        late = f"; missing from the first request of {attempts_in_words(self.absent)}" if self.absent else ""
        return f"{self.named}: {many}{size}{told}{late}"


@dataclass(frozen=True, slots=True)
class AttemptUse:
    """One counted attempt: the calls of its extra tools, those of all its tools, and where its tokens went, estimated."""

    attempt_id: int
    extra: Calls
    every: Calls
    tokens: Split | None


@dataclass(frozen=True, slots=True)
class ArmUse:
    """One arm on one scenario. `used` of `of` attempts that count got an answer from an extra tool.

    `beginnings`: how many different first requests they made, None where that was not recorded of all; `prompt` its size in
    characters. `tokens` is the mean of the `split` attempts in which it is known.
    """

    arm: str
    agent: str | None
    setup: str
    servers: tuple[Offered, ...]
    used: int
    of: int
    extra: Calls
    every: Calls
    tokens: Split | None
    split: int
    beginnings: int | None
    characters: int | None
    attempts: tuple[AttemptUse, ...]


def use_of(side: Side, arm: Arm, opened: Mapping[int, Opening], traced: Mapping[int, Trace]) -> ArmUse:
    """What came of one arm's tools. `arm` is the arm as it was run: without extra tools where they were left out."""
    traces = [traced.get(a.id, Trace(a.id)) for a in side.counted]
    began = {a.id: opened[a.id] for a in side.counted if a.id in opened}
    different = {one.fingerprint: one.content for one in began.values() if one.content is not None}
    begins = {fingerprint: sizes(content) for fingerprint, content in different.items()}
    starts = {i: begins[one.fingerprint] for i, one in began.items() if one.fingerprint in begins}
    server_of = {tool: belongs(tool, arm.extra_tools) for tool in {call.tool for one in traces for call in one.calls}}
    attempts = tuple(_attempt(trace, starts.get(trace.attempt_id), server_of) for trace in traces)
    tokens, n = mean_split([one.tokens for one in attempts])
    first = next(iter(begins.values()), None)
    return ArmUse(
        arm=side.arm,
        agent=next((trace.agent for trace in traces if trace.agent), None),
        setup=next((trace.setup for trace in traces if trace.setup), ""),
        servers=tuple(_offered(name, arm, traces, began, server_of) for name in arm.extra_tools),
        used=sum(bool(one.extra.reached) for one in attempts),
        of=len(attempts),
        extra=together(one.extra for one in attempts),
        every=together(one.every for one in attempts),
        tokens=tokens,
        split=n,
        beginnings=len(different) if len(starts) == len(traces) > 0 else None,
        characters=first.prompt + first.schemas if first else None,
        attempts=attempts,
    )


def _attempt(trace: Trace, start: Sizes | None, server_of: ServerOf) -> AttemptUse:
    offered, turns = tuple((trace.offered or {}).values()), len(trace.replies)
    extra = [c for c in trace.calls if server_of[c.tool] is not None or any(c.tool in tools for tools in offered)]
    return AttemptUse(trace.attempt_id, calls_of(extra, turns), calls_of(trace.calls, turns), split(trace, start))


def _offered(
    server: str, arm: Arm, traces: Sequence[Trace], began: Mapping[int, Opening], server_of: ServerOf
) -> Offered:
    start = _start(server, arm, began)
    really = next((trace.servers[server] for trace in traces if trace.servers.get(server)), "")
    told = [trace.offered[server] for trace in traces if trace.offered and server in trace.offered]
    seen = _seen(server, arm, start)
    names = set(told[0] if told else ()) | set(seen or ())
    started = bool(names or really) or start is None
    mine = {tool for tool, of in server_of.items() if of == server or tool in names}
    used = sum(any(call.tool in mine and call.reached for call in trace.calls) for trace in traces)
    tools = len(told[0]) if told else None if seen is None else len(seen)
    size = None if start is None or (told and not seen) else schemas_size(start, names)
    wants = "" if start is None else instructions_of(start).get(server, "")
    return Offered(server, really, tools, size, used, started, len(wants), _absent(server, arm, traces, began))


def _start(server: str, arm: Arm, began: Mapping[int, Opening]) -> Mapping[str, object] | None:
    """A first request that has the server's tools, else any; None where none was recorded."""
    known = list({one.fingerprint: one.content for one in began.values() if one.content is not None}.values())
    return next((content for content in known if _seen(server, arm, content)), known[0] if known else None)


def _seen(server: str, arm: Arm, start: Mapping[str, object] | None) -> list[str] | None:
    """The server's tools in a first request."""
    tools = None if start is None else start.get("tools") or []
    if not isinstance(tools, Iterable):
        return None
    names = [str(tool.get("name")) for tool in tools if isinstance(tool, Mapping)]
    return [name for name in names if belongs(name, arm.extra_tools, by_agent=arm.agent is not None) == server]


def _absent(server: str, arm: Arm, traces: Sequence[Trace], began: Mapping[int, Opening]) -> int:
    """Attempts to which the server's tools were there to be offered, and whose first request has none of them."""
    every = {one.tools for one in began.values()}
    without = {tools for tools in every if not any(belongs(tool, arm.extra_tools) == server for tool in tools)}
    ready = [trace.attempt_id for trace in traces if (trace.offered or {}).get(server)]
    return sum(i in began and began[i].tools in without for i in ready)
