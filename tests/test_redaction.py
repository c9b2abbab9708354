"""Keys are kept out of every text; words that only stand in for one are left alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crucible.llm.keys import keys_of
from crucible.redaction import MARK, guard, guard_environment, redact, redact_bytes
from crucible.store.writes import clean

KEY = "sk-test-0123456789-abcdefgh"


def test_a_guarded_key_is_replaced_wherever_it_stands() -> None:
    guard([KEY])
    assert f"a {MARK} b={MARK}" == redact(f"a {KEY} b={KEY}")
    assert f"a {MARK}".encode() == redact_bytes(f"a {KEY}".encode())


def test_a_key_that_begins_with_another_is_replaced_whole() -> None:
    guard([KEY, f"{KEY}-more-of-it"])
    assert MARK == redact(f"{KEY}-more-of-it")


def test_words_in_place_of_a_key_are_left_alone() -> None:
    guard(["none", "loopback", "", None, "12345"])
    assert "none loopback 12345" == redact("none loopback 12345")


def test_variables_are_guarded_by_their_name_or_when_they_are_named() -> None:
    environment = {
        "OTHER_API_KEY": "other-key-0123456789", "AWS_SECRET_ACCESS_KEY": "aws-secret-0123456789",
        "GATEWAY": "gateway-99", "EDITOR": "an-editor-with-1-long-name",
    }  # fmt: skip
    guard_environment(["GATEWAY"], environment)
    assert f"{MARK} {MARK} {MARK} an-editor-with-1-long-name" == redact(" ".join(environment.values()))


def test_the_keys_of_a_models_provider_are_known() -> None:
    assert ["k1"] == keys_of("openai/gpt-x", {"OPENAI_API_KEY": "k1", "ANTHROPIC_API_KEY": "k2"})
    assert [] == keys_of("unknown/model", {"OPENAI_API_KEY": "k1"})


def test_nothing_stored_holds_a_key() -> None:
    guard([KEY])
    assert {"a": [f"x {MARK}"], MARK: 1} == clean({"a": [f"x {KEY}"], KEY: 1})


@given(st.text())
def test_a_text_without_keys_stays_as_it_is(text: str) -> None:
    assert text == redact(text)
