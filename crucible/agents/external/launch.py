"""How an agent CLI is started: what is put in the places of its command, and what comes out of that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from crucible.agents.external.connections import Connection

Api = Literal["anthropic", "openai", "openai-responses", "gemini"]
Source = Literal["stdout", "file", "wire"]
PLACES = ("prompt", "system_prompt", "model", "max_turns", "max_cost_usd", "base_url")
"""What a command of the user's own may hold in braces."""
_PLACE = re.compile(r"\{(" + "|".join(PLACES) + r")\}")
NO_KEY = "held-outside"
"""What an agent gets in place of a key: the real one stays outside the sandbox."""


@dataclass(frozen=True, slots=True)
class Values:
    """What one attempt puts in the places. `base_url` is as clients of the agent's API take it.

    `transcript`: path, as seen inside, of a file the agent may write its transcript to. `system_prompt` is the arm's
    own, None when it has none; `max_cost_usd` None when the budget has no limit in money. `max_turns` is a number as text.
    `args`: the user's further arguments.
    """

    prompt: str
    model: str
    max_turns: str
    base_url: str
    transcript: str
    system_prompt: str | None = None
    max_cost_usd: str | None = None
    args: tuple[str, ...] = ()

    def template(self) -> Values:
        """The same with every place still open, for showing a command without what is particular to one attempt."""
        return Values(
            prompt="{prompt}",
            model=self.model,
            max_turns=self.max_turns,
            base_url="{base_url}",
            transcript="{transcript}",
            system_prompt=None if self.system_prompt is None else "{system_prompt}",
            max_cost_usd=self.max_cost_usd,
            args=self.args,
        )


@dataclass(frozen=True, slots=True)
class Launch:
    """A command ready to run, its environment on top of the sandbox's, and its files by their path below the home folder."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


Connections = tuple[Connection, ...]


def fill(text: str, values: Values) -> str:
    """The text with its places filled, in one pass: what is put in is never looked at again. An absent value is empty."""
    return _PLACE.sub(lambda place: getattr(values, place[1]) or "", text)


def places(texts: tuple[str, ...]) -> frozenset[str]:
    """The places that occur in some texts."""
    return frozenset(found for text in texts for found in _PLACE.findall(text))


def base_url(api: Api, port: int) -> str:
    """The address of a port of 127.0.0.1 as clients of that API take it."""
    return f"http://127.0.0.1:{port}{'/v1' if api in ('openai', 'openai-responses') else ''}"


def reaching(api: Api, url: str) -> dict[str, str]:
    """The environment by which clients of an API find their model, with a word in place of a key."""
    if api == "anthropic":
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": NO_KEY}
    if api == "gemini":
        return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": NO_KEY}
    return {"OPENAI_BASE_URL": url, "OPENAI_API_BASE": url, "OPENAI_API_KEY": NO_KEY}
