"""Microdata, read once into a compact typed DuckDB table, or one `InputError` with everything that is wrong.

`staging` holds what was read: texts of codes, numbers as floats, ids. `records` is made of it: positions of leaf
codes p0, p1, ...; numbers n0, n1, ... as whole multiples of 10^-scale, so that sums are exact and do not depend on
their order; the weight likewise; `respondent` and `holding`, numbered by the first row of each unit, and their flags.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools
from tablecloak.errors import InputError, public_names
from tablecloak.tabulation.duckdb.decimals import Scales, choose_scales
from tablecloak.tabulation.duckdb.faults import FaultFinder
from tablecloak.tabulation.duckdb.reader import Part, csv_fault
from tablecloak.tabulation.duckdb.session import lent, run, scalar
from tablecloak.tabulation.settings import SETTINGS

if TYPE_CHECKING:
    import duckdb

_YES = ("1", "true", "t", "yes", "y")
_NO = ("0", "false", "f", "no", "n")
_LONG = f"has more than {SETTINGS.max_name} characters"
_FLOATING = ("DOUBLE", "FLOAT", "DECIMAL")


class UnitFlag(IntFlag):
    """Flags of a unit, as bits of an SQL integer."""

    WAIVED = 1
    """Flag of a unit that has waived its protection."""
    FIRST = 2
    """Flag of a unit that carries request code 1."""
    SECOND = 4
    """Flag of a unit that carries request code 2."""
    SHARED = 8
    """Flag of a unit with several records."""
    SPANNING = 16
    """Flag of a unit in several leaf cells of the table at hand; set by the aggregation."""
    HELD = 32
    """Flag of a unit whose records name a holding."""


@dataclass(frozen=True, eq=False)
class CodeList:
    """The codes that a column may hold: the position of each is its place in the list."""

    column: str
    codes: Sequence[str]
    is_leaf: Bools


@dataclass(frozen=True, eq=False)
class Reading:
    """The columns to read: codes, numbers by column name, and the roles of the other columns."""

    lists: Sequence[CodeList]
    numbers: Sequence[str]
    weight: str | None = None
    respondent: str | None = None
    holding: str | None = None
    waiver: str | None = None
    request: str | None = None
    request_codes: tuple[str, str] = ("1", "2")
    missing: str | None = None

    @property
    def texts(self) -> list[str]:
        """Columns of codes, each once."""
        return list(dict.fromkeys(each.column for each in self.lists))

    @property
    def columns(self) -> dict[str, str]:
        """All columns that are needed, and what for."""
        roles = {each.column: f"the codes of dimension {each.column!r}" for each in self.lists}
        roles |= {name: "the values" for name in self.numbers if name not in roles}
        for role in ("weight", "respondent", "holding", "waiver", "request"):
            name = getattr(self, role)
            if name is not None:
                roles.setdefault(name, f"the {role}s" if role != "waiver" else "the waivers")
        return roles


@dataclass(frozen=True, eq=False)
class Loaded:
    """Number of records, scales that make their numbers integral, and the roles of columns that are present."""

    count: int
    scales: Scales
    weighted: bool
    grouped: bool
    """Whether respondents may have several records."""
    held: bool
    """Whether there are holdings."""
    waivers: bool
    requests: bool


def load(connection: duckdb.DuckDBPyConnection, parts: Sequence[Part], reading: Reading) -> Loaded:
    """Read all parts into the table `records`; raise one `InputError` that lists every fault."""
    _check_columns(parts, reading)
    starts = _stage(connection, parts, reading)
    _units(connection, reading)
    finder = FaultFinder(connection, parts, starts)
    faults = list(_faults(finder, reading))
    if starts[-1] == 0:
        faults = ["there are no records"]
    if faults:
        advice = (
            "Every record needs a leaf code of each dimension (numbers count as text; Microdata(missing=...) names "
            "the code of empty ones), finite numbers written with a decimal point and nothing else between the digits, "
            "and a weight that is not negative."
        )
        raise InputError("Records", faults, advice=advice)
    columns = [f"n{i}" for i in range(len(reading.numbers))]
    scales = choose_scales(connection, columns, reading.numbers, reading.weight is not None, starts[-1])
    _compact(connection, reading, scales)
    roles = (reading.weight, reading.respondent, reading.holding, reading.waiver, reading.request)
    return Loaded(starts[-1], scales, *(role is not None for role in roles))


def _check_columns(parts: Sequence[Part], reading: Reading) -> None:
    faults, names = list[str](), dict[str, None]()
    for part in parts:
        where = f"{part.file}: " if part.file else ""
        names |= dict.fromkeys(part.names)
        for name, role in reading.columns.items():
            if part.names.count(name) != 1:
                what = "are two columns" if name in part.names else "is no column"
                faults.append(f"{where}there {what} {name!r} with {role}")
    if faults:
        raise InputError("Records", faults, advice=f"Columns found: {public_names(list(names))}.")


# ---------------------------------------------------------------------- reading


def _stage(connection: duckdb.DuckDBPyConnection, parts: Sequence[Part], reading: Reading) -> list[int]:
    """Fill `staging`; the number of rows before each part, and in all."""
    import duckdb

    starts = [0]
    for i, part in enumerate(parts):
        kinds = _kinds(connection, part)
        chosen = ", ".join(_staged(part, kinds, reading))
        query = f"SELECT {starts[-1]} + row_number() OVER () AS row, {chosen} FROM {part.relation}"
        make = "INSERT INTO staging" if i else "CREATE TABLE staging AS"
        try:
            run(connection, f"{make} {query}", {**part.parameters, **_parameters(reading)})
        except (duckdb.OutOfMemoryException, duckdb.InterruptException):
            raise
        except duckdb.Error as error:
            where = f"{part.file}: " if part.file else ""
            fault = (
                csv_fault(error)
                if part.lines
                else "the data cannot be read (damaged file, or a kind of column that is not known)"
            )
            raise InputError("Records", [f"{where}{fault}"]) from None
        starts.append(scalar(connection, "SELECT count(*) FROM staging"))
    return starts


def _kinds(connection: duckdb.DuckDBPyConnection, part: Part) -> dict[str, tuple[str, str]]:
    """The SQL identifier and type of each column."""
    rows = run(connection, f"DESCRIBE SELECT * FROM {part.relation}", part.parameters)
    kinds = [str(row[1]) for row in rows]
    return {name: (sql, kind) for name, sql, kind in zip(part.names, part.identifiers, kinds, strict=True)}


def _parameters(reading: Reading) -> dict[str, Any]:
    """Values that the columns of `staging` are compared with."""
    found: dict[str, Any] = {} if reading.missing is None else {"missing": reading.missing}
    if reading.waiver is not None:
        found |= {"yes": list(_YES), "no": list(_NO)}
    if reading.request is not None:
        found |= dict(zip(("first", "second"), reading.request_codes, strict=True))
    return found


def _staged(part: Part, kinds: dict[str, tuple[str, str]], reading: Reading) -> Iterator[str]:
    """The columns of `staging`, in SQL."""
    for i, name in enumerate(reading.texts):
        text = _text(*kinds[name])
        yield f"{text if reading.missing is None else f'coalesce({text}, $missing)'} AS t{i}"
    for i, name in enumerate(reading.numbers):
        yield f"{_number(*kinds[name])} AS n{i}"
    if reading.weight is not None:
        yield f"{_number(*kinds[reading.weight])} AS weight"
    for role, column in (("respondent", reading.respondent), ("holding", reading.holding)):
        if column is not None:
            yield f"{_text(*kinds[column])} AS {role}"
    if reading.waiver is None:
        yield "0 AS waived"
    else:
        text = f"coalesce(lower(trim({_text(*kinds[reading.waiver])})), '0')"
        yield f"CASE WHEN list_contains($yes, {text}) THEN 1 WHEN list_contains($no, {text}) THEN 0 END AS waived"
    if reading.request is None:
        yield "0 AS request"
    else:
        text = _text(*kinds[reading.request])
        yield f"CASE {text} WHEN $first THEN {UnitFlag.FIRST} WHEN $second THEN {UnitFlag.SECOND} ELSE 0 END AS request"


def _text(column: str, kind: str) -> str:
    """A code as text, NULL where there is none: 8.0 is "8"."""
    if kind == "BOOLEAN":
        return f"CASE WHEN {column} THEN 'True' WHEN NOT {column} THEN 'False' END"
    text = f"CAST({column} AS VARCHAR)"
    if kind.startswith(_FLOATING):
        number = f"CAST({column} AS DOUBLE)"
        whole = f"{number} = trunc({number}) AND abs({number}) < 1e18"
        text = (
            f"CASE WHEN isnan({number}) THEN NULL "
            f"WHEN {whole} THEN CAST(CAST({number} AS BIGINT) AS VARCHAR) ELSE {text} END"
        )
    return f"CASE WHEN trim({text}) <> '' THEN {text} END"


def _number(column: str, kind: str) -> str:
    """A number, NULL where there is none, NaN where there is something else."""
    if kind == "VARCHAR" or kind.startswith("ENUM"):
        text = f"CAST({column} AS VARCHAR)"
        return f"CASE WHEN trim({text}) <> '' THEN coalesce(TRY_CAST({text} AS DOUBLE), CAST('NaN' AS DOUBLE)) END"
    return f"CASE WHEN {column} IS NOT NULL THEN coalesce(TRY_CAST({column} AS DOUBLE), CAST('NaN' AS DOUBLE)) END"


# ---------------------------------------------------------------------- faults


def _faults(finder: FaultFinder, reading: Reading) -> Iterator[str]:
    for i, name in enumerate(reading.texts):
        yield from finder.rows(f"t{i} IS NULL", f"the code in column {name!r} is missing")
    for each in reading.lists:
        column = f"t{reading.texts.index(each.column)}"
        yield from finder.codes(column, each.column, each.codes, each.is_leaf)
    numbers = [(f"n{i}", f"the number in column {name!r}") for i, name in enumerate(reading.numbers)]
    if reading.weight is not None:
        numbers.append(("weight", f"the weight in column {reading.weight!r}"))
    for column, what in numbers:
        yield from finder.rows(f"{column} IS NULL", f"{what} is missing")
        yield from finder.rows(f"NOT isfinite({column})", f"{what} is not a finite number")
    if reading.weight is not None:
        yield from finder.rows("isfinite(weight) AND weight < 0", "the weight is negative")
    if reading.waiver is not None:
        what = f"the waiver in column {reading.waiver!r} is neither yes nor no (1 or 0, true or false)"
        yield from finder.rows("waived IS NULL", what)
    if reading.holding is not None:
        yield from finder.rows(f"length(holding) > {SETTINGS.max_name}", f"the name of the holding {_LONG}")
    if reading.respondent is not None:
        what = f"the respondent in column {reading.respondent!r} is missing"
        yield from finder.rows("respondent IS NULL", what)
        yield from finder.rows(
            f"length(respondent) > {SETTINGS.max_name}", f"the name of the respondent {_LONG}"
        )
        if reading.weight is not None:
            yield from finder.differing_weights()


# ---------------------------------------------------------------------- units


def _units(connection: duckdb.DuckDBPyConnection, reading: Reading) -> None:
    """Tables of the units that may have several records: name, number (their first row) and flags."""
    flags = (
        f"CAST(min(waived) * {UnitFlag.WAIVED} + max(request & {UnitFlag.FIRST}) + max(request & {UnitFlag.SECOND}) "
        f"+ (count(*) > 1)::INTEGER * {UnitFlag.SHARED} AS UTINYINT) AS flags"
    )
    if reading.respondent is not None:
        weights = ", min(weight) AS least, max(weight) AS most" if reading.weight is not None else ""
        run(
            connection,
            f"CREATE TABLE respondents AS SELECT respondent AS name, min(row) AS unit, {flags}{weights} "
            "FROM staging WHERE respondent IS NOT NULL GROUP BY respondent",
        )
    if reading.holding is not None:
        name = "coalesce(holding, respondent)" if reading.respondent is not None else "holding"
        run(
            connection,
            f"CREATE TABLE holdings AS SELECT {name} AS name, holding IS NULL AS own, min(row) AS unit, {flags} "
            f"FROM staging WHERE {name} IS NOT NULL GROUP BY ALL",
        )


def _compact(connection: duckdb.DuckDBPyConnection, reading: Reading, scales: Scales) -> None:
    """Make `records` of `staging`, which is dropped."""
    chosen, joins = ["row"], list[str]()
    for i, each in enumerate(reading.lists):
        positions: NDArray[Any] = np.flatnonzero(each.is_leaf).astype(np.int32)
        codes = np.array([each.codes[at] for at in positions], dtype=object)
        with lent(connection, "code_list", {"code": codes, "position": positions}):
            run(connection, f"CREATE TEMP TABLE codes{i} AS SELECT * FROM code_list")
        chosen.append(f"codes{i}.position AS p{i}")
        joins.append(f"JOIN codes{i} ON t{reading.texts.index(each.column)} = codes{i}.code")
    for i in range(len(reading.numbers)):
        chosen.append(f"{scales.whole(f'n{i}', i)} AS n{i}")
    if reading.weight is not None:
        chosen.append(f"{scales.whole_weight('weight')} AS weight")
    alone = f"CAST(waived * {UnitFlag.WAIVED} + request AS UTINYINT)"
    if reading.respondent is not None:
        chosen += ["respondents.unit AS respondent", "respondents.flags AS respondent_flags"]
        joins.append("JOIN respondents ON staging.respondent = respondents.name")
    else:
        chosen += ["row AS respondent", f"{alone} AS respondent_flags"]
    if reading.holding is not None:
        name = (
            "coalesce(staging.holding, staging.respondent)"
            if reading.respondent is not None
            else "staging.holding"
        )
        chosen += [
            "coalesce(holdings.unit, row) AS holding",
            f"CAST(coalesce(holdings.flags, {alone}) + (staging.holding IS NOT NULL)::INTEGER * {UnitFlag.HELD} "
            "AS UTINYINT) AS holding_flags",
        ]
        joins.append(
            f"LEFT JOIN holdings ON {name} = holdings.name AND holdings.own = (staging.holding IS NULL)"
        )
    run(connection, f"CREATE TABLE records AS SELECT {', '.join(chosen)} FROM staging {' '.join(joins)}")
    run(connection, "DROP TABLE staging")
