"""assess: a table and rules in, a problem out; each sensitive cell remembers which rules caught it and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, both_bounds, floats, mask
from tablecloak.assessment.concentration import Caught, is_zero
from tablecloak.assessment.insiders import Insiders
from tablecloak.assessment.marks import FORCED, HIDDEN, LEVELS, MARKS, SAFE, UNSAFE, Marks
from tablecloak.assessment.rules import Rule
from tablecloak.assessment.unions import unite
from tablecloak.errors import InputError, check_kind, counted, near
from tablecloak.model import (
    Attacker,
    Levels,
    Prices,
    PricesLike,
    Problem,
    Reason,
    Table,
    known_bounds,
    resolved_prices,
)
from tablecloak.model import weights as weighing

ABOUT_LARGEST = ("dominance", "p-percent")
ORDER = (ABOUT_LARGEST, ("request",), ("frequency",), ("zero",))
"""Kinds of rules in the order in which they decide about a cell that several of them catch."""
MANUAL, UNION = "manual", "union"
CAPPED = "the level goes as far as the a-priori bounds allow"
WORDS = {
    SAFE: "not sensitive, whatever the rules say",
    UNSAFE: "sensitive, whatever the rules say",
    FORCED: "must be published",
    HIDDEN: "must be hidden",
}


def assess(
    table: Table,
    rules: Rule | Sequence[Rule],
    *,
    marks: Marks | None = None,
    insiders: Insiders | None = None,
    attackers: Sequence[Attacker] = (),
    conditional: Mapping[str, ArrayLike] | None = None,
    unions: bool | int = False,
    manual_percent: float = 20.0,
    missing_safe: Mapping[str, Iterable[str]] | None = None,
    weights: ArrayLike | str = "value",
    prices: PricesLike | None = None,
    forced: ArrayLike | None = None,
    hidden: ArrayLike | None = None,
    known: tuple[ArrayLike, ArrayLike] | None = None,
    hide_zeros: bool = True,
    widen: bool = False,
    most_touched: int | None = None,
) -> Problem:
    """Find what must be protected in a table, how well and against which attackers.

    A cell is sensitive if a rule catches it and no mark calls it safe, or if a mark calls it unsafe. Its levels
    are, with rho the largest relative level that rules of the deciding kind require (dominance and p% count as
    one kind; `manual_percent` / 100 for marked cells and where X = 0)::

        lower = upper = max(|V| rho, 10^-decimals)        where V = 0: lower = 0, upper = the zero rule's distance

    They are cut to what the outsider's box allows (no more than its value lies below a cell that cannot be
    negative), unless `widen` widens the box. Levels of marks replace them. In tables of counts the frequency rule
    requires upper = minimum - V unless it has a percentage, and no level goes below one unit (docs/counts.md).

    `insiders` adds attackers found among the contributors to `attackers`. `conditional` has levels of cells that are
    not sensitive, if they are touched: `width`, `lower`, `upper`, cut to the box too. `unions` protects sensitive cells
    caught together although they protect each other (True, or of how many cells at most). `missing_safe` names codes,
    by dimension, whose cells no rule makes sensitive. The rest goes to `Problem.of`; arrays have one entry a cell.
    """
    _check_others(table, marks, insiders, missing_safe, most_touched)
    checked = _checked_rules(rules, manual_percent, unions)
    safe = _missing(table, missing_safe)
    judged = _Judged.of(table, checked, marks, safe, manual_percent)
    judged.check_marks()
    given = _Given.of(table, marks, weights, known, forced, hidden).with_prices(table, prices)
    if unions:
        united = unite(table, judged.sensitive, checked, None if unions is True else int(unions))
        judged = _Judged.of(united.table, checked, marks, safe, manual_percent, len(table))
        given = given.with_unions(united.members, *known_bounds(table, hide_zeros))
    levels, capped = judged.levels(given.low, given.high, widen)
    levels = _with_conditional(levels, conditional, judged, None if widen else (given.low, given.high))
    problem = Problem.of(
        judged.table,
        judged.sensitive,
        levels,
        **given.options(),
        hide_zeros=hide_zeros,
        widen=widen,
        most_touched=None if most_touched is None else most_touched + len(judged.table) - len(table),
        attackers=attackers,
    )
    return _with_insiders(judged.explained(problem, capped), insiders, judged)


def _with_insiders(problem: Problem, insiders: Insiders | None, judged: _Judged) -> Problem:
    """The problem with the attackers among the contributors after those it has."""
    found = insiders.attackers(problem, judged.by_hand) if insiders else ()
    return replace(problem, attackers=(*problem.attackers, *found))


def summary(problem: Problem) -> str:
    """Numbers of sensitive cells, of those that each rule caught, and of those it decided about. Confidential."""
    table, sensitive = problem.table, problem.sensitive
    united = int((sensitive & table.is_virtual).sum())
    printed = counted(len(table) - table.virtual, "cell")
    lines = [f"{int(sensitive.sum()) - united} of {printed} are sensitive"]
    known = [problem.reasons.get(cell, ()) for cell in np.flatnonzero(sensitive).tolist()]
    caught = Counter((reason.rule, reason.kind == UNION) for some in known for reason in some)
    decided = Counter((some[0].rule, some[0].kind == UNION) for some in known if some)
    for key in sorted(caught, key=lambda key: (key[1], -caught[key], key[0])):
        where = " (unions)" if key[1] else ""
        lines.append(f"  {key[0]}{where}: caught {caught[key]}, decided about {decided[key]}")
    if problem.cut.size:
        lines.append(f"{counted(problem.cut.size, 'level')} cut to what the page itself tells everybody")
    if united:
        lines.append(f"{counted(united, 'union')} of sensitive cells must be protected too")
    if problem.attackers:
        lines.append(f"{counted(len(problem.attackers), 'insider')} beside the outsider")
    return "\n".join(lines)


# ---------------------------------------------------------------------- what rules and marks say


@dataclass(frozen=True, eq=False)
class _Judged:
    """A table with what each rule caught. Cells from number `plain` on are unions of others."""

    table: Table
    rules: tuple[Rule, ...]
    caught: tuple[Caught, ...]
    marks: Marks | None
    manual: float
    plain: int

    @classmethod
    def of(
        cls,
        table: Table,
        rules: tuple[Rule, ...],
        marks: Marks | None,
        safe: Bools,
        manual_percent: float,
        plain: int | None = None,
    ) -> _Judged:
        cells = len(table) if plain is None else plain
        spared = safe if marks is None else safe | marks.safe
        spared = np.concatenate([spared, np.zeros(len(table) - cells, dtype=bool)])
        caught, faults, advice = list[Caught](), list[str](), dict[str, None]()
        for rule in rules:
            try:
                found = rule.caught(table)
            except InputError as error:
                faults, advice = [*faults, *error.faults], {**advice, error.advice: None}
                continue
            looked = ~spared
            looked[cells:] &= rule.kind in ABOUT_LARGEST
            caught.append(Caught.of(found.mask & looked, found.relative, found.distance, found.above))
        if faults:
            raise InputError("Rules", faults, advice=" ".join(advice))
        return cls(table, rules, tuple(caught), marks, manual_percent / 100, cells)

    def marked(self, mark: str) -> Bools:
        """Cells that carry a mark."""
        where = np.zeros(len(self.table), dtype=bool)
        if self.marks is not None:
            where[: self.plain] = getattr(self.marks, mark)
        return where

    @property
    def by_hand(self) -> Bools | None:
        """Cells whose levels a mark gives."""
        return None if self.marks is None else self.marks.has_level

    @property
    def sensitive(self) -> Bools:
        where = self.marked(UNSAFE)
        for found in self.caught:
            where |= found.mask
        return where

    def check_marks(self) -> None:
        """Raise where marks contradict the rules."""
        if self.marks is None:
            return
        label, place, sensitive = self.table.label, self.marks.places, self.sensitive
        faults = [
            f"{place[cell]}: cell {label(cell)} is marked forced, but a rule makes it sensitive"
            for cell in np.flatnonzero(self.marks.forced & sensitive).tolist()
        ]
        faults += [
            f"{place[cell]}: cell {label(cell)} is given a protection level, but is not sensitive"
            for cell in np.flatnonzero(self.marks.has_level & ~sensitive).tolist()
        ]
        if faults:
            advice = (
                "Mark cells safe that are to be published all the same, and unsafe that are to have levels."
            )
            raise InputError("Marks", faults, advice=advice)

    # ------------------------------------------------------------------ levels

    def wanted(self) -> tuple[Floats, Floats]:
        """The lower and upper levels by the deciding rule, where the value is not zero."""
        unit, size = self.table.unit, np.abs(self.table.values)
        wanted, decided = np.zeros((2, len(self.table))), np.zeros(len(self.table), dtype=bool)
        for rank in range(len(ORDER) + 1):
            required, found = np.zeros((2, len(self.table))), np.zeros(len(self.table), dtype=bool)
            for rule, caught in zip(self.rules, self.caught, strict=True):
                if _rank(rule) == rank:
                    share = np.where(np.isnan(caught.relative), self.manual, caught.relative)
                    level = np.maximum(size * share, unit)
                    both = np.stack([level, np.where(np.isnan(caught.above), level, caught.above)])
                    required = np.maximum(required, np.where(caught.mask, both, 0.0))
                    found |= caught.mask
            wanted = np.where(found & ~decided, required, wanted)
            decided |= found
        manual = np.where(self.marked(UNSAFE), np.maximum(size * self.manual, unit), 0.0)
        lower, upper = np.maximum(wanted, manual)
        return lower, upper

    def levels(self, low: Floats, high: Floats, widen: bool) -> tuple[Levels, Bools]:
        """The levels of all cells, and where the a-priori bounds low..high cut them."""
        value, sensitive, zero = self.table.values, self.sensitive, is_zero(self.table)
        distance = np.zeros(len(self.table))
        for found in self.caught:
            distance = np.where(found.mask, np.maximum(distance, found.distance), distance)
        below, above = self.wanted()
        lower = np.where(sensitive & ~zero, below, 0.0)
        upper = np.where(sensitive, np.where(zero, distance, above), 0.0)
        capped = np.zeros(len(self.table), dtype=bool)
        if not widen:
            down, up = np.maximum(value - low, 0.0), np.maximum(high - value, 0.0)
            capped = (lower > down) | (upper > up)
            lower, upper = np.minimum(lower, down), np.minimum(upper, up)
        given = {"lower": lower, "upper": upper, "sliding": np.zeros(len(self.table))}
        for name in LEVELS if self.marks is not None else ():
            replaced = np.flatnonzero(~np.isnan(getattr(self.marks, name)))
            given[name][replaced] = getattr(self.marks, name)[replaced]
            capped[replaced] = False
        return Levels.of(len(self.table), **given), capped

    # ------------------------------------------------------------------ reasons

    def explained(self, problem: Problem, capped: Bools) -> Problem:
        """The problem with its reasons."""
        return replace(problem, reasons=self.reasons(capped | mask(problem.cut, capped.size)))

    def reasons(self, capped: Bools) -> dict[int, tuple[Reason, ...]]:
        """Why each cell is sensitive or marked; cells with the same story share it."""
        ranked = sorted(range(len(self.rules)), key=lambda i: (_rank(self.rules[i]), self.rules[i].kind))
        facts = [self.caught[i].mask for i in ranked] + [self.marked(mark) for mark in MARKS]
        facts += [capped, np.arange(len(self.table)) >= self.plain]
        stories, story = np.unique(np.stack(facts, axis=1), axis=0, return_inverse=True)
        reasons = [tuple(self._reasons([self.rules[i] for i in ranked], row.tolist())) for row in stories]
        reasons_of = story.ravel()
        silent = np.array([not some for some in reasons], dtype=bool)
        return {cell: reasons[reasons_of[cell]] for cell in np.flatnonzero(~silent[reasons_of]).tolist()}

    def _reasons(self, rules: Sequence[Rule], facts: Sequence[bool]) -> Iterator[Reason]:
        *caught, capped, union = facts
        note = f"; {CAPPED}" if capped else ""
        for rule, hit in zip(rules, caught[: len(rules)], strict=True):
            if hit:
                why = f"{rule.why}, in these cells together" if union else rule.why
                yield Reason(rule.name, UNION if union else rule.kind, why + note)
                note = ""
        for mark, hit in zip(MARKS, caught[len(rules) :], strict=True):
            if hit:
                yield Reason(f"mark {mark}", MANUAL, WORDS[mark] + note)
                note = ""


def _rank(rule: Rule) -> int:
    """The order in which rules decide; rules of other kinds come last."""
    return next((rank for rank, kinds in enumerate(ORDER) if rule.kind in kinds), len(ORDER))


# ---------------------------------------------------------------------- what is handed on to the problem


@dataclass(frozen=True, eq=False)
class _Given:
    """Marks and numbers of each cell beside the rules."""

    weights: Floats
    low: Floats
    high: Floats
    forced: Bools
    hidden: Bools
    prices: Prices | None = None

    @classmethod
    def of(
        cls,
        table: Table,
        marks: Marks | None,
        weights: ArrayLike | str,
        known: tuple[ArrayLike, ArrayLike] | None,
        forced: ArrayLike | None,
        hidden: ArrayLike | None,
    ) -> _Given:
        least = 0.0 if (table.values >= 0).all() else -np.inf
        low, high = both_bounds(known if known is not None else (least, np.inf))
        costs = weighing.named(table, weights) if isinstance(weights, str) else weights
        arrays = {"weights": costs, "known low": low, "known high": high}
        numbers = {name: floats(array, len(table)) for name, array in arrays.items()}
        faults = [
            f"{name}: expected {len(table)} numbers, got an array of shape {array.shape}"
            for name, array in numbers.items()
            if array.shape != (len(table),)
        ]
        if faults:
            raise InputError("Problem", faults)
        masks = {FORCED: mask(forced, len(table)), HIDDEN: mask(hidden, len(table))}
        if marks is not None:
            replaced = zip(numbers, (marks.weight, marks.low, marks.high), strict=True)
            numbers |= {name: np.where(np.isnan(new), numbers[name], new) for name, new in replaced}
            masks = {FORCED: masks[FORCED] | marks.forced, HIDDEN: masks[HIDDEN] | marks.hidden}
        cost, below, above = numbers.values()
        return cls(cost, below, above, masks[FORCED], masks[HIDDEN])

    def with_unions(self, members: csr_array, low: Floats, high: Floats) -> _Given:
        """Marks and numbers with unions at the end: hiding them costs nothing, bounds of all kinds add up."""
        nowhere = np.zeros(members.shape[0], dtype=bool)
        return _Given(
            np.concatenate([self.weights, np.zeros(members.shape[0])]),
            np.concatenate([self.low, _sums(members, np.maximum(self.low, low))]),
            np.concatenate([self.high, _sums(members, np.minimum(self.high, high))]),
            np.concatenate([self.forced, nowhere]),
            np.concatenate([self.hidden, nowhere]),
            None if self.prices is None else self.prices.extended(nowhere.size),
        )

    def with_prices(self, table: Table, prices: PricesLike | None) -> _Given:
        """A problem with prices, given as arrays."""
        return self if prices is None else replace(self, prices=resolved_prices(table, prices, self.weights))

    def options(self) -> dict[str, Any]:
        """All of it, as `Problem.of` takes it."""
        return {
            "weights": self.weights,
            "prices": self.prices,
            "forced": self.forced,
            "hidden": self.hidden,
            "known": (self.low, self.high),
        }


def _sums(members: csr_array, bounds: Floats) -> Floats:
    """The sum of the bounds over the members of each union; bounds may be infinite."""
    union = np.repeat(np.arange(members.shape[0]), np.diff(members.indptr))
    return np.bincount(union, weights=bounds[members.indices], minlength=members.shape[0]).astype(np.float64)


CONDITIONAL = ("width", "lower", "upper")
"""Conditional levels: max - min, a - min and max - a of a cell that is touched."""


def _with_conditional(
    levels: Levels, given: Mapping[str, ArrayLike] | None, judged: _Judged, box: tuple[Floats, Floats] | None
) -> Levels:
    """Levels with conditional ones of all cells but sensitive ones, as far as a box goes (None: as they are)."""
    given = {} if given is None else given
    check_kind("Assessment", "conditional", given, Mapping, 'Write it like {"width": 20}.')
    strange = [str(name) for name in given if name not in CONDITIONAL]
    faults = [f"conditional: there is no level {name!r}{near(name, CONDITIONAL)}" for name in strange]
    plain, more = judged.plain, len(judged.table) - judged.plain
    found = {name: floats(given.get(name, 0.0), plain) for name in CONDITIONAL}
    faults += [
        f"conditional {name}: expected {plain} numbers, got shape {level.shape}"
        for name, level in found.items()
        if level.shape != (plain,)
    ]
    if faults:
        raise InputError("Assessment", faults, advice=f"Conditional levels are {', '.join(CONDITIONAL)}.")
    if box is not None:
        value, low, high = (each[:plain] for each in (judged.table.values, *box))
        below, above = np.maximum(value - low, 0.0), np.maximum(high - value, 0.0)
        most = {"width": below + above, "lower": below, "upper": above}
        found = {
            name: np.where(level > 0, np.minimum(level, most[name]), level) for name, level in found.items()
        }
    kept = (np.where(judged.sensitive[:plain], 0.0, found[name]) for name in CONDITIONAL)
    conditional = (np.append(level, np.zeros(more)) for level in kept)
    return Levels.of(len(judged.table), levels.lower, levels.upper, levels.sliding, *conditional)


# ---------------------------------------------------------------------- faults


def _checked_rules(rules: Rule | Sequence[Rule], manual_percent: float, unions: Any) -> tuple[Rule, ...]:
    given: Any = rules
    several = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    checked: tuple[Any, ...] = tuple(given) if several else (given,)
    faults = [
        f"rule number {i + 1} is no rule but {type(rule).__name__}"
        for i, rule in enumerate(checked)
        if not isinstance(rule, Rule)
    ]
    if not isinstance(manual_percent, int | float | np.number) or not 0 <= manual_percent < np.inf:
        faults.append("manual_percent must be a finite number that is not negative")
    if not isinstance(unions, bool) and (not isinstance(unions, int) or unions < 2):
        faults.append("unions must be true, false, or the most cells of a union, at least 2")
    if faults:
        raise InputError("Rules", faults, advice="Rules are objects such as PPercent(10); see docs/rules.md.")
    return checked


def _check_others(table: Table, marks: Any, insiders: Any, missing_safe: Any, most_touched: Any) -> None:
    """Raise where something is of the wrong kind."""
    check_kind("Assessment", "table", table, Table, "Make one with tabulate.")
    if marks is not None:
        check_kind("Assessment", "marks", marks, Marks, "Read them with Marks.of(table, data).")
        if marks.safe.shape != (len(table),):
            fault = f"the marks are about a table of {marks.safe.size} cells, this one has {len(table)}"
            raise InputError("Marks", [fault], advice="Read them with Marks.of of this very table.")
    if insiders is not None:
        check_kind("Assessment", "insiders", insiders, Insiders, "Write insiders=Insiders().")
    if missing_safe is not None:
        check_kind("Assessment", "missing_safe", missing_safe, Mapping, 'Write it like {"region": ["9"]}.')
    if most_touched is not None:
        check_kind("Assessment", "most_touched", most_touched, (int, float, np.number))


def _missing(table: Table, codes: Mapping[str, Iterable[str]] | None) -> Bools:
    """Cells that have one of the codes that make a cell safe."""
    safe, faults = np.zeros(len(table), dtype=bool), list[str]()
    dimensions = {dimension.name: d for d, dimension in enumerate(table.dimensions)}
    for name, some in (codes or {}).items():
        if name not in dimensions:
            faults.append(f"there is no dimension {name!r}")
            continue
        d = dimensions[name]
        index = table.dimensions[d].index
        wanted = [some] if isinstance(some, str) else list(some)
        faults += [f"unknown code {code!r} in dimension {name!r}" for code in wanted if code not in index]
        safe |= np.isin(table.codes[:, d], [index[code] for code in wanted if code in index])
    if faults:
        raise InputError("Codes of missing cells", faults, advice=f"Dimensions: {', '.join(dimensions)}.")
    return safe
