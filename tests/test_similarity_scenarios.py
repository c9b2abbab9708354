"""The bounds that similarity keeps, on the bundled scenarios: same, reformatted, in other words, elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from crucible.scenario.reference import Reference, load_reference
from crucible.scoring.similarity import Similarity, similarity, size_ratio

FIXTURES = Path(__file__).parents[1] / "fixtures"
SCENARIOS = tuple(sorted(path.stem for path in (FIXTURES.parent / "scenarios").glob("*.md")))

PRICING = "store/pricing.py"
V2 = "auditlog/migrations/v2.py"
SERIALIZERS = "auditlog/serializers.py"
RATES = "commerce/rates.py"
DISPLAY = "commerce/display.py"
TAX = "commerce/tax.py"
THROTTLING = "courier/mixins/throttling.py"
OPTIONS = "src/options.js"
CLIENT = "src/client.js"
POLICY = "lib/policy.sh"

WRONG_LINE = "    return raw * pct\n"
RIGHT_LINE = "    return raw * (1 - pct)\n"
WRONG_IMPORT = "from auditlog.util.timefmt import format_instant, from_epoch\n"
RIGHT_IMPORT = "from auditlog.instants import format_instant, from_epoch\n"
LAST_FIELD = '    Field("reason", optional=True),\n'
RIGHT_FIELD = '    Field("request_id", optional=True),\n'
WRONG_RATE = "            return entry.percent\n"
RIGHT_RATE = "            return entry.percent / 100\n"
WRONG_TEXT = '    return f"{rate.normalize():f}%"\n'
RIGHT_TEXT = '    return f"{(rate * 100).normalize():f}%"\n'
MIXIN = "        self.throttle = Window(per_minute, 60.0, clock)\n        self._throttled_as = name\n"
SUPER = "        super().__init__(name, **rest)\n"
SHALLOW = "  const merged = { ...below };\n"
DEEP = "  const merged = copyOf(below);\n"
PLAIN = 'import { isPlain } from "./plain.js";\n'
COPYING = 'import { copyOf, isPlain } from "./plain.js";\n'
ANY_BLANK = """    awk -v count="$1" '\n"""

Edits = dict[str, list[tuple[str, str]]]


def read(scenario: str, path: str) -> bytes | None:
    file = FIXTURES / scenario / "repo" / path
    return file.read_bytes() if file.is_file() else None


def reference_of(scenario: str) -> Reference:
    return load_reference(FIXTURES / scenario / "REFERENCE_FIX.md", lambda path: read(scenario, path))


def edited(scenario: str, edits: Edits) -> dict[str, bytes | None]:
    """The files after replacing text in them, once each; every text must be there."""
    after: dict[str, bytes | None] = {}
    for path, changes in edits.items():
        text = (read(scenario, path) or b"").decode()
        for old, new in changes:
            assert old in text, (path, old)
            text = text.replace(old, new, 1)
        after[path] = text.encode()
    return after


def before_of(scenario: str, candidate: dict[str, bytes | None]) -> dict[str, bytes]:
    paths = {*candidate, *reference_of(scenario).after}
    return {path: data for path in paths if (data := read(scenario, path)) is not None}


def compare(scenario: str, candidate: dict[str, bytes | None]) -> Similarity:
    return similarity(before_of(scenario, candidate), candidate, reference_of(scenario).after)


def each(table: dict[str, list[Edits]]) -> list[tuple[str, Edits]]:
    return [(scenario, edits) for scenario, several in table.items() for edits in several]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_reference_itself_is_exactly_one(scenario: str) -> None:
    result = compare(scenario, dict(reference_of(scenario).after))
    assert (result.structural, result.textual, result.combined) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_change_is_zero(scenario: str) -> None:
    assert compare(scenario, {}).combined == 0.0
    unchanged = {path: read(scenario, path) for path in reference_of(scenario).after}
    assert compare(scenario, unchanged).combined == 0.0


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_comments_and_blank_lines_are_no_change(scenario: str) -> None:
    sign = {".js": b"//"}
    commented = {
        path: b"%b looked at this\n\n" % sign.get(Path(path).suffix, b"#") + data.replace(b"\n\n", b"\n\n\n\n")
        for path in reference_of(scenario).after
        if (data := read(scenario, path)) is not None
    }
    assert compare(scenario, dict(commented)).combined == 0.0


