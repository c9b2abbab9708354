"""The command line: one module per command group; parse, call, print. No logic."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `crucible` command."""
    from crucible.cli.app import run_app

    raise SystemExit(run_app())
