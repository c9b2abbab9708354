"""CPU of the commands people type most, against a bare interpreter, in one run: whole processes, user plus system."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

RUNS = 7
ROOT = Path(__file__).parents[1]
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "crucible --help": [sys.executable, "-m", "crucible", "--help"],
    "crucible list-scenarios": [sys.executable, "-m", "crucible", "list-scenarios"],
    "crucible schema": [sys.executable, "-m", "crucible", "schema"],
}


def cpu_seconds(command: list[str]) -> float:
    """User plus system seconds of one process and its children."""
    before = os.times()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=environment)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def main() -> None:
    """Print medians and ratios."""
    for command in COMMANDS.values():
        cpu_seconds(command)
    floor = None
    for name, command in COMMANDS.items():
        median = statistics.median(cpu_seconds(command) for _ in range(RUNS))
        floor = floor or median
        print(f"{name:<28} {median * 1000:7.0f} ms CPU  {median / floor:5.1f}x")


if __name__ == "__main__":
    main()
