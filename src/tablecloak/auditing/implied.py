"""Requirements that follow from others in every pattern: a proven reduction in the place of K5.

Theorem. Let D be the set of all deviations of an attacker when everything that may be hidden is hidden, and let every d
in D with d_q >= U_q have d_p >= U_p. Then a pattern that meets the upper level U_q of q meets the upper level U_p of p.

Proof. The deviations that a pattern leaves are a subset of D. If it meets U_q, one of them has d_q >= U_q, so it has
d_p >= U_p.   (The same holds for lower levels, d <= -L, and from one side to the other.)

Corollary, by a single equation  sum_i m_i d_i = 0  over the cells i that may be hidden. With the sense s of p (1 for an
upper level, -1 for a lower one), the sense of q that is opposite in the equation, and e_i the furthest that
s sign(m_p) m_i d_i can rise above zero within the box:

    the level of p follows from that of q  if   |m_q| level_q - sum_(i other than p, q) e_i  >=  |m_p| level_p.

Sliding levels likewise, with e_i the whole extent of m_i d_i. Levels that follow from each other, and chains of them,
keep one. The condition is what the p% rule gives for a total whose two largest contributors are those of one of its
parts: its upper level is that of the part less the other parts. And it holds for equal cells (a total of one part).

In data units, in which levels and bounds are integers: sums are exact, or rounded against dropping anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import MACHINE_EPSILON, tolerances
from tablecloak.model import Problem, Requirement, Side, whole_units

_GROUPS = 3
"""Kinds of requirement in an equation: its term must rise, must fall, must have a width."""


def implied_requirements(
    problem: Problem, requirements: Sequence[Requirement], allowed: Bools
) -> dict[Requirement, Requirement]:
    """Requirements that follow from others that are kept, each with the one that it follows from.

    `allowed` are the cells that may be hidden. Conditional levels must not be among the requirements: they hold only
    for patterns that touch their cell.
    """
    found: dict[Requirement, Requirement] = {}
    entries = coo_array(problem.table.equations[:, np.flatnonzero(allowed)])
    cells, rows = np.flatnonzero(allowed)[entries.coords[1]], entries.coords[0].astype(np.int64)
    for attacker in sorted({requirement.attacker for requirement in requirements}):
        own = [requirement for requirement in requirements if requirement.attacker == attacker]
        value, (low, high) = problem.table.units.astype(np.float64), problem.box_units(attacker)
        terms = _Terms.of(
            rows, cells, entries.data, entries.shape[0], ((value - low)[cells], (high - value)[cells])
        )
        for one, other in enumerate(_kept_root(_best(problem, own, terms))):
            if other != one:
                found[own[one]] = own[other]
    return found


class _Terms(NamedTuple):
    """The terms m_i d_i of all equations, entry by entry, and by group how far they can go against a requirement."""

    row: Ints
    cell: Ints
    factor: Floats
    extent: Floats
    """By group and entry: how far the term can rise (for requirements that it rises), fall, or both; 0 if endless."""
    endless: Bools
    total: Floats
    """By group and equation: the sum of `extent`."""
    endless_terms: Ints
    """By group and equation: the number of endless terms."""
    doubt: Floats
    """By equation: share of its sums by which they may be off; zero if they are exact."""

    @classmethod
    def of(cls, row: Ints, cell: Ints, factor: Floats, count: int, bounds: tuple[Floats, Floats]) -> _Terms:
        """The terms of some entries whose cells have these deviation bounds, down and up."""
        size, positive = np.abs(factor), factor > 0
        down, up = bounds
        rises, falls = size * np.where(positive, up, down), size * np.where(positive, down, up)
        extent = np.stack([rises, falls, rises + falls])
        endless = np.isinf(extent)
        extent[endless] = 0.0
        total = np.stack([np.bincount(row, one, count) for one in extent])
        many = np.stack([np.bincount(row, one, count) for one in endless.astype(float)]).astype(np.int64)
        whole = np.bincount(row, factor != np.round(factor), count) == 0
        exact = whole & (total[2] < tolerances.EXACT_FLOAT / 4)
        doubt = np.where(exact, 0.0, MACHINE_EPSILON * (np.bincount(row, minlength=count) + 4.0))
        return cls(row, cell, factor, extent, endless, total, many, doubt)


def _best(problem: Problem, requirements: Sequence[Requirement], terms: _Terms) -> Ints:
    """For each requirement the number of one that it follows from, its own number if there is none."""
    count = len(requirements)
    following = np.arange(count)
    level = whole_units(np.array([one.level for one in requirements]), problem.table.unit)
    sense = np.array([{Side.UP: 1, Side.DOWN: -1, Side.SLIDE: 0}[one.side] for one in requirements])
    cell = np.array([one.cell for one in requirements], dtype=np.int64)
    number, entry = _joined(cell, terms.cell)
    if number.size == 0:
        return following
    group = np.select(
        [sense[number] == 0, sense[number] * np.sign(terms.factor[entry]) > 0], [2, 0], default=1
    )
    row, size = terms.row[entry], np.abs(terms.factor[entry]) * level[number]
    against = np.array([1, 0, 2])[group]
    """The group of the requirement that a term is held against: where p rises, q falls, and the others may rise."""
    score, infinite = size + terms.extent[against, entry], terms.endless[against, entry]
    order = np.lexsort((number, -score, infinite, row * _GROUPS + group))
    key = ((row * _GROUPS + group) * 2 + infinite)[order]
    keys, first = np.unique(key, return_index=True)
    rest = terms.total[group, row] - terms.extent[group, entry]
    others = terms.endless_terms[group, row] - terms.endless[group, entry]
    wanted = (row * _GROUPS + against) * 2 + (others == 1)
    at = np.searchsorted(keys, wanted)
    there = (others <= 1) & (at < keys.size)
    there[there] = keys[at[there]] == wanted[there]
    margin = np.full(number.size, -np.inf)
    choice = np.zeros(number.size, dtype=np.int64)
    for step in (0, 1):  # the best candidate, or the second best if that is a level of the cell itself
        place = np.minimum(first[np.minimum(at, keys.size - 1)] + step, order.size - 1)
        candidate = order[place]
        usable = there & (key[place] == wanted) & (cell[number[candidate]] != cell[number])
        slack = score[candidate] - rest - size
        slack = slack - terms.doubt[row] * (terms.total[2, row] + score[candidate] + size)
        better = usable & (slack >= 0) & (slack > margin)
        margin[better], choice[better] = slack[better], number[candidate[better]]
    for at_entry in np.flatnonzero(margin >= 0)[np.argsort(margin[margin >= 0], kind="stable")]:
        following[number[at_entry]] = choice[at_entry]
    return following


def _joined(cell: Ints, entry_cell: Ints) -> tuple[Ints, Ints]:
    """Every requirement with every entry of its cell: (requirement, entry)."""
    order = np.argsort(entry_cell, kind="stable")
    start, stop = (np.searchsorted(entry_cell[order], cell, side=side) for side in ("left", "right"))
    number = np.repeat(np.arange(cell.size), stop - start)
    within = np.arange(number.size) - np.repeat(np.cumsum(stop - start) - (stop - start), stop - start)
    return number, order[np.repeat(start, stop - start) + within]


def _kept_root(following: Ints) -> list[int]:
    """Where each chain of implications ends; of requirements that follow from each other the first one is kept."""
    root = [-1] * following.size
    for start in range(following.size):
        path, at = [], start
        while root[at] < 0 and at not in path:
            path.append(at)
            at = int(following[at])
        end = root[at] if root[at] >= 0 else min(path[path.index(at) :])
        for one in path:
            root[one] = end
    return root
