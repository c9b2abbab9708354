"""Where an arm's model really is: address, key, prices."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from crucible.errors import PreflightError
from crucible.llm.dialects import Dialect
from crucible.llm.keys import keys_of, missing_key, provider
from crucible.llm.price import Price, known_price
from crucible.redaction import guard
from crucible.settings import ModelSettings, Settings

_OWN = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
}
_SPEAKS: dict[str, tuple[Dialect, ...]] = {
    "anthropic": ("anthropic",),
    "openai": ("chat", "responses"),
    "gemini": ("gemini",),
}
_WITHOUT_VERSION = ("anthropic", "gemini", "ollama", "ollama_chat")
"""Providers whose base URL, as litellm takes it, does not end in the version that OpenAI's dialects want there."""
_VERSION = re.compile(r"/v\d\w*(/messages)?$")


@dataclass(frozen=True, slots=True)
class Upstream:
    """The provider of one arm's model. `model` is litellm's `provider/model`; no text of this shows the key.

    `base` is the base URL as litellm takes it. `bearer`: the key is a token that Anthropic wants as `Authorization`.
    """

    model: str
    base: str
    key: str | None = field(default=None, repr=False)
    bearer: bool = False
    prices: Mapping[str, Price] = field(default_factory=dict, repr=False)

    @property
    def wire_model(self) -> str:
        """The model's name as the provider knows it, which the agent is to ask for."""
        return self.model.partition("/")[2] or self.model

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """What is spoken there; a gateway or a server of one's own may speak any."""
        own = provider(self.model) or ""
        return _SPEAKS[own] if self.base == _OWN.get(own) else ("anthropic", "chat", "responses", "gemini")

    def url(self, dialect: Dialect, path: str) -> str:
        """The address of a path below the dialect's version, such as `messages`."""
        root = _VERSION.sub("", self.base)
        if dialect == "anthropic":
            return f"{root}/v1/{path}"
        if dialect == "gemini":
            return f"{self.base}/{path}" if provider(self.model) == "gemini" else f"{root}/v1beta/{path}"
        return f"{root}/v1/{path}" if provider(self.model) in _WITHOUT_VERSION else f"{self.base}/{path}"

    def credentials(self, dialect: Dialect) -> dict[str, str]:
        """The header that carries the key; none where there is no key."""
        if not self.key:
            return {}
        if dialect == "gemini":
            return {"x-goog-api-key": self.key}
        if dialect == "anthropic" and not self.bearer:
            return {"x-api-key": self.key}
        return {"Authorization": f"Bearer {self.key}"}

    def price(self, asked: str, answered: str | None) -> Price | None:
        """The price of the model that answered a call; None when it is unknown. May load the price list.

        What crucible.toml says of the model that was asked for comes first. A reply names the dated version of it.
        """
        said = self.prices.get(asked) or self.prices.get(answered or asked)
        return said or self._listed(answered or asked) or (self._listed(asked) if _dated(asked, answered) else None)

    def _listed(self, name: str) -> Price | None:
        full = f"{provider(self.model)}/{name}" if "/" in self.model else name
        return known_price(full)


def upstream_of(model: str, settings: Settings, environment: Mapping[str, str] = os.environ) -> Upstream:
    """Where `model` is, with what crucible.toml says of it.

    Raises PreflightError for a provider whose address is not known and not given, and for a key that is not there.
    """
    said, own = settings.model(model), provider(model)
    base = said.api_base or _OWN.get(own or "")
    if base is None:
        raise PreflightError(
            f"{model}: an agent's calls are forwarded to the provider, whose address is known for"
            f" {', '.join(_OWN)} only",
            hint=f'give it in crucible.toml: [models."{model}"] api_base = "https://..."',
        )
    key = _key(model, said, environment)
    guard([key])
    token = environment.get("ANTHROPIC_AUTH_TOKEN")
    bearer = own == "anthropic" and key == token and key != environment.get("ANTHROPIC_API_KEY")
    return Upstream(model, base.rstrip("/"), key, bearer, _prices(model, settings))


def _key(model: str, said: ModelSettings, environment: Mapping[str, str]) -> str | None:
    if said.api_key_env:
        key = environment.get(said.api_key_env)
        lacking = None if key else said.api_key_env
    else:
        key = next(iter(keys_of(model, environment)), None)
        lacking = None if said.api_base else missing_key(model, environment)
    if lacking:
        raise PreflightError(f"{model} needs {lacking}, which is not set", hint="set it, or choose another model")
    return key


def _prices(model: str, settings: Settings) -> dict[str, Price]:
    """What crucible.toml says of the models of the same provider, by their names on the wire."""
    prefix = f"{model.partition('/')[0]}/" if "/" in model else ""
    return {
        name.removeprefix(prefix): Price.per_million(
            said.input_usd_per_million, said.output_usd_per_million, cached=said.cached_usd_per_million
        )
        for name, said in settings.models.items()
        if name.startswith(prefix)
        and said.input_usd_per_million is not None
        and said.output_usd_per_million is not None
    }


def _dated(asked: str, answered: str | None) -> bool:
    return answered is not None and answered.startswith(f"{asked}-")
