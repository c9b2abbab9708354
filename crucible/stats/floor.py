"""The confirmation floor: how many green runs in a row before "fixed" may be said of a bug that fails at rate p?

The floor is the smallest N with (1 - p)^N strictly below the tolerance. (1 - p)^N is the chance of N greens *if the bug
is unchanged*; it is not the chance that the bug is still there, and it says nothing about a partial fix. Runs are taken
as independent: runs in the same minute share more than that.

Everything is a fraction. In floats (1 - 0.9)^1 is below 0.1 and the floor for 0.9 at 10 % comes out as 1 where it is 2;
so rates and tolerances are read as written: "0.2", "1/3", Decimal, Fraction, or a float by its shortest decimal form.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil, comb, lgamma, log, log1p, prod
from typing import TYPE_CHECKING, Literal

from crucible.stats import _checks
from crucible.stats.one_sample import clopper_pearson_lower, wilson

if TYPE_CHECKING:
    from collections.abc import Callable

Exact = str | int | float | Decimal | Fraction
Basis = Literal["quoted", "uniform", "jeffreys", "clopper-pearson", "wilson", "rate and luck"]
"""How sure the rate is: taken as exact; a posterior mean over it; a lower limit of it."""
MOST_EXACT_RUNS = 20_000
"""Above it, N is so large that powers as whole numbers are slow, and only a tie needs them."""
MOST_RUNS = 10_000_000
SURE = 1e-7
"""Logarithms further apart than this are apart in truth; what is closer is decided in whole numbers."""


def as_rate(name: str, value: Exact) -> Fraction:
    """A number in [0, 1] as the fraction that was written."""
    try:
        number = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise ValueError(f"{name} must be a number in [0, 1], not {value!r}") from None
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise ValueError(f"{name} must be in [0, 1], not {value!r}")
    return number


def as_tolerance(name: str, value: Exact) -> Fraction:
    """As `as_rate`, and neither 0 nor 1."""
    number = as_rate(name, value)
    if not 0 < number < 1:
        raise ValueError(f"{name} must be strictly between 0 and 1, not {value!r}")
    return number


def false_clear(p: Exact, runs: int) -> Fraction:
    """The chance of that many greens in a row when the bug still fails at rate p; in [0, 1]."""
    return (1 - as_rate("p", p)) ** _checks.whole("runs", runs)


def confirmation_floor(p: Exact, tolerance: Exact = "0.05") -> int:
    """The smallest number of greens whose chance, with the bug unchanged at rate p, is strictly below the tolerance.

    At least 1; 14 for 0.2 at 0.05. p must be above 0: a bug never seen failing has no floor.
    """
    return smallest_runs(_seen(p), as_tolerance("tolerance", tolerance), strict=True)


def floor_from_counts(k: int, n: int, tolerance: Exact = "0.05", basis: Basis = "quoted", level: float = 0.95) -> int:
    """The floor when the rate is itself only known as k failures in n runs of the old code (k at least 1).

    quoted: k/n as if it were exact. uniform, jeffreys: the chance of N greens averaged over that posterior.
    clopper-pearson: at the lower limit of one-sided `level`. wilson: at the lower limit of its two-sided interval.
    rate and luck: a fifth of the tolerance for the rate being below its Clopper-Pearson limit, the rest for the greens.
    Source of the last: Berger and Boos 1994.
    """
    k, n = _failures(k, n)
    limit = as_tolerance("tolerance", tolerance)
    if basis in ("uniform", "jeffreys"):
        return _predictive_floor(k, n, limit, basis, strict=True)
    if basis == "rate and luck":
        return confirmation_floor(clopper_pearson_lower(k, n, 1 - float(limit / 5)), limit * Fraction(4, 5))
    rates: dict[str, Callable[[], Exact]] = {
        "quoted": lambda: Fraction(k, n),
        "clopper-pearson": lambda: clopper_pearson_lower(k, n, level),
        "wilson": lambda: wilson(k, n, level).low,
    }
    return confirmation_floor(rates[basis](), limit)


def all_green(k: int, n: int, runs: int, prior: Literal["uniform", "jeffreys"] = "jeffreys") -> Fraction:
    """The chance of that many greens with the bug unchanged, averaged over the posterior of its rate from k of n."""
    k, n = _checks.counts(k, n)
    return Fraction(*_all_green(k, n, _checks.whole("runs", runs), prior))


def still_there(p: Exact, runs: int, before: Exact = "1/2") -> Fraction:
    """The chance that the bug is unchanged after that many greens, when `before` them it was; in [0, 1].

    Supposes that the change either fixed all of it or did nothing.
    """
    unchanged = as_rate("before", before) * false_clear(p, runs)
    fixed = 1 - as_rate("before", before)
    return unchanged / (unchanged + fixed) if unchanged + fixed else Fraction(0)


def smallest_runs(p: Fraction, limit: Fraction, *, allowed: int = 0, strict: bool) -> int:
    """The smallest N at which P(at most `allowed` failures in N runs at rate p) is below `limit` (or equal, if not strict).

    Exact, in whole numbers; only beyond 20,000 runs, and away from ties, by logarithms. Raises ValueError where that
    does not help: many runs with some failures allowed, or more than ten million.
    """
    if p == 1:
        return allowed + 1
    guess = log(float(limit)) / log1p(-float(p))
    if guess > (MOST_EXACT_RUNS if allowed else MOST_RUNS):
        raise ValueError(f"a rate of {float(p)} takes too many runs: about {guess:.0f}")
    if guess > MOST_EXACT_RUNS and abs(guess - round(guess)) > SURE:
        return ceil(guess)
    return _first(lambda runs: _rare(p, runs, allowed, limit, strict=strict), allowed)


def predictive_runs(k: int, n: int, limit: Fraction, prior: Literal["uniform", "jeffreys"], *, strict: bool) -> int:
    """As `smallest_runs` for no failure at all, averaged over the posterior of the rate from k failures in n runs."""
    return _predictive_floor(*_failures(k, n), limit, prior, strict=strict)


def _predictive_floor(k: int, n: int, limit: Fraction, prior: Literal["uniform", "jeffreys"], *, strict: bool) -> int:
    def rare(runs: int) -> bool:
        margin = _log_all_green(k, n, runs, prior) - log(float(limit))
        if abs(margin) > SURE:
            return margin < 0
        top, bottom = _all_green(k, n, runs, prior)
        left, right = top * limit.denominator, limit.numerator * bottom
        return left < right or (left == right and not strict)

    return _first(rare, 0)


def _log_all_green(k: int, n: int, runs: int, prior: Literal["uniform", "jeffreys"]) -> float:
    pseudo = 1.0 if prior == "uniform" else 0.5
    top, bottom = n - k + pseudo, n + 2 * pseudo
    return lgamma(top + runs) - lgamma(top) - lgamma(bottom + runs) + lgamma(bottom)


def _first(holds: Callable[[int], bool], low: int) -> int:
    """The smallest number above `low` from which on it holds, by doubling and halving."""
    high = max(1, 2 * low)
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _all_green(k: int, n: int, runs: int, prior: Literal["uniform", "jeffreys"]) -> tuple[int, int]:
    """Numerator and denominator, not reduced. For the uniform prior all but k + 1 factors cancel."""
    if prior == "uniform":
        first = n - k + 1
        return prod(range(first, first + k + 1)), prod(range(first + runs, first + runs + k + 1))
    top, bottom = 2 * (n - k) + 1, 2 * n + 2
    return prod(range(top, top + 2 * runs, 2)), prod(range(bottom, bottom + 2 * runs, 2))


def _rare(p: Fraction, runs: int, allowed: int, limit: Fraction, *, strict: bool) -> bool:
    bad, whole = p.numerator, p.denominator
    good = whole - bad
    ways = sum(comb(runs, i) * bad**i * good ** (runs - i) for i in range(min(allowed, runs) + 1))
    left, right = ways * limit.denominator, limit.numerator * whole**runs
    return left < right or (left == right and not strict)


def _seen(p: Exact) -> Fraction:
    rate = as_rate("p", p)
    if rate == 0:
        raise ValueError("p must be above 0: a bug that was never seen failing has no floor")
    return rate


def _failures(k: int, n: int) -> tuple[int, int]:
    k, n = _checks.counts(k, n)
    if k == 0:
        raise ValueError("k must be at least 1: a bug that was never seen failing has no floor")
    return k, n
