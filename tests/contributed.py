"""Tables with contributions, made the slow way from explicit records; nothing here is shared with the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from tablecloak.model import NO_UNIT, Contributions, Dimension, Table


@dataclass(frozen=True)
class Record:
    """One record: its leaf codes, what it adds to the response, and who it is of."""

    codes: tuple[str, ...]
    value: float
    unit: str = ""
    holding: str = ""
    weight: float = 1.0
    shadow: float | None = None
    request: int = 0
    waived: bool = False

    @property
    def size(self) -> float:
        return self.value if self.shadow is None else self.shadow


Cells = dict[tuple[str, ...], list[Record]]


def records_by_cell(dimensions: Sequence[Dimension], records: Iterable[Record]) -> Cells:
    """The records of each cell, totals included."""
    cells: Cells = {}
    for record in records:
        above = [_ancestors(d, code) for d, code in zip(dimensions, record.codes, strict=True)]
        for codes in product(*above):
            cells.setdefault(codes, []).append(record)
    return cells


def _ancestors(dimension: Dimension, code: str) -> list[str]:
    found = [code]
    for hierarchy in dimension.hierarchies:
        at = hierarchy.index.get(code, -1)
        while at >= 0 and (at := int(hierarchy.parent[at])) >= 0:
            found.append(hierarchy.codes[at])
    return list(dict.fromkeys(found))


def contributed(
    dimensions: Sequence[Dimension], records: Sequence[Record], *, top: int = 3, decimals: int | None = None
) -> Table:
    """The table of the records with its contributions; holdings are there if some record names one."""
    named = [
        record if record.unit else replace(record, unit=f"u{number}") for number, record in enumerate(records)
    ]
    cells = records_by_cell(dimensions, named)
    leaves = {d.name: [codes[i] for codes in cells] for i, d in enumerate(dimensions)}
    values = [sum(record.weight * record.value for record in some) for some in cells.values()]
    table = Table.from_cells(dimensions, {**leaves, "value": values}, decimals=decimals, recompute=True)
    rows = [
        cells[tuple(d.codes[c] for d, c in zip(dimensions, codes, strict=True))]
        for codes in table.codes.tolist()
    ]
    respondents = _contributions("respondents", rows, top)
    held = None
    if any(record.holding for record in named):
        held = _contributions("holdings", [[_as_holding(record) for record in some] for some in rows], top)
    return replace(table, respondents=respondents, holdings=held)


def _as_holding(record: Record) -> Record:
    scaled = record.weight * record.size
    name = record.holding or record.unit
    return replace(record, unit=name, value=record.weight * record.value, shadow=scaled, weight=1.0)


def units_of(some: Iterable[Record]) -> dict[str, Record]:
    """One record a unit: contributions of the same one added up, in the order of the data."""
    found: dict[str, Record] = {}
    for record in some:
        if record.unit in found:
            old = found[record.unit]
            record = replace(
                old,
                value=old.value + record.value,
                shadow=old.size + record.size,
                request=old.request or record.request,
                waived=old.waived and record.waived,
            )
        found[record.unit] = record
    return found


def _contributions(level: str, rows: Sequence[Sequence[Record]], top: int) -> Contributions:
    count = len(rows)
    by_cell = [units_of(some) for some in rows]
    ranked = [sorted(units.values(), key=lambda r: -abs(r.size)) for units in by_cell]
    names = sorted({record.unit for some in ranked for record in some[:top]})
    number = {name: i for i, name in enumerate(names)}
    sizes, weights = np.zeros((2, count, top))
    who = np.full((count, top), NO_UNIT)
    free = [[record for record in some if not record.waived] for some in ranked]
    for cell, some in enumerate(ranked):
        for place, record in enumerate(some[:top]):
            sizes[cell, place], weights[cell, place] = record.size, record.weight
            who[cell, place] = number[record.unit]
    requested = np.zeros((count, 2))
    for cell, some in enumerate(ranked):
        for record in some:
            if record.request:
                column = record.request - 1
                requested[cell, column] = max(requested[cell, column], abs(record.size))
    shares, shadows = np.zeros((2, len(names), count))
    facts: dict[str, Record] = {}
    for cell, units in enumerate(by_cell):
        for name in set(units) & set(number):
            shares[number[name], cell] = units[name].value
            shadows[number[name], cell] = units[name].size
            facts[name] = units[name]
    return Contributions(
        level,
        np.array([len(some) for some in ranked]),
        np.array([sum(record.weight for record in some) for some in ranked], dtype=float),
        np.array([sum(record.weight * record.size for record in some) for some in ranked], dtype=float),
        sizes,
        weights,
        who,
        np.array([len(some) for some in free]),
        np.array([some[0].size if some else 0.0 for some in free]),
        np.array([number.get(some[0].unit, NO_UNIT) if some else NO_UNIT for some in free]),
        np.array([sum(bool(record.request) for record in some) for some in ranked]),
        requested,
        np.array(names, dtype=np.str_),
        np.array([facts[name].weight for name in names], dtype=float),
        np.array([facts[name].waived for name in names], dtype=bool),
        csr_array(shares),
        csr_array(shadows),
    )


def one_cell(
    contributions: Iterable[float],
    *,
    weights: Sequence[float] | None = None,
    top: int = 3,
    decimals: int | None = None,
    **further: Mapping[int, object],
) -> Table:
    """A table of cell a with these contributions, cell b with many small ones, and their total.

    `further` gives fields of some records by their place: ``waived={0: True}``.
    """
    records = [
        Record(("a",), value, weight=1.0 if weights is None else weights[i])
        for i, value in enumerate(contributions)
    ]
    for name, given in further.items():
        for i, entry in given.items():
            records[i] = replace(records[i], **{name: entry})  # type: ignore[arg-type]
    records += [Record(("b",), 1.0) for _ in range(12)]
    return contributed([Dimension.flat("d", ["a", "b"])], records, top=top, decimals=decimals)
