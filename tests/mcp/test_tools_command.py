"""`crucible tools`, `--tools` and doctor, as their user meets them; and an installation that fails leaves nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from crucible.agents.mcp import install as installing
from crucible.agents.mcp.install import LOCK, MARKER, installed, locked_version
from crucible.cli.app import run_app

Said = tuple[int, str, str]
Cli = Callable[..., Said]
UNREACHABLE = {
    "UV_OFFLINE": "1", "UV_NO_CACHE": "1", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "",
}  # fmt: skip


@pytest.fixture
def cli(bench: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs `crucible ...` in the bench, without keys: its exit code, and what it printed and said beside it."""
    monkeypatch.chdir(bench)
    for key in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(key, raising=False)

    def crucible(*arguments: str) -> Said:
        code = run_app(list(arguments))
        return code, *capfd.readouterr()

    return crucible


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH without what a developer of such servers may have."""
    monkeypatch.setenv("PATH", os.defpath)


def name_servers(bench: Path, *names: str, config: str = "") -> None:
    """The starter scenario's first arm gets these tool servers; crucible.toml gets `config`."""
    scenario = bench / "scenarios" / "first-bug.md"
    text = scenario.read_text("utf-8").replace(
        "  - id: careful\n", f"  - id: careful\n    extra_tools: [{', '.join(names)}]\n"
    )
    scenario.write_text(text, "utf-8")
    with (bench / "crucible.toml").open("a") as file:
        file.write(config)


@pytest.mark.usefixtures("nothing_installed")
def test_list_says_what_is_there_where_from_and_who_names_it(cli: Cli, bench: Path) -> None:
    name_servers(bench, "asd", "mine", "nobody", config='[servers.mine]\ncommand = "sh"\n')
    listed = {one["name"]: one for one in json.loads(cli("tools", "list", "--json")[1])}
    assert ["asd", "ctx", "code-graph", "mine", "nobody"] == list(listed)
    assert ["preset", "crucible.toml", "defined nowhere"] == [listed[n]["said_in"] for n in ("asd", "mine", "nobody")]
    assert [False, True, False] == [listed[name]["there"] for name in ("asd", "mine", "nobody")]
    assert [["first-bug"], []] == [listed[name]["named_by"] for name in ("asd", "ctx")]
    assert "--tools asd=code-graph" in listed["asd"]["get"]


