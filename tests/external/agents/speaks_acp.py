"""A small agent that speaks the Agent Client Protocol: `speaks_acp.py BEHAVIOUR BASE_URL MODEL`."""

# ruff: noqa: S310, ARG002, ASYNC221, ASYNC230, PTH123, PERF401 (a program of its own, as plain as can be)

import sys
import time

if sys.argv[1] == "hangs":
    print("I wait for something that never comes", file=sys.stderr, flush=True)
    time.sleep(3600)
if sys.argv[1] == "dies":
    sys.exit("no licence")

import asyncio
import json
import subprocess
import urllib.request

from acp import (
    PROTOCOL_VERSION,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_tool_call,
)
from acp.schema import PermissionOption, ToolCallLocation, ToolCallUpdate

BEHAVIOUR, BASE_URL, MODEL = sys.argv[1:4]
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}}}]
OPTIONS = [
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


def ask(messages):
    body = json.dumps({"model": MODEL, "messages": messages, "tools": TOOLS}).encode()
    request = urllib.request.Request(f"{BASE_URL}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["choices"][0]["message"]


class Agent:
    def on_connect(self, client):
        self.client = client

    async def initialize(self, protocol_version, **_):
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, cwd, mcp_servers=None, **_):
        self.cwd = cwd
        return NewSessionResponse(session_id="one")

    async def cancel(self, session_id, **_):
        return None

    async def prompt(self, session_id, prompt, **_):
        messages = [{"role": "user", "content": prompt[0].text}]
        if BEHAVIOUR == "sleeps":
            ask(messages)
            await asyncio.sleep(3600)
        while True:
            message = await asyncio.to_thread(ask, messages)
            messages.append(message)
            if not message.get("tool_calls"):
                await self.client.session_update("one", update_agent_message_text(message["content"]))
                reason = "max_turn_requests" if BEHAVIOUR == "capped" else "end_turn"
                return PromptResponse(stop_reason=reason)
            for call in message["tool_calls"]:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": await self.use(call)})

    async def use(self, call):
        arguments = json.loads(call["function"]["arguments"])
        kind = "edit" if "path" in arguments else "execute"
        places = [ToolCallLocation(path=f"{self.cwd}/{arguments['path']}")] if kind == "edit" else None
        begun = start_tool_call(call["id"], f"Use {kind}", kind=kind, status="pending", raw_input=arguments)
        await self.client.session_update("one", begun)
        asked = ToolCallUpdate(tool_call_id=call["id"], kind=kind, locations=places, raw_input=arguments)
        answer = await self.client.request_permission(session_id="one", tool_call=asked, options=OPTIONS)
        if answer.outcome.outcome != "selected" or answer.outcome.option_id != "yes":
            said, status = "refused", "failed"
        elif kind == "edit":
            with open(arguments["path"], "w") as file:
                file.write(arguments["text"])
            said, status = "written", "completed"
        else:
            done = subprocess.run(["bash", "-c", arguments["command"]], capture_output=True, text=True)
            said, status = done.stdout + done.stderr, "completed"
        told = update_tool_call(call["id"], status=status, content=[tool_content(text_block(said))])
        await self.client.session_update("one", told)
        return said


print("a log line on standard output", flush=True)
asyncio.run(run_agent(Agent()))
