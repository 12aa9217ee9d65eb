"""Proofs to start with hold for every safe room, and their rows give the optimum of levels that stand alone."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.attacker import DeviationBounds
from tablecloak.auditing import audit
from tablecloak.methods.intervals import hidden_by_mark, stated
from tablecloak.methods.unified import CuttingPlaneModel, interval_formulation
from tablecloak.methods.unified import local_separation as module
from tablecloak.methods.unified.local_separation import LocalStartSettings, local_protection_cuts
from tablecloak.model import Mark, Prices, all_requirements
from tablecloak.progress import NEVER, Deadline
from tablecloak.testing import KINDS, random_problem


@pytest.mark.parametrize("together", [1, 12])
@pytest.mark.parametrize("kind", KINDS)
def test_every_safe_publication_satisfies_them(kind: str, together: int) -> None:
    settings = LocalStartSettings(max_sensitive=together)
    checked = 0
    for seed in range(15):
        rng = np.random.default_rng([seed, 23])
        problem = random_problem(kind, rng, insiders=int(rng.integers(3)), sliding=bool(rng.integers(2)))
        requirements, boxes, size = all_requirements(problem), DeviationBounds(problem), len(problem.table)
        weights = problem.weights
        cuts = local_protection_cuts(problem, weights, weights, requirements, NEVER, settings)
        endless = np.where(problem.marks == Mark.HIDDEN, 1e9, 0.0)
        for wide in (10, 30, 60, 100):
            room = np.where(problem.forced, 0.0, rng.integers(0, wide, (2, size))) + endless
            if not audit(problem, stated(problem, *room)).safe_rows.all():
                continue
            for cut in cuts:
                down, up = boxes[cut.requirement.attacker]
                below, above = np.minimum(room[0], down), np.minimum(room[1], up)
                left = float(cut.above @ above[cut.cells] + cut.below @ below[cut.cells])
                assert left >= cut.requirement.level * (1 - 1e-6)
                checked += 1
    assert checked > 5


@pytest.mark.parametrize("kind", KINDS)
def test_one_program_of_all_requirements_and_equations_needs_no_more_rows_for_its_bound(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the program holds the whole table its duals are the optimum of the cutting-plane model."""
    monkeypatch.setattr(module.Neighbourhood, "around", lambda self, *_: np.arange(self.rows.shape[0]))
    monkeypatch.setattr(module, "_groups", lambda _, requirements, most: [list(requirements)])
    problem = random_problem(kind, np.random.default_rng(8))
    requirements, weights = all_requirements(problem), np.where(hidden_by_mark(problem), 0.0, problem.weights)
    cuts = local_protection_cuts(problem, weights, weights, requirements, NEVER)
    formulation = interval_formulation(
        problem, ~problem.forced, hidden_by_mark(problem), Prices.even(weights)
    )
    bounds: list[float] = []

    def tell(phase: str, done: int, total: int, incumbent: float | None = None, bound: float = 0.0) -> None:
        bounds.append(bound)

    answer = CuttingPlaneModel(problem, formulation, requirements, [], NEVER, tell).solve(cuts)
    assert bounds[1] == pytest.approx(answer.objective, rel=1e-6)


def test_none_when_the_time_is_up() -> None:
    problem = random_problem("two-way", np.random.default_rng(1))
    requirements = all_requirements(problem)
    assert (
        local_protection_cuts(problem, problem.weights, problem.weights, requirements, Deadline.after(0.0))
        == []
    )
