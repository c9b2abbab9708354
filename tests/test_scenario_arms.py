"""Arms with tool servers, agent CLIs and JSON actions: what loads, and the line that each mistake is told with."""

from __future__ import annotations

from pathlib import Path

import pytest

from crucible.errors import ScenarioError
from crucible.scenario.docs_text import ARMS as SECTION
from crucible.scenario.load import load_scenario, parse_stored
from crucible.scenario.schema import Scenario

HEAD = """\
---
name: arms
fixture_path: repo
test_command: python3 -m pytest -q
reference_fix: FIX.md
task_prompt: Fix it.
rubric:
  dimensions: [{name: correctness, weight: 1, criteria: Tests pass.}]
"""
ONE, OTHER = 11, 13
"""Lines of the first key of each arm beside its id and model."""


def loaded(folder: Path, text: str) -> Scenario:
    (folder / "repo").mkdir()
    (folder / "FIX.md").touch()
    (folder / "arms.md").write_text(text)
    return load_scenario(folder / "arms.md", folder).scenario


def scenario(one: str = "", other: str = "", rest: str = "") -> str:
    arms = f"arms:\n  - {{id: one, model: a/b{one}}}\n\n  - {{id: other, model: a/b{other}}}\n"
    return f"{HEAD}{arms}{rest}---\n"


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        loaded(folder, text)
    return [str(problem).rpartition("arms.md:")[2] for problem in caught.value.problems]


def test_the_example_of_the_page_loads_and_survives_being_stored(tmp_path: Path) -> None:
    arms = SECTION.split("```yaml\n")[1].split("```")[0]
    # A scenario has two arms; the page shows three kinds.
    head, agent = arms.split("  - id: claude-code")
    with_agent = HEAD + head + "servers:\n" + agent.split("servers:\n")[1] + "---\n"
    first = loaded(tmp_path, with_agent)
    assert ("/opt/graph/bin/graph-mcp", ("callers", "callees")) == (
        first.servers["graph"].command,
        first.servers["graph"].allow,
    )
    assert ("native", "json") == (first.arms[0].tool_protocol, first.arms[1].tool_protocol)
    assert first == parse_stored(with_agent)
    assert first == Scenario.model_validate_json(first.model_dump_json())


@pytest.mark.parametrize(
    ("one", "other", "rest"),
    [
        (", agent: {preset: claude-code, args: [--verbose]}", ", agent: {command: [x, '{prompt}']}", ""),
        (", agent: {preset: codex}, extra_tools: [asd]", ", tool_protocol: json", ""),
        (", agent: {preset: codex}, tool_protocol: native", "", ""),
        # crucible.toml may define it
        (", extra_tools: [mine]", "", ""),
        (", extra_tools: [a]", "", "servers: {a: {preset: code-graph, start_seconds: 5}}\n"),
        (", extra_tools: [a, b]", "", "servers: {a: {url: 'http://localhost:1/mcp'}, b: {command: b, port: 80}}\n"),
        (", extra_tools: [a]", "", "servers: {a: {command: b, prepare: [[b, x]], env: {A_1: x}, env_from: [KEY]}}\n"),
    ],
)
def test_what_is_right_loads(tmp_path: Path, one: str, other: str, rest: str) -> None:
    assert loaded(tmp_path, scenario(one, other, rest))


ARMS = [
    pytest.param(
        ", agent: {preset: codex}, tool_protocol: json",
        "",
        "10: arms.0.tool_protocol: json is for Crucible's own loop, and the agent of line 10 asks its model itself; "
        "delete one of them",
        id="an agent with JSON actions",
    ),
    pytest.param(
        ", tool_protocol: jsn",
        "",
        "10: arms.0.tool_protocol must be one of native, json, got 'jsn'; did you mean 'json'?",
        id="a protocol misspelt",
    ),
    pytest.param("", ", agent: {}", "12: arms.1.agent: say either preset or command", id="an empty agent"),
    pytest.param(
        "",
        ", agent: {preset: codex, command: [x]}",
        "12: arms.1.agent: say either preset or command",
        id="an agent that is two",
    ),
    pytest.param(
        ", agent: {preset: claude_code}",
        "",
        "10: arms.0.agent.preset must be one of claude-code, codex, gemini-cli, opencode, mini-swe-agent, aider, "
        "got 'claude_code'; did you mean 'claude-code'?",
        id="a preset misspelt",
    ),
    pytest.param(
        ", agent: {comand: [x]}",
        "",
        "10: arms.0.agent: unknown key 'comand'; did you mean 'command'?",
        id="a key of an agent misspelt",
    ),
    pytest.param(
        ", agent: {command: []}",
        "",
        "10: arms.0.agent.command is empty; a command has at least a program",
        id="an agent without a program",
    ),
    pytest.param(
        ", agent: {command: x}",
        "",
        "10: arms.0.agent.command must be a list, got 'x'; write [x]",
        id="a command that is a text",
    ),
    pytest.param(
        ", agent: codex", "", "10: arms.0.agent must be keys and values, got 'codex'", id="an agent that is a text"
    ),
    pytest.param(
        ", agent: {preset: codex, env: {A: 1}}",
        "",
        '10: arms.0.agent.env.A must be text, got 1; quote it: "1"',
        id="a variable that is a number",
    ),
    pytest.param(
        ", agent: {preset: codex, env: [A]}",
        "",
        "10: arms.0.agent.env must be keys and values, got a list",
        id="variables that are a list",
    ),
    pytest.param(
        "", ", extra_tools: [asd, ctx, asd]", "12: arms.1.extra_tools names 'asd' twice", id="a server named twice"
    ),
]


