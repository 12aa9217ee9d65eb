"""Salazar's first models, written anew over scipy: every requirement has a deviation of all cells of its own.

Dense, for tiny tables only. It shares no code with `tablecloak.methods`: equations, levels and boxes are read from the
problem, everything else is written here (Salazar-Gonzalez 2002, Figures 6, 9 and 12).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from tablecloak import Problem


@dataclass
class Program:
    """min cost x over bounds and rows; U = above[0] + above[1] x and D likewise are what a publication leaves."""

    problem: Problem
    cost: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    integral: list[bool] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float, float]] = field(default_factory=list)
    constant: float = 0.0

    def variable(self, low: float, high: float, cost: float = 0.0, integral: bool = False) -> int:
        self.cost.append(cost)
        self.low.append(low)
        self.high.append(high)
        self.integral.append(integral)
        return len(self.cost) - 1

    def row(self, terms: dict[int, float], low: float, high: float) -> None:
        self.rows.append((terms, low, high))

    def require(
        self, above: list[tuple[float, dict[int, float]]], below: list[tuple[float, dict[int, float]]]
    ) -> None:
        """A deviation for every level of every attacker within these bounds (constant, terms) and his box."""
        problem = self.problem
        table, levels = problem.table, problem.levels
        dense = table.equations.toarray()
        for attacker in range(len(problem.attacker_names)):
            least, most = (end - table.values for end in problem.box(attacker))

            def deviation(box: tuple[np.ndarray, np.ndarray] = (least, most)) -> list[int]:
                d = [self.variable(low, high) for low, high in zip(*box, strict=True)]
                for equation in dense:
                    self.row({d[i]: float(equation[i]) for i in np.flatnonzero(equation)}, 0.0, 0.0)
                for i, ((up, terms_up), (down, terms_down)) in enumerate(zip(above, below, strict=True)):
                    if np.isfinite(up):
                        self.row({d[i]: 1.0} | {j: -c for j, c in terms_up.items()}, -np.inf, up)
                    if np.isfinite(down):
                        self.row({d[i]: -1.0} | {j: -c for j, c in terms_down.items()}, -np.inf, down)
                return d

            for p in np.flatnonzero(problem.sensitive):
                upper = min(levels.upper[p], most[p])
                lower = min(levels.lower[p], -least[p])
                sliding = min(levels.sliding[p], most[p] - least[p])
                if upper > 0:
                    self.row({deviation()[p]: 1.0}, upper, np.inf)
                if lower > 0:
                    self.row({deviation()[p]: 1.0}, -np.inf, -lower)
                if sliding > 0:
                    self.row({deviation()[p]: 1.0, deviation()[p]: -1.0}, sliding, np.inf)

    def solve(self, cost: list[float] | None = None) -> tuple[float, np.ndarray] | None:
        """The optimum and a point; None where there is none."""
        size = len(self.cost)
        matrix = np.zeros((len(self.rows), size))
        for number, (terms, _, _) in enumerate(self.rows):
            for column, entry in terms.items():
                matrix[number, column] += entry
        chosen = np.array(self.cost if cost is None else cost)
        scale = float(np.abs(chosen).max(initial=0.0)) or 1.0
        found = milp(
            chosen / scale,
            integrality=np.array(self.integral, dtype=int),
            bounds=Bounds(np.array(self.low), np.array(self.high)),
            constraints=[
                LinearConstraint(matrix, [row[1] for row in self.rows], [row[2] for row in self.rows])
            ]
            if self.rows
            else [],
            options={"mip_rel_gap": 0.0},
        )
        if found.status == 2:
            return None
        assert found.status == 0, found.message
        return float(found.fun * scale) + (self.constant if cost is None else 0.0), found.x


def interval_program(
    problem: Problem,
    up: np.ndarray,
    down: np.ndarray,
    touch: np.ndarray | None = None,
    longest: float = np.inf,
) -> tuple[Program, list[int]]:
    """Figure 6; with prices of touching the combination with suppression. Also the columns of lengths."""
    program, above, below, lengths = Program(problem), [], [], []
    most = problem.outsider_high - problem.table.values
    deep = problem.table.values - problem.outsider_low
    for i in range(len(problem.table)):
        if problem.forced[i]:
            above.append((0.0, {}))
            below.append((0.0, {}))
        elif problem.must_hide[i] and not problem.sensitive[i]:
            above.append((np.inf, {}))
            below.append((np.inf, {}))
        else:
            limits = min(most[i], longest), min(deep[i], longest)
            rise, fall = program.variable(0.0, limits[0], up[i]), program.variable(0.0, limits[1], down[i])
            lengths += [rise, fall]
            if touch is not None:
                switch = program.variable(0.0, 1.0, 0.0 if problem.must_hide[i] else touch[i], True)
                for length, limit in zip((rise, fall), limits, strict=True):
                    program.row({length: 1.0, switch: -limit}, -np.inf, 0.0)
            above.append((0.0, {rise: 1.0}))
            below.append((0.0, {fall: 1.0}))
    program.require(above, below)
    return program, lengths


def adding_up(program: Program, shown: list[tuple[float, dict[int, float]]], equations: np.ndarray) -> None:
    """Shown values (constant, terms) have the sums of the true ones."""
    value = program.problem.table.values
    for equation in equations:
        terms: dict[int, float] = {}
        right = float(equation @ value)
        for i in np.flatnonzero(equation):
            right -= equation[i] * shown[i][0]
            for column, entry in shown[i][1].items():
                terms[column] = terms.get(column, 0.0) + float(equation[i]) * entry
        program.row(terms, right, right)


def leaving(
    problem: Problem, shown: list[tuple[float, dict[int, float]]], reach: np.ndarray
) -> tuple[list[tuple[float, dict[int, float]]], list[tuple[float, dict[int, float]]]]:
    """What "within this reach of what is shown" leaves above and below the true values."""
    value = problem.table.values
    above = [(c + r - a, dict(terms)) for (c, terms), r, a in zip(shown, reach, value, strict=True)]
    below = [
        (a - c + r, {j: -e for j, e in terms.items()})
        for (c, terms), r, a in zip(shown, reach, value, strict=True)
    ]
    return above, below


def rounding_program(
    problem: Problem,
    base: float,
    up: np.ndarray,
    down: np.ndarray,
    touch: np.ndarray | None = None,
    *,
    attackers: bool = True,
) -> Program:
    """Figure 9, zero-restricted, attackers given the full base."""
    program, shown = Program(problem), []
    for i, a in enumerate(problem.table.values):
        floor = np.floor(a / base + 1e-9) * base
        rest = a - floor
        if problem.forced[i] or abs(rest) < 1e-9 * base:
            shown.append((a, {}))
            continue
        program.constant += down[i] * rest
        if touch is not None and not problem.must_hide[i]:
            program.constant += touch[i]
        x = program.variable(0.0, 1.0, up[i] * (base - rest) - down[i] * rest, True)
        shown.append((floor, {x: base}))
    adding_up(program, shown, problem.table.equations.toarray())
    if attackers:
        program.require(*leaving(problem, shown, np.where(problem.forced, 0.0, base)))
    return program


def perturbation_program(
    problem: Problem,
    floor: np.ndarray,
    ceiling: np.ndarray,
    reach: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
    touch: np.ndarray | None = None,
    *,
    least: tuple[np.ndarray, np.ndarray],
    attackers: bool = True,
    most: int | None = None,
) -> Program:
    """Figure 12: shown between floor and ceiling; sensitive cells at least `least` (up, down) away, by a binary sense.

    NaN as what is least: not on this side.
    """
    program, shown, switches = Program(problem), [], []
    value = problem.table.values
    for i, a in enumerate(value):
        rises, falls = ceiling[i] - a, a - floor[i]
        rise, fall = program.variable(0.0, rises, up[i]), program.variable(0.0, falls, down[i])
        shown.append((a, {rise: 1.0, fall: -1.0}))
        if problem.sensitive[i]:
            ends = [np.isnan(side[i]) for side in least]
            sense = program.variable(float(ends[1]), 1.0 - float(ends[0]), 0.0, True)
            program.row({rise: 1.0, sense: -rises}, -np.inf, 0.0)
            program.row({fall: 1.0, sense: falls}, -np.inf, falls)
            if not ends[0]:
                program.row({rise: 1.0, sense: -least[0][i]}, 0.0, np.inf)
            if not ends[1]:
                program.row({fall: 1.0, sense: least[1][i]}, least[1][i], np.inf)
        switch = program.variable(0.0, 1.0, 0.0 if touch is None or problem.must_hide[i] else touch[i], True)
        switches.append(switch)
        program.row({rise: 1.0, switch: -rises}, -np.inf, 0.0)
        program.row({fall: 1.0, switch: -falls}, -np.inf, 0.0)
    if most is not None:
        program.row(dict.fromkeys(switches, 1.0), -np.inf, most)
    adding_up(program, shown, problem.table.equations.toarray())
    if attackers:
        program.require(*leaving(problem, shown, reach))
    return program
