"""Patterns by strata beside hypercubes and few deviations on hierarchical tables from microdata, in processor time.

Every variant builds one pattern without a time limit, and all of them do counted work: rows can be compared on a busy
machine too. Patterns are audited, outside the time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from cases.base import Make, Part, sizes
from cases.synthetic import microdata_part, tau_problem
from runner import Case, Row, code_facts
from tablecloak.auditing import audit
from tablecloak.methods import largest_pattern
from tablecloak.methods.base import complementary_cost
from tablecloak.methods.heuristics import CubeSearch, LpConstruction, QuickDeviations, StrataSearch
from tablecloak.methods.heuristics.reversible_deviations import QuickSettings
from tablecloak.methods.heuristics.strata import StrataSettings
from tablecloak.model import Suppression, unmet_requirements
from tablecloak.progress import NEVER, silent

SECONDS = 1800.0
PARTS_OF_FILE = {
    "15% of the industries": (("IndustryCode", "Size", "Region"), 0.15, 1),
    "30% of the industries": (("IndustryCode", "Size", "Region"), 0.3, 2),
    "50% of the industries": (("IndustryCode", "Size", "Region"), 0.5, 4),
    "IndustryCode x Region": (("IndustryCode", "Region"), 1.0, 3),
}
"""Tables from the records of some industries: dimensions, share of the industries, seed."""


def instances() -> Iterator[tuple[str, Make]]:
    """Parts of the demonstration file of tau-ARGUS, and all of it."""
    for name, (dimensions, share, seed) in PARTS_OF_FILE.items():
        yield name, partial(microdata_part, dimensions, share, seed)
    yield "tau_testW", tau_problem


def _row(make: Make, variant: str) -> Row:
    """The pattern of a variant, and what it took."""
    problem = make()
    allowed = largest_pattern(problem, silent)
    bare = audit(problem, Suppression.copy_of(problem.must_hide))
    requirements = unmet_requirements(problem, bare)
    rng, start = np.random.default_rng(0), time.process_time()
    given = problem, allowed, requirements
    steps = 0
    if variant.startswith("hypercubes"):
        cubes = CubeSearch(*given, rng, silent, NEVER)
        cubes.build()
        cubes.exchange(30_000 if "exchanges" in variant else 0)
        hidden = cubes.hidden
    elif variant == "few deviations":
        quick = QuickDeviations(*given, silent, NEVER)
        quick.build()
        hidden = quick.hidden
    elif variant == "linear programs":
        greedy = LpConstruction(problem, allowed, silent, NEVER)
        greedy.construct()
        greedy.eliminate_redundant()
        hidden = greedy.hidden
    else:
        search = StrataSearch(*given, rng, silent, NEVER, STRATA[variant])
        search.build()
        if ORDERS in variant:
            search.improve(100)
        assert search.best is not None
        hidden, steps = search.best, search.steps
    seconds = time.process_time() - start
    return {
        **sizes(problem),
        "cost": complementary_cost(problem, hidden),
        "complementary": int((hidden & ~problem.must_hide).sum()),
        "orders": steps,
        "cpu_s": round(seconds, 2),
        "open": int(audit(problem, Suppression.copy_of(hidden)).open_cells.size),
        **code_facts(),
    }


ORDERS = "100 orders"
STRATA = {
    "strata": StrataSettings(),
    f"strata, {ORDERS}": StrataSettings(),
    "strata, share 1/4": StrataSettings(shares=(0.25,)),
    "strata, share 1/2": StrataSettings(shares=(0.5,)),
    "strata, share 1": StrataSettings(shares=(1.0,)),
    "strata, wide": StrataSettings(width=4.0, same_room=0.05),
    "strata, hidden cells free in repairs": StrataSettings(deviations=QuickSettings()),
}
VARIANTS = ("hypercubes", "hypercubes, 30,000 exchanges", "few deviations", "linear programs", *STRATA)
LARGE = ("hypercubes, 30,000 exchanges", "strata", "strata, share 1")
"""The variants for tables of more than 10,000 cells: the others would take a good part of an hour each."""
LARGE_TABLES = ("50% of the industries", "tau_testW")


def cases(seconds: float | None) -> Iterator[Case]:
    """Every variant on every instance."""
    for name, make in instances():
        for variant in VARIANTS:
            if variant in LARGE or name not in LARGE_TABLES:
                facts = {"name": name, "variant": variant}
                yield Case(
                    f"{name}, {variant}", partial(_row, make, variant), seconds or SECONDS, (name,), facts
                )


PARTS = (
    Part("strata", "patterns by strata, hypercubes and deviations on microdata", cases, needs_data=True),
)
