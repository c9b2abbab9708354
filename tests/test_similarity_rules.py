"""What counts as the same place and the same text: languages, helpers, moves, imports, wild files."""

from __future__ import annotations

import pytest

from crucible.scoring.similarity import Similarity, similarity, size_ratio
from crucible.scoring.structure import shape_of

Files = dict[str, str | bytes | None]


def compare(before: Files, candidate: Files, reference: Files) -> Similarity:
    return similarity(_present(before), _bytes(candidate), _bytes(reference))


def _bytes(files: Files) -> dict[str, bytes | None]:
    return {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}


def _present(files: Files) -> dict[str, bytes]:
    return {path: data for path, data in _bytes(files).items() if data is not None}


PYTHON = '''\
import os


class Cart:
    """What is bought."""

    @property
    def total(self):
        raw = sum(line.price for line in self.lines)
        return raw * self.pct

    def weight(self):
        total = 0
        for line in self.lines:
            total += line.weight
        return total


def receipt(cart):
    def row(label, amount):
        return f"{label}: {amount}"

    return row("Total", cart.total)
'''
WRONG = "return raw * self.pct"
RIGHT = "return raw * (1 - self.pct)"
FIXED = PYTHON.replace(WRONG, RIGHT)


def python(candidate: str, reference: str = FIXED) -> Similarity:
    return compare({"cart.py": PYTHON}, {"cart.py": candidate}, {"cart.py": reference})


JS = """\
import { round } from "./money.js";
const rates = require("./rates");

export const total = (cart) => {
  const raw = cart.lines.reduce((sum, line) => sum + line.price, 0);
  return round(raw * cart.pct);
};

class Cart {
  weight() {
    return this.lines.length;
  }
}

module.exports.label = function (cart) {
  return "Total: " + total(cart);
};
"""
GO = """\
package store

import (
\t"fmt"
)

type Cart struct {
\tLines []Line
\tPct   float64
}

// Total is what is paid.
func (c *Cart) Total() float64 {
\traw := 0.0
\tfor _, line := range c.Lines {
\t\traw += line.Price
\t}
\treturn raw * c.Pct
}

func Label(c *Cart) string {
\treturn fmt.Sprintf("Total: %.2f", c.Total())
}
"""

OTHER_LANGUAGES = [
    ("cart.js", JS, "raw * cart.pct", "raw * (1 - cart.pct)", "raw*( 1-cart.pct ) /* rest */", "raw - cart.pct * raw"),
    ("cart.ts", JS, "raw * cart.pct", "raw * (1 - cart.pct)", "raw *\n (1 - cart.pct)", "(1 - cart.pct) * raw"),
    ("cart.go", GO, "raw * c.Pct", "raw * (1 - c.Pct)", "raw * ( 1-c.Pct ) // rest", "raw - raw * c.Pct"),
]


@pytest.mark.parametrize(("path", "text", "wrong", "right", "formatted", "otherwise"), OTHER_LANGUAGES)
def test_the_bounds_hold_in_other_languages(
    path: str, text: str, wrong: str, right: str, formatted: str, otherwise: str
) -> None:
    fixed = {path: text.replace(wrong, right)}

    def combined(new: str) -> float:
        return compare({path: text}, {path: new}, fixed).combined

    assert combined(text.replace(wrong, right)) == 1.0
    assert combined(text.replace(wrong, formatted).replace('"', "'" if path != "cart.go" else '"')) >= 0.95
    assert 0.75 <= combined(text.replace(wrong, otherwise)) < 1
    assert combined(text.replace("Total: ", "Sum: ")) <= 0.25, "another definition of the file"
    assert combined(text + "\n// a comment\n") == 0.0


def test_prettier_style_changes_are_no_change_in_javascript() -> None:
    """Semicolons, lone arrow parameters, trailing commas, quotes, layout."""
    ugly = JS.replace(";", "").replace("(cart) =>", "cart =>").replace('"', "'").replace("price, 0)", "price, 0,)")
    assert compare({"cart.js": JS}, {"cart.js": ugly}, {"cart.js": JS.replace("cart.pct", "1")}).combined == 0.0


