"""`crucible nightly`: an alarm comes from several nights, keeps its promise, and never from one bad night."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest
import yaml
from sqlalchemy import text

from crucible.cli.app import run_app
from crucible.errors import ScenarioError, UsageError
from crucible.report.nightly import Chart, chart, tonight
from crucible.report.nightly_summary import markdown
from crucible.runner.arms import WITHOUT
from crucible.runner.nightly import night_after_night
from crucible.runner.suite import Schedule, Suite, find_suite, load_schedule, load_suite
from crucible.store.filling import Filled, fill_run
from crucible.store.nights import ChartKey, Night
from crucible.store.writes import Store

KEY = ChartKey("s", "hash-s", "new", "m")
SUITE = Suite(name="nightly", scenarios=("first-bug",), baseline_nights=3)


def nights(*passed: int, of: int = 10) -> list[Night]:
    return [Night(run, f"2026-01-{run:02}T02:30:00", k, of, 0) for run, k in enumerate(passed, 1)]


def charted(*passed: int, baseline: int = 5, threshold: float = 365.0, of: int = 10) -> Chart:
    return chart(KEY, nights(*passed, of=of), len(passed), baseline, threshold)


def test_during_the_baseline_nothing_is_tested() -> None:
    found = charted(9, 0, 0)
    assert ("baseline", None, 0.0) == (found.state, found.kept, found.evidence)
    assert "baseline" == charted(9, 9, 9, 9, 0).state


def test_a_steady_rate_raises_no_alarm() -> None:
    assert "watched" == charted(*[9, 8, 10, 9, 9] * 12).state


@pytest.mark.parametrize("attempts", [3, 10, 50, 100, 1000])
def test_one_bad_night_is_never_an_alarm_however_bad(attempts: int) -> None:
    found = charted(*[attempts] * 20, 0, of=attempts, baseline=10)
    assert "watched" == found.state
    assert found.evidence < found.threshold


def test_bad_nights_in_a_row_are_an_alarm_that_says_where_it_began_and_ends_when_the_rate_is_back() -> None:
    found = charted(9, 9, 10, 9, 9, 9, 10, 9, 4, 3, 4)
    assert "alarm" == found.state
    assert 9 == found.began
    assert found.alarm_since in (10, 11)
    assert "watched" == charted(9, 9, 10, 9, 9, 9, 10, 9, 4, 3, 4, *[0] * 30, *[10] * 4).state


def test_a_night_without_an_attempt_that_counts_says_nothing() -> None:
    outage = [*nights(9, 9, 9, 9, 9, 9, 9), Night(8, "2026-01-08", 0, 0, 10)]
    found = chart(KEY, outage, 8, 5, 365.0)
    assert ("no attempt counts", charted(9, 9, 9, 9, 9, 9, 9).evidence) == (found.state, found.evidence)


def test_what_was_never_green_has_nothing_to_lose() -> None:
    assert "nothing to lose" == charted(0, 0, 0, 0, 0, 0).state


def real_nights(store: Store, passed: Sequence[int], **columns: object) -> int:
    run_id = 0
    for k in passed:
        one = {"new": [Filled(i < k) for i in range(10)], "old": [Filled(i < 9) for i in range(10)]}
        run_id = fill_run(store, {"s": one}, "old", suite="nightly", **columns)
    return run_id


def test_the_history_is_the_stored_nights_of_this_suite_and_rehearsals_never_mix_in(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        real_nights(store, [0] * 9, rehearsal=True)
        fill_run(store, {"s": {"new": [Filled(False)] * 10, "old": [Filled(False)] * 10}}, "old", suite="other")
        last = real_nights(store, [9, 9, 9, 9, 9])
        found = tonight(store, SUITE, last)
        assert 0 == found.exit_code
        assert [(5, 2.0 * 365)] * 2 == [(len(c.baseline) + len(c.watched), c.threshold) for c in found.charts]
        with pytest.raises(UsageError, match="not a night of other-suite"):
            tonight(store, SUITE.model_copy(update={"name": "other-suite"}), last)


def test_the_summary_states_the_promise_and_what_to_do_and_never_says_regression(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        last = real_nights(store, [9, 10, 9, 9, 3, 2, 3, 2])
        found = tonight(store, SUITE, last)
        said = markdown(found)
    assert 1 == found.exit_code
    for part in (
        "# Nightly nightly: ALARM on 1 of 2 charts",
        "an alarm comes on average once in 365 nights or more rarely, over all 2 charts together",
        "One bad night is never an alarm",
        "## new on s: what to do next",
        "most likely began with run 5; the last good night was then run 4",
        "`crucible run s --arm new --blocks ",
        "| s | old | openai/simulated | 9 of 10 | 27 of 30 |",
        " ALARM\n",
    ):
        assert part in said
    assert "regression" not in said.lower()


def test_too_little_history_is_exit_3_and_nothing_counted_is_5(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        assert 3 == tonight(store, SUITE, real_nights(store, [9, 9])).exit_code
        lost = {arm: [Filled(None)] * 3 for arm in ("new", "old")}
        assert 5 == tonight(store, SUITE, fill_run(store, {"s": lost}, "old", suite="nightly")).exit_code


def test_an_arm_that_was_set_up_otherwise_has_a_chart_of_its_own(tmp_path: Path) -> None:
    """Nights without the extra tools are no history of nights with them, nor the other way round."""
    with Store(tmp_path / "store.db") as store:
        real_nights(store, [9, 9, 9, 9])
        for k in (3, 3, 3):
            run_id = real_nights(store, [k])
            with store.writing() as session:
                given = {"run": run_id, "setup": WITHOUT}
                session.execute(text("UPDATE attempt SET setup = :setup WHERE run_id = :run AND arm = 'new'"), given)
        found = tonight(store, SUITE, run_id)
        assert [("new", WITHOUT, 3, 0, "3 of 10"), ("old", "", 3, 4, "9 of 10")] == [
            (c.key.arm, c.key.setup, len(c.baseline), len(c.watched), f"{c.tonight.passed} of 10" if c.tonight else "")
            for c in found.charts
        ]
        assert "| s | new (without extra tools) | openai/simulated | 3 of 10 |" in markdown(found)
        back = tonight(store, SUITE, real_nights(store, [3, 3, 3, 3]))
        assert ["", ""] == [c.key.setup for c in back.charts]
        assert [("alarm", 5), ("watched", 8)] == [(c.state, len(c.watched)) for c in back.charts]


def test_an_arm_that_made_no_attempt_tonight_is_charted_as_it_was_planned(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        real_nights(store, [9] * 4)
        none = {"new": [], "old": [Filled(True)]}
        (_, old) = tonight(store, SUITE, fill_run(store, {"s": none}, "old", suite="nightly", blocks=1)).charts
        (new, _) = tonight(store, SUITE, fill_run(store, {"s": none}, "old", suite="nightly", blocks=1)).charts
        assert ("", "watched") == (old.key.setup, old.state)
        assert ("", "no attempt counts", 4) == (new.key.setup, new.state, len(new.baseline) + len(new.watched))
        without = fill_run(
            store, {"s": none}, "old", suite="nightly", blocks=1, without_extra_tools=True, tools={"asd": "other"}
        )
        (chart_of_new, _) = tonight(store, SUITE, without).charts
        assert "" == chart_of_new.key.setup, "an arm without extra tools is never without them"


def test_a_confirmation_sets_the_arm_up_in_the_same_way(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        last = real_nights(store, [9, 10, 9, 9, 3, 2, 3, 2])
        for setup, options in ((WITHOUT, " --without-extra-tools`"), ("a=b, c=d", " --tools a=b --tools c=d`")):
            with store.writing() as session:
                session.execute(text("UPDATE attempt SET setup = :setup WHERE arm = 'new'"), {"setup": setup})
            assert options in markdown(tonight(store, SUITE, last))


@pytest.fixture
def suites(bench: Path) -> Path:
    (bench / "suites").mkdir()
    write(bench, "nightly", "name: nightly\nscenarios: [first-bug]\nblocks: 1\nbaseline_nights: 1\n")
    return bench


def write(bench: Path, name: str, text: str) -> Path:
    path = bench / "suites" / f"{name}.yaml"
    path.write_text(text, "utf-8")
    return path


def test_a_suite_is_found_by_its_name_or_its_file(suites: Path) -> None:
    by_name, by_file = find_suite(suites, "nightly"), find_suite(suites, "suites/nightly.yaml")
    assert by_name == by_file
    assert (365, 1, ("first-bug",)) == (by_name.false_alarm_nights, by_name.baseline_nights, by_name.scenarios)
    with pytest.raises(UsageError, match="did you mean 'nightly'"):
        find_suite(suites, "nigthly")


@pytest.mark.parametrize(
    ("text", "gist"),
    [
        ("name: bad\nscenarios: [first-bgu]\n", ":2: no scenario 'first-bgu'; did you mean 'first-bug'?"),
        ("name: other\nscenarios: [first-bug]\n", ":1: name must be the file's, 'bad', got 'other'"),
        ("name: bad\nscenarios: []\n", ":2: scenarios is empty"),
        ("name: bad\nscenarios:\n  - first-bug\n  - first-bug\n", ":4: scenario 'first-bug' is named twice"),
        ("name: bad\nscenarios: first-bug\n", ":2: scenarios must be a list, got 'first-bug'; write [first-bug]"),
        ("name: bad\n", ":1: missing key 'scenarios'"),
        ("name: bad\nscenarios: [first-bug]\nblock: 3\n", ":3: unknown key 'block'; did you mean 'blocks'?"),
        ("name: bad\nscenarios: [first-bug]\nblocks: 0\n", ":3: blocks must be at least 1, got 0"),
        ("name: bad\nscenarios: [first-bug]\nfalse_alarm_nights: often\n", "must be a whole number, got 'often'"),
        ("name: bad\nscenarios: [first-bug]\nmodels: {careful: 3}\n", ":3: models.careful must be text, got 3"),
        ("name: bad\nname: bad\nscenarios: [first-bug]\n", ":2: duplicate key 'name'"),
        ("- first-bug\n", "must be keys and values"),
        ("", ":1: the file is empty"),
        ("name: [\n", "bad.yaml:"),
    ],
)
def test_a_wrong_suite_file_is_explained_with_file_and_line(suites: Path, text: str, gist: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_suite(write(suites, "bad", text), suites)
    assert gist in "\n".join(caught.value.lines())


MONDAY = datetime.combine(date(2026, 3, 2), time(12)).astimezone()
"""At noon wherever this is run: a schedule is in local time."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('at: "12:30"\n', ["Mon 12:30", "Tue 12:30"]),
        ("at: 12:30\ndays: daily\n", ["Mon 12:30", "Tue 12:30"]),
        ("at: 2:30\ndays: mon-fri\n", ["Tue 02:30", "Wed 02:30", "Thu 02:30", "Fri 02:30", "Mon 02:30"]),
        ("at: 12:00\ndays: [mon, thu]\n", ["Thu 12:00", "Mon 12:00"]),
        ("at: 12:00\ndays: sat-sun\n", ["Sat 12:00", "Sun 12:00", "Sat 12:00"]),
        ("at: 11:59\ndays: mon\n", ["Mon 11:59"]),
    ],
)
def test_a_schedule_says_when_the_next_night_begins(suites: Path, text: str, expected: list[str]) -> None:
    schedule, moment, found = load_schedule(write(suites, "when", text), suites), MONDAY, []
    for _ in expected:
        moment = schedule.next_after(moment.astimezone())
        found.append(f"{moment:%a %H:%M}")
    assert expected == found


