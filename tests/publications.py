"""Publications of every kind, for the tests of the public formats."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from fixtures import FIXTURES, flat, from_leaves, three_way, two_hierarchies, with_levels
from tablecloak.arrays import floats, frozen, frozen_matrix
from tablecloak.auditing import audit
from tablecloak.examples import regional_turnover
from tablecloak.model import (
    Dimension,
    Hierarchy,
    Intervals,
    Mixed,
    Pattern,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
)
from tablecloak.protection import protect
from tablecloak.publication import Publication, publish

SUFFIXES = (".csv", ".parquet", ".xlsx", ".html", ".sdmx.csv")
CASES = (
    *FIXTURES,
    "turnover",
    "intervals",
    "one-sided intervals",
    "rounding",
    "perturbation",
    "mixed",
    "gaps",
)
DESPITE = "a test of what may be seen, not of protection"


@cache
def case(name: str) -> tuple[Problem, Pattern]:
    """A problem and a pattern for it."""
    if name in FIXTURES:
        problem = FIXTURES[name]()
        return problem, protect(problem).pattern
    if name == "turnover":
        table = regional_turnover()
        problem = Problem.of(table, (table.column("contributors") < 4) & (table.values > 0))
        return problem, protect(problem).pattern
    if name == "gaps":
        leaves = np.array([[[5, 8], [0, 0]], [[12, 30], [21, 17]], [[9, 44], [16, 3]]]) * 1.5
        dimensions = [flat("r", 3), flat("c", 2), flat("s", 2)]
        table = from_leaves(dimensions, leaves)
        zero = (table.values == 0) & table.is_leaf
        cells = {d.name: np.array(d.codes)[table.codes[~zero, i]] for i, d in enumerate(dimensions)}
        smaller = type(table).from_cells(dimensions, {**cells, "value": table.values[~zero]})
        problem = with_levels(smaller, [smaller.find(r="r3", c="c2", s="s2")])
        return problem, protect(problem).pattern
    return statements(name)


def statements(name: str) -> tuple[Problem, Pattern]:
    """Patterns that are no suppressions."""
    problem = three_way() if name in ("intervals", "mixed") else two_hierarchies()
    table, hidden = problem.table, protect(problem).pattern.touched(problem)
    low, high = (
        np.where(hidden, table.values - 20.5, table.values),
        np.where(hidden, table.values + 31, table.values),
    )
    rounded = Rounding.of(25 * np.round(table.values / 25), np.full(len(table), 25.0))
    shown = table.values + np.where(hidden, 17.0, 0.0)
    perturbed = Perturbation.of(shown, np.where(hidden, 40.0, 0.0))
    match name:
        case "intervals":
            return problem, Intervals.of(low, high)
        case "one-sided intervals":
            odd = np.arange(len(table)) % 2 == 1
            return problem, Intervals.of(
                np.where(hidden & odd, -np.inf, low), np.where(hidden & ~odd, np.inf, high)
            )
        case "rounding":
            return problem, rounded
        case "perturbation":
            return problem, perturbed
    some = np.flatnonzero(hidden)
    parts = [(some[:2], Intervals.of(low, high)), (some[2:4], rounded), (some[4:6], perturbed)]
    return problem, Mixed.of(table, [*parts, (some[6:], Suppression.of(table, hidden))])


def published(name: str, **texts: object) -> Publication:
    """The publication of a case, whether or not its pattern is safe."""
    problem, pattern = case(name)
    return publish(problem, pattern, audit(problem, pattern), despite=DESPITE, **texts)


def truth(publication: Publication) -> dict[tuple[str, ...], int]:
    """The number of each cell, by its codes."""
    names = [np.array(d.codes)[publication.codes[:, i]] for i, d in enumerate(publication.dimensions)]
    return {
        codes: cell for cell, codes in enumerate(zip(*(column.tolist() for column in names), strict=True))
    }


def with_unions() -> tuple[Problem, Suppression, Problem, Suppression]:
    """A problem with a virtual cell over two sensitive ones, and the same without; no cells are left open."""
    region = Dimension.of("region", Hierarchy.from_dict({"north": ["n1", "n2"], "south": ["s1", "s2"]}))
    table = from_leaves([region, flat("c", 3)], np.arange(3, 39, 3).reshape(4, 3))
    plain = Problem.of(table, [table.find(region="n1", c="c1"), table.find(region="s2", c="c1")])
    pair = csr_array(
        (np.ones(2), (np.zeros(2, dtype=int), np.flatnonzero(plain.sensitive))), shape=(1, len(table))
    )
    union = Hierarchy.flat(["n1", "s2"], "secret union")
    wider = Dimension("region", (*region.codes, "secret union"), (union, *region.hierarchies))
    row = np.array([[wider.index["secret union"], table.dimensions[1].index["c1"]]], dtype=np.int32)
    minus = csr_array(np.array([[-1.0]]))
    above = hstack([table.equations, csr_array((table.equations.shape[0], 1))])
    extended = replace(
        table,
        dimensions=(wider, table.dimensions[1]),
        codes=frozen(np.concatenate([table.codes, row])),
        units=frozen(np.append(table.units, pair.astype(np.int64) @ table.units)),
        equations=frozen_matrix(vstack([above, hstack([pair, minus])])),
        rhs=floats(np.append(table.rhs, 0.0)),
        virtual=1,
    )
    hidden = protect(plain).pattern.touched(plain)
    whole = Problem.of(extended, [*np.flatnonzero(plain.sensitive), len(table)])
    return whole, Suppression.of(extended, np.append(hidden, True)), plain, Suppression.of(table, hidden)
