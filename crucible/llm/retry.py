"""Retries: when to try again, how long to wait first, and when to give up."""

# By hand rather than with stamina: its time-out is looked at before a wait, not against it, so it would sleep
# through a Retry-After longer than all we allow; the time gone is not told; and a process-wide hook logs to stderr.

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from crucible.errors import ProviderError

RETRIED = frozenset({"rate_limit", "server", "timeout", "bad_reply"})
"""Kinds of ProviderError that may be gone the next time."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient to be with a provider.

    `attempts` is the most tries of one request; no further try starts once `total_seconds` would have gone on
    failed tries and waiting. Waits double from `first_wait` to `max_wait` seconds, each shortened by up to half
    at random; a Retry-After replaces them.
    """

    attempts: int = 10
    total_seconds: float = 120.0
    first_wait: float = 1.0
    max_wait: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or not min(self.total_seconds, self.first_wait, self.max_wait) >= 0:
            raise ValueError(f"a retry policy needs at least one attempt and no negative time: {self}")

    def wait_after(self, tries: int, gone: float, error: ProviderError) -> float | None:
        """Seconds to wait for another try, `gone` seconds after the first of `tries` began; None to give up."""
        if error.kind not in RETRIED or tries >= self.attempts:
            return None
        wait = error.retry_after or self._backoff(tries)
        return wait if gone + wait <= self.total_seconds else None

    def _backoff(self, tries: int) -> float:
        doubled = min(self.max_wait, self.first_wait * 2.0 ** min(tries - 1, 32))
        return doubled * random.uniform(0.5, 1.0)  # noqa: S311 - spreads parallel attempts, guards nothing


PATIENT = RetryPolicy()


@dataclass(frozen=True, slots=True)
class RetryNote:
    """A try that failed and will be made again after `wait` seconds; `tries` counts it."""

    tries: int
    wait: float
    kind: str
    detail: str


async def with_retries(
    call: Callable[[], Awaitable[T]],
    policy: RetryPolicy = PATIENT,
    on_retry: Callable[[RetryNote], None] | None = None,
) -> tuple[T, float]:
    """What `call` returns, and the seconds that went on failed tries and waiting before the one that did.

    Raises the last ProviderError, with the tries told, when the policy gives up. Cancellation passes at once.
    """
    started, tries, gone = time.monotonic(), 0, 0.0
    while True:
        tries += 1
        try:
            return await call(), gone
        except ProviderError as error:
            gone = time.monotonic() - started
            wait = policy.wait_after(tries, gone, error)
            if wait is None:
                raise _given_up(error, policy, tries, gone) from error
            if on_retry is not None:
                on_retry(RetryNote(tries, wait, error.kind, error.message))
        await asyncio.sleep(wait)
        gone = time.monotonic() - started


def _given_up(error: ProviderError, policy: RetryPolicy, tries: int, gone: float) -> ProviderError:
    told = f" (given up after {tries} tries in {gone:.0f} s)" if tries > 1 else ""
    hint, left = error.hint, max(0.0, policy.total_seconds - gone)
    if error.kind in RETRIED and error.retry_after and error.retry_after > left:
        hint = f"the provider asks for {error.retry_after:.0f} s of patience, {left:.0f} s are left: run again later"
    return ProviderError(
        f"{error.message}{told}",
        kind=error.kind,
        status=error.status,
        retry_after=error.retry_after,
        hint=hint,
    )
