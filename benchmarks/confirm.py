"""`crucible confirm` with an agent that takes two seconds: 14 runs, 14 at a time, against one run of the agent alone."""

from __future__ import annotations

import json
import shlex
import shutil
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


def main() -> None:
    """Print medians."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("scenarios/cleanup-archives-tickets.json", "examples/agents/cleanup.py"):
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / part, folder / part)
        (folder / "examples/agents/cleanup.tools").write_text("list_tickets\narchive_ticket\n")
        python = shlex.quote(sys.executable)
        agent = f"{python} -S examples/agents/cleanup.py -p {{query}} --context {{context}} --output-format json"
        slow = f"{agent} --sleep {SLEEP:g}"
        context = json.loads((folder / "scenarios/cleanup-archives-tickets.json").read_text())["context"]
        values = {"{query}": "clean up", "{context}": json.dumps(context)}
        alone = [values.get(word, word) for word in shlex.split(slow)]
        crucible = [sys.executable, "-m", "crucible", "confirm", "cleanup-archives-tickets", "--unproven"]
        confirm = [*crucible, "--agent", slow, "--runs", str(RUNS), "--parallel", str(RUNS)]
        seconds(confirm, folder)
        for what, command in ((f"one run of {SLEEP:g} s", alone), (f"confirm, {RUNS} runs at once", confirm)):
            print(f"{what:<28} {statistics.median(seconds(command, folder) for _ in range(REPEATS)):6.2f} s")


if __name__ == "__main__":
    main()
