"""Rules that say which cells are sensitive, and how much protection they need.

Symbols, for one cell: x_1 >= x_2 >= ... the contributions of its units (respondents, or holdings) to the shadow
variable by absolute value; X their total with signs; f how many there are; V the value of the cell.
top_m = x_1 + ... + x_m; with sampling weights a contribution x_i counts as w_i copies of itself and top_m adds
up m copies, the last block in part: sum of x_i * min(w_i, m - w_1 - ... - w_{i-1}).

==================  ===========================================================  ===========================
rule                a cell is sensitive if (all inequalities strict)             its relative level
==================  ===========================================================  ===========================
Dominance(n, k)     100 top_n / X > k                                            (100/k top_n - X) / X
PPercent(p, n)      p/100 x_1 + (top_{n+1} - X) > 0                              (p/100 x_1 + top_{n+1} - X) / X
PriorPosterior      p/100 x_1 + q/100 (top_{n+1} - X) > 0                        (p/q x_1 + top_{n+1} - X) / X
Request             a requester of code c has more than percent_c/100 X, or      percent / 100
                    there is one and f < minimum
Frequency           0 < f < minimum (with weights: the sum of them < minimum)    percent / 100 (20 unless given; in
                                                                                 counts upward: minimum - V)
ZeroUnsafe          V = 0 and f > 0                                              none: an upper `distance`
==================  ===========================================================  ===========================

A unit that has *waived* its protection needs none: the target of the p% rules is then the largest unit x_t
without waiver, with x_t + top_n in place of top_{n+1} if it is not among the n + 1 largest; dominance requires that
one of the n largest, frequency and zero that any unit has not waived.

The definitions are those of τ-ARGUS (manual 4.1, section 2.1); waivers are an extension. See docs/rules.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from tablecloak.assessment.concentration import (
    HOLDINGS,
    RESPONDENTS,
    Caught,
    check_depth,
    contributions_at,
    copies,
    exceeds,
    first,
    is_zero,
    missing_units,
    one_of,
    several_of,
    share,
    top,
    waived,
)
from tablecloak.errors import InputError, check_kind
from tablecloak.model import Table


class Rule:
    """The interface of all rules: a name and a kind, words for their findings, and `caught`."""

    key: ClassVar[str]
    """The name of the rule in a job file."""
    kind: ClassVar[str]
    """The kind of reason: ``dominance``, ``p-percent``, ``request``, ``frequency``, ``zero``."""

    @property
    def name(self) -> str:
        """The rule with its parameters."""
        raise NotImplementedError

    @property
    def why(self) -> str:
        """The reason why a cell is caught, in words without figures of the cell."""
        raise NotImplementedError

    def caught(self, table: Table) -> Caught:
        """The cells that the rule catches, and the levels they need."""
        raise NotImplementedError

    def to_mapping(self) -> dict[str, Any]:
        """The rule as a table of a job file, which `rule_of` reads back."""
        own: Any = self
        values = {field.name: getattr(self, field.name) for field in fields(own)}
        return {"rule": self.key} | {name: value for name, value in values.items() if value is not None}


# ---------------------------------------------------------------------- rules about the largest contributors


@dataclass(frozen=True)
class Dominance(Rule):
    """(n, k): the n largest units make up more than k percent of the cell."""

    n: int
    k: float
    level: str = RESPONDENTS
    key: ClassVar[str] = "dominance"
    kind: ClassVar[str] = "dominance"

    def __post_init__(self) -> None:
        _refuse("Dominance", _whole("n", self.n), _number("k", self.k, above=0, most=100), _level(self.level))

    @property
    def name(self) -> str:
        return f"dominance rule (n={self.n}, k={self.k:g}{_at(self.level)})"

    @property
    def why(self) -> str:
        if self.n == 1:
            return f"the largest {one_of(self.level)} makes up more than {self.k:g}%"
        return f"the {self.n} largest {several_of(self.level)} make up more than {self.k:g}%"

    def caught(self, table: Table) -> Caught:
        units = contributions_at(table, self.level, self.name)
        check_depth(table, units, self.n, self.name)
        largest, total = top(units, self.n), units.total
        needed = 100 / self.k * largest
        unwaived = ((copies(units, self.n) > 0) & ~waived(units)).any(axis=1)
        over = (total > 0) & (largest > 0) & exceeds(needed, total) & unwaived
        return Caught.of(over, share(needed - total, total, over))


class _Ambiguity(Rule):
    """The p% family: how closely the n next largest units can estimate the largest one."""

    kind: ClassVar[str] = "p-percent"
    p: float
    n: int
    level: str

    @property
    def _prior(self) -> float:
        return 100.0

    @property
    def why(self) -> str:
        others = "the second largest" if self.n == 1 else f"the {self.n} next largest together"
        return f"the largest {one_of(self.level)} could be estimated by {others} within {self.p:g}%"

    def caught(self, table: Table) -> Caught:
        units = contributions_at(table, self.level, self.name)
        check_depth(table, units, self.n + 1, self.name)
        total, target, largest = units.total, first(units), top(units, self.n + 1)
        if (units.unwaived < units.count).any():
            target = np.abs(units.largest_unwaived)
            among = (units.top_unit == units.largest_unwaived_unit[:, None]) & (copies(units, self.n + 1) > 0)
            apart = ~among.any(axis=1) & (units.unwaived < units.count)
            largest = np.where(apart, target + top(units, self.n), largest)
        needed = self.p / self._prior * target + largest
        over = (units.count > 0) & (units.unwaived > 0) & exceeds(needed, total)
        return Caught.of(over, share(needed - total, total, over))


@dataclass(frozen=True)
class PPercent(_Ambiguity):
    """p%: the n units after the largest can estimate it within p percent."""

    p: float
    n: int = 1
    level: str = RESPONDENTS
    key: ClassVar[str] = "p-percent"

    def __post_init__(self) -> None:
        _refuse("PPercent", _number("p", self.p, above=0, below=100), _whole("n", self.n), _level(self.level))

    @property
    def name(self) -> str:
        coalition = f", n={self.n}" if self.n != 1 else ""
        return f"p% rule (p={self.p:g}{coalition}{_at(self.level)})"


@dataclass(frozen=True)
class PriorPosterior(_Ambiguity):
    """(p, q, n): as p%, where every contributor can estimate the others within q percent beforehand."""

    p: float
    q: float
    n: int = 1
    level: str = RESPONDENTS
    key: ClassVar[str] = "prior-posterior"

    def __post_init__(self) -> None:
        numbers = [*_number("p", self.p, above=0), *_number("q", self.q, above=0, most=100)]
        if not numbers and self.p >= self.q:
            numbers = ["p must be less than q: no estimate may become closer by the table than it was before"]
        _refuse("PriorPosterior", numbers, _whole("n", self.n), _level(self.level))

    @property
    def _prior(self) -> float:
        return self.q

    @property
    def name(self) -> str:
        coalition = f", n={self.n}" if self.n != 1 else ""
        return f"prior-posterior rule (p={self.p:g}, q={self.q:g}{coalition}{_at(self.level)})"

    @property
    def why(self) -> str:
        return f"{super().why}, knowing the others within {self.q:g}%"


# ---------------------------------------------------------------------- rules about counts, zeros and requests


@dataclass(frozen=True)
class Frequency(Rule):
    """Fewer units than `minimum`; `percent` of the value is the level.

    Without `percent` it is 20, but in tables of counts the upper level is minimum - V: the count could be one that is
    not small.
    """

    minimum: float
    percent: float | None = None
    level: str = RESPONDENTS
    key: ClassVar[str] = "frequency"
    kind: ClassVar[str] = "frequency"
    default_percent: ClassVar[float] = 20.0
    """The level in percent, where none is given and the values are no counts."""

    def __post_init__(self) -> None:
        percent = [] if self.percent is None else _number("percent", self.percent, least=0)
        _refuse("Frequency", _number("minimum", self.minimum, above=0), percent, _level(self.level))

    @property
    def name(self) -> str:
        return f"minimum frequency ({self.minimum:g}{_at(self.level)})"

    @property
    def why(self) -> str:
        return f"fewer than {self.minimum:g} {self.level}"

    def caught(self, table: Table) -> Caught:
        units = contributions_at(table, self.level, self.name)
        few = (units.count > 0) & exceeds(np.full(len(units), float(self.minimum)), units.weight)
        few &= units.unwaived > 0
        if self.percent is not None:
            return Caught.of(few, self.percent / 100)
        return Caught.of(few, self.default_percent / 100, above=missing_units(table, self.minimum))


@dataclass(frozen=True)
class ZeroUnsafe(Rule):
    """A value of zero with contributors; values up to `distance` must not be excluded."""

    distance: float
    key: ClassVar[str] = "zero"
    kind: ClassVar[str] = "zero"

    def __post_init__(self) -> None:
        _refuse("ZeroUnsafe", _number("distance", self.distance, above=0))

    @property
    def name(self) -> str:
        return f"zero-unsafe rule (distance={self.distance:g})"

    @property
    def why(self) -> str:
        return "a zero tells what every contributor has"

    def caught(self, table: Table) -> Caught:
        known = RESPONDENTS if table.respondents is not None or table.holdings is None else HOLDINGS
        units = contributions_at(table, known, self.name)
        nothing = is_zero(table) & (units.count > 0) & (units.unwaived > 0)
        return Caught.of(nothing, 0.0, self.distance)


@dataclass(frozen=True)
class Request(Rule):
    """A unit that requests protection has more than its percentage of the cell.

    Units carry request code 1 or 2, each with a percentage (`percent2` is the same as `percent1` unless given).
    Where some unit requests protection there must be `minimum` units. `percent` of the value is the level.
    """

    percent1: float
    percent2: float | None = None
    minimum: float = 0
    percent: float = 20.0
    level: str = RESPONDENTS
    key: ClassVar[str] = "request"
    kind: ClassVar[str] = "request"

    def __post_init__(self) -> None:
        _refuse(
            "Request",
            _number("percent1", self.percent1, least=0, most=100),
            [] if self.percent2 is None else _number("percent2", self.percent2, least=0, most=100),
            _number("minimum", self.minimum, least=0),
            _number("percent", self.percent, least=0),
            _level(self.level),
        )

    @property
    def name(self) -> str:
        second = self.percent1 if self.percent2 is None else self.percent2
        few = f", minimum {self.minimum:g}" if self.minimum else ""
        return f"request rule ({self.percent1:g}%, {second:g}%{few}{_at(self.level)})"

    @property
    def why(self) -> str:
        few = f", or there are fewer than {self.minimum:g} {self.level}" if self.minimum else ""
        return f"a {one_of(self.level)} who asks for protection makes up more than agreed{few}"

    def caught(self, table: Table) -> Caught:
        units = contributions_at(table, self.level, self.name)
        second = self.percent1 if self.percent2 is None else self.percent2
        large = np.zeros(len(units), dtype=bool)
        for code, percent in enumerate((self.percent1, second)):
            requested = np.abs(units.requested[:, code])
            large |= (requested > 0) & exceeds(requested, percent / 100 * units.total)
        few = (units.requesters > 0) & (units.count < self.minimum)
        return Caught.of(large | few, self.percent / 100)


RULES: Mapping[str, type[Rule]] = {
    rule.key: rule for rule in (Dominance, PPercent, PriorPosterior, Request, Frequency, ZeroUnsafe)
}
"""Rules by what they are called in a job file."""


def rule_of(mapping: Mapping[str, Any]) -> Rule:
    """The rule that a table of a job file describes: ``{"rule": "p-percent", "p": 10}``."""
    check_kind("Rule", "a rule", mapping, Mapping, 'Write it like {"rule": "p-percent", "p": 10}.')
    name = mapping.get("rule")
    if not isinstance(name, str) or name not in RULES:
        what = "there is no key 'rule'" if name is None else f"there is no rule {name!r}"
        raise InputError("Rule", [what], advice=f"Rules: {', '.join(RULES)}.")
    chosen: Any = RULES[name]
    known = {field.name: field.default is MISSING for field in fields(chosen)}
    given = {key: value for key, value in mapping.items() if key != "rule"}
    faults = [f"unknown key {key!r}" for key in given if key not in known]
    faults += [f"{key} is missing" for key, needed in known.items() if needed and key not in given]
    if faults:
        raise InputError(f"Rule {name!r}", faults, advice=f"Its keys: {', '.join(known)}.")
    rule: Rule = chosen(**given)
    return rule


# ---------------------------------------------------------------------- words and faults


def _at(level: str) -> str:
    return "" if level == RESPONDENTS else f", {level}"


def _refuse(rule: str, *faults: list[str]) -> None:
    if found := [fault for some in faults for fault in some]:
        raise InputError(f"Rule {rule}", found)


def _number(
    name: str,
    value: Any,
    *,
    above: float = -np.inf,
    least: float = -np.inf,
    below: float = np.inf,
    most: float = np.inf,
) -> list[str]:
    """Faults of a parameter."""
    numeric = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if numeric and above < value < below and least <= value <= most:
        return []
    return [f"{name} must be {_range_words(above, least, below, most)}, got {value!r}"]


def _range_words(above: float, least: float, below: float, most: float) -> str:
    limits: Iterator[tuple[str, float]] = iter(
        (("more than", above), ("at least", least), ("less than", below), ("at most", most))
    )
    words = [f"{word} {limit:g}" for word, limit in limits if np.isfinite(limit)]
    return f"a number {' and '.join(words)}"


def _whole(name: str, value: Any) -> list[str]:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return [] if whole and value >= 1 else [f"{name} must be a whole number of at least 1, got {value!r}"]


def _level(level: Any) -> list[str]:
    if level in (RESPONDENTS, HOLDINGS):
        return []
    return [f"level must be {RESPONDENTS!r} or {HOLDINGS!r}, got {level!r}"]
