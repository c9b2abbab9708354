"""From the name of a tool server to how it is started: who says it, what is shown inside, what is said of one not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from crucible.agents.mcp.plans import ServerPlan, plan_servers, startup_hint
from crucible.agents.mcp.programs import find
from crucible.errors import CrucibleError, PreflightError, UsageError
from crucible.redaction import MARK, redact
from crucible.servers import Server
from crucible.settings import Settings

SYSTEM = "sh"


def plan(
    name: str, scenario: Mapping[str, Server] | None = None, config: Mapping[str, Server] | None = None, **replaced: str
) -> ServerPlan:
    return plan_servers([name], scenario or {}, Settings(servers=dict(config or {})), replaced)[name]


def server(command: str = SYSTEM, **said: Any) -> Server:
    return Server.model_validate({"command": command, **said})


def refusal(*arguments: Any, **replaced: str) -> CrucibleError:
    with pytest.raises(CrucibleError) as refused:
        plan(*arguments, **replaced)
    return refused.value


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in front of PATH."""
    folder = tmp_path / "on-path"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def test_the_scenario_comes_before_crucible_toml_and_that_before_a_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    scenario, config = {"asd": server(args=["scenario"])}, {"asd": server(args=["config"])}
    assert ("sh", "scenario") == plan("asd", scenario, config).command
    assert ("sh", "config") == plan("asd", {}, config).command
    assert "is not installed" in refusal("asd").message


def test_what_a_run_puts_in_its_place_comes_before_all_and_keeps_the_name() -> None:
    found = plan("asd", {"asd": server(args=["scenario"])}, {"mine": server(args=["mine"])}, asd="mine")
    assert ("asd", "sh mine", ("sh", "mine")) == (found.name, found.what, found.command)


def test_only_crucible_toml_and_presets_can_take_a_place() -> None:
    refused = refusal("asd", {"other": server()}, {"mine": server()}, asd="mien")
    assert isinstance(refused, UsageError)
    assert "--tools asd=mien: there is no tool server 'mien'; did you mean 'mine'?" == refused.message


def test_a_name_that_means_nothing_is_refused_with_the_nearest_and_three_ways_out() -> None:
    refused = refusal("notes", {"note": server()})
    assert isinstance(refused, UsageError)
    assert "there is no tool server 'notes'; did you mean 'note'?" == refused.message
    for way in ("[servers.notes]", "--tools notes=code-graph", "--without-extra-tools"):
        assert way in (refused.hint or "")


