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

    raise SystemExit(run_app())
