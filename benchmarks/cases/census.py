"""Census-like tables of counts, generated from a seed: sex x age x region, with status and citizenship, commuters.

The expected count of a leaf cell is the number of people times shares: of the region (lognormal: few large, many small
ones), of the age (a pyramid that thins out), of the sex at that age, of the status at that age, of the citizenship in
that region. Counts are negative binomial around it (Poisson with a gamma rate), so that there are many zeros, ones and
twos, and all totals add up. Small counts are sensitive, as a frequency rule has it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak import Dimension, Hierarchy, Levels, Problem
from tablecloak.testing.random_cases import table_of_leaves

Floats = NDArray[np.float64]

TOTAL = "Total"
SEXES = ("female", "male")
STATUSES = ("single", "married", "widowed", "divorced")
CITIZENSHIPS = ("own", "near", "far")
HEAPING = 1.5
"""Shape of the gamma rate: the smaller, the more zeros and the longer the tail."""
SPREAD = 1.2
"""Standard deviation of the logarithm of the size of regions."""
STRANGERS = 0.08
"""The share of people with another citizenship, on average."""


def census_three_way(
    *,
    years: int = 100,
    regions: tuple[int, ...] = (5, 6, 7),
    people: int = 300_000,
    threshold: int = 3,
    seed: int = 1,
) -> Problem:
    """Sex x age (single years in groups of 5 and 10) x region (nested, numbers in each); 96,678 cells by default."""
    rng = np.random.default_rng(seed)
    age, region = age_dimension(years, 1), region_dimension(regions)
    size, ages = region_sizes(int(region.is_leaf.sum()), rng), middles(years, 1)
    expected = people * _product("as,a,r->sar", sex_shares(ages), age_shares(ages), size)
    return small_counts([Dimension.flat("sex", SEXES), age, region], _drawn(expected, rng), threshold)


def census_five_way(
    *,
    years: int = 100,
    regions: tuple[int, ...] = (6, 8),
    people: int = 120_000,
    threshold: int = 3,
    seed: int = 1,
) -> Problem:
    """The same with marital status and citizenship, ages in groups of 5 and 10; 102,300 cells by default."""
    rng = np.random.default_rng(seed)
    age, region = age_dimension(years, 5), region_dimension(regions)
    count = int(region.is_leaf.sum())
    size, ages = region_sizes(count, rng), middles(years, 5)
    strangers = rng.beta(2.0, 2.0 / STRANGERS - 2.0, size=count)
    citizenships = np.stack([1 - strangers, 0.7 * strangers, 0.3 * strangers], axis=1)
    shares = sex_shares(ages), age_shares(ages), size, status_shares(ages), citizenships
    expected = people * _product("as,a,r,am,rc->sarmc", *shares)
    dimensions = [
        Dimension.flat("sex", SEXES),
        age,
        region,
        Dimension.flat("status", STATUSES),
        Dimension.flat("citizenship", CITIZENSHIPS),
    ]
    return small_counts(dimensions, _drawn(expected, rng), threshold)


def commuters(places: int = 500, *, people: int | None = None, threshold: int = 3, seed: int = 1) -> Problem:
    """Place of living x place of work, two-way; about four people a cell unless told, most of them in few cells."""
    rng = np.random.default_rng(seed)
    home, work = region_sizes(places, rng), region_sizes(places, rng)
    stay = np.diag(home)
    expected = (4 * places**2 if people is None else people) * (0.8 * np.outer(home, work) + 0.2 * stay)
    codes = [f"{i + 1}" for i in range(places)]
    dimensions = [Dimension.flat("home", codes), Dimension.flat("work", codes)]
    return small_counts(dimensions, _drawn(expected, rng), threshold)


def cube_of_counts(size: int, *, mean: float = 4.0, threshold: int = 3, seed: int = 1) -> Problem:
    """A flat three-way table, all dimensions of the same size."""
    rng = np.random.default_rng(seed)
    shares = [region_sizes(size, rng) for _ in range(3)]
    dimensions = [Dimension.flat(name, [f"{name}{i + 1}" for i in range(size)]) for name in "abc"]
    expected = mean * size**3 * _product("a,b,c->abc", *shares)
    return small_counts(dimensions, _drawn(expected, rng), threshold)


def small_counts(dimensions: list[Dimension], counts: NDArray[np.int64], threshold: int) -> Problem:
    """A table of counts: those from 1 to threshold - 1 are sensitive, with a sliding level of the threshold."""
    table = table_of_leaves(dimensions, counts, value="count")
    small = (table.values > 0) & (table.values < threshold)
    return Problem.of(table, small, Levels.of(len(table), sliding=np.where(small, float(threshold), 0.0)))


# ---------------------------------------------------------------------- dimensions


def age_dimension(years: int, finest: int) -> Dimension:
    """Ages below `years` in groups of 10, these in groups of 5, and single years where `finest` is 1."""
    if years < 10 or years % 10 or finest not in (1, 5):
        raise ValueError("ages come in groups of ten years, at least one; the finest are 1 or 5 years wide")
    pairs = []
    for ten in range(0, years, 10):
        pairs.append((_ages(ten, 10), TOTAL))
        for five in (ten, ten + 5):
            pairs.append((_ages(five, 5), _ages(ten, 10)))
            pairs += [(_ages(year, 1), _ages(five, 5)) for year in range(five, five + 5) if finest == 1]
    return Dimension.of("age", Hierarchy.from_pairs(pairs))


def _ages(first: int, width: int) -> str:
    return f"{first}" if width == 1 else f"{first}-{first + width - 1}"


def region_dimension(regions: tuple[int, ...]) -> Dimension:
    """Regions in regions: the number at the top, the number in each of them, and so on."""
    if not regions or min(regions) < 1:
        raise ValueError("give at least one level of regions, with at least one in each")
    pairs, above = [], [("R", TOTAL)]
    for level, count in enumerate(regions):
        below = [
            (f"{code}{'.' if level else ''}{i + 1}", code if level else TOTAL)
            for code, _ in above
            for i in range(count)
        ]
        pairs += below
        above = below
    return Dimension.of("region", Hierarchy.from_pairs(pairs))


# ---------------------------------------------------------------------- shares


def region_sizes(count: int, rng: np.random.Generator) -> Floats:
    """Shares of the regions: lognormal."""
    size = np.exp(SPREAD * rng.standard_normal(count))
    return np.asarray(size / size.sum())


def middles(years: int, width: int) -> Floats:
    """The middles of age groups of this width in years."""
    return np.arange(0, years, width, dtype=np.float64) + width / 2


def age_shares(ages: Floats) -> Floats:
    """Shares of the ages: about level up to sixty, then thinning out."""
    share = 1.0 / (1.0 + np.exp((ages - 72.0) / 8.0)) * (1.0 + 0.25 * np.sin(ages / 9.0))
    return np.asarray(share / share.sum())


def sex_shares(ages: Floats) -> Floats:
    """(ages, 2): women and men; more men at birth, more women among the old."""
    women = 0.487 + 0.25 * np.clip((ages - 55.0) / 45.0, 0.0, 1.0)
    return np.stack([women, 1.0 - women], axis=1)


def status_shares(ages: Floats) -> Floats:
    """(ages, 4): single, married, widowed, divorced; children are single."""
    ever = 0.9 / (1.0 + np.exp(-(ages - 31.0) / 5.0)) * (ages >= 15)
    widowed = ever * 0.8 / (1.0 + np.exp(-(ages - 80.0) / 6.0))
    divorced = 0.15 * (ever - widowed) * np.clip((ages - 20.0) / 25.0, 0.0, 1.0)
    return np.stack([1.0 - ever, ever - widowed - divorced, widowed, divorced], axis=1)


def _product(axes: str, *shares: Floats) -> Floats:
    """The shares multiplied along named axes."""
    return np.asarray(np.einsum(axes, *shares))


def _drawn(expected: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Negative binomial counts."""
    return rng.poisson(expected * rng.gamma(HEAPING, 1.0 / HEAPING, size=expected.shape))
