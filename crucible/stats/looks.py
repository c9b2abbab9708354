"""At a look of a sequential design: stop or go on? And before the first: how often does the design end how, and when?

Besides the boundary of `sequential`, a run stops for futility from the fifth pair on, when the chance of a difference at
the *last* look, predicted from the data with a uniform prior, is below 5 %. Futility can only lower false alarms: the
constants are calibrated without it, and going on in spite of it costs nothing but attempts.

Counting works because all paths with the same passes at the same look are equally likely: `paths` counts them once, and
every probability is a sum over the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from crucible.stats import _checks
from crucible.stats.sequential import Design, crossing, one_more_pair, z_by_passes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]

FIRST_FUTILITY_LOOK = 5
FUTILE = 0.05
ROUNDS_CONSTANT = 2.30
"""Of the many-scenario design: simulated false alarms are 2.9-3.7 % for 6 to 20 scenarios and 5 to 10 rounds."""

Decision = Literal["A better", "B better", "futile", "go on", "undecided"]


@dataclass(frozen=True, slots=True)
class Look:
    """What to do after `look` pairs. "undecided" is the end of the design without a difference.

    `z` is positive when A is ahead; `critical` is what |z| must reach (infinite before the first look); `chance_at_end`
    in [0, 1] is the predicted chance of a difference at the last look.
    """

    look: int
    decision: Decision
    z: float
    critical: float
    chance_at_end: float


@dataclass(frozen=True, slots=True)
class Operating:
    """How the design ends under two true rates: chances in [0, 1] that sum to 1, and the mean number of pairs."""

    a_better: float
    b_better: float
    futile: float
    undecided: float
    mean_pairs: float

    @property
    def power(self) -> float:
        """The chance that a difference is found; a false alarm when the rates are equal."""
        return self.a_better + self.b_better


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """How many equally likely paths end how: `[a, b]` by passes of the arms, per look for those that end early.

    `last` are the paths that reach the end undecided.
    """

    crossed: dict[int, Floats]
    futile: dict[int, Floats]
    last: Floats


def at_look(design: Design, look: int, passes_a: int, passes_b: int) -> Look:
    """Stop or go on, with `passes_a` and `passes_b` after `look` attempts of each arm?"""
    critical = design.critical(look)
    (a, _), (b, _) = _checks.counts(passes_a, look, "_a"), _checks.counts(passes_b, look, "_b")
    z, chance = float(z_by_passes(look)[a, b]), float(chance_at_end(design, look)[a, b])
    return Look(look, _decision(design, look, a, b), z, critical, chance)


def operating(design: Design, p_a: float, p_b: float, *, futile: bool = True) -> Operating:
    """How does the design end when the true rates are `p_a` and `p_b`? Exactly, with or without stopping for futility."""
    p_a, p_b = _checks.rate("p_a", p_a), _checks.rate("p_b", p_b)
    every = paths(design, futile=futile)
    ahead, behind, stopped, pairs = 0.0, 0.0, 0.0, 0.0
    for look in every.crossed:
        crossed, hopeless = (_chances(ends, look, p_a, p_b) for ends in (every.crossed[look], every.futile[look]))
        signs = z_by_passes(look)
        ahead, behind = ahead + float(crossed[signs > 0].sum()), behind + float(crossed[signs < 0].sum())
        stopped += float(hopeless.sum())
        pairs += look * float(crossed.sum() + hopeless.sum())
    last = float(_chances(every.last, design.pairs, p_a, p_b).sum())
    return Operating(ahead, behind, stopped, last, pairs + design.pairs * last)


def rounds_critical(done: int, rounds: int) -> float:
    """What |z| of `stratified.mantel_haenszel` must reach after `done` of at most `rounds` rounds over many scenarios.

    A round is one attempt per arm on every scenario; the claim is about *these scenarios*. Simulated, not exact: for
    6 scenarios or more.
    """
    rounds = _checks.whole("rounds", rounds, 1)
    if not 1 <= _checks.whole("done", done, 1) <= rounds:
        raise ValueError(f"done must be in 1..{rounds}, not {done}")
    return ROUNDS_CONSTANT * float((done / rounds) ** -0.25)


@lru_cache(maxsize=256)
def chance_at_end(design: Design, look: int) -> Floats:
    """`[a, b]` is the chance of crossing at the *last* look, predicted after this one with uniform priors."""
    import numpy as np

    ends = _predicted_passes(look, design.pairs)
    found: Floats = ends @ crossing(design, design.pairs).astype(np.float64) @ ends.T
    found.setflags(write=False)
    return found


def futility(design: Design, look: int) -> Flags:
    """`[a, b]` is True where going on is hopeless at this look."""
    import numpy as np

    if not FIRST_FUTILITY_LOOK <= look < design.pairs:
        return np.zeros((look + 1, look + 1), dtype=bool)
    return chance_at_end(design, look) < FUTILE


@lru_cache(maxsize=32)
def paths(design: Design, *, futile: bool) -> Paths:
    """Every way the design can go, counted; with or without stopping for futility."""
    import numpy as np

    crossed, hopeless, going = {}, {}, np.ones((1, 1))
    for look in range(1, design.pairs + 1):
        going = one_more_pair(going)
        if look < design.first_look:
            continue
        ends = crossing(design, look)
        crossed[look], going = np.where(ends, going, 0.0), np.where(ends, 0.0, going)
        stops = futility(design, look) if futile else np.zeros_like(ends)
        hopeless[look], going = np.where(stops, going, 0.0), np.where(stops, 0.0, going)
    return Paths(crossed, hopeless, going)


def _decision(design: Design, look: int, a: int, b: int) -> Decision:
    if crossing(design, look)[a, b]:
        return "A better" if a > b else "B better"
    if look == design.pairs:
        return "undecided"
    return "futile" if futility(design, look)[a, b] else "go on"


def _chances(ends: Floats, look: int, p_a: float, p_b: float) -> Floats:
    """Numbers of paths as probabilities under the true rates."""
    import numpy as np

    passes = np.arange(look + 1)
    of_a, of_b = (np.power(p, passes) * np.power(1 - p, look - passes) for p in (p_a, p_b))
    found: Floats = ends * of_a[:, None] * of_b[None, :]
    return found


@lru_cache(maxsize=256)
def _predicted_passes(look: int, pairs: int) -> Floats:
    """`[a, x]`: the chance that a passes in `look` attempts become x in `pairs`, by a uniform prior (beta-binomial)."""
    import numpy as np

    a, x = np.arange(look + 1)[:, None], np.arange(pairs + 1)[None, :]
    possible = (x >= a) & (pairs - x >= look - a)
    x = np.where(possible, x, a)
    logs = _log_choose(x, a) + _log_choose(pairs - x, look - a) - _log_choose(pairs + 1, look + 1)
    found: Floats = np.where(possible, np.exp(logs), 0.0)
    return found


def _log_choose(n: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    import numpy as np
    from scipy.special import gammaln

    n, k = np.asarray(n), np.asarray(k)
    found: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return found
