"""What holds for the package as a whole."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import crucible.stats

FOLDER = Path(crucible.stats.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def test_importing_every_module_imports_no_heavy_library() -> None:
    """numpy and scipy arrive with the first call that needs them."""
    imports = "; ".join(f"import crucible.stats.{name}" for name in MODULES)
    code = f"import sys; {imports}; print(sorted({{'numpy', 'scipy', 'statsmodels', 'pandas'}} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=FOLDER.parents[1]
    )
    assert "[]" == done.stdout.strip()


def test_nothing_of_ours_is_imported_but_the_package_itself() -> None:
    """Pure functions on numbers: no other package of Crucible, and no third library."""
    allowed = {"numpy", "scipy", *sys.stdlib_module_names}
    for name in MODULES:
        for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text())):
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                found = [node.module or ""]
            for module in found:
                assert module.startswith("crucible.stats") or module.partition(".")[0] in allowed, (name, module)


def test_every_public_function_says_what_it_answers() -> None:
    """A docstring on each public function, class and module."""
    for name in MODULES:
        module = import_module(f"crucible.stats.{name}")
        assert module.__doc__
        for label, value in vars(module).items():
            if not label.startswith("_") and getattr(value, "__module__", None) == module.__name__:
                assert value.__doc__, f"{name}.{label}"
