"""The Bayesian supplement: how probable is it that A's true pass rate is the higher one? Never the verdict by itself.

Independent Beta posteriors, one scenario. The uniform prior is Bowyer, Aitchison and Ivanova's default (arXiv
2503.01747); Jeffreys' is the one to use beside a floor.
"""

from __future__ import annotations

from math import lgamma, pi, sqrt
from typing import Literal

from crucible.stats import _checks

Prior = Literal["uniform", "jeffreys"]
PSEUDO_COUNTS: dict[Prior, float] = {"uniform": 1.0, "jeffreys": 0.5}
"""Added to passes and to failures alike."""


def probability_better(k_a: int, n_a: int, k_b: int, n_b: int, prior: Prior = "uniform") -> float:
    """P(rate of A > rate of B | the data), in [0, 1].

    By Gauss-Legendre quadrature over the angle whose squared sine is the rate: there both priors make the integrand
    smooth up to its ends. Right to 1e-11 up to 1000 attempts per arm.
    """
    import numpy as np
    from scipy.special import betainc, roots_legendre

    (k_a, n_a), (k_b, n_b) = _checks.counts(k_a, n_a, "_a"), _checks.counts(k_b, n_b, "_b")
    add = PSEUDO_COUNTS[prior]
    passes, failures = k_a + add, n_a - k_a + add
    nodes, weights = roots_legendre(64 + int(12 * sqrt(n_a + n_b)))
    angle = (nodes + 1) * (pi / 4)
    constant = lgamma(passes + failures) - lgamma(passes) - lgamma(failures)
    log_density = constant + (2 * passes - 1) * np.log(np.sin(angle)) + (2 * failures - 1) * np.log(np.cos(angle))
    below = betainc(k_b + add, n_b - k_b + add, np.sin(angle) ** 2)
    return min(1.0, max(0.0, float((np.exp(log_density) * below) @ weights) * pi / 2))
