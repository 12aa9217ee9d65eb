"""Fewer levels for suppress-optimal: those that follow from others left out, and K5 as the first active requirements.

*implied*: how many of the levels that the sensitive cells leave open follow from others (`auditing.implied`), on the
tables after Serpell et al. (2013), on the demonstration file of tau-ARGUS by the p% rule, and what that saves.
*active*: fractional points are separated for the levels of K5 to begin with, and for the others where none of those is
violated; integral points always for all. Side by side: rounds of the root, cuts, processor seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from cases.base import Make, Part, sizes
from cases.synthetic import MIX, RESAMPLED, resampled, synthetic, tau_problem
from runner import Case, Row
from tablecloak import Method, Problem, Suppression, audit, exposure, protect
from tablecloak.auditing import implied_requirements
from tablecloak.methods import METHODS
from tablecloak.methods.branch_and_cut import ExactSettings
from tablecloak.methods.branch_and_cut.settings import SmallSettings
from tablecloak.model import unmet_requirements

SECONDS = 20.0
GENERAL = ExactSettings(small=SmallSettings(max_cells=0))
"""The general recipe also for small networks: the small one has no rounds."""
VARIANTS: Mapping[str, ExactSettings] = {
    "all": replace(GENERAL, drop_implied=False),
    "implied": GENERAL,
    "K5": replace(GENERAL, drop_implied=False, first_active="K5"),
    "both": replace(GENERAL, first_active="K5"),
}
SHARE = 5
"""One in this number of the synthetic and of the resampled tables is solved; all are counted."""


def cases(seconds: float | None) -> Iterator[Case]:
    """The file of tau-ARGUS, the synthetic tables, the resampled ones."""
    limit = seconds or SECONDS
    yield _case("tau-ARGUS, p%", tau_problem, limit, True)
    for shape, count in MIX.items():
        for number in range(count):
            name, make = f"{shape} {number}", partial(synthetic, shape, number)
            yield _case(name, make, limit, number % SHARE == 0, shape)
    for number in range(RESAMPLED):
        solved = number % (10 * SHARE) == 0
        yield _case(f"resampled {number}", partial(resampled, number), limit, solved, "resampled")


def _case(name: str, make: Make, limit: float, solved: bool, shape: str = "tau-ARGUS, p%") -> Case:
    facts = {"shape": shape, "limit_s": f"{limit:g}"}
    return Case(name, partial(row_of, make, limit if solved else None), 4 * limit + 60.0, (shape,), facts)


def row_of(make: Make, seconds: float | None) -> Row:
    """What can be left out, and if there are seconds what the variants make of it."""
    problem = make()
    row = {**sizes(problem), **_counted(problem), "status": "measured"}
    if seconds is None:
        return row
    for name, settings in VARIANTS.items():
        start = time.process_time()
        result = protect(problem, _method(settings), params={"seconds": seconds})
        row |= {
            f"{name}_s": round(time.process_time() - start, 4),
            f"{name}_status": result.status.value,
            f"{name}_cost": result.cost,
            f"{name}_bound": result.bound,
        }
        counters = result.report.counters
        row |= {
            f"{name}_{key}": counters.get(counter, 0)
            for key, counter in (("rounds", "rounds"), ("levels", "levels"), ("active", "active levels"))
        }
        row |= {f"{name}_cuts": sum(n for key, n in counters.items() if key.endswith(" cuts"))}
    return row


def _counted(problem: Problem) -> Row:
    """Open levels and those that follow from others; cells that the sets E, K5 and D keep."""
    unmet = unmet_requirements(problem, audit(problem, Suppression(problem.must_hide)))
    start = time.process_time()
    implied = implied_requirements(problem, unmet, ~problem.forced)
    spent = time.process_time() - start
    found = exposure(problem).algorithms
    kept = {f"kept_{name}": found[name].size for name in ("E", "K5", "D")}
    return {"open_levels": len(unmet), "implied_levels": len(implied), "implied_s": round(spent, 4), **kept}


def _method(settings: ExactSettings) -> Method:
    optimal = METHODS["suppress-optimal"]
    return replace(optimal, function=partial(optimal.function, settings=settings))


PARTS = (Part("implied", "levels that follow from others, and K5 as first active requirements", cases, True),)
