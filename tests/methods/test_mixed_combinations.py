"""mixed-joint: any partition into ways, bounds on each way, conditional levels across ways, prices, own levels.

Each against a program of its own over scipy (`first_models.mixed_program`), which shares no code with the methods.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from first_models import Combination, mixed_program
from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.model import (
    Attacker,
    AttackerLevels,
    Levels,
    Mark,
    Prices,
    Problem,
)
from tablecloak.protection import protect
from tablecloak.testing import KINDS, assert_protected, random_problem

NAME = "mixed-joint"
PLAIN: dict[str, Any] = {"grid": 0.0, "asymmetry": 0.0, "steps": 0, "share": 0.0}
BOUNDS = {
    "suppress": "most_suppressed",
    "interval": "most_intervals",
    "round": "most_rounded",
    "perturb": "most_perturbed",
}


def with_conditional(problem: Problem, rng: np.random.Generator) -> Problem:
    """Conditional levels of some cells that are not sensitive, of all kinds, as far as the outsider's box goes."""
    size, value = len(problem.table), problem.table.values
    kinds = []
    for side in ("width", "lower", "upper"):
        level = np.where(rng.random(size) < 0.15, rng.integers(1, 12, size), 0).astype(float)
        if side == "lower":
            level = np.minimum(level, np.floor(value - problem.outsider_low))
        if side == "upper":
            level = np.minimum(level, np.floor(problem.outsider_high - value))
        kinds.append(np.where(problem.sensitive | problem.forced, 0.0, np.maximum(level, 0.0)))
    levels = problem.levels
    return replace(problem, levels=Levels.of(size, levels.lower, levels.upper, levels.sliding, *kinds))


def with_own_levels(problem: Problem, rng: np.random.Generator) -> Problem:
    """An attacker who knows a cell or two within a window, with levels of his own where his box allows them."""
    table, cells = problem.table, np.flatnonzero(rng.random(len(problem.table)) < 0.2)
    window = rng.integers(5, 40, cells.size)
    value = table.values[cells]
    low, high = np.maximum(value - window, problem.outsider_low[cells]), value + window
    mine = np.flatnonzero(problem.sensitive)
    below = np.minimum(rng.integers(0, 12, mine.size), 5.0)
    above = rng.integers(0, 6, mine.size).astype(float)
    below = np.minimum(below, np.maximum(table.values[mine] - problem.outsider_low[mine], 0.0))
    levels = AttackerLevels.at(mine, np.floor(below), above, np.nan)
    return replace(problem, attackers=(*problem.attackers, Attacker.knowing("who", cells, low, high, levels)))


def random_combination(problem: Problem, rng: np.random.Generator) -> Combination:
    """A partition into all ways, bases by cell, and bounds on some of the ways."""
    size = len(problem.table)
    ways = rng.choice(["exact", *BOUNDS], size, p=[0.03, 0.27, 0.35, 0.25, 0.1])
    ways[problem.sensitive & np.isin(ways, ["exact", "round"])] = "interval"
    base = np.where(ways == "round", rng.choice([0, 5, 10, 30], size, p=[0.04, 0.16, 0.4, 0.4]), 0).astype(
        float
    )
    most = {way: int(rng.integers(2, 10)) for way in BOUNDS if rng.random() < 0.25}
    must = int((problem.must_hide & ((ways == "suppress") | ~problem.sensitive)).sum())
    most = {way: max(number, must) if way == "suppress" else number for way, number in most.items()}
    return Combination(ways.tolist(), base, float(rng.choice([30.0, 60.0])), most)


def parameters(given: Combination) -> dict[str, Any]:
    return {
        **PLAIN,
        "ways": given.ways,
        "bases": given.base,
        "least": given.reach,
        **{BOUNDS[way]: most for way, most in given.most.items() if way in BOUNDS},
    }


def priced(problem: Problem, rng: np.random.Generator) -> Problem:
    up, down, touch = np.round(10.0 ** rng.uniform(-1, 1, (3, len(problem.table))), 2)
    return replace(problem, prices=Prices(up, down, touch))


OPTIONS = ("plain", "prices", "conditional", "own levels", "touched", "all of it")


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_combinations_reach_the_optimum_of_a_program_of_their_own(kind: str, option: str) -> None:
    """Any partition, bounds on each way: the same optimum, or neither has anything that protects every cell."""
    compared = refused = 0
    for seed in range(24):
        if compared >= 6:
            break
        rng = np.random.default_rng([seed, 2204, KINDS.index(kind), OPTIONS.index(option)])
        problem = random_problem(kind, rng, insiders=int(seed % 4 == 3), sliding=seed % 3 == 2)
        kept = np.where(problem.forced & (rng.random(len(problem.table)) < 0.7), Mark.FREE, problem.marks)
        problem = replace(problem, marks=kept.astype(problem.marks.dtype))
        if option in ("prices", "all of it"):
            problem = priced(problem, rng)
        if option in ("own levels", "all of it"):
            problem = with_own_levels(problem, rng)
        if option in ("conditional", "all of it"):
            problem = with_conditional(problem, rng)
        given = random_combination(problem, rng)
        if option in ("touched", "all of it"):
            given.most["all"] = max(int(rng.integers(4, 20)), int(problem.must_hide.sum()))
            problem = replace(problem, most_touched=given.most["all"])
        try:
            found = mixed_program(problem, given).solve()
        except InputError:
            found = None
        try:
            result = protect(problem, NAME, params=parameters(given))
        except (InfeasibleProblem, InputError):
            result = None
        if found is None:
            assert result is None or not result.audit.safe, (kind, option, seed)
            refused += 1
            continue
        assert result is not None, (kind, option, seed, "refused, though there is a publication")
        if not result.audit.safe and "perturb" in given.ways:
            continue  # perturbed values in whole data units may leave their own cells open
        assert result.audit.safe, (kind, option, seed)
        assert_protected(problem, result.pattern)
        touched = result.pattern.touched(problem)
        for way, most in given.most.items():
            silent = problem.must_hide & ~problem.sensitive  # suppressed, whatever their way
            cells = np.array([way == each for each in given.ways]) & ~silent | (silent & (way == "suppress"))
            cells |= way == "all"
            assert int((touched & cells).sum()) <= most
        bound = result.bound
        if bound is None:
            continue  # whole data units cost less than the program's optimum
        assert bound == pytest.approx(found[0], rel=1e-5, abs=1e-5), (kind, option, seed)
        assert result.report.counters["cost before blurring"] >= found[0] * (1 - 1e-5) - 1e-5
        compared += 1
    print(f"COUNT {option} {kind} {compared} {refused}")
    assert compared >= 2
