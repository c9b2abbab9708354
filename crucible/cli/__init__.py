"""The command line: one module per command group; parse, call, print. No logic."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `crucible` command."""
    import os

    # pydantic would read the metadata of every installed package to look for plugins before the first model is made.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from crucible.cli.app import run_app

    raise SystemExit(run_app())