@pytest.mark.parametrize(("one", "other", "message"), ARMS)
def test_a_wrong_arm_is_told_with_its_line(tmp_path: Path, one: str, other: str, message: str) -> None:
    assert [message] == problems(tmp_path, scenario(one, other))


SERVERS = [
    pytest.param(
        "servers:\n  grph: {command: x}\n  mine: {command: x}\n",
        ["14: no arm has the tool server 'grph' in its extra_tools; did you mean 'graph'?"],
        id="a server that no arm uses, misspelt",
    ),
    pytest.param(
        "servers:\n  graph: {command: x}\n  mine: {command: x}\n  other: {command: x}\n",
        ["16: no arm has the tool server 'other' in its extra_tools; name it there, or delete it"],
        id="a server that no arm uses",
    ),
    pytest.param(
        "servers:\n  mine:\n    command: x\n    alow: [a]\n",
        ["16: servers.mine: unknown key 'alow'; did you mean 'allow'?"],
        id="a key misspelt",
    ),
    pytest.param(
        "servers:\n  mine:\n    start: 5\n",
        [
            ("15: servers.mine: unknown key 'start'; known keys: preset, command, args, url, port, env, env_from, folders, "
            "prepare, leaves, allow, deny, text_errors, start_seconds, list_seconds, call_seconds")
        ],
        id="a key like no other",
    ),
    pytest.param(
        "servers:\n  mine: {}\n",
        ["14: servers.mine: say one of preset, command and url, not none of them"],
        id="a server that is none",
    ),
    pytest.param(
        "servers:\n  mine: {command: x, url: y}\n",
        ["14: servers.mine: say one of preset, command and url, not command and url"],
        id="a server that is two",
    ),
    pytest.param(
        "servers:\n  mine: {preset: code_graph}\n",
        [
            "14: servers.mine.preset must be one of asd, ctx, code-graph, got 'code_graph'; did you mean 'code-graph'?"
        ],
        id="a preset misspelt",
    ),
    pytest.param(
        "servers:\n  mine:\n    command: x\n    port: 70000\n",
        ["16: servers.mine.port must be at most 65535, got 70000"],
        id="a port that is none",
    ),
    pytest.param(
        "servers:\n  mine:\n    command: x\n    start_seconds: '5'\n",
        ["16: servers.mine.start_seconds must be a number, got the text '5'; write 5"],
        id="a deadline that is a text",
    ),
    pytest.param(
        "servers:\n  mine:\n    command: x\n    prepare: [[x, index], []]\n",
        ["16: servers.mine.prepare.1 is empty; a command has at least a program"],
        id="an empty command",
    ),
    pytest.param(
        "servers:\n  mine:\n    command: x\n    env:\n      A-B: x\n",
        [
            ("17: servers.mine.env: a key must be the name of a variable: letters, digits and '_', "
            "not beginning with a digit, got 'A-B'")
        ],
        id="a variable that cannot be one",
    ),
    pytest.param(
        "servers:\n  mine:\n    command: x\n    env_from: [A B]\n",
        [
            ("16: servers.mine.env_from.0 must be the name of a variable: letters, digits and '_', "
            "not beginning with a digit, got 'A B'")
        ],
        id="a variable to pass on that cannot be one",
    ),
    pytest.param(
        "servers:\n  Mine: {command: x}\n",
        [
            "14: no arm has the tool server 'Mine' in its extra_tools; did you mean 'mine'?",
            ("14: servers: a key must be lower-case letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit, got 'Mine'"),
        ],
        id="a name with a capital",
    ),
    pytest.param(
        f"servers:\n  {'m' * 81}: {{command: x}}\n",
        [
            f"14: no arm has the tool server '{'m' * 81}' in its extra_tools; name it there, or delete it",
            f"14: servers: a key must be at most 80 characters, has 81, got '{'m' * 81}'",
        ],
        id="a name too long",
    ),
    pytest.param("servers: [mine]\n", ["13: servers must be keys and values, got a list"], id="servers in a list"),
    pytest.param(
        "servers:\n  mine: /bin/x\n", ["14: servers.mine must be keys and values, got '/bin/x'"], id="a server as text"
    ),
    pytest.param(
        "servers:\n  mine:\n",
        ["14: servers.mine has no value; give it one or delete the key"],
        id="a server without anything",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rest", "messages"), SERVERS)
def test_a_wrong_server_is_told_with_its_line(tmp_path: Path, rest: str, messages: list[str]) -> None:
    assert messages == problems(tmp_path, scenario(", extra_tools: [mine]", ", extra_tools: [graph]", rest))
