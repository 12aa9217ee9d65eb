"""Insiders: attackers found in the microdata, because they contribute to the table themselves.

Candidates are the contributors with the most knowledge:

- *sole* contributors: the only unit of some cell knows that cell exactly;
- the *largest* contributors of each sensitive cell;
- *holdings*: the same at their level, with all that their respondents contribute. A respondent without a holding
  is one of its own there, and is not listed twice;
- *coalitions* of n units inside a sensitive cell: the n largest, and those from the second to the n + 1st, which
  know all but the largest.

An insider knows that a cell is at least the own contribution, and the cell itself where there is no other
contributor (`Attacker.contributing`). Sampling weights count: they are assumed to be known to the insider.

`pooled=True` replaces all of them by one stronger intruder with the tightest bounds of any of them on each
cell; what is left of it, value - low, is its *protection capacity*. On sensitive cells these are never tighter than
the protection levels, so that these do not become void. This is the simplification for respondents with several
cells that Salazar (2002), "A unified mathematical programming framework for different statistical disclosure
limitation methods", section 3, quotes from Jewett (1993) and Sande (1995). It has more knowledge than any of them on
cells that are not sensitive, so patterns hide more. It is no proof against a respondent in several sensitive cells
that knows one of them better than its levels: for that, leave `pooled` off.

`p_percent=p` sets the levels against each insider by the p% rule as he sees it, where that rule decides about a cell.
He contributes s to a, t is the largest *other* contributor and R = a - s - x_t the rest. What he takes for x_t is at
most the upper end of the cell less s, which is to exceed x_t by p percent of it:

    UPL = LPL = max(p/100 x_t - R, 0),   SPL: the common one.

Below there is a bound on x_t only for who knows R. It is exact where there is no rest, R = 0, and goes with UPL to zero
where the rest is enough, as in the rule itself. A width of LPL + UPL follows from both. (Salazar 2002, section 1.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats
from tablecloak.assessment.rules import PPercent
from tablecloak.assessment.tolerances import COMPARISON_NOISE
from tablecloak.errors import InputError
from tablecloak.model import Attacker, AttackerLevels, Contributions, Problem, knowing_the_page

POOLED = "all insiders in one"


@dataclass(frozen=True)
class Insiders:
    """Which contributors are attackers. Make them with `attackers`."""

    sole: bool = True
    """Only contributors of some cell."""
    largest: int = 1
    """Number of the largest contributors of each sensitive cell."""
    holdings: bool = True
    """Whether holdings are attackers too, where they are known."""
    coalition: int = 0
    """Number of contributors of one sensitive cell in a coalition; 0 for no coalitions."""
    pooled: bool = False
    """One stronger intruder instead of all of them."""
    p_percent: float | None = None
    """Levels against each of them by the p% rule as he sees it, instead of the common ones; not with `pooled`."""
    most: int = 500
    """Maximum number of attackers: everything is checked against each of them. Pooled ones are not counted."""
    candidates_per_attacker: ClassVar[int] = 20
    """Candidates are refused unseen if they are more than this times `most`; candidates with the same bounds
    become one attacker. Untested default."""

    def __post_init__(self) -> None:
        numbers = {"largest": self.largest, "coalition": self.coalition, "most": self.most}
        faults = [
            f"{name} must be a whole number that is not negative, got {number!r}"
            for name, number in numbers.items()
            if isinstance(number, bool) or not isinstance(number, int) or number < 0
        ]
        p: Any = self.p_percent
        real = isinstance(p, int | float | np.number) and not isinstance(p, bool)
        if p is not None and not (real and 0 < p < 100):
            faults.append(f"p_percent must be a number above 0 and below 100, got {p!r}")
        elif p is not None and self.pooled is True:
            faults.append("p_percent does not go with pooled: one intruder has no contribution of his own")
        if not faults and self.coalition == 1:
            faults.append("coalition must be at least 2; largest=1 gives single contributors")
        flags = {"sole": self.sole, "holdings": self.holdings, "pooled": self.pooled}
        faults += [
            f"{name} must be true or false" for name, flag in flags.items() if not isinstance(flag, bool)
        ]
        if faults:
            raise InputError("Insiders", faults)

    def attackers(self, problem: Problem, given: Bools | None = None) -> tuple[Attacker, ...]:
        """The attackers among the contributors of the problem's table, each kind of knowledge once.

        Contributors without more knowledge than the outsider are left out. `given`: cells whose levels were given by
        hand and stay the same against everybody.
        """
        levels = _levels(problem, self.holdings)
        _check_depth(levels, problem, self)
        groups = [(level, group) for level in levels for group in self._groups(level, problem)]
        if not self.pooled and len(groups) > self.candidates_per_attacker * self.most:
            raise self._too_many(len(groups), "candidates")
        known: dict[tuple[bytes, ...], Attacker] = {}
        by_rule = None if self.p_percent is None else _decided_by_p_percent(problem, given)
        for level, group in groups:
            attacker = _attacker(problem, level, group)
            if by_rule is not None and self.p_percent is not None:
                attacker = _with_levels(problem, attacker, level, group, by_rule, self.p_percent / 100)
            if _knows_more(problem, attacker):
                parts = (attacker.cells, attacker.low, attacker.high, attacker.levels.cells)
                levels_of = [own for _, own in attacker.levels.named()]
                known.setdefault(tuple(part.tobytes() for part in (*parts, *levels_of)), attacker)
        found = tuple(known.values())
        if self.pooled:
            return (_pooled(problem, found),) if found else ()
        if len(found) > self.most:
            raise self._too_many(len(found), "attackers")
        return found

    def _too_many(self, count: int, what: str) -> InputError:
        return InputError(
            "Insiders",
            [f"there are {count} {what} among the contributors, more than most={self.most}"],
            advice="Choose fewer (sole=False, largest=0, coalition=0), raise most, or pass pooled=True: "
            "one stronger intruder instead of all of them.",
        )

    def _groups(self, level: Contributions, problem: Problem) -> Iterator[tuple[int, ...]]:
        """The units of each candidate, each set of them once."""
        top = level.top_unit[problem.sensitive]
        singles = [top[:, : self.largest].ravel()]
        if self.sole:
            singles.append(level.top_unit[level.count == 1, :1].ravel())
        units = np.unique(np.concatenate(singles))
        yield from ((int(unit),) for unit in units[units >= 0])
        if self.coalition:
            n = self.coalition
            others = np.pad(
                top[:, 1 : n + 1], ((0, 0), (0, max(n + 1 - top.shape[1], 0))), constant_values=-1
            )
            both = np.concatenate([top[:, :n], others])
            sets = np.unique(np.sort(both, axis=1), axis=0)
            yield from (tuple(int(unit) for unit in row if unit >= 0) for row in sets if (row >= 0).sum() > 1)


def _levels(problem: Problem, holdings: bool) -> list[Contributions]:
    """Levels of contributors: respondents, and holdings where they are wanted and known."""
    levels = (problem.table.respondents, problem.table.holdings if holdings else None)
    known = [level for level in levels if level is not None and level.knows_units]
    if not known:
        advice = "Tabulate microdata: figures by cell do not tell who contributes where."
        raise InputError("Insiders", ["the table does not know its contributors one by one"], advice=advice)
    return known


def _check_depth(levels: list[Contributions], problem: Problem, wanted: Insiders) -> None:
    """Raise where more of the largest contributors are needed than the table knows."""
    needed = max(wanted.largest, wanted.coalition + 1 if wanted.coalition else 0)
    faults = [
        f"the {needed} largest {level.level} of sensitive cells are needed, but the table knows {level.depth}"
        for level in levels
        if needed > level.depth and (level.count[problem.sensitive] > level.depth).any()
    ]
    if faults:
        raise InputError("Insiders", faults, advice=f"Tabulate with top={needed} or more.")


def _attacker(problem: Problem, level: Contributions, group: tuple[int, ...]) -> Attacker:
    names = [str(level.units[unit]) for unit in group]
    kind = "holding" if level.level == "holdings" else "respondent"
    name = f"{kind} {names[0]}" if len(names) == 1 else f"coalition of {kind}s {', '.join(names)}"
    cells, sums = level.contributions_of(np.array(group, dtype=np.int64))
    return knowing_the_page(problem, Attacker.contributing(name, problem.table, cells, sums))


def _knows_more(problem: Problem, attacker: Attacker) -> bool:
    """Whether an attacker has more knowledge than the outsider, or a larger level."""
    low, high = problem.outsider_low[attacker.cells], problem.outsider_high[attacker.cells]
    own, levels = attacker.levels, problem.levels
    larger = (own.upper > levels.upper[own.cells]) | (own.lower > levels.lower[own.cells])
    return bool(((attacker.low > low) | (attacker.high < high)).any() or larger.any())


# ---------------------------------------------------------------------- levels as an insider sees them


def _decided_by_p_percent(problem: Problem, given: Bools | None) -> Bools:
    """Sensitive cells about which the p% rule decided, and no level was given by hand."""
    where = problem.sensitive.copy()
    if given is not None:
        where[: given.size] &= ~given
    for cell, reasons in problem.reasons.items():
        where[cell] &= bool(reasons) and reasons[0].kind == PPercent.kind
    return where


def _with_levels(
    problem: Problem,
    attacker: Attacker,
    level: Contributions,
    group: tuple[int, ...],
    where: Bools,
    p: float,
) -> Attacker:
    """The attacker with levels by the p% rule as he sees it, in the cells he contributes to.

    Sizes are those of the shadow variable, as in the rules; a level is their share of the value. Units that have waived
    their protection are no targets. Where the table does not know the largest other one the common level stays.
    """
    units = np.array(group, dtype=np.int64)
    shares = csr_array(abs(level.shadow_shares[units]).multiply(level.unit_weight[units][:, None]))
    own = np.asarray(shares.sum(axis=0), dtype=np.float64).ravel()
    cells = np.flatnonzero(where & (own > 0) & (level.total > 0))
    others = level.top_unit[cells]
    target = (others >= 0) & ~np.isin(others, units)
    target &= ~level.unit_waived[np.maximum(others, 0)] if level.units.size else False
    largest = np.where(target, np.abs(level.top[cells]), 0.0).max(axis=1, initial=0.0)
    known = target.any(axis=1) | (level.count[cells] <= level.depth)
    cells, largest = cells[known], largest[known]
    total = level.total[cells]
    short = np.maximum(p * largest - (total - own[cells] - largest), 0.0) * (largest > 0)
    value = problem.table.values[cells]
    wanted = np.where(
        short > COMPARISON_NOISE * total, np.maximum(np.abs(value) * short / total, problem.table.unit), 0.0
    )
    low, high = (end[cells] for end in problem.known_by(attacker))
    levels = AttackerLevels.at(cells, np.minimum(wanted, value - low), np.minimum(wanted, high - value))
    return replace(attacker, levels=levels)


# ---------------------------------------------------------------------- one stronger intruder


def _pooled(problem: Problem, attackers: tuple[Attacker, ...]) -> Attacker:
    """One attacker with the tightest bounds of any of them, but none tighter than the levels of a sensitive cell."""
    low, high = problem.outsider_low.copy(), problem.outsider_high.copy()
    for insider in attackers:
        low[insider.cells] = np.maximum(low[insider.cells], insider.low)
        high[insider.cells] = np.minimum(high[insider.cells], insider.high)
    a, levels, sensitive = problem.table.values, problem.levels, problem.sensitive
    low = np.where(sensitive, np.minimum(low, a - levels.lower), low)
    high = np.where(sensitive, np.maximum(high, a + levels.upper), high)
    low, high = _as_wide(problem, low, high)
    cells = np.flatnonzero((low > problem.outsider_low) | (high < problem.outsider_high))
    return Attacker.knowing(POOLED, cells, low[cells], high[cells])


def _as_wide(problem: Problem, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The box, as wide as the sliding levels: first downwards, then upwards, as far as the outsider's box goes."""
    with np.errstate(invalid="ignore"):
        missing = np.maximum(problem.levels.sliding - (high - low), 0.0)
    down = np.maximum(low - missing, problem.outsider_low)
    with np.errstate(invalid="ignore"):
        rest = np.where(missing > 0, missing - (low - down), 0.0)
    return down, np.minimum(high + np.maximum(rest, 0.0), problem.outsider_high)
