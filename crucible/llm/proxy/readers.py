"""A reader of replies for each dialect."""

from __future__ import annotations

import json
from typing import Any

from crucible.llm.dialects import Dialect
from crucible.llm.proxy.reader import CallParts, ReplyReader, items, obj, plus, string


class AnthropicReader(ReplyReader):
    """Anthropic Messages: a message, or its parts between `message_start` and `message_stop`."""

    def whole(self, body: dict[str, Any]) -> None:
        if "error" in body:
            return self.refused(body["error"])
        self._start(body)
        for index, block in enumerate(items(body.get("content"))):
            self._block(index, block)
        self.finish_reason = string(body.get("stop_reason")) or None
        self.finished = True
        return None

    def part(self, data: dict[str, Any]) -> None:
        match data.get("type"):
            case "message_start":
                self._start(obj(data.get("message")))
            case "content_block_start":
                self._block(data.get("index"), obj(data.get("content_block")), streamed=True)
            case "content_block_delta":
                self._delta(data.get("index"), obj(data.get("delta")))
            case "message_delta":
                self.finish_reason = string(obj(data.get("delta")).get("stop_reason")) or self.finish_reason
                self._count(data.get("usage"))
            case "message_stop":
                self.finished = True
            case "error":
                self.refused(data.get("error"))

    def counted(self) -> dict[str, Any]:
        said = self.said
        fed = said.get("input_tokens")
        counts = {
            "prompt_tokens": None if fed is None else plus(fed, *(said.get(key) for key in _ANTHROPIC_CACHE)),
            # Until the end it is a first guess of the output.
            "completion_tokens": said.get("output_tokens") if self.finish_reason else None,
            **{key: said.get(key) for key in _ANTHROPIC_CACHE},
        }
        return {key: value for key, value in counts.items() if value is not None}

    def _start(self, message: dict[str, Any]) -> None:
        self.model = string(message.get("model")) or None
        self._count(message.get("usage"))

    def _count(self, usage: Any) -> None:
        self.said |= {key: value for key, value in obj(usage).items() if value is not None}
        # Searches cost money of their own, and an hour in the cache more than the five minutes that are priced.
        extra = [*obj(self.said.get("server_tool_use")).values()]
        hour = obj(self.said.get("cache_creation")).get("ephemeral_1h_input_tokens")
        self.unpriced = any(one for one in (*extra, hour) if isinstance(one, int))
        self.tier(self.said)

    def _block(self, index: Any, block: dict[str, Any], *, streamed: bool = False) -> None:
        if block.get("type") == "text":
            self.texts.append(string(block.get("text")))
        elif block.get("type") == "tool_use":
            given = obj(block.get("input"))
            # In a stream the arguments follow in pieces, and what stands here is an empty object.
            arguments = [] if streamed and not given else [_text(given)]
            self.calls[str(index)] = CallParts(string(block.get("id")), string(block.get("name")), arguments)

    def _delta(self, index: Any, delta: dict[str, Any]) -> None:
        if delta.get("type") == "text_delta":
            self.texts.append(string(delta.get("text")))
        call = self.calls.get(str(index))
        if call is not None and delta.get("type") == "input_json_delta":
            call.arguments.append(string(delta.get("partial_json")))


class ChatReader(ReplyReader):
    """OpenAI chat completions: a completion, or chunks up to `[DONE]`. Only the first choice is read."""

    def whole(self, body: dict[str, Any]) -> None:
        self._read(body, "message")
        self.finished = True

    def part(self, data: dict[str, Any]) -> None:
        self._read(data, "delta")

    def counted(self) -> dict[str, Any]:
        # Some servers count along in every chunk.
        return self.said if self.finish_reason else {**self.said, "completion_tokens": None}

    def _read(self, data: dict[str, Any], key: str) -> None:
        if data.get("error"):
            self.refused(data["error"])
        self.model = string(data.get("model")) or self.model
        self.tier(data)
        self.said = obj(data.get("usage")) or self.said
        for choice in items(data.get("choices")):
            if choice.get("index") in (0, None):
                self.finish_reason = string(choice.get("finish_reason")) or self.finish_reason
                self._message(obj(choice.get(key)))

    def _message(self, message: dict[str, Any]) -> None:
        content = message.get("content")
        self.texts += [string(content), *(string(part.get("text")) for part in items(content))]
        for at, call in enumerate(items(message.get("tool_calls"))):
            function = obj(call.get("function"))
            parts = self.calls.setdefault(str(call.get("index", at)), CallParts())
            parts.id = string(call.get("id")) or parts.id
            parts.name = string(function.get("name")) or parts.name
            parts.arguments.append(string(function.get("arguments")))


