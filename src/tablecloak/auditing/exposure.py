"""Exposure: what could be inferred if nothing but the cells that must be hidden were hidden.

After Serpell, Smith, Clark and Staggemeier (2013), "A preprocessing optimization applied to the cell
suppression problem in statistical disclosure control"; its symbols are the names of the sets, see `MEANING`.
The attacker is the outsider. The paper's absolute limits lpl, upl are a - lower, a + upper here.

- *Exposed* (E) is what the audit finds open. The levels of the other sensitive cells (N) stay met: hiding more
  never narrows an interval.
- *Unpicking* (E_u): every hidden cell starts with its box, and each equation bounds each of its cells by what
  the others leave it, again and again.
- *Initially exposed* (I) are cells that stay exposed when every other exposed cell q is freed: each equation
  has a copy of q of its own within q's box, so that nothing can be inferred from q first. The others
  (C) are exposed as a consequence. The paper holds that I is empty only if E is; not so for any equations:
  p + q = 10 and p - q = 0 disclose both, and neither without the other.
- *Candidates* compare a cell p with what else is hidden in one of its equations. K_pl (the paper's a'): what
  the levels of the others allow p, over all equations, is less than the levels of p; cells hidden but not
  sensitive have no levels and allow nothing. K_nv: |a| + upper exceeds the sum of the others' |a|; this is
  the paper's formula (9), its prose compares the range (the examples fit both, the formula gives more
  candidates). K_s: the range or |a| exceeds three times that sum. Coefficients weigh all sums.
- *Sliding levels*: the range of a cell is the larger of lower + upper and sliding. K_pl compares ranges too;
  K_nv takes the range less lower for upper.

- *Dominated* (D, not in the paper) are exposed cells all of whose open levels follow from those of other cells in every
  pattern (`implied`, a theorem).

An *algorithm* keeps the levels of some exposed cells; the others may or may not become safe with them. Only E and D
(E without the dominated cells) are safe by themselves. What was protected with K1, K3 or K5 must pass an audit of all
sensitive cells.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array, csc_array, eye_array, hstack

from tablecloak.arrays import Bools, Floats, Ints, frozen
from tablecloak.attacker import Component, EquationBlock, NetworkAttack, orient, structure_of, tolerances
from tablecloak.auditing.audit import audit
from tablecloak.auditing.implied import implied_requirements
from tablecloak.errors import SolverError, check_kind
from tablecloak.model import (
    Audit,
    Levels,
    Mark,
    Problem,
    Suppression,
    required_units,
    units_above,
    units_below,
    unmet_requirements,
    whole_units,
)
from tablecloak.progress import Progress, silent
from tablecloak.solvers import LinearProgram, Outcome


@dataclass(frozen=True)
class ExposureSettings:
    """Effort of exposure."""

    max_rounds: int = 500
    """Maximum number of unpicking rounds over all equations: it may converge only in the limit. Untested default."""


MEANING = {
    "E": "exposed",
    "N": "not exposed: their levels can be dropped",
    "E_f": "exposed exactly",
    "E_p": "exposed, but not exactly",
    "E_u": "exposed by unpicking, one equation at a time",
    "E_n": "exposed only by several equations together",
    "I": "initially exposed",
    "C": "exposed as a consequence of others",
    "I_u": "initially exposed, by unpicking",
    "I_n": "initially exposed, not by unpicking",
    "K_u": "candidates that unpicking gives (= E_u)",
    "K_1": "alone in an equation",
    "K_pl": "range beyond what the ranges beside it allow",
    "K_nv": "upper limit beyond the values beside it",
    "K_s": "range or value over 3 times the values beside it",
    "K_n": "candidates that unpicking misses (= E_n)",
    "D": "dominated: their levels follow from those of other cells",
}
"""The sets and what they mean."""


@dataclass(frozen=True, eq=False)
class Exposure:
    """Which sensitive cells are exposed, how, and which levels each algorithm keeps. Confidential.

    Sets are sorted cell numbers. `low..high` belong to the sensitive cells, `cells`: exact for the exposed
    ones; for the others exact only if `exact`, else just wide enough to show that their levels are met.
    `most_initial` is I_max.
    """

    sets: Mapping[str, Ints]
    algorithms: Mapping[str, Ints]
    """E, D, K1, K3, K5: the cells whose levels each algorithm keeps; D is ours, the others are those of the paper."""
    left_open: Mapping[str, Ints]
    """Exposed cells that an algorithm neither keeps nor protects by what it keeps: they have no requirement."""
    most_initial: int
    cells: Ints
    low: Floats
    high: Floats
    exact: bool
    seconds: float

    def summary(self, problem: Problem) -> str:
        """The sets, and what each algorithm saves and leaves to luck, as a text table."""
        total, also = self.cells.size, int(problem.must_hide.sum()) - self.cells.size
        others = f" and {also} others" if also else ""
        lines = [f"Confidential: exposure when {total} sensitive cells{others} are hidden and nothing else"]
        lines += [f"  {name:<5}{cells.size:>8}  {MEANING[name]}" for name, cells in self.sets.items()]
        lines.append(f"  I_max{self.most_initial:>8}  most initially exposed cells in a table of this shape")
        lines.append("  algorithm    levels kept    saving    exposed, left to luck")
        for name, kept in self.algorithms.items():
            saving = 1.0 - kept.size / total if total else 0.0
            lines.append(f"  {name:<13}{kept.size:>11}{saving:>10.1%}{self.left_open[name].size:>25}")
        lines.append(
            "Only E and D are safe by themselves. K1, K3 and K5 require nothing of what they leave to luck: a"
        )
        lines.append("pattern made with their levels must be followed by an audit of all sensitive cells.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<confidential Exposure: {self.sets['E'].size} of {self.cells.size} sensitive cells exposed>"


def exposure(
    problem: Problem,
    *,
    intervals: bool = False,
    progress: Progress = silent,
    settings: ExposureSettings = ExposureSettings(),
) -> Exposure:
    """Compute what an outsider can infer when only the cells that must be hidden are hidden.

    `intervals=True` computes exact intervals also of the cells that are not exposed (slow on large tables).
    """
    check_kind("Exposure", "problem", problem, Problem, "Make one with assess(table, rules).")
    start = time.perf_counter()
    cells, hiding = np.flatnonzero(problem.sensitive), Suppression(problem.must_hide)
    alone = _restricted(problem, problem.sensitive)
    found = audit(alone, hiding, intervals=intervals, progress=progress)
    low, high, is_open = found.low.copy(), found.high.copy(), ~found.safe_rows
    if is_open.any() and not intervals:
        about = np.isin(np.arange(len(problem.table)), cells[is_open])
        exact = audit(_restricted(problem, about), hiding, intervals=True, progress=progress)
        low[is_open], high[is_open] = exact.low, exact.high
    size = np.abs(problem.table.values[cells])
    narrow = np.maximum(tolerances.POINT_WIDTH * problem.table.unit, tolerances.POINT_SHARE * size)
    point = high - low <= narrow

    hidden = _Hidden.of(problem)
    exposed, fully = (np.isin(hidden.cells, cells[which]) for which in (is_open, is_open & point))
    unpicked = _unpicked(hidden, exposed, settings.max_rounds)
    sets = _sets(hidden, exposed, fully, unpicked, _initially(hidden, exposed, progress))
    sets["D"] = np.isin(hidden.cells, _dominated(alone, found))
    algorithms = {
        "E": sets["E"],
        "D": sets["E"] & ~sets["D"],
        "K1": sets["K_1"] | (sets["K_s"] & sets["E"]),
        "K3": sets["K_1"] | sets["E_p"] | sets["K_n"],
        "K5": sets["K_1"] | ((sets["K_pl"] | sets["K_nv"]) & sets["E"]) | sets["K_n"],
    }
    return Exposure(
        {name: hidden.numbers(which) for name, which in sets.items()},
        {name: hidden.numbers(which) for name, which in algorithms.items()},
        {name: hidden.numbers(exposed & ~which & (name != "D")) for name, which in algorithms.items()},
        most_initial(problem),
        frozen(cells),
        frozen(low),
        frozen(high),
        intervals,
        time.perf_counter() - start,
    )


def _dominated(problem: Problem, found: Audit) -> Ints:
    """Exposed cells all of whose open levels follow from levels of cells that have one of their own to keep."""
    unmet = unmet_requirements(problem, found)
    implied = implied_requirements(problem, unmet, ~problem.forced)
    kept = {requirement.cell for requirement in unmet if requirement not in implied}
    return np.array(sorted({requirement.cell for requirement in unmet} - kept), dtype=np.int64)


def apparent_intervals(problem: Problem) -> tuple[Floats, Floats]:
    """a' of the paper for the sensitive cells: low and high that the levels of the other hidden cells allow.

    A comparison of levels: what an outsider can infer may be wider or narrower.
    """
    hidden = _Hidden.of(problem)
    down, up = map(problem.table.amounts, hidden.allowed(hidden.lower, hidden.upper))
    value = problem.table.values[hidden.cells]
    return (value - down)[hidden.sensitive], (value + up)[hidden.sensitive]


def most_initial(problem: Problem) -> int:
    """I_max: how many cells of such a table can be initially exposed, as the paper counts, block by block.

    Without hierarchies 1 in a one-way table, (n - 1) + (m - 1) in a two-way one and the like in a three-way
    one; n and m are the codes below the total, and the total itself where one must be hidden. Elsewhere the
    number of equations. The paper counts cells alone in an equation: levels above the values beside them can
    expose more.
    """
    return sum(_most_in_block(block, problem.must_hide) for block in structure_of(problem.table).blocks)


def _most_in_block(block: EquationBlock, must_hide: Bools) -> int:
    equations, grid = int(block.rows.size), block.grid
    if grid is None or max(grid.levels) > 1 or len(grid.shape) > 3:
        return equations
    totals = (grid.coordinates[must_hide[block.cells]] == 0).any(axis=0)
    sizes = [codes - 1 + int(total) for codes, total in zip(grid.shape, totals, strict=True)]
    if len(sizes) == 1:
        return 1
    if len(sizes) == 2:
        return min(equations, max(*sizes, sum(sizes) - 2))
    n, m, l = (size - 1 for size in sizes)
    return min(equations, n * m + m * l + n * l + 4)


def _restricted(problem: Problem, about: Bools) -> Problem:
    """The problem with the same hidden cells, only these sensitive, and the outsider alone."""
    marks = np.where(about, Mark.SENSITIVE, np.where(problem.must_hide, Mark.HIDDEN, problem.marks))
    named = (problem.levels.lower, problem.levels.upper, problem.levels.sliding)
    levels = Levels.of(len(problem.table), *(np.where(about, level, 0.0) for level in named))
    return replace(problem, marks=marks.astype(np.int8), levels=levels, attackers=(), most_touched=None)


# ---------------------------------------------------------------------- the hidden cells


@dataclass(frozen=True, eq=False)
class _Hidden:
    """The cells that must be hidden, in integral data units, and their equations entry by entry.

    `down` and `up` are the deviation bounds by the outsider's box; only sensitive cells have levels.
    Entry e is the coefficient `factor[e]` of the hidden cell at place `column[e]` in equation `row[e]`.
    """

    cells: Ints
    sensitive: Bools
    size: Floats
    down: Floats
    up: Floats
    lower: Floats
    upper: Floats
    sliding: Floats
    row: Ints
    column: Ints
    factor: Floats
    rows: int

    @classmethod
    def of(cls, problem: Problem) -> _Hidden:
        table, cells = problem.table, np.flatnonzero(problem.must_hide)
        unit, entries = table.unit, coo_array(table.equations[:, cells])
        value = whole_units(table.values[cells], unit)
        return cls(
            cells,
            problem.sensitive[cells],
            np.abs(value),
            value - units_above(problem.outsider_low[cells], unit),
            units_below(problem.outsider_high[cells], unit) - value,
            *required_units(problem, 0, cells, touched=False),
            entries.coords[0].astype(np.int64),
            entries.coords[1].astype(np.int64),
            entries.data,
            entries.shape[0],
        )

    @property
    def width(self) -> Floats:
        """The range that each cell requires."""
        return np.maximum(self.lower + self.upper, self.sliding)

    def numbers(self, which: Bools) -> Ints:
        """A set of hidden cells as numbers in the table."""
        return np.asarray(frozen(self.cells[which]))

    def fails(self, down: Floats, up: Floats) -> Bools:
        """Cells whose levels are not met when they deviate by -down..up, and no further than their box."""
        down, up = np.minimum(down, self.down), np.minimum(up, self.up)
        return _short(down, self.lower) | _short(up, self.upper) | _short(down + up, self.sliding)

    def terms(self, down: Floats, up: Floats) -> tuple[Floats, Floats]:
        """Extent of the term factor * d of each entry below and above zero when -down <= d <= up."""
        size, positive = np.abs(self.factor), self.factor > 0
        below, above = down[self.column], up[self.column]
        return size * np.where(positive, below, above), size * np.where(positive, above, below)

    def allowed(self, down: Floats, up: Floats) -> tuple[Floats, Floats]:
        """Deviation bounds of each cell, down and up, by all its equations while the others stay within -down..up."""
        below, above = (_sum_of_others(self.row, term, self.rows) for term in self.terms(down, up))
        size, positive = np.abs(self.factor), self.factor > 0
        far_down, far_up = np.full((2, self.cells.size), np.inf)
        np.minimum.at(far_down, self.column, np.where(positive, above, below) / size)
        np.minimum.at(far_up, self.column, np.where(positive, below, above) / size)
        return far_down, far_up


def _short(got: Floats, need: Floats) -> Bools:
    return np.asarray(got < need * (1.0 - tolerances.REQUIREMENT_MET))


def _row_sums(row: Ints, term: Floats | Bools, rows: int) -> Floats:
    return np.bincount(row, weights=term, minlength=rows).astype(np.float64)


def _sum_of_others(row: Ints, term: Floats, rows: int) -> Floats:
    """For each entry the sum of the other terms of its row; terms are not negative and may be infinite."""
    endless = np.isinf(term)
    finite = np.where(endless, 0.0, term)
    rest = _row_sums(row, finite, rows)[row] - finite
    endless_others = _row_sums(row, endless, rows)[row] - endless
    return np.where(endless_others > 0, np.inf, np.maximum(rest, 0.0))


def _sets(hidden: _Hidden, exposed: Bools, exact: Bools, unpicked: Bools, initial: Bools) -> dict[str, Bools]:
    """All sets of the paper, as masks over the hidden cells."""
    mates, _ = hidden.allowed(np.ones(hidden.cells.size), np.ones(hidden.cells.size))
    values_beside, _ = hidden.allowed(hidden.size, hidden.size)
    ranges_beside, _ = hidden.allowed(hidden.width, hidden.width)
    far_down, far_up = hidden.allowed(hidden.lower, hidden.upper)
    apparent = _short(far_down, hidden.lower) | _short(far_up, hidden.upper)
    sets = {
        "E": exposed,
        "N": ~exposed,
        "E_f": exact,
        "E_p": exposed & ~exact,
        "E_u": unpicked,
        "E_n": exposed & ~unpicked,
        "I": initial,
        "C": exposed & ~initial,
        "I_u": initial & unpicked,
        "I_n": initial & ~unpicked,
        "K_u": unpicked,
        "K_1": mates == 0,
        "K_pl": apparent | _short(ranges_beside, hidden.width),
        "K_nv": _short(values_beside, hidden.size + hidden.width - hidden.lower),
        "K_s": _short(3.0 * values_beside, np.maximum(hidden.width, hidden.size)),
        "K_n": exposed & ~unpicked,
    }
    return {name: which & hidden.sensitive for name, which in sets.items()}


def _unpicked(hidden: _Hidden, exposed: Bools, max_rounds: int) -> Bools:
    """E_u: exposed cells that fail when bounds are propagated through one equation at a time."""
    reach, failed = np.stack([hidden.down, hidden.up]), np.zeros_like(exposed)
    for _ in range(max_rounds):
        far = np.stack(hidden.allowed(*reach))
        moved = far + tolerances.BOUND_MOVED * (far + 1.0) < reach
        reach = np.minimum(reach, far)
        failed = exposed & hidden.fails(*reach)
        if not moved.any() or np.array_equal(failed, exposed):
            break
    return failed


def _initially(hidden: _Hidden, exposed: Bools, progress: Progress) -> Bools:
    """I: cells exposed although every other exposed cell is freed.

    Certainly: those that fail by single equations with all other cells at their boxes. Certainly not: those that
    meet their levels by the freed cells beside them alone. The others are decided one by one.
    """
    freed = exposed[hidden.column]
    only = replace(hidden, row=hidden.row[freed], column=hidden.column[freed], factor=hidden.factor[freed])
    initial = exposed & hidden.fails(*hidden.allowed(hidden.down, hidden.up))
    doubtful = exposed & ~initial & hidden.fails(*only.allowed(hidden.down, hidden.up))
    if doubtful.any():
        system = _Freed(hidden, only, doubtful)
        for done, cell in enumerate(np.flatnonzero(doubtful), 1):
            initial[cell] = system.leaves_exposed(int(cell))
            progress("initially exposed", done, int(doubtful.sum()))
    return initial


class _Freed:
    """The system in which exposed cells are free: slacks of each of their equations.

    Columns are the hidden cells, exposed ones shut (d = 0), and for each equation one slack for all exposed
    cells in it. To decide about a cell it is opened and taken out of the slacks of its equations.
    """

    def __init__(self, hidden: _Hidden, freed: _Hidden, doubtful: Bools) -> None:
        self.hidden, self.freed, rows = hidden, freed, hidden.rows
        terms = freed.terms(hidden.down, hidden.up)
        self.beside = [_sum_of_others(freed.row, term, rows) for term in terms]
        down, up = (_row_sums(freed.row, term, rows) for term in terms)
        low, high = -np.concatenate([hidden.down, down]), np.concatenate([hidden.up, up])
        low[freed.column] = high[freed.column] = 0.0
        entries = coo_array((hidden.factor, (hidden.row, hidden.column)), shape=(rows, hidden.cells.size))
        matrix = csc_array(hstack([entries, eye_array(rows)]))
        self.system = Component(np.arange(low.size), matrix, low, high, 1.0, orient(matrix))
        self.scale = float(np.sqrt(hidden.width[doubtful].min() * hidden.width[doubtful].max()))
        is_network = self.system.orientation is not None
        self.session = None if is_network else LinearProgram(matrix, low / self.scale, high / self.scale)

    def leaves_exposed(self, cell: int) -> bool:
        """Whether the cell fails its levels nevertheless."""
        hidden, own, here = self.hidden, np.flatnonzero(self.freed.column == cell), slice(cell, cell + 1)
        slacks = hidden.cells.size + self.freed.row[own]
        low, high = self.system.low.copy(), self.system.high.copy()
        low[slacks], high[slacks] = -self.beside[0][own], self.beside[1][own]
        low[cell], high[cell] = -hidden.down[cell], hidden.up[cell]
        lower, upper, sliding = hidden.lower[here], hidden.upper[here], hidden.sliding[here]
        need_down, need_up = np.maximum(lower, sliding), np.maximum(upper, sliding)
        if self.session is None:
            attack = NetworkAttack(self.system.with_bounds(low, high))
            sides = attack.reach(np.array([cell]), need_down, need_up, lambda settled: None, np.zeros(1))
            down, up = (side.reach for side in sides)
        else:
            low[here], high[here] = np.maximum(low[here], -need_down), np.minimum(high[here], need_up)
            self.session.set_many_bounds(self.system.cells, low / self.scale, high / self.scale)
            down, up = self._extent(self.session, cell)
        return bool((_short(down, lower) | _short(up, upper) | _short(down + up, sliding))[0])

    def _extent(self, session: LinearProgram, cell: int) -> tuple[Floats, Floats]:
        """Extents of the cell down and up; the program stays warm from cell to cell."""
        far = []
        for cost in (1.0, -1.0):
            session.set_cost(cell, cost)
            found = session.solve()
            if found.outcome is not Outcome.OPTIMAL:
                raise SolverError(f"an attacker program ended as {found.outcome.value}")
            far.append(-cost * self.scale * found.values[cell : cell + 1])
        session.set_cost(cell, 0.0)
        return far[0], far[1]