def test_list_works_outside_of_a_bench(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, printed, _ = cli("tools", "list")
    assert (0, True) == (code, "code-graph (preset): " in printed)


@pytest.mark.parametrize("command", [("tools", "list"), ("doctor", "--no-tricks")])
def test_outside_of_a_bench_the_environment_still_says_where_the_cache_is(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("CRUCIBLE_CACHE", str(tmp_path / "empty"))
    assert "its environment is not in the cache" in cli(*command)[1]


def test_a_mistake_in_crucible_toml_is_not_passed_over(cli: Cli, bench: Path) -> None:
    name_servers(bench, "mine", config='[servers.mine]\ncomand = "sh"\n')
    code, _, said = cli("tools", "list")
    assert (2, True) == (code, "unknown key" in said)


@pytest.mark.usefixtures("nothing_installed")
def test_doctor_says_which_servers_are_there_and_how_they_are_had(cli: Cli, bench: Path) -> None:
    name_servers(bench, "asd")
    found = {one["what"]: one for one in json.loads(cli("doctor", "--json", "--no-tricks")[1])}
    assert [None, None] == [found[f"tool server {name}"]["ok"] for name in ("asd", "code-graph")]
    assert "crucible tools install code-graph" in found["tool server code-graph"]["remedy"]
    assert "node" in found


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--tools", "asd"], "--tools takes NAME=SERVER, got 'asd'"),
        (["--tools", "xyz=code-graph"], "--tools xyz=code-graph: no arm that is run has a tool server 'xyz'"),
        (["--tools", "asb=code-graph"], "did you mean 'asd'?"),
        (["--tools", "asd=code-grap"], "there is no tool server 'code-grap'; did you mean 'code-graph'?"),
        (["--tools", "asd=ctx", "--tools", "asd=code-graph"], "puts both 'ctx' and 'code-graph' in the place of 'asd'"),
        (["--tools", "asd=ctx", "--without-extra-tools"], "contradict"),
        (["--tools", "asd=ctx", "--rehearse"], "a rehearsal starts no tool servers"),
        (["--tools", "asd=ctx", "--arm", "baseline"], "no arm that is run has a tool server 'asd'"),
        (["--tools", "asd=code-graph"], "first-bug: tool server 'code-graph' is not installed"),
        ([], "first-bug: tool server 'asd' is not installed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_servers_that_cannot_be_had_are_refused_before_anything_is_made(
    cli: Cli, bench: Path, arguments: list[str], expected: str
) -> None:
    name_servers(bench, "asd")
    code, _, said = cli("run", "first-bug", *arguments)
    assert (2, True) == (code, expected in said), said
    assert not (bench / "results" / "crucible.db").exists()


def test_an_arm_against_itself_can_have_another_server_too(cli: Cli, bench: Path) -> None:
    name_servers(bench, "asd")
    code, _, said = cli("aa", "first-bug", "--arm", "careful", "--tools", "asd=code-graph")
    assert (2, True) == (code, "tool server 'code-graph' is not installed" in said), said


def test_a_rehearsal_needs_no_servers(cli: Cli, bench: Path) -> None:
    name_servers(bench, "asd", "ctx")
    assert 0 == cli("run", "first-bug", "--rehearse", "--dry-run")[0]


@pytest.mark.slow
def test_a_run_without_them_needs_none_and_says_so(cli: Cli, bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-a-dry-run-1")
    name_servers(bench, "asd")
    models = ("--model", "careful=openai/x", "--model", "baseline=openai/x")
    code, _, said = cli("run", "first-bug", "--without-extra-tools", "--dry-run", *models)
    assert (0, True) == (code, "first-bug  careful: without asd" in said), said


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.slow
def test_check_of_a_server_that_is_not_there_or_does_not_start_exits_5(cli: Cli, bench: Path) -> None:
    name_servers(bench, "mine", config='[servers.mine]\ncommand = "sh"\nargs = ["-c", "echo I cannot >&2; exit 3"]\n')
    assert 5 == cli("tools", "check", "asd")[0]
    code, _, said = cli("tools", "check", "mine")
    assert (5, True, True) == (code, "tool server mine" in said, "I cannot" in said), said


def test_check_of_a_name_that_means_nothing_exits_2(cli: Cli) -> None:
    code, _, said = cli("tools", "check", "code-grahp")
    assert (2, True) == (code, "did you mean 'code-graph'?" in said)


def test_only_what_can_be_installed_is_installed(cli: Cli) -> None:
    code, _, said = cli("tools", "install", "asd")
    assert (2, True) == (code, "'asd' cannot be installed here" in said)


@pytest.mark.slow
def test_an_installation_without_a_network_says_so_in_a_line_and_leaves_nothing(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**UNREACHABLE, "CRUCIBLE_CACHE": str(tmp_path / "empty")}.items():
        monkeypatch.setenv(name, value)
    half = installing._place(tmp_path / "empty") / "half"
    half.mkdir(parents=True)
    code, _, said = cli("tools", "install", "code-graph")
    last = [line for line in said.splitlines() if line.startswith("code-graph could not be installed: ")]
    assert (5, 1) == (code, len(last)), said
    assert [] == [path for path in (tmp_path / "empty" / "servers").iterdir() if path.is_dir()]


def test_what_an_interrupted_installation_left_is_not_taken_for_one(tmp_path: Path) -> None:
    folder = installing._place(tmp_path)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    assert installed(tmp_path) is None
    (folder / MARKER).touch()
    assert installed(tmp_path) is not None


def test_every_package_of_the_lock_has_hashes_and_the_server_is_among_them() -> None:
    packages = LOCK.read_text("utf-8").replace("\\\n", " ").splitlines()
    named = [line for line in packages if line and not line.lstrip().startswith("#")]
    assert "0.2.1" == locked_version()
    assert [] == [line for line in named if "--hash=sha256:" not in line]
