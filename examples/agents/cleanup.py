# ruff: noqa: INP001 - a script, not part of a package
"""A scripted ticket-cleanup agent with a bug: in one run of five it deletes what it should archive.

    python examples/agents/cleanup.py -p {query} --context {context} --output-format json --max-turns {max_turns}

It stands for any headless agent: one process, a question and a context in, one JSON object out. What it may use is
listed in cleanup.tools beside this file; with delete_ticket taken out of it, the bug is gone. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).with_suffix(".tools")
Ticket = dict[str, Any]


class Board:
    """The tickets of the context, and tools that really move them. Every call is written down."""

    def __init__(self, tickets: list[Ticket], allowed: set[str]) -> None:
        self.tickets, self.archive = tickets, []
        self.calls: list[dict[str, Any]] = []
        tools: dict[str, Callable[..., Any]] = {
            "list_tickets": lambda: self.tickets,
            "archive_ticket": self._archive,
            "delete_ticket": self._take,
        }
        self.tools = {name: tool for name, tool in tools.items() if name in allowed}

    def call(self, name: str, **args: Any) -> Any:
        """Call a tool; its answer."""
        result = json.loads(json.dumps(self.tools[name](**args)))
        self.calls.append({"name": name, "args": args, "result": result})
        return result

    def _take(self, ticket_id: str) -> Ticket:
        ticket = next(ticket for ticket in self.tickets if ticket["id"] == ticket_id)
        self.tickets.remove(ticket)
        return ticket

    def _archive(self, ticket_id: str) -> Ticket:
        ticket = self._take(ticket_id)
        self.archive.append(ticket)
        return ticket


def clean_up(board: Board, deletes: bool) -> str:
    """Put away what is resolved. The summary reads the same either way: that is what made the bug hard to see."""
    resolved = [ticket["id"] for ticket in board.call("list_tickets") if ticket["status"] == "resolved"]
    tool = "delete_ticket" if deletes and "delete_ticket" in board.tools else "archive_ticket"
    for ticket_id in resolved:
        board.call(tool, ticket_id=ticket_id)
    return f"Archived {len(resolved)} resolved tickets: {', '.join(resolved)}."


def main() -> None:
    """Read the command line, do the work, print what was done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-p", "--prompt", required=True)
    parser.add_argument("--context", default="{}", help="the board, as JSON")
    parser.add_argument("--output-format", choices=["json", "text"], default="text")
    parser.add_argument("--max-turns", type=int, default=20)
    parser.add_argument("--rate", type=float, default=0.2, help="share of runs in which it deletes")
    parser.add_argument("--sleep", type=float, default=0.0, help="seconds it takes, as a model would")
    asked = parser.parse_args()
    time.sleep(asked.sleep)
    board = Board(json.loads(asked.context).get("tickets", []), set(TOOLS.read_text("utf-8").split()))
    answer = clean_up(board, deletes=random.random() < asked.rate)  # noqa: S311 - a bug, not a secret
    turns = len(board.calls) + 1
    if turns > asked.max_turns:
        sys.exit(f"stopped at {asked.max_turns} turns")
    if asked.output_format == "text":
        sys.stdout.write(f"{answer}\n")
    else:
        json.dump({"result": answer, "tools": board.calls, "num_turns": turns, "total_cost_usd": 0.0}, sys.stdout)


if __name__ == "__main__":
    main()
