"""How an attempt by an agent CLI ended, and whose fault that was: decided from the wire first, then from what it printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from crucible.agents.types import Ending
from crucible.errors import Cause, HarnessError, ProviderError
from crucible.redaction import redact
from crucible.transcript.events import cap_text
from crucible.transcript.neutral import NeutralRun
from crucible.world.types import LimitName

_CAPS: Final = {"turns": "budget_turns", "spend": "budget_cost", "time": "budget_time", "tokens": "budget_tokens"}
_SHOWN = 400
_TAIL = 1200


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of an agent that has ended.

    `asked` and `answered` count model calls. `failed` is the provider's last failure if nothing was answered after it.
    `refused` is the ending of the budget that the proxy refused a call for; `stopped` what we ended the agent for.
    `exit_code` is None when we ended it. `run` is its transcript, None where it has none that is read.
    `limit`: what of the sandbox's limits it met. `quiet`: it printed nothing at all.
    """

    name: str
    asked: int
    answered: int
    exit_code: int | None
    said: str = ""
    failed: ProviderError | None = None
    refused: Ending | None = None
    stopped: Ending | None = None
    run: NeutralRun | None = None
    limit: LimitName | None = None


def ending_of(seen: Seen) -> Ending:
    """The ending. Raises ProviderError or HarnessError for an attempt that does not count."""
    if not seen.asked:
        raise never_asked(seen)
    if seen.failed is not None:
        return _of_provider(seen.failed)
    if seen.refused is not None:
        return seen.refused
    if not seen.answered:
        if seen.stopped is not None and seen.stopped.cause is Cause.BUDGET:
            return seen.stopped
        raise HarnessError(f"{seen.name} broke off every model call{_exited(seen)}{_tail(seen.said)}")
    return seen.stopped or _of_agent(seen)


def never_asked(seen: Seen) -> HarnessError:
    """An agent that made no model call was never really tried: its installation or its configuration is at fault."""
    how = f"; it was ended: {seen.stopped.detail}" if seen.stopped else _exited(seen)
    return HarnessError(
        f"{seen.name} never asked its model{how}{_tail(seen.said)}",
        hint="try it by hand as docs/agent-clis.md shows; `crucible doctor` lists the agents found here",
    )


def _of_provider(error: ProviderError) -> Ending:
    if error.kind == "context":
        return Ending("context_full", Cause.BUDGET, "the conversation no longer fits the model's context")
    raise error


def _of_agent(seen: Seen) -> Ending:
    run = seen.run
    if seen.exit_code and seen.limit is not None:
        return Ending(f"limit_{seen.limit}", Cause.AGENT, f"ended by the sandbox's limit on {seen.limit}")
    if run is not None and run.cap is not None:
        return _capped(run)
    if seen.exit_code:
        why = run.reason if run is not None and has_failed(run) and run.reason else None
        return Ending("agent_failed", Cause.AGENT, f"{_exited(seen).strip()}{f': {why}' if why else _tail(seen.said)}")
    if run is not None and has_failed(run):
        detail = run.reason or "; ".join(run.errors) or run.stop or ""
        but = "exit code 0, but " if seen.exit_code == 0 else ""
        return Ending("agent_error", Cause.AGENT, cap_text(f"{but}its transcript says: {detail}", _SHOWN))
    return Ending("finished", Cause.AGENT, cap_text(_answer(run), _SHOWN))


def has_failed(run: NeutralRun) -> bool:
    """Whether a transcript says that the run went wrong; one that is cut off or cannot be read says nothing."""
    return not run.complete and run.cap is None and (run.stop is not None or bool(run.errors))


def _capped(run: NeutralRun) -> Ending:
    detail = f"the agent's own limit: {run.stop or run.cap}"
    if run.cap in _CAPS:
        return Ending(_CAPS[run.cap], Cause.BUDGET, detail)
    return Ending("agent_error", Cause.AGENT, detail)


def _answer(run: NeutralRun | None) -> str:
    return run.final_text if run is not None and isinstance(run.final_text, str) else ""


def _exited(seen: Seen) -> str:
    if seen.exit_code is None:
        return ""
    if seen.exit_code < 0:
        return f" (ended by signal {-seen.exit_code})"
    return f" (exit code {seen.exit_code})"


def _tail(said: str) -> str:
    text = redact(said).strip()[-_TAIL:]
    return f"; it said: {text}" if text else "; it said nothing"
