"""Blinding: a judge must not see which arm it grades.

Names are replaced by neutral words, whole tokens only, so that a server called `ctx` leaves `context` alone. The same
words are used for both arms. Hidden characters are made visible first: they could split a name, or speak to a judge.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crucible.scenario.schema import BUILTIN_TOOLS, Scenario
from crucible.transcript.events import Started

SHORTEST_NAME = 3
"""Names shorter than this stay: hiding an arm called `a` would hide every article of the text."""
SHORTEST_LINE = 5
"""Lines of a system prompt with fewer words than this stay: anybody may say `run the tests`."""

_BRANDS = (
    "anthropic", "claude", "codestral", "deepseek", "devstral", "gemini", "gemma", "gpt", "grok", "haiku", "kimi",
    "llama", "minimax", "mistral", "openai", "opus", "qwen", "sonnet",
)  # fmt: skip
_START = r"(?:(?<!\w)|(?<=\\[nrtbf])|(?<=\\u[0-9a-f]{4}))"
"""A token begins after anything that is no word character, and after an escape as in the text `\\nclaude`."""
_END = r"(?!\w)"
_SPACE = r"(?:\s|\\[nrt])+"
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_UNUSUAL = re.compile(r"[^\n\t -~]")
_HIDDEN_KINDS = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})

_Part = tuple[str, str]
"""A pattern of something to hide, and its neutral word."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What would tell a judge whom it grades: `<server>__<tool>` names in `tools`, system prompt lines in `prompts`."""

    arms: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


def secrets_of(scenario: Scenario, started: Started | None = None, models: Iterable[str] = ()) -> Secrets:
    """The secrets of both arms of a scenario.

    `started` adds the tools and the prompt one attempt really had, `models` those a run put in place of the scenario's.
    A line of a system prompt that also stands in the task stays: it tells the arms apart no more than the task does.
    """
    servers = {server for arm in scenario.arms for server in arm.extra_tools}
    tools = [tool for tool in (started.tools if started else ()) if "__" in tool and tool not in BUILTIN_TOOLS]
    prompts = [arm.system_prompt or "" for arm in scenario.arms] + ([started.system_prompt] if started else [])
    task = _one_line(scenario.task_prompt)
    return Secrets(
        arms=tuple(arm.id for arm in scenario.arms),
        models=tuple(sorted({*models, *(arm.model for arm in scenario.arms)})),
        servers=tuple(sorted(servers | {tool.partition("__")[0] for tool in tools})),
        tools=tuple(sorted(tools)),
        prompts=tuple(line for prompt in prompts for line in _own_lines(prompt) if line not in task),
    )


def visible(text: str) -> str:
    """The text without terminal colours and with every hidden character shown; newline and tab stay.

    Control codes become their pictures (a carriage return U+240D), all others `<U+200B>`: zero-width ones, marks of
    direction, undecodable bytes. What stands in their place is no word character, so no name hides behind it.
    """
    return _UNUSUAL.sub(_shown, _ANSI.sub("", text))


class Blinder:
    """Makes texts blind. The same text always gives the same result, and blinding twice changes nothing more."""

    def __init__(self, secrets: Secrets) -> None:
        names = _names(secrets)
        self._any_tool = _neutral("tool", names)
        self._tools = {
            tool.lower(): _neutral(f"tool_{number}", names)
            for number, tool in enumerate(sorted(secrets.tools), start=1)
        }
        parts = [*_prompt_parts(secrets, names), *self._tool_parts(secrets), *_name_parts(secrets, names)]
        self._words = [word for _, word in parts]
        grouped = "|".join(f"(?P<g{number}>{pattern})" for number, (pattern, _) in enumerate(parts))
        self._pattern = re.compile(f"{_first_letters(secrets, names)}{_START}(?:{grouped}){_END}", re.IGNORECASE)

    def __call__(self, text: str) -> str:
        """The text with hidden characters made visible and every secret replaced."""
        clear = visible(text)
        return self._pattern.sub(self._replacement, clear) if self._words else clear

    def _tool_parts(self, secrets: Secrets) -> list[_Part]:
        """Known tools, and any other name that begins like a tool of a known server."""
        servers = {*secrets.servers, *(tool.partition("__")[0] for tool in secrets.tools)} - {""}
        known = {tool.partition("__")[2] for tool in secrets.tools} - {""}
        rest = "|".join([*map(re.escape, sorted(known, key=len, reverse=True)), r"\w+"])
        begin = "|".join(map(re.escape, sorted(servers, key=len, reverse=True)))
        return [(rf"(?:mcp__)?(?:{begin})__(?:{rest})", self._any_tool)] if servers else []

    def _replacement(self, match: re.Match[str]) -> str:
        word = self._words[int((match.lastgroup or "g0")[1:])]
        if word == self._any_tool:
            return self._tools.get(match[0].lower().removeprefix("mcp__"), word)
        return word


def _prompt_parts(secrets: Secrets, names: Mapping[str, str]) -> list[_Part]:
    lines = sorted((line for line in secrets.prompts if line.strip()), key=len, reverse=True)
    return [(_SPACE.join(map(re.escape, line.split())), _neutral("instructions", names)) for line in lines]


def _name_parts(secrets: Secrets, names: Mapping[str, str]) -> list[_Part]:
    """Whole names from long to short, then what is left of a brand: a model says `I am Claude`."""
    whole = [(re.escape(name), names[name]) for name in sorted(names, key=len, reverse=True)]
    model = _neutral("model", names)
    return whole + [(rf"{brand}(?:\d(?:[\w.]*\w)?)?(?:-[\w.]*\w)*", model) for brand in _brands(secrets)]


def _brands(secrets: Secrets) -> list[str]:
    return [brand for brand in _BRANDS if any(brand in model.lower() for model in secrets.models)]


def _names(secrets: Secrets) -> dict[str, str]:
    """Every name to hide, with its neutral word: arms, models with and without each provider prefix, servers."""
    models = [model.split("/", cut)[-1] for model in secrets.models for cut in range(model.count("/") + 1)]
    kinds = {"server": secrets.servers, "model": models, "agent": secrets.arms}
    names = {name: word for word, group in kinds.items() for name in group if len(name) >= SHORTEST_NAME}
    return {name: _neutral(word, names) for name, word in names.items()}


def _first_letters(secrets: Secrets, names: Iterable[str]) -> str:
    """A look at the next character before anything dearer is tried; it makes blinding several times as fast."""
    begins = [*secrets.prompts, *secrets.servers, *secrets.tools, *names, *_brands(secrets), "mcp__"]
    letters = {begin.strip()[0] for begin in begins if begin.strip()}
    return f"(?=[{''.join(map(re.escape, sorted(letters)))}])"


def _neutral(word: str, names: Iterable[str]) -> str:
    """The word, or a longer one when it is itself part of a name: an arm may be called `agent`."""
    while any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", name, re.IGNORECASE) for name in names):
        word += "x"
    return word


def _own_lines(prompt: str) -> list[str]:
    """The lines of a prompt that are long enough to be its own, without bullets and headings' marks."""
    lines = (re.sub(r"^\W+|\W+$", "", _one_line(line)) for line in visible(prompt).splitlines())
    return [line for line in lines if len(line.split()) >= SHORTEST_LINE]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shown(match: re.Match[str]) -> str:
    char, code = match[0], ord(match[0])
    if unicodedata.category(char) not in _HIDDEN_KINDS:
        return char
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"
