"""What a model's name tells."""

from __future__ import annotations

import pytest

from crucible.llm.keys import family, missing_key, provider


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-sonnet-4-5", "claude"),
        ("anthropic/claude-opus-4-5", "claude"),
        ("bedrock/us.anthropic.claude-3-7-sonnet-20250219-v1:0", "claude"),
        ("openrouter/anthropic/claude-sonnet-4.5", "claude"),
        ("vertex_ai/claude-sonnet-4@20250514", "claude"),
        ("openai/gpt-5", "gpt"),
        ("azure/my-gpt-4o-deployment", "gpt"),
        ("o3-mini", "gpt"),
        ("openai/o4-mini", "gpt"),
        ("openrouter/openai/o1", "gpt"),
        ("chatgpt-4o-latest", "gpt"),
        ("groq/openai/gpt-oss-120b", "gpt"),
        ("gemini/gemini-2.5-pro", "gemini"),
        ("gemini/gemma-3-27b-it", "gemma"),
        ("together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo", "llama"),
        ("ollama/codellama", "llama"),
        ("ollama/qwen3:8b", "qwen"),
        ("groq/qwq-32b", "qwen"),
        ("mistral/devstral-medium", "mistral"),
        ("codestral/codestral-latest", "mistral"),
        ("mistral/open-mixtral-8x22b", "mistral"),
        ("deepseek/deepseek-chat", "deepseek"),
        ("openrouter/deepseek/deepseek-r1-distill-llama-70b", "deepseek"),
        ("xai/grok-4", "grok"),
        ("bedrock/cohere.command-r-plus-v1:0", "command"),
        ("moonshot/kimi-k2", "kimi"),
        ("openai/some-model", "some-model"),
        ("azure/Blue", "blue"),
    ],
)
def test_family_is_whose_model_it_is_wherever_it_is_hosted(model: str, expected: str) -> None:
    """A host's prefix does not change the family; an unknown model is of its own family."""
    assert family(model) == expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/gpt-5", "openai"),
        ("gpt-5", "openai"),
        ("claude-sonnet-4-5", "anthropic"),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", "bedrock"),
        ("openrouter/anthropic/claude-sonnet-4.5", "openrouter"),
        ("some-model", None),
    ],
)
def test_provider_is_the_prefix_or_what_a_bare_name_implies(model: str, expected: str | None) -> None:
    """Known bare names have a provider; others have none."""
    assert provider(model) == expected


@pytest.mark.parametrize(
    ("model", "environment", "missing"),
    [
        ("openai/gpt-5", {}, "OPENAI_API_KEY"),
        ("openai/gpt-5", {"OPENAI_API_KEY": ""}, "OPENAI_API_KEY"),
        ("openai/gpt-5", {"OPENAI_API_KEY": "k"}, None),
        ("claude-sonnet-4-5", {"OPENAI_API_KEY": "k"}, "ANTHROPIC_API_KEY"),
        ("claude-sonnet-4-5", {"ANTHROPIC_AUTH_TOKEN": "k"}, None),
        ("gemini/gemini-2.5-pro", {"GOOGLE_API_KEY": "k"}, None),
        ("ollama/llama3", {}, None),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", {}, None),
        ("some-model", {}, None),
    ],
)
def test_the_missing_key_is_named(model: str, environment: dict[str, str], missing: str | None) -> None:
    """Any of a provider's variables will do, empty is absent, and what cannot be told is not claimed."""
    assert missing_key(model, environment) == missing
