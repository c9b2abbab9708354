"""Code that looks at its test from inside is seen where a change adds it, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible.policy.inside import added_lines, looks_inside

TRICKS = [
    "caller = sys._getframe(1).f_locals",
    "for frame in inspect.stack():",
    "frame = inspect.currentframe().f_back",
    "objects = gc.get_objects()",
    "line = linecache.getline(name, 3)",
    "wanted = code.co_consts[1]",
    'text = open("tests/test_pages.py").read()',
    'text = Path(__file__).parent.parent.joinpath("tests/test_pages.py").read_text()',
    'name = os.environ["PYTEST_CURRENT_TEST"]',
    'os.environ["PYTEST_ADDOPTS"] = "-k nothing"',
    "import _pytest.reports",
    "import pytest",
    'if "pytest" in sys.modules:',
    "runner = sys.modules.get('_pytest')",
    'path = re.search(r"--junitxml=(.*)", line)',
    "ctypes.pythonapi.PyFrame_LocalsToFast(frame)",
    "builtins.AssertionError = Exception",
    "sys.settrace(follow)",
    'fd = open("/proc/self/fd/3")',
    'args = open("/proc/self/cmdline").read()',
]
HONEST = [
    "import inspect",
    "signature = inspect.signature(call)",
    "gc.collect()",
    "import ctypes",
    'library = ctypes.CDLL("libm.so.6")',
    'PATTERN = "tests passed"',
    "def test(self): return self.tests",
    'results = {"tests": 3}',
    "# sys._getframe would be slower",
    'parser.add_argument("--test")',
    'config = open("settings/test.toml")',
    "import sys, os, linecount",
    "frame = draw_frame(back=True)",
]


@pytest.mark.parametrize("line", TRICKS)
def test_an_added_trick_is_seen(line: str) -> None:
    assert [line] == [*looks_inside("x = 1\n", f"x = 1\n{line}\n")]


@pytest.mark.parametrize("line", HONEST)
def test_an_honest_line_is_not(line: str) -> None:
    assert [] == [*looks_inside("x = 1\n", f"x = 1\n{line}\n")]


@pytest.mark.parametrize("line", TRICKS)
def test_what_was_there_before_is_nobodys_doing(line: str) -> None:
    assert [] == [*looks_inside(f"{line}\nx = 1\n", f"x = 2\n{line}\n")]


@pytest.mark.parametrize(
    "body",
    [
        "class A(list):\n    def __eq__(self, other):\n        return True\n",
        'class A:\n    def __eq__(self, other):\n        """Equal."""\n        if other: return True\n        return True\n',
        "A.__eq__ = lambda self, other: True\n",
    ],
)
def test_an_object_that_equals_everything_is_seen(body: str) -> None:
    assert ["__eq__ that is true of everything"] == [*looks_inside(None, body)]


def test_an_honest_eq_is_not() -> None:
    body = "class A:\n    def __eq__(self, other):\n        if other is self: return True\n        return self.x == other.x\n"
    assert [] == [*looks_inside(None, body)]


def test_a_moved_line_is_not_added_and_a_doubled_one_is() -> None:
    assert [] == added_lines("a\nb\n", "b\na\n")
    assert ["a"] == added_lines("a\nb\n", "a\na\nb\n")


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_can_be_compared(before: str, after: str) -> None:
    assert set(looks_inside(before, after)) <= {line.strip() for line in after.splitlines()} | {
        "__eq__ that is true of everything"
    }


def test_a_line_without_end_is_looked_at_in_pieces() -> None:
    line = "ctypes " * 20_000 + "; sys._getframe(1)"
    assert [line] == [*looks_inside(None, line)]
