"""What the arms cost, three ways, and what that means beside their quality.

As billed is what was paid, and depends on what happened to lie in the provider's cache. As if nothing were cached charges
all input at the uncached price: what the arms take by their own nature. Output only leaves the input out. A ratio is that of
geometric means, treatment to baseline, on these scenarios (all weighing the same), with Welch's interval on logarithms. A
price that is not known is not guessed: then tokens are compared. Attempts that failed cost too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Literal

from crucible.llm.price import Price, known_price
from crucible.report.arms import Mean, Side
from crucible.report.success import Success, success
from crucible.settings import Settings
from crucible.stats.across import welch_over_scenarios
from crucible.stats.effect import as_ratio
from crucible.store.measures import Measured

Sides = Sequence[tuple[Side, Side]]
"""Treatment and baseline, scenario by scenario."""
Prices = Callable[[str], Price | None]
Unit = Literal["US dollars", "tokens", "seconds"]
Value = Callable[[Measured], float | None]
NOT_COMPARED = "no verdict was given, so nothing is compared"


@dataclass(frozen=True, slots=True)
class Way:
    """One way to count, per counted attempt. `ratio`, its `interval` (95%) and `p_value` are None where they cannot be
    told, for `why_not`; below 1 the treatment takes less."""

    name: str
    unit: Unit
    treatment: Mean
    baseline: Mean
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    why_not: str | None = None

    def uncompared(self) -> Way:
        """The means alone."""
        return replace(self, ratio=None, interval=None, p_value=None, why_not=NOT_COMPARED)


@dataclass(frozen=True, slots=True)
class Costs:
    """All ways to count what an attempt cost, and what one success did: the mean cost of a counted attempt over the pass rate,
    None where a cost is unknown or nothing passed."""

    ways: tuple[Way, ...]
    success: Success

    @property
    def headline(self) -> Way:
        """The way that quality is held against: as billed, or tokens where no bill is known."""
        return next((one for one in self.ways if one.ratio is not None), self.ways[0])

    def uncompared(self) -> Costs:
        """What both arms cost, without holding one against the other."""
        ways = tuple(way.uncompared() for way in self.ways)
        return replace(self, ways=ways, success=self.success.uncompared(NOT_COMPARED))


def prices_of(settings: Settings) -> Prices:
    """Prices as the bench's configuration gives them, else list prices."""

    def price(model: str) -> Price | None:
        said = settings.model(model)
        if said.input_usd_per_million is None or said.output_usd_per_million is None:
            return known_price(model)
        cached = said.cached_usd_per_million
        return Price.per_million(said.input_usd_per_million, said.output_usd_per_million, cached=cached)

    return price


def costs(sides: Sides, prices: Prices = known_price) -> Costs:
    """Both arms' costs over all scenarios."""
    everything = [attempt for pair in sides for side in pair for attempt in side.counted]
    ways = [
        way("as billed", "US dollars", sides, lambda a: a.cost_usd),
        _priced("as if nothing were cached", sides, lambda a: _uncached_usd(a, prices), _input_and_output, everything),
        _priced("output only", sides, lambda a: _output_usd(a, prices), lambda a: a.output, everything),
        way("tokens billed", "tokens", sides, lambda a: a.tokens),
    ]
    return Costs(tuple(ways), success([side for side, _ in sides], [side for _, side in sides]))


def _priced(name: str, sides: Sides, usd: Value, tokens: Value, everything: Iterable[Measured]) -> Way:
    """In dollars when every attempt with known tokens has a price, else in tokens."""
    priced = all(usd(a) is not None for a in everything if tokens(a) is not None)
    return way(name, "US dollars", sides, usd) if priced else way(name, "tokens", sides, tokens)


def way(name: str, unit: Unit, sides: Sides, value: Value) -> Way:
    """Both arms' known values, and their ratio where every arm has some above 0 on every scenario."""
    strata = [([value(a) for a in t.counted], [value(a) for a in b.counted]) for t, b in sides]
    treatment = Mean.over(v for values, _ in strata for v in values)
    baseline = Mean.over(v for _, values in strata for v in values)
    known = [([v for v in t if v is not None], [v for v in b if v is not None]) for t, b in strata]
    if not known or not all(t and b for t, b in known):
        return Way(
            name,
            unit,
            treatment,
            baseline,
            why_not=f"not known for both arms{' on every scenario' * (len(strata) > 1)}",
        )
    if min(v for stratum in known for values in stratum for v in values) <= 0:
        return Way(name, unit, treatment, baseline, why_not="no ratio: some attempts took nothing")
    found = as_ratio(welch_over_scenarios([(_logs(t), _logs(b)) for t, b in known]))
    interval = (found.interval.low, found.interval.high) if found.interval else None
    return Way(name, unit, treatment, baseline, found.ratio, interval, found.p_value, found.why_not)


def _logs(values: Sequence[float]) -> list[float]:
    return [log(value) for value in values]


def _input_and_output(attempt: Measured) -> float | None:
    if attempt.input_uncached is None or attempt.output is None:
        return None
    return _input(attempt) + attempt.output


def _input(attempt: Measured) -> int:
    return (attempt.input_uncached or 0) + (attempt.input_cached or 0) + (attempt.cache_write or 0)


def _uncached_usd(attempt: Measured, prices: Prices) -> float | None:
    """All input at the price of uncached input. What was billed already is that when nothing touched the cache."""
    if attempt.input_uncached is None or attempt.output is None:
        return None
    if not attempt.input_cached and not attempt.cache_write and attempt.cost_usd is not None:
        return attempt.cost_usd
    price = _one_price(attempt, prices)
    return None if price is None else _input(attempt) * price.input + attempt.output * price.output


def _output_usd(attempt: Measured, prices: Prices) -> float | None:
    price = None if attempt.output is None else _one_price(attempt, prices)
    return None if price is None or attempt.output is None else attempt.output * price.output


def _one_price(attempt: Measured, prices: Prices) -> Price | None:
    """The price of every request of an attempt; None where a dearer tier for long requests may have applied to some."""
    price = prices(attempt.model)
    if price is not None and price.above is not None and _input(attempt) > price.above[0]:
        return None
    return price
