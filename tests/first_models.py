"""Salazar's first models, written anew over scipy: every requirement has a deviation of all cells of its own.

Dense, for tiny tables only. It shares no code with `tablecloak.methods`: equations, levels and boxes are read from the
problem, everything else is written here (Salazar-Gonzalez 2002, Figures 6, 9 and 12).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from tablecloak import Problem

Terms = tuple[float, dict[int, float]]
"""An affine function of the columns: a constant, and coefficients by column."""


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

    def require(self, above: list[Terms], below: list[Terms], touched: list[Terms] | None = None) -> None:
        """A deviation for every level of every attacker within these bounds (constant, terms) and his box.

        With `touched`, the extents to which cells are touched, conditional levels are required too.
        """
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

            for i in np.flatnonzero(levels.is_conditional) if touched is not None else ():
                kinds = (
                    (levels.conditional_upper[i], most[i], (1.0, 0.0)),
                    (levels.conditional_lower[i], -least[i], (0.0, -1.0)),
                    (levels.conditional[i], most[i] - least[i], (1.0, -1.0)),
                )
                extent, terms = touched[i]
                for level, box, (rise, fall) in kinds:
                    if (need := min(level, box)) > 0:
                        ends = {deviation()[i]: rise, deviation()[i]: fall}
                        ends |= {j: -need * c for j, c in terms.items()}
                        self.row(ends, need * extent, np.inf)
            common = {p: (levels.lower[p], levels.upper[p], levels.sliding[p]) for p in range(len(table))}
            own = common | (own_levels(problem, attacker - 1, common) if attacker else {})
            for p in np.flatnonzero(problem.sensitive):
                upper = min(own[p][1], most[p])
                lower = min(own[p][0], -least[p])
                sliding = min(own[p][2], most[p] - least[p])
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


def own_levels(
    problem: Problem, insider: int, common: dict[int, tuple[float, ...]]
) -> dict[int, tuple[float, ...]]:
    """Lower, upper and sliding levels against an insider where he has some: NaN is the common one."""
    given = problem.attackers[insider].levels
    sides = (given.lower, given.upper, given.sliding)
    return {
        int(p): tuple(
            float(common[int(p)][k] if np.isnan(side[place]) else side[place]) for k, side in enumerate(sides)
        )
        for place, p in enumerate(given.cells)
    }


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


@dataclass
class Combination:
    """Which cell goes which way, and what a combination of ways may do at most."""

    ways: list[str]
    base: np.ndarray
    reach: float
    """What perturbed cells are shown within."""
    most: dict[str, int] = field(default_factory=dict)
    """Maximum numbers of touched cells by way; under "all" those of all ways together."""


def mixed_program(problem: Problem, given: Combination) -> Program:
    """The combination of the last section: every cell by its own way, one attacker for all of them."""
    program, table, value = Program(problem), problem.table, problem.table.values
    levels = [level for _, level in problem.levels.named()]
    far = 8.0 * max(float(np.abs(value).max()), *(float(level.max()) for level in levels), 1.0)
    rise = np.minimum(problem.outsider_high - value, far)
    fall = np.minimum(value - problem.outsider_low, far)
    touch = np.where(problem.must_hide, 0.0, problem.applied_prices.touched)
    up, down = problem.applied_prices.up, problem.applied_prices.down
    above, below, touched, shown = list[Terms](), list[Terms](), list[Terms](), dict[int, Terms]()
    counted: dict[str, list[int]] = {}
    changed = np.zeros(len(table), dtype=bool)

    def add(over: Terms, under: Terms, extent: Terms, way: str) -> None:
        above.append(over)
        below.append(under)
        touched.append(extent)
        counted.setdefault(way, []).append(len(touched) - 1)

    for i, way in enumerate(given.ways):
        a, must = float(value[i]), bool(problem.must_hide[i])
        hidden = must and (way == "suppress" or not problem.sensitive[i])
        multiple = given.base[i] > 0 and abs(a / given.base[i] - round(a / given.base[i])) < 1e-9
        if hidden:
            add((np.inf, {}), (np.inf, {}), (1.0, {}), "suppress")
        elif problem.forced[i] or way == "exact" or (way == "round" and given.base[i] == 0):
            add((0.0, {}), (0.0, {}), (0.0, {}), "exact")
            shown[i] = (a, {})
        elif way == "suppress":
            x = program.variable(0.0, 1.0, problem.weights[i], True)
            add((0.0, {x: rise[i]}), (0.0, {x: fall[i]}), (0.0, {x: 1.0}), way)
        elif way == "interval":
            x = program.variable(0.0, 1.0, touch[i], True)
            z = [program.variable(0.0, end[i], price[i]) for end, price in ((rise, up), (fall, down))]
            for length, end in zip(z, (rise, fall), strict=True):
                program.row({length: 1.0, x: -end[i]}, -np.inf, 0.0)
            add((0.0, {z[0]: 1.0}), (0.0, {z[1]: 1.0}), (0.0, {x: 1.0}), way)
        elif way == "round":
            base, changed[i] = float(given.base[i]), True
            floor, extent, terms = a, 0.0, dict[int, float]()
            if not multiple:
                floor, extent = float(np.floor(a / base) * base), 1.0
                rest = a - floor
                terms[program.variable(0.0, 1.0, up[i] * (base - rest) - down[i] * rest, True)] = base
                program.constant += down[i] * rest + touch[i]
            shown[i] = (floor, terms)
            under = {column: -entry for column, entry in terms.items()}
            add((floor + base - a, terms), (a - floor + base, under), (extent, {}), way)
        else:
            changed[i] = True
            shown[i] = _perturbed(program, i, given.reach, touch[i])
            constant, terms = shown[i]
            under = {column: -entry for column, entry in terms.items() if entry}
            x = max(terms)
            moves = {column: entry for column, entry in terms.items() if entry}
            add(
                (constant + given.reach - a, moves), (a - constant + given.reach, under), (0.0, {x: 1.0}), way
            )
            shown[i] = (constant, moves)
    for way, most in given.most.items():
        cells = range(len(table)) if way == "all" else counted.get(way, [])
        terms = {column: entry for i in cells for column, entry in touched[i][1].items()}
        program.row(terms, -np.inf, most - sum(touched[i][0] for i in cells))
    dense = table.equations.toarray()
    says = np.isin(np.arange(len(table)), list(shown))
    whole = (np.abs(dense) @ ~says == 0) & (np.abs(dense) @ changed > 0)
    adding_up(program, [shown.get(i, (0.0, {})) for i in range(len(table))], dense[whole])
    program.require(above, below, touched)
    return program


def _perturbed(program: Program, i: int, reach: float, touch: float) -> Terms:
    """A perturbed cell: its value, the columns of its moves, and (with entry 0, the last) whether it is changed."""
    problem = program.problem
    a, unit = float(problem.table.values[i]), problem.table.unit
    common = {i: tuple(float(level[i]) for _, level in list(problem.levels.named())[:3])}
    against = [
        common,
        *(
            own_levels(problem, k, common | {int(p): (0.0,) * 3 for p in who.levels.cells if p != i})
            for k, who in enumerate(problem.attackers)
        ),
    ]
    lower, upper, sliding = np.max([each.get(i, common[i]) for each in against], axis=0)
    up, down = problem.applied_prices.up[i], problem.applied_prices.down[i]
    highest, deepest = reach, reach
    if problem.outsider_low[i] >= 0:
        deepest = min(deepest, max(a, 0.0))
    if problem.outsider_high[i] <= 0:
        highest = min(highest, max(-a, 0.0))
    if problem.sensitive[i]:
        highest = min(highest, reach - lower)  # its own reach leaves room for its levels
        deepest = min(deepest, reach - upper)
        half = max(sliding, unit) / 2
        least = [max(level, half, unit) for level in (upper, lower)]
        ends = [least[0] <= highest, least[1] <= deepest]
    rise, fall = (
        program.variable(0.0, max(end, 0.0), price) for end, price in ((highest, up), (deepest, down))
    )
    x = program.variable(0.0, 1.0, touch, True)
    for move, end in ((rise, highest), (fall, deepest)):
        program.row({move: 1.0, x: -max(end, 0.0)}, -np.inf, 0.0)
    if problem.sensitive[i]:
        sense = program.variable(float(not ends[1]), float(ends[0]), 0.0, True)
        program.row({rise: 1.0, sense: -max(highest, 0.0)}, -np.inf, 0.0)
        program.row({fall: 1.0, sense: max(deepest, 0.0)}, -np.inf, max(deepest, 0.0))
        program.row({rise: 1.0, sense: -least[0]}, 0.0, np.inf)
        program.row({fall: 1.0, sense: least[1]}, least[1], np.inf)
    return a, {rise: 1.0, fall: -1.0, x: 0.0}