@pytest.mark.parametrize(
    ("text", "gist"),
    [
        ("at: 25:00\n", ":1: at must be a time of day, such as \"02:30\", got '25:00'"),
        ("days: daily\n", "at must be a time of day"),
        ('at: "02:30"\ndays: weekdays\n', ":2: days must be daily, mon-fri or a list of days, got 'weekdays'"),
        ('at: "02:30"\nday: mon\n', ":2: unknown key 'day'; did you mean 'days'?"),
    ],
)
def test_a_wrong_schedule_is_explained(suites: Path, text: str, gist: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_schedule(write(suites, "when", text), suites)
    assert gist in "\n".join(caught.value.lines())


def test_night_after_night_waits_runs_and_ends_when_interrupted() -> None:
    clock, ran, said = [MONDAY.astimezone()], [], []

    def sleep(seconds: float) -> None:
        clock[0] += timedelta(seconds=seconds)

    def night() -> None:
        ran.append(f"{clock[0]:%a %H:%M}")
        clock[0] += timedelta(minutes=90)
        if len(ran) == 2:
            raise KeyboardInterrupt

    local = clock[0] + timedelta(hours=1)
    with pytest.raises(KeyboardInterrupt):
        night_after_night(
            Schedule(local.time(), frozenset(range(7))), night, said.append, clock=lambda: clock[0], sleep=sleep
        )
    assert [f"{local:%a %H:%M}", f"{local + timedelta(days=1):%a %H:%M}"] == ran
    assert 2 == len(said)


@pytest.mark.slow
def test_rehearsed_nights_can_be_tried_and_stay_out_of_the_real_history(
    suites: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    here = ["-C", str(suites), "nightly", "nightly"]
    assert 3 == run_app([*here, "--rehearse"])
    assert "never part of that of real nights" in " ".join(capfd.readouterr().out.split())
    summary = suites / "summary.md"
    assert 0 == run_app([*here, "--rehearse", "--once", "--summary", str(summary), "--json"])
    said = json.loads(capfd.readouterr().out)
    assert (True, 0, ["watched"] * 2) == (said["rehearsal"], said["alarms"], [c["state"] for c in said["charts"]])
    assert summary.read_text("utf-8").startswith("# Nightly nightly: no alarm\n")
    assert 0 == run_app([*here, "--rehearse", "--report"])
    assert 2 == run_app([*here, "--report"])
    assert "no night of nightly is stored yet" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "gist"),
    [
        (["nope"], "no suite 'nope'"),
        (["nightly", "--schedule", "x", "--once"], "--schedule runs night after night"),
        (["nightly", "--schedule", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["nightly", "--summary", "nowhere/out.md"], "the summary could not be written"),
        (["nightly"], "needs ANTHROPIC_API_KEY"),
    ],
)
def test_bad_input_exits_2_before_anything_is_run(
    suites: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], options: list[str], gist: str
) -> None:
    monkeypatch.chdir(suites)
    for key in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(key, raising=False)
    assert 2 == run_app(["nightly", *options])
    assert gist in capfd.readouterr().err


