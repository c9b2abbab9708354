"""The shape of the code: imports point one way, heavy libraries stay where they are used, public names are listed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import crucible

PACKAGE = Path(crucible.__file__).parent
LAYERS = [
    "cli",
    "selftest",
    "web",
    "report",
    "runner",
    "judging",
    "scoring",
    "agents",
    "llm",
    "policy",
    "world",
    "transcript",
    "scenario",
    "stats",
    "store",
    "settings",
    "servers",
    "redaction",
    "errors",
]
HEAVY = ("litellm", "mcp", "scipy", "numpy", "sqlmodel", "sqlalchemy", "alembic", "fastapi", "git", "ast_grep_py")


def layer(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "crucible" and len(parts) > 1 and parts[1] in LAYERS else None


@cache
def imports(file: Path) -> tuple[tuple[str, int], ...]:
    return tuple(_imports(file))


def _imports(file: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module, node.lineno


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_imports_point_down_the_layers_only() -> None:
    upward = [
        f"{file.relative_to(PACKAGE)}:{line}: {mine} imports {theirs}"
        for file in MODULES
        if (mine := layer(".".join(("crucible", *file.relative_to(PACKAGE).with_suffix("").parts)))) is not None
        for name, line in imports(file)
        if (theirs := layer(name)) is not None and LAYERS.index(theirs) < LAYERS.index(mine)
    ]
    assert [] == upward


def test_stats_imports_nothing_of_ours() -> None:
    ours = [n for f in (PACKAGE / "stats").rglob("*.py") for n, _ in imports(f) if layer(n) not in (None, "stats")]
    assert [] == ours


def test_litellm_is_imported_in_llm_only() -> None:
    others = [f for f in MODULES if any(n.split(".")[0] == "litellm" for n, _ in imports(f)) and f.parent.name != "llm"]
    assert [] == others


@pytest.mark.parametrize("arguments", [["--help"], ["list-scenarios"], ["schema"], ["run", "--help"]])
def test_light_commands_load_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom crucible.cli.app import run_app\n"
        f"code = run_app({arguments!r})\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)\nsys.exit(code)"
    )
    bench = PACKAGE.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=bench, check=False)
    assert (0, "[]") == (done.returncode, done.stderr.strip().splitlines()[-1])


def test_modules_are_of_a_size_one_can_hold() -> None:
    long = {str(f.relative_to(PACKAGE)): n for f in MODULES if (n := len(f.read_text("utf-8").splitlines())) > 300}
    assert {} == {name: n for name, n in long.items() if "migrations/versions" not in name}


def test_public_names_are_these() -> None:
    assert PUBLIC == sorted(crucible.__all__)
    for name in PUBLIC:
        assert getattr(crucible, name) is not None


PUBLIC = [
    "Cause",
    "CrucibleError",
    "ExitCode",
    "LoopAgent",
    "LoopbackServer",
    "Scenario",
    "ScriptedModel",
    "__version__",
    "load_scenario",
    "parse_patch",
    "similarity",
]
