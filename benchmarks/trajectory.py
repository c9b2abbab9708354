"""The matcher on 10,000 generated transcripts of 50 calls, and agentevals on the same ones in the same run.

    python benchmarks/trajectory.py [--transcripts 10000] [--calls 50] [--python PATH]

PATH is the interpreter of a throw-away environment with agentevals in it; without it only our own numbers are printed.
agentevals is given the first few hundred transcripts, since all of them would take minutes, and rates per CPU second are
compared; both sides get the same OpenAI messages and have to come to the same results.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crucible.scoring.trajectory import Call, match
from crucible.scoring.trajectory.compat.agentevals import trajectory_match

TOOLS = ("search", "read", "edit", "archive_ticket", "run_tests")
MODES = {"strict": "exact", "unordered": "same-calls", "superset": "at-least", "subset": "only-from"}
THEIRS = """
import gc, json, sys, time, warnings
warnings.simplefilter("ignore")
from agentevals.trajectory.match import create_trajectory_match_evaluator
pairs, mode = json.load(open(sys.argv[1])), sys.argv[2]
evaluate = create_trajectory_match_evaluator(trajectory_match_mode=mode)
gc.freeze()
started = time.process_time()
scores = [evaluate(outputs=one, reference_outputs=other)["score"] for one, other in pairs]
print(json.dumps([time.process_time() - started, scores]))
"""

Messages = list[dict[str, Any]]


def messages(calls: list[tuple[str, dict[str, Any]]]) -> Messages:
    """One assistant message and one tool message for each call."""
    out: Messages = [{"role": "user", "content": "Clean up the resolved tickets."}]
    for at, (tool, args) in enumerate(calls):
        function = {"name": tool, "arguments": json.dumps(args)}
        out.append(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"type": "function", "id": f"c{at}", "function": function}],
            }
        )
        out.append({"role": "tool", "content": "ok", "tool_call_id": f"c{at}"})
    return [*out, {"role": "assistant", "content": "Done."}]


def pair(seed: random.Random, size: int) -> tuple[Messages, Messages]:
    """A transcript and its reference: the same, shuffled, or with one argument changed."""
    wanted = [
        (seed.choice(TOOLS), {"id": seed.randrange(30), "path": f"src/{seed.randrange(9)}.py"}) for _ in range(size)
    ]
    made = list(wanted)
    change = seed.randrange(3)
    if change:
        seed.shuffle(made)
    if change == 2:
        tool, args = made[-1]
        made[-1] = (tool, {**args, "id": -1})
    return messages(made), messages(wanted)


def calls_of(transcript: Messages) -> list[Call]:
    """The calls of a transcript, arguments parsed."""
    listed = (call["function"] for message in transcript for call in message.get("tool_calls", ()))
    return [Call(function["name"], json.loads(function["arguments"])) for function in listed]


Pairs = list[tuple[Messages, Messages]]
Work = Callable[[Pairs], list[bool]]


def ways(mode: str) -> dict[str, Work]:
    """What is measured in a mode: from calls that are read already, from messages, and agentevals' own mode."""
    order = MODES[mode]
    return {
        "match, from calls": lambda pairs: [match(one, other, order).matched for one, other in pairs],
        "match, from messages": lambda pairs: [
            match(calls_of(one), calls_of(other), order).matched for one, other in pairs
        ],
        "compat.agentevals": lambda pairs: [trajectory_match(one, other, mode) for one, other in pairs],
    }


def measure(given: argparse.Namespace, first: Path) -> dict[tuple[str, str], tuple[float, list[bool]]]:
    """CPU seconds and results by mode and way, in portions so that memory holds; the first portion is left in a file."""
    seed = random.Random(214)  # noqa: S311 - test data
    found = {(mode, way): (0.0, list[bool]()) for mode in MODES for way in ways(mode)}
    for start in range(0, given.transcripts, given.portion):
        pairs = [pair(seed, given.calls) for _ in range(min(given.portion, given.transcripts - start))]
        if not start:
            first.write_text(json.dumps(pairs))
        read = [(calls_of(one), calls_of(other)) for one, other in pairs]
        gc.freeze()  # test data is not for the collector, neither here nor there
        for mode, way in found:
            used = time.process_time()
            result = ways(mode)[way](read if way == "match, from calls" else pairs)  # type: ignore[arg-type]  # by its name
            found[mode, way] = (found[mode, way][0] + time.process_time() - used, found[mode, way][1] + result)
        gc.unfreeze()
    return found


def theirs(python: str, file: Path, mode: str) -> tuple[float, list[bool]]:
    """agentevals' CPU seconds and results."""
    done = subprocess.run([python, "-c", THEIRS, str(file), mode], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"agentevals did not run under {python}:\n{done.stderr[-800:]}")
    seconds, scores = json.loads(done.stdout.splitlines()[-1])
    return seconds, scores


def main() -> None:
    """Print rates and ratios for each mode."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--transcripts", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--python", help="interpreter of an environment with agentevals")
    parser.add_argument(
        "--portion", type=int, default=200, help="transcripts held at a time; agentevals gets the first"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "pairs.json"
        ours = measure(given, first)
        print(f"{given.transcripts} transcripts of {given.calls} calls; transcripts per CPU second")
        for mode in MODES:
            rate = None
            if given.python:
                seconds, scores = theirs(given.python, first, mode)
                rate = len(scores) / seconds
                assert all(ours[mode, way][1][: len(scores)] == scores for way in ways(mode)), f"{mode}: results differ"
                print(f"{mode:<10} {'agentevals':<22} {rate:9.0f}/s")
            for way in ways(mode):
                mine = len(ours[mode, way][1]) / ours[mode, way][0]
                print(f"{mode:<10} {way:<22} {mine:9.0f}/s {f'{mine / rate:7.1f}x' if rate else ''}")


if __name__ == "__main__":
    main()
