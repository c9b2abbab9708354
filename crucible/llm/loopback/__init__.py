"""A small model server on 127.0.0.1 that answers from a script.

For tests, and for trying Crucible, or a whole agent CLI, without a provider::

    with LoopbackServer([Calls([("bash", {"command": "ls"})]), Text("done")]) as server:
        model = LiteLLMModel("openai/tiny", api_base=server.base_url, api_key="loopback")

It speaks OpenAI's chat completions and Responses, Anthropic Messages and Gemini's generateContent, streamed or not, and
lists its models; nothing else. It asks for no key. One script serves all dialects. Counts of tokens are answered
beside the script. A script that has run out, and a model that has none, are answered with an error that is not retried.

Agent CLIs make side calls for titles and topics before and between those of their real work; `for_agent` keeps a script
for the latter.
"""

from __future__ import annotations

from crucible.llm.loopback.script import (
    SOME,
    Answer,
    Calls,
    Counts,
    Cut,
    Script,
    Slow,
    Status,
    Text,
    for_agent,
    offers_tools,
)
from crucible.llm.loopback.server import Heard, LoopbackServer

__all__ = [
    "SOME",
    "Answer",
    "Calls",
    "Counts",
    "Cut",
    "Heard",
    "LoopbackServer",
    "Script",
    "Slow",
    "Status",
    "Text",
    "for_agent",
    "offers_tools",
]
