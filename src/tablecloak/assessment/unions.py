"""Unions: sensitive cells that protect each other but belong to the same enterprise.

Two hidden cells of one row protect each other against an outsider. Their sum is as good as
published, and where one enterprise dominates both it dominates the sum too: it is disclosed although no cell is.

For each equation "total = parts" two kinds of unions of sensitive parts are looked at: all of them, and for each
unit those in which it is the largest. Contributions of the same unit are added up, and the dominance and p% rules
are applied to the union. What they catch becomes a *virtual* cell of the table: sensitive, with a level of its own
and one more equation, "parts - union = 0", so that methods and audit treat it as any other cell. No publication
shows it.

Only units among the largest of some cell are known one by one. What an unknown unit could have is bounded by the
smallest known contributions of the parts and by what the known units leave of the total; a union is caught if it
could be, so that nothing is missed.

Known as sensitive aggregates (G-Confid) and as unions of cells: Robertson (1993), quoted by Salazar (2002),
section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array, eye_array, hstack, vstack

from tablecloak.arrays import Bools, Codes, Floats, Ints, floats, frozen, frozen_matrix
from tablecloak.assessment.concentration import contributions_at
from tablecloak.assessment.rules import Dominance, PPercent, PriorPosterior, Rule
from tablecloak.errors import InputError
from tablecloak.model import NO_UNIT, Contributions, Dimension, Emptiness, Hierarchy, Table, tolerances

Group = tuple[int, ...]
Concentration = Dominance | PPercent | PriorPosterior


@dataclass(frozen=True, eq=False)
class Unions:
    """A table with virtual cells at its end, and (unions, cells) which of its cells make up each. Confidential."""

    table: Table
    members: csr_array


def unite(table: Table, sensitive: Bools, rules: Sequence[Rule], most: int | None = None) -> Unions:
    """The table with a virtual cell for each union of sensitive cells that the rules catch.

    `rules` other than dominance and p% are ignored. `most`: maximum number of cells of a union.
    """
    about = [rule for rule in rules if isinstance(rule, Concentration)]
    levels = _levels(table, about)
    groups = _groups(table, sensitive, levels, most)
    candidates = _extended(table, groups)
    caught = np.zeros(len(groups), dtype=bool)
    for rule in about if groups else ():
        caught |= rule.caught(candidates.table).mask[len(table) :]
    return _extended(table, [groups[i] for i in np.flatnonzero(caught)])


def _levels(table: Table, rules: Iterable[Concentration]) -> list[Contributions]:
    """The contributions that the rules look at."""
    wanted = {rule.level: rule.name for rule in rules}
    levels = [contributions_at(table, level, name) for level, name in wanted.items()]
    faults = [f"the {units.level} are not known one by one" for units in levels if not units.knows_units]
    if faults:
        advice = "Unions need microdata: contributions of the same unit are added up over cells."
        raise InputError("Unions", faults, advice=advice)
    if not wanted:
        raise InputError("Unions", ["there is no dominance or p% rule to apply to them"])
    return levels


# ---------------------------------------------------------------------- which cells to unite


def _groups(table: Table, sensitive: Bools, levels: Sequence[Contributions], most: int | None) -> list[Group]:
    """Sets of sensitive parts of one equation, each once, none of them a cell of the table by itself."""
    row, cell = _parts(table)
    empty = (table.values == 0) & (levels[0].count == 0)
    row, cell = row[~empty[cell]], cell[~empty[cell]]
    existing = set(_split(row, cell))
    row, cell = row[sensitive[cell]], cell[sensitive[cell]]
    found: dict[Group, None] = dict.fromkeys(_split(row, cell))
    for units in levels:
        largest = units.top_unit[cell, 0]
        known = largest != NO_UNIT
        key = row * (units.units.size + 1) + largest
        found |= dict.fromkeys(_split(key[known], cell[known]))
    longest = len(table) if most is None else most
    return [group for group in found if 2 <= len(group) <= longest and group not in existing]


def _parts(table: Table) -> tuple[Ints, Ints]:
    """(equation, cell) of all parts, in equations that say "the sum of the parts is the total"."""
    matrix = coo_array(table.equations)
    row, cell, sign = matrix.row.astype(np.int64), matrix.col.astype(np.int64), np.sign(matrix.data)
    plus = np.bincount(row[sign > 0], minlength=matrix.shape[0])
    minus = np.bincount(row[sign < 0], minlength=matrix.shape[0])
    total_sign = np.where(minus == 1, -1.0, np.where(plus == 1, 1.0, 0.0))
    size = np.abs(matrix.data)
    odd = np.bincount(row[size != 1], minlength=matrix.shape[0]) > 0
    plain = (total_sign != 0) & (plus + minus > 2) & (table.rhs == 0) & ~odd
    part = plain[row] & (sign != total_sign[row])
    return row[part], cell[part]


def _split(key: Ints, cell: Ints) -> Iterator[Group]:
    """The cells of each key, in order."""
    if not key.size:
        return
    order = np.lexsort((cell, key))
    starts = np.flatnonzero(np.diff(key[order])) + 1
    for group in np.split(cell[order], starts):
        yield tuple(group.tolist())


# ---------------------------------------------------------------------- the table with virtual cells


def _extended(table: Table, groups: Sequence[Group]) -> Unions:
    """The table with a virtual cell for each group of cells."""
    count = len(groups)
    union = np.repeat(np.arange(count), [len(group) for group in groups])
    cell = np.array([cell for group in groups for cell in group], dtype=np.int64)
    members = csr_array((np.ones(cell.size), (union, cell)), shape=(count, len(table)))
    if not count:
        return Unions(table, members)
    above = hstack([table.equations, csr_array((table.equations.shape[0], count))])
    below = hstack([members, -eye_array(count)])
    dimensions, codes = _named(table, groups)
    zeros = np.zeros(count)
    extended = replace(
        table,
        dimensions=dimensions,
        codes=frozen(codes),
        units=frozen(np.concatenate([table.units, members.astype(np.int64) @ table.units])),
        equations=frozen_matrix(vstack([above, below])),
        rhs=floats(np.concatenate([table.rhs, zeros])),
        columns={name: floats(np.concatenate([column, zeros])) for name, column in table.columns.items()},
        respondents=_with_unions(table.respondents, members),
        holdings=_with_unions(table.holdings, members),
        virtual=table.virtual + count,
        cell_decimals=_decimals(table, groups),
        emptiness=Emptiness.of(table).extended(count),
    )
    return Unions(extended, members)


def _decimals(table: Table, groups: Sequence[Group]) -> NDArray[np.int8] | None:
    """The decimals of all cells; a union has those of its finest part."""
    own = table.cell_decimals
    if own is None:
        return None
    unions = np.array([own[list(group)].max() for group in groups], dtype=np.int8)
    return frozen(np.concatenate([own, unions]))


def _named(table: Table, groups: Sequence[Group]) -> tuple[tuple[Dimension, ...], Codes]:
    """Dimensions with codes for the unions, and the codes of all cells.

    Each union has a new code in the first dimension in which its parts differ: an aggregate of their codes.
    """
    dimensions, rows = list(table.dimensions), []
    names: list[dict[tuple[str, ...], str]] = [{} for _ in dimensions]
    places: list[dict[tuple[str, ...], int]] = [{} for _ in dimensions]
    for group in groups:
        codes = table.codes[list(group)]
        d = int(np.flatnonzero((codes != codes[0]).any(axis=0))[0])
        parts = tuple(dict.fromkeys(table.dimensions[d].codes[code] for code in codes[:, d].tolist()))
        if parts not in names[d]:
            places[d][parts] = len(table.dimensions[d].codes) + len(names[d])
            names[d][parts] = _name(table.dimensions[d], parts, names[d].values())
        row = codes[0].copy()
        row[d] = places[d][parts]
        rows.append(row)
    for d, new in enumerate(names):
        old = dimensions[d]
        trees = [Hierarchy.flat(parts, name) for parts, name in new.items()] if old.hierarchies else []
        dimensions[d] = Dimension(old.name, (*old.codes, *new.values()), (*old.hierarchies, *trees))
    return tuple(dimensions), np.concatenate([table.codes, np.array(rows, dtype=np.int32)])


def _name(dimension: Dimension, parts: Sequence[str], taken: Iterable[str], shown: int = 4) -> str:
    """``r1 + r2``, or for many codes ``r1 + r2 + r3 + ... (9 codes)``; numbered where that is taken."""
    name = " + ".join(parts[:shown])
    name += f" + ... ({len(parts)} codes)" if len(parts) > shown else ""
    used, number, first = {*dimension.codes, *taken}, 1, name
    while name in used:
        number += 1
        name = f"{first} ({number})"
    return name


# ---------------------------------------------------------------------- contributors of a union


def _with_unions(units: Contributions | None, members: csr_array) -> Contributions | None:
    """The contributions of the table with those of the unions at the end."""
    if units is None:
        return None
    both = {
        name: np.concatenate([getattr(units, name), new]) for name, new in _united(units, members).items()
    }
    grown: dict[str, Any] = {
        name: frozen_matrix(hstack([getattr(units, name), getattr(units, name) @ members.T]))
        for name in ("shares", "shadow_shares")
    }
    arrays: dict[str, Any] = {name: frozen(array) for name, array in both.items()}
    return replace(units, **arrays, **grown)


def _united(units: Contributions, members: csr_array) -> dict[str, Any]:
    """The figures of the unions, by the names of `Contributions`; see the top of this file on unknown units."""
    entries = coo_array(csc_array(units.shadow_shares @ members.T))
    unit, union, count = entries.row.astype(np.int64), entries.col.astype(np.int64), members.shape[0]
    weight, unwaived = units.unit_weight[unit], ~units.unit_waived[unit]
    inside = coo_array(units.shadow_shares)

    def together(figure: Floats | Ints, of_unit: Floats) -> Floats:
        """A figure that counts units: each known unit once, and all others of the parts."""
        others = figure - np.bincount(inside.col, weights=of_unit[inside.row], minlength=len(units))
        known = np.bincount(union, weights=of_unit[unit], minlength=count)
        return np.asarray(known + members @ np.maximum(others, 0.0))

    counts = np.rint(together(units.count, np.ones(units.units.size))).astype(np.int64)
    free = np.rint(together(units.unwaived, (~units.unit_waived).astype(np.float64))).astype(np.int64)
    total = np.asarray(members @ units.total)
    known = floats(np.bincount(union, weights=weight * entries.data, minlength=count))
    unknown = _unknown(units, members, total, known)
    top, of_top = _largest(entries.data, unit, union, count, units.depth)
    top_weight = np.where(of_top >= 0, np.append(units.unit_weight, 0.0)[of_top], 0.0)
    top, top_weight, of_top = _merged(
        (top, top_weight, of_top), (unknown, (unknown > 0) * 1.0, np.full(unknown.shape, NO_UNIT))
    )
    target, of_target = _largest(entries.data[unwaived], unit[unwaived], union[unwaived], count, 1)
    hope = unknown[:, :1]
    target, of_target = _merged((target, of_target), (hope, np.full(hope.shape, NO_UNIT)))
    return {
        "count": counts,
        "weight": together(units.weight, units.unit_weight),
        "total": total,
        "top": top,
        "top_weight": top_weight,
        "top_unit": of_top,
        "unwaived": free,
        "largest_unwaived": target[:, 0],
        "largest_unwaived_unit": of_target[:, 0],
        "requesters": np.rint(members @ units.requesters).astype(np.int64),
        "requested": np.asarray(members @ units.requested),
    }


def _largest(values: Floats, unit: Ints, union: Ints, count: int, depth: int) -> tuple[Floats, Ints]:
    """(unions, depth): the largest contributions of known units, and the numbers of these units."""
    order = np.lexsort((unit, -np.abs(values), union))
    union = union[order]
    rank = np.arange(union.size) - np.searchsorted(union, union)
    kept = np.flatnonzero(rank < depth)
    top, of_top = np.zeros((count, depth)), np.full((count, depth), NO_UNIT)
    top[union[kept], rank[kept]] = values[order][kept]
    of_top[union[kept], rank[kept]] = unit[order][kept]
    return top, of_top


def _unknown(units: Contributions, members: csr_array, total: Floats, known: Floats) -> Floats:
    """(unions, depth): the most that units which are not known one by one could have, largest first.

    None of them has more than the smallest known contributions of the parts together, nor all of them more
    than the known ones leave of the total, provided that nothing is negative.
    """
    deeper = units.count > units.depth
    bound = np.asarray(members @ np.where(deeper, np.abs(units.top[:, -1]), 0.0))[:, None]
    left = total - known
    left = np.where(left > tolerances.SUM_NOISE * np.abs(total), left, 0.0)
    if (units.top < 0).any() or (units.total < 0).any():
        left = np.full(left.shape, np.inf)
    return np.asarray(np.clip(left[:, None] - np.arange(units.depth) * bound, 0.0, bound))


def _merged(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """The largest (by the first array) of two rows of figures, as many as the first row has."""
    width = one[0].shape[1]
    sizes = np.abs(np.concatenate([one[0], other[0]], axis=1))
    order = np.argsort(-sizes, axis=1, kind="stable")[:, :width]
    pairs = zip(one, other, strict=True)
    return tuple(np.take_along_axis(np.concatenate(pair, axis=1), order, axis=1) for pair in pairs)
