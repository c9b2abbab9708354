"""What a model's name tells: its provider, the key it needs, its family. Nothing is loaded or asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_KEYS: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "azure": ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN", "AZURE_CLIENT_SECRET"),
    "azure_ai": ("AZURE_AI_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "codestral": ("CODESTRAL_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nebius": ("NEBIUS_API_KEY",),
    "novita": ("NOVITA_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "replicate": ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "sambanova": ("SAMBANOVA_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_TOKEN", "TOGETHER_AI_API_KEY"),
    "xai": ("XAI_API_KEY",),
    "zai": ("ZAI_API_KEY",),
}
"""Any one of a provider's variables will do; the first is the one to tell a user."""

_BARE = {"claude": "anthropic", "gpt": "openai", "deepseek": "deepseek"}
"""Providers of names without a prefix, by family."""

_FAMILIES: dict[str, str] = {
    "claude": r"claude",
    "gpt": r"(?:chat)?gpt|codex|o[134](?=$|[-:@])",
    "gemini": r"gemini",
    "gemma": r"gemma",
    "llama": r"(?:code)?llama",
    "qwen": r"qwen|qwq",
    "mistral": r"(?:mi|mini|magi|dev|code)stral|(?:mi|pi)xtral",
    "deepseek": r"deepseek",
    "grok": r"grok",
    "command": r"command",
    "kimi": r"kimi|moonshot",
    "glm": r"glm",
    "phi": r"phi(?=-?\d)",
    "nova": r"nova",
    "minimax": r"minimax",
}
_FAMILY = re.compile(r"(?<![a-z])(?:" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _FAMILIES.items()) + ")")


def provider(model: str) -> str | None:
    """The provider a name like `provider/model` names, or that a well-known bare name implies; None if neither."""
    prefix, slash, _ = model.partition("/")
    if not slash and "anthropic.claude" in model:
        return "bedrock"
    return prefix if slash else _BARE.get(family(model))


def missing_key(model: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """The environment variable that a model's provider needs and that is absent or empty.

    None when it is there, and also when it cannot be told from here: providers that run locally or take cloud
    credentials (a profile, a role), and ones not known to this table.
    """
    names = _KEYS.get(provider(model) or "", ())
    return None if any(environment.get(name) for name in names) else next(iter(names), None)


def keys_of(model: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The keys of a model's provider that are in the environment; there for being kept secret."""
    return [value for name in _KEYS.get(provider(model) or "", ()) if (value := environment.get(name))]


def family(model: str) -> str:
    """Whose model it is at heart: `claude`, `gpt`, `gemini`, `llama`, `qwen`, `mistral`, ..., wherever it is hosted.

    The last part of the name when none is known, so that a model is always of its own family.
    """
    last = model.lower().rpartition("/")[2]
    found = _FAMILY.search(last) or _FAMILY.search(model.lower())
    return next(name for name, text in found.groupdict().items() if text) if found else last
