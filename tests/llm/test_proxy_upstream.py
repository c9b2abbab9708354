"""Where a model really is, with which key, at what price."""

from __future__ import annotations

from typing import Any

import pytest

from crucible.errors import PreflightError
from crucible.llm.dialects import Dialect
from crucible.llm.price import Price
from crucible.llm.proxy import Upstream, upstream_of
from crucible.settings import ModelSettings, Settings

KEYS = {"ANTHROPIC_API_KEY": "key-anthropic-1", "OPENAI_API_KEY": "key-openai-123", "GEMINI_API_KEY": "key-gemini-123"}


def at(model: str, keys: dict[str, str] = KEYS, **said: Any) -> Upstream:
    return upstream_of(model, Settings(models={model: ModelSettings(**said)}), keys)


@pytest.mark.parametrize(
    ("model", "dialect", "url"),
    [
        ("anthropic/claude-x", "anthropic", "https://api.anthropic.com/v1/messages"),
        ("claude-x", "anthropic", "https://api.anthropic.com/v1/messages"),
        ("openai/gpt-x", "chat", "https://api.openai.com/v1/chat/completions"),
        ("openai/gpt-x", "responses", "https://api.openai.com/v1/responses"),
        ("gemini/x", "gemini", "https://generativelanguage.googleapis.com/v1beta/models/x:generateContent"),
    ],
)
def test_the_three_known_providers_have_their_own_address(model: str, dialect: Dialect, url: str) -> None:
    """Each speaks its own dialects there."""
    paths = {"anthropic": "messages", "chat": "chat/completions", "responses": "responses"}
    upstream = at(model)
    assert url == upstream.url(dialect, paths.get(dialect, "models/x:generateContent"))
    assert dialect in upstream.dialects
    assert "gemini" not in upstream.dialects or model.startswith("gemini")


@pytest.mark.parametrize(
    ("model", "base", "dialect", "url"),
    [
        ("anthropic/x", "http://gw/anthropic", "anthropic", "http://gw/anthropic/v1/messages"),
        ("anthropic/x", "http://gw/v1/", "anthropic", "http://gw/v1/messages"),
        ("anthropic/x", "http://gw/v1/messages", "anthropic", "http://gw/v1/messages"),
        ("anthropic/x", "http://gw", "chat", "http://gw/v1/messages"),
        ("openai/x", "http://gw/v1", "chat", "http://gw/v1/messages"),
        ("openai/x", "http://gw", "chat", "http://gw/messages"),
        ("openai/x", "http://gw/v1", "anthropic", "http://gw/v1/messages"),
        ("ollama_chat/x", "http://gw:11434", "chat", "http://gw:11434/v1/messages"),
        ("gemini/x", "http://gw/v1beta", "gemini", "http://gw/v1beta/messages"),
        ("openai/x", "http://gw/v1", "gemini", "http://gw/v1beta/messages"),
    ],
)
def test_an_address_of_ones_own_is_taken_as_litellm_takes_it(model: str, base: str, dialect: Dialect, url: str) -> None:
    """With or without a version, whatever dialect the agent speaks."""
    assert url == at(model, api_base=base).url(dialect, "messages")


def test_a_provider_whose_address_is_not_known_needs_one() -> None:
    """Said before anything is spent, with what to write where."""
    with pytest.raises(PreflightError, match="known for anthropic, openai, gemini only") as caught:
        at("mistral/x", {"MISTRAL_API_KEY": "k"})
    assert '[models."mistral/x"] api_base' in str(caught.value.hint)
    assert "http://gw/v1" == at("mistral/x", {"MISTRAL_API_KEY": "key-mistral-1"}, api_base="http://gw/v1").base


def test_a_key_that_is_not_there_is_said_before_anything_is_spent() -> None:
    """Of the provider, or of the variable that crucible.toml names; a local server needs none."""
    with pytest.raises(PreflightError, match="anthropic/x needs ANTHROPIC_API_KEY"):
        at("anthropic/x", {})
    with pytest.raises(PreflightError, match="needs MY_KEY"):
        at("anthropic/x", KEYS, api_key_env="MY_KEY")
    assert at("openai/x", {}, api_base="http://127.0.0.1:1/v1").key is None


def test_the_key_is_sent_as_each_dialect_wants_it() -> None:
    """A token of Anthropic's goes as Authorization."""
    assert {"x-api-key": "key-anthropic-1"} == at("anthropic/x").credentials("anthropic")
    assert {"Authorization": "Bearer key-openai-123"} == at("openai/x").credentials("responses")
    assert {"x-goog-api-key": "key-gemini-123"} == at("gemini/x").credentials("gemini")
    token = at("anthropic/x", {"ANTHROPIC_AUTH_TOKEN": "token-anthropic-1"})
    assert {"Authorization": "Bearer token-anthropic-1"} == token.credentials("anthropic")
    assert "key-anthropic-1" not in repr(at("anthropic/x"))


def test_the_models_name_on_the_wire_is_without_its_provider() -> None:
    """The first part only."""
    assert "claude-x" == at("anthropic/claude-x").wire_model == at("claude-x").wire_model
    router = at("openrouter/anthropic/claude-x", {"OPENROUTER_API_KEY": "key-router-1"}, api_base="http://gw/v1")
    assert "anthropic/claude-x" == router.wire_model


def test_the_price_is_that_of_crucible_toml_first() -> None:
    """For every model of the provider that it names, by the name that was asked for, or else the one that answered."""
    priced = ModelSettings(input_usd_per_million=1, output_usd_per_million=2)
    models = {
        "openai/big": priced,
        "openai/small": priced,
        "other/small": ModelSettings(),
        "openai/free": ModelSettings(),
    }
    upstream = upstream_of("openai/big", Settings(models=models), KEYS)
    assert Price(1e-6, 2e-6) == upstream.price("big", "renamed") == upstream.price("alias", "small")
    assert {"big", "small"} == set(upstream.prices)


@pytest.mark.slow  # loads litellm
def test_other_models_have_their_list_price_and_dated_ones_that_of_their_family_name() -> None:
    """A side call to a cheaper model costs what that one costs; a name nobody knows has no price."""
    upstream = at("openai/gpt-4o")
    assert Price(1.5e-07, 6e-07, 7.5e-08) == upstream.price("gpt-4o-mini", "gpt-4o-mini-2024-07-18")
    assert upstream.price("gpt-4o", None) == upstream.price("gpt-4o", "gpt-4o-2999-01-01") is not None
    assert upstream.price("gpt-4o", "something-else") is None
