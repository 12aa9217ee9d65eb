"""Rows of single equations: what each line of a table asks of every safe pattern, whatever the other lines do.

In equation e cell i moves by t_i = m_ei d_i, at most `down` one way and `up` the other (from an attacker's box). Since
the moves of a line cancel, a level L of cell p in one direction asks of the other hidden cells (*volume*)

    sum_{i != p} c_i x_i >= |m_ep| L,      c_i = down_i where t_p goes up, up_i where it goes down, both added for sliding.

With r = |m_ep| L - (what cells hidden anyway carry) this is  sum_free min(c_i, r) x_i >= r; of all cells of a line only
the one with the largest r counts. In a table without negative cells the parts of a line carry c_i = a_i and its total
carries any amount: these are (5) and (6) of Carvalho & Almeida (2008), with the coefficient r (not min(a, r)) of the total.

*Alone*: a line in which one sensitive cell is all that must be hidden hides another one,  sum_free x_i >= 1  (their (1)).

*One way*: if no hidden cell of a line can go down, none can go up, all are determined and should be published:

    x_s <= sum_{i: down_i > 0} x_i     where down_s = 0, and likewise for up.

With zeros in a line of positive total this is (8), in a line of total zero (9) and (10). Like the rows of `patterns`,
(4) and (7), these hold for some optimal pattern, not for all safe ones (weights are not negative).

References: Kelly, Golden & Assad (1992); Carvalho & Almeida (2000, 2008); Castro (2007) for `castro_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.rows import TINY, Row
from tablecloak.problem import Problem

LEAST = 1e-3
"""A one-way row is worth adding if it is missed by more than this."""


@dataclass(frozen=True, eq=False)
class Question:
    """By entry: what each cell asks of the others in its line, and what it can carry for them."""

    need: Floats
    carry: Floats


class Lines:
    """The equations of a problem over the cells that may be hidden. `row` and `cell` name each entry."""

    def __init__(self, problem: Problem, allowed: Bools) -> None:
        equations = csr_array(problem.table.equations)
        self.problem, self.allowed, self.hidden = problem, allowed, problem.must_hide
        self.count = equations.shape[0]
        self.first = equations.indptr.astype(np.int64)
        self.row = np.repeat(np.arange(self.count), np.diff(self.first))
        self.cell: Ints = equations.indices.astype(np.int64)
        self.coefficient: Floats = equations.data.astype(np.float64)
        self.free = (allowed & ~self.hidden)[self.cell]
        self.bound = self.hidden[self.cell]

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
        asked = np.flatnonzero(self.problem.sensitive)
        levels = np.zeros((3, self.problem.sensitive.size))
        levels[:, asked] = self.problem.required(attacker, asked)
        lower, upper, sliding = levels[:, self.cell] * np.abs(self.coefficient)
        positive = self.coefficient > 0
        down, up = self.rooms(attacker)
        yield Question(np.where(positive, upper, lower), down)
        yield Question(np.where(positive, lower, upper), up)
        if sliding.any():
            yield Question(sliding, down + up)

    def _rest(self, question: Question) -> Floats:
        """By entry, what remains of its need when the other cells that must be hidden have carried their share."""
        carried = np.where(self.bound, question.carry, 0.0)
        endless = np.isinf(carried)
        finite = np.where(endless, 0.0, carried)
        whole = np.bincount(self.row, weights=finite, minlength=self.count)
        most = np.bincount(self.row[endless], minlength=self.count)
        rest = question.need - (whole[self.row] - finite)
        return np.where(most[self.row] - endless > 0, 0.0, rest)

    # ------------------------------------------------------------------ rows

    def volume_rows(self, *, truncated: bool = True, classic: bool = False) -> list[Row]:
        """The volume rows of every line, of all attackers.

        Not `truncated`, coefficients are those of Carvalho & Almeida (2000): the whole room of a cell, and of a cell
        without limit its value. `classic` keeps to what that paper has rows for: the outsider, and no line whose total
        is sensitive beside other sensitive cells.
        """
        skipped = self._sensitive_totals_in_company() if classic else np.zeros(self.count, dtype=bool)
        found: dict[tuple[bytes, bytes, float], Row] = {}
        for attacker in range(1 if classic else len(self.problem.attacker_names)):
            lines = ~skipped & self._known_to(attacker)
            for question in self.questions(attacker):
                for entry in self._largest(self._rest(question), question.need, lines).tolist():
                    row = self._volume_row(entry, question, truncated)
                    if row is not None:
                        found.setdefault(row.key, row)
        return list(found.values())

    def _known_to(self, attacker: int) -> Bools:
        """The lines in which an attacker's row can differ from the outsider's."""
        lines = np.ones(self.count, dtype=bool)
        if attacker > 0:
            lines[:] = False
            lines[self.row[np.isin(self.cell, self.problem.attackers[attacker - 1].cells)]] = True
        return lines

    def _largest(self, rest: Floats, need: Floats, lines: Bools) -> Ints:
        """The entry with the largest rest in each of the lines that ask something."""
        asking = np.flatnonzero((rest > TINY * need) & (need > 0) & lines[self.row])
        order = asking[np.lexsort((rest[asking], self.row[asking]))]
        last = np.ones(order.size, dtype=bool)
        last[:-1] = self.row[order][1:] != self.row[order][:-1]
        return order[last]

    def _volume_row(self, entry: int, question: Question, truncated: bool) -> Row | None:
        line = self._entries(entry)
        others = line[line != entry]
        carry = question.carry[others]
        need = float(question.need[entry])
        rest = need - float(carry[self.bound[others]].sum())
        if not rest > TINY * need:
            return None
        used = self.free[others] & (carry > TINY * rest)
        cells, share = self.cell[others[used]], carry[used] / rest
        if not truncated:
            a = np.abs(self.problem.table.values[cells] * self.coefficient[others[used]])
            share = np.where(np.isinf(share), np.maximum(a / rest, 1.0), share)
        return _sorted(cells, np.minimum(share, 1.0) if truncated else share, 1.0, "volume")

    def _entries(self, entry: int) -> Ints:
        """All entries of the line of an entry."""
        line = self.row[entry]
        return np.arange(self.first[line], self.first[line + 1])

    def alone_rows(self) -> list[Row]:
        """One row for each line in which one sensitive cell is all that must be hidden."""
        asked = np.flatnonzero(self.problem.sensitive)
        matters = np.zeros(self.hidden.size, dtype=bool)
        matters[asked] = sum(self.problem.required(0, asked)) > 0
        must = np.bincount(self.row[self.bound], minlength=self.count)
        alone = np.flatnonzero((must[self.row] == 1) & matters[self.cell])
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
        sign = np.select([(size > 2) & (plus == 1), (size > 1) & (plus == size - 1)], [1.0, -1.0], default=0.0)
        lines = (sign != 0) & (odd == 0) & (self.problem.table.rhs == 0)
        return lines, lines[self.row] & (self.coefficient == sign[self.row])

    def _sensitive_totals_in_company(self) -> Bools:
        _, total = self.totals()
        sensitive = self.problem.sensitive[self.cell]
        many = np.bincount(self.row[sensitive], minlength=self.count) > 1
        return many & (np.bincount(self.row[total & sensitive], minlength=self.count) > 0)

    def castro_rows(self, *, truncated: bool = True) -> tuple[list[Row], int]:
        """Castro's rows where they hold, and how many sensitive cells they had to leave out.

        sum_i a_i x_i >= max_p (a_p + u_p) over a line. This holds for a part if u_p <= a_p and for a total if u_p <= a_p
        and u_p <= l_p: a total can only go down as far as its parts, but goes up with any one of them.
        """
        value = self.problem.table.values
        lines, total = self.totals()
        low, _ = self.problem.box(0)
        fine = np.bincount(self.row[(value < 0)[self.cell] | (low < 0)[self.cell]], minlength=self.count) == 0
        asked = np.flatnonzero(self.problem.sensitive)
        levels = np.zeros((3, value.size))
        levels[:, asked] = self.problem.required(0, asked)
        lower, upper = levels[0][self.cell], levels[1][self.cell]
        a = value[self.cell]
        present = (upper > 0) & (lines & fine)[self.row]
        holds = present & (upper <= a) & (~total | (upper <= lower))
        question = Question(np.where(holds, upper, 0.0), a)
        entries = self._largest(self._rest(question), question.need, lines & fine)
        rows = [self._castro_row(entry, question, total, truncated) for entry in entries.tolist()]
        left_out = np.unique(self.cell[self.problem.sensitive[self.cell] & ~holds]).size
        return [row for row in rows if row is not None], left_out

    def _castro_row(self, entry: int, question: Question, total: Bools, truncated: bool) -> Row | None:
        line = self._entries(entry)
        others = line[line != entry]
        need = float(question.need[entry])
        rest = need - float(question.carry[others[self.bound[others]]].sum())
        if not rest > TINY * need:
            return None
        used = others[self.free[others] & (question.carry[others] > 0)]
        share = question.carry[used] / rest
        share = np.where(total[used], np.maximum(share, 1.0), share)
        return _sorted(self.cell[used], np.minimum(share, 1.0) if truncated else share, 1.0, "castro")


class OneWayRows:
    """The one-way rows that a point misses, the worst of each line and direction."""

    def __init__(self, lines: Lines) -> None:
        self._sides = [_Side(lines, room) for room in lines.rooms(0)]

    def rows(self, x: Floats) -> list[Row]:
        """Rows that x misses."""
        return [row for side in self._sides for row in side.rows(x)]


class _Side:
    """One direction: in each line the cells that are stuck that way, and those that can help them."""

    def __init__(self, lines: Lines, room: Floats) -> None:
        helped = np.bincount(lines.row[lines.bound & (room > 0)], minlength=lines.count) > 0
        usable = lines.free & ~helped[lines.row]
        stuck = usable & (room == 0)
        busy = np.bincount(lines.row[stuck], minlength=lines.count) > 0
        self.count = lines.count
        self.stuck_row, self.stuck_cell = lines.row[stuck], lines.cell[stuck]
        helping = usable & (room > 0) & busy[lines.row]
        self.help_row, self.help_cell = lines.row[helping], lines.cell[helping]

    def rows(self, x: Floats) -> list[Row]:
        if self.stuck_row.size == 0:
            return []
        help_there = np.bincount(self.help_row, weights=x[self.help_cell], minlength=self.count)
        missing = x[self.stuck_cell] - help_there[self.stuck_row]
        order = np.lexsort((missing, self.stuck_row))
        last = np.ones(order.size, dtype=bool)
        last[:-1] = self.stuck_row[order][1:] != self.stuck_row[order][:-1]
        found = []
        for at in order[last & (missing[order] > LEAST)].tolist():
            start, stop = np.searchsorted(self.help_row, self.stuck_row[at] + np.array([0, 1]))
            cells = np.append(self.help_cell[start:stop], self.stuck_cell[at])
            coefficients = np.append(np.ones(cells.size - 1), -1.0)
            found.append(_sorted(cells, coefficients, 0.0, "one way"))
        return found


def fixed_by(rows: list[Row]) -> Ints:
    """Cells without which a row cannot be met: they are hidden in every safe pattern."""
    found = [np.zeros(0, dtype=np.int64)]
    for row in rows:
        if row.coefficients.size and row.coefficients.min() >= 0:
            short = row.coefficients.sum() - row.coefficients < row.rhs * (1 - TINY)
            found.append(row.cells[short])
    return np.unique(np.concatenate(found))


def _sorted(cells: Ints, coefficients: Floats, rhs: float, kind: str) -> Row:
    order = np.argsort(cells)
    return Row(cells[order], coefficients[order], rhs, kind)
