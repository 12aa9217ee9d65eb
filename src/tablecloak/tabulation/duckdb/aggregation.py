"""Cells from records, in DuckDB: sums, counts, the largest contributions and their units.

A *unit* (a respondent, or a holding) is added up within each cell before it counts. Units in one leaf cell only are
reduced there to the few that can be among the largest of any total; units in several leaf cells go into every total
as they are. All numbers are integers until the very end, so that no result depends on order or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.model import NO_UNIT
from tablecloak.tabulation.duckdb.decimals import number
from tablecloak.tabulation.duckdb.records import Loaded, UnitFlag
from tablecloak.tabulation.duckdb.session import arrays, lent, run, scalar

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

Passes: TypeAlias = Callable[[int], Iterator[tuple[Ints, Ints]]]
"""Pairs of leaf cells and cells, in passes; called with the number of rows the leaf cells stand for."""
RESPONDENTS, HOLDINGS = "respondents", "holdings"


@dataclass(frozen=True)
class Shape:
    """One table: which positions (and strides) make its cells, and which numbers it is about; None counts records."""

    positions: Sequence[int]
    strides: Sequence[int]
    response: int | None
    shadow: int | None
    meeting: Sequence[int] = ()
    """Positions of all tables of this response, if it is rounded where they meet."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of one table: its respondents or its holdings, `depth` of the largest in each cell."""

    name: str
    loaded: Loaded
    shape: Shape
    depth: int

    @property
    def weighed(self) -> bool:
        """Whether contributions may be weighted before they are added up: those of holdings are."""
        return self.name == HOLDINGS and self.loaded.weighted

    @property
    def scales(self) -> tuple[int, int, int]:
        """Scales of contributions to response and shadow, and of weights."""
        x, s = _sum_scales(self.shape, self.loaded)
        weight = self.loaded.scales.weight.scale
        if not self.loaded.weighted:
            return x, s, 0
        return (x, s, weight) if self.weighed else (x - weight, s - weight, weight)

    @property
    def picks(self) -> list[tuple[str, str, str]]:
        """Selections in each cell, in SQL: name, condition of units, and number of the largest (none: one)."""
        picks = [("top", "true", f", {self.depth}")]
        if self.loaded.waivers:
            picks.append(("unwaived_one", f"f & {UnitFlag.WAIVED} = 0", ""))
        if self.loaded.requests:
            picks += [
                ("first_one", f"f & {UnitFlag.FIRST} <> 0", ""),
                ("second_one", f"f & {UnitFlag.SECOND} <> 0", ""),
            ]
        return picks


@dataclass(frozen=True, eq=False)
class ContributorSummary:
    """The contributors at one level; arrays by cell and by unit, as in `Contributions`."""

    count: Ints
    weight: Floats
    top: Floats
    top_unit: Ints
    unwaived: Ints
    largest_unwaived: Floats
    largest_unwaived_unit: Ints
    requesters: Ints
    requested: Floats
    units: NDArray[np.str_]
    unit_weight: Floats
    unit_waived: Bools
    share_unit: Ints
    share_cell: Ints
    share: Floats
    shadow_share: Floats


def leaf_keys(connection: Connection, shape: Shape, loaded: Loaded) -> Ints:
    """Keys of the leaf cells that have records; prepares the views and sums the other functions use."""
    key = " + ".join(
        f"CAST(p{i} AS BIGINT) * {stride}" for i, stride in zip(shape.positions, shape.strides, strict=True)
    )
    x, s = (f"n{i}" if i is not None else "CAST(1 AS BIGINT)" for i in (shape.response, shape.shadow))
    weight = "CAST(weight AS HUGEINT)" if loaded.weighted else "CAST(1 AS BIGINT)"
    held = ", holding, holding_flags" if loaded.held else ""
    run(
        connection,
        f"CREATE OR REPLACE TEMP VIEW base AS SELECT {key} AS leaf, {x} AS x, {s} AS s, {weight} AS w, "
        f"respondent, respondent_flags{held}{''.join(f', p{i}' for i in shape.meeting)} FROM records",
    )
    product = "sum(x * w) AS x, sum(s * w) AS s" if loaded.weighted else "sum(x) AS x, sum(s) AS s"
    run(
        connection,
        f"CREATE OR REPLACE TEMP TABLE leaf_sums AS SELECT leaf, {product} FROM base GROUP BY leaf",
    )
    return arrays(connection, "SELECT leaf FROM leaf_sums ORDER BY leaf")["leaf"].astype(np.int64)


