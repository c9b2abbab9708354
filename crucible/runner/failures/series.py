"""Runs of one agent on one frozen failure, several at a time, until there are enough, one says stop, or a limit is met.

How many are wanted is fixed before the first. Runs that do not count are made again, a bounded number of times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic

from crucible.runner.failures.frozen import Frozen
from crucible.runner.failures.journal import Journal
from crucible.runner.failures.made import Colour, Made, hold
from crucible.runner.failures.replays import Replays
from crucible.runner.failures.subject import Played, Subject

Stop = Callable[[Made], bool]
Watch = Callable[[Made], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on a whole series. `run_usd` is what each run may spend at most; it is set aside before the run starts.

    `most_invalid` runs may not count before the series is given up. Amounts are US dollars, times wall-clock seconds.
    """

    parallel: int = 1
    most_invalid: int = 3
    run_usd: float | None = None
    total_usd: float | None = None
    total_seconds: float | None = None


@dataclass(slots=True)
class Series:
    """What was made, in the order in which it ended. `cut` says why there are fewer valid runs than wanted, if so."""

    wanted: int
    made: list[Made] = field(default_factory=list)
    cut: str | None = None
    spent_usd: float = 0.0
    seconds: float = 0.0

    @property
    def valid(self) -> list[Made]:
        """The runs that count."""
        return [one for one in self.made if one.colour is not Colour.INVALID]

    def of(self, colour: Colour) -> list[Made]:
        """The runs of one colour."""
        return [one for one in self.made if one.colour is colour]


async def make_runs(
    subject: Subject,
    frozen: Frozen,
    wanted: int,
    stop: Stop,
    limits: Limits,
    journal: Journal,
    watch: Watch | None = None,
) -> Series:
    """Make runs until `wanted` of them count. Each is in the journal, and told to `watch`, before the next is looked at.

    Cancelled, and at the first run that says stop, what is still running is ended and is not part of the series.
    """
    return await _Making(subject, frozen, stop, limits, journal, watch, Series(wanted)).all()


class _Making:
    def __init__(
        self,
        subject: Subject,
        frozen: Frozen,
        stop: Stop,
        limits: Limits,
        journal: Journal,
        watch: Watch | None,
        series: Series,
    ) -> None:
        self.subject, self.frozen, self.stop, self.limits = subject, frozen, stop, limits
        self.journal, self.watch, self.series = journal, watch, series
        self.running: dict[asyncio.Task[Played], int] = {}
        self.started = 0
        self.began = monotonic()
        self.replays = Replays()

    async def all(self) -> Series:
        try:
            while not await self._enough():
                pass
        finally:
            await self._end_running()
            self.series.seconds = monotonic() - self.began
        return self.series

    async def _enough(self) -> bool:
        """Start what may be started, take in what has ended; True when it is over."""
        while self._missing() > 0 and len(self.running) < self.limits.parallel and self._affordable():
            self.started += 1
            self.running[asyncio.create_task(self.subject.play())] = self.started
        if not self.running:
            if self._missing() > 0:
                self.series.cut = self.series.cut or self._why_not()
            return True
        done, _ = await asyncio.wait(self.running, timeout=self._left(), return_when=asyncio.FIRST_COMPLETED)
        if not done:
            self.series.cut = f"the time for all runs, {self.limits.total_seconds:g} s, is used up"
            return True
        over = [self._take(task) for task in sorted(done, key=lambda task: self.running[task])]
        return any(over)

    def _take(self, task: asyncio.Task[Played]) -> bool:
        number, played = self.running.pop(task), task.result()
        replayed = self.replays.found(number, played.transcript)
        if replayed is not None:
            played = replace(played, run=replace(played.run, valid=False, reason=replayed))
        made = hold(number, self.frozen, played, self.subject.enforced)
        self.series.made.append(made)
        self.series.spent_usd += self._cost(made)
        self.journal.add(made, played.transcript)
        if self.watch is not None:
            self.watch(made)
        if played.refused is not None:
            raise played.refused
        invalid = len(self.series.of(Colour.INVALID))
        if invalid > self.limits.most_invalid:
            self.series.cut = f"{invalid} runs did not count, and at most {self.limits.most_invalid} are made again"
        return self.series.cut is not None or self.stop(made)

    def _cost(self, made: Made) -> float:
        """What a run spent; what it might have, where it does not say."""
        return self.limits.run_usd or 0.0 if made.run.cost_usd is None else made.run.cost_usd

    def _missing(self) -> int:
        return self.series.wanted - len(self.series.valid) - len(self.running)

    def _affordable(self) -> bool:
        return (self._left() is None or (self._left() or 0) > 0) and (
            self.limits.total_usd is None or self._set_aside() <= self.limits.total_usd
        )

    def _set_aside(self) -> float:
        """What is spent at most once one more run has ended."""
        return self.series.spent_usd + (len(self.running) + 1) * (self.limits.run_usd or 0.0)

    def _left(self) -> float | None:
        """Seconds left for all runs; None without a limit."""
        if self.limits.total_seconds is None:
            return None
        return max(0.0, self.limits.total_seconds - (monotonic() - self.began))

    def _why_not(self) -> str:
        if self.limits.total_usd is not None and self._set_aside() > self.limits.total_usd:
            return (
                f"the money for all runs, {self.limits.total_usd:g} US dollars, has no room for another run of "
                f"{self.limits.run_usd:g} ({self.series.spent_usd:.4g} spent)"
            )
        return f"the time for all runs, {self.limits.total_seconds:g} s, is used up"

    async def _end_running(self) -> None:
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)
