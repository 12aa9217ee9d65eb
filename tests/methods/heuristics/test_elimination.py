"""Elimination of redundant suppressions: safe afterwards by the audit, and nothing more can be published."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.attacker import NullSpaceSettings
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods import largest_pattern
from tablecloak.methods.cuts import capacity_separator_of
from tablecloak.methods.heuristics import (
    Elimination,
    NullSpaceWitnesses,
    by_decreasing_weight,
)
from tablecloak.methods.heuristics.witnesses import WitnessSettings
from tablecloak.model import Problem, Requirement, Side, Suppression, unmet_requirements
from tablecloak.progress import NEVER, Deadline
from tablecloak.solvers import kernels
from tablecloak.testing import KINDS, random_problem

OPTIONS = {
    "plain": {},
    "insiders": {"insiders": 3},
    "sliding": {"sliding": True},
    "conditional": {"conditional": True},
    "negative": {"negative": True},
    "all of it": {"insiders": 2, "sliding": True, "conditional": True},
}
TABLES = [
    "two way several", "two hierarchies", "three way", "five way", "linked", "responses", "non nested", "any equations",
    "negative values", "known within half", "decimals", "tiny decimals", "huge values", "mixed sizes",
    "counts without levels", "forced hidden", "only sliding", "conditional", "fifty attackers",
]  # fmt: skip


def requirements_of(problem: Problem, hidden: np.ndarray) -> list[Requirement]:
    """Every level of every attacker on the hidden cells, conditional widths among them."""
    requirements = []
    for attacker in range(len(problem.attacker_names)):
        cells = np.flatnonzero(hidden)
        lower, upper, sliding = problem.required(attacker, cells)
        for side, levels in ((Side.DOWN, lower), (Side.UP, upper), (Side.SLIDE, sliding)):
            requirements += [
                Requirement(int(cell), attacker, side, float(level))
                for cell, level in zip(cells, levels, strict=True)
                if level > 0
            ]
    return requirements


def is_safe(problem: Problem, hidden: np.ndarray) -> bool:
    return audit(problem, Suppression.copy_of(hidden)).safe


def start_of(problem: Problem, rng: np.random.Generator | None = None) -> np.ndarray:
    """The largest safe pattern, or one with some cells less."""
    hidden = largest_pattern(problem).copy()
    if rng is not None:
        fewer = hidden & (problem.must_hide | (rng.random(hidden.size) < 0.85))
        hidden = fewer if is_safe(problem, fewer) else hidden
    return hidden


def elimination_of(
    problem: Problem,
    requirements: list[Requirement],
    start: np.ndarray,
    deadline: Deadline = NEVER,
    cuts: tuple = (),
    settings: WitnessSettings = WitnessSettings(),
) -> Elimination:
    engine = NullSpaceWitnesses(problem, requirements, start, settings)
    return Elimination(problem, requirements, start, engine, deadline, cuts=cuts)


def check(
    problem: Problem, start: np.ndarray, cuts: tuple = (), settings: WitnessSettings = WitnessSettings()
) -> Elimination:
    """Eliminate from a safe pattern: it stays safe, keeps marks, and no single cell more can be published."""
    requirements = requirements_of(problem, start)
    elimination = elimination_of(problem, requirements, start, cuts=cuts, settings=settings)
    before = start.copy()
    assert elimination.run()
    hidden = elimination.hidden
    assert (start == before).all(), "the pattern given is not changed"
    assert not (hidden & ~start).any()
    assert (hidden >= problem.must_hide).all()
    assert not (hidden & problem.forced).any()
    assert elimination.published == int(start.sum() - hidden.sum())
    assert is_safe(problem, hidden)
    if (
        problem.levels.conditional.any()
    ):  # a width that is asked no more may have been what a cell was needed for
        hidden = eliminated_again(problem, hidden)
    for cell in np.flatnonzero(hidden & ~problem.must_hide):
        fewer = hidden.copy()
        fewer[cell] = False
        assert not is_safe(problem, fewer), f"cell {cell} could be published"
    return elimination


def eliminated_again(problem: Problem, hidden: np.ndarray) -> np.ndarray:
    """Eliminated again and again until nothing more is published."""
    while True:
        elimination = elimination_of(problem, requirements_of(problem, hidden), hidden)
        assert elimination.run()
        if elimination.published == 0:
            return hidden
        hidden = elimination.hidden


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", list(OPTIONS))
def test_random_problems(kind, option):
    done = 0
    for seed in range(3):
        rng = np.random.default_rng(seed + 4000)
        problem = random_problem(kind, rng, **OPTIONS[option])
        try:
            start = start_of(problem, rng)
        except InfeasibleProblem:
            continue
        check(problem, start)
        done += 1
    assert done or option != "plain"


@pytest.mark.parametrize("fixture", TABLES)
def test_every_kind_of_table(fixture):
    problem = FIXTURES[fixture]()
    check(problem, start_of(problem))


@pytest.mark.parametrize("fixture", ["three way", "linked", "non nested", "only sliding"])
def test_general_programs_in_the_place_of_elimination(fixture, monkeypatch):
    """Large systems and rescues go to a general solver, whose witnesses must be witnesses too."""
    problem = FIXTURES[fixture]()
    usual = check(problem, start_of(problem)).hidden
    check(
        problem,
        start_of(problem),
        settings=WitnessSettings(null_space=NullSpaceSettings(max_table_entries=0)),
    )
    monkeypatch.setattr(kernels, "farthest_deviation", lambda *_: (kernels.Ending.LOST, 0))
    check(problem, start_of(problem))
    assert usual.sum() < start_of(problem).sum()


@pytest.mark.parametrize(
    "fixture", ["two way several", "three way", "fifty attackers", "only sliding", "conditional"]
)
def test_known_rows_only_save_work(fixture):
    problem = FIXTURES[fixture]()
    start = start_of(problem)
    separator = capacity_separator_of(problem, start)
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    rng = np.random.default_rng(2)
    rows = []
    for share in (0.0, 0.1, 0.3, 0.5, 0.7):
        point = rng.random(start.size) * (rng.random(start.size) < share) * start
        rows += separator.separate(point, requirements, most=50)
        rows += separator.separate(np.rint(point), requirements, most=50)
    assert rows
    check(problem, start, tuple(rows))


@pytest.mark.parametrize("fixture", ["two way several", "three way", "only sliding", "fifty attackers"])
def test_an_unsafe_start_is_refused_and_left_alone(fixture):
    problem = FIXTURES[fixture]()
    start = problem.must_hide.copy()
    assert not is_safe(problem, start)
    elimination = elimination_of(problem, requirements_of(problem, start), start)
    assert not elimination.run()
    assert (elimination.hidden == start).all()
    assert elimination.published == 0


def test_cells_are_tried_by_decreasing_weight():
    problem = FIXTURES["two way several"]()
    weights = np.where(problem.must_hide, 0.0, np.arange(len(problem.table), dtype=float))
    order = []
    elimination = elimination_of(
        replace(problem, weights=weights), requirements_of(problem, ~problem.forced), ~problem.forced
    )
    tried = elimination._try
    elimination._try = lambda cell: (order.append(cell), tried(cell))
    assert elimination.run()
    assert order == sorted(order, reverse=True)


def test_out_of_time_it_is_safe_all_the_same():
    problem = FIXTURES["three way"]()
    start = start_of(problem)
    elimination = elimination_of(problem, requirements_of(problem, start), start, Deadline.after(0.0))
    assert not elimination.run()
    assert (elimination.hidden == start).all()


def test_the_heaviest_cell_by_other_prices_goes_first():
    problem = FIXTURES["three way"]()
    start = start_of(problem)
    requirements, free = requirements_of(problem, start), np.flatnonzero(start & ~problem.must_hide)
    left = {}
    for favourite in free.tolist():
        price = problem.weights.copy()
        price[favourite] = 10.0 * price.max()
        elimination = elimination_of(problem, requirements, start, Deadline.after(None))
        assert elimination.run(by_decreasing_weight(start & ~problem.must_hide, price))
        left[favourite] = bool(elimination.hidden[favourite])
    by_weight = elimination_of(problem, requirements, start, Deadline.after(None))
    assert by_weight.run()
    assert any(by_weight.hidden[cell] and not stays for cell, stays in left.items())


def test_large_problems_do_not_fit():
    problem = FIXTURES["three way"]()
    start = start_of(problem)
    requirements = requirements_of(problem, start)
    assert NullSpaceWitnesses.fits(problem, requirements, start)
    small = WitnessSettings(null_space=NullSpaceSettings(max_entries=10))
    assert not NullSpaceWitnesses.fits(problem, requirements, start, small)