REFORMATTED: dict[str, list[Edits]] = {
    "asd-vs-baseline": [
        {PRICING: [(WRONG_LINE, "    return (\n        raw\n        * (1 - pct)  # what is left to pay\n    )\n")]},
        {PRICING: [(WRONG_LINE, "    # the rest of the price\n\n    return raw*(1-pct)\n"), ('"1"', "'1'")]},
        {PRICING: [(WRONG_LINE, '    """Full price less the discount."""\n    return (raw * (1 - pct))\n')]},
    ],
    "audit-migration": [
        {
            V2: [(WRONG_IMPORT, "from auditlog.instants import (\n    format_instant,\n    from_epoch,\n)\n")],
            SERIALIZERS: [
                (LAST_FIELD, LAST_FIELD + "    Field(\n        'request_id',\n        optional=True,\n    ),\n")
            ],
        },
        {
            V2: [(WRONG_IMPORT, "# moved\n" + RIGHT_IMPORT)],
            SERIALIZERS: [(LAST_FIELD, LAST_FIELD + '    Field("request_id", optional=True)\n')],
        },
    ],
    "cross-layer-tax": [
        {
            DISPLAY: [(WRONG_TEXT, "    return f'{(rate*100).normalize():f}%'\n")],
            RATES: [(WRONG_RATE, "            return (\n                entry.percent / 100\n            )\n")],
        },
        {
            DISPLAY: [(WRONG_TEXT, '    return (f"""{(rate * 100).normalize():f}%""")  # percent\n')],
            RATES: [(WRONG_RATE, "            # a fraction\n            return entry.percent/100\n")],
        },
    ],
    "inheritance-bug": [
        {
            THROTTLING: [
                (MIXIN, "        super().__init__(\n            name,\n            **rest,\n        )\n" + MIXIN)
            ]
        },
        {THROTTLING: [(MIXIN, "        # go on\n        super().__init__( name, **rest );\n\n" + MIXIN)]},
    ],
    "leaking-defaults": [
        {
            OPTIONS: [
                (SHALLOW, "  /* its own */\n  const merged = copyOf(\n    below,\n  )\n"),
                (PLAIN, "import {\n  copyOf,\n  isPlain,\n} from './plain.js'\n"),
            ]
        },
    ],
    "lost-snapshots": [
        {POLICY: [(ANY_BLANK, """    # fields, not words\n    awk \\\n        -F "$TAB" -v count="$1" '\n""")]},
    ],
}


@pytest.mark.parametrize(("scenario", "edits"), each(REFORMATTED))
def test_the_reference_reformatted_is_at_least_95_hundredths(scenario: str, edits: Edits) -> None:
    result = compare(scenario, edited(scenario, edits))
    assert result.combined >= 0.95, result


HELPER = "def _less(raw: Decimal, pct: Decimal) -> Decimal:\n    return raw - raw * pct\n\n\ndef discounted"
PERCENT = "\n\ndef _percent(rate: Decimal) -> Decimal:\n    return (rate * 100).normalize()\n"
ALIASES = "format_instant = auditlog.instants.format_instant\nfrom_epoch = auditlog.instants.from_epoch\n"
TWO_IMPORTS = "from auditlog.instants import from_epoch\nfrom auditlog.instants import format_instant\n"

