"""From an arm to an agent's command line: what is found, what is filled in, and what is refused before anything is spent."""

from __future__ import annotations

import json
import os
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.agents.external import presets
from crucible.agents.external.connections import Connection, our_name
from crucible.agents.external.launch import PLACES, Launch, Values, fill
from crucible.agents.external.plans import AgentPlan, plan_agent
from crucible.agents.mcp.plans import ServerPlan
from crucible.errors import PreflightError
from crucible.scenario.schema import Scenario
from crucible.settings import Settings
from tests.external.conftest import KEY, scenario_of, settings_for

VALUES = Values("Do it.", "tiny", "25", "http://127.0.0.1:9/v1", "/out/transcript")
SERVER = Connection("my.graph", ("/bin/graph", "-x"), None, {"A": 'b"c'}, ("callers",), ("rename",))
GRAPH = ServerPlan("graph", "graph", ("graph",))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIED_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\necho 1.2.3\n")
    file.chmod(0o755)
    return file


def planned(agent: dict[str, Any], model: str = "openai/tiny", servers: Any = None, **said: Any) -> AgentPlan:
    arm = {"model": model, **said.pop("arm", {})}
    scenario = scenario_of(agent, arm=arm, **said)
    return plan_agent(scenario.arms[0], scenario, settings_for("http://127.0.0.1:9/v1", model), servers or {})


def refused(agent: dict[str, Any], **said: Any) -> PreflightError:
    with pytest.raises(PreflightError) as found:
        planned(agent, **said)
    return found.value


def own(**said: Any) -> dict[str, Any]:
    return {"command": ["python3", "agent.py", "{prompt}"], "api": "openai", "format": "codex", **said}


def launched(name: str, values: Values = VALUES, servers: tuple[Connection, ...] = ()) -> Launch:
    return presets.PRESETS[name].build((f"/bin/{name}",), values, servers)


# What is found


def test_a_preset_is_found_in_the_folders_given_and_they_are_shown(tmp_path: Path) -> None:
    file = program(tmp_path / "cli" / "node_modules" / ".bin", "claude")
    plan = planned({"preset": "claude-code", "folders": [str(tmp_path / "cli")]}, model="anthropic/claude-sonnet-4-6")
    assert str(file) in (plan.program[-1], str(Path(plan.program[-1]).resolve()))
    assert tmp_path / "cli" in plan.shown
    assert ("anthropic", "claude-stream", (*plan.program, "--version")) == (plan.api, plan.format, plan.version)


def test_a_preset_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "codex")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert ("codex", str(tmp_path / "codex")) == (
        planned({"preset": "codex"}).name,
        planned({"preset": "codex"}).program[-1],
    )


def test_a_preset_that_is_not_here_says_how_it_is_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    error = refused({"preset": "codex"})
    assert "tried: arm agent: codex is not here: no 'codex'" in error.message
    assert error.hint is not None
    assert error.hint.startswith("install it (npm install -g @openai/codex), or say where it is")


def test_a_command_that_is_not_here_is_named() -> None:
    assert "no '/nowhere/agent'" in refused(own(command=["/nowhere/agent", "{prompt}"])).message


# What is filled in


def test_places_are_filled_once_and_nothing_else_is() -> None:
    values = Values("say {model} {{x}}", "tiny", "7", "http://h", "/t", "be {prompt}", "0.5")
    text = "{prompt}|{system_prompt}|{model}|{max_turns}|{max_cost_usd}|{base_url}|{other}|{}|{{model}}|$HOME"
    expected = "say {model} {{x}}|be {prompt}|tiny|7|0.5|http://h|{other}|{}|{tiny}|$HOME"
    assert expected == fill(text, values)


@given(st.text())
def test_whatever_a_prompt_holds_arrives_as_it_is(prompt: str) -> None:
    values = Values(prompt, "tiny", "7", "http://h", "/t")
    assert f"<{prompt}>" == fill("<{prompt}>", values)


@given(st.text(alphabet="{}abcmodelprt_"))
def test_text_without_places_is_left_alone(text: str) -> None:
    if not any(f"{{{place}}}" in text for place in PLACES):
        assert text == fill(text, VALUES)


def test_the_user_s_environment_comes_on_top_of_the_address_and_has_places_too() -> None:
    plan = planned(own(env={"OPENAI_API_KEY": "mine", "ADDRESS": "{base_url}/x"}))
    env = plan.launch(VALUES, ()).env
    assert ("mine", "http://127.0.0.1:9/v1/x", VALUES.base_url) == (
        env["OPENAI_API_KEY"],
        env["ADDRESS"],
        env["OPENAI_BASE_URL"],
    )