def cell_sums(
    connection: Connection, shape: Shape, loaded: Loaded, passes: Passes, cells: int
) -> tuple[Floats, Floats]:
    """The (weighted) totals of response and shadow of each cell."""
    x, s = np.zeros(cells), np.zeros(cells)
    query = (
        f"SELECT cell, {_numbers(_sum_scales(shape, loaded))} FROM (SELECT cell, sum(x) AS x, sum(s) AS s "
        "FROM spread JOIN leaf_sums USING (leaf) GROUP BY cell)"
    )
    for pairs in passes(0):
        with _spread(connection, pairs):
            found = arrays(connection, query)
        x[found["cell"]], s[found["cell"]] = found["x"], found["s"]
    return x, s


def rounded_sums(
    connection: Connection, shape: Shape, loaded: Loaded, passes: Passes, cells: int, decimals: int
) -> Floats:
    """The totals of the response, rounded to this number of decimals where all tables of it meet.

    These tables are then sums of the same integers, so that they agree on their common cells.
    """
    cut = 10 ** (_sum_scales(shape, loaded)[0] - decimals)
    product = "sum(x * w)" if loaded.weighted else "sum(x)"
    whole = f"CASE WHEN x < 0 THEN -((-x + {cut // 2}) // {cut}) ELSE (x + {cut // 2}) // {cut} END"
    run(
        connection,
        f"CREATE OR REPLACE TEMP TABLE leaf_units AS SELECT leaf, sum({whole}) AS x FROM (SELECT leaf, "
        f"{', '.join(f'p{i}' for i in shape.meeting)}, {product} AS x FROM base GROUP BY ALL) GROUP BY leaf",
    )
    query = f"SELECT cell, {number('x', decimals)} AS x FROM (SELECT cell, sum(x) AS x FROM spread JOIN leaf_units "
    found = np.zeros(cells)
    for pairs in passes(0):
        with _spread(connection, pairs):
            part = arrays(connection, f"{query} USING (leaf) GROUP BY cell)")
        found[part["cell"]] = part["x"]
    return found


def sum_decimals(shape: Shape, loaded: Loaded) -> int:
    """Number of decimals with which the response is added up."""
    return _sum_scales(shape, loaded)[0]


def _sum_scales(shape: Shape, loaded: Loaded) -> tuple[int, int]:
    """Scales of the (weighted) sums of response and shadow."""
    weight = loaded.scales.weight.scale if loaded.weighted else 0
    x, s = (0 if i is None else loaded.scales.columns[i].scale for i in (shape.response, shape.shadow))
    return x + weight, s + weight


def _numbers(scales: tuple[int, int]) -> str:
    return f"{number('x', scales[0])} AS x, {number('s', scales[1])} AS s"


def tally(connection: Connection, level: Level, passes: Passes, cells: int) -> ContributorSummary:
    """The contributors of each cell at one level, the largest contributions among them."""
    rows = _prepare(connection, level)
    found = _Found(cells, level.depth)
    for pairs in passes(rows):
        with _spread(connection, pairs):
            _rank(connection, level, found)
    known: Ints = np.unique(np.concatenate([found.top_unit.ravel(), found.unwaived_unit]))
    known = known[known >= 0]
    facts, shares = _known(connection, level, known, passes)
    names = _names(connection, level, known)
    return ContributorSummary(
        found.count,
        found.weight,
        found.top,
        _places(known, found.top_unit),
        found.unwaived,
        found.largest_unwaived,
        _places(known, found.unwaived_unit),
        found.requesters,
        found.requested,
        names,
        np.asarray(facts["w"], dtype=np.float64),
        (np.asarray(facts["f"], dtype=np.int64) & int(UnitFlag.WAIVED)).astype(bool),
        np.searchsorted(known, shares["u"]),
        np.asarray(shares["cell"], dtype=np.int64),
        np.asarray(shares["x"], dtype=np.float64),
        np.asarray(shares["s"], dtype=np.float64),
    )


# ---------------------------------------------------------------------- leaf cells


