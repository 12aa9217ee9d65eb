"""The compact model of any formulation: a deviation of all cells for every requirement. For small tables.

    min  c x   over the formulation's own variables and constraints, and for every requirement (p, k, upper):

    M f = 0,   -min(D_i(x), LB_i^k) <= f_i <= min(U_i(x), UB_i^k),   f_p >= UPL_p

A sliding level takes two deviations f, g with f_p - g_p >= SPL_p; a conditional width f_i - g_i >= SPL_i t_i, where t_i
is 1 if cell i is touched. Deviations are measured in units of the level. On networks a deviation is a sum of cycles
through p, so no cell needs to move further than p; elsewhere `FormulationSettings.max_deviation` levels are allowed.

Integer programs are solved with presolve and without, and the better point counts: HiGHS 1.15.1 at times calls a point
optimal that is not, either way.

Reference: Salazar-Gonzalez (2002), first models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack

from tablecloak.arrays import Floats
from tablecloak.attacker import DeviationBounds, is_network, working_equations
from tablecloak.errors import NotApplicable
from tablecloak.methods.unified.formulation import (
    Formulation,
    FormulationSettings,
    LinearConstraints,
    ModelSolution,
)
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import Deadline
from tablecloak.solvers import HighsSettings, MipOptions, Outcome, solve_mip


@dataclass(frozen=True)
class CompactModelSettings:
    """Limits of the compact model."""

    max_columns: int = 400_000
    """Maximum number of variables; larger programs are refused. Larger tables, against memory. Untested default."""
    formulation: FormulationSettings = field(default_factory=FormulationSettings)
    """How far deviations may reach."""
    highs: HighsSettings = HighsSettings()


def solve_compact_model(
    problem: Problem,
    formulation: Formulation,
    requirements: Sequence[Requirement],
    widths: Sequence[Requirement],
    seconds: float,
    settings: CompactModelSettings = CompactModelSettings(),
) -> ModelSolution:
    """Optimise a formulation under all requirements and conditional widths."""
    size, total = len(problem.table), formulation.size
    reach = 1.0 if is_network(problem) else settings.formulation.max_deviation
    boxes, equations = DeviationBounds(problem), working_equations(problem.table)
    total += size * sum(_copies(each) for each in (*requirements, *widths))
    if total > settings.max_columns:
        raise NotApplicable(
            f"the first model would need {total} columns.",
            needs=f"a small table with few levels (at most {settings.max_columns} columns)",
            instead=[],
        )
    constraints = [formulation.constraints.extended(total - formulation.size)]
    lows, highs = [formulation.low], [formulation.high]
    first = formulation.size
    conditional = [False] * len(requirements) + [True] * len(widths)
    for requirement, is_conditional in zip((*requirements, *widths), conditional, strict=True):
        down, up = (np.minimum(side / requirement.level, reach) for side in boxes[requirement.attacker])
        for _ in range(_copies(requirement)):
            constraints += _deviation(formulation, equations, requirement.level, first, total)
            lows.append(-down)
            highs.append(up)
            first += size
        start = first - _copies(requirement) * size
        constraints.append(_demand(formulation, requirement, is_conditional, start, size, total))
    program = constraints[0].stacked(*constraints[1:])
    return _solved(
        formulation, program, (np.concatenate(lows), np.concatenate(highs)), seconds, settings.highs
    )


def _copies(requirement: Requirement) -> int:
    """Number of deviations that show that a requirement is met."""
    return 2 if requirement.side is Side.SLIDE else 1


def _solved(
    formulation: Formulation,
    constraints: LinearConstraints,
    bounds: tuple[Floats, Floats],
    seconds: float,
    settings: HighsSettings,
) -> ModelSolution:
    """The better solution of those with presolve and without; linear programs are solved once."""
    total = bounds[0].size
    cost, integral = np.zeros(total), np.zeros(total, dtype=bool)
    cost[: formulation.size] = formulation.cost
    integral[: formulation.size] = formulation.integral
    deadline, sides = Deadline.after(seconds), (constraints.low, constraints.high)
    solution = min(
        (
            solve_mip(
                constraints.matrix,
                bounds,
                sides,
                cost,
                integral,
                MipOptions(seconds=deadline.left, presolve=presolve, highs=settings),
            ).checked()
            for presolve in ((False, True) if integral.any() else (False,))
        ),
        key=lambda found: found.objective,
    )
    values = solution.values[: formulation.size]
    there = values.size == formulation.size
    return ModelSolution(
        solution.outcome,
        values,
        there and (solution.outcome is Outcome.OPTIMAL or solution.outcome.undecided),
        solution.objective + formulation.constant if there else math.inf,
        solution.bound + formulation.constant,
        1,
        0,
    )


def _deviation(
    formulation: Formulation, equations: csr_array, level: float, first: int, total: int
) -> list[LinearConstraints]:
    """M f = 0, f <= U(x), -f <= D(x), in units of the level, for a deviation f whose variables begin at `first`."""
    rows, zero = equations.shape[0], np.zeros(equations.shape[0])
    none = csr_array((rows, formulation.size))
    found = [LinearConstraints(_placed(none, equations, first, total), zero, zero)]
    for bound, sign in ((formulation.above, 1.0), (formulation.below, -1.0)):
        stated = np.flatnonzero(np.isfinite(bound.constant))
        own = csr_array(diags_array(np.full(bound.constant.size, sign)))[stated]
        matrix = _placed(csr_array(-bound.matrix[stated] / level), own, first, total)
        found.append(LinearConstraints(matrix, np.full(stated.size, -np.inf), bound.constant[stated] / level))
    return found


def _placed(left: csr_array, right: csr_array, first: int, total: int) -> csr_array:
    """A block of rows over the formulation's variables and over deviations that begin at `first`."""
    rows = left.shape[0]
    middle = csr_array((rows, first - left.shape[1]))
    return csr_array(hstack([left, middle, right, csr_array((rows, total - first - right.shape[1]))]))


def _demand(
    formulation: Formulation, requirement: Requirement, conditional: bool, first: int, size: int, total: int
) -> LinearConstraints:
    """The deviations that begin at `first` move the cell by the level, or by it times the extent of touching."""
    demand = np.zeros((1, total))
    demand[0, first + requirement.cell] = -1.0 if requirement.side is Side.DOWN else 1.0
    if _copies(requirement) == 2:
        demand[0, first + size + requirement.cell] = -1.0
    need = 1.0
    if conditional:
        demand[0, : formulation.size] -= formulation.touched.matrix[[requirement.cell]].toarray().ravel()
        need = float(formulation.touched.constant[requirement.cell])
    return LinearConstraints(csr_array(demand), np.array([need]), np.array([np.inf]))
