"""Before spending: what can this many attempts per arm detect on one scenario, and how many does a difference take?

Everything is exact: the rejection region of the test is laid over the probabilities of all tables; nothing is simulated
or approximated. Tests are two-sided at level `alpha` and both directions count towards the power. Power is not monotone
in the number of attempts (the exact tests move in steps), which is why `attempts_needed` looks ahead.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from crucible.stats import _checks
from crucible.stats.unconditional import (
    TIE,
    binomial_weights,
    check_size,
    largest_probability,
    largest_tails,
    mid_tails,
    passes_on,
    stays_within,
    tails,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]

Test = Literal["boschloo", "fisher", "mid-p"]
Direction = Literal["up", "down"]
STEADY = 3
"""An n counts as enough when it and the next two reach the power: one lucky step of the saw-tooth does not."""
MOST_PER_ARM = 400
"""Where the search for attempts ends; an answer above it is not one a user of single scenarios can act on."""


def power_two_arms(p_a: float, p_b: float, n_a: int, n_b: int, alpha: float = 0.05, test: Test = "boschloo") -> float:
    """The chance in [0, 1] that these attempts give p <= alpha when the true rates are `p_a` and `p_b`.

    With `p_a == p_b` it is the chance of a false alarm. Up to 1000 attempts of both arms.
    """
    rates = [_checks.rate("p_a", p_a)], [_checks.rate("p_b", p_b)]
    region = rejection_region(n_a, n_b, _checks.inside("alpha", alpha), test)
    return float((_weights(n_a, rates[0]) @ region @ _weights(n_b, rates[1]).T)[0, 0])


def largest_false_alarm(n_a: int, n_b: int, alpha: float = 0.05, test: Test = "boschloo") -> float:
    """The highest chance of a false alarm over all common rates: at most `alpha` for Boschloo and Fisher."""
    import numpy as np

    region = rejection_region(n_a, n_b, _checks.inside("alpha", alpha), test)
    table = tails(n_a, n_b)
    conditional = np.zeros(len(table))
    for total in range(len(table)):
        fewest, most = passes_on(total, n_a, n_b)
        passes = np.arange(most, fewest - 1, -1)
        steps = np.diff(table[total, : len(passes)], prepend=0.0)
        conditional[total] = steps[region[passes, total - passes]].sum()
    return largest_probability(conditional)


def detectable_difference(
    n: int,
    base: float,
    direction: Direction = "up",
    power: float = 0.8,
    alpha: float = 0.05,
    test: Test = "boschloo",
) -> float | None:
    """The smallest change of the rate from `base`, in whole points, that n attempts per arm find with this power.

    In (0, 1], 0.45 for 45 points. None when even the largest possible change is not found often enough.
    """
    base, power = _checks.rate("base", base), _checks.inside("power", power)
    sign = 1 if direction == "up" else -1
    steps = [i / 100 for i in range(1, 101) if -1e-12 <= base + sign * i / 100 <= 1 + 1e-12]
    if not steps:
        return None
    others = [min(1.0, max(0.0, base + sign * step)) for step in steps]
    region = rejection_region(n, n, _checks.inside("alpha", alpha), test)
    reached = (_weights(n, others) @ region @ _weights(n, [base]).T)[:, 0] >= power
    return steps[int(reached.argmax())] if reached.any() else None


def attempts_needed(
    p_a: float, p_b: float, power: float = 0.8, alpha: float = 0.05, test: Test = "boschloo"
) -> int | None:
    """Attempts per arm from which on this difference is found with this power, for `STEADY` numbers in a row.

    None when that takes more than 400 per arm, or the rates are equal.
    """
    p_a, p_b = _checks.rate("p_a", p_a), _checks.rate("p_b", p_b)
    power, alpha = _checks.inside("power", power), _checks.inside("alpha", alpha)
    if p_a == p_b:
        return None
    streak = 0
    for n in range(_where_to_start(p_a, p_b, power, alpha, test), MOST_PER_ARM + STEADY):
        streak = streak + 1 if power_two_arms(p_a, p_b, n, n, alpha, test) >= power else 0
        if streak == STEADY:
            return n - STEADY + 1
    return None


def normal_attempts_needed(p_a: float, p_b: float, power: float = 0.8, alpha: float = 0.05) -> float:
    """Attempts per arm by the normal approximation, not rounded: a first guess, and the answer beyond enumeration.

    Infinite is refused: the rates must differ. Source: `power.prop.test` of R.
    """
    p_a, p_b = _checks.rate("p_a", p_a), _checks.rate("p_b", p_b)
    if p_a == p_b:
        raise ValueError("no number of attempts tells equal rates apart")
    z_alpha = -NormalDist().inv_cdf(_checks.inside("alpha", alpha) / 2)
    z_power = NormalDist().inv_cdf(_checks.inside("power", power))
    mean = (p_a + p_b) / 2
    spread = z_alpha * sqrt(2 * mean * (1 - mean)) + z_power * sqrt(p_a * (1 - p_a) + p_b * (1 - p_b))
    return float((spread / (p_a - p_b)) ** 2)


def rejection_region(n_a: int, n_b: int, alpha: float = 0.05, test: Test = "boschloo") -> Flags:
    """`[k_a, k_b]` is True where the two-sided test gives p <= alpha."""
    greater = _greater_region(n_a, n_b, alpha / 2, test)
    less: Flags = _greater_region(n_b, n_a, alpha / 2, test).T
    return greater | less


@lru_cache(maxsize=256)
def _greater_region(n_a: int, n_b: int, half: float, test: Test) -> Flags:
    """Where the one-sided test gives p <= half; as a table of 0 and 1 over the passes of both arms."""
    import numpy as np

    check_size(n_a, n_b)
    values = mid_tails(n_a, n_b) if test == "mid-p" else tails(n_a, n_b)
    many = _boschloo_counts(values, half) if test == "boschloo" else largest_tails(values, half)[1]
    found = np.zeros((n_a + 1, n_b + 1), dtype=bool)
    for total, count in enumerate(many):
        _, most = passes_on(total, n_a, n_b)
        passes = np.arange(most, most - count, -1)
        found[passes, total - passes] = True
    found.setflags(write=False)
    return found


def _boschloo_counts(values: Floats, half: float) -> npt.NDArray[np.intp]:
    """How many tables of each total Boschloo's test rejects: the largest Fisher threshold it can afford.

    Fisher's own threshold is always affordable, so the search starts there.
    """
    import numpy as np

    candidates = np.unique(values[(values >= half) & (values <= 1)])
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        if stays_within(largest_tails(values, candidates[middle])[0], half * TIE):
            low = middle + 1
        else:
            high = middle
    return largest_tails(values, candidates[low - 1] if low else half)[1]


def _where_to_start(p_a: float, p_b: float, power: float, alpha: float, test: Test) -> int:
    """A number of attempts well below the answer: the approximation, stepped down until the power is clearly short."""
    n = min(MOST_PER_ARM, max(2, ceil(0.75 * normal_attempts_needed(p_a, p_b, power, alpha))))
    while n > 2 and power_two_arms(p_a, p_b, n, n, alpha, test) > power - 0.05:
        n = max(2, n - max(1, n // 8))
    return n


def _weights(n: int, rates: list[float]) -> Floats:
    import numpy as np

    return binomial_weights(n, np.array(rates))
