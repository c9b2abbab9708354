"""What a model writes is stored, whatever it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crucible.runner.recorder import Recorder
from crucible.store.tables import AttemptRow, RunRow, ScenarioRow
from crucible.store.writes import Store, now
from crucible.transcript.events import EVENT, Answered

WILD = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner, max_size=3)
    ),
    max_leaves=6,
)


def answered(arguments: dict[str, Any], text: str = "") -> Answered:
    return Answered(
        at=0, turn=1, call_id="c", tool="bash", arguments=arguments, ok=True, text=text, text_size=0, seconds=0,
        exit_code=0, timed_out=False, restored=(), limit=None,
    )  # fmt: skip


def test_half_a_surrogate_pair_in_a_call_is_stored_and_crashes_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        store.ensure(ScenarioRow(hash="h", name="s", text="", fixture_digest="", reference_text="", created_at=now()))
        run = RunRow(
            created_at=now(), status="running", rehearsal=False, seed=1, blocks=1, sandbox="overlay", judge="facts",
            judge_samples=1, parallel=1, version="0", bench=".",
        )  # fmt: skip
        attempt = AttemptRow(
            run_id=store.create_run(run, []), scenario_hash="h", scenario="s", arm="a", block=1, retry=0, baseline=False,
            model="m", rehearsal=False, sandbox="overlay", started_at=now(),
        )  # fmt: skip
        record = Recorder(store, store.start_attempt(attempt))
        record(answered({"command": "echo \ud800", "\udfff": [float("nan")]}, "half \udc80"))
        record.flush()
        with store.reading() as session:
            from sqlmodel import select

            from crucible.store.tables import EventRow

            (row,) = session.exec(select(EventRow)).all()
    event = EVENT.validate_json(row.data)
    assert isinstance(event, Answered)
    assert ("half \\udc80", {"command": "echo \\ud800", "\\udfff": [None]}) == (event.text, event.arguments)


@given(st.dictionaries(st.text(st.characters(exclude_categories=())), WILD, max_size=4))
def test_any_arguments_become_json_that_is_read_again(arguments: dict[str, Any]) -> None:
    record = Recorder(None, 1)  # type: ignore[arg-type] # nothing is written
    record.events.append(answered(arguments))
    (row,) = record.take()
    assert isinstance(EVENT.validate_json(row.data), Answered)


def test_arguments_that_nest_too_deeply_to_be_read_again_are_cut_there() -> None:
    """What an agent CLI says of its calls is not checked as a model's calls are; all the rest of the event stays."""
    deep: dict[str, Any] = {}
    for _ in range(900):
        deep = {"in": deep}
    record = Recorder(None, 1)  # type: ignore[arg-type] # nothing is written
    record.events += [answered({"deep": deep, "flat": 1}, "said"), answered({"deep": deep["in"]}, "\ud800")]
    first, second = (EVENT.validate_json(row.data) for row in record.take())
    assert isinstance(first, Answered)
    assert isinstance(second, Answered)
    assert ("said", "\\ud800") == (first.text, second.text)
    assert 1 == (first.arguments or {})["flat"]
    assert "[nested too deeply]" in str(first.arguments)