# What each preset is told


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_every_preset_gets_the_prompt_whole_and_last_its_model_and_its_address(name: str) -> None:
    prompt = "-- {model} 'quotes' \"more\" \n$(x)"
    values = Values(prompt, "tiny", "25", "http://127.0.0.1:9/v1", "/out/transcript")
    launch = launched(name, values)
    assert launch.command[-1].endswith(prompt) or any(word == f"--prompt={prompt}" for word in launch.command)
    everything = " ".join([*launch.command, *launch.env.values(), *launch.files.values()])
    assert "tiny" in everything
    assert "http://127.0.0.1:9/v1" in everything


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_no_preset_holds_a_key(name: str) -> None:
    launch = launched(name)
    assert KEY not in "".join([*launch.command, *launch.env.values(), *launch.files.values()])


def test_claude_code_gets_its_limits_its_prompt_and_its_servers() -> None:
    values = Values("Do it.", "m", "9", "http://h", "/t", system_prompt="Be brief.", max_cost_usd="0.5", args=("--x",))
    command = launched("claude-code", values, (SERVER,)).command
    after = dict(pairwise(command))
    assert ("9", "0.5", "Be brief.") == (
        after["--max-turns"],
        after["--max-budget-usd"],
        after["--append-system-prompt"],
    )
    said = json.loads(after["--mcp-config"])
    server = {"type": "stdio", "command": "/bin/graph", "args": ["-x"], "env": {"A": 'b"c'}}
    assert {"mcpServers": {"my_graph": server}} == said
    assert "mcp__my_graph__rename" == after["--disallowedTools"]
    assert ("--x", "--", "Do it.") == command[-3:]


def test_claude_code_without_servers_still_takes_none_from_the_fixture() -> None:
    command = launched("claude-code").command
    assert "--strict-mcp-config" in command
    assert "--append-system-prompt" not in command
    assert "--max-budget-usd" not in command


def test_codex_s_configuration_is_toml_whatever_is_in_it() -> None:
    values = Values("p", 'odd"model', "9", "http://h/v1", "/t", system_prompt='line\n"two"\x7f \\ é')
    config = tomllib.loads(launched("codex", values, (SERVER,)).files[".codex/config.toml"])
    assert ('odd"model', 'line\n"two"\x7f \\ é') == (config["model"], config["developer_instructions"])
    server = config["mcp_servers"]["my_graph"]
    assert ("/bin/graph", ["-x"], {"A": 'b"c'}, ["rename"]) == (
        server["command"],
        server["args"],
        server["env"],
        server["disabled_tools"],
    )


def test_gemini_s_settings_hold_its_limit_and_its_servers() -> None:
    settings = json.loads(launched("gemini-cli", VALUES, (SERVER,)).files[".gemini/settings.json"])
    assert 25 == settings["model"]["maxSessionTurns"]
    assert ["rename"] == settings["mcpServers"]["my_graph"]["excludeTools"]


def test_opencode_s_configuration_holds_its_provider_and_its_servers() -> None:
    config = json.loads(launched("opencode", VALUES, (SERVER,)).env["OPENCODE_CONFIG_CONTENT"])
    assert "crucible/tiny" == config["model"] == config["small_model"]
    assert ["/bin/graph", "-x"] == config["mcp"]["my_graph"]["command"]
    assert {"my_graph_rename": False} == config["tools"]


def test_mini_swe_agent_s_transcript_goes_where_it_is_read() -> None:
    command = launched("mini-swe-agent").command
    assert "/out/transcript" == command[command.index("--output") + 1]
    assert "agent.step_limit=25" in command


# Names of servers' tools


@pytest.mark.parametrize(
    "said",
    ["mcp__my_graph__callers", "my.graph.callers", "mcp_my_graph_callers", "my_graph_callers", "my_graph__callers"],
)
def test_a_server_s_tool_has_one_name_whatever_an_agent_calls_it(said: str) -> None:
    assert "my.graph__callers" == our_name(said, ["my.graph", "my"])


@pytest.mark.parametrize("said", ["Bash", "mcp__other__callers", "my.graph.", "read_file"])
def test_other_tools_keep_their_names(said: str) -> None:
    assert said == our_name(said, ["my.graph"])


# What is refused


def test_a_command_of_one_s_own_says_what_it_speaks_and_what_it_prints() -> None:
    api = refused({"command": ["python3", "{prompt}"], "format": "codex"})
    assert ("tried: arm agent: agent.api is missing", True) == (api.message, "openai-responses" in (api.hint or ""))
    shown = refused({"command": ["python3", "{prompt}"], "api": "openai"})
    assert ("tried: arm agent: agent.format is missing", True) == (shown.message, "claude-stream" in (shown.hint or ""))


def test_an_unknown_format_names_the_nearest() -> None:
    assert (
        "no transcript format 'claude-steam'; did you mean 'claude-stream'?"
        in refused(own(format="claude-steam")).message
    )


def test_a_command_without_a_place_for_the_prompt_is_refused() -> None:
    assert "no place for {prompt}" in refused(own(command=["python3", "agent.py"])).message


def test_an_arm_s_system_prompt_needs_a_place() -> None:
    assert "no place for {system_prompt}" in refused(own(), arm={"system_prompt": "Be brief."}).message
    preset = refused({"preset": "mini-swe-agent"}, arm={"system_prompt": "Be brief."})
    assert "mini-swe-agent takes no system prompt from outside, and the arm has one" in preset.message


