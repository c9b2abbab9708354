"""Templates: everything is escaped, unknown names are errors, and no text reaches a page that has not been made visible."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from crucible import __version__
from crucible.report import words
from crucible.web.explain import EXPLAIN, WORDS, explained
from crucible.web.visible import UNKNOWN, short_line, visible

HERE = Path(__file__).parent


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The one environment that all pages and files are made with."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": lambda v, digits=0: None if v is None else words.number(v, digits),
        "percent": lambda v: None if v is None else words.percent(v),
        "dollars": lambda v: None if v is None else words.dollars(v),
        "seconds": seconds,
        "moment": moment,
        "bytes": size,
        "plural": lambda n, one, many="": f"{n:,} {one if n == 1 else many or one + 's'}",
        "place": place,
        "line": short_line,
        "path": lambda v: quote(str(v), safe=""),
    }
    made.globals |= {
        "link": link,
        "version": __version__,
        "explain": explained,
        "explanations": EXPLAIN,
        "words": WORDS,
    }
    return made


def render(template: str, data: Mapping[str, Any]) -> str:
    """One page."""
    return environment().get_template(template).render(data)


def as_json(data: Any) -> str:
    """What a page says, for programs. A NaN is an error, never printed."""
    return json.dumps(data, default=_plain, ensure_ascii=False, allow_nan=False, indent=1)


def link(path: str, query: Mapping[str, Any] = {}, **changes: Any) -> str:
    """An address with the query it has now and some changes; None takes a name out. Shared links keep their filters."""
    kept = {name: value for name, value in {**query, **changes}.items() if value not in (None, "")}
    return f"{path}?{urlencode(kept)}" if kept else path


def place(value: float, low: float, high: float) -> str:
    """Where a value lies between two limits, as SVG takes it; outside values lie on the edge."""
    share = (value - low) / (high - low) if high > low else 0.0
    return f"{100 * min(1.0, max(0.0, share)):.2f}%"


def seconds(value: float | None) -> str | None:
    """A duration as people say it."""
    if value is None:
        return None
    if 0 < value < 0.1:
        return f"{max(1, round(value * 1000))} ms"
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def moment(text: str | None) -> str | None:
    """A stored time to the minute, UTC."""
    return None if text is None else text[:16].replace("T", " ")


def size(value: int | None) -> str | None:
    """Bytes as people say them."""
    if value is None:
        return None
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000  # type: ignore[assignment] # a whole number of bytes becomes a fraction of kilobytes
    return f"{value:.1f} GB"


def _finalize(value: Any) -> Any:
    """Every expression of every template passes here, before it is escaped."""
    if value is None:
        return UNKNOWN
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")