IN_OTHER_WORDS: dict[str, list[Edits]] = {
    "asd-vs-baseline": [
        {PRICING: [(WRONG_LINE, "    return raw - raw * pct\n")]},
        {PRICING: [(WRONG_LINE, "    saving = raw * pct\n    return raw - saving\n")]},
        {PRICING: [(WRONG_LINE, "    return (ONE - pct) * raw\n")]},
        {PRICING: [(WRONG_LINE, '    return raw * (Decimal("1") - pct)\n')]},
        {PRICING: [("    if pct == ZERO:\n        return raw\n" + WRONG_LINE, "    return raw - pct * raw\n")]},
        {PRICING: [(WRONG_LINE, "    return _less(raw, pct)\n"), ("def discounted", HELPER)]},
        {
            PRICING: [
                (WRONG_LINE, "    keep = ONE\n    keep -= pct\n    price = raw\n    price *= keep\n    return price\n")
            ]
        },
    ],
    "audit-migration": [
        {
            V2: [(WRONG_IMPORT, TWO_IMPORTS)],
            SERIALIZERS: [
                ('    Field("action"),\n', '    Field("action"),\n    Field(name="request_id", optional=True),\n')
            ],
        },
        {
            V2: [
                (WRONG_IMPORT, "from auditlog import instants\n"),
                ("format_instant(from_epoch(value))", "instants.format_instant(instants.from_epoch(value))"),
            ],
            SERIALIZERS: [(LAST_FIELD, LAST_FIELD + '    Field("request_id", _same, _same, True),\n')],
        },
        {
            V2: [(WRONG_IMPORT, "import auditlog.instants\n\n" + ALIASES)],
            SERIALIZERS: [(LAST_FIELD, '    Field("request_id", decode=_same, optional=True),\n' + LAST_FIELD)],
        },
    ],
    "cross-layer-tax": [
        {
            DISPLAY: [(WRONG_TEXT, '    percent = 100 * rate\n    return f"{percent.normalize():f}%"\n')],
            RATES: [(WRONG_RATE, '            return entry.percent * Decimal("0.01")\n')],
        },
        {
            DISPLAY: [(WRONG_TEXT, '    return "{:f}%".format((rate * Decimal(100)).normalize())\n')],
            RATES: [(WRONG_RATE, "            return entry.percent.scaleb(-2)\n")],
        },
        {
            DISPLAY: [(WRONG_TEXT, '    return f"{rate.scaleb(2).normalize():f}%"\n')],
            RATES: [
                ('STANDARD = "standard"\n', 'STANDARD = "standard"\nHUNDRED = Decimal(100)\n'),
                (WRONG_RATE, "            return entry.percent / HUNDRED\n"),
            ],
        },
        {
            DISPLAY: [(WRONG_TEXT, '    return f"{_percent(rate):f}%"\n' + PERCENT)],
            RATES: [
                (
                    "            entry = max(valid, key=lambda e: e.since)\n" + WRONG_RATE,
                    "            return max(valid, key=lambda e: e.since).percent / 100\n",
                )
            ],
        },
    ],
    "inheritance-bug": [
        {THROTTLING: [(MIXIN, "        super(Throttling, self).__init__(name, **rest)\n" + MIXIN)]},
        {THROTTLING: [(MIXIN, MIXIN + SUPER)]},
        {
            THROTTLING: [
                (MIXIN, MIXIN + "        options = dict(rest)\n        super().__init__(name=name, **options)\n")
            ]
        },
        {THROTTLING: [(MIXIN, MIXIN.replace("self.throttle", "window") + SUPER + "        self.throttle = window\n")]},
    ],
    "leaking-defaults": [
        {OPTIONS: [(SHALLOW, "  const merged = structuredClone(below);\n")]},
        {
            OPTIONS: [
                (
                    SHALLOW,
                    "  const merged = {};\n  for (const [name, its] of Object.entries(below)) merged[name] = copyOf(its);\n",
                ),
                (PLAIN, COPYING),
            ]
        },
        {
            OPTIONS: [
                (SHALLOW, "  const merged = own(below);\n"),
                ("/** One layer", "const own = (layer) => copyOf(layer);\n\n/** One layer"),
                (PLAIN, COPYING),
            ]
        },
    ],
    "lost-snapshots": [
        {POLICY: [("        ($1, $3) in seen", '        BEGIN { FS = "\\t" }\n        ($1, $3) in seen')]},
        {POLICY: [(ANY_BLANK, """    awk -v FS="$TAB" -v count="$1" '\n""")]},
    ],
}


@pytest.mark.parametrize(("scenario", "edits"), each(IN_OTHER_WORDS))
def test_the_same_fix_in_other_words_is_at_least_three_quarters(scenario: str, edits: Edits) -> None:
    result = compare(scenario, edited(scenario, edits))
    assert 0.75 <= result.combined < 1, result


ELSEWHERE: dict[str, list[Edits]] = {
    "asd-vs-baseline": [
        {"store/cart.py": [("price_line(product, quantity, pct)", "price_line(product, quantity, 1 - pct)")]},
        {"store/money.py": [("ZERO", "NOTHING")]},
    ],
    "audit-migration": [
        {"auditlog/store.py": [("from auditlog", "from audit_log")]},
    ],
    "cross-layer-tax": [
        {TAX: [("to_cents(rounded * rate)", "to_cents(rounded * rate / 100)")]},
        {
            TAX: [
                ("to_cents(rounded * rate)", "to_cents(rounded * rate / 100)"),
                ("to_cents(gross / (1 + rate))", "to_cents(gross / (1 + rate / 100))"),
            ]
        },
    ],
    "inheritance-bug": [
        {
            "courier/core/lifecycle.py": [
                ("    @property\n", "    _state = State.NEW\n    topics: tuple[str, ...] = ()\n\n    @property\n")
            ]
        },
    ],
    "leaking-defaults": [
        {CLIENT: [("merge(below, options)", "copyOf(merge(below, options))")]},
        {
            "src/plugins/bearer.js": [
                ("    options.headers.auth", "    options.headers = { ...options.headers }; options.headers.auth")
            ]
        },
    ],
    "lost-snapshots": [
        {"lib/prune.sh": [("drop) rm", 'drop) [ "$file" = "${file#* }" ] && rm')]},
        {"lib/plan.sh": [('-q -x -F -e "$file"', '-q -F -e "${file%% *}"')]},
    ],
}


