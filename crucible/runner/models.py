"""From an arm to the model that plays it, and the checks that cost nothing and come before anything that does."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from crucible.errors import PreflightError
from crucible.llm.types import Model
from crucible.scenario.schema import Arm, Scenario
from crucible.settings import Settings

if TYPE_CHECKING:
    from crucible.llm.retry import RetryNote

log = logging.getLogger("crucible.models")


def make_model(name: str, settings: Settings) -> Model:
    """The litellm model of that name, with what crucible.toml says of it."""
    import os

    from crucible.llm.client import LiteLLMModel
    from crucible.llm.price import Price

    said = settings.model(name)
    price = None
    if said.input_usd_per_million is not None and said.output_usd_per_million is not None:
        cached = said.cached_usd_per_million
        price = Price.per_million(said.input_usd_per_million, said.output_usd_per_million, cached=cached)
    key = os.environ.get(said.api_key_env) if said.api_key_env else None
    key = key or ("none" if said.api_base and not said.api_key_env else None)
    return LiteLLMModel(
        name, api_base=said.api_base, api_key=key, price=price, on_retry=lambda note: _log_retry(name, note)
    )


def _log_retry(name: str, note: RetryNote) -> None:
    log.warning("%s: try %s failed (%s: %s); waiting %.1f s", name, note.tries, note.kind, note.detail, note.wait)


def check_models(names: Iterable[str], settings: Settings) -> None:
    """Every model can be asked: its key is present. Raises PreflightError with all that is missing."""
    import os

    from crucible.llm.client import unknown_provider
    from crucible.llm.keys import missing_key

    lacking = []
    for name in sorted(set(names)):
        said = settings.model(name)
        if said.api_key_env:
            key = None if os.environ.get(said.api_key_env) else said.api_key_env
        else:
            key = None if said.api_base else missing_key(name)
        if key:
            lacking.append(f"{name} needs {key}, which is not set")
        elif (unknown := unknown_provider(name)) is not None:
            lacking.append(unknown)
    if lacking:
        raise PreflightError(
            "\n".join(lacking),
            hint="set it, choose another model with --model ARM=MODEL, or see it work without a key: --rehearse",
        )


def check_prices(scenario: Scenario, arms: Iterable[Arm], settings: Settings, max_cost: float | None) -> None:
    """With a cost budget every model has a known price. Raises PreflightError."""
    if scenario.budget.max_cost_usd is None and max_cost is None:
        return
    from crucible.llm.price import nearest_priced

    for arm in arms:
        if not make_model(arm.model, settings).price_known():
            near = nearest_priced(arm.model)
            raise PreflightError(
                f"{scenario.name}: a cost limit is set, but the price of {arm.model} is unknown"
                + (f"; near names with a price: {', '.join(near)}" if near else ""),
                hint=f'give it in crucible.toml under [models."{arm.model}"], or drop the limit',
            )


async def close_models() -> None:
    """Give back connections that models keep open; nothing to do where none was asked."""
    import sys

    if "crucible.llm.client" in sys.modules:
        from crucible.llm.client import close_connections

        await close_connections()
