"""Rows of single equations: what each line of a table asks of every safe pattern, whatever the other lines do.

In equation e cell i moves by t_i = m_ei d_i, at most `down` one way and `up` the other (from an attacker's box). Since
the moves of a line cancel, a level L of cell p in one direction asks of the other hidden cells (*volume*)

    sum_{i != p} c_i x_i >= |m_ep| L,     c_i = down_i where t_p goes up, up_i where it goes down, their sum to slide.

With r = |m_ep| L - (what cells hidden anyway carry) this is  sum_free min(c_i, r) x_i >= r; of all cells of a line
only the one with the largest r counts. In a table without negative cells the parts of a line carry c_i = a_i and its
total carries any amount: these are (5) and (6) of Carvalho & Almeida (2008), where the total has r and not min(a, r).

*Alone*: where one sensitive cell is all that must be hidden of a line, hide another:  sum_free x_i >= 1,  their (1).

*One way*: if no hidden cell of a line can go down, none can go up, all are determined and should be published:

    x_s <= sum_{i: down_i > 0} x_i     where down_s = 0, and likewise for up.

With zeros in a line of positive total this is (8), in a line of total zero (9) and (10). Like the rows of `bridgeless`,
(4) and (7), these hold for some optimal pattern, not for all safe ones (weights are not negative).

References: Kelly, Golden & Assad (1992); Carvalho & Almeida (2000, 2008); Castro (2007) for `castro_cuts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.cuts.cut import TINY, Cut
from tablecloak.model import Problem

LEAST = 1e-3
"""A one-way row is worth adding if it is missed by more than this."""


@dataclass(frozen=True, eq=False)
class Question:
    """By entry: what each cell asks of the others in its line, and what it can carry for them."""

    need: Floats
    carry: Floats


class EquationCuts:
    """The equations of a problem over the cells that may be hidden. `row` and `cell` name each entry."""

    def __init__(self, problem: Problem, allowed: Bools) -> None:
        equations = csr_array(problem.table.equations)
        self.problem = problem
        self.count = equations.shape[0]
        self.first = equations.indptr.astype(np.int64)
        self.row = np.repeat(np.arange(self.count), np.diff(self.first))
        self.cell: Ints = equations.indices.astype(np.int64)
        self.coefficient: Floats = equations.data.astype(np.float64)
        self.bound = problem.must_hide[self.cell]
        self.free = allowed[self.cell] & ~self.bound

    # ------------------------------------------------------------------ what cells ask and carry

    def rooms(self, attacker: int) -> tuple[Floats, Floats]:
        """By entry, how far t may go down and up."""
        low, high = self.problem.box(attacker)
        a, sign = self.problem.table.values, self.coefficient
        below = np.maximum(a - low, 0.0)[self.cell] * np.abs(sign)
        above = np.maximum(high - a, 0.0)[self.cell] * np.abs(sign)
        return np.where(sign > 0, below, above), np.where(sign > 0, above, below)

    def questions(self, attacker: int) -> Iterator[Question]:
        """The levels that make a cell go up, go down, or slide."""
        lower, upper, sliding = levels_of(self.problem, attacker)[:, self.cell] * np.abs(self.coefficient)
        positive = self.coefficient > 0
        down, up = self.rooms(attacker)
        yield Question(np.where(positive, upper, lower), down)
        yield Question(np.where(positive, lower, upper), up)
        if sliding.any():
            yield Question(sliding, down + up)

    # ------------------------------------------------------------------ rows

    def volume_cuts(self, *, truncated: bool = True, classic: bool = False) -> list[Cut]:
        """The volume rows of every line, of all attackers.

        Not `truncated`, coefficients are those of Carvalho & Almeida (2000): the whole room of a cell, and of a cell
        without limit its value. `classic` keeps to what that paper has rows for: the outsider, and no line whose total
        is sensitive beside other sensitive cells.
        """
        skipped = self._sensitive_totals_in_company() if classic else np.zeros(self.count, dtype=bool)
        found: dict[tuple[bytes, bytes, float], Cut] = {}
        for attacker in range(1 if classic else len(self.problem.attacker_names)):
            lines = ~skipped & self._known_to(attacker)
            for question in self.questions(attacker):
                for row in self._rows(question, lines, truncated, "volume"):
                    found.setdefault(row.key, row)
        return list(found.values())

    def _known_to(self, attacker: int) -> Bools:
        """The lines in which an attacker's row can differ from the outsider's."""
        if attacker == 0:
            return np.ones(self.count, dtype=bool)
        lines = np.zeros(self.count, dtype=bool)
        lines[self.row[np.isin(self.cell, self.problem.attackers[attacker - 1].cells)]] = True
        return lines

    def _rows(self, question: Question, lines: Bools, truncated: bool, kind: str) -> list[Cut]:
        """The row of the cell that asks most in each of these lines."""
        rest, need = self._rest(question), question.need
        asking = np.flatnonzero((rest > TINY * need) & (need > 0) & lines[self.row])
        order = asking[np.lexsort((rest[asking], self.row[asking]))]
        last = np.ones(order.size, dtype=bool)
        last[:-1] = self.row[order][1:] != self.row[order][:-1]
        rows = [self._row_of(entry, question, truncated, kind) for entry in order[last].tolist()]
        return [row for row in rows if row is not None]

    def _rest(self, question: Question) -> Floats:
        """By entry, what remains of its need when the other cells that must be hidden have carried their share."""
        carried = np.where(self.bound, question.carry, 0.0)
        endless = np.isinf(carried)
        finite = np.where(endless, 0.0, carried)
        whole = np.bincount(self.row, weights=finite, minlength=self.count)
        most = np.bincount(self.row[endless], minlength=self.count)
        rest = question.need - (whole[self.row] - finite)
        return np.where(most[self.row] - endless > 0, 0.0, rest)

    def _row_of(self, entry: int, question: Question, truncated: bool, kind: str) -> Cut | None:
        """The row of one cell; its rest is summed again without the rounding of a difference of large numbers."""
        line = self._entries(entry)
        others = line[line != entry]
        carry, need = question.carry[others], float(question.need[entry])
        rest = need - float(carry[self.bound[others]].sum())
        if not rest > TINY * need:
            return None
        used = self.free[others] & (carry > TINY * rest)
        cells, share = self.cell[others[used]], carry[used] / rest
        if truncated:
            share = np.minimum(share, 1.0)
        else:
            value = np.abs(self.problem.table.values[cells] * self.coefficient[others[used]])
            share = np.where(np.isinf(share), np.maximum(value / rest, 1.0), share)
        return _sorted(cells, share, 1.0, kind)

    def _entries(self, entry: int) -> Ints:
        """All entries of the line of an entry."""
        line = self.row[entry]
        return np.arange(self.first[line], self.first[line + 1])

    def isolated_cuts(self) -> list[Cut]:
        """One row for each line in which one sensitive cell is all that must be hidden."""
        asking = levels_of(self.problem, 0).max(axis=0) > 0
        must = np.bincount(self.row[self.bound], minlength=self.count)
        alone = np.flatnonzero((must[self.row] == 1) & asking[self.cell])
        found = []
        for entry in alone.tolist():
            line = self._entries(entry)
            cells = self.cell[line[self.free[line]]]
            found.append(_sorted(cells, np.ones(cells.size), 1.0, "alone"))
        return found

    # ------------------------------------------------------------------ lines of a total and its parts

    def totals(self) -> tuple[Bools, Bools]:
        """Which lines are a total and its parts that add up to it, and which entries are totals in them.

        The total is the only entry of its sign; in a line of two cells the negative one.
        """
        size = np.diff(self.first)
        plus = np.bincount(self.row[self.coefficient > 0], minlength=self.count)
        odd = np.bincount(self.row[np.abs(self.coefficient) != 1], minlength=self.count)
        sign = np.select(
            [(size > 2) & (plus == 1), (size > 1) & (plus == size - 1)], [1.0, -1.0], default=0.0
        )
        lines = (sign != 0) & (odd == 0) & (self.problem.table.rhs == 0)
        return lines, lines[self.row] & (self.coefficient == sign[self.row])

    def _sensitive_totals_in_company(self) -> Bools:
        _, total = self.totals()
        sensitive = self.problem.sensitive[self.cell]
        many = np.bincount(self.row[sensitive], minlength=self.count) > 1
        return many & (np.bincount(self.row[total & sensitive], minlength=self.count) > 0)

    def castro_cuts(self, *, truncated: bool = True) -> tuple[list[Cut], Ints, Ints]:
        """Castro's rows, the sensitive cells for which one holds, and those for which one does not and is left out.

        sum_i a_i x_i >= a_p + u_p over a total and its parts, none negative. It holds for a part if u_p <= a_p: then
        the total counts enough. A total goes up with any one of its parts, but down by l_p only as far as they go:
        its row holds if u_p <= l_p as well.
        """
        lines, total = self.totals()
        lower, upper, _ = levels_of(self.problem, 0)[:, self.cell]
        value = self.problem.table.values[self.cell]
        asking = (upper > 0) & lines[self.row]
        holds = asking & (upper <= value) & (~total | (upper <= lower))
        question = Question(np.where(holds, upper, 0.0), np.where(total, np.inf, value))
        rows = self._rows(question, lines, truncated, "castro")
        return rows, np.unique(self.cell[holds]), np.unique(self.cell[asking & ~holds])


class OneWayCuts:
    """The one-way rows that a point misses, the worst of each line and direction.

    Not `truncated`, a helping cell counts by its room, in units of the smallest one of its line: (e) of Carvalho &
    Almeida (2000).
    """

    def __init__(self, lines: EquationCuts, *, truncated: bool = True) -> None:
        self._sides = [_Side(lines, room, truncated) for room in lines.rooms(0)]

    def separate(self, x: Floats) -> list[Cut]:
        """Rows that x misses."""
        return [row for side in self._sides for row in side.separate(x)]


class _Side:
    """One direction: in each line the cells that are stuck that way, and those that can help them."""

    def __init__(self, lines: EquationCuts, room: Floats, truncated: bool) -> None:
        helped = np.bincount(lines.row[lines.bound & (room > 0)], minlength=lines.count) > 0
        usable = lines.free & ~helped[lines.row]
        stuck = usable & (room == 0)
        busy = np.bincount(lines.row[stuck], minlength=lines.count) > 0
        self.count = lines.count
        self.stuck_row, self.stuck_cell = lines.row[stuck], lines.cell[stuck]
        helping = usable & (room > 0) & busy[lines.row]
        self.help_row, self.help_cell = lines.row[helping], lines.cell[helping]
        self.help: Floats = np.ones(self.help_row.size)
        if not truncated:
            smallest = np.full(lines.count, np.inf)
            np.minimum.at(smallest, self.help_row, room[helping])
            value = np.abs(lines.problem.table.values[self.help_cell] * lines.coefficient[helping])
            size = np.where(np.isinf(room[helping]), value, room[helping])
            self.help = np.maximum(size / smallest[self.help_row], 1.0)

    def separate(self, x: Floats) -> list[Cut]:
        if self.stuck_row.size == 0:
            return []
        helping = self.help * x[self.help_cell]
        help_there = np.bincount(self.help_row, weights=helping, minlength=self.count)
        missing = x[self.stuck_cell] - help_there[self.stuck_row]
        order = np.lexsort((missing, self.stuck_row))
        last = np.ones(order.size, dtype=bool)
        last[:-1] = self.stuck_row[order][1:] != self.stuck_row[order][:-1]
        found = []
        for at in order[last & (missing[order] > LEAST)].tolist():
            start, stop = np.searchsorted(self.help_row, self.stuck_row[at] + np.array([0, 1]))
            cells = np.append(self.help_cell[start:stop], self.stuck_cell[at])
            coefficients = np.append(self.help[start:stop], -1.0)
            found.append(_sorted(cells, coefficients, 0.0, "one way"))
        return found


def fixing_cuts(rows: Sequence[Cut]) -> list[Cut]:
    """One row for each cell without which some row cannot be met: it is hidden in every safe pattern."""
    found = [np.zeros(0, dtype=np.int64)]
    for row in rows:
        short = row.coefficients.sum() - row.coefficients < row.rhs * (1 - TINY)
        found.append(row.cells[short])
    return [_sorted(cell, np.ones(1), 1.0, "fixed") for cell in np.unique(np.concatenate(found))[:, None]]


def levels_of(problem: Problem, attacker: int) -> Floats:
    """Lower, upper and sliding levels of sensitive cells as the audit requires them."""
    cells = np.flatnonzero(problem.sensitive)
    levels: Floats = np.zeros((3, problem.sensitive.size))
    levels[:, cells] = problem.required(attacker, cells)
    return levels


def _sorted(cells: Ints, coefficients: Floats, rhs: float, kind: str) -> Cut:
    order = np.argsort(cells)
    return Cut(cells[order], coefficients[order], rhs, kind)