def _prepare(connection: Connection, level: Level) -> int:
    """Units by leaf cell: `alone` in one leaf cell only, `tallies` of these, and the `pool` that totals look at.

    Gives the number of rows in the pool.
    """
    one = "respondent" if level.name == RESPONDENTS else "holding"
    x, s, w = "x", "s", "w"
    if (
        level.weighed
    ):  # a holding weighs 1 and its members are weighted; a respondent without one keeps its own weight
        unit = f"CAST({10**level.loaded.scales.weight.scale} AS HUGEINT)"
        held = f"holding_flags & {UnitFlag.HELD} <> 0"
        factor = f"CASE WHEN {held} THEN w ELSE {unit} END"
        x, s, w = f"x * {factor}", f"s * {factor}", f"CASE WHEN {held} THEN {unit} ELSE w END"
    rows = f"SELECT leaf, {one} AS u, {x} AS x, {s} AS s, {w} AS w, {one}_flags AS f FROM base"
    run(
        connection,
        "CREATE OR REPLACE TABLE joint AS SELECT leaf, u, sum(x) AS x, sum(s) AS s, any_value(w) AS w, "
        f"any_value(f) AS f FROM ({rows}) WHERE f & {UnitFlag.SHARED} <> 0 GROUP BY leaf, u",
    )
    run(
        connection,
        "CREATE OR REPLACE TEMP TABLE several AS SELECT u FROM joint GROUP BY u HAVING count(*) > 1",
    )
    run(
        connection,
        f"CREATE OR REPLACE TEMP VIEW alone AS SELECT * FROM ({rows}) WHERE f & {UnitFlag.SHARED} = 0 "
        "UNION ALL BY NAME SELECT * FROM joint ANTI JOIN several USING (u)",
    )
    run(connection, f"CREATE OR REPLACE TEMP TABLE tallies AS {_tallied(level, 'leaf', 'alone')}")
    units = ", ".join(name for name, _, _ in level.picks[1:])
    run(
        connection,
        "CREATE OR REPLACE TEMP TABLE pool AS SELECT DISTINCT leaf, -c.u AS u, c.s AS s, c.w AS w, c.f AS f FROM "
        f"(SELECT leaf, unnest(list_concat(top, [{units}])) AS c "
        f"FROM ({_ranked(level, 'leaf', 'alone', 'tallies')})) WHERE c IS NOT NULL UNION ALL BY NAME "
        f"SELECT leaf, u, s, w, f | {UnitFlag.SPANNING} AS f FROM joint SEMI JOIN several USING (u)",
    )
    return scalar(connection, "SELECT count(*) FROM pool")


def _tallied(level: Level, by: str, rows: str, condition: str = "true") -> str:
    """SQL: counts and weights of units that meet the condition, and how large the largest of all are at least."""
    limits = ", ".join(
        f"list_min(max(abs(CAST(s AS DOUBLE)){many or ', 1'}) FILTER ({which})) AS {name}_limit"
        for name, which, many in level.picks
    )
    return (
        f"SELECT {by}, count(*) FILTER ({condition}) AS n, coalesce(sum(w) FILTER ({condition}), 0) AS w, "
        f"count(*) FILTER ({condition} AND f & {UnitFlag.WAIVED} = 0) AS unwaived, "
        f"count(*) FILTER ({condition} AND f & {UnitFlag.FIRST | UnitFlag.SECOND} <> 0) AS requesters, {limits} "
        f"FROM {rows} GROUP BY {by}"
    )


def _ranked(level: Level, by: str, rows: str, tallies: str) -> str:
    """SQL: the largest by absolute value, then by first appearance; tallies give the rows that are too small."""
    one = "{'a': abs(s), 'u': -u, 's': s, 'w': w, 'f': f}"
    largest = ", ".join(f"max({one}{many}) FILTER ({which}) AS {name}" for name, which, many in level.picks)
    large = " OR ".join(
        f"({which} AND abs(CAST(s AS DOUBLE)) >= {name}_limit)" for name, which, _ in level.picks
    )
    limits = ", ".join(f"{name}_limit" for name, _, _ in level.picks)
    return (
        f"SELECT {by}, {largest} FROM (SELECT {rows}.* FROM {rows} JOIN "
        f"(SELECT {by}, {limits} FROM {tallies}) USING ({by}) WHERE {large}) GROUP BY {by}"
    )


# ---------------------------------------------------------------------- all cells


def _spread(connection: Connection, pairs: tuple[Ints, Ints]) -> AbstractContextManager[None]:
    """Pairs of leaf cells and cells as the table `spread`, while it is needed."""
    return lent(connection, "spread", {"leaf": pairs[0], "cell": pairs[1]})


class _Found:
    """Arrays by cell, filled go by go."""

    def __init__(self, cells: int, depth: int) -> None:
        self.count = np.zeros(cells, dtype=np.int64)
        self.weight = np.zeros(cells)
        self.unwaived = np.zeros(cells, dtype=np.int64)
        self.requesters = np.zeros(cells, dtype=np.int64)
        self.top = np.zeros((cells, depth))
        self.top_unit = np.full((cells, depth), NO_UNIT, dtype=np.int64)
        self.largest_unwaived = np.zeros(cells)
        self.unwaived_unit = np.full(cells, NO_UNIT, dtype=np.int64)
        self.requested = np.zeros((cells, 2))


