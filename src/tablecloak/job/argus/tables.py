"""Tables of a τ-ARGUS job, made from its microdata or read from its table files. Confidential."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints, floats, frozen, frozen_matrix
from tablecloak.errors import InputError, counted, near
from tablecloak.formats.argus import (
    BY_FREQUENCY,
    FREQUENCY_ROLE,
    LOWER_LEVEL,
    STATUS_ROLE,
    TOP_ROLE,
    UNITY,
    UPPER_LEVEL,
    ArgusRecode,
    ArgusRecords,
    ArgusVariable,
    ReadData,
    read_records,
    with_missing,
)
from tablecloak.job.argus.plan import TOTAL, DataSource, PlannedTable
from tablecloak.job.argus.recodes import recoded
from tablecloak.model import (
    Contributions,
    Dimension,
    Hierarchy,
    Packing,
    Table,
    ancestors,
    checked_units,
    enough_decimals,
)
from tablecloak.tabulation import Layout, Microdata, tabulate_linked

LEAST_COST = 1e-4
"""The cost of a cell that costs nothing."""
DEEPEST = 2
"""The largest contributors that are known at least: files of type 4 state two."""
GIVEN = {"S": 2, "U": 9, "P": 10, "M": 11, "E": 14}
"""The status of a cell by the letter in a table file."""


@dataclass(frozen=True, eq=False)
class MadeTable:
    """A table with its costs, before rules are applied. Confidential.

    `given_status` has the status of cells in a table file, 1 where there is none; levels are NaN where none are given.
    """

    table: Table
    cost: Floats
    missing: Bools
    """Cells with a missing code."""
    given_status: NDArray[np.int8]
    given_lower: Floats
    given_upper: Floats
    notes: tuple[str, ...] = ()


def made_tables(tables: Sequence[PlannedTable], reading: ReadData) -> list[MadeTable]:
    """The tables in their order."""
    if not reading.micro:
        return [_from_file(table, reading) for table in tables]
    return _from_microdata(tables)


# ---------------------------------------------------------------------- microdata


def _from_microdata(tables: Sequence[PlannedTable]) -> list[MadeTable]:
    source = tables[0].source
    metadata = source.metadata
    extra = [
        metadata.first(lambda v: v.weight),
        metadata.first(lambda v: v.holding),
        metadata.first(lambda v: v.request),
    ]
    wanted = [variable for table in tables for variable in _variables(table)]
    records = read_records(source.files, metadata, [*wanted, *(each for each in extra if each is not None)])
    groups = dict[tuple[object, ...], list[PlannedTable]]()
    for table in tables:
        alone = table.number if table.recodes else 0
        groups.setdefault((table.rules.weighted, table.rules.holding, alone), []).append(table)
    made = dict[int, MadeTable]()
    for group in groups.values():
        made |= _tabulated(group, records, source)
    return [made[table.number] for table in tables]


def _variables(table: PlannedTable) -> Iterable[ArgusVariable]:
    yield from table.explanatory
    for each in (table.response, table.shadow, table.cost):
        if isinstance(each, ArgusVariable):
            yield each


def _tabulated(
    group: Sequence[PlannedTable], records: ArgusRecords, source: DataSource
) -> dict[int, MadeTable]:
    """Tables that are made of the same columns, in one pass."""
    columns, dimensions, faults = _code_columns(group, records, source)
    first, metadata = group[0], source.metadata
    numeric = {
        each.name: each
        for table in group
        for each in (table.response, table.shadow, table.cost)
        if isinstance(each, ArgusVariable)
    }
    weight = metadata.first(lambda v: v.weight) if first.rules.weighted else None
    holding = metadata.first(lambda v: v.holding) if first.rules.holding else None
    request = metadata.first(lambda v: v.request)
    if weight is not None:
        numeric[weight.name] = weight
    for name, variable in numeric.items():
        columns[_number_column(name)], wrong = records.known_numbers(variable)
        faults += wrong
    for other in (holding, request):
        if other is not None:
            columns[_text_column(other.name)] = records.columns[other.name]
    if faults:
        raise InputError(records.source, faults, advice="Correct these lines of the data, or their metadata.")
    codes = request.request if request is not None else ()
    microdata = Microdata(
        columns,
        weight=None if weight is None else _number_column(weight.name),
        holding=None if holding is None else _text_column(holding.name),
        request=None if request is None else _text_column(request.name),
        request_codes=_two_codes(codes),
    )
    layouts = list[Layout]()
    for table in group:
        own = [dimensions[each.name] for each in table.explanatory]
        response = None if table.response is None else _number_column(table.response.name)
        shadow = None if table.shadow is None else _number_column(table.shadow.name)
        layouts.append(Layout(own, response, shadow, counts=False))
        if isinstance(table.cost, ArgusVariable):
            layouts.append(Layout(own, _number_column(table.cost.name), counts=False))
    depth = max(DEEPEST, *(table.rules.contributors for table in group))
    found = iter(tabulate_linked(microdata, layouts, top=depth))
    made = dict[int, MadeTable]()
    for table in group:
        cells = replace(next(found), response=_response_name(table))
        cost = next(found).values if isinstance(table.cost, ArgusVariable) else None
        size = len(cells)
        nothing = floats(np.nan, size)
        made[table.number] = MadeTable(
            cells,
            _costs(table, cells, cost),
            _missing_cells(table, cells),
            frozen(np.ones(size, dtype=np.int8)),
            nothing,
            nothing,
        )
    return made


def _number_column(name: str) -> str:
    return f"number: {name}"


def _text_column(name: str) -> str:
    return f"text: {name}"


def _response_name(table: PlannedTable) -> str:
    return table.spec.response or "Freq"


def _two_codes(codes: Sequence[str]) -> tuple[str, str]:
    """Both request codes; where there is one, the other one is none that occurs."""
    one = codes[0] if codes else "1"
    return (one, codes[1] if len(codes) > 1 else f"not {one}")


def _code_columns(
    group: Sequence[PlannedTable], records: ArgusRecords, source: DataSource
) -> tuple[dict[str, NDArray[np.object_] | Floats], dict[str, Dimension], list[str]]:
    """The columns of codes and their dimensions; recodes are those of the first table, which is then alone."""
    columns = dict[str, NDArray[np.object_] | Floats]()
    dimensions, faults = dict[str, Dimension](), list[str]()
    for variable in dict.fromkeys(each for table in group for each in table.explanatory):
        codes = records.columns[variable.name]
        missing = [code for code in variable.missing if code in set(codes.tolist())]
        hierarchy = source.hierarchies.get(variable.name)
        recodes = [what for _, own, what in group[0].recodes if own.name == variable.name]
        if hierarchy is None:
            flat = [each for each in recodes if isinstance(each, ArgusRecode) and not each.tree]
            for own in flat:
                codes, missing = _flat_recoded(codes, own, variable, missing)
            hierarchy = _hierarchy_of(codes, variable, missing, faults, records)
            if hierarchy is None:
                continue
        hierarchy = with_missing(hierarchy, missing)
        for recode in recodes:
            if isinstance(recode, int) or recode.tree:
                codes, hierarchy = recoded(codes, hierarchy, recode)
        faults += _unknown_codes(codes, hierarchy, variable, records)
        columns[variable.name], dimensions[variable.name] = codes, Dimension.of(variable.name, hierarchy)
    return columns, dimensions, faults


def _flat_recoded(
    codes: NDArray[np.object_], recode: ArgusRecode, variable: ArgusVariable, missing: list[str]
) -> tuple[NDArray[np.object_], list[str]]:
    """Codes of a flat variable after a recode; codes that it does not name stay."""
    width = max([variable.width or 1, *map(len, set(codes.tolist()))])
    new = {
        code: code if code in missing else recode.new_code(code, width) or code
        for code in set(codes.tolist())
    }
    found = np.array([new[code] for code in codes.tolist()], dtype=object)
    return found, [code for code in (*missing, *recode.missing) if code in set(found.tolist())]


def _hierarchy_of(
    codes: NDArray[np.object_],
    variable: ArgusVariable,
    missing: Sequence[str],
    faults: list[str],
    records: ArgusRecords,
) -> Hierarchy | None:
    """The hierarchy of codes in the data: by digits, or flat in the order of τ-ARGUS."""
    total = variable.total or TOTAL
    known = sorted(
        set(codes.tolist()) - set(missing) - {""}, key=lambda code: code.rjust(variable.width or 1)
    )
    try:
        if variable.levels:
            return Hierarchy.from_prefixes(known, variable.levels, total)
        return Hierarchy.flat(known or list(missing), total)
    except InputError as error:
        where = f"variable {variable.name!r}, {records.metadata.path}, line {variable.line}"
        faults += [f"{where}: {fault}" for fault in error.faults]
        return None


def _unknown_codes(
    codes: NDArray[np.object_], hierarchy: Hierarchy, variable: ArgusVariable, records: ArgusRecords
) -> list[str]:
    """Faults: codes of records other than leaves of the hierarchy, each with its first line."""
    leaves, first, number = set(hierarchy.leaves), dict[str, int](), dict[str, int]()
    for record, code in enumerate(codes.tolist()):
        if code not in leaves:
            first.setdefault(code, record)
            number[code] = number.get(code, 0) + 1
    words = []
    for code, record in first.items():
        what = "is empty" if not code else f"code {code!r} "
        if code:
            what += "is a total, records need a code below it" if code in hierarchy else "is unknown"
            what += "" if code in hierarchy else near(code, hierarchy.codes)
        more = f" ({counted(number[code], 'record')})" if number[code] > 1 else ""
        words.append(f"{records.place(record)}: {variable.name!r}: {what}{more}")
    return words


# ---------------------------------------------------------------------- table files


def _from_file(table: PlannedTable, reading: ReadData) -> MadeTable:
    """A table from its file: cells that are empty are left out."""
    source, notes = table.source, list[str]()
    metadata = source.metadata
    roles = {
        role: next(iter(metadata.with_role(role)), None)
        for role in (FREQUENCY_ROLE, STATUS_ROLE, LOWER_LEVEL, UPPER_LEVEL)
    }
    tops = metadata.with_role(TOP_ROLE)[: max(DEEPEST, table.rules.contributors)]
    wanted = [*_variables(table), *tops, *(each for each in roles.values() if each is not None)]
    records = read_records(source.files, metadata, wanted)
    response, frequency = table.response, roles[FREQUENCY_ROLE]
    assert response is not None
    faults = [
        f"{records.place(row)}: {each.name!r} is no number"
        for each in dict.fromkeys(wanted)
        if each.numeric and each is not roles[STATUS_ROLE]
        for row in np.flatnonzero(records.unreadable(each)).tolist()
    ]
    value = records.numbers(response)
    count = np.full(len(records), np.nan) if frequency is None else records.numbers(frequency)
    status, wrong = _given_status(records, roles[STATUS_ROLE])
    faults += wrong
    faults += [
        f"{records.place(row)}: {response.name!r} is not zero although its frequency is"
        for row in np.flatnonzero((count == 0) & np.isfinite(value) & (value != 0)).tolist()
    ]
    empty = (
        (~np.isfinite(value) & ~(count > 0)) | ((count == 0) & ~(np.abs(value) > 0)) | (status == GIVEN["E"])
    )
    faults += [
        f"{records.place(row)}: an empty cell has the status of a cell that is there"
        for row in np.flatnonzero(empty & (status > 2) & (status != GIVEN["E"])).tolist()
    ]
    faults += [
        f"{records.place(row)}: {response.name!r} is empty although its frequency is not zero"
        for row in np.flatnonzero(~empty & ~np.isfinite(value)).tolist()
    ]
    if faults:
        raise InputError(records.source, faults, advice="Correct these lines of the table, or its metadata.")
    imputed = ~empty & ~np.isfinite(count)
    if imputed.any() and frequency is not None:
        notes.append(f"A frequency of 1 was imputed for {counted(int(imputed.sum()), 'cell')}")
    count = np.where(imputed, 1.0, count)
    there = np.flatnonzero(~empty)
    given = {
        VALUE: value,
        FREQUENCY_COLUMN: count,
        SHADOW_COLUMN: _filled(records, table.shadow, value),
        COST_COLUMN: _filled(records, table.cost, np.abs(value)),
        LOWER_COLUMN: _filled(records, roles[LOWER_LEVEL], np.full(len(records), np.nan)),
        UPPER_COLUMN: _filled(records, roles[UPPER_LEVEL], np.full(len(records), np.nan)),
        STATUS_COLUMN: status.astype(np.float64),
    } | {f"{TOP_COLUMN}{k}": np.nan_to_num(records.numbers(top)) for k, top in enumerate(tops)}
    dimensions, columns = _dimensions_of(table, records, there)
    cells = columns | {name: column[there] for name, column in given.items()}
    made = _table_of(table, reading, dimensions, cells, records, there)
    return _finished(table, made, len(tops), notes)


VALUE, FREQUENCY_COLUMN, SHADOW_COLUMN, COST_COLUMN = "value", "frequency:", "shadow:", "cost:"
LOWER_COLUMN, UPPER_COLUMN, STATUS_COLUMN, TOP_COLUMN = "lower:", "upper:", "status:", "top:"


def _filled(records: ArgusRecords, variable: object, otherwise: Floats) -> Floats:
    """A column, with other numbers where it has none."""
    if not isinstance(variable, ArgusVariable):
        return otherwise
    numbers = records.numbers(variable)
    return np.where(np.isfinite(numbers), numbers, otherwise)


def _given_status(
    records: ArgusRecords, variable: ArgusVariable | None
) -> tuple[NDArray[np.int8], list[str]]:
    """The status of each record; letters in capitals or not."""
    status = np.ones(len(records), dtype=np.int8)
    if variable is None:
        return status, []
    letters = {own.upper(): letter for letter, own in records.metadata.letters.items()}
    letters = {"M": "M", "E": "E"} | letters
    faults = list[str]()
    for row, text in enumerate(records.columns[variable.name].tolist()):
        letter = letters.get(text.upper())
        if letter is None:
            faults.append(
                f"{records.place(row)}: {variable.name!r}: unknown status {text!r}; there are {', '.join(letters)}"
            )
        else:
            status[row] = GIVEN[letter]
    return status, faults


def _dimensions_of(
    table: PlannedTable, records: ArgusRecords, there: Ints
) -> tuple[list[Dimension], dict[str, NDArray[np.object_]]]:
    """The dimensions of a table file, and its codes: totals as the hierarchies call them."""
    dimensions, columns, faults = list[Dimension](), dict[str, NDArray[np.object_]](), list[str]()
    for variable in table.explanatory:
        total = variable.total
        codes = np.array(
            [
                total if not code or code.casefold() == total.casefold() else code
                for code in records.columns[variable.name]
            ],
            dtype=object,
        )
        hierarchy = table.source.hierarchies.get(variable.name)
        own = codes[there]
        if hierarchy is None:
            hierarchy = _hierarchy_of(own[own != total], variable, (), faults, records)
        if hierarchy is None:
            continue
        missing = [code for code in variable.missing if code in set(own.tolist())]
        hierarchy = with_missing(hierarchy, missing)
        known = set(hierarchy.codes)
        faults += [
            f"{records.place(row)}: {variable.name!r}: unknown code {codes[row]!r}{near(codes[row], hierarchy.codes)}"
            for row in there.tolist()
            if codes[row] not in known
        ]
        dimensions.append(Dimension.of(variable.name, hierarchy))
        columns[variable.name] = own
    if faults:
        raise InputError(records.source, faults, advice="Correct these lines of the table, or the hierarchy.")
    return dimensions, columns


def _table_of(
    table: PlannedTable,
    reading: ReadData,
    dimensions: Sequence[Dimension],
    cells: Mapping[str, NDArray[np.object_] | Floats],
    records: ArgusRecords,
    there: Ints,
) -> Table:
    """The cells as a table: additive as it is, with totals added up, or not additive."""
    try:
        if reading.mode != 2:
            made = Table.from_cells(dimensions, cells, value=VALUE, recompute=reading.mode == 1)
            return _with_summed_columns(made) if reading.mode == 1 else made
        value = np.asarray(cells[VALUE], dtype=np.float64)
        zeros = {**cells, VALUE: np.zeros(value.size), TRUE_COLUMN: value}
        return _not_additive(Table.from_cells(dimensions, zeros, value=VALUE))
    except InputError as error:
        advice = "Correct the table. READTABLE 1 adds up all totals, READTABLE 2 takes a table that does not add up."
        faults = [_with_lines(fault, records, there) for fault in error.faults]
        raise InputError(f"Table {table.number}, {records.source}", faults, advice=advice) from None


TRUE_COLUMN = "true:"


def _with_lines(fault: str, records: ArgusRecords, there: Ints) -> str:
    """A fault with lines of the file instead of rows."""
    match = re.match(r"rows? ([\d, ]*\d)", fault)
    if not match:
        return fault
    rows = [int(number) - 1 for number in match[1].replace(" ", "").split(",")]
    return ", ".join(records.place(int(there[row])) for row in rows) + fault[match.end() :]


def _not_additive(zeros: Table) -> Table:
    """A table whose equations have what is left as right-hand side; what has no parts has no equation."""
    value = zeros.column(TRUE_COLUMN)
    decimals = enough_decimals(value)
    units = checked_units(value, decimals, zeros.label)
    equations = csr_array(zeros.equations)
    equations = csr_array(equations[np.flatnonzero(np.diff(equations.indptr) > 1)])
    left = equations.astype(np.int64) @ units
    columns = {name: column for name, column in zeros.columns.items() if name != TRUE_COLUMN}
    return replace(
        zeros,
        units=frozen(units),
        decimals=decimals,
        equations=frozen_matrix(equations),
        rhs=floats(left / 10.0**decimals),
        columns=columns,
    )


def _with_summed_columns(table: Table) -> Table:
    """Frequencies, shadow and cost of totals added up from the leaves, their largest contributors merged."""
    leaf, cell = _descents(table)
    columns = dict(table.columns)
    size = len(table)
    for name in (FREQUENCY_COLUMN, SHADOW_COLUMN, COST_COLUMN):
        columns[name] = floats(np.bincount(cell, weights=np.nan_to_num(columns[name])[leaf], minlength=size))
    tops = sorted(name for name in columns if name.startswith(TOP_COLUMN))
    if tops:
        sizes = np.nan_to_num(np.stack([columns[name] for name in tops], axis=1))[leaf].ravel()
        at = np.repeat(cell, len(tops))
        order = np.lexsort((-np.abs(sizes), at))
        rank = np.arange(at.size) - np.searchsorted(at[order], at[order])
        for k, name in enumerate(tops):
            merged, chosen = np.zeros(size), order[rank == k]
            merged[at[chosen]] = sizes[chosen]
            columns[name] = floats(merged)
    status = columns[STATUS_COLUMN]
    columns[STATUS_COLUMN] = floats(np.where(np.isnan(status), 1.0, status))
    return replace(table, columns=columns)


def _descents(table: Table) -> tuple[Ints, Ints]:
    """Pairs (leaf cell, itself or a total above it)."""
    packing = Packing.of(table.dimensions)
    keys = packing.keys(table.codes)
    order = np.argsort(keys)
    leaf = np.flatnonzero(table.is_leaf)
    at, codes = leaf, table.codes[leaf].astype(np.int64)
    for d, dimension in enumerate(table.dimensions):
        code, above = ancestors(dimension)
        starts = np.searchsorted(code, np.arange(len(dimension.codes) + 1))
        counts = np.diff(starts)[codes[:, d]]
        row = np.repeat(np.arange(at.size), counts)
        offset = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
        at, codes = at[row], codes[row]
        codes[:, d] = above[starts[codes[:, d]] + offset]
    found = packing.keys(codes.astype(np.int32))
    place = np.minimum(np.searchsorted(keys[order], found), keys.size - 1)
    cell = order[place]
    return at[keys[cell] == found], cell[keys[cell] == found]


def _finished(table: PlannedTable, made: Table, tops: int, notes: Sequence[str]) -> MadeTable:
    """The table with its contributors as far as they are known."""
    columns = made.columns
    count = columns[FREQUENCY_COLUMN].astype(np.int64)
    if (columns[COST_COLUMN] < 0).any():
        faults = [
            f"cell {label}: its cost is negative"
            for label in made.labels(np.flatnonzero(columns[COST_COLUMN] < 0))
        ]
        raise InputError(f"Table {table.number}", faults, advice="Costs must not be negative.")
    top = [columns[f"{TOP_COLUMN}{k}"] for k in range(tops)]
    sizes = np.stack(top, axis=1) if top else np.zeros((len(made), 0))
    rising = np.flatnonzero((np.diff(np.abs(sizes), axis=1) > 0).any(axis=1))
    if rising.size:
        faults = [f"cell {label}: its largest contributions do not decrease" for label in made.labels(rising)]
        raise InputError(
            f"Table {table.number}", faults, advice="<MAXSCORE> variables go from the largest on."
        )
    known = Contributions.of_cells(count, sizes, columns[SHADOW_COLUMN])
    return MadeTable(
        replace(made, response=_response_name(table), respondents=known, columns={}),
        _costs(table, replace(made, respondents=known), columns[COST_COLUMN]),
        _missing_cells(table, made),
        frozen(columns[STATUS_COLUMN].astype(np.int8)),
        columns[LOWER_COLUMN],
        columns[UPPER_COLUMN],
        tuple(notes),
    )


# ---------------------------------------------------------------------- both


def _costs(table: PlannedTable, cells: Table, own: Floats | None) -> Floats:
    """The cost of hiding each cell, before it is transformed."""
    if table.cost == UNITY:
        return floats(1.0, len(cells))
    if table.cost == BY_FREQUENCY:
        assert cells.respondents is not None
        return floats(cells.respondents.count)
    chosen = np.abs(cells.values) if own is None else own
    if (chosen < 0).any():
        faults = [f"cell {label}: its cost is negative" for label in cells.labels(np.flatnonzero(chosen < 0))]
        raise InputError(f"Table {table.number}", faults, advice="Costs must not be negative.")
    return floats(np.maximum(chosen, LEAST_COST))


def _missing_cells(table: PlannedTable, cells: Table) -> Bools:
    found = np.zeros(len(cells), dtype=bool)
    for d, variable in enumerate(table.explanatory):
        index = cells.dimensions[d].index
        found |= np.isin(cells.codes[:, d], [index[code] for code in variable.missing if code in index])
    return frozen(found)