class ResponsesReader(ReplyReader):
    """OpenAI Responses: a response, or its items and text up to `response.completed`."""

    def whole(self, body: dict[str, Any]) -> None:
        self.model = string(body.get("model")) or self.model
        self.tier(body)
        self.said = obj(body.get("usage")) or self.said
        if body.get("output"):
            self.texts, self.calls = [], {}
            for item in items(body["output"]):
                self._item(item)
        if body.get("error"):
            return self.refused(body["error"])
        incomplete = string(obj(body.get("incomplete_details")).get("reason"))
        self.finish_reason = incomplete or string(body.get("status")) or None
        self.finished = True
        return None

    def part(self, data: dict[str, Any]) -> None:
        match data.get("type"):
            case "response.output_text.delta":
                self.texts.append(string(data.get("delta")))
            case "response.output_item.done":
                self._item(obj(data.get("item")), with_text=False)
            case "response.completed" | "response.incomplete" | "response.failed":
                self.whole(obj(data.get("response")))
            case "error":
                self.refused(data.get("error") or data)

    def counted(self) -> dict[str, Any]:
        said = self.said
        return {
            "prompt_tokens": said.get("input_tokens"),
            "completion_tokens": said.get("output_tokens"),
            "prompt_tokens_details": said.get("input_tokens_details"),
            "completion_tokens_details": said.get("output_tokens_details"),
        }

    def _item(self, item: dict[str, Any], *, with_text: bool = True) -> None:
        kind, key = string(item.get("type")), string(item.get("call_id")) or string(item.get("id"))
        if kind == "message" and with_text:
            self.texts += [string(part.get("text")) for part in items(item.get("content"))]
        elif kind in _RESPONSES_ARGUMENTS:
            given = item.get(_RESPONSES_ARGUMENTS[kind])
            text = given if isinstance(given, str) else _text(given)
            name, space = string(item.get("name")) or kind.removesuffix("_call"), string(item.get("namespace"))
            self.calls[key] = CallParts(key, f"{space}__{name}" if space.startswith("mcp__") else name, [text])
        elif kind in _BILLED_APART:
            self.unpriced = True


class GeminiReader(ReplyReader):
    """Gemini generateContent: a response, or several that add up. The end of the stream is its only mark of the end."""

    def whole(self, body: dict[str, Any]) -> None:
        self.part(body)
        self.finished = True

    def part(self, data: dict[str, Any]) -> None:
        if data.get("error"):
            return self.refused(data["error"])
        self.model = string(data.get("modelVersion")) or self.model
        self.said |= obj(data.get("usageMetadata"))
        blocked = string(obj(data.get("promptFeedback")).get("blockReason"))
        self.finish_reason = blocked or self.finish_reason
        for candidate in items(data.get("candidates"))[:1]:
            self.finish_reason = string(candidate.get("finishReason")) or self.finish_reason
            self.unpriced = self.unpriced or "groundingMetadata" in candidate
            for part in items(obj(candidate.get("content")).get("parts")):
                self._part(part)
        return None

    def counted(self) -> dict[str, Any]:
        said = self.said
        made = plus(said.get("candidatesTokenCount"), said.get("thoughtsTokenCount"))
        return {
            "prompt_tokens": plus(said.get("promptTokenCount"), said.get("toolUsePromptTokenCount")),
            "completion_tokens": made if self.finish_reason else None,
            "prompt_tokens_details": {"cached_tokens": said.get("cachedContentTokenCount")},
            "completion_tokens_details": {"reasoning_tokens": said.get("thoughtsTokenCount")},
        }

    def _part(self, part: dict[str, Any]) -> None:
        if isinstance(call := part.get("functionCall"), dict):
            arguments = _text(call.get("args") or {})
            parts = CallParts(string(call.get("id")), string(call.get("name")), [arguments])
            self.calls[len(self.calls)] = parts
        elif not part.get("thought"):
            self.texts.append(string(part.get("text")))


def _text(arguments: Any) -> str:
    return json.dumps(arguments, ensure_ascii=False)


_ANTHROPIC_CACHE = ("cache_read_input_tokens", "cache_creation_input_tokens")
_RESPONSES_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_BILLED_APART = ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call")

_READERS: dict[Dialect, type[ReplyReader]] = {
    "anthropic": AnthropicReader,
    "chat": ChatReader,
    "responses": ResponsesReader,
    "gemini": GeminiReader,
}


def reader(dialect: Dialect) -> ReplyReader:
    """A reader for one reply."""
    return _READERS[dialect]()
