"""Tools that the provider runs itself (web search, remote tool servers, its own computers): a way out of the sandbox.

Where a scenario has no network they are taken out of a request before it is sent, or an agent would have one all the
same. A model with searching built in cannot be told from others here.
"""

from __future__ import annotations

from typing import Any, Final

from crucible.llm.dialects import Dialect

_TYPES: Final = (
    "web_search",
    "web_fetch",
    "mcp",
    "code_interpreter",
    "code_execution",
    "file_search",
    "bash_code_execution",
)
"""How the `type` of a tool begins that the provider runs; a tool of the agent's own is a `function`, `custom`, `bash_...`."""
_GEMINI: Final = frozenset(
    (
        *("googleSearch", "googleSearchRetrieval", "googleMaps", "urlContext", "codeExecution", "fileSearch"),
        *("google_search", "google_search_retrieval", "google_maps", "url_context", "code_execution", "file_search"),
        *("enterpriseWebSearch", "enterprise_web_search"),
    )
)
_OPTIONS: Final[dict[Dialect, tuple[str, ...]]] = {
    "anthropic": ("mcp_servers", "container"),
    "chat": ("web_search_options", "plugins"),
    "responses": (),
    "gemini": (),
}
"""Parts of a request beside its tools that do the same."""


def without_hosted(dialect: Dialect, body: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The request without the tools that the provider runs, and their names; the same request when it has none."""
    options = tuple(name for name in _OPTIONS[dialect] if body.get(name))
    tools = body.get("tools")
    kept, taken = _sorted_out(dialect, tools) if isinstance(tools, list) else ([], ())
    if not options and not taken:
        return body, ()
    left = {name: value for name, value in body.items() if name not in options}
    if taken:
        left = left | {"tools": kept} if kept else _toolless(left)
    return left, (*taken, *options)


def _sorted_out(dialect: Dialect, tools: list[Any]) -> tuple[list[Any], tuple[str, ...]]:
    kept: list[Any] = []
    taken: list[str] = []
    for tool in tools:
        left, names = _gemini(tool) if dialect == "gemini" else _typed(tool)
        taken += names
        kept += [left] if left is not None else []
    return kept, tuple(taken)


def _typed(tool: Any) -> tuple[Any, list[str]]:
    kind = tool.get("type") if isinstance(tool, dict) else None
    hosted = isinstance(kind, str) and kind.startswith(_TYPES)
    return (None, [str(kind)]) if hosted else (tool, [])


def _gemini(tool: Any) -> tuple[Any, list[str]]:
    """One object holds functions and hosted tools side by side."""
    if not isinstance(tool, dict):
        return tool, []
    names = sorted(_GEMINI & tool.keys())
    left = {name: value for name, value in tool.items() if name not in names}
    return left or None, names


def _toolless(body: dict[str, Any]) -> dict[str, Any]:
    """Providers refuse a choice of tools where there are none."""
    return {name: value for name, value in body.items() if name not in ("tools", "tool_choice", "toolConfig")}
