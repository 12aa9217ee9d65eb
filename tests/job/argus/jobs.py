"""Small jobs of τ-ARGUS on disk, and a model of its rules that shares nothing with the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np

from tablecloak.job.argus import ArgusOptions, run_argus
from tablecloak.job.argus.run import ArgusOutcome

REGIONS = {"North": ["N1", "N2"], "South": ["S1", "S2", "S3"], "East": ["E1"]}
HRC = "".join(f"{top}\n" + "".join(f"@{leaf}\n" for leaf in leaves) for top, leaves in REGIONS.items())
RDA = """<SEPARATOR> ";"
region 6
  <RECODEABLE>
  <TOTCODE> "Total"
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "@"
size 2 "9"
  <RECODEABLE>
turnover 8
  <NUMERIC>
  <DECIMALS> 1
staff 4
  <NUMERIC>
price 4
  <NUMERIC>
w 4
  <WEIGHT>
  <DECIMALS> 1
group 3
  <HOLDING>
ask 1
  <REQUEST> "1" "2"
"""
FIELDS = ("region", "size", "turnover", "staff", "price", "w", "group", "ask")
Record = Mapping[str, str]


def records(seed: int, count: int = 60) -> list[Record]:
    """Records with ties, zeros, small and huge values; holdings, requests and missing codes."""
    rng = np.random.default_rng(seed)
    leaves = [leaf for some in REGIONS.values() for leaf in some]
    chosen = []
    for number in range(count):
        value = rng.choice([0.0, 0.1, 1.0, 7.5, round(float(rng.lognormal(3, 2)), 1), 1e6])
        chosen.append(
            {
                "region": str(rng.choice(leaves)),
                "size": str(rng.choice(["1", "2", "10", "9"])),
                "turnover": f"{value:.1f}",
                "staff": str(int(rng.integers(0, 30))),
                "price": str(int(rng.integers(1, 9))),
                "w": f"{rng.choice([1.0, 1.5, 2.0]):.1f}",
                "group": f"g{rng.integers(0, 8)}" if rng.random() < 0.4 else f"s{number}",
                "ask": str(rng.choice(["0", "0", "1", "2"])),
            }
        )
    return chosen


def write_data(folder: Path, data: Iterable[Record]) -> None:
    (folder / "micro.csv").write_text(
        "".join(";".join(each[name] for name in FIELDS) + "\n" for each in data)
    )
    (folder / "micro.rda").write_text(RDA)
    (folder / "region.hrc").write_text(HRC)


HEAD = '<OPENMICRODATA> "micro.csv"\n<OPENMETADATA> "micro.rda"\n'


def run(folder: Path, text: str, **options: object) -> ArgusOutcome:
    """Run a batch file in a folder, with its log beside it."""
    (folder / "job.arb").write_text(text)
    given = {"log": folder / "log.txt", **options}
    return run_argus(folder / "job.arb", ArgusOptions(**given))  # type: ignore[arg-type]


def cells(path: Path, dimensions: int, separator: str = ",") -> dict[tuple[str, ...], list[str]]:
    """The rows of a written table by their codes."""
    rows = [line.replace('"', "").split(separator) for line in path.read_text().splitlines()]
    return {tuple(row[:dimensions]): row[dimensions:] for row in rows}


# ---------------------------------------------------------------------- the model


class Model:
    """The rules of one table by their definitions, in fractions, cell by cell."""

    def __init__(
        self, data: Iterable[Record], response: str = "turnover", shadow: str = "", *, weighted: bool = False
    ):
        self.response, self.shadow, self.weighted = response, shadow or response, weighted
        self.cells: dict[tuple[str, str], list[Record]] = {}
        for each in data:
            above = next(top for top, leaves in REGIONS.items() if each["region"] in leaves)
            for region in ("Total", above, each["region"]):
                for size in ("Total", each["size"]):
                    self.cells.setdefault((region, size), []).append(each)

    def weight(self, record: Record) -> Fraction:
        return Fraction(record["w"]) if self.weighted else Fraction(1)

    def total(self, cell: tuple[str, str], variable: str) -> Fraction:
        return sum((self.weight(each) * Fraction(each[variable]) for each in self.cells[cell]), Fraction(0))

    def units(self, cell: tuple[str, str], holding: bool) -> list[tuple[Fraction, Fraction]]:
        """(value, weight) of the contributors or holdings, the largest first; holdings weigh 1."""
        if not holding:
            found = [(abs(Fraction(each[self.shadow])), self.weight(each)) for each in self.cells[cell]]
        else:
            sums: dict[str, Fraction] = {}
            for each in self.cells[cell]:
                own = self.weight(each) * Fraction(each[self.shadow])
                sums[each["group"]] = sums.get(each["group"], Fraction(0)) + own
            found = [(abs(value), Fraction(1)) for value in sums.values()]
        return sorted(found, key=lambda unit: -unit[0])

    @staticmethod
    def top(units: list[tuple[Fraction, Fraction]], n: int) -> Fraction:
        left, found = Fraction(n), Fraction(0)
        for value, weight in units:
            found += value * min(weight, left)
            left -= min(weight, left)
        return found

    def status(
        self, cell: tuple[str, str], rules: list[tuple], *, missing_safe: bool
    ) -> tuple[int, Fraction]:
        """Status and relative level: the first hit decides, dominance and p% together."""
        total = self.total(cell, self.shadow)
        if missing_safe and cell[1] == "9":
            return 1, Fraction(0)
        required, found = Fraction(0), {}
        for name, numbers, holding in rules:
            units = self.units(cell, holding)
            if name == "NK":
                n, k = numbers
                if total > 0 and units[0][0] > 0 and 100 * self.top(units, n) / total > k:
                    found[3] = True
                    required = max(required, Fraction(100, k) * self.top(units, n))
            elif name == "P":
                p, q, n = numbers
                largest = self.top(units, n + 1)
                if Fraction(p, 100) * units[0][0] + Fraction(q, 100) * (largest - total) > 0:
                    found[3] = True
                    required = max(required, Fraction(p, q) * units[0][0] + largest)
            elif name == "REQ":
                one, two, least, margin = numbers
                asking = [each for each in self.cells[cell] if each["ask"] in ("1", "2")]
                for code, percent in (("1", one), ("2", two)):
                    own = [abs(Fraction(each[self.shadow])) for each in asking if each["ask"] == code]
                    if own and max(own) > Fraction(percent, 100) * total:
                        found[4] = Fraction(margin, 100)
                if asking and len(self.cells[cell]) < least:
                    found[4] = Fraction(margin, 100)
            elif name == "FREQ":
                least, margin = numbers
                count = len(units) if holding else sum((weight for _, weight in units), Fraction(0))
                if 0 < count < least:
                    found[5] = max(found.get(5, Fraction(0)), Fraction(margin, 100))
            elif name == "ZERO" and self.total(cell, self.response) == 0:
                found[6] = Fraction(0)
        if not found:
            return 1, Fraction(0)
        first = min(found)
        if first != 3:
            return first, Fraction(found[first])
        return 3, (required - total) / total if total else Fraction(1, 5)
