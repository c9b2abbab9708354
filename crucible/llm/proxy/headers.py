"""Which headers go from the agent to the provider and back. Credentials go neither way but ours to the provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from crucible.redaction import redact

_HOP = frozenset((
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "host", "content-length", "content-encoding", "accept-encoding", "expect",
))  # fmt: skip
"""What belongs to one connection or one coding of a body, and is made anew for the other side."""
_CREDENTIALS = frozenset(("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"))
_PROVIDERS_OWN = frozenset((
    "set-cookie", "server", "alt-svc", "strict-transport-security", "location", "content-security-policy",
    "openai-organization", "openai-project", "anthropic-organization-id",
))  # fmt: skip
"""What a reply tells of the account, or tells a browser."""
_KEYS_IN_QUERY = frozenset(("key", "api_key", "access_token"))


def to_provider(headers: Mapping[str, str], credentials: Mapping[str, str]) -> dict[str, str]:
    """An agent's headers, with our key in place of whatever it sent. Replies are asked for uncompressed."""
    kept = {name: value for name, value in headers.items() if name.lower() not in _HOP | _CREDENTIALS}
    return {**kept, **credentials, "Accept-Encoding": "identity"}


def to_agent(headers: Mapping[str, str]) -> dict[str, str]:
    """A provider's headers without those that are not the agent's business."""
    return {
        name: redact(value)
        for name, value in headers.items()
        if name.lower() not in _HOP | _CREDENTIALS | _PROVIDERS_OWN
    }


def query(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The query of a request without the places where a key may stand."""
    return [(name, value) for name, value in pairs if name.lower() not in _KEYS_IN_QUERY]
