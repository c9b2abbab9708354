"""Likeness to the reference when the change is hostile to parsers, against an honest change, in one run: CPU seconds.

In the process itself the worst of these would take minutes to hours. What is printed is all that an attempt pays, the start
of the process that compares included.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from crucible.scoring.apart import compare

ROOT = Path(__file__).parents[1]
FIX = {"a.py": b"def f(a):\n    return a + 1\n"}
BEFORE = {"a.py": b"def f(a):\n    return a\n"}
HONEST = b"".join(sorted(path.read_bytes() for path in (ROOT / "crucible").rglob("*.py")))
HOSTILE = {
    "nested template<>": ("b.cpp", b"template<class A> " * 60 + b"void f() {}\n", 1_092),
    "Swift /*": ("b.swift", b"/*", 4_000),
    "Java a<": ("b.java", b"a<a<a<a<a<\n", 40_000),
    "Java a=>": ("b.java", b"a=>a=>a=>\n", 40_000),
    "C a=>": ("b.c", b"a=>a=>a=>\n", 40_000),
    "C# a<": ("b.cs", b"a<a<a<a<a<\n", 40_000),
    "Python (a<b>)": ("b.py", b"(a<b>)(a<b>)\n", 40_000),
    "shell a?": ("b.sh", b"a?" * 2_000 + b"\n", 40_000),
    "Scala `": ("b.scala", b"`" * 2_000 + b"\n", 40_000),
    "Lua [": ("b.lua", b"[[[[\n", 40_000),
    "JavaScript ;": ("b.js", b";;;;;;;;\n", 900_000),
    "JSON [": ("b.json", b"[[[[\n", 4_000_000),
    "40 files of Java": ("b{}.java", b"a<a<a<a<a<\n", 20_000),
    "honest, 100 KB": ("b.py", HONEST, 100_000),
    "honest, 900 KB": ("b.py", HONEST, 900_000),
}


def text(piece: bytes, size: int) -> bytes:
    """The piece again and again, up to a size."""
    return (piece * (size // len(piece) + 1))[:size]


def measured(extra: dict[str, bytes | None]) -> tuple[float, str]:
    """CPU seconds of one comparison, and whether it was made by definitions or as text."""
    before = os.times()
    found = asyncio.run(compare(BEFORE, {**FIX, **extra}, FIX)).similarity
    after = os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    return cpu, "as text" if any("compared as text" in reason for reason in found.reasons) else "by definition"


def main() -> None:
    """Print seconds and ratios."""
    measured({})
    floor, how = measured({})
    print(f"{'the fix alone':<22} {floor:6.2f} s CPU   1.0x  {how}")
    for name, (path, piece, size) in HOSTILE.items():
        many = range(40) if "{}" in path else range(1)
        seconds, how = measured({path.format(number): text(piece, size) for number in many})
        print(f"{name:<22} {seconds:6.2f} s CPU {seconds / floor:5.1f}x  {how}")


if __name__ == "__main__":
    main()