NAMES = [
    ("a.py", "class A:\n    class B:\n        x = 1\n        def f(self): pass\n", {"A", "A.B", "A.B.x", "A.B.f"}),
    ("a.py", "@cache\ndef f():\n    def g(): pass\n    return g\n", {"f", "f.g"}),
    ("a.js", "exports.f = () => 1;\nconst o = { m() {}, n: function () {} };", {"exports.f", "o", "o.m", "o.n"}),
    ("a.tsx", "interface P { a: string }\nexport const V = (p: P) => <b>{p.a}</b>;", {"P", "V"}),
    ("a.go", "package a\ntype T struct{}\nfunc (t *T) M() {}\nvar x = 1\n", {"(top level)", "T", "T.M", "x"}),
    ("a.rs", "impl<K> Show for T<K> { fn show(&self) {} }\nconst N: u8 = 1;", {"Show for T", "Show for T.show", "N"}),
    ("A.java", "class A { int x = 1; A() {} void f() { int y = 2; } }", {"A", "A.x", "A.A", "A.f"}),
    ("a.c", "int n = 1;\nint *f(int a) { int b = a; return 0; }\nstruct s { int a; };", {"n", "f", "s"}),
    ("a.cpp", "namespace n { struct A { int f(); }; }\nint n::A::f() { return 1; }", {"n", "n.A", "n.A.f"}),
    ("A.cs", "namespace N { class A { int P { get; } void F() { int z = 1; } } }", {"N", "N.A", "N.A.P", "N.A.F"}),
    ("a.rb", "module M\n  class C\n    def f; end\n    def self.g; end\n  end\nend\n", {"M", "M.C", "M.C.f", "M.C.g"}),
    ("a.php", "<?php\nclass C { private $x = 1; function m() { $y = 2; } }", {"(top level)", "C", "C.$x", "C.m"}),
    ("a.kt", "class A { val y = 2\n fun m() { val z = 1 } }\nfun f() = 1\n", {"A", "A.y", "A.m", "f"}),
    ("a.swift", "struct S { var y = 2\n func m() { let z = 1 } }\nfunc f() {}\n", {"S", "S.y", "S.m", "f"}),
    ("a.scala", "object O { val y = 2; def m = { val z = 1; z } }\n", {"O", "O.y", "O.m"}),
]


@pytest.mark.parametrize(("path", "text", "names"), NAMES)
def test_definitions_have_qualified_names(path: str, text: str, names: set[str]) -> None:
    beside = {"(imports)", "(top level)"}
    assert names - beside == set(shape_of(path, text.encode()).regions) - beside


def test_no_token_of_a_string_with_interpolation_is_lost() -> None:
    text = "x = f'a {b!r} c' + \"d\\n\" 'e'\n"
    assert shape_of("a.py", text.encode()).regions["x"].tokens == [
        "x",
        "=",
        'f"',
        "a ",
        "{",
        "b",
        "!r",
        "}",
        " c",
        '"',
        "+",
        '"d\\ne"',
    ]


@pytest.mark.parametrize(
    ("path", "one", "two"),
    [
        ("a.py", 'x = f"{a} {b}"\n', 'x = f"{a}{b}"\n'),
        ("a.py", 'x = " "\n', 'x = ""\n'),
        ("a.go", 'package a\n\nvar x = " "\n', 'package a\n\nvar x = ""\n'),
        ("a.js", "x = `${a} ${b}`", "x = `${a}${b}`"),
        ("A.java", 'class A { String x = " "; }', 'class A { String x = ""; }'),
    ],
)
def test_whitespace_inside_a_string_is_content(path: str, one: str, two: str) -> None:
    assert size_ratio({path: one.encode()}, {path: two.encode()}, {path: one.encode()}) == 0.0


def test_indentation_is_a_change_where_it_is_the_syntax() -> None:
    """A return that leaves the loop has moved, though no word has."""
    inside = PYTHON.replace("        return total\n", "            return total\n")
    assert compare({"cart.py": inside}, {"cart.py": PYTHON}, {"cart.py": PYTHON}).combined == 1.0
    assert size_ratio({"cart.py": inside.encode()}, {"cart.py": FIXED.encode()}, {"cart.py": PYTHON.encode()})


def test_a_tuple_of_one_is_not_its_element() -> None:
    before, fixed = "x = (1)\n", "x = (1,)\n"
    assert compare({"a.py": before}, {"a.py": "x = 1\n"}, {"a.py": fixed}).combined == 0.0
    assert compare({"a.py": before}, {"a.py": "x = (1, )\n"}, {"a.py": fixed}).combined == 1.0


def test_swapped_operands_are_not_the_same_text() -> None:
    swapped = python(PYTHON.replace(WRONG, "return raw * (self.pct - 1)"))
    assert swapped.textual < 1
    assert swapped.combined < 1


