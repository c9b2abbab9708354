"""Numbers as people type them: what no store can hold is refused before it is asked."""

from __future__ import annotations

from typing import Annotated

import typer

LARGEST = 2**63 - 1


def storable(value: int | None) -> int | None:
    """The number, if a store can hold it. Raises BadParameter, which is exit 2 and one line."""
    if value is not None and abs(value) > LARGEST:
        raise typer.BadParameter(f"{value} is larger than any number in a store (at most 2^63 - 1)")
    return value


RunNumber = Annotated[int, typer.Argument(metavar="RUN", callback=storable, help="Number of the run.")]
SeedNumber = Annotated[
    int | None,
    typer.Option("--seed", callback=storable, help="Seed of the order inside blocks; default: drawn and stored."),
]
