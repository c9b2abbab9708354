"""Any agent with a command line: a template, run without a shell, its output read by the readers of formats.

    claude -p {query} --append-system-prompt {context} --output-format stream-json --verbose --max-turns {max_turns}

Each placeholder becomes part of exactly one argument, whatever is in it.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from crucible.errors import UsageError, nearest
from crucible.redaction import redact, redact_bytes
from crucible.runner.failures.frozen import Frozen
from crucible.runner.failures.process import MOST_OUTPUT, Finished, run_process
from crucible.runner.failures.subject import Played
from crucible.transcript.neutral import NeutralRun
from crucible.transcript.readers import detect, read_transcript, require

PLACEHOLDERS: Final = ("query", "context", "max_turns", "max_cost_usd")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_ENFORCES: Final = {"max_turns": "turns", "max_cost_usd": "cost_usd"}
_LAST_WORDS: Final = 200


@dataclass(frozen=True, slots=True)
class Template:
    """A command with places for what it is run on."""

    text: str
    words: tuple[str, ...]

    @property
    def used(self) -> frozenset[str]:
        """The placeholders in it."""
        return frozenset(name for word in self.words for name in _PLACEHOLDER.findall(word))

    def filled(self, values: Mapping[str, str]) -> list[str]:
        """The arguments of one run. What is put in is never looked at again."""
        return [_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in self.words]


def read_template(text: str) -> Template:
    """A template as a user writes it. Raises UsageError for one that could not be run, or would not be asked anything."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--agent {text!r}: {str(error).lower()}", hint="quote as in a shell") from None
    template = Template(text, words)
    for name in sorted(template.used - set(PLACEHOLDERS)):
        known = ", ".join(f"{{{one}}}" for one in PLACEHOLDERS)
        raise UsageError(f"--agent: no placeholder {{{name}}}{nearest(name, PLACEHOLDERS)}", hint=f"there are {known}")
    if "query" not in template.used:
        raise UsageError(f"--agent {text!r}: without {{query}} the agent is not asked anything", hint="-p {query}")
    if shutil.which(words[0]) is None:
        raise UsageError(f"--agent: there is no command {words[0]!r} here", hint="give its path, or install it")
    return template


class CommandAgent:
    """A headless agent, run in `folder`. `seconds` is how long a run may take before it is stopped and does not count."""

    def __init__(
        self,
        template: Template,
        frozen: Frozen,
        *,
        folder: Path,
        format: str | None = None,  # noqa: A002 - the word users have for it
        seconds: float,
    ) -> None:
        for what in frozen.needs() if format is not None else ():
            require(format or "", what)
        if frozen.expectation.caps.cost_usd is None and "max_cost_usd" in template.used:
            raise UsageError(
                "--agent: {max_cost_usd} needs a limit", hint="--run-cost USD, or caps.cost_usd in the file"
            )
        self.name = redact(template.text)
        self.enforced = frozenset(limit for name, limit in _ENFORCES.items() if name in template.used)
        self._frozen, self._folder, self._format, self._seconds = frozen, folder, format, seconds
        self._arguments = template.filled(
            {
                "query": frozen.failure.query,
                "context": json.dumps(frozen.failure.context, ensure_ascii=False),
                "max_turns": str(frozen.turns),
                "max_cost_usd": f"{frozen.expectation.caps.cost_usd or 0:g}",
            }
        )

    async def play(self) -> Played:
        """One process, from start to end."""
        done = await run_process(self._arguments, self._folder, self._seconds)
        kept = redact_bytes(done.output)
        try:
            run = self._read(done)
        except UsageError as error:
            return Played(_lost(error.message, done), kept, done.seconds, refused=error)
        if run.seconds is None:
            run = replace(run, seconds=done.seconds)
        return Played(run, kept, done.seconds)

    def _read(self, done: Finished) -> NeutralRun:
        if done.stopped == "time":
            return _lost(f"stopped after {self._seconds:g} s, without an end", done)
        if done.stopped == "output":
            return _lost(f"stopped: it printed more than {MOST_OUTPUT // 2**20} MiB", done)
        run = read_transcript(done.output, self._format, done.exit_code)
        if not run.valid:
            return replace(run, reason=f"{run.reason}{_last_words(done)}")
        found = self._format or detect(done.output) or ""
        for what in self._frozen.needs():
            require(found, what)
        return run


def _lost(reason: str, done: Finished) -> NeutralRun:
    return NeutralRun(calls=None, complete=False, valid=False, reason=f"{reason}{_last_words(done)}")


def _last_words(done: Finished) -> str:
    """The last line it wrote to stderr: most agents say there what was wrong."""
    lines = [line.strip() for line in done.errors.decode("utf-8", "replace").splitlines() if line.strip()]
    said = redact(lines[-1]) if lines else ""
    return f"; stderr: {said[:_LAST_WORDS]}" if said else ""
