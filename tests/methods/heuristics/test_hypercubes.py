"""Patterns of hypercubes: safe by the audit, cheaper after exchanges, the same again, stopped at any time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.auditing import audit
from tablecloak.methods import METHODS, largest_pattern
from tablecloak.methods.heuristics import CubeSearch, StrataSettings
from tablecloak.methods.suppress_auto import AutoSettings, suppress_auto
from tablecloak.model import (
    Attacker,
    Dimension,
    Hierarchy,
    Levels,
    Problem,
    Status,
    Suppression,
    Table,
    unmet_requirements,
)
from tablecloak.progress import Deadline, silent
from tablecloak.protection import protect
from tablecloak.testing import assert_protected


def problem_of(seed: int, *, sliding: bool = False, insider: bool = False) -> Problem:
    """A three-way table with two hierarchies, a fifth of its leaves sensitive, some zeros forced."""
    rng = np.random.default_rng(seed)
    work = Dimension.of("work", Hierarchy.from_dict({g: [f"{g}{k}" for k in range(4)] for g in "ABC"}))
    place = Dimension.of("place", Hierarchy.from_dict({g: [f"{g}{k}" for k in range(3)] for g in "NS"}))
    size = Dimension.flat("size", ["s", "m", "l"])
    codes = [np.array(d.codes)[d.is_leaf] for d in (work, place, size)]
    grid = [axis.ravel() for axis in np.meshgrid(*codes, indexing="ij")]
    value = rng.integers(0, 200, grid[0].size)
    table = Table.from_cells(
        [work, place, size],
        {"work": grid[0], "place": grid[1], "size": grid[2], "value": value},
        recompute=True,
    )
    sensitive = table.is_leaf & (table.values > 0) & (rng.random(len(table)) < 0.2)
    level = np.where(sensitive, np.ceil(0.15 * table.values), 0.0)
    levels = Levels.of(len(table), sliding=2 * level) if sliding else Levels.of(len(table), level, level)
    known = np.flatnonzero(sensitive)[:3]
    attackers = [Attacker.contributing("firm", table, known, table.values[known] * 0.4)] if insider else []
    return Problem.of(table, sensitive, levels, forced=table.values == 0, attackers=attackers)


def search_of(problem: Problem, deadline: Deadline | None = None) -> CubeSearch:
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    assert requirements
    return CubeSearch(
        problem,
        largest_pattern(problem, silent),
        requirements,
        np.random.default_rng(1),
        silent,
        deadline or Deadline.after(None),
    )


@pytest.mark.parametrize(
    "options", [{}, {"sliding": True}, {"insider": True}], ids=["levels", "sliding", "insider"]
)
@pytest.mark.parametrize("seed", range(4))
def test_levels_with_a_hypercube_are_safe_before_and_after_exchanges(options, seed: int) -> None:
    problem = problem_of(seed, **options)
    assert CubeSearch.fits(problem)
    search = search_of(problem)
    search.build()
    unmet = {requirement.cell for requirement in search.unmet}
    for step in (lambda: None, search.exchange):
        before = search.cost
        step()
        assert search.cost <= before
        opened = audit(problem, Suppression.copy_of(search.hidden)).open_cells
        assert set(opened.tolist()) <= unmet
    assert search.cost == pytest.approx(problem.weights[search.hidden & ~problem.must_hide].sum())
    assert not (search.hidden & problem.forced).any()


def test_exchanges_help_and_the_same_comes_out_again() -> None:
    won = 0
    for seed in range(4):
        costs = []
        for _ in range(2):
            search = search_of(problem_of(seed))
            search.build()
            before = search.cost
            search.exchange()
            costs.append(search.cost)
        assert costs[0] == costs[1]
        won += search.exchanged > 0 and costs[0] < before
    assert won


def test_it_stops_when_the_time_is_up() -> None:
    search = search_of(problem_of(0), Deadline.after(0.0))
    search.build()
    search.exchange()
    assert search.unmet
    assert search.exchanged == 0


def test_what_it_does_not_take() -> None:
    assert not CubeSearch.fits(FIXTURES["conditional"]())


def test_suppress_auto_has_hypercubes_first_and_keeps_the_cheapest() -> None:
    problem = problem_of(1)
    plain = protect(problem, "suppress-auto", params={"nodes": 5})
    assert "cost by hypercubes" not in plain.report.counters
    always = partial(suppress_auto, settings=AutoSettings(program_share=-1.0))
    both = protect(problem, replace(METHODS["suppress-auto"], function=always), params={"nodes": 5})
    assert "cost by hypercubes" in both.report.counters
    assert both.cost <= both.report.counters["cost by hypercubes"]
    assert both.cost <= plain.cost + 1e-9
    no_programs = AutoSettings(exact_levels=0, program_seconds=1e9)
    fast = partial(suppress_auto, settings=no_programs)
    strata = protect(problem, replace(METHODS["suppress-auto"], function=fast))
    assert (
        strata.cost == strata.report.counters["cost by strata"] < strata.report.counters["cost by hypercubes"]
    )
    assert_protected(problem, strata.pattern)
    no_strata = replace(no_programs, strata=StrataSettings(max_cells=0))
    fast = partial(suppress_auto, settings=no_strata)
    alone = protect(problem, replace(METHODS["suppress-auto"], function=fast))
    assert "cost by strata" not in alone.report.counters
    assert alone.report.stopped_by == "work limit" and "`seconds` would buy" in alone.report.notes[-1]
    assert alone.cost == alone.report.counters["cost by hypercubes"]
    assert alone.status is Status.FEASIBLE
    assert "exchanges" in alone.report.counters
    assert_protected(problem, alone.pattern)


def test_ctrl_c_in_exchanges_returns_a_safe_pattern(monkeypatch) -> None:
    problem = problem_of(1)
    no_programs = partial(
        suppress_auto, settings=AutoSettings(program_seconds=1e9, strata=StrataSettings(max_cells=0))
    )
    method = replace(METHODS["suppress-auto"], function=no_programs)

    def interrupt(phase, done, total, incumbent=None, bound=None):
        if phase == "exchanges":
            raise KeyboardInterrupt

    def amid_an_exchange(self, requirements, left_out, most):
        raise KeyboardInterrupt

    result = protect(problem, method, progress=interrupt)
    monkeypatch.setattr(CubeSearch, "_routed", amid_an_exchange)
    amid = protect(problem, method)
    for each in (result, amid):
        assert each.status is Status.INTERRUPTED
        assert_protected(problem, each.pattern)
        assert "cost by hypercubes" in each.report.counters
