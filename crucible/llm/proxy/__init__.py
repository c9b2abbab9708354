"""The way from an agent in a sandbox to its model: keys stay outside, tokens are counted from the wire.

    upstream = upstream_of("anthropic/claude-sonnet-4-5", settings)      # before anything is spent; PreflightError
    socket, port = await world.listen()
    async with ModelProxy(socket, upstream, admit=admit, seen=seen) as proxy:
        ...                                                              # the agent asks http://127.0.0.1:PORT
    proxy.trouble()                                                      # still answers after that

What an agent is given as its base URL is `http://127.0.0.1:PORT` for the Anthropic and Gemini dialects and
`http://127.0.0.1:PORT/v1` for OpenAI's two, as its model `upstream.wire_model`, and as its key any word.
"""

from __future__ import annotations

from crucible.llm.dialects import Dialect
from crucible.llm.proxy.exchange import HUNG_UP, Asked, Exchange, Trouble
from crucible.llm.proxy.server import ModelProxy
from crucible.llm.proxy.upstream import Upstream, upstream_of

__all__ = ["HUNG_UP", "Asked", "Dialect", "Exchange", "ModelProxy", "Trouble", "Upstream", "upstream_of"]
