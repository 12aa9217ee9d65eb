"""round-controlled: every cell becomes a multiple of its base, all sums hold, and sensitive cells stay protected.

    min  sum_i w_i |v_i - a_i|    v_i = r_i k_i,  M v = M a,  k_i whole, next to a_i / r_i,
    and every level of every attacker who is told that v_i is within r_i of the truth
    (`unified.protection_cuts`, `unified.shown_values`)

Multiples stay (zero-restricted). With one base and the equations of a network a rounding that adds up always exists,
and the linear program finds it. Elsewhere there may be none: then k_i may be K steps further away, and the stated reach
is (K + 1) r_i. When the levels cannot be met with these bases, the best rounding that adds up is returned all the same,
and the audit names the cells it leaves open.

Where the time is up before anything that adds up was found (large tables that are no networks), it is made by
annealing, with as many steps as it needs (`rounding.initial_rounding`); with a limit it is at hand from the start.

References: Salazar-Gonzalez (2002), Figures 8 and 9; Salazar, Staggemeier & Bycroft (2005), Controlled rounding
implementation, for K steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import structure_of
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable, SolverError, counted, listed
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.rounding import FirstRounding, cells_in_the_way, indivisible_cells
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    Formulation,
    ModelSolution,
    ShownFormulation,
    additivity,
    rounding_formulation,
    solve_compact_model,
)
from tablecloak.model import (
    Mark,
    Problem,
    Requirement,
    Rounding,
    Status,
    all_requirements,
    conditional_widths,
)
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome

NAME = "round-controlled"
MOST_STEPS = 3
"""So many steps are tried when none were asked for and no rounding exists."""
HINT = " (this can happen in tables of three and more dimensions, and with several bases)"
NODES = 1_000
"""Maximum number of nodes of the program that names cells in the way, when nothing adds up."""


@dataclass(frozen=True)
class ControlledParams:
    """Parameters of round-controlled."""

    base: float = 5.0
    """Every cell becomes a multiple of it."""
    totals: float | None = None
    """Another base for cells that are totals in some dimension."""
    bases: Sequence[float] | None = None
    """A base for every cell, in the order of the table (0: the cell keeps its value); instead of the others."""
    steps: int | None = None
    """How many multiples further away than the next ones a cell may go; None: as few as needed."""
    protect: bool = True
    """Whether the levels are imposed; if not, the audit only tells which cells are open."""
    seconds: float | None = None
    """Stop after so long with the best rounding so far and its proven bound."""
    model: Literal["second", "first"] = "second"
    """Cutting planes, or the compact program with a deviation for every level (small tables)."""


def round_controlled(
    problem: Problem,
    *,
    params: ControlledParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """The nearest rounding that adds up and protects, or the nearest that adds up if none protects."""
    base = _bases(problem, params)
    run = Run(params.seconds)
    _check_divisible(problem, base)
    first = FirstRounding(NAME, problem, base, params.steps, rng, progress, run)
    first.prepare()
    notes: list[str] = []
    search = _Search(problem, params, base, first.programs_until(), progress, notes, run)
    found = run.until_stopped(search.proposal)
    return first.proposal(notes) if found is None else found


@dataclass(frozen=True, eq=False)
class _Search:
    """Programs with as few steps as needed. Confidential."""

    problem: Problem
    params: ControlledParams
    base: Floats
    deadline: Deadline
    progress: Progress
    notes: list[str]
    run: Run

    def proposal(self) -> Proposal | None:
        """The nearest rounding that adds up, and protects if it can; None: the time was up first."""
        problem, params = self.problem, self.params
        levels = all_requirements(problem) if params.protect else []
        exactly = not problem.is_monotone  # then it matters which multiples are touched
        for steps in [params.steps] if params.steps is not None else range(MOST_STEPS + 1):
            bare = rounding_formulation(problem, ~problem.forced, self.base, steps, problem.weights, exactly)
            _check_touched(problem, bare)
            added = bare.formulation.with_constraints(additivity(problem, bare.value))
            shown = ShownFormulation(added.at_most_touched(problem.most_touched), bare.value, bare.reach)
            answer = self._answer(shown, levels)
            if answer.outcome is not Outcome.INFEASIBLE and answer.values.size == shown.formulation.size:
                return _proposal(problem, params, shown, answer, steps, self.notes, self.run)
            if answer.outcome.undecided or self.deadline.passed():
                return None
            self.notes.append(_why_not(steps) + (HINT if steps == 0 else ""))
        raise _refusal(problem, bare, self.base, _why_not(steps), self.deadline)

    def _answer(self, shown: ShownFormulation, levels: list[Requirement]) -> ModelSolution:
        """With the levels, or without them where no rounding meets them: that is no safe point then."""
        problem, params, deadline = self.problem, self.params, self.deadline
        widths = conditional_widths(problem, _may_be_touched(shown.formulation)) if params.protect else []
        answer = _answer(problem, params, shown, levels, widths, deadline, self.progress)
        imposed = params.protect or not problem.sensitive.any()
        if answer.outcome is Outcome.INFEASIBLE and (levels or widths):
            answer, imposed = _answer(problem, params, shown, [], [], deadline, self.progress), False
            if answer.outcome is not Outcome.INFEASIBLE:
                self.notes.append(
                    "no rounding with these bases protects every cell; the audit names those left open"
                )
        return replace(answer, safe=answer.safe and imposed)


def _refusal(
    problem: Problem, bare: ShownFormulation, base: Floats, why: str, deadline: Deadline
) -> InfeasibleProblem:
    """Nothing adds up: which cells that keep their values, or which bound, is in the way."""
    kept = np.flatnonzero(base == 0)
    limited = problem.most_touched is not None
    if kept.size or limited:
        cells = cells_in_the_way(problem, bare, kept, deadline.left, NODES)
        if cells is not None and cells.size:
            return _kept_in_the_way(problem, cells, why)
        if cells is not None and limited:
            return InfeasibleProblem(
                f"{why} with at most {problem.most_touched} cells touched.\nAllow more cells to be touched, more "
                "steps, or give some cells base 0 (`bases`)."
            )
    return InfeasibleProblem(
        f"{why}{HINT}\nAllow more steps, take one base for all cells, or see round-rapid, which lets totals go further."
    )


def _kept_in_the_way(problem: Problem, cells: Ints, why: str) -> InfeasibleProblem:
    labels = problem.table.labels(cells)
    return InfeasibleProblem(
        f"{why}: {counted(cells.size, 'cell')} that must keep the true value (forced, or with base 0) would have "
        f"to change:\n{listed(labels)}\nLet these cells be rounded, let the cells that they are added to keep their "
        "values too, or take a base that divides them all.",
        forced=labels,
    )


def _check_divisible(problem: Problem, base: Floats) -> None:
    """Refuse at once, with names, where a cell that keeps its value cannot be made up for by multiples."""
    cells = indivisible_cells(problem.table, base)
    if cells.size:
        raise _kept_in_the_way(problem, cells, "no rounding with these bases adds up")


def _may_be_touched(form: Formulation) -> Bools:
    """Cells that are touched in some point of the form."""
    return np.asarray((form.touched.constant > 0) | (np.diff(form.touched.matrix.indptr) > 0))


def _why_not(steps: int) -> str:
    if steps == 0:
        return "no rounding of every cell to the next multiple up or down adds up"
    return f"no rounding within {steps} steps of the next multiples adds up"


def _bases(problem: Problem, params: ControlledParams) -> Floats:
    """A base for every cell; forced cells keep their values."""
    table, size = problem.table, len(problem.table)
    faults = {
        "steps must be a whole number that is not negative": params.steps is not None and params.steps < 0,
        f"model {params.model!r} is not second or first": params.model not in ("second", "first"),
    }
    if params.bases is None:
        totals = params.base if params.totals is None else params.totals
        numbers = np.where(table.is_leaf, float(params.base), float(totals))
        faults["a base must be a finite number above zero"] = not (
            np.isfinite(numbers).all() and (numbers > 0).all()
        )
    else:
        numbers = np.asarray(params.bases, dtype=np.float64)
        faults[f"bases: expected {size} numbers that are finite and not negative"] = not (
            numbers.shape == (size,) and np.isfinite(numbers).all() and (numbers >= 0).all()
        )
    if any(faults.values()):
        raise InputError(NAME, [fault for fault, holds in faults.items() if holds])
    units = numbers / table.unit
    if (np.abs(units - np.rint(units)) > 1e-9 * np.maximum(units, 1.0)).any():
        raise InputError(
            NAME,
            [f"a base must be a multiple of the data unit, {table.unit:g}"],
            advice="Give a base such as 3, 5 or 10, in the unit of the values.",
        )
    if (problem.marks == Mark.HIDDEN).any():
        raise NotApplicable(
            f"{NAME} shows a number for every cell.",
            needs="no cells that must be hidden",
            instead=["suppress-greedy", "suppress-optimal"],
        )
    return np.where(problem.forced, 0.0, numbers)


def _check_touched(problem: Problem, shown: ShownFormulation) -> None:
    """All cells that are no multiples change, whatever is decided."""
    count = int(shown.formulation.touched.constant.sum())
    if problem.most_touched is not None and count > problem.most_touched:
        raise InfeasibleProblem(
            f"{count} cells are no multiples of their base, but at most {problem.most_touched} may be touched.\n"
            "Allow more cells to be touched, or give some cells base 0 (`bases`)."
        )


def _answer(
    problem: Problem,
    params: ControlledParams,
    shown: ShownFormulation,
    levels: list[Requirement],
    widths: list[Requirement],
    deadline: Deadline,
    progress: Progress,
) -> ModelSolution:
    if params.model == "first":
        found = solve_compact_model(problem, shown.formulation, levels, widths, deadline.left)
        return ModelSolution(
            found.outcome, found.values, bool(found.values.size), found.objective, found.bound, 1, 0
        )
    model = CuttingPlaneModel(problem, shown.formulation, levels, widths, deadline, progress)
    return model.solve()


def _proposal(
    problem: Problem,
    params: ControlledParams,
    shown: ShownFormulation,
    answer: ModelSolution,
    steps: int,
    notes: list[str],
    run: Run,
) -> Proposal:
    table = problem.table
    values = _exact(problem, shown, answer.values)
    if steps:
        notes.append(f"cells may be {steps + 1} bases away from the truth: that is the stated reach")
    ended = Status.OPTIMAL if answer.safe else Status.FEASIBLE
    status = run.status(ended, complete=answer.outcome is Outcome.OPTIMAL)
    moved = np.abs(values - table.values)
    return Proposal(
        Rounding.of(values, shown.reach),
        status,
        f"{params.model} model (HiGHS) on {structure_of(table).description}",
        bound=answer.bound if math.isfinite(answer.bound) else None,
        counters={
            "rounds": answer.rounds,
            "rows": answer.rows,
            "steps": steps,
            "cells changed": int((moved > 0).sum()),
            "largest change": float(moved.max(initial=0.0)),
        },
        notes=tuple(notes),
        may_leave_open=True,
    )


def _exact(problem: Problem, shown: ShownFormulation, columns: Floats) -> Floats:
    """What is shown in whole data units, which must add up exactly."""
    table = problem.table
    whole = np.where(shown.formulation.integral, np.rint(columns), columns)
    units = np.rint(shown.value.at(whole) / table.unit)
    values = np.asarray(units * table.unit if table.decimals == 0 else units / 10.0**table.decimals)
    left = table.equations @ values - table.rhs
    if (np.abs(left) > 1e-6 * table.unit + 1e-9 * (abs(table.equations) @ np.abs(values))).any():
        raise SolverError(
            "a rounding that does not add up was found; it is dropped. Please report the instance."
        )
    return values
