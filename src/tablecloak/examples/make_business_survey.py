"""Makes business_survey.csv, the invented business survey: ``python -m tablecloak.examples.make_business_survey``.

The classifications (region.csv, industry.csv, size.csv) are written by hand; this file invents the enterprises.
Only ``random.Random.random`` is drawn from, whose sequence never changes, so every run gives the same bytes.

Turnover of enterprise i is ``employees_i * productivity_g * exp(0.45 z_i)``, z_i standard normal, rounded to
thousand euros; its costs are ``turnover_i * (1 - margin_i)`` with margins around 7 percent. Employees are
log-uniform in the size class. Weights are constant in a stratum (region, section, size), as in a stratified sample.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from random import Random
from statistics import NormalDist

from tablecloak.files import write_file

SEED = 3
ENTERPRISES = 2000
HOLDINGS = 60
FIELDS = (
    "enterprise", "region", "industry", "size", "holding", "weight", "employees", "turnover", "costs", "profit",
    "request", "waiver",
)  # fmt: skip

PROVINCES = {
    "N1": 7, "N2": 5, "N3": 5, "E1": 12, "E2": 9, "E3": 7, "E4": 4, "S1": 11, "S2": 8, "S3": 5,
    "W1": 13, "W2": 9, "W3": 6,
}  # fmt: skip
"""How many enterprises each province has, as shares."""
LEAST_EXPECTED = 4
"""A group of industry is in no province that could expect fewer enterprises of it (champions are anywhere)."""

SIZES = {"S1": (1, 9), "S2": (10, 19), "S3": (20, 49), "S4": (50, 249), "S5": (250, 6000)}
"""Employees in each size class, from and to."""
MOST_EMPLOYEES = 1500
"""Maximum number of employees of an enterprise that is no champion."""
SIZE_SHARES = {"small": (55, 26, 16, 2.8, 0.2), "mixed": (36, 27, 25, 11, 1), "large": (8, 12, 28, 42, 10)}
"""Shares of the size classes by kind of industry, in percent."""
DENSE = {"S1": (3.5, 6.0), "S2": (2.4, 3.4), "S3": (1.4, 2.2), "S4": (1.0, 1.0), "S5": (1.0, 1.0)}
"""Sampling weights of a stratum of manufacturing and energy (sections A and B), from and to."""
SPARSE = {"S1": (8.5, 12.0), "S2": (5.5, 8.5), "S3": (4.0, 6.0), "S4": (3.0, 4.2), "S5": (1.0, 1.0)}
"""Sampling of the other sections; the largest class is taken in full everywhere."""

INDUSTRIES: Mapping[str, tuple[float, str, float, str]] = {
    "A11": (3.0, "mixed", 85, ""), "A12": (1.2, "large", 320, "N E3 W1 S1"), "A13": (2.0, "mixed", 210, "E W"),
    "A14": (1.0, "mixed", 190, "N2 E1 S W"), "A21": (1.3, "mixed", 120, "E2 E3 S"),
    "A22": (1.5, "mixed", 80, "E S W1"), "A31": (2.2, "mixed", 160, "N E3 W3"),
    "A32": (2.2, "mixed", 110, "N3 E S2 W"), "A33": (0.7, "large", 290, "N1 N3 E3 W3"),
    "A41": (1.2, "large", 410, "E1 S1 S2 W2"), "A42": (1.1, "large", 380, "E1 E2 W1"),
    "A51": (0.9, "large", 350, "N1 E2 S1"), "A52": (5.0, "mixed", 130, "N1 N2 E1 E2 E3 S W"),
    "A53": (4.0, "mixed", 190, "N1 E1 E2 E3 S1 S2 W"), "A54": (1.1, "mixed", 240, "E1 E4 S3 W2"),
    "B11": (0.8, "large", 900, "N E1 S2 W"), "B12": (0.9, "mixed", 620, "N1 E S W1 W2"),
    "B21": (2.2, "mixed", 210, ""), "B22": (2.6, "mixed", 170, ""), "C11": (6.5, "mixed", 150, ""),
    "C12": (2.3, "mixed", 180, "N1 N2 E1 E2 E3 S W"), "C21": (6.5, "small", 95, ""),
    "C22": (4.5, "small", 80, ""), "D11": (3.6, "small", 420, ""), "D12": (4.8, "small", 95, ""),
    "D21": (3.0, "mixed", 520, "N1 E S W"), "D22": (2.6, "mixed", 390, "N1 E1 E2 E3 S W"),
    "D23": (0.8, "mixed", 1500, "E1 S1 W1 W2"), "D31": (5.5, "small", 180, ""), "D32": (3.2, "small", 130, ""),
    "D33": (3.8, "small", 150, ""), "E11": (5.0, "mixed", 125, ""), "E12": (1.1, "mixed", 330, "E1 E4 S3 W2"),
    "E13": (1.6, "mixed", 160, "E1 E2 S W1 W2"), "E21": (3.5, "small", 75, ""), "E22": (6.0, "small", 55, ""),
    "F11": (3.6, "mixed", 140, "N1 E1 E2 S1 S2 W1 W2"), "F12": (0.8, "large", 450, "E1 S1 W1"),
    "F21": (4.0, "small", 105, "N1 N2 E1 E2 E3 S W"), "F22": (3.0, "small", 110, "N1 E1 E2 E3 S W"),
    "F23": (1.8, "small", 120, "E1 E2 S1 W1 W2"),
}  # fmt: skip
"""For each group: share of the enterprises, kind, turnover per employee (1,000 euros), where (empty: everywhere)."""

CHAMPIONS: Mapping[tuple[str, str], int] = {
    ("N1", "A51"): 2400, ("W2", "A54"): 1900, ("E3", "A33"): 640, ("E1", "A42"): 1500, ("S1", "A41"): 1100,
    ("S2", "B11"): 420, ("W1", "F12"): 2900, ("N3", "A31"): 450, ("E4", "E12"): 300, ("W3", "A33"): 330,
    ("S3", "A54"): 280, ("E2", "A21"): 1150, ("W1", "D31"): 3800, ("S1", "D23"): 1200, ("N2", "A14"): 310,
    ("S3", "A14"): 330, ("E1", "B12"): 400, ("W1", "A12"): 700, ("S2", "A41"): 380, ("E2", "A51"): 900,
    ("W2", "E12"): 800, ("N1", "B11"): 330, ("W3", "A13"): 480, ("E3", "A12"): 390, ("E2", "B12"): 300,
    ("S2", "A12"): 350, ("N2", "A52"): 600, ("W3", "F11"): 420, ("N2", "D22"): 290, ("S3", "E13"): 300,
    ("N3", "A33"): 260, ("E4", "A54"): 270,
}  # fmt: skip
"""Employees of the big firms that tower over their industry in their province."""
OPEN_CHAMPIONS = {("N2", "A14"), ("E3", "A33")}
"""Champions who have waived their protection: everybody knows their figures anyway."""


@dataclass(frozen=True)
class Enterprise:
    """A row of the survey."""

    region: str
    industry: str
    size: str
    employees: int
    turnover: int
    costs: int
    weight: float = 1.0
    holding: str = ""
    request: str = ""
    waiver: str = ""

    def row(self, number: int) -> tuple[str, ...]:
        """Fields of the record as they stand in the file."""
        figures = (self.employees, self.turnover, self.costs, self.turnover - self.costs)
        return (
            f"V{number:04}", self.region, self.industry, self.size, self.holding, f"{self.weight:.1f}",
            *map(str, figures), self.request, self.waiver,
        )  # fmt: skip


def business_survey_text(seed: int = SEED) -> str:
    """The whole file as text, line ends ``\\n``."""
    random = Random(seed)
    survey = [_enterprise(random, *place) for place in _places(random)]
    survey = _with_wishes(random, _with_holdings(random, _with_weights(random, survey)))
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows(one.row(number) for number, one in enumerate(_shuffled(random, survey), 1))
    return text.getvalue()


# ---------------------------------------------------------------------- drawing


def _drawn(random: Random, shares: Sequence[float]) -> int:
    """A position, each as likely as its share of the sum."""
    mark = random.random() * math.fsum(shares)
    for position, share in enumerate(shares):
        mark -= share
        if mark < 0:
            return position
    return max(position for position, share in enumerate(shares) if share > 0)


def _normal(random: Random) -> float:
    """A standard normal number, cut off at 3.3 on both sides."""
    return NormalDist().inv_cdf(0.0005 + 0.999 * random.random())


def _between(random: Random, low: float, high: float) -> float:
    return low + (high - low) * random.random()


def _shuffled(random: Random, survey: Sequence[Enterprise]) -> list[Enterprise]:
    """In random order: numbers of enterprises say nothing about them."""
    keys = [random.random() for _ in survey]
    return [survey[i] for i in sorted(range(len(survey)), key=keys.__getitem__)]


# ---------------------------------------------------------------------- enterprises


def _places(random: Random) -> Iterator[tuple[str, str, int | None]]:
    """Province, group and (of champions) employees of each enterprise."""
    yield from ((*place, employees) for place, employees in CHAMPIONS.items())
    groups, provinces = list(INDUSTRIES), list(PROVINCES)
    shares = [INDUSTRIES[group][0] for group in groups]
    chances = {group: _chances(group, ENTERPRISES / math.fsum(shares)) for group in groups}
    for _ in range(ENTERPRISES - len(CHAMPIONS)):
        group = groups[_drawn(random, shares)]
        yield provinces[_drawn(random, chances[group])], group, None


def _chances(group: str, enterprises: float) -> list[float]:
    """Probability of each province for a group of enterprises, given the expected number of them for each share.

    Provinces that could expect less than `LEAST_EXPECTED` are left out, the smallest first.
    """
    share, _, _, listed = INDUSTRIES[group]
    where = listed.split()
    chances = [
        float(size) if not where or province in where or province[0] in where else 0.0
        for province, size in PROVINCES.items()
    ]
    while True:
        smallest = min(chance for chance in chances if chance > 0)
        if share * enterprises * smallest >= LEAST_EXPECTED * math.fsum(chances):
            return chances
        chances[chances.index(smallest)] = 0.0


def _enterprise(random: Random, region: str, industry: str, employees: int | None) -> Enterprise:
    """Size and figures of one enterprise; the number of employees of a champion is given."""
    _, kind, productivity, _ = INDUSTRIES[industry]
    if employees is None:
        low, high = list(SIZES.values())[_drawn(random, SIZE_SHARES[kind])]
        most = min(high, MOST_EMPLOYEES)
        employees = int(math.exp(_between(random, math.log(low), math.log(most + 1))))
    size = next(size for size, (low, high) in SIZES.items() if low <= employees <= high)
    turnover = max(1, round(employees * productivity * math.exp(0.45 * _normal(random))))
    margin = 0.07 + 0.08 * _normal(random)
    return Enterprise(region, industry, size, employees, turnover, round(turnover * (1 - margin)))


def _with_weights(random: Random, survey: Sequence[Enterprise]) -> list[Enterprise]:
    """With one weight for each stratum: region, section, size."""
    strata = {
        (region, section, size): round(_between(random, *(DENSE if section in "AB" else SPARSE)[size]), 1)
        for region in dict.fromkeys(province[0] for province in PROVINCES)
        for section in dict.fromkeys(group[0] for group in INDUSTRIES)
        for size in SIZES
    }
    return [replace(one, weight=strata[one.region[0], one.industry[0], one.size]) for one in survey]


def _with_holdings(random: Random, survey: Sequence[Enterprise]) -> list[Enterprise]:
    """With about 300 enterprises in holdings: mostly larger ones, often of one section or one region."""
    survey, appetite = list(survey), dict(zip(SIZES, (0.15, 0.7, 2.0, 6.0, 12.0), strict=True))
    for number in range(1, HOLDINGS + 1):
        members = 2 + int(11 * random.random() ** 2)
        loyal, local = (8.0, 2.0) if random.random() < 0.5 else (2.0, 8.0)  # to its section, to its region
        head: Enterprise | None = None
        for _ in range(members):
            chances = [
                0.0
                if one.holding
                else appetite[one.size]
                * (loyal if head and one.industry[0] == head.industry[0] else 1.0)
                * (local if head and one.region[0] == head.region[0] else 1.0)
                for one in survey
            ]
            chosen = _drawn(random, chances)
            head = head or survey[chosen]
            survey[chosen] = replace(survey[chosen], holding=f"H{number:02}")
    return survey


def _with_wishes(random: Random, survey: Sequence[Enterprise]) -> list[Enterprise]:
    """With requests for protection (1, rarely 2) and waivers of it, both of larger enterprises only."""
    wished = []
    for one in survey:
        mark, large = random.random(), one.size in ("S4", "S5")
        champion = (
            (one.region, one.industry) if CHAMPIONS.get((one.region, one.industry)) == one.employees else None
        )
        request = "" if not large or champion or mark > 0.1 else "2" if mark < 0.02 else "1"
        waiver = "1" if champion in OPEN_CHAMPIONS or (large and not champion and 0.1 < mark < 0.14) else ""
        wished.append(replace(one, request=request, waiver=waiver))
    return wished


def main() -> None:
    """Write the file beside this one."""
    path = Path(__file__).with_name("business_survey.csv")
    write_file(path, business_survey_text(), public=True)


if __name__ == "__main__":
    main()
