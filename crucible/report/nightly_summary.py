"""A night as Markdown: what is in alarm and what that means, a run chart for each chart, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from crucible.report.nightly import CAUTION, Chart, Nightly
from crucible.report.words import number
from crucible.runner.arms import WITHOUT
from crucible.stats.power import attempts_needed, normal_attempts_needed
from crucible.store.nights import Night

MOST_NIGHTS = 30
"""Nights a run chart shows."""
WIDTH = 21
"""Places of a run chart: one for every five percent."""
REHEARSAL = (
    "**REHEARSAL**: scripted sessions, no model was asked. Rehearsed nights have a history of their own and are never part "
    "of that of real nights."
)
_STATES = {
    "alarm": "ALARM",
    "watched": "no alarm",
    "nothing to lose": "never green in the baseline: a drop cannot be seen",
    "no attempt counts": "no attempt of tonight counts",
}


def markdown(nightly: Nightly) -> str:
    """The summary of one night."""
    return "\n".join([*_head(nightly), "", *_table(nightly), *_next_steps(nightly), *_run_charts(nightly)]) + "\n"


def headline(nightly: Nightly) -> str:
    """The night in one line. An alarm is evidence to be looked into; the word for it is never regression."""
    if nightly.alarms:
        return f"ALARM on {len(nightly.alarms)} of {len(nightly.charts)} charts"
    if all(chart.state == "no attempt counts" for chart in nightly.charts):
        return "no attempt of tonight counts"
    if all(chart.state != "watched" for chart in nightly.charts):
        return "not enough history to tell"
    return "no alarm"


def _head(nightly: Nightly) -> Iterator[str]:
    yield f"# Nightly {nightly.suite}: {headline(nightly)}"
    yield ""
    yield f"Run {nightly.run_id}, made {nightly.at[:16].replace('T', ' ')} UTC."
    if nightly.rehearsal:
        yield ""
        yield REHEARSAL
    yield ""
    yield (
        f"As long as no rate falls below what must be kept, an alarm comes on average once in {nightly.false_alarm_nights} "
        f"nights or more rarely, over all {len(nightly.charts)} charts together. One bad night is never an alarm."
    )


def _table(nightly: Nightly) -> Iterator[str]:
    yield "| scenario | arm | model | tonight | baseline | must be kept | evidence | alarm at | |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for chart in nightly.charts:
        kept = "-" if chart.kept is None else f"{100 * chart.kept:.0f}%"
        cells = (
            *(_cell(chart.key.scenario), _cell(chart.key.arm_as_run), _cell(chart.key.model), _tonight(chart)),
            *(_sum(chart.baseline), kept, _amount(chart.evidence) if chart.watched else "-"),
            *(_amount(chart.threshold), _state(chart, nightly.baseline_nights)),
        )
        yield f"| {' | '.join(cells)} |"


def _state(chart: Chart, baseline_nights: int) -> str:
    if chart.state == "baseline":
        return f"baseline, night {len(chart.baseline)} of {baseline_nights}; nothing is tested yet"
    return _STATES[chart.state]


def _tonight(chart: Chart) -> str:
    night = chart.tonight
    if night is None:
        return "not tried"
    lost = f" ({night.not_counted} not counted)" if night.not_counted else ""
    return f"{night.passed} of {night.counted}{lost}"


def _sum(nights: Sequence[Night]) -> str:
    return f"{sum(n.passed for n in nights)} of {sum(n.counted for n in nights)}"


def _next_steps(nightly: Nightly) -> Iterator[str]:
    for chart in nightly.alarms:
        key = chart.key
        yield ""
        yield f"## {key.arm_as_run} on {key.scenario}: what to do next"
        yield ""
        yield (
            f"In alarm since run {chart.alarm_since}. The evidence for a drop below {_percent(chart.kept)} is "
            f"{_amount(chart.evidence)}, where {_amount(chart.threshold)} makes an alarm. That is evidence, not proof."
        )
        yield ""
        yield (
            f"1. If there was a drop, it most likely began with run {chart.began}; the last good night was then "
            f"{_last_good(chart)}. Look at what changed between them: model version, prompt, tools, this machine."
        )
        yield f"2. Look at attempts that failed: `crucible show run:{nightly.run_id}`, then `crucible show ATTEMPT`."
        yield f"3. Confirm before you act: {_confirm(chart)}"
        yield "4. If it is confirmed, bisect between the two states in the same way."
        yield ""
        yield "The alarm ends by itself when the rate is back."


def _last_good(chart: Chart) -> str:
    before = [n.run_id for n in chart.baseline] + [one.night.run_id for one in chart.watched]
    earlier = [run_id for run_id in before if chart.began is not None and run_id < chart.began]
    return f"run {earlier[-1]}" if earlier else "before this history"


def _confirm(chart: Chart) -> str:
    """How many attempts of the last good state against as many of the present one would show the drop again."""
    since = [one.night for one in chart.watched if chart.began is not None and one.night.run_id >= chart.began]
    passed, counted = sum(n.passed for n in since), sum(n.counted for n in since)
    good = sum(n.passed for n in chart.baseline) / sum(n.counted for n in chart.baseline)
    key, now = chart.key, passed / counted
    states = "once as it is and once in its last good state"
    if now >= good:
        return f"run {key.scenario} again, {states}."
    needed = attempts_needed(good, now) or ceil(normal_attempts_needed(good, now))
    command = f"crucible run {key.scenario} --arm {key.arm} --blocks {needed}{_options(key.setup)}"
    return (
        f"`{command}`, {states}: {needed} attempts each find {_percent(good)} against {_percent(now)} (what was seen since) "
        "four times in five."
    )


def _options(setup: str) -> str:
    """What makes a run set an arm up in the same way."""
    if setup == WITHOUT:
        return " --without-extra-tools"
    return "".join(f" --tools {changed}" for changed in setup.split(", ") if changed)


def _run_charts(nightly: Nightly) -> Iterator[str]:
    for chart in nightly.charts:
        nights = [(n, None) for n in chart.baseline] + [(w.night, w.evidence) for w in chart.watched]
        if not nights:
            continue
        yield ""
        yield f"## Run chart: {chart.key.arm_as_run} on {chart.key.scenario} ({chart.key.model})"
        yield ""
        yield "```"
        yield f"night          run  green      0%       50%      100%  evidence, alarm at {_amount(chart.threshold)}"
        yield from (_row(night, evidence, chart) for night, evidence in nights[-MOST_NIGHTS:])
        yield "```"
        if chart.kept is not None:
            yield ""
            yield f"`o` is the night's rate, `|` what must be kept ({100 * CAUTION:.0f}% lower limit of the baseline)."


def _row(night: Night, evidence: float | None, chart: Chart) -> str:
    places = ["."] * WIDTH
    if chart.kept is not None:
        places[round(chart.kept * (WIDTH - 1))] = "|"
    places[round(night.passed / night.counted * (WIDTH - 1))] = "o"
    said = "baseline" if evidence is None else _amount(evidence) + (" ALARM" if evidence >= chart.threshold else "")
    counts = f"{night.passed} of {night.counted}"
    return f"{night.at[:10]}  {night.run_id:>6}  {counts:<10} {''.join(places)}  {said}"


def _amount(value: float) -> str:
    return number(value, 1 if value < 100 else 0)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f}%"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
