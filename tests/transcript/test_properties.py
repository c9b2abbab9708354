"""What holds for any bytes at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.transcript.neutral import NeutralRun
from crucible.transcript.readers import FORMATS, ReadError, read_transcript
from tests.transcript.samples import SAMPLES, STREAMS, lines

NAMES = st.sampled_from(sorted(SAMPLES))
FORMAT = st.one_of(st.none(), st.sampled_from(sorted(FORMATS)))
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["c1", "success", "result"]),
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "id", "name", "content"]), inner)
    ),
    max_leaves=8,
)
GARBAGE = st.text(
    st.characters(codec="utf-8", exclude_characters='{["\n\r', exclude_categories=["Zs", "Cc"]), min_size=1
)


def read_or_refuse(data: bytes, name: str | None = None) -> NeutralRun | None:
    """The run, checked to be one that can be stored; None where the reader refused in the documented way."""
    try:
        run = read_transcript(data, name)
    except ReadError:
        return None
    assert run.valid == (run.reason is None)
    assert run == NeutralRun.from_json(json.loads(json.dumps(run.to_json(), allow_nan=False).encode("utf-8", "strict")))
    return run


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, part in inner for found in paths(part, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with another one at that place."""
    if not path:
        return new
    if isinstance(value, dict):
        return {key: put(part, path[1:], new) if key == path[0] else part for key, part in value.items()}
    return [put(part, path[1:], new) if index == path[0] else part for index, part in enumerate(value)]


def shuffled(value: Any, draw: Any) -> Any:
    """The value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: shuffled(value[key], draw) for key in keys}
    return [shuffled(part, draw) for part in value] if isinstance(value, list) else value


def documents(name: str) -> list[Any]:
    data = SAMPLES[name]
    return [json.loads(line) for line in data.splitlines()] if name in STREAMS else [json.loads(data)]


@given(st.binary(max_size=200), FORMAT)
def test_any_bytes_give_a_run_with_a_reason_or_a_documented_error(data: bytes, name: str | None) -> None:
    run = read_or_refuse(data, name)
    assert run is None or not run.valid


@given(st.lists(JSON, max_size=4), FORMAT)
def test_any_json_is_read_or_refused(values: list[Any], name: str | None) -> None:
    read_or_refuse(b"\n".join(json.dumps(value).encode() for value in values), name)


@given(st.data(), NAMES)
def test_a_transcript_with_anything_in_any_place_is_read_or_refused(data: st.DataObject, name: str) -> None:
    events = documents(name)
    where = data.draw(st.sampled_from(paths(events)[1:]))
    changed = put(events, where, data.draw(JSON))
    read_or_refuse(b"".join(json.dumps(event).encode() + b"\n" for event in changed), name)


@given(st.data(), NAMES)
def test_a_changed_byte_is_read_or_refused(data: st.DataObject, name: str) -> None:
    sample = bytearray(SAMPLES[name])
    sample[data.draw(st.integers(0, len(sample) - 1))] = data.draw(st.integers(0, 255))
    read_or_refuse(bytes(sample), data.draw(st.sampled_from([None, name])))


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_transcript_cut_at_any_byte_is_never_a_finished_run(name: str) -> None:
    """Unless what was cut away is white space, so that the terminal event was whole."""
    data = SAMPLES[name] if name in STREAMS else lines(*documents(name))
    for size in range(len(data.rstrip())):
        run = read_transcript(data[:size], name)
        assert not run.valid, size
        assert run.reason
    assert read_transcript(data.rstrip(), name).valid


@given(st.data(), NAMES)
def test_the_order_of_keys_changes_nothing(data: st.DataObject, name: str) -> None:
    mixed = b"".join(json.dumps(shuffled(event, data.draw)).encode() + b"\n" for event in documents(name))
    assert read_transcript(SAMPLES[name]) == read_transcript(mixed)


@given(NAMES, st.lists(GARBAGE, min_size=1, max_size=5), st.booleans())
def test_garbage_lines_change_nothing_but_their_count(name: str, garbage: list[str], before: bool) -> None:
    noise = "".join(line + "\n" for line in garbage).encode()
    expected = read_transcript(SAMPLES[name]).to_json()
    data = noise + SAMPLES[name] if before else SAMPLES[name] + noise
    assert expected | {"skipped_lines": len(garbage)} == read_transcript(data).to_json()


@given(st.data(), st.sampled_from(STREAMS))
def test_unknown_events_change_nothing(data: st.DataObject, name: str) -> None:
    events = SAMPLES[name].splitlines(keepends=True)
    events.insert(data.draw(st.integers(0, len(events))), b'{"type": "of_tomorrow", "payload": {"tool": "delete"}}\n')
    assert read_transcript(SAMPLES[name]) == read_transcript(b"".join(events))