def _rank(connection: Connection, level: Level, found: _Found) -> None:
    """Counts and largest contributions of the cells of one go."""
    run(
        connection,
        "CREATE OR REPLACE TEMP TABLE part AS SELECT cell, u, sum(s) AS s, any_value(w) AS w, any_value(f) AS f "
        "FROM spread JOIN pool USING (leaf) GROUP BY cell, u",
    )
    spanning = f"f & {UnitFlag.SPANNING} <> 0"
    run(
        connection,
        f"CREATE OR REPLACE TEMP TABLE part_tallies AS {_tallied(level, 'cell', 'part', spanning)}",
    )
    run(
        connection,
        f"CREATE OR REPLACE TEMP TABLE ranked AS {_ranked(level, 'cell', 'part', 'part_tallies')}",
    )
    _, scale, weight = level.scales
    counts = arrays(
        connection,
        f"SELECT cell, n, {number('w', weight)} AS w, unwaived, requesters FROM (SELECT cell, sum(n) AS n, "
        "sum(w) AS w, sum(unwaived) AS unwaived, sum(requesters) AS requesters FROM "
        "(SELECT cell, n, w, unwaived, requesters FROM spread JOIN tallies USING (leaf) UNION ALL "
        "SELECT cell, n, w, unwaived, requesters FROM part_tallies) GROUP BY cell)",
    )
    at = counts["cell"]
    found.count[at], found.weight[at] = counts["n"], counts["w"]
    found.unwaived[at], found.requesters[at] = counts["unwaived"], counts["requesters"]
    top = arrays(
        connection,
        f"SELECT cell, k, -c.u AS u, {number('c.s', scale)} AS s FROM "
        "(SELECT cell, unnest(top) AS c, generate_subscripts(top, 1) - 1 AS k FROM ranked)",
    )
    found.top[top["cell"], top["k"]], found.top_unit[top["cell"], top["k"]] = top["s"], top["u"]
    one = _ones(connection, level, "unwaived_one" if level.loaded.waivers else "top[1]")
    found.largest_unwaived[one["cell"]], found.unwaived_unit[one["cell"]] = one["s"], one["u"]
    for code, name in enumerate(("first_one", "second_one") if level.loaded.requests else ()):
        one = _ones(connection, level, name)
        found.requested[one["cell"], code] = one["s"]


def _ones(connection: Connection, level: Level, name: str) -> dict[str, NDArray[Any]]:
    """The one largest contribution of each cell that has one."""
    return arrays(
        connection,
        f"SELECT cell, -c.u AS u, {number('c.s', level.scales[1])} AS s FROM "
        f"(SELECT cell, {name} AS c FROM ranked) WHERE c IS NOT NULL",
    )


# ---------------------------------------------------------------------- known units


def _known(
    connection: Connection, level: Level, known: Ints, passes: Passes
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Weights and flags of the known units, and what they contribute to every cell."""
    with lent(connection, "known", {"u": known}):
        run(
            connection,
            "CREATE OR REPLACE TEMP TABLE known_rows AS SELECT * FROM alone SEMI JOIN known USING (u) "
            "UNION ALL BY NAME SELECT * FROM joint SEMI JOIN several USING (u) SEMI JOIN known USING (u)",
        )
    facts = arrays(
        connection,
        f"SELECT u, {number('w', level.scales[2])} AS w, f FROM "
        "(SELECT u, any_value(w) AS w, any_value(f) AS f FROM known_rows GROUP BY u) ORDER BY u",
    )
    query = (
        f"SELECT u, cell, {_numbers(level.scales[:2])} FROM (SELECT u, cell, sum(x) AS x, sum(s) AS s "
        "FROM spread JOIN known_rows USING (leaf) GROUP BY u, cell)"
    )
    found = []
    for pairs in passes(scalar(connection, "SELECT count(*) FROM known_rows")):
        with _spread(connection, pairs):
            found.append(arrays(connection, query))
    return facts, {name: np.concatenate([each[name] for each in found]) for name in ("u", "cell", "x", "s")}


def _places(known: Ints, units: Ints) -> Ints:
    """The places of units among the known ones."""
    return np.where(units >= 0, np.searchsorted(known, units), NO_UNIT)


def _names(connection: Connection, level: Level, known: Ints) -> NDArray[np.str_]:
    """The names of units: their id, or else the number of their row."""
    if level.name == RESPONDENTS and not level.loaded.grouped:
        return known.astype(np.str_)
    label = "coalesce(n.name, CAST(k.u AS VARCHAR))"
    if level.name == HOLDINGS:  # a respondent without a holding may have the name of a holding
        clash = f"EXISTS (FROM holdings h WHERE h.name = {label} AND NOT h.own)"
        label = f"CASE WHEN coalesce(n.own, true) AND {clash} THEN 'respondent ' || {label} ELSE {label} END"
    query = f"SELECT {label} AS name FROM known k LEFT JOIN {level.name} n ON n.unit = k.u ORDER BY k.u"
    with lent(connection, "known", {"u": known}):
        return np.array([row[0] for row in run(connection, query)], dtype=np.str_)
