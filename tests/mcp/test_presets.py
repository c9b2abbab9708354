"""ASD and CTX as their presets start them, played by stand-ins; and what the preset code-graph offers.

The stand-ins have the names, arguments, result shapes and quirks of the real programs.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from crucible.agents.mcp.naming import offered
from crucible.agents.mcp.plans import ServerPlan, plan_servers
from crucible.agents.mcp.presets import ASD_TOOLS, CTX_TOOLS, presets
from crucible.agents.mcp.server import ToolServer
from crucible.errors import PreflightError
from crucible.servers import PRESETS, Server
from crucible.settings import Settings
from crucible.world import make_world
from crucible.world.leavings import without_leavings
from crucible.world.snapshot import take_snapshot
from crucible.world.types import Change, SandboxMode, World, WorldSpec

T = TypeVar("T")
STANDINS = {"asd": "asd_standin.py", "asd-mcp": "asd_standin.py", "ctxone-hub": "ctx_standin.py"}
SERVERS = Path(__file__).parent / "servers"
SOURCE = "def price(n):\n    return n * 2\n\n\ndef total(ns):\n    return sum(price(n) for n in ns)\n"


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-ins under the names of the real programs, and nothing else but the system's on PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, file in STANDINS.items():
        shutil.copy(SERVERS / file, folder / name)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.defpath}")
    return folder


@pytest.fixture(params=["overlay", "copy"])
def mode(request: pytest.FixtureRequest) -> SandboxMode:
    """Each sandbox; the overlay where it works."""
    if request.param == "overlay":
        request.getfixturevalue("sandbox")
    return "copy" if request.param == "copy" else "overlay"


@pytest.fixture
def spec(tmp_path: Path, cache: Path) -> WorldSpec:
    """A fixture with two functions, one calling the other."""
    folder = tmp_path / "fixture"
    folder.mkdir()
    (folder / "shop.py").write_text(SOURCE)
    return WorldSpec(take_snapshot(folder, cache))


def plan(name: str, **settings: Any) -> ServerPlan:
    return plan_servers([name], {}, Settings(**settings), {})[name]


def run(
    asked: ServerPlan, spec: WorldSpec, mode: SandboxMode, scratch: Path, body: Callable[[ToolServer], Awaitable[T]]
) -> tuple[T, Change]:
    """What `body` returns of the started server, and the change of its world."""

    async def work() -> tuple[T, Change]:
        world = make_world(WorldSpec(spec.snapshot, shown=asked.shown), mode, scratch)
        try:
            await world.open()
            server = ToolServer(asked, world)
            try:
                await server.start()
                return await body(server), await changed(world)
            finally:
                await server.close()
        finally:
            await world.close()

    return asyncio.run(work())


async def changed(world: World) -> Change:
    listed = await world.call("bash", {"command": "ls -A ~/.config 2>/dev/null; true"})
    assert "asd" not in listed.text, "it registered the workspace"
    return await world.change()


@pytest.mark.slow
def test_asd_indexes_the_workspace_first_and_answers_from_it(
    on_path: Path, spec: WorldSpec, mode: SandboxMode, tmp_path: Path
) -> None:
    asd = plan("asd")

    async def ask(server: ToolServer) -> tuple[list[str], Any, Any]:
        tools = [tool.spec.name for tool in offered([(asd, server.listed)], ())]
        found = await server.call("callers", {"qname": "shop.price"}, 60)
        return tools, found, await server.call("code_read", {"qname": "shop.nothing"}, 60)

    (tools, found, missing), change = run(asd, spec, mode, tmp_path / "scratch", ask)
    assert sorted(f"asd__{tool}" for tool in ASD_TOOLS) == tools
    assert [("shop.total", "shop.py:5")] == [(c["qname"], c["file"]) for c in json.loads(found.text)["callers"]]
    assert (True, False) == (found.ok, missing.ok)
    assert "symbol not found: shop.nothing" in missing.text
    assert {".asd/index.log"} == change.paths, "the index itself is not in the workspace"
    kept = without_leavings(change, asd.leaves)
    assert ((), True) == (kept.files, ".asd/index.log" in kept.junk)


@pytest.mark.slow
def test_ctx_may_write_and_leaves_nothing(on_path: Path, spec: WorldSpec, mode: SandboxMode, tmp_path: Path) -> None:
    ctx = plan("ctx")

    async def ask(server: ToolServer) -> tuple[list[str], Any, Any]:
        tools = [tool.spec.name for tool in offered([(ctx, server.listed)], ())]
        stored = await server.call("remember", {"fact": "price doubles"}, 60)
        return tools, stored, await server.call("recall", {"topic": "price"}, 60)

    (tools, stored, recalled), change = run(ctx, spec, mode, tmp_path / "scratch", ask)
    assert sorted(f"ctx__{tool}" for tool in CTX_TOOLS) == tools
    assert (True, True) == (stored.ok, recalled.ok)
    assert "price doubles" in recalled.text
    assert "_ctxone_stats:" in recalled.text, "the trailer is what the model sees too"
    assert () == change.files


def test_a_half_installed_asd_is_not_there(on_path: Path) -> None:
    (on_path / "asd-mcp").unlink()
    with pytest.raises(PreflightError, match="there is no asd-mcp on PATH"):
        plan("asd")


def test_what_a_user_says_beside_a_preset_is_added_or_replaces(on_path: Path, tmp_path: Path) -> None:
    said = Server(preset="asd", allow=("callers",), env={"CTX_ACTIVE_TASK": "{}"}, leaves=("notes",), call_seconds=5.0)
    found = plan("graph", servers={"graph": said})
    assert (("callers",), (".asd*", "notes"), 5.0) == (found.allow, found.leaves, found.call_seconds)
    assert {"ASD_FORMAT": "brief", "ASD_NO_AUTO_REGISTER": "1", "CTX_ACTIVE_TASK": "{}"} == found.env
    assert ("graph", "AgentStateDeveloper (asd-mcp)", True) == (found.name, found.what, found.text_errors)


def test_an_arm_s_name_is_not_told_to_a_server(on_path: Path) -> None:
    """Both arms may have CTX: one namespace and one agent for all, so that they are asked alike."""
    assert plan_servers(["ctx"], {}, Settings(), {})["ctx"].command == plan("ctx").command


def test_every_preset_says_how_it_is_had() -> None:
    assert list(PRESETS) == [known.name for known in presets()]
    assert all(known.get.startswith("install it (") for known in presets())
