"""`crucible confirm` with an agent that takes two seconds: 14 runs, 14 at a time, against one run of the agent alone."""

from __future__ import annotations

import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SLEEP = 2.0
RUNS = 14
REPEATS = 3


def seconds(command: list[str], folder: Path) -> float:
    """Wall clock of one process that must succeed."""
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - began


AGENT = """\
sleep "$1"
echo '{"tools": ["list_tickets", "archive_ticket"], "result": "Archived T-481 and T-490."}'
"""
"""A shell, so that it is `confirm` that is timed and not fourteen interpreters starting."""


def main() -> None:
    """Print medians."""
    failure = json.loads((ROOT / "scenarios/cleanup-archives-tickets.json").read_text("utf-8"))
    del failure["expect_args"]  # names are all that the agent prints
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scenarios").mkdir()
        (folder / "scenarios" / "tickets.json").write_text(json.dumps(failure))
        (folder / "agent.sh").write_text(AGENT)
        slow = ["sh", "agent.sh", f"{SLEEP:g}"]
        crucible = [sys.executable, "-m", "crucible", "confirm", "tickets", "--unproven"]
        confirm = [*crucible, "--agent", shlex.join([*slow, "{query}"]), "--runs", str(RUNS), "--parallel", str(RUNS)]
        seconds(confirm, folder)
        for what, command in ((f"one run of {SLEEP:g} s", slow), (f"confirm, {RUNS} runs at once", confirm)):
            print(f"{what:<28} {statistics.median(seconds(command, folder) for _ in range(REPEATS)):6.2f} s")


if __name__ == "__main__":
    main()