def test_a_place_for_a_cost_limit_needs_one_in_the_budget() -> None:
    assert "the budget has no max_cost_usd" in refused(own(command=["python3", "{prompt}", "{max_cost_usd}"])).message


@pytest.mark.parametrize("preset", ["mini-swe-agent", "aider"])
def test_agents_without_tool_servers_refuse_an_arm_that_has_some(preset: str) -> None:
    error = refused({"preset": preset}, arm={"extra_tools": ["graph"]}, servers={"graph": GRAPH})
    assert f"{preset} has no tool servers, and the arm names graph" in error.message
    assert "claude-code" in (error.hint or "")


def test_tool_servers_for_a_command_of_one_s_own_are_refused() -> None:
    assert "tool servers cannot be given to a command" in refused(own(), servers={"graph": GRAPH}).message


def test_an_arm_that_is_run_without_its_servers_needs_no_place_for_them() -> None:
    assert "python3" == planned(own(), arm={"extra_tools": ["graph"]}, servers={}).name


def test_arguments_go_with_a_preset() -> None:
    assert "agent.args goes with a preset" in refused(own(args=["--x"])).message


def test_a_preset_that_does_not_speak_acp_is_refused() -> None:
    assert "codex does not speak the Agent Client Protocol" in refused({"preset": "codex", "protocol": "acp"}).message


@pytest.mark.parametrize("enforcement", ["block", "fail"])
def test_a_policy_that_cannot_be_enforced_is_refused_by_name(enforcement: str) -> None:
    matcher = {"tool": "bash", "arg_key": "command", "op": "contains", "value": "curl"}
    policy = {"id": "P7", "rule": "No network.", "enforcement": enforcement, "matchers": [matcher]}
    error = refused(own(), policies=[policy])
    assert f"policy 'P7' has `enforcement: {enforcement}` on bash.command" in error.message
    assert "enforcement: warn" in (error.hint or "")


def test_policies_that_warn_and_those_that_protect_paths_are_taken() -> None:
    warned = {"tool": "bash", "arg_key": "command", "op": "contains", "value": "curl"}
    guarded = {"tool": "write_file", "arg_key": "path", "op": "starts_with", "value": "tests/"}
    policies = [
        {"id": "P1", "rule": "r", "enforcement": "warn", "matchers": [warned]},
        {"id": "P2", "rule": "r", "enforcement": "block", "matchers": [guarded]},
    ]
    assert "python3" == planned(own(), policies=policies).name


def test_a_model_that_is_not_offered_in_the_agent_s_api_is_refused(tmp_path: Path) -> None:
    program(tmp_path, "codex")
    scenario = scenario_of(
        {"preset": "codex", "folders": [str(tmp_path)]}, arm={"model": "anthropic/claude-sonnet-4-6"}
    )
    with pytest.raises(PreflightError, match="codex asks its model in the openai-responses API, which anthropic/"):
        plan_agent(scenario.arms[0], scenario, Settings(), {})


def test_a_missing_key_is_named_before_anything_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIED_KEY")
    assert "openai/tiny needs TRIED_KEY, which is not set" == refused(own()).message


def test_a_prompt_longer_than_an_argument_may_be_is_refused() -> None:
    assert "longer than an argument of a program may be" in refused(own(), task_prompt="x" * 200_000).message


def test_a_folder_that_is_not_here_is_named() -> None:
    assert "agent.folders names '/nowhere/at/all'" in refused(own(folders=["/nowhere/at/all"])).message


def test_a_server_elsewhere_cannot_be_reached_without_a_network(tmp_path: Path) -> None:
    program(tmp_path, "claude")
    servers = {"far": ServerPlan("far", "far", url="https://example.org/mcp")}
    agent = {"preset": "claude-code", "folders": [str(tmp_path)]}
    arm = {"extra_tools": ["far"]}
    assert "cannot reach from its sandbox" in refused(agent, arm=arm, servers=servers).message


def test_a_server_s_deny_list_has_no_words_in_acp() -> None:
    servers = {"graph": ServerPlan("graph", "graph", ("graph",), deny=("rename",))}
    agent = {"command": ["python3", "agent.py"], "api": "openai", "protocol": "acp"}
    assert "has no words for" in refused(agent, arm={"extra_tools": ["graph"]}, servers=servers).message


# For doctor


def test_doctor_hears_of_every_agent_and_how_it_is_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "claude")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    lines = {line.split(":")[0]: line for line in presets.found()}
    assert set(presets.PRESETS) == set(lines)
    assert f"claude-code: 1.2.3, {tmp_path / 'claude'}" == lines["claude-code"]
    assert "codex: not here; npm install -g @openai/codex" == lines["codex"]


def test_the_presets_are_those_a_scenario_may_name() -> None:
    schema = Scenario.model_json_schema()
    assert sorted(presets.PRESETS) == sorted(
        schema["$defs"]["ExternalAgent"]["properties"]["preset"]["anyOf"][0]["enum"]
    )