def test_a_new_helper_of_the_right_definition_is_part_of_it() -> None:
    """Whether a function, a method, a constant or a local function, of which helpers may use one another."""
    less = "\n\ndef _less(raw, pct):\n    return raw * (ONE - pct)\n"
    helper = PYTHON.replace(WRONG, "return _less(raw, self.pct)") + less
    constant = helper.replace("import os\n", "import os\n\nONE = 1\n")
    method = PYTHON.replace(WRONG, "return self._less(raw)").replace(
        "    def weight", "    def _less(self, raw):\n        return raw * (1 - self.pct)\n\n    def weight"
    )
    local = PYTHON.replace(
        "        raw = sum", "        def less(raw):\n            return raw * (1 - self.pct)\n\n        raw = sum"
    ).replace(WRONG, "return less(raw)")
    for candidate in (constant, method, local):
        result = python(candidate)
        assert result.structural == 1.0, result
        assert result.combined >= 0.75, result


def test_a_new_function_that_nothing_uses_is_a_change_beside_the_fix() -> None:
    result = python(FIXED + "\n\ndef unused(a, b, c):\n    return a + b + c\n")
    assert "also changes cart.py: unused, which the reference leaves alone" in result.reasons
    assert 0.6 < result.combined < 0.9


def test_the_same_new_file_is_the_same_place_and_another_is_not() -> None:
    added = "def rate_for(region):\n    return RATES[region]\n"
    same = compare({}, {"rates.py": "def rate_for(region):\n    return RATES.get(region)\n"}, {"rates.py": added})
    assert same.combined >= 0.75
    assert compare({}, {"table.py": added}, {"rates.py": added}).combined == 0.0


def test_a_renamed_function_class_or_file_stays_the_place_it_was() -> None:
    renamed = FIXED.replace("def total", "def amount").replace("class Cart", "class Basket")
    assert python(renamed).combined >= 0.75
    moved = compare({"cart.py": PYTHON}, {"cart.py": None, "basket.py": FIXED}, {"cart.py": FIXED})
    assert 0.5 <= moved.combined < 1
    assert compare({"cart.py": PYTHON}, {"cart.py": None, "b.py": PYTHON}, {"cart.py": FIXED}).combined < 0.2


def test_the_same_rename_as_the_reference_is_one() -> None:
    reference: Files = {"cart.py": None, "basket.py": FIXED}
    assert compare({"cart.py": PYTHON}, reference, reference).combined == 1.0
    assert compare({"cart.py": PYTHON}, {"cart.py": FIXED}, reference).combined < 0.75


def test_deleting_the_definition_is_not_fixing_it() -> None:
    start, end = PYTHON.index("    @property"), PYTHON.index("    def weight")
    result = python(PYTHON[:start] + PYTHON[end:])
    assert "deletes cart.py: Cart.total, unlike the reference" in result.reasons
    assert result.combined <= 0.3


def test_a_deletion_that_the_reference_makes_counts() -> None:
    start = PYTHON.index("    def weight")
    deleted = PYTHON[:start] + PYTHON[PYTHON.index("def receipt") :]
    assert python(deleted, deleted).combined == 1.0
    assert python(FIXED, deleted).combined < 0.3


def test_a_changed_decorator_belongs_to_what_it_decorates() -> None:
    cached = PYTHON.replace("@property", "@cached_property")
    assert python(cached.replace("@cached", "@functools.cached"), cached).combined >= 0.75


def test_imports_beside_the_fix_weigh_little_and_alone_they_weigh_in_full() -> None:
    beside = FIXED.replace("import os\n", "import os\nfrom decimal import Decimal, localcontext\n")
    assert python(beside).combined > 0.95
    assert python(FIXED, beside).structural > 0.7
    assert python(PYTHON.replace("import os", "import io"), PYTHON.replace("import os", "import io")).combined == 1.0


def test_a_changelog_line_beside_the_fix_costs_little() -> None:
    log, entry = "# Changes\n", "# Changes\n\n- A discount is taken off the price instead of being the price.\n"
    result = compare(
        {"cart.py": PYTHON, "CHANGES.md": log}, {"cart.py": FIXED, "CHANGES.md": entry}, {"cart.py": FIXED}
    )
    assert 0.9 < result.combined < 1
    assert "also changes CHANGES.md: (top level), which the reference leaves alone" in result.reasons


def test_a_file_that_does_not_parse_is_compared_as_a_whole_and_says_so() -> None:
    broken = "(" * 500 + FIXED
    result = python(broken)
    assert any(reason.startswith("cart.py does not parse") for reason in result.reasons)
    assert 0 < result.combined < 1


