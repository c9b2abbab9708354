"""How each agent CLI Crucible knows is called headless: its command, its environment, the files of its home folder.

Every one is asked to do without questions (the sandbox is the wall), without its own sandbox, updates and telemetry.
"""

from __future__ import annotations

import json

from crucible.agents.external.connections import Connection, mcp_json
from crucible.agents.external.launch import NO_KEY, Connections, Launch, Values, reaching


def claude(program: tuple[str, ...], values: Values, servers: Connections) -> Launch:
    hidden = [f"mcp__{one.safe_name}__{tool}" for one in servers for tool in one.hidden]
    command = (
        *(*program, "-p", "--output-format", "stream-json", "--verbose"),
        *("--model", values.model, "--max-turns", values.max_turns),
        *(("--max-budget-usd", values.max_cost_usd) if values.max_cost_usd else ()),
        *(("--append-system-prompt", values.system_prompt) if values.system_prompt else ()),
        *("--permission-mode", "bypassPermissions"),
        # Strict also without a server of ours: what a fixture says of servers is not the arm's.
        *("--strict-mcp-config", "--mcp-config", json.dumps({"mcpServers": mcp_json(servers)})),
        *(("--disallowedTools", ",".join(hidden)) if hidden else ()),
        *(*values.args, "--", values.prompt),
    )
    starting = _milliseconds(max((one.start_seconds for one in servers), default=60))
    env = {
        **reaching("anthropic", values.base_url),
        # Its background requests (titles, summaries) go to the arm's model too.
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": values.model,
        "ANTHROPIC_DEFAULT_SONNET_MODEL": values.model,
        "ANTHROPIC_DEFAULT_OPUS_MODEL": values.model,
        "ANTHROPIC_SMALL_FAST_MODEL": values.model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        # Left to itself it asks the model after two seconds, with the tools of the servers that are there by then.
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_CONNECT_TIMEOUT_MS": starting,
        "MCP_TIMEOUT": starting,
        "MCP_TOOL_TIMEOUT": _milliseconds(max((one.call_seconds for one in servers), default=60)),
    }
    return Launch(command, env)


def codex(program: tuple[str, ...], values: Values, servers: Connections) -> Launch:
    lines = [
        f"model = {_toml(values.model)}",
        'model_provider = "crucible"',
        *([f"developer_instructions = {_toml(values.system_prompt)}"] if values.system_prompt else []),
        "check_for_update_on_startup = false",
        "[analytics]",
        "enabled = false",
        "[model_providers.crucible]",
        'name = "crucible"',
        f"base_url = {_toml(values.base_url)}",
        'env_key = "OPENAI_API_KEY"',
        'wire_api = "responses"',
        *(line for one in servers for line in _codex_server(one)),
    ]
    command = (*program, "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    env = {"OPENAI_API_KEY": NO_KEY}
    return Launch((*command, *values.args, "--", values.prompt), env, {".codex/config.toml": "\n".join([*lines, ""])})


def _codex_server(one: Connection) -> list[str]:
    where = (
        [f"url = {_toml(one.url)}"]
        if one.url is not None
        else [
            f"command = {_toml(one.command[0])}",
            f"args = [{', '.join(map(_toml, one.command[1:]))}]",
            f"env = {{ {', '.join(f'{_toml(key)} = {_toml(value)}' for key, value in one.env.items())} }}",
        ]
    )
    return [
        f"[mcp_servers.{_toml(one.safe_name)}]",
        *where,
        "required = true",  # others it waits a second for, then asks the model without them
        f"startup_timeout_sec = {one.start_seconds:g}",
        f"tool_timeout_sec = {one.call_seconds:g}",
        *([f"disabled_tools = [{', '.join(map(_toml, one.hidden))}]"] if one.hidden else []),
    ]


def gemini(program: tuple[str, ...], values: Values, servers: Connections) -> Launch:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "model": {"maxSessionTurns": int(values.max_turns)},
        "mcpServers": {one.safe_name: _gemini_server(one) for one in servers},
    }
    command = (
        *(*program, f"--prompt={values.prompt}", "--model", values.model),
        *("--approval-mode", "yolo", "--output-format", "stream-json", *values.args),
    )
    env = {
        **reaching("gemini", values.base_url),
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
    return Launch(command, env, {".gemini/settings.json": json.dumps(settings, indent=1)})


def _gemini_server(one: Connection) -> dict[str, object]:
    seconds = int(one.call_seconds * 1000)
    hidden = {"excludeTools": list(one.hidden)} if one.hidden else {}
    if one.url is not None:
        return {"httpUrl": one.url, "timeout": seconds, "trust": True, **hidden}
    said = {"command": one.command[0], "args": list(one.command[1:]), "env": dict(one.env)}
    return {**said, "timeout": seconds, "trust": True, **hidden}


def opencode(program: tuple[str, ...], values: Values, servers: Connections) -> Launch:
    config = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "provider": {
            "crucible": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "crucible",
                "options": {"baseURL": values.base_url, "apiKey": NO_KEY},
                "models": {values.model: {"name": values.model}},
            }
        },
        "model": f"crucible/{values.model}",
        "small_model": f"crucible/{values.model}",
        "agent": {"build": {"steps": int(values.max_turns)}},
        "mcp": {one.safe_name: _opencode_server(one) for one in servers},
        "tools": {f"{one.safe_name}_{tool}": False for one in servers for tool in one.hidden},
    }
    command = (*program, "run", "--format", "json", "--model", f"crucible/{values.model}", *values.args)
    return Launch(
        (*command, "--", values.prompt),
        {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_AUTOUPDATE": "1"},
    )


def _opencode_server(one: Connection) -> dict[str, object]:
    said = {"enabled": True, "timeout": int(1000 * max(one.start_seconds, one.call_seconds))}
    if one.url is not None:
        return {"type": "remote", "url": one.url, **said}
    return {"type": "local", "command": list(one.command), "environment": dict(one.env), **said}


def mini(program: tuple[str, ...], values: Values, servers: Connections) -> Launch:  # noqa: ARG001 - every builder has them
    command = (
        *(*program, "--model", f"openai/{values.model}", "--yolo", "--exit-immediately"),
        *("-c", "mini.yaml", "-c", f"agent.step_limit={values.max_turns}"),
        # Its own price table knows nothing of what the model is behind: the proxy keeps to the limit in money.
        *("--cost-limit", "0", "--output", values.transcript, *values.args, "--task", values.prompt),
    )
    env = {
        **reaching("openai", values.base_url),
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    return Launch(command, env)


def aider(program: tuple[str, ...], values: Values, servers: Connections) -> Launch:  # noqa: ARG001 - as above
    command = (
        *(*program, "--model", f"openai/{values.model}", "--weak-model", f"openai/{values.model}"),
        *("--yes-always", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore", "--no-check-update"),
        *("--no-stream", "--no-pretty", "--no-fancy-input", "--no-show-model-warnings", "--analytics-disable"),
        *("--no-show-release-notes", "--no-suggest-shell-commands", "--no-detect-urls", "--map-tokens", "1024"),
        *("--chat-history-file", "/dev/null", "--input-history-file", "/dev/null", "--llm-history-file", "/dev/null"),
        *(*values.args, "--message", values.prompt),
    )
    return Launch(command, {**reaching("openai", values.base_url), "LITELLM_LOCAL_MODEL_COST_MAP": "True"})


def _toml(text: str) -> str:
    """A TOML basic string: JSON's are, but for the one control character that JSON leaves bare."""
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")


def _milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))
