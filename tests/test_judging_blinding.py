"""Blinding: nothing that names an arm, a model or a tool server reaches a judge, and ordinary words stay."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.judging.blinding import Blinder, Secrets, secrets_of, visible
from crucible.scenario.schema import Arm, Dimension, Rubric, Scenario
from crucible.transcript.events import Started

SECRETS = Secrets(
    arms=("assisted", "baseline"),
    models=("anthropic/claude-sonnet-4-6", "openrouter/openai/gpt-4o-mini"),
    servers=("asd", "ctx"),
    tools=("asd__code_search", "ctx__recall", "ctx__list-plans"),
    prompts=("You have a code graph: use it before you grep",),
)
BLIND = Blinder(SECRETS)


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        ("the agent arm", "the baseline arm"),
        ("I am model.", "I am claude-sonnet-4-6."),
        ("model wrote it", "anthropic/claude-sonnet-4-6 wrote it"),
        ("As model, made by model", "As Claude, made by Anthropic"),
        ("model and model", "openai/gpt-4o-mini and GPT-4.1-nano-2025-04-14"),
        ("calls tool_1", "calls asd__code_search"),
        ("calls tool_3, tool_2", "calls mcp__ctx__recall, ctx__list-plans"),
        ("calls tool", "calls asd__unheard_of"),
        ("ask server for it", "ask CTX for it"),
        ("instructions.", "You have a  code graph:\n use it before you grep."),
        (r"print('\nagent')", r"print('\nbaseline')"),
        (r'{"text": "instructions"}', r'{"text": "You have a code graph:\nuse it before you grep"}'),
    ],
)
def test_each_kind_of_secret_becomes_a_neutral_word(expected: str, shown: str) -> None:
    assert expected == BLIND(shown)


@pytest.mark.parametrize(
    "text",
    [
        "context = contexts['baselines'] + unassisted",
        "baseline_price = ctx_get(basdx)",
        "a gptx claudette",
        "tool_1 agent model server",
    ],
)
def test_words_that_only_contain_a_secret_stay(text: str) -> None:
    assert text == BLIND(text)


def test_an_arm_of_one_or_two_letters_stays_so_that_articles_do() -> None:
    text = "a bug in a b test"
    assert text == Blinder(Secrets(arms=("a", "b")))(text)


def test_a_claude_md_file_keeps_its_ending() -> None:
    assert BLIND("CLAUDE.md") == "model.md"


def test_an_arm_called_like_a_neutral_word_is_hidden_too() -> None:
    blind = Blinder(Secrets(arms=("agent", "tool_1"), servers=("instructions",), tools=("instructions__x",)))
    assert blind("agent and tool_1 use instructions") == "agentx and agentx use server"
    assert not _tokens(("agent", "tool_1", "instructions"), blind("agent tool_1 instructions instructions__x"))


def test_the_same_secret_gets_the_same_word_wherever_it_stands() -> None:
    first, second = Blinder(SECRETS), Blinder(SECRETS)
    assert first("asd__code_search") == second("x asd__code_search")[2:]


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("red\n\ttab", "\x1b[31mred\x1b[0m\n\ttab"),
        ("a<U+200B>b", "a\u200bb"),
        ("x<U+202E>y", "x\u202ey"),
        ("end\u240d\n", "end\r\n"),
        ("nul\u2400 del\u2421", "nul\x00 del\x7f"),
        ("<U+DC80>.py", "\udc80.py"),
        ("caf\u00e9 \u4e16\u754c", "caf\u00e9 \u4e16\u754c"),
        ("title", "\x1b]0;window\x07title"),
    ],
)
def test_hidden_characters_are_shown_and_colours_dropped(expected: str, text: str) -> None:
    assert expected == visible(text)


def test_a_hidden_character_beside_a_name_does_not_hide_it() -> None:
    assert BLIND("\u200bbaseline\u200b") == "<U+200B>agent<U+200B>"


FRAGMENTS = [*SECRETS.arms, *SECRETS.models, "claude-sonnet-4-6", "gpt-4o-mini", *SECRETS.servers, *SECRETS.tools]
GLUE = [" ", "\n", "-", "/", ".", "_", "x", "(", "\\n", "\u200b", "\x1b[1m", '"', "mcp__", "CTX", "é"]


@given(st.lists(st.sampled_from([*FRAGMENTS, *GLUE]), max_size=12).map("".join))
def test_no_secret_is_left_as_a_token_however_texts_are_glued(text: str) -> None:
    blinded = BLIND(text)
    assert not _tokens(FRAGMENTS, blinded)
    assert blinded == BLIND(blinded)


NAMES = st.text("ab-.x1", min_size=3, max_size=6).filter(lambda name: name[0].isalnum())


@given(st.lists(NAMES, max_size=4), st.lists(NAMES, max_size=3), st.text("ab-.x1 _/", max_size=60))
def test_no_name_is_left_whatever_arms_and_servers_are_called(arms: list[str], servers: list[str], text: str) -> None:
    blind = Blinder(Secrets(arms=tuple(arms), servers=tuple(servers)))
    assert not _tokens([*arms, *servers], blind(text))


@given(st.text())
def test_blinding_takes_any_text_and_its_result_can_be_sent(text: str) -> None:
    BLIND(text).encode("utf-8")


def test_secrets_come_from_both_arms_and_from_what_the_attempt_had() -> None:
    scenario = _scenario("Fix the bug in the store package, not the tests.")
    started = Started(
        at=0,
        turn=0,
        system_prompt="Work alone and never ask anybody.",
        task="t",
        tools=("bash", "asd__callers", "read_file"),
        first_request_sha256="0",
    )
    expected = Secrets(
        arms=("assisted", "baseline"),
        models=("anthropic/claude-sonnet-4-6", "openai/other"),
        servers=("asd",),
        tools=("asd__callers",),
        prompts=("Use the code graph of asd first", "Work alone and never ask anybody"),
    )
    assert expected == secrets_of(scenario, started, ["openai/other"])


def test_a_prompt_line_that_the_task_says_too_stays() -> None:
    assert (
        secrets_of(_scenario("Note: use the code graph of asd first. Use the code graph of asd first!")).prompts == ()
    )


def _scenario(task: str) -> Scenario:
    model = "anthropic/claude-sonnet-4-6"
    return Scenario(
        name="s",
        fixture_path="f",
        test_command="t",
        reference_fix="r",
        task_prompt=task,
        arms=(
            Arm(
                id="assisted",
                model=model,
                extra_tools=("asd",),
                system_prompt="# Use the code graph of asd first.\nBe brief.",
            ),
            Arm(id="baseline", model=model),
        ),
        rubric=Rubric(dimensions=(Dimension(name="correctness", weight=1.0, criteria="c"),)),
    )


def _tokens(secrets: list[str] | tuple[str, ...], text: str) -> list[str]:
    """The secrets that stand in a text as whole tokens."""
    return [name for name in secrets if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)]
