"""The order of the modular approach: subtables from the top of the hierarchies down, and back where a margin is hidden.

Each table without hierarchies (`attacker.subtables.HierarchicalSubtable`) is solved by branch and cut, groups by the
sum of their levels, lower ones first:

1. Cells that other subtables hide are sensitive in this one: those on its margins, and those of step 3. Their levels
   are a share of their value, at most the largest level of the subtable that chose them, at least one data unit.
2. Margins were decided by other subtables: they cost as much as all inner cells that they could replace,
   w + (largest weight of an inner cell) x (number of parts in each dimension in which the cell is a total).
3. A margin that is hidden all the same is kept; the group is finished, and everything begins again from the top with
   these cells sensitive. Subtables whose sensitive cells did not change have the pattern that they had.

With `bounds="carried"` what a subtable leaves of its hidden cells are their boxes in the subtables below: an attacker
who knows the one knows the other too.

No cell is left open in a subtable, but the whole table knows more than each of them.

Reference: de Wolf (2002), sections 3 and 4; choices that the paper leaves open are listed in the page of the method.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints, frozen
from tablecloak.attacker import HierarchicalSubtable, Subtables, is_network
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods.branch_and_cut import BranchAndCut, ExactParams
from tablecloak.methods.modular.settings import ModularSettings
from tablecloak.model import Levels, Mark, Problem, Status, Suppression
from tablecloak.progress import Deadline, Progress, silent


@dataclass(frozen=True)
class ModularOptions:
    """What may differ between subtables and runs."""

    lower_margin: float = 1.0
    upper_margin: float = 1.0
    """Cells that another subtable hides must be possible from the one to the other multiple of their value, at least
    one data unit away from it: wide margins leave less open in the whole and hide more. Benchmark page: modular."""
    subtable_seconds: float | None = None
    """Time limit for each subtable; None: none of its own."""
    max_weight: float | None = 20_000.0
    """Weights of a subtable are scaled to whole numbers up to this; None: as they are."""
    carry_bounds: bool = False
    """Whether what a subtable leaves of the cells it hides bounds them in the subtables below."""


@dataclass(eq=False)
class _Subtable:
    """A subtable as a problem of its own, before it inherits anything."""

    place: HierarchicalSubtable
    parent: Problem
    max_weight: float | None
    margin_price: float
    solved: dict[bytes, _Solution] = field(default_factory=dict)
    """By what it inherited; the last one only."""

    @cached_property
    def view(self) -> Problem:
        """Made when there is something to protect."""
        return self.place.system.view(self.parent)

    @cached_property
    def weights(self) -> Floats:
        """Weights with what margins cost, as whole numbers if that is required."""
        place, own = self.place, self.view.weights
        margin: Bools = np.any(place.total, axis=1)
        sizes = np.maximum(np.array(place.sizes, dtype=np.float64), 1.0)
        parts = np.where(place.total, sizes, 1.0).prod(axis=1)
        price = self.margin_price * float(own[~margin].max(initial=0.0))
        weights = own + np.where(margin, price * parts, 0.0)
        largest = float(weights.max(initial=0.0))
        if self.max_weight is None or largest <= 0.0:
            return weights
        scale = min(self.max_weight / largest, 1.0)
        return np.where(weights > 0, np.maximum(np.rint(weights * scale), 1.0), 0.0)

    @property
    def cells(self) -> Ints:
        """The numbers of its cells in the whole table."""
        return self.place.system.cells


@dataclass(frozen=True, eq=False)
class _Solution:
    """The pattern of a subtable."""

    hidden: Bools
    largest_level: float
    low: Floats
    high: Floats
    """What an outsider who knows the subtable can still believe of its cells, where boxes are carried."""


@dataclass(frozen=True, eq=False)
class _Inherited:
    """What a subtable takes over: cells that others hide, with their levels, and the boxes that they leave."""

    cells: Bools
    lower: Floats
    upper: Floats
    low: Floats
    high: Floats

    @property
    def key(self) -> bytes:
        return b"".join(
            array.tobytes() for array in (self.cells, self.lower, self.upper, self.low, self.high)
        )


class Modular:
    """The state of a run: cells hidden so far, with their levels in other subtables, and what to begin again with."""

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        deadline: Deadline,
        progress: Progress,
        options: ModularOptions = ModularOptions(),
        settings: ModularSettings = ModularSettings(),
    ) -> None:
        self.problem, self.rng = problem, rng
        self.deadline, self.progress = deadline, progress
        self.options, self.settings = options, settings
        places = Subtables(problem.table).hierarchical()
        self.subtables = [
            _Subtable(place, problem, options.max_weight, settings.margin_price) for place in places
        ]
        self.counts = Counter[str]({"subtables": len(self.subtables)})
        size, self._given = len(problem.table), problem.must_hide
        self._kept = np.zeros(size, dtype=bool)
        """Margins that were hidden: sensitive from the top on."""
        self._lower, self._upper = np.zeros(size), np.zeros(size)
        self._begin()

    def _begin(self) -> None:
        """The state at the top of a pass."""
        self._hidden = self._kept.copy()
        self._low, self._high = self.problem.outsider_low.copy(), self.problem.outsider_high.copy()

    @property
    def hidden(self) -> Bools:
        """The cells that the last pass hides, the sensitive ones among them."""
        return self._hidden | self._given

    def run(self) -> None:
        """Pass after pass from the top until no further margin is hidden, or the deadline passes."""
        for _ in range(self.settings.max_sweeps):
            self.counts["passes"] += 1
            if self._pass() or self.deadline.passed():
                return
            self._begin()

    def _pass(self) -> bool:
        """Solve all groups from the top on; False if margins were hidden that the next pass begins with."""
        done = 0
        for _, group in groupby(self.subtables, key=lambda each: each.place.group):
            kept = int(self._kept.sum())
            for subtable in group:
                if self.deadline.passed():
                    return False
                self.progress("subtables", done, len(self.subtables))
                self._solve(subtable)
                done += 1
            if int(self._kept.sum()) > kept:
                return False
        return True

    # ------------------------------------------------------------------ one subtable

    def _inherited(self, subtable: _Subtable) -> _Inherited:
        cells, view = subtable.cells, subtable.view
        taken = self._hidden[cells] & ~view.must_hide
        lower, upper = (np.where(taken, level[cells], 0.0) for level in (self._lower, self._upper))
        return _Inherited(taken, lower, upper, self._low[cells].copy(), self._high[cells].copy())

    def _solve(self, subtable: _Subtable) -> None:
        """The pattern of a subtable, and what follows from it for the others."""
        if not (self._hidden[subtable.cells].any() or self._given[subtable.cells].any()):
            return
        inherited = self._inherited(subtable)
        known = subtable.solved.get(inherited.key)
        if known is None:
            known = self._solved(subtable, inherited)
            subtable.solved = {inherited.key: known}
        else:
            self.counts["taken from the pass before"] += 1
        new = known.hidden & ~subtable.view.must_hide & ~inherited.cells & ~subtable.view.table.is_virtual
        cells, margin = subtable.cells[new], np.any(subtable.place.total[new], axis=1)
        value, unit = np.abs(self.problem.table.values[cells]), self.problem.table.unit
        shares = (1.0 - self.options.lower_margin, self.options.upper_margin - 1.0)
        for levels, share in zip((self._lower, self._upper), shares, strict=True):
            level = np.minimum(share * value, known.largest_level)
            levels[cells] = np.maximum(np.ceil(np.round(level / unit, 6)), 1.0) * unit
        self._hidden[cells] = True
        self._kept[cells[margin]] = True
        self.counts["margins hidden"] += int(margin.sum())
        if self.options.carry_bounds:
            np.maximum.at(self._low, subtable.cells, known.low)
            np.minimum.at(self._high, subtable.cells, known.high)

    def _solved(self, subtable: _Subtable, inherited: _Inherited) -> _Solution:
        self.counts["solved"] += 1
        problem = _with_inherited(subtable, inherited)
        try:
            hidden = self._hidden_by(problem)
        except InfeasibleProblem:
            self.counts["subtables with cells that they cannot protect"] += 1
            hidden = self._hidden_by(_without_open(problem))
        given = [float(level.max(initial=0.0)) for _, level in subtable.view.levels.named()]
        largest = max(given) or max(float(level.max(initial=0.0)) for _, level in problem.levels.named())
        low, high = (
            self._left(subtable.view, hidden)
            if self.options.carry_bounds
            else (inherited.low, inherited.high)
        )
        return _Solution(hidden, largest, low, high)

    def _hidden_by(self, problem: Problem) -> Bools:
        """The pattern of branch and cut."""
        share = None if self.deadline.moment is None else self.settings.subtable_share * self.deadline.left
        limits = [limit for limit in (self.options.subtable_seconds, share) if limit is not None]
        seconds = min(limits, default=None)
        params = ExactParams(seconds=seconds)
        if not is_network(problem):
            params = replace(params, gap=self.settings.gap, nodes=self.settings.nodes)
        found = BranchAndCut(problem, params, self.rng, silent).run()
        if found.status is Status.INTERRUPTED and self.deadline.interrupt is not None:
            self.deadline.interrupt.raised = True
        self.counts["solved without proof"] += found.status is not Status.OPTIMAL
        return found.pattern.touched(problem)

    def _left(self, view: Problem, hidden: Bools) -> tuple[Floats, Floats]:
        """The boxes that a subtable leaves of the cells it hides, widened to whole data units."""
        unit = view.table.unit
        marks = np.where(hidden, Mark.SENSITIVE, view.marks).astype(view.marks.dtype)
        asked = replace(
            view, marks=frozen(marks), levels=Levels.of(hidden.size, sliding=unit * hidden), attackers=()
        )
        found = audit(asked, Suppression.copy_of(hidden), intervals=True)
        low, high = view.outsider_low.copy(), view.outsider_high.copy()
        low[found.cells] = np.maximum(low[found.cells], np.floor(found.low / unit) * unit)
        high[found.cells] = np.minimum(high[found.cells], np.ceil(found.high / unit) * unit)
        return low, high


def _with_inherited(subtable: _Subtable, inherited: _Inherited) -> Problem:
    """The subtable with the cells that others hide as sensitive ones, within the boxes that others leave."""
    view, a = subtable.view, subtable.view.table.values
    low, high = inherited.low, inherited.high
    levels = view.levels
    lower = np.minimum(np.where(inherited.cells, inherited.lower, levels.lower), a - low)
    upper = np.minimum(np.where(inherited.cells, inherited.upper, levels.upper), high - a)
    sliding = np.minimum(levels.sliding, high - low)
    marks = np.where(inherited.cells, Mark.SENSITIVE, view.marks).astype(view.marks.dtype)
    return replace(
        view,
        marks=frozen(marks),
        levels=replace(levels, lower=frozen(lower), upper=frozen(upper), sliding=frozen(sliding)),
        weights=frozen(subtable.weights),
        outsider_low=frozen(low),
        outsider_high=frozen(high),
    )


def _without_open(problem: Problem) -> Problem:
    """The problem without the levels that nothing can meet: their cells are hidden, and left to other subtables."""
    found = audit(problem, Suppression.copy_of(~problem.forced))
    marks = problem.marks.copy()
    marks[found.open_cells] = Mark.HIDDEN
    levels = [
        np.where(problem.sensitive & (marks == Mark.HIDDEN), 0.0, level)
        for _, level in problem.levels.named()
    ]
    attackers = tuple(replace(who, levels=who.levels.without(found.open_cells)) for who in problem.attackers)
    return replace(problem, marks=frozen(marks), levels=Levels(*map(frozen, levels)), attackers=attackers)
