"""Protection cuts hold for every safe publication and are violated by the one that they were separated from."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.arrays import Floats
from tablecloak.attacker import DeviationBounds, is_network
from tablecloak.auditing import audit
from tablecloak.methods.intervals import stated
from tablecloak.methods.unified import ProtectionCut
from tablecloak.methods.unified.protection_cuts import Separator, own_bound_cuts
from tablecloak.methods.unified.separation import (
    LinearProtectionSeparator,
    NetworkProtectionSeparator,
    protection_separator_of,
)
from tablecloak.model import Mark, Side, all_requirements, conditional_requirements
from tablecloak.testing import KINDS, random_problem
from two_way import TwoWay


@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_cuts_are_violated_here_and_satisfied_by_every_safe_publication(kind: str, depth: int) -> None:
    checked = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 9])
        problem = random_problem(kind, rng, insiders=int(rng.integers(3)), sliding=bool(rng.integers(2)))
        requirements, boxes = all_requirements(problem), DeviationBounds(problem)
        size = len(problem.table)
        separators: list[Separator] = [LinearProtectionSeparator(problem)]
        separators += [NetworkProtectionSeparator(problem)] if is_network(problem) else []
        endless = np.where(problem.marks == Mark.HIDDEN, 1e9, 0.0)
        bounds = [np.where(problem.forced, 0.0, rng.integers(0, 30, (2, size))) + endless for _ in range(8)]
        safe = [bound for bound in bounds if audit(problem, stated(problem, *bound)).safe_rows.all()]
        for separator in separators:
            for bound in bounds:
                share = (
                    np.where(rng.random(size) < 0.5, rng.random(size), 1.0) if rng.random() < 0.3 else None
                )
                found = separator.separate(
                    bound[0],
                    bound[1],
                    requirements,
                    extent=np.ones(len(requirements)),
                    most=100,
                    share=share,
                    depth=depth,
                )
                for cut in found:
                    down, up = boxes[cut.requirement.attacker]

                    def left(
                        other: Floats, cut: ProtectionCut = cut, down: Floats = down, up: Floats = up
                    ) -> float:
                        below, above = np.minimum(other[0], down), np.minimum(other[1], up)
                        return float(cut.above @ above[cut.cells] + cut.below @ below[cut.cells])

                    assert share is not None or left(bound) < cut.requirement.level * (1 - 1e-8)
                    assert all(left(other) >= cut.requirement.level * (1 - 1e-6) for other in safe)
                    checked += 1
    assert checked > 20


@pytest.mark.parametrize("kind", KINDS)
def test_no_violated_cut_means_safe(kind: str) -> None:
    for seed in range(12):
        rng = np.random.default_rng([seed, 11])
        problem = random_problem(kind, rng, insiders=1)
        requirements = all_requirements(problem)
        endless = np.where(problem.marks == Mark.HIDDEN, 1e9, 0.0)
        below, above = np.where(problem.forced, 0.0, rng.integers(0, 60, (2, endless.size))) + endless
        found = protection_separator_of(problem).separate(
            below, above, requirements, extent=np.ones(len(requirements)), most=1
        )
        verdict = audit(problem, stated(problem, below, above))
        assert bool(found) == (not verdict.safe_rows.all())


def test_conditional_widths_are_asked_of_free_cells_only() -> None:
    problem = random_problem("two-way", np.random.default_rng(3), conditional=True, insiders=1)
    free = ~problem.forced & ~problem.must_hide
    requirements = conditional_requirements(problem, free)
    assert {requirement.cell for requirement in requirements} == set(
        np.flatnonzero(free & (problem.levels.conditional > 0)).tolist()
    )
    assert {requirement.attacker for requirement in requirements} == {0, 1}


def test_deeper_cuts_are_more_of_the_same_requirements() -> None:
    """On a network with narrow deviation bounds there are many cuts behind each other."""
    grid = TwoWay(np.arange(1, 65).reshape(8, 8).tolist())
    problem = grid.problem([(2, 3)], 5, 5)
    requirements, none = all_requirements(problem), np.zeros(len(problem.table))
    one, many = (
        NetworkProtectionSeparator(problem).separate(
            none, none, requirements, extent=np.ones(len(requirements)), most=9, depth=depth
        )
        for depth in (1, 5)
    )
    assert len(many) > len(one) > 0
    assert {cut.requirement for cut in many} == {cut.requirement for cut in one}
    assert len({cut.cells.tobytes() for cut in many}) > len({cut.cells.tobytes() for cut in one})


def test_a_cells_own_bounds_must_allow_its_levels() -> None:
    problem = random_problem("two-way", np.random.default_rng(5), sliding=True)
    for cut in own_bound_cuts(all_requirements(problem)):
        assert cut.cells.tolist() == [cut.requirement.cell]
        assert (cut.above[0] + cut.below[0] == 2.0) == (cut.requirement.side is Side.SLIDE)