@pytest.mark.parametrize(("scenario", "edits"), each(ELSEWHERE))
def test_a_change_in_another_layer_earns_nothing(scenario: str, edits: Edits) -> None:
    result = compare(scenario, edited(scenario, edits))
    assert result.combined == 0.0
    assert any(reason.startswith("misses ") for reason in result.reasons)
    assert any(reason.startswith("also changes ") for reason in result.reasons)


def test_half_of_the_cross_layer_fix_is_far_from_all_of_it() -> None:
    """One layer without the other earns about its share."""
    rates_only = compare("cross-layer-tax", edited("cross-layer-tax", {RATES: [(WRONG_RATE, RIGHT_RATE)]}))
    display_only = compare("cross-layer-tax", edited("cross-layer-tax", {DISPLAY: [(WRONG_TEXT, RIGHT_TEXT)]}))
    for result in (rates_only, display_only):
        assert 0.2 <= result.combined <= 0.65
    assert "misses commerce/display.py: rate_text" in rates_only.reasons


WRONG_IN_THE_RIGHT_PLACE: list[tuple[str, Edits]] = [
    ("asd-vs-baseline", {PRICING: [("    if pct == ZERO:\n", "    print(pct)\n    if pct == ZERO:\n")]}),
    ("asd-vs-baseline", {PRICING: [("got {pct}", "got nothing")]}),
    (
        "cross-layer-tax",
        {RATES: [("    raise UnknownRegion(region)\n", "    raise UnknownRegion(region) from None\n")]},
    ),
    ("inheritance-bug", {THROTTLING: [("per_minute: int = 60", "per_minute: int = 600")]}),
    ("leaking-defaults", {OPTIONS: [("if (value === undefined) continue;", "if (value == null) continue;")]}),
]


@pytest.mark.parametrize(("scenario", "edits"), WRONG_IN_THE_RIGHT_PLACE)
def test_another_edit_of_the_right_definition_is_worth_half_at_most(scenario: str, edits: Edits) -> None:
    result = compare(scenario, edited(scenario, edits))
    assert 0 < result.combined <= 0.55, result


def test_the_right_file_but_another_definition_earns_little() -> None:
    candidate = edited("asd-vs-baseline", {PRICING: [("discounted(raw, pct))", "raw - discounted(raw, pct))")]})
    result = compare("asd-vs-baseline", candidate)
    assert 0 < result.combined <= 0.25
    assert "misses store/pricing.py: discounted, but changes another part of that file" in result.reasons


def test_a_huge_rewrite_beside_the_reference_costs_most_of_it() -> None:
    rewrite = b"".join(b"def extra_%d(a, b):\n    return a * %d + b\n\n\n" % (n, n) for n in range(200))
    fix = edited("asd-vs-baseline", {PRICING: [(WRONG_LINE, RIGHT_LINE)]})
    result = compare("asd-vs-baseline", {**fix, "store/cart.py": rewrite})
    assert result.combined < 0.1
    assert any("more places that the reference leaves alone" in reason for reason in result.reasons)


def test_an_import_beside_the_reference_costs_little() -> None:
    fix = {
        PRICING: [
            (WRONG_LINE, RIGHT_LINE),
            ("from decimal import Decimal\n", "from decimal import Decimal, localcontext\n"),
        ]
    }
    assert compare("asd-vs-baseline", edited("asd-vs-baseline", fix)).combined > 0.97


def test_the_size_ratio_is_one_for_the_reference_and_counts_tokens() -> None:
    """`( 1 - )` is four tokens, `raw -` is two."""
    reference = reference_of("asd-vs-baseline").after
    other = edited("asd-vs-baseline", {PRICING: [(WRONG_LINE, "    return raw - raw * pct\n")]})
    before = before_of("asd-vs-baseline", other)
    assert size_ratio(reference, reference, before) == 1.0
    assert size_ratio(other, reference, before) == 0.5
    assert size_ratio({}, reference, before) == 0.0
