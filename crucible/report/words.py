"""Numbers as people read them. Unknown is a dash, never a zero."""

from __future__ import annotations

from collections.abc import Iterable

UNKNOWN = "-"


def number(value: float | None, digits: int = 2) -> str:
    """A plain number."""
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """A share as a percentage."""
    return UNKNOWN if value is None else f"{100 * value:.0f}%"


def percent_range(interval: tuple[float, float] | None) -> str:
    """An interval of shares."""
    return UNKNOWN if interval is None else f"{100 * interval[0]:.0f}-{100 * interval[1]:.0f}%"


def dollars(value: float | None) -> str:
    """US dollars."""
    return "unknown" if value is None else f"${value:.4f}"


def known_of(text: str, n: int, of: int) -> str:
    """A mean with the number it is over, when that is not all."""
    return text if n == of else f"{text} ({n} of {of} known)"


def seldom(p_value: float) -> str:
    """A p-value to three digits."""
    said = p_number(p_value)
    return f"p {said}" if said.startswith("<") else f"p = {said}"


def p_number(p_value: float) -> str:
    """The same for a column of p-values; never 0, which no test can show."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def to_the_minute(stored: str) -> str:
    """A stored time, which is UTC."""
    return f"{stored[:16].replace('T', ' ')} UTC"


def attempts_in_words(number: int) -> str:
    """`1 attempt`, `5 attempts`."""
    return f"{number} attempt{'' if number == 1 else 's'}"


def spans(numbers: Iterable[int]) -> str:
    """`1, 4-6`: numbers in ascending order, each once, with those that follow one another drawn together."""
    runs: list[list[int]] = []
    for one in numbers:
        if runs and one == runs[-1][-1] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
