"""The one place that imports litellm: on first use, quietly, and without touching the network.

Its import takes seconds, fetches a price map, reads `.env`, and logs to stderr; none of that may happen
behind a user's back.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",  # the library's own fetches only; calls to providers still go out
    "LITELLM_MODE": "PRODUCTION",  # else it reads a .env above the virtual environment
    "LITELLM_DISABLE_BUG_REPORT_LINK": "true",
}
PRICES = "model_prices_and_context_window_backup.json"
_NO_MODELS = frozenset({"fallback_generalizations"})
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")


def load() -> Any:
    """litellm, imported on the first call and made to keep still. About five seconds, once a process."""
    _silence_warnings()
    return _litellm()


def is_loaded() -> bool:
    """Whether litellm has been loaded."""
    return _litellm.cache_info().currsize > 0


def load_seconds() -> float:
    """Load litellm if that has not happened yet; the seconds it took, exactly 0.0 when it was there already."""
    if is_loaded():
        return 0.0
    started = time.monotonic()
    load()
    return time.monotonic() - started


def call_errors() -> tuple[type[Exception], ...]:
    """What a call may raise because of the provider: every exception of litellm's is one of its client library's."""
    load()
    from openai import OpenAIError

    return (OpenAIError, TimeoutError)


@contextmanager
def _no_gc() -> Iterator[None]:
    # Three thousand modules of long-lived objects: collecting between them is a quarter of the import's time.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
def price_map() -> dict[str, dict[str, Any]]:
    """The library's own map of models to prices, read from its file: importing it takes five seconds, this a tenth of one."""
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("litellm is not installed")
    listed = json.loads((Path(spec.origin).parent / PRICES).read_bytes())
    entries = {name: entry for name, entry in listed.items() if name not in _NO_MODELS}
    return {name: _entry(entries, name) for name in entries}


def _entry(entries: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """A model's entry; one that is only another name has that of the other."""
    return entries.get(entries[name].get("alias_of", name), entries[name])


@cache
def _litellm() -> Any:
    os.environ.update(_ENVIRONMENT)
    with _no_gc():
        import litellm
    litellm.suppress_debug_info = True
    for name in _LOGGERS:
        # Records still reach a log file of ours through the root logger; only the library's stderr handlers go.
        logging.getLogger(name).handlers = [logging.NullHandler()]
    return litellm


def _silence_warnings() -> None:
    # On every load, not once: litellm imports parts of itself in the middle of calls, and whoever runs code
    # inside `warnings.catch_warnings` (a test runner does) has thrown earlier filters away.
    warnings.filterwarnings("ignore", message=r".*`ReadOnly` qualifier")
    warnings.filterwarnings("ignore", message=r"Pydantic serializer warnings")
    warnings.filterwarnings("ignore", module=r"litellm\b")
