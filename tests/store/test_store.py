"""The store: migrated on open, one writer, append-only, nothing a database would choke on."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import inspect
from sqlmodel import SQLModel, select

from crucible.errors import StoreError
from crucible.runner.taking import end_in_flight
from crucible.store import queries
from crucible.store.engine import HEAD
from crucible.store.standings import leaderboard
from crucible.store.tables import AttemptRow, EventRow, PlannedRow, RunRow, ScenarioRow, TotalRow
from crucible.store.writes import Store, clean, now


@pytest.fixture
def store(tmp_path: Path):  # type: ignore[no-untyped-def] # a generator fixture
    with Store(tmp_path / "deep" / "store.db") as opened:
        opened.ensure(scenario())
        yield opened


def scenario(name: str = "s") -> ScenarioRow:
    return ScenarioRow(hash=f"hash-{name}", name=name, text="", fixture_digest="", reference_text="", created_at=now())


def run(rehearsal: bool = False) -> RunRow:
    return RunRow(
        created_at=now(), status="done", rehearsal=rehearsal, seed=1, blocks=2, sandbox="overlay",
        judge="facts", judge_samples=1, parallel=1, version="0", bench=".",
    )  # fmt: skip


def planned(position: int, arm: str = "a", block: int = 1) -> PlannedRow:
    return PlannedRow(
        run_id=0, position=position, scenario_hash="hash-s", block=block, arm=arm, model="m", baseline=arm == "b"
    )


def attempt(run_id: int, arm: str = "a", block: int = 1, rehearsal: bool = False) -> AttemptRow:
    return AttemptRow(
        run_id=run_id, scenario_hash="hash-s", scenario="s", arm=arm, block=block, retry=0, baseline=False, model="m",
        rehearsal=rehearsal, sandbox="overlay", started_at=now(),
    )  # fmt: skip


def test_a_new_store_is_at_the_newest_version_and_has_every_table(store: Store) -> None:
    names = set(inspect(store.engine).get_table_names())
    assert set(SQLModel.metadata.tables) <= names
    with sqlite3.connect(store.where) as raw:
        assert [(HEAD,)] == raw.execute("select version_num from alembic_version").fetchall()
        assert [("wal",)] == raw.execute("pragma journal_mode").fetchall()


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index event_thin")
def test_migrations_and_tables_agree(store: Store) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with store.engine.connect() as connection:
        assert [] == compare_metadata(MigrationContext.configure(connection), SQLModel.metadata)


def test_an_old_store_keeps_its_rows_and_learns_which_arms_went_without_their_tools(store: Store) -> None:
    """Made at the newest version, taken down to the first and opened again, as one of an old Crucible is."""
    text = "---\narms:\n  - id: a\n    extra_tools: [asd]\n  - id: b\n---\n"
    made = scenario("old").model_copy(update={"text": text})
    store.ensure(ScenarioRow(**made.model_dump()))
    row = run()
    row.without_extra_tools = True
    run_id = store.create_run(row, [planned(0)])
    for arm in ("a", "b"):
        one = attempt(run_id, arm)
        one.scenario_hash = "hash-old"
        store.start_attempt(one)
    take_down(store, "0001")
    with Store(store.where) as again, again.reading() as session:
        found = {a.arm: a.setup for a in session.exec(select(AttemptRow)).all()}
    assert {"a": "without extra tools", "b": ""} == found


def take_down(store: Store, version: str) -> None:
    from alembic import command
    from alembic.config import Config

    import crucible.store.engine

    config = Config()
    config.set_main_option("script_location", str(Path(crucible.store.engine.__file__).with_name("migrations")))
    with store.engine.connect().execution_options(writing=True) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, version)
        connection.commit()


def test_a_store_of_a_newer_version_is_refused_with_what_to_do(store: Store) -> None:
    with sqlite3.connect(store.where) as raw:
        raw.execute("update alembic_version set version_num = '9999'")
    with pytest.raises(StoreError, match="9999") as caught:
        Store(store.where)
    assert "upgrade" in (caught.value.hint or "")


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"this is not a database, but long enough to be read as one" * 20)
    with pytest.raises(StoreError, match="cannot be used"):
        Store(tmp_path / "x.db")


def test_an_attempt_is_final_once(store: Store) -> None:
    run_id = store.create_run(run(), [planned(0)])
    attempt_id = store.start_attempt(attempt(run_id))
    assert store.finish_attempt(attempt_id, {"ending": "finished", "cause": "agent", "counted": True})
    assert not store.finish_attempt(attempt_id, {"ending": "cancelled", "counted": False})
    assert "finished" == queries.attempt_row(store, attempt_id).ending


def test_attempts_found_running_are_marked_and_run_again(store: Store) -> None:
    run_id = store.create_run(run(), [planned(0, "a"), planned(1, "b")])
    first = store.start_attempt(attempt(run_id))
    assert 1 == end_in_flight(store, run_id)
    again = store.start_attempt(attempt(run_id))
    store.finish_attempt(again, {"ending": "finished", "cause": "agent", "counted": True})
    record = queries.run_record(store, run_id)
    assert record is not None
    assert again == record.standing()["hash-s", "a", 1].id != first
    assert ["b"] == [slot.arm for slot in record.open_slots()]


def test_rehearsals_are_never_in_the_leaderboard(store: Store) -> None:
    for rehearsal in (True, False):
        run_id = store.create_run(run(rehearsal), [planned(0)])
        attempt_id = store.start_attempt(attempt(run_id, rehearsal=rehearsal))
        store.finish_attempt(attempt_id, {"ending": "finished", "cause": "agent", "counted": True, "passed": True})
    (line,) = leaderboard(store)
    assert (1, 1) == (line.counted, line.passed)


def test_means_of_the_leaderboard_leave_out_what_is_unknown_and_say_so(store: Store) -> None:
    run_id = store.create_run(run(), [planned(0), planned(1, block=2), planned(2, block=3)])
    for block, (counted, cost, total) in enumerate([(True, 0.5, 0.8), (True, None, None), (False, 9.0, None)], 1):
        attempt_id = store.start_attempt(attempt(run_id, block=block))
        store.finish_attempt(
            attempt_id,
            {"ending": "x", "cause": "agent", "counted": counted, "passed": counted, "cost_usd": cost},
            [],
        )
        if total is not None:
            store.ensure(judge())
            store.add_judging(attempt_id, "j", [], [], TotalRow(
                attempt_id=attempt_id, judge_id="j", seq=0, value=total, partial=None, weight_scored=1, missing=[]
            ))  # fmt: skip
    (line,) = leaderboard(store)
    assert (2, 1, 2, 1, 1) == (line.counted, line.not_counted, line.passed, line.scored, line.priced)
    assert (0.8, 0.5) == (line.mean_total, line.mean_cost_usd)


def judge():  # type: ignore[no-untyped-def] # a row
    from crucible.store.tables import JudgeRow

    return JudgeRow(id="j", model="facts", samples=0, prompt_hash="", rubric_hash="", created_at=now())


def test_text_no_database_takes_is_made_storable(store: Store) -> None:
    run_id = store.create_run(run(), [planned(0)])
    attempt_id = store.start_attempt(attempt(run_id))
    store.add_events([EventRow(attempt_id=attempt_id, seq=0, kind="noted", turn=0, at=0.0, data="a\x00b\udcff")])
    with store.reading() as session:
        assert r"a\x00b\udcff" == session.exec(select(EventRow.data)).one()


def test_nan_is_refused() -> None:
    for value in (math.nan, math.inf, {"a": [math.nan]}):
        with pytest.raises(ValueError, match="cannot be stored"):
            clean(value)


@pytest.mark.slow
def test_many_writers_wait_for_each_other(store: Store) -> None:
    run_id = store.create_run(run(), [planned(0)])
    code = (
        "import sys\nfrom crucible.store.tables import AttemptRow\nfrom crucible.store.writes import Store, now\n"
        "with Store(sys.argv[1]) as store:\n"
        "    for _ in range(25):\n"
        "        store.start_attempt(AttemptRow(run_id=int(sys.argv[2]), scenario_hash='hash-s', scenario='s', arm='a',\n"
        "            block=1, retry=0, baseline=False, model='m', rehearsal=False, sandbox='overlay', started_at=now()))\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, store.where, str(run_id)], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    assert [(0, b"")] * 3 == [(w.wait(), w.communicate()[1]) for w in writers]
    record = queries.run_record(store, run_id)
    assert record is not None
    assert list(range(75)) == sorted(a.retry for a in record.attempts)
