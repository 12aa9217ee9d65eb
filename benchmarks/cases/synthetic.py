"""Tables in the manner of Serpell et al. (2013): contributors in cells, few of them make a cell sensitive.

The paper says how many tables of which shape there are (its Table 2), and of the resampled ones how large they are; it
does not say how values were drawn. As in its Figures 1 to 3 a cell is sensitive if it has one or two contributors, and
its levels are 10 percent of the value, at least 1 (its Table 1). Zeros are published.

- *Synthetic*: the contributors of a cell are Poisson, with a mean that differs between cells (lognormal); each gives a
  whole lognormal amount. Shape, contributors and skewness are factors drawn at random for each table.
- *Resampled*: the records of some industries of the demonstration file of tau-ARGUS, drawn with replacement: Var2 by
  industry (5 digits), size and region, all flat. All combinations are cells.
"""

from __future__ import annotations

import csv
import itertools
import math
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cases.real_data import DATA
from tablecloak import Dimension, Hierarchy, Levels, PPercent, Problem, assess, tabulate
from tablecloak.testing.instances import nested
from tablecloak.testing.random_cases import table_of_leaves

MIX = {"two-way": 155, "two-way, one hierarchy": 137, "two-way, both nested": 1, "three-way": 20}
"""The paper's Table 2: how many tables of each shape."""
CONTRIBUTORS = (7.0, 14.0, 28.0)
"""Contributors in a typical cell; one of these a table. Chosen so that E saves about as much as in the paper."""
UNEVEN = 1.0
"""Standard deviation of the logarithm of a cell's mean number of contributors."""
SKEWNESS = (0.5, 1.0, 1.5)
"""Standard deviation of the logarithm of a contribution; one of these a table."""
TYPICAL = 20.0
"""The median contribution."""
FEW = 2
"""Cells with this number of contributors, or fewer, are sensitive."""
RESAMPLED = 200
INDUSTRIES = (52, 227)
"""Numbers of industries; with 8 sizes, 12 regions and the totals 6,201 to 26,676 cells (paper: 6,100 to 26,775)."""


def synthetic(shape: str, number: int) -> Problem:
    """Table so-and-so of a shape in `MIX`, with a seed of its own; drawn again if no cell is sensitive."""
    for attempt in itertools.count():
        problem = _drawn(shape, np.random.default_rng([2013, list(MIX).index(shape), number, attempt]))
        if problem.sensitive.any():
            return problem
    raise AssertionError("there is no end of attempts")


def _drawn(shape: str, rng: np.random.Generator) -> Problem:
    dimensions = _dimensions(shape, rng)
    sizes = tuple(int(dimension.is_leaf.sum()) for dimension in dimensions)
    usual = rng.choice(CONTRIBUTORS) * np.exp(rng.normal(0.0, UNEVEN, sizes))
    counts = rng.poisson(usual)
    skewness = rng.choice(SKEWNESS)
    given = 1.0 + np.floor(TYPICAL * np.exp(rng.normal(0.0, skewness, int(counts.sum()))))
    values = np.bincount(np.repeat(np.arange(counts.size), counts.ravel()), given, counts.size).astype(
        np.float64
    )
    return few_contributors(dimensions, values.reshape(sizes), counts)


def _dimensions(shape: str, rng: np.random.Generator) -> list[Dimension]:
    """Codes: 5 to 25 of a flat dimension (4 to 9 in three ways), 2 to 5 at each level of a nested one."""
    if shape == "three-way":
        return [nested(name, (int(rng.integers(4, 10)),)) for name in "rcl"]
    trees = {"two-way": 0, "two-way, one hierarchy": 1, "two-way, both nested": 2}[shape]
    found = []
    for place, name in enumerate("rc"):
        if place < trees:
            found.append(nested(name, tuple(rng.integers(2, 6, int(rng.integers(2, 4))).tolist())))
        else:
            found.append(nested(name, (int(rng.integers(5, 26)),)))
    return found


def few_contributors(
    dimensions: list[Dimension], values: NDArray[np.float64], counts: NDArray[np.int64]
) -> Problem:
    """Values and contributors of all combinations of leaves: cells with few contributors are sensitive."""
    table, persons = (table_of_leaves(dimensions, leaves) for leaves in (values, counts))
    sensitive = (persons.values >= 1) & (persons.values <= FEW) & (table.values > 0)
    level = np.where(sensitive, np.maximum(1.0, 0.1 * table.values), 0.0)
    lower = np.minimum(level, table.values)
    return Problem.of(table, sensitive, Levels.of(len(table), lower, level), hide_zeros=False)


