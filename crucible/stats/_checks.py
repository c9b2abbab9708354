"""What every argument must be before arithmetic starts: errors name the argument, the value and the range."""

from __future__ import annotations

from math import isfinite
from operator import index
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def whole(name: str, value: int, least: int = 0) -> int:
    """A whole number of at least `least`. A bool, a float and text are refused, also when they look whole."""
    try:
        number = None if value is True or value is False else index(value)
    except TypeError:
        number = None
    if number is None:
        raise ValueError(f"{name} must be a whole number, not {value!r}")
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    return number


def counts(k: int, n: int, what: str = "") -> tuple[int, int]:
    """`k` of `n`: n at least 1 and 0 <= k <= n. `what` names the pair in the error."""
    n = whole(f"n{what}", n, 1)
    k = whole(f"k{what}", k)
    if k > n:
        raise ValueError(f"k{what} must be at most n{what} ({n}), not {k}")
    return k, n


def finite(name: str, value: float) -> float:
    """A number that is neither NaN nor infinite."""
    number = float(value)
    if not isfinite(number):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return number


def rate(name: str, value: float) -> float:
    """A number in [0, 1]."""
    number = finite(name, value)
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must be in [0, 1], not {value!r}")
    return number


def inside(name: str, value: float) -> float:
    """A number strictly between 0 and 1: a confidence level, a significance level, a power."""
    number = finite(name, value)
    if not 0 < number < 1:
        raise ValueError(f"{name} must be strictly between 0 and 1, not {value!r}")
    return number


def positive(name: str, value: float) -> float:
    """A finite number above 0."""
    number = finite(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be above 0, not {value!r}")
    return number


def not_negative(name: str, value: float) -> float:
    """A finite number of at least 0."""
    number = finite(name, value)
    if number < 0:
        raise ValueError(f"{name} must be at least 0, not {value!r}")
    return number


def numbers(name: str, values: Iterable[float], least: int = 1) -> list[float]:
    """At least `least` finite numbers."""
    found = [finite(name, value) for value in values]
    if len(found) < least:
        raise ValueError(f"{name} needs at least {least} values, not {len(found)}")
    return found


def same_length(name: str, values: Sequence[object], other_name: str, others: Sequence[object]) -> None:
    """Both are equally long."""
    if len(values) != len(others):
        raise ValueError(f"{name} and {other_name} must be equally long, not {len(values)} and {len(others)}")
