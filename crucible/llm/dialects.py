"""The protocols in which models are asked: what a request is by its method and path, and the shape of errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Dialect = Literal["anthropic", "chat", "responses", "gemini"]
"""A provider's protocol: Anthropic Messages, OpenAI chat completions, OpenAI Responses, Gemini generateContent."""
Kind = Literal["hello", "call", "count", "list"]


@dataclass(frozen=True, slots=True)
class Route:
    """A request that is known: a model call, a count of tokens, a list of models, or a client's look whether we are there.

    `path` is what comes below the version. `model` and `streamed` are what Gemini says in the path.
    """

    kind: Kind
    dialect: Dialect
    path: str = ""
    model: str = ""
    streamed: bool = False


_MODEL = r"[A-Za-z0-9][\w.@-]*"
_ROUTES: tuple[tuple[str, str, Kind, Dialect], ...] = (
    ("HEAD", r"/", "hello", "anthropic"),
    ("GET", r"/", "hello", "anthropic"),
    ("POST", r"(?:/v1)?/(?P<path>messages)", "call", "anthropic"),
    ("POST", r"(?:/v1)?/(?P<path>messages/count_tokens)", "count", "anthropic"),
    ("POST", r"(?:/v1)?/(?P<path>chat/completions)", "call", "chat"),
    ("POST", r"(?:/v1)?/(?P<path>responses)", "call", "responses"),
    ("POST", r"(?:/v1)?/(?P<path>responses/input_tokens)", "count", "responses"),
    ("POST", rf"/v1(?:alpha|beta)?/(?P<path>models/(?P<model>{_MODEL}):generateContent)", "call", "gemini"),
    ("POST", rf"/v1(?:alpha|beta)?/(?P<path>models/(?P<model>{_MODEL}):streamGenerateContent)", "call", "gemini"),
    ("POST", rf"/v1(?:alpha|beta)?/(?P<path>models/(?P<model>{_MODEL}):countTokens)", "count", "gemini"),
    ("GET", rf"(?:/v1)?/(?P<path>models(?:/{_MODEL})?)", "list", "chat"),
    ("GET", rf"/v1(?:alpha|beta)/(?P<path>models(?:/{_MODEL})?)", "list", "gemini"),
)
_PATTERNS = [(method, re.compile(pattern), kind, dialect) for method, pattern, kind, dialect in _ROUTES]

_REFUSED: dict[Dialect, int] = {"anthropic": 400, "chat": 404, "responses": 400, "gemini": 400}
"""The status of a call that was refused, chosen so that the dialect's agents give up.

Agents of the chat dialect sit behind litellm, which turns a 403 into an error that all of them retry; and mini-swe-agent
retries a 400. Claude Code and Codex take a 403 for a login that has run out, and a 404 for a model that there is not.
"""
_TYPES = {400: "invalid_request_error", 404: "not_found_error", 413: "request_too_large"}
_GEMINI = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 413: "INVALID_ARGUMENT"}


def route(method: str, path: str, headers: Mapping[str, str]) -> Route | None:
    """What is asked; None when it is nothing an agent needs of a model."""
    trimmed = path.rstrip("/") or "/"
    for verb, pattern, kind, dialect in _PATTERNS:
        if verb == method and (found := pattern.fullmatch(trimmed)):
            named = found.groupdict()
            if kind == "list" and "anthropic-version" in headers:
                dialect = "anthropic"  # noqa: PLW2901 - the one path that two dialects share
            streamed = trimmed.endswith(":streamGenerateContent")
            return Route(kind, dialect, named.get("path") or "", named.get("model") or "", streamed)
    return None


def refused_status(dialect: Dialect) -> int:
    """The HTTP status of a refusal that the dialect's agents do not retry."""
    return _REFUSED[dialect]


def error_body(dialect: Dialect, status: int, message: str) -> dict[str, Any]:
    """An error as the dialect's clients read it."""
    if dialect == "gemini":
        return {"error": {"code": status, "message": message, "status": _GEMINI.get(status, "UNAVAILABLE")}}
    if dialect == "anthropic":
        return {"type": "error", "error": {"type": _TYPES.get(status, "api_error"), "message": message}}
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
