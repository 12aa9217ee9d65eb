"""Cuts of local programs hold for every safe publication; where there is none the requirement is met."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak import Dimension, Hierarchy, Levels, Problem, Table
from tablecloak.arrays import Floats
from tablecloak.attacker import DeviationBounds
from tablecloak.auditing import audit
from tablecloak.methods.interval_partial import PartialParams, interval_partial
from tablecloak.methods.intervals import IntervalSettings, stated
from tablecloak.methods.unified import CuttingPlaneSettings, ProtectionCut
from tablecloak.methods.unified.cutting_plane_model import SeparationSettings
from tablecloak.methods.unified.local_separation import (
    LocalSeparator,
    LocalSettings,
    LocalStartSettings,
)
from tablecloak.methods.unified.separation import (
    LinearProtectionSeparator,
    SeparatorSettings,
    protection_separator_of,
)
from tablecloak.model import Mark, all_requirements
from tablecloak.progress import Deadline, silent
from tablecloak.testing import KINDS, random_problem


def separator(problem: Problem, **settings: int) -> LocalSeparator:
    return LocalSeparator(problem, LinearProtectionSeparator(problem), LocalSettings(**settings))


@pytest.mark.parametrize("kind", KINDS)
def test_cuts_are_violated_here_and_satisfied_by_every_safe_publication(kind: str) -> None:
    checked = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 19])
        problem = random_problem(kind, rng, insiders=int(rng.integers(3)), sliding=bool(rng.integers(2)))
        requirements, boxes, asked = all_requirements(problem), DeviationBounds(problem), separator(problem)
        size = len(problem.table)
        endless = np.where(problem.marks == Mark.HIDDEN, 1e9, 0.0)
        bounds = [np.where(problem.forced, 0.0, rng.integers(0, 30, (2, size))) + endless for _ in range(8)]
        safe = [bound for bound in bounds if audit(problem, stated(problem, *bound)).safe_rows.all()]
        for bound in bounds:
            share = np.where(rng.random(size) < 0.5, rng.random(size), 1.0) if rng.random() < 0.3 else None
            for cut in asked.separate(
                *bound, requirements, extent=np.ones(len(requirements)), most=100, share=share
            ):
                assert share is not None or _left(cut, boxes, bound) < cut.requirement.level * (1 - 1e-8)
                assert all(_left(cut, boxes, other) >= cut.requirement.level * (1 - 1e-6) for other in safe)
                checked += 1
    assert checked > 20


def _left(cut: ProtectionCut, boxes: DeviationBounds, bound: Floats) -> float:
    down, up = boxes[cut.requirement.attacker]
    below, above = np.minimum(bound[0], down), np.minimum(bound[1], up)
    return float(cut.above @ above[cut.cells] + cut.below @ below[cut.cells])


@pytest.mark.parametrize("farthest", [0, 3000])
@pytest.mark.parametrize("kind", KINDS)
def test_no_violated_cut_means_safe(kind: str, farthest: int) -> None:
    """Also where programs over the whole table have to be asked, and where witnesses of other bounds are known."""
    for seed in range(12):
        rng = np.random.default_rng([seed, 21])
        problem = random_problem(kind, rng, insiders=1, sliding=bool(rng.integers(2)))
        requirements, asked = all_requirements(problem), separator(problem, max_cells=farthest)
        endless = np.where(problem.marks == Mark.HIDDEN, 1e9, 0.0)
        for _ in range(4):
            below, above = np.where(problem.forced, 0.0, rng.integers(0, 60, (2, endless.size))) + endless
            found = asked.separate(below, above, requirements, extent=np.ones(len(requirements)), most=1)
            verdict = audit(problem, stated(problem, below, above))
            assert bool(found) == (not verdict.safe_rows.all())


def test_nothing_is_asked_when_the_time_is_up() -> None:
    problem = random_problem("two-way", np.random.default_rng(1))
    requirements, none = all_requirements(problem), np.zeros(len(problem.table))
    passed = Deadline.after(0.0)
    assert (
        separator(problem).separate(
            none, none, requirements, extent=np.ones(len(requirements)), most=9, deadline=passed
        )
        == []
    )


def nested_problem(seed: int) -> Problem:
    """Two nested dimensions: 13 times 13 codes, values up to 100, a tenth of the inner cells sensitive."""
    rng = np.random.default_rng(seed)
    names = [f"{i}.{j}" for i in range(3) for j in range(3)]
    pairs = [(f"{i}", "Total") for i in range(3)] + [(name, name[0]) for name in names]
    dimensions = [Dimension.of(letter, Hierarchy.from_pairs(pairs)) for letter in "rc"]
    cells = {"r": np.repeat(names, 9), "c": np.tile(names, 9), "value": rng.integers(1, 100, 81)}
    table = Table.from_cells(dimensions, cells, recompute=True)
    sensitive = table.is_leaf & (rng.random(len(table)) < 0.1)
    level = np.where(sensitive, np.ceil(0.15 * table.values), 0.0)
    return Problem.of(table, sensitive, Levels.of(len(table), level, level))


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_the_same_however_cuts_are_found(seed: int) -> None:
    problem, costs = nested_problem(seed), []
    for quickly in (10_000, 10):
        engines = SeparatorSettings(local_start=LocalStartSettings(max_whole_cells=quickly))
        model = CuttingPlaneSettings(separation=SeparationSettings(engines=engines))
        assert isinstance(protection_separator_of(problem, engines), LocalSeparator) == (quickly == 10)
        found = interval_partial(
            problem,
            params=PartialParams(asymmetry=0.0, grid=0.0),
            rng=np.random.default_rng(0),
            progress=silent,
            settings=IntervalSettings(cutting_plane=model),
        )
        assert found.bound == pytest.approx(found.pattern.loss(problem), rel=1e-5)
        costs.append(found.pattern.loss(problem))
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)
