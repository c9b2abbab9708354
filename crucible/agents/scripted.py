"""A model that follows a script: for rehearsals, examples and tests. Everything around it is real."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from crucible.agents.rehearsal import ScriptedTurn, Session
from crucible.llm.types import Reply, Request
from crucible.transcript.messages import ToolCall, Usage

BYTES_PER_TOKEN = 4


class ScriptedModel:
    """Replies with one scripted turn after another. Its token counts are made up from text length and marked so."""

    def __init__(self, turns: Iterable[ScriptedTurn], name: str = "scripted") -> None:
        self.name = name
        self._turns = list(turns)
        self._next = 0

    async def complete(self, request: Request) -> Reply:
        """The next turn of the script; a reply without calls once it is at its end."""
        turn = (
            self._turns[self._next] if self._next < len(self._turns) else ScriptedTurn(say="(the script is at its end)")
        )
        self._next += 1
        calls = tuple(
            ToolCall(f"call_{self._next}_{n}", call.tool, call.raw_arguments) for n, call in enumerate(turn.calls, 1)
        )
        said = turn.say + "".join(call.name + call.raw_arguments for call in calls)
        return Reply(turn.say, calls, _usage(self.estimate_tokens(request), said), "stop", seconds=0.0)

    def price_known(self) -> bool:
        """A script costs nothing, and says so rather than 0."""
        return False

    def cost_of(self, input_tokens: int, output_tokens: int) -> float | None:  # noqa: ARG002 - the protocol's names
        """A script's calls are free, so that a cost budget never ends a rehearsal."""
        return 0.0

    def estimate_tokens(self, request: Request) -> int:
        """Bytes of the request divided by four."""
        return _tokens("".join(_texts(request)))


class ScriptedJudge:
    """A judge that follows a script: replies by dimension, in order; the last one is repeated when more are asked for."""

    name = "scripted"

    def __init__(self, replies: Mapping[str, Sequence[str]]) -> None:
        self._replies = {name: list(texts) for name, texts in replies.items()}

    @classmethod
    def of(cls, session: Session) -> ScriptedJudge:
        """The judge of one rehearsal session."""
        return cls({name: [reply.text for reply in replies] for name, replies in session.judge.items()})

    async def complete(self, request: Request) -> Reply:
        """The next reply for the dimension the request asks about; an empty one when the script has none."""
        text = self._next(request)
        return Reply(text, (), _usage(self.estimate_tokens(request), text), "stop", seconds=0.0)

    def _next(self, request: Request) -> str:
        questions = [m.content for m in request.messages if m.content.startswith("Dimension: ")]
        asked = questions[-1].splitlines()[0].removeprefix("Dimension: ") if questions else ""
        replies = self._replies.get(asked, [])
        return replies.pop(0) if len(replies) > 1 else "".join(replies)

    def price_known(self) -> bool:
        """A script costs nothing, and says so rather than 0."""
        return False

    def cost_of(self, input_tokens: int, output_tokens: int) -> float | None:  # noqa: ARG002 - the protocol's names
        """A script's calls are free."""
        return 0.0

    def estimate_tokens(self, request: Request) -> int:
        """Bytes of the request divided by four."""
        return _tokens("".join(_texts(request)))


def _texts(request: Request) -> list[str]:
    return [m.content + "".join(c.name + c.raw_arguments for c in m.tool_calls) for m in request.messages]


def _tokens(text: str) -> int:
    return max(1, len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def _usage(request: int, said: str) -> Usage:
    return Usage(
        input_uncached=request, input_cached=0, cache_write=0, output=_tokens(said), reasoning=0, scripted=True
    )