@pytest.mark.slow
def test_ctrl_c_ends_the_waiting(suites: Path) -> None:
    write(suites, "when", "at: 04:00\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "crucible", "nightly", "nightly", "--schedule", "suites/when.yaml", "--rehearse"],
        cwd=suites, env=os.environ | {"TZ": "UTC"}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert "the next night begins" in process.stderr.readline()
    process.send_signal(2)
    assert "interrupted; what was made is stored" in process.communicate(timeout=600)[1]
    assert 130 == process.returncode


EXAMPLES = Path(__file__).parents[2] / "examples" / "nightly"


def test_the_examples_are_files_that_are_read(suites: Path) -> None:
    for name in ("asd-vs-baseline", "audit-migration"):
        (suites / "scenarios" / f"{name}.md").write_text("")
    suite = write(suites, "nightly", (EXAMPLES / "nightly.yaml").read_text())
    assert 365 == load_suite(suite, suites).false_alarm_nights
    assert frozenset(range(5)) == load_schedule(EXAMPLES / "schedule.yaml", suites).days
    workflow = yaml.safe_load((EXAMPLES / "github-actions.yaml").read_text())
    assert any("crucible nightly nightly" in step.get("run", "") for step in workflow["jobs"]["nightly"]["steps"])


@pytest.mark.parametrize("file", ["crontab", "crucible-nightly.service", "github-actions.yaml"])
def test_every_example_runs_the_command_as_it_is(file: str) -> None:
    assert "crucible nightly nightly --summary" in (EXAMPLES / file).read_text()


def scripts(file: Path) -> dict[str, str]:
    """The steps of a workflow that run something, by name."""
    (job,) = yaml.safe_load(file.read_text())["jobs"].values()
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


def bash(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """As GitHub runs it."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    known = {"PATH": path, "HOME": str(folder), "GITHUB_STEP_SUMMARY": str(folder / "summary.md"), **environment}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=known, capture_output=True, text=True
    )


@pytest.mark.parametrize("file", ["nightly/github-actions.yaml", "ci/confirm.yaml"])
def test_the_workflows_install_crucible_from_its_repository_at_a_commit(file: str, tmp_path: Path) -> None:
    """Never by its name alone, which may be somebody else's elsewhere; what is not set is asked for."""
    script = scripts(EXAMPLES.parent / file)["Crucible"]
    for missing, given in (("REPOSITORY", {}), ("COMMIT", {"REPOSITORY": "https://example.org/crucible"})):
        made = bash(script, tmp_path, **given)
        assert 0 != made.returncode
        assert f"set the variable CRUCIBLE_{missing}" in made.stderr
    shown = bash(
        f'pip() {{ echo "$@"; }}; {script}', tmp_path, REPOSITORY="https://example.org/crucible", COMMIT="1a2b"
    )
    assert "install crucible @ git+https://example.org/crucible@1a2b\n" == shown.stdout


def test_a_night_that_cannot_be_run_is_no_alarm(tmp_path: Path) -> None:
    """There is no bench, which is 2; that there is no summary to show must not make it the 1 of an alarm."""
    made = bash(scripts(EXAMPLES / "github-actions.yaml")["One night"], tmp_path)
    assert 2 == made.returncode, made.stderr
    assert "no bench folder" in made.stderr


def test_cron_finds_the_command() -> None:
    """It has next to no PATH."""
    assert "&& .venv/bin/crucible nightly nightly" in (EXAMPLES / "crontab").read_text()
