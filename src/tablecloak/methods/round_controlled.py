"""round-controlled: every cell becomes a multiple of its base, all sums hold, and sensitive cells stay protected.

    min  sum_i w_i |v_i - a_i|    v_i = r_i k_i,  M v = M a,  k_i integral, next to a_i / r_i,
    with prices  w_i+ (v_i - a_i)+ + w_i- (a_i - v_i)+,  and of changing a cell,
    and every level of every attacker, given that v_i is within r_i of the truth
    (`unified.protection_cuts`, `unified.shown_values`)

Multiples stay (zero-restricted). With one base and the equations of a network a rounding that adds up always exists,
and the linear program finds it. Elsewhere there may be none: then k_i may be K steps further away, and the stated reach
is (K + 1) r_i. When the levels cannot be met with these bases, the best rounding that adds up is returned all the same,
and the audit names the cells it leaves open.

Where the time is up before an additive rounding was found (large non-network tables), it is annealed, with the number
of steps that it needs (`rounding.initial_rounding`); with a time limit that is done first.

References: Salazar-Gonzalez (2002), Figures 8 and 9; Salazar, Staggemeier & Bycroft (2005), Controlled rounding
implementation, for K steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import structure_of
from tablecloak.errors import InfeasibleProblem, InputError, SolverError, counted, listed
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.parameters import wrong_words
from tablecloak.methods.rounding import (
    InitialRounding,
    RoundingSettings,
    are_multiples_of_unit,
    check_none_hidden,
    conflicting_cells,
    count_changes,
    in_data_units,
    indivisible_cells,
    is_noise,
)
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    Formulation,
    ModelSolution,
    ShownFormulation,
    additivity,
    rounding_formulation,
    solve_compact_model,
    without_ties,
)
from tablecloak.model import (
    Problem,
    Requirement,
    Rounding,
    Status,
    all_requirements,
    conditional_requirements,
)
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome

NAME = "round-controlled"
HINT = " (this can happen in tables of three and more dimensions, and with several bases)"


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
    """Whether the levels are imposed; if not, the audit only reports which cells are open."""
    seconds: float | None = None
    """Time limit; then the best rounding so far is returned with its proven bound."""
    model: Literal["second", "first"] = "second"
    """Cutting planes, or the compact program with a deviation for every level (small tables)."""


def round_controlled(
    problem: Problem,
    *,
    params: ControlledParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: RoundingSettings = RoundingSettings(),
) -> Proposal:
    """The nearest rounding that adds up and protects, or the nearest that adds up if none protects."""
    base = _bases(problem, params)
    run = Run(params.seconds)
    _check_divisible(problem, base)
    initial = InitialRounding(problem, base, params.steps, rng, progress, run, settings)
    initial.prepare()
    first = initial.audited()
    search = _RoundingSearch(problem, params, base, initial.programs_until(), progress, run, settings)
    found = run.until_stopped(search.proposal)
    return replace(initial.proposal(search.notes) if found is None else found, earlier=first)


@dataclass(frozen=True, eq=False)
class _RoundingSearch:
    """Programs with as few steps as needed. Confidential."""

    problem: Problem
    params: ControlledParams
    base: Floats
    deadline: Deadline
    progress: Progress
    run: Run
    settings: RoundingSettings
    notes: list[str] = field(default_factory=list)

    def proposal(self) -> Proposal | None:
        """The nearest rounding that adds up, and protects if possible; None: the time was up first."""
        problem, params = self.problem, self.params
        levels = all_requirements(problem) if params.protect else []
        counted = not problem.is_monotone  # then it matters which multiples are touched
        for steps in [params.steps] if params.steps is not None else range(self.settings.max_steps + 1):
            bare = rounding_formulation(
                problem, ~problem.forced, self.base, steps, problem.applied_prices, counted
            )
            _check_touched(problem, bare)
            added = bare.formulation.with_constraints(additivity(problem, bare.value))
            shown = ShownFormulation(added.at_most_touched(problem.most_touched), bare.value, bare.reach)
            solution = self._protected(shown, levels)
            there = solution.values.size == shown.formulation.size
            if solution.outcome is not Outcome.INFEASIBLE and there:
                return self._proposal(shown, solution, steps)
            if solution.outcome.undecided or self.deadline.passed():
                return None
            self.notes.append(_why_not(steps) + (HINT if steps == 0 else ""))
        raise self._refusal(bare, _why_not(steps))

    def _protected(self, shown: ShownFormulation, levels: list[Requirement]) -> ModelSolution:
        """The optimum with the levels, or without them, and then not safe, where no rounding meets them."""
        problem, params = self.problem, self.params
        widths = (
            conditional_requirements(problem, _may_be_touched(shown.formulation)) if params.protect else []
        )
        solution = self._solve(shown, levels, widths)
        imposed = params.protect or not problem.sensitive.any()
        if solution.outcome is Outcome.INFEASIBLE and (levels or widths):
            solution, imposed = self._solve(shown, [], []), False
            if solution.outcome is not Outcome.INFEASIBLE:
                self.notes.append(
                    "no rounding with these bases protects every cell; the audit names those left open"
                )
        return replace(solution, safe=solution.safe and imposed)

    def _solve(
        self, shown: ShownFormulation, levels: list[Requirement], widths: list[Requirement]
    ) -> ModelSolution:
        """The optimum by the model that the parameters name."""
        problem, deadline, settings = self.problem, self.deadline, self.settings
        required, compact = (levels, widths), self.params.model == "first"
        if compact:
            found = solve_compact_model(
                problem, shown.formulation, *required, deadline.left, settings.compact
            )
        else:
            given = problem, shown.formulation, *required, deadline, self.progress
            found = CuttingPlaneModel(*given, settings.cutting_plane).solve()
        return without_ties(
            problem,
            shown.formulation,
            found,
            required,
            deadline,
            known=None if compact else (),
            settings=(settings.cutting_plane, settings.compact),
        )

    def _proposal(self, shown: ShownFormulation, solution: ModelSolution, steps: int) -> Proposal:
        table = self.problem.table
        values = _exact(self.problem, shown, solution.values)
        if steps:
            self.notes.append(f"cells may be {steps + 1} bases away from the truth: that is the stated reach")
        ended = Status.OPTIMAL if solution.safe else Status.FEASIBLE
        return Proposal(
            Rounding.of(values, shown.reach),
            self.run.status(ended, complete=solution.outcome is Outcome.OPTIMAL),
            f"{self.params.model} model (HiGHS) on {structure_of(table).description}",
            bound=solution.bound if math.isfinite(solution.bound) else None,
            counters={"rounds": solution.rounds, "rows": solution.cuts, "steps": steps}
            | count_changes(table, values),
            notes=tuple(self.notes),
            may_leave_open=True,
        )

    def _refusal(self, bare: ShownFormulation, why: str) -> InfeasibleProblem:
        """The error where nothing adds up: with the conflicting cells that keep their values, or the bound."""
        problem, kept = self.problem, np.flatnonzero(self.base == 0)
        limited = problem.most_touched is not None
        if kept.size or limited:
            nodes = self.settings.max_conflict_nodes
            cells = conflicting_cells(problem, bare, kept, self.deadline.left, nodes)
            if cells is not None and cells.size:
                return _kept_in_the_way(problem, cells, why)
            if cells is not None and limited:
                return InfeasibleProblem(
                    f"{why} with at most {problem.most_touched} cells touched.\nAllow more cells to be touched, more "
                    "steps, or give some cells base 0 (`bases`)."
                )
        return InfeasibleProblem(
            f"{why}{HINT}\nAllow more steps, take one base for all cells, or see round-rapid, which lets totals go "
            "further."
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
    """Refuse at once, with names, where multiples cannot balance a cell that keeps its value."""
    cells = indivisible_cells(problem.table, base)
    if cells.size:
        raise _kept_in_the_way(problem, cells, "no rounding with these bases adds up")


def _may_be_touched(formulation: Formulation) -> Bools:
    """Cells that are touched in some point of the formulation."""
    touched = formulation.touched
    return np.asarray((touched.constant > 0) | (np.diff(touched.matrix.indptr) > 0))


def _why_not(steps: int) -> str:
    if steps == 0:
        return "no rounding of every cell to the next multiple up or down adds up"
    return f"no rounding within {steps} steps of the next multiples adds up"


def _bases(problem: Problem, params: ControlledParams) -> Floats:
    """A base for every cell; forced cells keep their values."""
    table, size = problem.table, len(problem.table)
    faults = {"steps must be a whole number that is not negative": (params.steps or 0) < 0}
    faults |= dict.fromkeys(wrong_words(params), True)
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
    if not are_multiples_of_unit(numbers, table):
        raise InputError(
            NAME,
            [f"a base must be a multiple of the data unit, {table.unit:g}"],
            advice="Give a base such as 3, 5 or 10, in the unit of the values.",
        )
    check_none_hidden(NAME, problem)
    return np.where(problem.forced, 0.0, numbers)


def _check_touched(problem: Problem, shown: ShownFormulation) -> None:
    """Refuse where the cells that are no multiples, which change in any case, exceed the bound."""
    count = int(shown.formulation.touched.constant.sum())
    if problem.most_touched is not None and count > problem.most_touched:
        raise InfeasibleProblem(
            f"{count} cells are no multiples of their base, but at most {problem.most_touched} may be touched.\n"
            "Allow more cells to be touched, or give some cells base 0 (`bases`)."
        )


def _exact(problem: Problem, shown: ShownFormulation, columns: Floats) -> Floats:
    """What is shown in integer data units, which must add up exactly."""
    table = problem.table
    integral = np.where(shown.formulation.integral, np.rint(columns), columns)
    values = in_data_units(table, shown.value.at(integral))
    size = abs(table.equations) @ np.abs(values)
    if not is_noise(table.equations @ values - table.rhs, size, table.unit):
        raise SolverError(
            "a rounding that does not add up was found; it is dropped. Please report the instance."
        )
    return values
