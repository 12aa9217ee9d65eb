"""Formulations: ways to publish as mixed integer programs, with the deviation bounds that they leave each cell.

A *formulation* has variables x (low <= x <= high, some of them integral), linear constraints, an objective
c x + constant, and for every cell i the deviation bounds of what is published, above and below the true value a_i:

    U(x) = u + U x,    D(x) = d + D x        (affine; infinite constants: nothing is stated)

| formulation | variables | U, D | objective |
|---|---|---|---|
| suppression | x binary | UB x, LB x | w x |
| intervals | z+, z- >= 0 | z+, z- | w+ z+ + w- z- |
| combined | and x binary, z <= bounds times x | z+, z- | w x + w+ z+ + w- z- |
| rounding | x binary, v = floor + r x, additive | v + r - a, a - v + r | w+ (v - a)+ + w- (a - v)+ |
| perturbation | z+, z- >= 0, v = a + z+ - z-, additive | v +- reach | w x + w+ z+ + w- z- |

Attackers add their boxes: their deviation bounds are min(U, UB^k), min(D, LB^k). Two models optimise every formulation:
the *compact model* with a deviation for every requirement and attacker (`compact_model`), the *cutting-plane model*
with protection cuts on demand (`cutting_plane_model`).

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework for statistical disclosure limitation,
where these are the first and the second model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import block_diag, coo_array, csr_array, hstack, vstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import is_network
from tablecloak.model import Prices, Problem, box_deviation_bounds
from tablecloak.solvers import Outcome


@dataclass(frozen=True)
class FormulationSettings:
    """Limits on what a formulation counts on."""

    max_deviation: float = 32.0
    """Largest deviation of a cell that is counted on in non-network tables, in units of the largest level (on networks
    1 is enough: a deviation is a sum of cycles). Larger: solutions whose deviations take long detours, against worse
    scaled programs. Untested default."""


@dataclass(frozen=True, eq=False)
class Affine:
    """constant + matrix x, an entry for each cell."""

    constant: Floats
    matrix: csr_array

    def at(self, x: Floats) -> Floats:
        """Evaluate at a point."""
        return np.asarray(self.constant + self.matrix @ x)

    def extended(self, variables: int) -> Affine:
        """A function of more variables; the new ones have no influence."""
        wider = csr_array((self.matrix.shape[0], variables))
        return Affine(self.constant, csr_array(hstack([self.matrix, wider])))


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """low <= matrix x <= high."""

    matrix: csr_array
    low: Floats
    high: Floats

    @classmethod
    def none(cls, variables: int) -> LinearConstraints:
        """The empty set of constraints."""
        return cls(csr_array((0, variables)), np.zeros(0), np.zeros(0))

    def stacked(self, *others: LinearConstraints) -> LinearConstraints:
        """All these constraints together."""
        every = (self, *others)
        return LinearConstraints(
            csr_array(vstack([each.matrix for each in every])),
            np.concatenate([each.low for each in every]),
            np.concatenate([each.high for each in every]),
        )

    def extended(self, variables: int) -> LinearConstraints:
        """Constraints over more variables, with zero coefficients for the new ones."""
        wider = csr_array((self.matrix.shape[0], variables))
        return replace(self, matrix=csr_array(hstack([self.matrix, wider])))


@dataclass(frozen=True, eq=False)
class Formulation:
    """Variables, constraints and objective of a way to publish, and what they mean for each cell."""

    cost: Floats
    low: Floats
    high: Floats
    integral: Bools
    constraints: LinearConstraints
    above: Affine
    """Deviation bounds above the true values."""
    below: Affine
    """Deviation bounds below the true values."""
    touched: Affine
    """Extent to which each cell is touched: for conditional widths and for the number of touched cells."""
    constant: float = 0.0
    switches: Ints | None = None
    """For each variable the binary one without which it is 0 (-1: none)."""
    widths: Floats | None = None
    """What each variable adds to the total width, in units of `length_unit`: the second objective (see `ties`)."""

    @property
    def width(self) -> Floats:
        """`widths`, filled with 0 where there are none."""
        return np.zeros(self.size) if self.widths is None else self.widths

    @property
    def switch(self) -> Ints:
        """`switches`, filled with -1 where there are none."""
        return np.full(self.size, -1) if self.switches is None else self.switches

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.cost.size

    def objective(self, x: Floats) -> float:
        """The objective at a point."""
        return float(self.cost @ x) + self.constant

    def deviation_bounds(self, x: Floats) -> tuple[Floats, Floats]:
        """How far below and above its true value each cell may lie by what a point publishes, at least 0."""
        return np.maximum(self.below.at(x), 0.0), np.maximum(self.above.at(x), 0.0)

    def with_constraints(self, constraints: LinearConstraints) -> Formulation:
        """The formulation with further constraints."""
        return replace(self, constraints=self.constraints.stacked(constraints))

    def at_most_touched(self, most: int | None, cells: Bools | None = None) -> Formulation:
        """The formulation with a maximum number of touched cells among some (None: no limit, all cells)."""
        if most is None:
            return self
        among = np.ones(self.touched.constant.size) if cells is None else cells.astype(float)
        count = csr_array((among @ self.touched.matrix).reshape(1, -1))
        left = most - float(among @ self.touched.constant)
        return self.with_constraints(LinearConstraints(count, np.array([-np.inf]), np.array([left])))


def joined(parts: list[tuple[Bools, Formulation]], additive: LinearConstraints | None = None) -> Formulation:
    """Join formulations side by side, each for its own cells; `additive` constraints tie shown values together."""
    size = parts[0][0].size

    def together(which: str) -> Affine:
        chosen = [getattr(formulation, which) for _, formulation in parts]
        constant = np.zeros(size)
        for (cells, _), affine in zip(parts, chosen, strict=True):
            constant[cells] = affine.constant[cells]
        kept = [_only_cells(affine.matrix, cells) for (cells, _), affine in zip(parts, chosen, strict=True)]
        return Affine(constant, csr_array(hstack(kept)))

    formulations = [formulation for _, formulation in parts]
    constraints = LinearConstraints(
        csr_array(block_diag([each.constraints.matrix for each in formulations])),
        np.concatenate([each.constraints.low for each in formulations]),
        np.concatenate([each.constraints.high for each in formulations]),
    )
    joint = Formulation(
        np.concatenate([each.cost for each in formulations]),
        np.concatenate([each.low for each in formulations]),
        np.concatenate([each.high for each in formulations]),
        np.concatenate([each.integral for each in formulations]),
        constraints,
        together("above"),
        together("below"),
        together("touched"),
        sum(each.constant for each in formulations),
        _shifted([each.switch for each in formulations]),
        np.concatenate([each.width for each in formulations]),
    )
    return joint if additive is None else joint.with_constraints(additive)


def _shifted(switches: list[Ints]) -> Ints:
    """Switches of formulations side by side."""
    starts = np.cumsum([0, *(part.size for part in switches)])
    return np.concatenate(
        [np.where(part >= 0, part + start, -1) for part, start in zip(switches, starts, strict=False)]
    )


def _only_cells(matrix: csr_array, cells: Bools) -> csr_array:
    """The matrix with the rows of all other cells empty."""
    entries = matrix.tocoo()
    kept = cells[entries.row]
    return csr_array(
        coo_array((entries.data[kept], (entries.row[kept], entries.col[kept])), shape=matrix.shape)
    )


# ---------------------------------------------------------------------- the formulations


def at_cells(cells: Ints, size: int, first: int, columns: int, entries: Floats | float = 1.0) -> csr_array:
    """A matrix with an entry for each of the cells: its own column, counted from `first`."""
    data = np.broadcast_to(np.asarray(entries, dtype=np.float64), cells.shape)
    return csr_array((data, (cells, first + np.arange(cells.size))), shape=(size, columns))


def switched(variables: Ints, switches: Ints, limits: Floats, columns: int) -> csr_array:
    """The matrix of  z_j - limit_j y_j  for pairs of a variable z_j and the binary y_j that switches it."""
    rows = np.arange(variables.size)
    return csr_array(
        (
            np.concatenate([np.ones(variables.size), -limits]),
            (np.concatenate([rows, rows]), np.concatenate([variables, switches])),
        ),
        shape=(variables.size, columns),
    )


def suppression_formulation(problem: Problem, cells: Bools) -> Formulation:
    """Cells are hidden or published exactly; those that must be hidden are. The boxes of the others must be finite."""
    size, mine = cells.size, np.flatnonzero(cells & ~problem.must_hide)
    hidden = cells & problem.must_hide
    below, above = box_deviation_bounds(problem)
    count = mine.size
    endless = np.where(hidden, np.inf, 0.0)
    return Formulation(
        problem.weights[mine],
        np.zeros(count),
        np.ones(count),
        np.ones(count, dtype=bool),
        LinearConstraints.none(count),
        Affine(endless, at_cells(mine, size, 0, count, above[mine])),
        Affine(endless, at_cells(mine, size, 0, count, below[mine])),
        Affine(hidden.astype(float), at_cells(mine, size, 0, count)),
    )


def length_unit(problem: Problem) -> float:
    """The unit of lengths that keeps programs well scaled: the median of the levels."""
    levels = np.concatenate([level for _, level in problem.largest_levels.named()])
    return float(np.median(levels[levels > 0])) if (levels > 0).any() else problem.table.unit


def interval_formulation(problem: Problem, cells: Bools, hidden: Bools, prices: Prices) -> Formulation:
    """Cells are published as [a - z-, a + z+] at prices per unit of length of each side; `hidden` ones not at all.

    Variables are lengths in units of `length_unit`.
    """
    size, mine = cells.size, np.flatnonzero(cells & ~hidden)
    count, unit = mine.size, length_unit(problem)
    below, above = box_deviation_bounds(problem)
    endless = np.where(cells & hidden, np.inf, 0.0)
    columns = 2 * count
    return Formulation(
        unit * np.concatenate([prices.up[mine], prices.down[mine]]),
        np.zeros(columns),
        np.concatenate([above[mine], below[mine]]) / unit,
        np.zeros(columns, dtype=bool),
        LinearConstraints.none(columns),
        Affine(endless, at_cells(mine, size, 0, columns, unit)),
        Affine(endless, at_cells(mine, size, count, columns, unit)),
        Affine((cells & hidden).astype(float), csr_array((size, columns))),
        widths=np.ones(columns),
    )


def combined_formulation(
    problem: Problem, cells: Bools, hidden: Bools, prices: Prices, most: float
) -> Formulation:
    """Intervals with prices of both sides and of touching a cell at all (x = 1), each side at most `most` long."""
    size, mine = cells.size, np.flatnonzero(cells & ~hidden)
    count, unit = mine.size, length_unit(problem)
    below, above = (np.minimum(bound, most) / unit for bound in box_deviation_bounds(problem))
    endless = np.where(cells & hidden, np.inf, 0.0)
    columns = 3 * count
    binary = np.arange(count)
    links = [
        switched(side * count + binary, binary, bound[mine], columns)
        for side, bound in ((1, above), (2, below))
    ]
    return Formulation(
        np.concatenate([prices.touched[mine], unit * prices.up[mine], unit * prices.down[mine]]),
        np.zeros(columns),
        np.concatenate([np.ones(count), above[mine], below[mine]]),
        np.arange(columns) < count,
        LinearConstraints(csr_array(vstack(links)), np.full(2 * count, -np.inf), np.zeros(2 * count)),
        Affine(endless, at_cells(mine, size, count, columns, unit)),
        Affine(endless, at_cells(mine, size, 2 * count, columns, unit)),
        Affine((cells & hidden).astype(float), at_cells(mine, size, 0, columns)),
        switches=np.concatenate([np.full(count, -1), binary, binary]),
        widths=(np.arange(columns) >= count).astype(float),
    )


def sufficient_deviation(problem: Problem, settings: FormulationSettings = FormulationSettings()) -> float:
    """A deviation bound that is as good as any larger one."""
    return largest_deviation(problem, settings.max_deviation)


def largest_deviation(problem: Problem, factor: float) -> float:
    """The deviation that is counted on: `factor` times the largest level, on networks the largest level itself."""
    largest = max((float(level.max(initial=0.0)) for _, level in problem.largest_levels.named()), default=0.0)
    return (1.0 if is_network(problem) else factor) * max(largest, problem.table.unit)


@dataclass(frozen=True, eq=False)
class ModelSolution:
    """The best point (empty: none), whether it meets all requirements, its objective and the proven bound."""

    outcome: Outcome
    values: Floats
    safe: bool
    objective: float
    bound: float
    rounds: int
    """Number of programs solved."""
    cuts: int
    """Number of cuts added."""

    @classmethod
    def none(cls) -> ModelSolution:
        """The solution of a run that is stopped before the model has any point or bound."""
        return cls(Outcome.TIME_LIMIT, np.zeros(0), False, math.inf, 0.0, 0, 0)
