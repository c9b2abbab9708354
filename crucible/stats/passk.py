"""k attempts instead of one: pass@k (at least one of k passes) and pass^k (all k pass), from c passes in n attempts.

Both are unbiased for independent attempts, in [0, 1], and need k <= n: what was not attempted is not known, so a larger
k is refused rather than extrapolated. The plug-in 1 - (1 - c/n)^k is biased low and is not offered.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

from crucible.stats import _checks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def pass_at_k(passes: int, attempts: int, k: int) -> Fraction:
    """Capability: the chance that at least one of k attempts passes. Exact; not below c/n, rises with k.

    Source: Chen et al. 2021 (HumanEval), arXiv 2107.03374.
    """
    passes, attempts, k = _checked(passes, attempts, k)
    return 1 - Fraction(comb(attempts - passes, k), comb(attempts, k))


def pass_hat_k(passes: int, attempts: int, k: int) -> Fraction:
    """Reliability, pass^k: the chance that all of k attempts pass. Exact; not above c/n, falls with k.

    Source: Yao et al. 2024 (tau-bench), arXiv 2406.12045.
    """
    passes, attempts, k = _checked(passes, attempts, k)
    return Fraction(comb(passes, k), comb(attempts, k))


def mean_over_scenarios(
    measure: Callable[[int, int, int], Fraction], counts: Sequence[tuple[int, int]], k: int
) -> Fraction:
    """`pass_at_k` or `pass_hat_k` averaged with equal weight over scenarios given as (passes, attempts)."""
    if not counts:
        raise ValueError("a mean over scenarios needs at least one scenario")
    return sum((measure(passes, attempts, k) for passes, attempts in counts), Fraction(0)) / len(counts)


def _checked(passes: int, attempts: int, k: int) -> tuple[int, int, int]:
    passes, attempts = _checks.counts(passes, attempts)
    k = _checks.whole("k", k, 1)
    if k > attempts:
        raise ValueError(f"pass@{k} and pass^{k} need at least {k} attempts, not {attempts}")
    return passes, attempts, k
