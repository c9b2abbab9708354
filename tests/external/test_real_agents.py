"""Real agent CLIs, as their users install them, fix the starter bench's bug: the whole path of an attempt, their model
a scripted server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crucible.llm.loopback import Calls, LoopbackServer, Script, Text, for_agent
from crucible.runner.arms import AS_SAID, player
from crucible.runner.attempt import Bench, Job, run_attempt
from crucible.runner.checks import check_subject
from crucible.runner.models import make_model
from crucible.runner.plan import Slot
from crucible.runner.run import new_run, store_plan
from crucible.scenario import starter
from crucible.scenario.catalog import get_scenario
from crucible.settings import load_settings
from crucible.store.queries import attempt_record
from crucible.store.tables import FirstRequestRow
from crucible.store.writes import Store
from crucible.transcript.events import EVENT, Answered, Event, Replied, Started
from tests.conftest import new_bench
from tests.external.real import from_npm, from_pypi

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sandbox")]
KEY = "sk-real-0123456789abcdef"
STARTER = Path(starter.__file__).parent / "bench" / "fixtures" / "first-bug" / "repo" / "shelf" / "pages.py"
BROKEN, MENDED = "start + size - 1", "start + size"
SED = f"sed -i 's/{BROKEN}/{MENDED}/' shelf/pages.py"
SUITE = "python3 -m pytest -q 2>&1 | tail -1"


@dataclass
class Made:
    """An attempt as it was stored, and what the model's server heard."""

    row: Any
    events: list[Event]
    opening: dict[str, Any]
    requests: list[dict[str, Any]]
    everything: str

    @property
    def replies(self) -> list[Replied]:
        return [event for event in self.events if isinstance(event, Replied)]

    @property
    def answers(self) -> list[tuple[str, bool]]:
        return [(event.tool, event.ok) for event in self.events if isinstance(event, Answered)]


