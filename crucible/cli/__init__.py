"""The command line: one module per command group; parse, call, print. No logic."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `crucible` command."""
    import atexit
    import gc
    import os

    # pydantic would read the metadata of every installed package to look for plugins before the first model is made.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # The interpreter would look through all that was ever loaded once more before it ends: a fifth of a short command.
    atexit.register(gc.freeze)
    from crucible.cli.app import run_app

    # What was imported stays, and a report makes tens of thousands of objects that live as long as it does: looking
    # through them again and again took half of the time of reading a large run.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    raise SystemExit(run_app())
