"""From what was asked for on a command line to who is run, and within what limits. Nothing is spent here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from crucible.errors import PreflightError, UsageError
from crucible.redaction import MARK
from crucible.runner.failures.command_agent import CommandAgent, read_template
from crucible.runner.failures.frozen import Frozen
from crucible.runner.failures.series import Limits
from crucible.runner.failures.sidecar import Seen
from crucible.runner.failures.subject import Subject
from crucible.settings import Settings

SECONDS = 300.0
"""How long one run may take where nothing else is said."""
MODEL = "model "
"""How the name of a subject begins that is a model in the built-in loop."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for. Amounts are US dollars, times seconds; None is not said.

    `agent` is a command template and `format` what it prints; `model`, `prompt` and `without` are for the built-in loop.
    """

    agent: str | None = None
    format: str | None = None
    model: str | None = None
    prompt: Path | None = None
    without: tuple[str, ...] = ()
    turns: int | None = None
    run_usd: float | None = None
    seconds: float | None = None
    parallel: int = 1
    most_invalid: int = 3
    total_usd: float | None = None
    total_seconds: float | None = None

    def or_as_seen(self, seen: Seen | None) -> Asked:
        """With the command that was seen failing, where none was given and no key had to be taken out of it."""
        if self.agent or self.model or seen is None or seen.agent.startswith(MODEL) or MARK in seen.agent:
            return self
        return replace(self, agent=seen.agent, format=self.format or seen.format)


def within(frozen: Frozen, asked: Asked) -> Frozen:
    """The failure with the limits of one run that were asked for in place of its own."""
    caps = frozen.expectation.caps
    caps = replace(
        caps,
        turns=caps.turns if asked.turns is None else asked.turns,
        cost_usd=caps.cost_usd if asked.run_usd is None else asked.run_usd,
    )
    return replace(frozen, expectation=replace(frozen.expectation, caps=caps))


def make_subject(frozen: Frozen, asked: Asked, settings: Settings, folder: Path) -> Subject:
    """Whoever is to be run. Raises UsageError for what cannot be, before anything is started or spent."""
    if (asked.agent is None) == (asked.model is None):
        raise UsageError(
            "say who is run: an agent's command (--agent), or a model in the built-in loop (--model)",
            hint="--agent 'claude -p {query} --output-format stream-json --verbose --max-turns {max_turns}'",
        )
    if asked.agent is not None and (asked.prompt or asked.without):
        raise UsageError("--system-prompt and --without are for --model; a command has options of its own")
    seconds = min(asked.seconds or SECONDS, frozen.expectation.caps.seconds or float("inf"))
    if asked.agent is not None:
        template = read_template(asked.agent)
        return CommandAgent(template, frozen, folder=folder, format=asked.format, seconds=seconds)
    return _model(frozen, asked, settings, seconds)


def _model(frozen: Frozen, asked: Asked, settings: Settings, seconds: float) -> Subject:
    from crucible.runner.failures.model_agent import PROMPT, ModelAgent, Setup
    from crucible.runner.models import make_model

    name = asked.model or ""
    check_model(name, settings)
    if frozen.expectation.caps.cost_usd is not None and not make_model(name, settings).price_known():
        raise PreflightError(
            f"a cost limit is set, but the price of {name} is unknown",
            hint=f'give it in crucible.toml under [models."{name}"], or drop the limit',
        )
    setup = Setup(_read_prompt(asked.prompt) if asked.prompt else PROMPT, asked.without, seconds)
    return ModelAgent(f"{MODEL}{name}", lambda: make_model(name, settings), frozen, setup)


def check_model(name: str, settings: Settings) -> None:
    """A model can be asked: its provider is known and its key is there. Raises PreflightError."""
    from crucible.runner.models import check_models

    try:
        check_models([name], settings)
    except PreflightError as error:
        # The hint of a comparison names options that are not here.
        raise PreflightError(error.message, hint="set the key, or name another model: --model provider/name") from None


def _read_prompt(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--system-prompt {path}: cannot be read: {error}") from None


def limits_of(frozen: Frozen, asked: Asked, subject: Subject) -> Limits:
    """The limits on all runs together. Raises UsageError where money is limited and a run's share of it cannot be."""
    cap = frozen.expectation.caps.cost_usd
    if asked.total_usd is not None and (cap is None or "cost_usd" not in subject.enforced):
        raise UsageError(
            "--max-cost limits all runs together, so each needs a limit that its agent keeps",
            hint="--run-cost USD, and {max_cost_usd} in the command, such as --max-budget-usd {max_cost_usd}",
        )
    return Limits(asked.parallel, asked.most_invalid, cap, asked.total_usd, asked.total_seconds)
