"""What went wrong at a provider, from the exceptions litellm raises.

litellm's own class and status cannot be trusted: a refused connection and a missing key both arrive as a 500,
and a 400 whose text mentions a rate limit as a 429. So the chain of causes is read down to the HTTP response
that really came, or to the failure of the connection.
"""

from __future__ import annotations

import json
import math
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from crucible.errors import ProviderError
from crucible.llm._litellm import load
from crucible.llm.keys import missing_key
from crucible.redaction import redact

_NO_KEY = re.compile(
    r"(missing|no|unable to (find|locate)) .{0,30}(credentials?|api[ _]?key)|default credentials", re.IGNORECASE
)
_TOO_LONG = re.compile(
    r"context[ _](length|window|limit|size)|(prompt|input) is too long|too many (input )?tokens", re.IGNORECASE
)
_UNREADABLE = re.compile(r"invalid response|no 'choices'", re.IGNORECASE)
_PREFIX = re.compile(r"^((litellm\.)?\w*(Error|Exception)( \w+Error)?(\s*[:-]\s*|$)|Error code: \d+(\s*-\s*|$))*")
_SUFFIX = re.compile(r"\s*(Handle with `litellm\.|File an issue if litellm).*$")
_TEXT_CAP = 300
_WORDS = {
    "auth": "the provider refused the credentials",
    "refused": "nothing answers at the base URL",
    "rate_limit": "rate limited",
    "server": "the provider failed",
    "timeout": "no answer in time",
    "context": "the conversation no longer fits the model's context window",
    "bad_request": "the provider refused the request",
    "bad_reply": "the provider's answer cannot be read",
}


def as_provider_error(error: BaseException, model: str) -> ProviderError:
    """The ProviderError for what a call of `model` raised: its kind, true HTTP status, and Retry-After in seconds.

    Providers quote the key they refuse; the error does not.
    """
    chain = list(_chain(error))
    response = _response(chain)
    status = None if response is None else int(response.status_code)
    wait = None if response is None else retry_after(response.headers, datetime.now(UTC))
    return _error(model, _kind(chain, status), status, _detail(chain), wait)


def http_error(model: str, status: int, words: str, asked_to_wait: float | None = None) -> ProviderError:
    """The ProviderError for an HTTP answer of `status` that is no reply and says `words`; litellm is not needed."""
    kind = _kind_of_status(status)
    if status in (400, 413, 422) and _TOO_LONG.search(words):
        kind = "context"
    if status == 429 and "insufficient_quota" in words:
        kind = "auth"
    return _error(model, kind, status, _first_line(words), asked_to_wait)


def broken_off(model: str, error: BaseException | str) -> ProviderError:
    """The ProviderError for a connection that failed, or for a reply that broke off, for the reason given."""
    chain = [error] if isinstance(error, str) else list(_chain(error))
    refusal = next((one for one in chain if isinstance(one, BaseException) and _is_refusal(one)), None)
    timed_out = any(isinstance(one, TimeoutError) for one in chain)
    kind = "refused" if refusal else "timeout" if timed_out else "server"
    return _error(model, kind, None, _first_line(str(refusal or chain[0])))


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds a response asks to wait, from `retry-after-ms` or `Retry-After` (seconds or a date); None if it does not.

    `headers` is looked up in lower case; a date in the past is 0.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    seconds = _seconds(said)
    return seconds if seconds is not None or said is None else _until(said, now)


def _error(model: str, kind: str, status: int | None, detail: str, asked_to_wait: float | None = None) -> ProviderError:
    shown = f" (HTTP {status})" if status else ""
    return ProviderError(
        f"{model}: {_WORDS[kind]}{shown}" + (f": {detail}" if detail else ""),
        kind=kind,
        status=status,
        retry_after=asked_to_wait,
        hint=_hint(kind, status, model),
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _response(chain: list[BaseException]) -> Any:
    # litellm makes responses up, but only real ones have headers; the deepest is the one that came.
    responses = (getattr(one, "response", None) for one in reversed(chain))
    return next((one for one in responses if getattr(one, "headers", None)), None)


def _kind(chain: list[BaseException], status: int | None) -> str:
    litellm = load()
    if status is None:
        return _kind_without_response(chain, litellm)
    too_long = isinstance(chain[0], litellm.ContextWindowExceededError) or _TOO_LONG.search(str(chain[0]))
    if status in (400, 413, 422) and too_long:
        return "context"
    # An account that is out of money answers 429 for ever.
    if status == 429 and any(getattr(one, "code", None) == "insufficient_quota" for one in chain):
        return "auth"
    return _kind_of_status(status)


def _kind_of_status(status: int) -> str:
    if status < 400:
        return "bad_reply"
    if status >= 500:
        return "server"
    known = {401: "auth", 402: "auth", 403: "auth", 408: "timeout", 409: "server", 429: "rate_limit"}
    return known.get(status, "bad_request")


def _kind_without_response(chain: list[BaseException], litellm: Any) -> str:
    text = str(chain[0])
    checks = (
        ("refused", any(_is_refusal(one) for one in chain)),
        ("timeout", any(isinstance(one, TimeoutError | litellm.Timeout) for one in chain)),
        ("auth", isinstance(chain[0], litellm.AuthenticationError) or _NO_KEY.search(text)),
        ("bad_reply", _UNREADABLE.search(text) or any(isinstance(one, json.JSONDecodeError) for one in chain)),
        ("bad_request", isinstance(chain[0], litellm.BadRequestError | litellm.NotFoundError)),
        ("bad_request", any(isinstance(one, ImportError) for one in chain)),  # a provider's own package is missing
    )
    return next((kind for kind, holds in checks if holds), "server")


def _is_refusal(error: BaseException) -> bool:
    if isinstance(error, socket.gaierror):
        return error.errno != socket.EAI_AGAIN  # that one passes
    return isinstance(error, ConnectionRefusedError | ssl.SSLCertVerificationError)


def _detail(chain: list[BaseException]) -> str:
    refusal = next((one for one in chain if _is_refusal(one)), None)
    text = _PREFIX.sub("", str(refusal or chain[0]))
    return _first_line(_SUFFIX.sub("", _message_in(text) or text))


def _first_line(text: str) -> str:
    text = redact(text)
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _TEXT_CAP else f"{line[:_TEXT_CAP]}..."


def _message_in(text: str) -> str | None:
    """The message of a JSON error body: {"error": {"message": ...}}, as most providers send it."""
    try:
        body = json.loads(text)
    except ValueError:
        return None
    error = body.get("error", body) if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else None


def _hint(kind: str, status: int | None, model: str) -> str | None:
    if kind == "refused":
        return "check the network and the base URL, or start the server; this is not tried again"
    if kind == "auth":
        key = missing_key(model) if status is None else None
        return f"set {key}" if key else "check the key, and what its account may use"
    return None


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text) if text else math.nan
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _until(text: str, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - now).total_seconds())
