"""Another value in place of a literal of a test's source: same type, same shape, random, and never the same value."""

from __future__ import annotations

import ast
import re
from random import Random

_NUMBER = r"\d+(?:\.\d+)?"
_RUN = re.compile(rf"{_NUMBER}|[^\W\d_]{{3,}}")
_SHORT_RUN = re.compile(rf"{_NUMBER}|[^\W\d_]+")
_ESCAPE = re.compile(r"\\(?:x..|u....|U.{8}|N\{[^}]*\}|[0-7]{1,3}|.)", re.DOTALL)
_VOWELS, _CONSONANTS = "aeiou", "bdfgklmnprstvz"
_TRIES = 40
_APART = 0.2
"""Two floats are another value from this share of the first on: further than any usual tolerance."""


def another(text: str, rng: Random) -> str | None:
    """Source of a literal that differs from `text` in value only; None when there is none.

    Ints, floats, booleans, strings and bytes. Strings differ in one number or one word and keep their length.
    """
    value = _value(text)
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return _another_int(text, value, rng)
    if isinstance(value, float):
        return _another_float(text, value, rng)
    return _another_string(text, value, rng) if isinstance(value, str | bytes) else None


def word(length: int, rng: Random) -> str:
    """A word nobody has used, that reads like one."""
    turn = rng.randrange(2)
    return "".join(rng.choice(_VOWELS if (turn + n) % 2 else _CONSONANTS) for n in range(length))


def _value(text: str) -> object:
    try:
        return ast.literal_eval(f"({text}\n)")
    except (SyntaxError, ValueError):
        return None


def _another_int(text: str, value: int, rng: Random) -> str:
    least = max(1, value // 20)
    step = rng.randint(least, max(least + 3, value * 2 // 5))
    new = value - step if value - step > 1 and rng.randrange(2) else value + step
    if new < 2:  # 0 and 1 are also booleans
        new += 2
    for prefix, form in (("0x", "#x"), ("0o", "#o"), ("0b", "#b")):
        if text.lower().startswith(prefix):
            return format(new, form)
    return format(new, "_") if "_" in text else str(new)


def _another_float(text: str, value: float, rng: Random) -> str | None:
    plain = re.fullmatch(r"\d*\.(\d*)", text)
    for _ in range(_TRIES):
        new = value * rng.uniform(0.3, 3.0) if value else rng.uniform(0.5, 9.5)
        shown = f"{new:.{max(1, len(plain[1]))}f}" if plain else repr(float(f"{new:.3g}"))
        if abs(float(shown) - value) > _APART * abs(value):
            return shown
    return None


def _another_string(text: str, value: str | bytes, rng: Random) -> str:
    hidden = _ESCAPE.sub(lambda escape: "\\" * len(escape[0]), text)
    for pattern in (_RUN, _SHORT_RUN):
        runs = list(pattern.finditer(hidden))
        rng.shuffle(runs)
        for run in runs:
            new = text[: run.start()] + _another_run(run[0], rng) + text[run.end() :]
            if _is_another(_value(new), value):
                return new
    return ("b" if isinstance(value, bytes) else "") + f'"{word(6, rng)}"'


def _is_another(new: object, value: str | bytes) -> bool:
    """Not even equal when case is ignored."""
    if isinstance(value, bytes):
        return isinstance(new, bytes) and new.lower() != value.lower()
    return isinstance(new, str) and new.casefold() != value.casefold()


def _another_run(run: str, rng: Random) -> str:
    if run[0].isdecimal():
        return _another_number(run, rng)
    new = word(len(run), rng)
    if run.isupper():
        return new.upper()
    return new.capitalize() if run[0].isupper() else new


def _another_number(run: str, rng: Random) -> str:
    """As many digits, another number: `30.45` -> `71.20`, `0.5` -> `0.8`, `007` -> `402`."""
    keep = run[0] == "0" and "." in run
    for _ in range(_TRIES):
        digits = [c if c == "." else rng.choice("0123456789") for c in run]
        digits[0] = "0" if keep else rng.choice("123456789")
        new = "".join(digits)
        if float(new) != float(run):
            return new
    return "9" * len(run)
