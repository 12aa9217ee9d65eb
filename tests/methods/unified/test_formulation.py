"""The compact and the cutting-plane model of every formulation agree, and enumeration agrees with both."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.arrays import Floats
from tablecloak.auditing import audit
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    Formulation,
    ModelSolution,
    ShownFormulation,
    additivity,
    combined_formulation,
    interval_formulation,
    joined,
    perturbation_formulation,
    rounding_formulation,
    solve_compact_model,
    suppression_formulation,
    with_senses,
)
from tablecloak.model import Prices, Problem, Rounding, all_requirements, conditional_requirements
from tablecloak.progress import Deadline, silent
from tablecloak.protection import protect
from tablecloak.solvers import GrowingProgram, Outcome
from tablecloak.solvers.highs import running
from tablecloak.solvers.highs.running import Abandoned, Overrun
from tablecloak.testing import KINDS, random_problem
from two_way import FIGURE_004, TwoWay

OPTIONS = {
    "plain": {},
    "insiders": {"insiders": 2},
    "sliding": {"sliding": True},
    "negative": {"negative": True},
    "conditional": {"conditional": True},
}


LIMIT = 2.0
"""Seconds that each model has; where one of them is not done by then nothing is compared."""


def cutting_plane(problem: Problem, formulation: Formulation) -> ModelSolution:
    widths = conditional_requirements(problem, ~problem.forced & ~problem.must_hide)
    return CuttingPlaneModel(
        problem, formulation, all_requirements(problem), widths, Deadline.after(LIMIT), silent
    ).solve()


def agree(problem: Problem, formulation: Formulation) -> tuple[Outcome, float]:
    """Solve a formulation by both models; what they agree on."""
    widths = conditional_requirements(problem, ~problem.forced & ~problem.must_hide)
    one, other = (
        solve_compact_model(problem, formulation, all_requirements(problem), widths, LIMIT),
        cutting_plane(problem, formulation),
    )
    if Outcome.TIME_LIMIT in (one.outcome, other.outcome):
        return Outcome.TIME_LIMIT, np.nan
    assert one.outcome is other.outcome
    if one.outcome is Outcome.OPTIMAL:
        assert other.safe
        assert other.objective == pytest.approx(one.objective, rel=1e-5, abs=1e-5)
        assert other.bound <= other.objective * (1 + 1e-9) + 1e-9
    return one.outcome, one.objective


def summed(problem: Problem, shown: ShownFormulation) -> Formulation:
    return shown.formulation.with_constraints(additivity(problem, shown.value))


def formulations(problem: Problem, rng: np.random.Generator) -> dict[str, Formulation]:
    cells, none = ~problem.forced, np.zeros(len(problem.table), dtype=bool)
    price: Floats = rng.integers(1, 6, none.size).astype(float)
    largest = max((float(level.max()) for _, level in problem.levels.named()), default=1.0)
    base = np.where(cells, np.ceil(largest * rng.choice([1.0, 2.0, 4.0])) + 1.0, 0.0)
    levels, prices = problem.levels, Prices.even(price)
    up, down = np.maximum(levels.upper, levels.sliding / 2), np.maximum(levels.lower, levels.sliding / 2)
    return {
        "interval": interval_formulation(problem, cells, none, prices),
        "combined": combined_formulation(
            problem, cells, none, Prices.even(price, 10 * largest * price), 4 * largest
        ),
        "rounding": summed(problem, rounding_formulation(problem, cells, base, 0, prices)),
        "steps": summed(problem, rounding_formulation(problem, cells, base, 1, prices)),
        "perturbation": summed(
            problem,
            with_senses(perturbation_formulation(problem, cells, 2 * base, prices), problem, cells, up, down),
        ),
    }


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_compact_and_cutting_plane_models_agree(kind: str, option: str) -> None:
    compared = 0
    for seed in range(3):
        rng = np.random.default_rng([seed, 5])
        problem = random_problem(kind, rng, **OPTIONS[option])
        for name, formulation in formulations(problem, rng).items():
            if name == "interval" and problem.levels.conditional.any():
                continue  # a pure linear program does not know whether a cell is touched
            outcome, _ = agree(problem, formulation)
            compared += outcome is not Outcome.TIME_LIMIT
    assert compared > 6


def test_the_suppression_formulation_is_suppress_compact() -> None:
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 10, 12, known=(np.zeros(16), 2 * grid.table.values))
    found = agree(problem, suppression_formulation(problem, ~problem.forced))
    assert found == (Outcome.OPTIMAL, protect(problem, "suppress-compact").cost)


def test_rounding_agrees_with_all_roundings_there_are() -> None:
    grid = TwoWay([[3, 4], [7, 6]])
    problem = grid.problem([(1, 1)], 1, 2, weights=np.ones(9))
    value, base = grid.table.values, 5.0
    best = np.inf
    for ups in product((0, 1), repeat=9):
        shown = np.where(value % base == 0, value, np.floor(value / base) * base + base * np.array(ups))
        adds = np.abs(grid.table.equations @ shown - grid.table.rhs).max() < 1e-9
        if adds and audit(problem, Rounding.of(shown, base)).safe:
            best = min(best, float(np.abs(shown - value).sum()))
    assert np.isfinite(best)
    _, cost = agree(
        problem,
        summed(
            problem,
            rounding_formulation(problem, ~problem.forced, np.full(9, base), 0, Prices.even(np.ones(9))),
        ),
    )
    assert cost == best


def test_joined_formulations_speak_for_their_cells() -> None:
    """Intervals for inner cells and rounded totals in one program, and the sum of the parts where they do not meet."""
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 10, 12, weights=np.ones(16))
    leaves, one = grid.table.is_leaf, np.ones(16)
    inner = interval_formulation(problem, leaves, np.zeros(16, dtype=bool), Prices.even(one))
    totals = rounding_formulation(problem, ~leaves, np.where(leaves, 0.0, 10.0), 0, Prices.even(one))
    formulation = joined([(leaves, inner), (~leaves, totals.formulation)])
    outcome, cost = agree(problem, formulation)
    assert outcome is Outcome.OPTIMAL
    alone = cutting_plane(problem, inner).objective
    rounded = float(np.abs(grid.table.values - 10 * np.rint(grid.table.values / 10))[~leaves].sum())
    assert cost < alone + rounded + 1e-9, "rounded totals leave room that intervals need not"
    assert cost >= rounded - 1e-9


def test_an_integer_program_that_does_not_end_is_left_and_not_used_again(monkeypatch):
    """As on hier13x13x7d: HiGHS did not look up from the root of an integer program for two seconds."""
    one = np.ones(2)
    for trouble in (Overrun, Abandoned):
        program = GrowingProgram(one, np.zeros(2), 3 * one, abandonable=True)
        program.add_rows(np.ones(1), csr_array(np.array([[1.0, 1.0]])))
        assert program.solve().objective == 1.0
        asked = []

        def deaf(highs, seconds, trouble=trouble, asked=asked, **named):
            asked.append(named["may_abandon"])
            raise trouble

        monkeypatch.setattr(running, "run", deaf)
        if trouble is Abandoned:
            with pytest.raises(KeyboardInterrupt):
                program.solve()
        for _ in range(2):
            program.add_rows(np.ones(1), csr_array(np.array([[1.0, 0.0]])))
            found = program.solve(5.0)
            assert found.outcome is Outcome.TIME_LIMIT and found.values.size == 0
        assert asked == [True]
        monkeypatch.undo()
