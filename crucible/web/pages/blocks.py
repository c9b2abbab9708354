"""Where the arms part, block by block: the outcomes, how long the two do the same, what each does then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from crucible.report.parting import in_words, parting, usual
from crucible.store.pairs import Pair, counted_pairs
from crucible.store.queries import run_record
from crucible.store.turns import turns_of_each
from crucible.store.writes import Store
from crucible.web.site import Ask, Data, Site, no_run

BLOCKS_A_PAGE = 25
TELLING = 5
"""Blocks that the comparison shows of it."""
LOOKED_AT = 25
"""Blocks whose transcripts the comparison reads for its sentence."""
SHOWN = ("all", "treatment", "baseline", "both", "neither")


def blocks_page(site: Site, ask: Ask) -> Data:
    """`?show=` one of SHOWN: whose suite is green; `?page=N`."""
    run_id = ask.number("run", "run")
    pairs = counted_pairs(site.store, run_id)
    if not pairs and run_record(site.store, run_id) is None:
        raise no_run(run_id)
    show = ask.choice("show", SHOWN)
    chosen = [pair for pair in pairs if show in ("all", pair.outcome)]
    pages = max(1, -(-len(chosen) // BLOCKS_A_PAGE))
    page = ask.count("page", 1, pages)
    counts = Counter(pair.outcome for pair in pairs)
    return {
        "run": run_id,
        **laid_out(site.store, chosen[(page - 1) * BLOCKS_A_PAGE : page * BLOCKS_A_PAGE]),
        **arm_names(pairs),
        "several": len({pair.scenario for pair in pairs}) > 1,
        "counts": {"all": len(pairs), **{name: counts[name] for name in SHOWN[1:]}},
        "show": show,
        "page": page,
        "pages": pages,
    }


def parting_part(store: Store, run_id: int) -> Data:
    """What the comparison says of it: the sentence over the first blocks, and the most telling of them."""
    pairs = counted_pairs(store, run_id)
    found = laid_out(store, _telling_first(pairs)[:LOOKED_AT])
    return {
        **found,
        "rows": found["rows"][:TELLING],
        "complete": len(pairs),
        "looked": len(found["rows"]),
        "several": len({pair.scenario for pair in pairs}) > 1,
        **arm_names(pairs),
    }


def _telling_first(pairs: Sequence[Pair]) -> list[Pair]:
    """Blocks with one green suite and one red first."""
    return sorted(pairs, key=lambda pair: pair.outcome not in ("treatment", "baseline"))


def arm_names(pairs: Sequence[Pair]) -> Data:
    """The arms by their role; several names of one role, over scenarios, stand beside each other."""
    return {
        role: " / ".join(dict.fromkeys(getattr(pair, role).arm for pair in pairs)) or role
        for role in ("treatment", "baseline")
    }


def laid_out(store: Store, pairs: Sequence[Pair]) -> Data:
    """Each of these blocks with where its attempts part, and a sentence on all of them."""
    turns = turns_of_each(store, [made.attempt for p in pairs for made in (p.treatment, p.baseline)])
    found = [parting(turns[p.treatment.attempt], turns[p.baseline.attempt]) for p in pairs]
    names = arm_names(pairs)
    return {
        "rows": [
            {"scenario": p.scenario, "block": p.block, "outcome": p.outcome,
             "treatment": p.treatment, "baseline": p.baseline, "parting": one}
            for p, one in zip(pairs, found, strict=True)
        ],
        "sentence": in_words(usual(found), names["treatment"], names["baseline"]),
    }  # fmt: skip
