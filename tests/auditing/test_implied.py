"""Requirements that follow from others: the theorem on random tables of all kinds and scales, and the examples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from tablecloak import InfeasibleProblem, Levels, Problem, Suppression, audit, exposure, protect
from tablecloak.attacker import DeviationBounds
from tablecloak.auditing import implied_requirements
from tablecloak.examples import regional_turnover
from tablecloak.model import Requirement, Side, all_requirements, unmet_requirements
from tablecloak.testing.random_cases import (
    SCALES,
    SHAPES,
    random_bare_problem,
    random_levels,
    random_scaled_table,
)
from two_way import COUNTEREXAMPLE_K5, SENSITIVE_K5, TwoWay

UNMET = {Side.DOWN: 0, Side.UP: 1, Side.SLIDE: 2}


def random_case(kind: str, scale: str, seed: int) -> Problem:
    """A problem in which levels that follow from others are common: levels of lines that fit together."""
    rng = np.random.default_rng([seed, SHAPES.index(kind), SCALES.index(scale)])
    table = random_scaled_table(kind, scale, rng, "tiny")
    problem = random_levels(random_bare_problem(table, rng, share=rng.choice([0.0, 0.3])), rng)
    unit, levels = table.unit, [np.array(side) for side in (problem.levels.lower, problem.levels.upper)]
    for row in rng.permutation(table.equations.shape[0])[:2]:
        cells = table.equations[[row]].indices
        pair = rng.permutation(cells)[:2]
        if pair.size < 2 or problem.forced[pair].any():
            continue
        rest = np.setdiff1d(cells, pair)[:: 1 + int(rng.integers(2))]
        large = np.ceil(0.2 * np.abs(table.values[pair[0]]) / unit) * unit
        less = float(np.abs(table.values[rest]).sum()) + unit * int(rng.integers(-1, 2))
        for side in levels:
            side[pair[0]], side[pair[1]] = large, max(large - less, 0.0)
    sensitive = (levels[0] > 0) | (levels[1] > 0) | (problem.levels.sliding > 0)
    return Problem.of(
        table,
        sensitive,
        Levels.of(len(table), *levels, sliding=problem.levels.sliding),
        forced=problem.forced & ~sensitive,
        known=(problem.outsider_low, problem.outsider_high),
        attackers=problem.attackers,
        widen=True,
    )


def open_in(problem: Problem, pattern: Suppression) -> set[tuple[int, int, Side]]:
    """Cell, attacker and side of all requirements that a pattern leaves unmet."""
    found = audit(problem, pattern)
    return {
        (int(found.cells[row]), int(found.attackers[row]), side)
        for side, column in UNMET.items()
        for row in np.flatnonzero(found.unmet[column])
    }


def key(requirement: Requirement) -> tuple[int, int, Side]:
    return requirement.cell, requirement.attacker, requirement.side


def check(problem: Problem, rng: np.random.Generator, patterns: int) -> tuple[int, int]:
    """Every pattern that meets what is kept meets what is left out; (requirements, left out)."""
    requirements, allowed = all_requirements(problem), ~problem.forced
    implied = implied_requirements(problem, requirements, allowed)
    assert not set(implied) & set(implied.values())
    for _ in range(patterns if implied else 0):
        hidden = problem.must_hide | ((rng.random(allowed.size) < rng.random()) & allowed)
        unmet = open_in(problem, Suppression.copy_of(hidden))
        for requirement, root in implied.items():
            assert key(requirement) not in unmet or key(root) in unmet
    return len(requirements), len(implied)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("scale", SCALES)
def test_patterns_that_meet_what_is_kept_meet_what_follows(kind: str, scale: str) -> None:
    rng = np.random.default_rng(0)
    counted = np.sum([check(random_case(kind, scale, seed), rng, 6) for seed in range(12)], axis=0)
    assert counted[1] < counted[0]


def test_random_cases_have_levels_that_follow() -> None:
    rng = np.random.default_rng(0)
    followed = {
        kind: sum(check(random_case(kind, "counts", seed), rng, 0)[1] for seed in range(40))
        for kind in SHAPES
    }
    assert sum(followed.values()) > 100
    assert min(followed.values()) > 0


@pytest.mark.parametrize("kind", SHAPES)
def test_the_corollary_is_a_case_of_the_theorem(kind: str) -> None:
    """Linear programs over everything that may be hidden: whoever deviates as required moves the other cell too."""
    checked = 0
    for seed in range(25):
        problem = random_case(kind, "counts", seed)
        allowed = np.flatnonzero(~problem.forced)
        implied = implied_requirements(problem, all_requirements(problem), ~problem.forced)
        equations = problem.table.equations[:, allowed].toarray()
        for one, root in implied.items():
            if Side.SLIDE in (one.side, root.side):
                continue
            down, up = (side[allowed] for side in DeviationBounds(problem)[one.attacker])
            place = {int(cell): at for at, cell in enumerate(allowed)}
            sense = {Side.UP: 1.0, Side.DOWN: -1.0}
            cost, row = np.zeros((2, allowed.size))
            cost[place[one.cell]], row[place[root.cell]] = sense[one.side], -sense[root.side]
            bounds = [
                (-d if np.isfinite(d) else None, u if np.isfinite(u) else None)
                for d, u in zip(down, up, strict=True)
            ]
            found = linprog(cost, row[None, :], [-root.level], equations, np.zeros(len(equations)), bounds)
            assert found.status == 2 or found.fun >= one.level * (1 - 1e-7) - 1e-7
            checked += 1
    assert checked > 3


def test_patterns_for_the_levels_of_d_are_safe() -> None:
    """The cheapest pattern for what D keeps is safe for all, and as cheap as that for all."""
    saved = 0
    for kind in SHAPES:
        for seed in range(8):
            problem = random_case(kind, "counts", seed)
            found = exposure(problem)
            kept = np.isin(np.arange(len(problem.table)), found.algorithms["D"])
            some = Problem.of(
                problem.table,
                kept,
                Levels.of(
                    kept.size,
                    *(np.where(kept, side, 0.0) for side in (problem.levels.lower, problem.levels.upper)),
                    sliding=np.where(kept, problem.levels.sliding, 0.0),
                ),
                hidden=problem.must_hide & ~kept,
                forced=problem.forced,
                weights=problem.weights,
                known=(problem.outsider_low, problem.outsider_high),
            )
            alone = Problem.of(
                problem.table,
                problem.sensitive,
                problem.levels,
                forced=problem.forced,
                weights=problem.weights,
                known=(problem.outsider_low, problem.outsider_high),
            )
            try:
                result = protect(some, "suppress-compact")
            except InfeasibleProblem:
                continue
            saved += found.sets["D"].size
            assert audit(alone, result.pattern).safe
            assert result.cost == pytest.approx(protect(alone, "suppress-optimal").cost)
    assert saved > 10


def test_the_table_on_which_k5_fails_keeps_everything() -> None:
    grid = TwoWay(COUNTEREXAMPLE_K5)
    found = exposure(grid.percent(SENSITIVE_K5, 0.1, hide_zeros=False))
    assert found.sets["D"].size == 0
    assert found.algorithms["D"].tolist() == found.algorithms["E"].tolist()
    assert found.left_open["D"].size == 0


def test_equal_cells_keep_one_level() -> None:
    """A total with one part that is not zero, in both dimensions: four equal cells, two levels."""
    grid = TwoWay([[7, 0, 0], [0, 20, 30], [0, 40, 50]])
    cells = grid.cells([(1, 1), (1, -1), (-1, 1)])
    level = np.zeros(len(grid.table))
    level[cells] = 2.0
    problem = Problem.of(grid.table, cells, Levels.of(level.size, level, level), hide_zeros=False)
    requirements = all_requirements(problem)
    implied = implied_requirements(problem, requirements, ~problem.forced)
    assert (len(requirements), len(implied), len(set(implied.values()))) == (6, 4, 2)
    result = protect(problem, "suppress-optimal")
    assert result.report.counters["implied levels"] == 4
    assert result.cost == protect(problem, "suppress-compact").cost


def test_the_upper_level_of_a_total_by_the_p_percent_rule_follows_from_its_part() -> None:
    """90 and 5 are the largest contributions of the part and of the total: level 9 of the one, 9 - 4 of the other."""
    grid = TwoWay([[95, 4], [200, 300]])
    part, total = grid.cells([(1, 1), (1, -1)])
    upper = np.zeros(len(grid.table))
    upper[part], upper[total] = 9.0, 5.0
    for level, follows in ((5.0, True), (6.0, False)):
        upper[total] = level
        problem = Problem.of(grid.table, [part, total], Levels.of(upper.size, upper=upper))
        implied = implied_requirements(problem, all_requirements(problem), ~problem.forced)
        assert {one.cell: root.cell for one, root in implied.items()} == ({total: part} if follows else {})


def test_conditional_requirements_are_not_touched() -> None:
    """suppress-optimal keeps conditional levels whatever follows from what."""
    table = regional_turnover()
    level = np.where(np.arange(len(table)) < 2, 5.0, 0.0)
    conditional = np.where(np.arange(len(table)) > 4, 3.0, 0.0)
    problem = Problem.of(table, level > 0, Levels.of(len(table), level, level, conditional=conditional))
    optimum = protect(problem, "suppress-compact")
    assert protect(problem, "suppress-optimal").cost == pytest.approx(optimum.cost)


def test_requirements_of_other_attackers_follow_only_from_their_own() -> None:
    for seed in range(20):
        problem = random_case("two-way", "counts", seed)
        unmet = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
        for one, root in implied_requirements(problem, unmet, ~problem.forced).items():
            assert one.attacker == root.attacker