# ---------------------------------------------------------------------- the demonstration file of tau-ARGUS


def tau_problem(records: Path | None = None) -> Problem:
    """IndustryCode x Size x Region on Var2, all totals: 30,886 cells, of which the 10% rule makes 9,187 sensitive.

    Another file of records has its own numbers.
    """
    dimensions = [Dimension.of(name, Hierarchy.from_pairs(pairs)) for name, pairs in _trees().items()]
    file = records or DATA / "microdata" / "tau_testW.csv"
    return assess(tabulate(file, dimensions, "Var2", top=2), PPercent(10))


def _trees() -> dict[str, list[tuple[str, str]]]:
    """Code and parent of the dimensions of the file."""
    files = {"IndustryCode": ("industry.csv", "I"), "Size": ("size.csv", ""), "Region": ("region.csv", "")}
    found = {}
    for name, (file, prefix) in files.items():
        with (DATA / "microdata" / file).open(encoding="utf-8", newline="") as lines:
            found[name] = [
                (row["child"].removeprefix(prefix), row["parent"].removeprefix(prefix))
                for row in csv.DictReader(lines)
            ]
    return found


def microdata_part(names: tuple[str, ...], share: float, seed: int) -> Problem:
    """Some dimensions of the same table, from the records of a share of the industries of three digits."""
    rng = np.random.default_rng([23, seed])
    with (DATA / "microdata" / "tau_testW.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    groups = sorted({row["IndustryCode"][:3] for row in rows})
    kept = set(rng.choice(groups, max(2, int(share * len(groups))), replace=False).tolist())
    chosen = [row for row in rows if row["IndustryCode"][:3] in kept]
    records: dict[str, list[str] | NDArray[np.float64]] = {
        name: [row[name] for row in chosen] for name in names
    }
    records["Var2"] = np.array([float(row["Var2"]) for row in chosen])
    trees = _trees()
    trees["IndustryCode"] = [pair for pair in trees["IndustryCode"] if pair[0][:3] in kept]
    dimensions = [Dimension.of(name, Hierarchy.from_pairs(trees[name])) for name in names]
    return assess(tabulate(records, dimensions, "Var2", top=2), PPercent(10))


def resampled(number: int) -> Problem:
    """A table of some industries of the file, its records drawn with replacement."""
    rng = np.random.default_rng([2013, len(MIX), number])
    (industry, *others), values = _records()
    many = int(rng.integers(INDUSTRIES[0], INDUSTRIES[1] + 1))
    place = np.full(int(industry.max()) + 1, -1)
    place[np.sort(rng.choice(place.size, many, replace=False))] = np.arange(many)
    records = np.flatnonzero(place[industry] >= 0)
    drawn = rng.choice(records, records.size)
    sizes = (many, *(int(codes.max()) + 1 for codes in others))
    cell = np.ravel_multi_index((place[industry[drawn]], *(codes[drawn] for codes in others)), sizes)
    counts = np.bincount(cell, minlength=math.prod(sizes)).reshape(sizes)
    sums = np.bincount(cell, values[drawn], math.prod(sizes)).astype(np.float64).reshape(sizes)
    dimensions = [nested(name, (size,)) for name, size in zip("isr", sizes, strict=True)]
    return few_contributors(dimensions, sums, counts)


@cache
def _records() -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """Industry, size and region of each record as numbers, and its Var2: whole, at least 1."""
    with (DATA / "microdata" / "tau_testW.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    codes = [
        np.unique([row[name] for row in rows], return_inverse=True)[1].astype(np.int64)
        for name in ("IndustryCode", "Size", "Region")
    ]
    values = np.array([float(row["Var2"]) for row in rows])
    return codes, np.maximum(1.0, np.round(values))


def hierarchical_microdata(number: int) -> Problem:
    """The same table from half of its records, drawn without replacement: fewer cells, others sensitive."""
    rng = np.random.default_rng([1998, number])
    lines = (DATA / "microdata" / "tau_testW.csv").read_text(encoding="utf-8").splitlines()
    chosen = np.sort(rng.choice(len(lines) - 1, (len(lines) - 1) // 2, replace=False)) + 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "half.csv"
        path.write_text("\n".join([lines[0], *(lines[k] for k in chosen.tolist())]) + "\n", encoding="utf-8")
        return tau_problem(path)