@pytest.fixture
def make(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes one attempt on the starter's scenario by an agent, and reads it back from the store."""

    def made(preset: str, folder: Path, model: str, base: str, script: Script, **arm: str) -> Made:
        monkeypatch.setenv("REAL_KEY", KEY)
        bench = new_bench(tmp_path / "bench", cache)
        with LoopbackServer(script if callable(script) else for_agent(script)) as server:
            address = {"anthropic": server.root_url, "openai": server.base_url, "gemini": f"{server.root_url}/v1beta"}
            config = f'[models."{model}"]\napi_base = "{address[base]}"\napi_key_env = "REAL_KEY"\n'
            (bench / "crucible.toml").write_text((bench / "crucible.toml").read_text() + config)
            _give(bench / "scenarios" / "first-bug.md", model, preset, folder, arm)
            return asyncio.run(_make(bench, tmp_path, server))

    return made


def _give(scenario: Path, model: str, preset: str, folder: Path, arm: dict[str, str]) -> None:
    """The scenario with the agent as its first arm."""
    before, rest = scenario.read_text().split("arms:\n")
    _, after = rest.split("budget:\n")
    own = "".join(f"\n    {key}: {json.dumps(value)}" for key, value in arm.items())
    arms = (
        f"arms:\n  - id: agent\n    model: {model}{own}\n"
        f"    agent:\n      preset: {preset}\n      folders: [{json.dumps(str(folder))}]\n"
        f"  - id: baseline\n    model: {model}\n"
    )
    scenario.write_text(
        f"{before}{arms}budget:\n{after}".replace("max_total_tokens: 60000", "max_total_tokens: 900000")
    )


async def _make(bench: Path, scratch: Path, server: LoopbackServer) -> Made:
    settings = load_settings(bench)
    loaded = get_scenario(bench, "first-bug")
    with Store(str(scratch / "tried.db")) as store:
        subject = await check_subject(loaded, bench, settings, store, "overlay", scratch)
        arm = subject.prepared.scenario.arm("agent")
        slot = Slot(subject.prepared.hash, 1, arm, baseline=False)
        run = new_run(
            str(bench), "overlay", rehearsal=False, seed=1, blocks=1, judge="facts", samples=1, parallel=1,
            max_cost=None, without_extra_tools=False,
        )  # fmt: skip
        place = Bench(store, settings, "overlay", scratch, store_plan(store, run, [slot]), rehearsal=False)
        plays = player(arm, subject.prepared.scenario, settings, AS_SAID, lambda name: make_model(name, settings))
        attempt_id = await run_attempt(place, Job(slot, subject.prepared, subject.validation, plays))
        record = attempt_record(store, attempt_id)
        assert record is not None
        events = [EVENT.validate_json(row.data) for row in record.events]
        started = next((event for event in events if isinstance(event, Started)), None)
        assert started is not None, record.attempt.detail
        with store.reading() as session:
            opening = session.get(FirstRequestRow, started.first_request_sha256)
            assert opening is not None
            said = json.loads(opening.data)
        everything = (scratch / "tried.db").read_bytes().decode("utf-8", "replace")
    return Made(record.attempt, events, said, server.requests, everything)


def check_green(made: Made, agent: str) -> None:
    """The attempt is green, its tokens are the server's, nothing of a key is stored, and its version is."""
    assert ("finished", True, True) == (made.row.ending, made.row.counted, made.row.passed), made.row.detail
    assert made.row.agent.startswith(f"{agent} "), made.row.agent
    assert [110] * len(made.requests) == [reply.billed for reply in made.replies]
    assert 110 * len(made.requests) == made.row.tokens
    assert KEY not in made.everything
    assert KEY not in json.dumps(made.requests)
    assert [] == [event.detail for event in made.events if event.kind == "noted" and event.what == "calls_unknown"]
    assert agent in made.opening["environment"]["agent"]


def test_claude_code_fixes_a_bug(make: Any) -> None:
    folder = from_npm("claude-code", "@anthropic-ai/claude-code").parent
    edit = {"file_path": "/workspace/shelf/pages.py", "old_string": BROKEN, "new_string": MENDED}
    script = [
        Calls([("Read", {"file_path": "/workspace/shelf/pages.py"})]),
        Calls([("Edit", edit)]),
        Calls([("Bash", {"command": SUITE, "description": "Run the suite"})]),
        Text("The slice ended one item early."),
    ]
    made = make("claude-code", folder, "anthropic/claude-sonnet-4-6", "anthropic", script, system_prompt="Be brief.")
    check_green(made, "claude-code")
    assert [("Read", True), ("Edit", True), ("Bash", True)] == made.answers
    assert "passed" in next(e.text for e in made.events if isinstance(e, Answered) and e.tool == "Bash")
    assert "Be brief." in made.opening["messages"][0]["content"]
    assert {"Read", "Edit", "Bash"} <= {tool["name"] for tool in made.opening["tools"]}


def test_mini_swe_agent_fixes_a_bug(make: Any) -> None:
    folder = from_pypi("mini-swe-agent", "mini-swe-agent").parent
    script = [
        Calls([("bash", {"command": SED})]),
        Calls([("bash", {"command": SUITE})]),
        Calls([("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})]),
    ]
    made = make("mini-swe-agent", folder, "openai/tiny", "openai", script)
    check_green(made, "mini-swe-agent")
    assert [("bash", True), ("bash", True)] == made.answers[:2]
    assert ["bash"] == [tool["name"] for tool in made.opening["tools"]]


def test_codex_fixes_a_bug(make: Any) -> None:
    folder = from_npm("codex", "@openai/codex").parent
    script = [Calls([("exec_command", {"cmd": SED})]), Calls([("exec_command", {"cmd": SUITE})]), Text("Fixed.")]
    made = make("codex", folder, "openai/gpt-5.1-codex", "openai", script, system_prompt="Be brief.")
    check_green(made, "codex")
    assert [("command_execution", True)] * 2 == made.answers
    assert any("Be brief." in message["content"] for message in made.opening["messages"])


def test_gemini_cli_fixes_a_bug(make: Any) -> None:
    folder = from_npm("gemini-cli", "@google/gemini-cli").parent
    edit = {"file_path": "shelf/pages.py", "old_string": BROKEN, "new_string": MENDED, "instruction": "mend it"}
    script = [
        Calls([("replace", edit)]),
        Calls([("run_shell_command", {"command": SUITE})]),
        Text("Fixed."),
    ]
    made = make("gemini-cli", folder, "gemini/gemini-2.5-pro", "gemini", script)
    check_green(made, "gemini-cli")
    assert [("replace", True), ("run_shell_command", True)] == made.answers


def test_opencode_fixes_a_bug_and_its_calls_are_read_from_the_wire(make: Any) -> None:
    folder = from_npm("opencode", "opencode-ai").parent
    script = [
        Calls([("bash", {"command": SED, "description": "Mend it"})]),
        Calls([("bash", {"command": SUITE, "description": "Run the suite"})]),
        Text("Fixed."),
    ]
    made = make("opencode", folder, "openai/tiny", "openai", script)
    check_green(made, "opencode")
    assert [("bash", True), ("bash", True)] == made.answers


def test_aider_fixes_a_bug(make: Any) -> None:
    folder = from_pypi("aider", "aider-chat").parent
    before = STARTER.read_text("utf-8")
    whole = f"shelf/pages.py\n```python\n{before.replace(BROKEN, MENDED)}```\n"
    # It asks for no tools; the first reply names the file, which it then adds and asks again.
    made = make("aider", folder, "openai/tiny", "openai", lambda _: Text(whole))
    assert ("finished", True, None) == (made.row.ending, made.row.passed, made.row.tool_calls or None)
    assert made.row.agent.startswith("aider 0.")
    assert 110 * len(made.requests) == made.row.tokens
