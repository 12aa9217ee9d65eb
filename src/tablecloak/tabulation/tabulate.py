"""tabulate: microdata or ready cells become a `Table`, with the contributors of each cell.

Records are aggregated by DuckDB, out of core: one pass over the data makes any number of linked tables.
Sums are exact: numbers are added up as decimals, in any order to the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, floats, frozen, frozen_matrix
from tablecloak.errors import InputError, check_kind
from tablecloak.frames import collected, frame_kind, make_frame, names_of, scannable
from tablecloak.model import (
    KNOWN,
    MOST_CELLS,
    Contributions,
    Dimension,
    Impossible,
    Table,
    amounts,
    enough_decimals,
    finest_decimals,
    infer_decimals,
    of_kind,
    rebuilt_units,
    summation_equations,
)
from tablecloak.tabulation.cell_data import table_of_cells
from tablecloak.tabulation.duckdb import (
    HOLDINGS,
    MEMORY,
    RESPONDENTS,
    CodeList,
    ContributorSummary,
    Level,
    Loaded,
    Part,
    Reading,
    Shape,
    cell_sums,
    file_parts,
    frame_part,
    leaf_keys,
    load,
    rounded_sums,
    session,
    sum_decimals,
    tally,
)
from tablecloak.tabulation.sources import CellData, Layout, Microdata, is_path, naming
from tablecloak.tabulation.totals import Spread

COUNT = "count"
"""The response of a table without one."""
CONTRIBUTORS = "contributors"


def tabulate(
    source: Any,
    dimensions: Sequence[Dimension],
    response: str | None = None,
    *,
    shadow: str | None = None,
    decimals: int | None = None,
    round: bool = True,
    top: int = 3,
    memory: str = MEMORY,
    counts: bool | None = None,
    empty: str = KNOWN,
    impossible: Impossible = None,
    most_cells: int = MOST_CELLS,
) -> Table:
    """A table of the response over the dimensions, every hierarchical total included.

    `source` is `Microdata`, `CellData`, or bare records: a dataframe, a mapping of columns, a path. Without a
    response, microdata give a table of counts. `decimals` sets the data unit (by default what writes all numbers):
    leaves are rounded to it and totals added up from them, `Table.rounding` is the largest change; `round=False`
    refuses leaves with more decimals instead. `top` is how many of the largest contributions to keep for the rules.
    `memory` is what DuckDB may use before it works on disk, in a private folder that is removed afterwards.

    `counts` says that the values are numbers of units (the default for microdata without a response): every
    attacker then knows that a cell which is there has at least one. With ``empty="cells"`` empty combinations are cells
    of value zero, `most_cells` cells at most, unless they are named `impossible`
    (`tablecloak.model.emptiness.with_empty_cells`). See docs/counts.md.
    """
    layout = Layout(dimensions, response, shadow, decimals, round, counts, empty, impossible, most_cells)
    if isinstance(source, CellData):
        return table_of_cells(source, layout)
    records = source if isinstance(source, Microdata) else Microdata(source)
    return tabulate_linked(records, [layout], top=top, memory=memory)[0]


def tabulate_linked(
    source: Microdata,
    layouts: Mapping[str, Layout] | Sequence[Layout],
    *,
    top: int = 3,
    memory: str = MEMORY,
    threads: int | None = None,
) -> list[Table]:
    """Several tables of the same records, in one pass over the data; link them with `link`."""
    check_kind("Tables", "source", source, Microdata, "Wrap the data: Microdata(data).")
    check_kind("Tables", "layouts", layouts, (Mapping, Sequence), "Give a list of Layout objects.")
    wanted = list(layouts.values() if isinstance(layouts, Mapping) else layouts)
    if not wanted:
        raise InputError("Tables", ["no layout given"])
    for i, layout in enumerate(wanted, 1):
        check_kind("Tables", f"layout number {i}", layout, Layout)
    if not isinstance(top, int | np.integer) or isinstance(top, bool) or top < 1:
        raise InputError("Tables", [f"top must be a whole number, at least 1, got {top!r}"])
    reading, shapes = _reading(source, wanted)
    data = source.data if is_path(source.data) else collected(source.data)
    kind = None if is_path(data) else frame_kind(data)
    with naming(data), session(memory, threads) as connection:
        loaded = load(connection, _parts(connection, data, reading), reading)
        pairs = list(zip(wanted, shapes, strict=True))
        made = [_table(connection, loaded, layout, shape, int(top)) for layout, shape in pairs]
        for i, (layout, shape) in enumerate(_meeting(pairs, made)):
            if shape.meeting:
                made[i] = _table(connection, loaded, layout, shape, int(top))
        return [replace(table, frame_kind=kind) for table in made]


def table_frame(table: Table) -> Any:
    """The cells as a dataframe of the kind the data came as. Confidential: it holds the true values.

    A column of codes for each dimension, the response, and what is known of the contributors.
    """
    columns: dict[str, Any] = {
        dimension.name: np.array(dimension.codes, dtype=object)[table.codes[:, d]]
        for d, dimension in enumerate(table.dimensions)
    }
    further: dict[str, Any] = {table.response: table.values, **table.columns}
    for prefix, level in (("", table.respondents), ("holding_", table.holdings)):
        if level is not None:
            further[f"{prefix}count"] = level.count
            further[f"{prefix}weight"] = level.weight
            further[f"{prefix}shadow"] = level.total
            further |= {f"{prefix}top{k + 1}": level.top[:, k] for k in range(level.depth)}
    for name, column in further.items():
        columns.setdefault(name if name not in columns else f"{name}_value", column)
    return make_frame(columns, table.frame_kind)


# ---------------------------------------------------------------------- what to read


def _reading(source: Microdata, layouts: Sequence[Layout]) -> tuple[Reading, list[Shape]]:
    """All columns that the layouts need, each once, and the layouts in terms of them."""
    lists = dict[tuple[str, tuple[str, ...], bytes], int]()
    code_lists, numbers, shapes = list[CodeList](), dict[str, int](), list[Shape]()
    for layout in layouts:
        positions, spans = list[int](), [len(dimension.codes) for dimension in layout.dimensions]
        for dimension in layout.dimensions:
            key = (dimension.name, dimension.codes, dimension.is_leaf.tobytes())
            if key not in lists:
                lists[key] = len(lists)
                code_lists.append(CodeList(dimension.name, dimension.codes, dimension.is_leaf))
            positions.append(lists[key])
        for name in (layout.response, layout.shadow):
            if name is not None:
                numbers.setdefault(name, len(numbers))
        response = None if layout.response is None else numbers[layout.response]
        shadow = response if layout.shadow is None else numbers[layout.shadow]
        strides = [int(np.prod(spans[d + 1 :], dtype=np.int64)) for d in range(len(spans))]
        shapes.append(Shape(positions, strides, response, shadow))
    reading = Reading(
        code_lists,
        list(numbers),
        source.weight,
        source.respondent,
        source.holding,
        source.waiver,
        source.request,
        (str(source.request_codes[0]), str(source.request_codes[1])),
        None if source.missing is None else str(source.missing),
    )
    return reading, shapes


def _meeting(pairs: Sequence[tuple[Layout, Shape]], made: Sequence[Table]) -> list[tuple[Layout, Shape]]:
    """Shapes with the positions where tables of one response meet, if some were rounded: they must agree there."""
    found = list[tuple[Layout, Shape]]()
    for layout, shape in pairs:
        group = [j for j, (_, each) in enumerate(pairs) if each.response == shape.response]
        if len(group) > 1 and any(made[j].rounding for j in group):
            every = sorted({position for j in group for position in pairs[j][1].positions})
            free = [made[j].decimals for j in group if pairs[j][0].decimals is None]
            shape = replace(shape, meeting=every)
            layout = layout if layout.decimals is not None else replace(layout, decimals=max(free))
        found.append((layout, shape))
    return found


def _parts(connection: Any, data: Any, reading: Reading) -> list[Part]:
    """The data as something to select from."""
    if is_path(data):
        return file_parts(connection, data)
    names = names_of(data)
    needed = list(reading.columns)
    if not set(needed) <= set(names):
        return [Part(tuple(names), (), "")]  # whose lack of columns is a fault
    connection.register("given", scannable(data, needed))
    return [frame_part(needed)]


# ---------------------------------------------------------------------- the table


def _table(connection: Any, loaded: Loaded, layout: Layout, shape: Shape, top: int) -> Table:
    dimensions = tuple(layout.dimensions)
    spread = Spread(dimensions, leaf_keys(connection, shape, loaded))
    cells = spread.keys.size
    values, totals = cell_sums(connection, shape, loaded, spread.passes, cells)
    codes = spread.packing.codes(spread.keys)
    levels = dict[str, Contributions]()
    for name in (RESPONDENTS, HOLDINGS) if loaded.held else (RESPONDENTS,):
        found = tally(connection, Level(name, loaded, shape, top), spread.passes, cells)
        levels[name] = _contributions(name, found, totals)
    equations = frozen_matrix(summation_equations(dimensions, codes).matrix)
    decimals = _decimals(loaded, shape, values, layout.decimals)
    units, change = rebuilt_units(dimensions, codes, values, decimals, exact=not layout.round)
    if shape.meeting and sum_decimals(shape, loaded) > decimals:
        joint = rounded_sums(connection, shape, loaded, spread.passes, cells, decimals)
        units, change = rebuilt_units(dimensions, codes, joint, decimals, exact=True)
        change = float(np.abs(amounts(units, decimals) - values).max())
    table = Table(
        dimensions,
        frozen(codes),
        frozen(units),
        equations,
        floats(0.0, equations.shape[0]),
        decimals,
        {CONTRIBUTORS: floats(levels[RESPONDENTS].count)},
        complete=all(dimension.hierarchies for dimension in dimensions),
        response=layout.response or COUNT,
        respondents=levels[RESPONDENTS],
        holdings=levels.get(HOLDINGS),
        rounding=change,
    )
    table.check_additive()
    counts = layout.response is None if layout.counts is None else layout.counts
    return of_kind(table, layout.empty_cells, counts=counts, weighted=loaded.weighted)


def _decimals(loaded: Loaded, shape: Shape, values: Floats, given: int | None) -> int:
    """Decimals: the given ones, else those of the data, else as many as the values have."""
    if given is not None:
        return int(given)
    column = None if shape.response is None else loaded.scales.columns[shape.response]
    exact = loaded.scales.weight.exact and (column is None or column.exact)
    if exact and not loaded.weighted:
        return 0 if column is None else column.scale
    found, finest = infer_decimals(values), finest_decimals(float(np.abs(values).max(initial=0.0)))
    blurred = not exact and (found >= sum_decimals(shape, loaded) or finest is None or found > finest)
    return enough_decimals(values) if blurred else found


def _contributions(level: str, found: ContributorSummary, totals: Floats) -> Contributions:
    """The contributions at one level, with the shares as matrices of units and cells."""
    shape, at = (found.units.size, found.count.size), (found.share_unit, found.share_cell)
    weights = np.append(found.unit_weight, 0.0)[found.top_unit]  # there is none for NO_UNIT
    return Contributions(
        level,
        frozen(found.count),
        floats(found.weight),
        floats(totals),
        floats(found.top),
        floats(weights),
        frozen(found.top_unit),
        frozen(found.unwaived),
        floats(found.largest_unwaived),
        frozen(found.largest_unwaived_unit),
        frozen(found.requesters),
        floats(found.requested),
        frozen(found.units),
        floats(found.unit_weight),
        frozen(found.unit_waived),
        frozen_matrix(csr_array((found.share, at), shape=shape)),
        frozen_matrix(csr_array((found.shadow_share, at), shape=shape)),
    )