@pytest.mark.parametrize(("name", "instead"), [("asd", "--tools asd=code-graph"), ("ctx", "--tools ctx=NAME")])
def test_an_absent_preset_offers_another_and_puts_none_in_its_place(
    name: str, instead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A code graph is no memory: it is not offered for one."""
    monkeypatch.setenv("PATH", os.defpath)
    refused = refusal(name)
    assert isinstance(refused, PreflightError)
    for way in ("brew install", instead, "--without-extra-tools"):
        assert way in (refused.hint or "")


def test_all_that_is_absent_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    with pytest.raises(PreflightError) as refused:
        plan_servers(["asd", "ctx"], {}, Settings(), {})
    for said in ("'asd' is not installed", "--tools asd=code-graph", "'ctx' is not installed", "--tools ctx=NAME"):
        assert said in refused.value.message


@pytest.mark.parametrize(
    ("command", "network", "hint"),
    [
        (("/opt/py/bin/python", "{file}"), False, "the sandbox does not show {file}: name it, or its folder, under `folders`"),
        (("npx", "-y", "a-server"), False, "npx fetches a program, and there is no network"),
        (("npx", "-y", "a-server"), True, None),
        (("python3", "-m", "mine"), False, "python3 means the sandbox's own, without your packages"),
        (("sh", "/tmp", "/workspace/x", "/no/such/file", "/usr/bin/env"), False, None),
    ],
)  # fmt: skip
def test_why_a_server_may_not_start_is_said(
    tmp_path: Path,
    command: tuple[str, ...],
    network: bool,
    hint: str | None,
) -> None:
    (tmp_path / "server.py").touch()
    words = tuple(word.format(file=tmp_path / "server.py") for word in command)
    plan = ServerPlan("mine", " ".join(command), words)
    found = startup_hint(plan, "No module named 'mine'", [Path("/somewhere")], network=network)
    assert (found or "").startswith((hint or "").format(file=tmp_path / "server.py"))
    assert (hint is None) is (found is None)
    assert "does not show" not in (startup_hint(plan, "", [tmp_path], network=network) or "")


def test_an_absent_code_graph_says_how_it_is_installed(tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="'code-graph' is not installed") as refused:
        plan_servers(["code-graph"], {}, Settings(cache=str(tmp_path)), {})
    assert "crucible tools install code-graph" in (refused.value.hint or "")
    assert "=code-graph" not in (refused.value.hint or "")


def test_a_command_that_is_not_there_is_refused_before_the_run() -> None:
    refused = refusal("mine", {"mine": server("no-such-command")})
    assert isinstance(refused, PreflightError)
    assert "tool server 'mine': there is no command 'no-such-command'" == refused.message
    assert "no command '/no/such/file'" in refusal("mine", {"mine": server("/no/such/file")}).message


def test_a_file_that_cannot_be_run_is_no_command(tmp_path: Path) -> None:
    (tmp_path / "server").write_text("#!/bin/sh\n")
    assert "there is no command" in refusal("mine", {"mine": server(str(tmp_path / "server"))}).message


def test_what_prepares_a_server_is_found_and_shown_like_it(on_path: Path) -> None:
    indexer = program(on_path / "indexer")
    found = plan("mine", {"mine": server(prepare=[["indexer", "--all"]])})
    assert (((str(indexer), "--all"),), (indexer,)) == (found.prepare, found.shown)
    assert "no command 'no-indexer'" in refusal("mine", {"mine": server(prepare=[["no-indexer"]])}).message


def test_a_relative_path_is_not_guessed_at() -> None:
    refused = refusal("mine", {"mine": server("./tools/server")})
    assert ("neither a command nor an absolute path" in refused.message, True) == (
        True,
        "/workspace/tools/server" in (refused.hint or ""),
    )


@pytest.mark.parametrize("command", ["python3", "python", "sh", "bash", "/workspace/tools/server"])
def test_the_sandbox_s_own_programs_are_left_to_it(command: str) -> None:
    found = plan("mine", {"mine": server(command, args=["x"])})
    assert ((command, "x"), ()) == (found.command, found.shown)


def test_of_a_single_program_only_its_file_is_shown(tmp_path: Path) -> None:
    path = program(tmp_path / "bin" / "server")
    (tmp_path / "bin" / "private").write_text("secret")
    found = plan("mine", {"mine": server(str(path))})
    assert ((str(path),), (path,)) == (found.command, found.shown)


def test_a_program_is_called_by_the_name_of_its_link(on_path: Path, tmp_path: Path) -> None:
    real = program(tmp_path / "opt" / "many-in-one")
    (on_path / "server").symlink_to(real)
    found = plan("mine", {"mine": server("server")})
    assert ((str(on_path / "server"),), (on_path / "server",)) == (found.command, found.shown)


def test_a_virtual_environment_is_shown_whole_with_its_interpreter(on_path: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    script = program(home / "bin" / "server", f"#!{home}/bin/python3\n")
    (home / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    (home / "pyvenv.cfg").write_text(f"home = {Path(os.path.realpath(sys.executable)).parent}\n")
    (on_path / "server").symlink_to(script)  # as pipx and uv do
    found = plan("mine", {"mine": server("server")})
    assert ((str(script),), home) == (found.command, found.shown[0])
    base = Path(os.path.realpath(sys.executable)).parents[1]
    assert base in found.shown or base.is_relative_to("/usr")


def test_the_interpreter_of_an_environment_is_not_followed_to_where_it_comes_from(tmp_path: Path) -> None:
    home = tmp_path / "venv"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    (home / "pyvenv.cfg").write_text("")
    found = plan("mine", {"mine": server(str(home / "bin" / "python3"), args=["-m", "server"])})
    assert (str(home / "bin" / "python3"), "-m", "server") == found.command


def test_of_a_node_program_its_modules_are_shown(on_path: Path, tmp_path: Path) -> None:
    modules = tmp_path / "lib" / "node_modules"
    script = program(modules / "server" / "dist" / "cli.js", "#!/usr/bin/env sh\n")
    (on_path / "server").symlink_to(script)
    found = plan("mine", {"mine": server("server")})
    assert ((str(script),), (modules,)) == (found.command, found.shown)


def test_an_interpreter_outside_of_the_system_comes_with_its_script(on_path: Path, tmp_path: Path) -> None:
    binary = program(tmp_path / "nvm" / "bin" / "node", "\x7fELF")
    (on_path / "node").symlink_to(binary)
    script = program(tmp_path / "server.js", "#!/usr/bin/env -S node --no-warnings\n")
    found = plan("mine", {"mine": server(str(script))})
    assert ((str(binary), str(script)), (binary, script)) == (found.command, found.shown)


def test_a_version_manager_s_shim_is_not_taken_for_an_interpreter(on_path: Path, tmp_path: Path) -> None:
    program(on_path / "node", "#!/usr/bin/env bash\n")
    script = program(tmp_path / "server.js", "#!/usr/bin/env node\n")
    assert (str(script),) == plan("mine", {"mine": server(str(script))}).command


def test_a_program_of_the_system_shows_nothing() -> None:
    found = find("env")
    assert found is not None
    assert () == found.shown


def test_a_user_s_folders_are_shown_and_must_be_there(tmp_path: Path) -> None:
    assert (tmp_path,) == plan("mine", {"mine": server(folders=[str(tmp_path)])}).shown
    refused = refusal("mine", {"mine": server(folders=[str(tmp_path / "nothing")])})
    assert "nothing' is not the absolute path of something that is there" in refused.message


@pytest.mark.parametrize("folder", ["/", "~"])
def test_a_whole_home_folder_is_never_shown(folder: str) -> None:
    assert "your whole home folder" in refusal("mine", {"mine": server(folders=[folder])}).message


def test_values_of_the_environment_are_taken_by_name_and_never_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VALUE_OF_A_TEST", "abc123-do-not-repeat")
    found = plan("mine", {"mine": server(env_from=["VALUE_OF_A_TEST"], env={"PLAIN": "1"})})
    assert (("VALUE_OF_A_TEST",), {"PLAIN": "1"}) == (found.env_from, found.env)
    assert f"it said {MARK}" == redact("it said abc123-do-not-repeat")


def test_a_variable_that_is_not_set_is_refused_before_the_run() -> None:
    refused = refusal("mine", {"mine": server(env_from=["NO_SUCH_VARIABLE_HERE"])})
    assert "tool server 'mine' needs NO_SUCH_VARIABLE_HERE, which is not set" == refused.message


def test_a_server_elsewhere_is_named_without_what_its_address_hides() -> None:
    found = plan("far", {"far": Server(url="https://me:secret@far.example:8443/mcp?key=secret")})
    assert (None, "https://far.example:8443/mcp") == (found.command, found.what)
    assert "https://me:secret@far.example:8443/mcp?key=secret" == found.url


def test_everything_a_user_says_of_a_server_is_in_its_plan() -> None:
    said: dict[str, Any] = {
        "port": 8000,
        "env": {"A": "1"},
        "leaves": (".x",),
        "allow": ("a",),
        "deny": ("b",),
        "prepare": (("sh", "index"),),
        "text_errors": True,
        "start_seconds": 1.0,
        "list_seconds": 2.0,
        "call_seconds": 3.0,
    }
    found = plan("mine", {"mine": server(**said)})
    assert said == {name: getattr(found, name) for name in said}
