"""Retries and Retry-After, without a provider."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.errors import ProviderError
from crucible.llm.errors import retry_after
from crucible.llm.retry import RETRIED, RetryNote, RetryPolicy, with_retries

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
AT_ONCE = RetryPolicy(attempts=3, first_wait=0.0)
LASTING = sorted({"auth", "refused", "context", "bad_request"})


def failure(kind: str = "server", seconds: float | None = None) -> ProviderError:
    return ProviderError("no", kind=kind, retry_after=seconds)


class Flaky:
    """Fails so many times, then answers."""

    def __init__(self, failures: int, kind: str = "server") -> None:
        self.left, self.kind, self.calls = failures, kind, 0

    async def __call__(self) -> str:
        self.calls += 1
        self.left -= 1
        if self.left >= 0:
            raise failure(self.kind)
        return "yes"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    """What cannot be read as either is as if it were not there; the past is now."""
    assert retry_after(headers, NOW) == seconds


@given(st.text(max_size=40))
def test_no_retry_after_header_is_an_error(text: str) -> None:
    """Any text gives None or a time that is finite and not negative."""
    seconds = retry_after({"retry-after": text}, NOW)
    assert seconds is None or 0 <= seconds < float("inf")


@given(tries=st.integers(1, 10_000), gone=st.floats(0, 1000), seconds=st.one_of(st.none(), st.floats(0, 1e9)))
def test_waiting_never_goes_beyond_the_bounds(tries: int, gone: float, seconds: float | None) -> None:
    """A wait is given only within attempts and total seconds; a Retry-After is never cut short."""
    policy = RetryPolicy(attempts=5000, total_seconds=500.0)
    wait = policy.wait_after(tries, gone, failure("rate_limit", seconds))
    if wait is not None:
        assert tries < 5000
        assert gone + wait <= 500.0
        assert wait == seconds if seconds else 0.5 <= wait <= policy.max_wait


@pytest.mark.parametrize("kind", sorted(RETRIED))
def test_what_may_pass_is_tried_until_it_does(kind: str) -> None:
    """Two failures and an answer are three calls and two notes."""
    flaky, notes = Flaky(2, kind), list[RetryNote]()
    answer, waited = asyncio.run(with_retries(flaky, AT_ONCE, notes.append))
    assert (answer, flaky.calls) == ("yes", 3)
    assert [(note.tries, note.kind) for note in notes] == [(1, kind), (2, kind)]
    assert waited > 0


@pytest.mark.parametrize("kind", LASTING)
def test_what_will_not_pass_is_tried_once(kind: str) -> None:
    """No retry, and the error as it was."""
    flaky = Flaky(1, kind)
    with pytest.raises(ProviderError, match=r"^no$"):
        asyncio.run(with_retries(flaky, AT_ONCE))
    assert flaky.calls == 1


def test_giving_up_tells_the_tries() -> None:
    """After the last allowed try the error says how many there were."""
    flaky = Flaky(99)
    with pytest.raises(ProviderError, match="given up after 3 tries"):
        asyncio.run(with_retries(flaky, AT_ONCE))
    assert flaky.calls == 3


def test_an_answer_at_once_has_waited_exactly_nothing() -> None:
    """The first try's own time is not waiting."""
    assert asyncio.run(with_retries(Flaky(0))) == ("yes", 0.0)


@pytest.mark.parametrize("options", [{"attempts": 0}, {"first_wait": -1.0}, {"total_seconds": float("nan")}])
def test_a_policy_that_cannot_be_is_refused(options: dict[str, float]) -> None:
    """No attempt at all, a negative time, or no number."""
    with pytest.raises(ValueError, match="retry policy"):
        RetryPolicy(**options)  # type: ignore[arg-type]  # the wrong types are the point