def test_files_in_no_known_language_are_one_definition() -> None:
    before = "rate: 19\nname: x\n"
    result = compare({"a.conf": before}, {"a.conf": "rate: 0.19\nname: x\n"}, {"a.conf": "rate:   0.19\nname: x\n"})
    assert result.combined == 1.0
    assert result.reasons == ("touches a.conf: (top level) as the reference does, in the same words",)


def test_bytes_that_are_not_utf_8_keep_their_difference() -> None:
    before, fixed = b"x = 'caf\xe9'\n", b"x = 'caf\xe8'\n"
    assert compare({"a.py": before}, {"a.py": fixed}, {"a.py": fixed}).combined == 1.0
    assert compare({"a.py": before}, {"a.py": b"x = 'caf\xea'\n"}, {"a.py": fixed}).textual < 1
    assert compare({"a.py": before}, {"a.py": "x = 'café'\n"}, {"a.py": fixed}).combined == 0.0


def test_line_ends_are_layout() -> None:
    crlf = FIXED.replace("\n", "\r\n")
    assert python(crlf).combined == 1.0
    assert python(PYTHON.replace("\n", "\r\n")).combined == 0.0


def test_a_binary_file_is_equal_or_not() -> None:
    before, fixed, other = b"\0old", b"\0new", b"\0other"
    assert compare({"a.bin": before}, {"a.bin": fixed}, {"a.bin": fixed}).combined == 1.0
    assert compare({"a.bin": before}, {"a.bin": other}, {"a.bin": fixed}).textual < 1
    beside = compare({"cart.py": PYTHON}, {"cart.py": FIXED, "x.bin": b"\0" * 10_000}, {"cart.py": FIXED})
    assert beside.combined > 0.9, "a stray binary is one change, not thousands"


def test_a_reference_without_a_changed_token_is_matched_by_the_same_bytes_only() -> None:
    reference: Files = {"cart.py": PYTHON + "# done\n"}
    assert compare({"cart.py": PYTHON}, reference, reference).combined == 1.0
    assert compare({"cart.py": PYTHON}, {}, reference).combined == 0.0
    assert size_ratio({}, _bytes(reference), {"cart.py": PYTHON.encode()}) is None


def test_above_the_cap_only_source_is_compared_and_it_is_said() -> None:
    """A lock file of millions of bytes beside the fix changes nothing but the size."""
    lock = "".join(f'"package-{n}": "{n}.0.1",\n' for n in range(200_000))
    result = compare({"cart.py": PYTHON}, {"cart.py": FIXED, "package-lock.json": lock}, {"cart.py": FIXED})
    assert result.combined == 1.0
    assert "left out: package-lock.json" in result.reasons
    assert any("above the size that is compared in full" in reason for reason in result.reasons)
    files = _bytes({"cart.py": FIXED, "package-lock.json": lock})
    ratio = size_ratio(files, _bytes({"cart.py": FIXED}), {"cart.py": PYTHON.encode()})
    assert ratio is not None
    assert ratio > 100_000


def test_a_source_file_beyond_the_cap_counts_by_an_estimate() -> None:
    source = "".join(f"value_{n} = {n}\n" for n in range(200_000))
    result = compare({"cart.py": PYTHON}, {"cart.py": FIXED, "table.py": source}, {"cart.py": FIXED})
    assert result.combined < 0.01
    assert any(reason.startswith("also changes table.py, which") for reason in result.reasons)


@pytest.mark.slow
def test_a_reference_in_a_file_of_five_million_bytes_is_compared() -> None:
    big = "".join(f"value_{n} = compute({n})\n" for n in range(200_000))
    fixed = big.replace("compute(777)", "compute(778)")
    result = compare({"big.py": big}, {"big.py": fixed}, {"big.py": fixed})
    assert result.combined == 1.0
    assert "big.py is too large to parse; compared as a whole" in result.reasons
    assert compare({"big.py": big}, {}, {"big.py": fixed}).combined == 0.0


def test_the_reasons_name_places_once_and_count_the_rest() -> None:
    many = FIXED + "".join(f"\n\ndef extra_{n}(a):\n    return a + {n}\n" for n in range(12))
    reasons = python(many).reasons
    assert reasons[0] == "touches cart.py: Cart.total as the reference does, in the same words"
    assert reasons[-1] == "also changes 4 more places that the reference leaves alone"
    assert len(reasons) == 10
