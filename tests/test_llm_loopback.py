"""The loopback server, spoken to in plain HTTP."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from crucible.llm.loopback import SOME, Answer, Calls, Counts, Cut, LoopbackServer, Slow, Status, Text

CHAT = {"model": "tiny", "messages": []}


def send(server: LoopbackServer, body: Any = CHAT, path: str = "/chat/completions", method: str = "POST") -> Any:
    url = urlsplit(server.base_url)
    connection = http.client.HTTPConnection(url.netloc, timeout=10)
    try:
        connection.request(method, url.path + path, body if isinstance(body, bytes) else json.dumps(body))
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), json.loads(response.read())
    finally:
        connection.close()


def test_answers_come_in_the_order_of_the_script_and_requests_are_recorded() -> None:
    """Text with its usage, then calls with arguments as object or raw text."""
    script: list[Answer] = [Text("one", usage=Counts(12, 3, 4, 1)), Calls([("bash", {"a": 1}), ("bash", "{")])]
    with LoopbackServer(script) as server:
        _, _, first = send(server)
        _, _, second = send(server, CHAT | {"tools": []})
        assert server.requests == [CHAT, CHAT | {"tools": []}]
    assert first["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": "one"},
        "finish_reason": "stop",
    }
    assert first["usage"] == {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }
    calls = second["choices"][0]["message"]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == ['{"a": 1}', "{"]
    assert len({call["id"] for call in calls}) == 2
    assert second["usage"] == SOME.as_json()


def test_usage_can_be_left_out() -> None:
    """As some servers do."""
    with LoopbackServer([Text("one", usage=None)]) as server:
        assert "usage" not in send(server)[2]


def test_status_and_retry_after_are_sent_as_told() -> None:
    """An error with its header and body."""
    with LoopbackServer([Status(429, retry_after=3, body={"error": {"message": "slow down"}})]) as server:
        status, headers, body = send(server)
    assert (status, headers["Retry-After"], body["error"]["message"]) == (429, "3", "slow down")


def test_a_cut_reply_ends_early() -> None:
    """The connection closes before the promised length."""
    with LoopbackServer([Cut()]) as server, pytest.raises(http.client.IncompleteRead):
        send(server)


def test_each_model_has_its_own_script() -> None:
    """A list and a function side by side; an unknown name is told with the nearest."""
    with LoopbackServer({"tiny": [Text("list")], "echo": lambda request: Text(str(request["messages"]))}) as server:
        assert send(server)[2]["choices"][0]["message"]["content"] == "list"
        assert send(server, {"model": "echo", "messages": [1]})[2]["choices"][0]["message"]["content"] == "[1]"
        status, _, body = send(server, {"model": "tinny"})
        assert {"tiny", "echo"} == {one["id"] for one in send(server, path="/models", method="GET")[2]["data"]}
    assert status == 404
    assert "did you mean 'tiny'" in body["error"]["message"]


@pytest.mark.parametrize(
    ("body", "path", "status"),
    [
        (CHAT, "/chat/completions", 400),
        (b"{", "/chat/completions", 400),
        ([], "/chat/completions", 400),
        (CHAT | {"stream": True}, "/chat/completions", 400),
        (CHAT, "/embeddings", 404),
    ],
)
def test_what_it_cannot_answer_is_refused_with_a_reason(body: Any, path: str, status: int) -> None:
    """A script that has run out, a body that is not a request, streaming, another endpoint."""
    with LoopbackServer([]) as server:
        found, _, reply = send(server, body, path)
    assert status == found
    assert reply["error"]["message"]


def test_closing_does_not_wait_for_slow_answers_or_silent_clients(capfd: pytest.CaptureFixture[str]) -> None:
    """Leaving the block ends pending waits, and a client that went away is no error."""
    with LoopbackServer([Slow(3600, Text("late"))]) as server:
        url = urlsplit(server.base_url)
        with socket.create_connection((url.hostname, url.port)) as client:
            head = f"POST {url.path}/chat/completions HTTP/1.0\r\nContent-Length: {len(json.dumps(CHAT))}\r\n\r\n"
            client.sendall((head + json.dumps(CHAT)).encode())
    assert tuple(capfd.readouterr()) == ("", "")
