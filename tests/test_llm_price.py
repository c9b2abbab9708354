"""Prices: litellm's bundled map, its own arithmetic as the oracle, and None for what is not known."""

from __future__ import annotations

import subprocess
import sys

import pytest

from crucible.llm._litellm import load, price_map
from crucible.llm.price import Price, cost_usd, known_price, most_usd, nearest_priced
from crucible.transcript.messages import Usage

pytestmark = pytest.mark.slow  # the first test here loads litellm

USAGES = [(120, 64, 0, 30), (1184, 64, 1000, 30), (300_000, 200_000, 50_000, 1000), (10, 0, 0, 0)]
"""prompt, cached, cache-written, output; the third is above every price list's long-context threshold."""


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "azure", "mistral", "groq", "xai", "bedrock"])
def test_costs_agree_with_litellm_for_every_priced_chat_model(provider: str) -> None:
    """Cached, cache-written and long-context rates are applied as litellm applies them, for a provider's whole list."""
    entries = load().model_cost.items()
    names = [n for n, e in entries if e.get("litellm_provider") == provider and e.get("mode") == "chat"]
    priced = {name: price for name in names if (price := known_price(name))}
    differing = []
    for name, price in priced.items():
        for prompt, cached, written, output in USAGES:
            theirs = load().cost_per_token(
                model=name,
                prompt_tokens=prompt,
                completion_tokens=output,
                cache_read_input_tokens=cached,
                cache_creation_input_tokens=written,
                custom_llm_provider=provider,
            )
            ours = cost_usd(Usage(prompt - cached - written, cached, written, output), price)
            # A whole zero is litellm's answer for its experimental models, whatever its own map says.
            if sum(theirs) and ours != pytest.approx(sum(theirs)):
                differing.append((name, prompt, ours, sum(theirs)))
    assert differing == []
    assert priced


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", "anthropic.claude-3-5-sonnet-20240620-v1:0"),
    ],
)
def test_a_provider_prefix_does_not_hide_a_price(name: str, same: str) -> None:
    """A name with its provider in front has the price of the bare name."""
    assert known_price(name) == known_price(same) is not None


@pytest.mark.parametrize("name", ["openai/some-model", "claude-opus-4.1", "nosuch/gpt-4o-mini", "groq/gpt-4o-mini", ""])
def test_an_unmapped_model_has_no_price(name: str) -> None:
    """Unknown is None, also for a model whose namesake at another provider is priced."""
    assert known_price(name) is None


def test_free_is_believed_of_local_models_only() -> None:
    """The map says 0 for models whose price it does not know; only what runs locally costs nothing."""
    free = [name for name, entry in load().model_cost.items() if entry.get("input_cost_per_token") == 0]
    zero = {str(load().model_cost[name]["litellm_provider"]) for name in free if known_price(name) == Price(0.0, 0.0)}
    assert zero <= {"ollama", "lemonade"}
    assert known_price("ollama/llama3") == Price(0.0, 0.0)


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"), ("gemini/gemini-2.5-por", "gemini/gemini-2.5-pro")],
)
def test_near_names_of_priced_models_are_offered(wrong: str, near: str) -> None:
    """A dot for a dash, or two letters swapped, finds the model that was meant."""
    assert near in nearest_priced(wrong)
    assert all(known_price(name) for name in nearest_priced(wrong))


@pytest.mark.parametrize("usage", [Usage(), Usage(input_uncached=10), Usage(output=10)])
def test_a_cost_is_unknown_when_a_count_is(usage: Usage) -> None:
    """Input or output missing: None, not the price of the rest."""
    assert cost_usd(usage, Price(1.0, 1.0)) is None
    assert cost_usd(Usage(input_uncached=1, output=1), None) is None


def test_every_kind_of_token_is_billed_once_at_its_own_rate() -> None:
    """Without a rate of their own, cached and written tokens cost what input costs; long requests have other rates."""
    usage = Usage(input_uncached=1, input_cached=10, cache_write=100, output=1000)
    assert cost_usd(usage, Price(1.0, 2.0)) == 2111
    assert cost_usd(usage, Price(1.0, 2.0, cached=0.1, cache_write=1.25)) == 2127
    assert cost_usd(usage, Price(1.0, 2.0, above=(111, Price(9.0, 9.0)))) == 2111
    assert cost_usd(usage, Price(1.0, 2.0, above=(110, Price(3.0, 4.0, above=(110, Price(5.0, 6.0)))))) == 6555
    assert Price.per_million(3, 15, cached=0.3) == Price(3e-06, 15e-06, cached=0.3 / 1e6)


def test_the_most_a_call_can_cost() -> None:
    """All input at the dearer of the plain and the cache-writing rate; unknown without a price."""
    assert most_usd(100, 10, Price(1.0, 2.0, cached=0.1, cache_write=1.25)) == 145
    assert most_usd(100, 10, Price(1.0, 2.0)) == 120
    assert most_usd(100, 10, Price(1.0, 2.0, above=(99, Price(3.0, 4.0)))) == 340
    assert most_usd(100, 10, None) is None


def test_the_price_map_is_the_one_that_the_library_itself_uses() -> None:
    assert load().model_cost == price_map()


def test_a_price_is_known_without_importing_the_library() -> None:
    """A report must not wait five seconds for it."""
    code = "from crucible.llm.price import known_price as p; import sys; print(p('gpt-4o').input, 'litellm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "2.5e-06 False" == done.stdout.strip()
