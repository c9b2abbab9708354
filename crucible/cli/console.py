"""Printing: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import typer

from crucible.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console


@lru_cache(maxsize=2)
def console(*, stderr: bool = False) -> Console:
    """The console for results, or for progress and notes. Untrusted text is never read as markup."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 120
    return Console(stderr=stderr, markup=False, emoji=False, width=width)


def note(text: str) -> None:
    """A line for the person, beside the result."""
    typer.echo(text, err=True)


def print_json(value: Any) -> None:
    """A result as JSON; a NaN is an error, never printed."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


@contextmanager
def writing(file: Path | None = None) -> Iterator[None]:
    """While a file is written that the user named: what the system refuses is a matter of the command, and says which file."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{file or error.filename}: cannot be written: {error.strerror or error}") from error
