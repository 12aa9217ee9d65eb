"""Proofs hold for every safe room and are missed by the room they were asked about."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.audit import audit
from tablecloak.methods.lengths import stated
from tablecloak.methods.network_search import Boxes, is_network
from tablecloak.methods.rooms import (
    LinearProver,
    NetworkProver,
    Prover,
    all_levels,
    conditional_widths,
    prover_of,
)
from tablecloak.problem import Mark
from tablecloak.testing import KINDS, random_problem


@pytest.mark.parametrize("kind", KINDS)
def test_proofs_are_missed_here_and_met_by_every_safe_room(kind: str) -> None:
    checked = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 9])
        problem = random_problem(kind, rng, insiders=int(rng.integers(3)), sliding=bool(rng.integers(2)))
        tasks, boxes = all_levels(problem), Boxes(problem)
        size = len(problem.table)
        provers: list[Prover] = [LinearProver(problem)]
        provers += [NetworkProver(problem)] if is_network(problem) else []
        endless = np.where(problem.marks == Mark.HIDDEN, 1e9, 0.0)
        rooms = [np.where(problem.forced, 0.0, rng.integers(0, 30, (2, size))) + endless for _ in range(8)]
        safe = [room for room in rooms if audit(problem, stated(problem, *room)).safe_rows.all()]
        for prover in provers:
            for room in rooms:
                found = prover.proofs(*room, tasks, extent=np.ones(len(tasks)), most=100)
                for proof in found:
                    down, up = boxes[proof.task.attacker]

                    def left(other: np.ndarray, proof=proof, down=down, up=up) -> float:
                        below, above = np.minimum(other[0], down), np.minimum(other[1], up)
                        return float(proof.above @ above[proof.cells] + proof.below @ below[proof.cells])

                    assert left(room) < proof.task.level * (1 - 1e-8)
                    assert all(left(other) >= proof.task.level * (1 - 1e-6) for other in safe)
                    checked += 1
    assert checked > 20


@pytest.mark.parametrize("kind", KINDS)
def test_no_proof_means_safe(kind: str) -> None:
    for seed in range(12):
        rng = np.random.default_rng([seed, 11])
        problem = random_problem(kind, rng, insiders=1)
        tasks = all_levels(problem)
        endless = np.where(problem.marks == Mark.HIDDEN, 1e9, 0.0)
        below, above = np.where(problem.forced, 0.0, rng.integers(0, 60, (2, endless.size))) + endless
        found = prover_of(problem).proofs(below, above, tasks, extent=np.ones(len(tasks)), most=1)
        verdict = audit(problem, stated(problem, below, above))
        assert bool(found) == (not verdict.safe_rows.all())


def test_conditional_widths_are_asked_of_free_cells_only() -> None:
    problem = random_problem("two-way", np.random.default_rng(3), conditional=True, insiders=1)
    free = ~problem.forced & ~problem.must_hide
    tasks = conditional_widths(problem, free)
    assert {task.cell for task in tasks} == set(
        np.flatnonzero(free & (problem.levels.conditional > 0)).tolist()
    )
    assert {task.attacker for task in tasks} == {0, 1}
