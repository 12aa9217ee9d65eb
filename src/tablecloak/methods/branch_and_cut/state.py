"""The state of an exact run: the levels, the rows, the best pattern so far and the proven bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import is_network
from tablecloak.auditing import audit
from tablecloak.methods.cuts import (
    Aggregation,
    BridgelessCuts,
    CoverSeparator,
    Cut,
    NetworkSeparator,
    Relaxation,
    capacity_separator_of,
    matrix_of,
    rounded_up,
    weight_unit,
)
from tablecloak.methods.heuristics import NetworkSearch, Search, Thinner
from tablecloak.model import Problem, Requirement, Side, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress, TimeUp, silent
from tablecloak.solvers import Outcome

SUPPORT = 1e-6
"""A fractional point has a cell above this."""
SUSPECTS = 20
"""So many levels that were missed lately are asked first at whole points."""
POLISHED = 30
"""At most so many rounds of the relaxation between two guesses."""
FIRST_COLUMNS = 8
"""So many of the cheapest cells of each equation are columns from the start."""
SAFE_PATTERNS = 200
"""Number of recent safe patterns that cuts are checked against."""
WRONG = 1e-6
"""A row that a safe pattern misses by more than this is wrong."""
ALIKE = 0.5
"""Weights count as equal if this share of the cells to decide on has the same."""


class Stage(NamedTuple):
    """Where rows are looked for: so many promising cells are hidden to this extent more than the point says."""

    extent: float
    cells: int


LAST = Stage(0.0, 0)
ROOT_STAGES = (Stage(0.1, 400), Stage(0.03, 400), Stage(0.01, 400), Stage(0.003, 200), LAST)


class Exact:
    """What a run knows. `hidden` is the best safe pattern (None: there is none yet), `bound` what was proven."""

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        deadline: Deadline,
        report: Progress,
        enough: float = 0.0,
        rows_a_round: int = 400,
    ) -> None:
        self.problem, self.allowed, self.deadline, self.report = problem, allowed, deadline, report
        self.enough, self.rows_a_round = enough, rows_a_round
        self.free, self.is_network = allowed & ~problem.must_hide, is_network(problem)
        self.hidden: Bools | None = allowed.copy() if problem.most_touched is None else None
        self.bound, self.changed = 0.0, 0
        self.aggregation = Aggregation.of(problem, allowed)
        self.leads: Bools = self.free & self.aggregation.represents
        """The cells that are decided on; `prices` is what hiding one and its twins costs."""
        self.prices: Floats = self.aggregation.summed(problem.weights)
        self.unit = weight_unit(self.prices[self.leads])
        self.alike = self._is_alike()
        """Whether this is a network with so many equal weights that patterns of the same cost abound
        (`improvement.edge_exchange`)."""
        self.requirements = self._levels()
        self._suspects: list[Requirement] = []
        self._safe_patterns: list[Bools] = []
        """The leaders that safe patterns hide: no row may cut them off."""
        self.relaxation = Relaxation(self.prices, self.leads, np.zeros_like(self.free))
        self.counters = dict.fromkeys(
            (
                "rounds",
                "guesses",
                "integer programs",
                "nodes",
                "neighbourhoods",
                "better by neighbourhoods",
                "rows against safe patterns",
                "numerical failures",
            ),
            0,
        )

    def prepare(self) -> None:
        """The engines that find rows, and the relaxation without any."""
        self.separator = separator = capacity_separator_of(self.problem, self.allowed, self.aggregation)
        self._covers = (
            CoverSeparator(separator, self.requirements) if isinstance(separator, NetworkSeparator) else None
        )
        self.patterns = BridgelessCuts(self.problem, self.allowed, self.aggregation)
        start = self.patterns.cheapest(FIRST_COLUMNS, np.random.default_rng(0) if self.alike else None)
        if self.hidden is not None and not (self.hidden == self.allowed).all():
            start |= self.aggregation.representatives_of(self.hidden & self.free)
        self.relaxation = Relaxation(self.prices, self.leads, start)
        if self.problem.most_touched is not None:
            cells = np.flatnonzero(self.leads)
            room = self.problem.most_touched - int(self.problem.must_hide.sum())
            touched = -self.aggregation.sizes[cells].astype(float)
            self.relaxation.add([Cut(cells, touched, -float(room), "most touched")])

    def _levels(self) -> list[Requirement]:
        """The levels that the cells hidden anyway do not meet, the largest first, and conditional ones."""
        found = audit(self.problem, Suppression.copy_of(self.problem.must_hide), progress=self.report)
        requirements = unmet_requirements(self.problem, found)
        cells = np.flatnonzero(self.free & (self.problem.levels.conditional > 0))
        for attacker in range(len(self.problem.attacker_names) if cells.size else 0):
            _, _, widths = self.problem.required(attacker, cells)
            requirements += [
                Requirement(cell, attacker, Side.SLIDE, width)
                for cell, width in zip(cells.tolist(), widths.tolist(), strict=True)
                if width > 0
            ]
        return sorted(
            requirements,
            key=lambda requirement: (
                -requirement.level,
                requirement.attacker,
                requirement.cell,
                requirement.side.value,
            ),
        )

    def _is_alike(self) -> bool:
        prices, asked = self.prices[self.leads], self.problem
        plain = asked.most_touched is None and not asked.levels.conditional.any()
        if not (self.is_network and plain and self.unit > 0 and prices.size):
            return False
        return int(np.unique(prices, return_counts=True)[1].max()) >= ALIKE * prices.size

    def is_roomy(self, cells: Ints) -> bool:
        """Whether each of these cells could carry any level by itself."""
        most = max(requirement.level for requirement in self.requirements)
        boxes = (
            self.separator.boxes[attacker]
            for attacker in {requirement.attacker for requirement in self.requirements}
        )
        return all(float(side[cells].min(initial=np.inf)) >= most for box in boxes for side in box)

    # ------------------------------------------------------------------ cost and proof

    @property
    def cost(self) -> float:
        return math.inf if self.hidden is None else self.cost_of(self.hidden)

    def cost_of(self, hidden: Bools) -> float:
        return float(self.problem.weights[hidden & self.free].sum())

    def raise_bound(self, bound: float) -> None:
        """Costs are whole numbers of `unit`, so the bound may be rounded up."""
        self.bound = max(self.bound, min(rounded_up(bound, self.unit), self.cost))

    def gap(self) -> float:
        """The distance of cost and bound as a share of the cost."""
        if self.hidden is None:
            return math.inf
        return (self.cost - self.bound) / self.cost if self.cost > 0 else 0.0

    def proven(self) -> bool:
        """Whether cost and bound meet, up to the gap that is enough."""
        return self.hidden is not None and self.cost - self.bound <= max(
            self.enough * self.cost, 1e-9 * max(1.0, abs(self.cost))
        )

    def tell(self, phase: str, done: int, total: int) -> None:
        self.report(phase, done, total, None if self.hidden is None else self.cost, self.bound)

    def quietly(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        """Searches tell how far they are; what their unfinished patterns cost is no news."""
        self.tell(phase, done, total)

    # ------------------------------------------------------------------ rows

    @property
    def point(self) -> Floats:
        """The last solution of the relaxation, over all cells."""
        return self.aggregation.expanded(self.relaxation.x)

    def missed(
        self,
        x: Floats,
        stages: Sequence[Stage] = ROOT_STAGES,
        most: int | None = None,
        among: Bools | None = None,
    ) -> tuple[list[Cut], Sequence[Stage]]:
        """Rows that a fractional point misses, and the stages that are left: the one that found rows and the next ones.

        Rows found at a point further inside, where promising cells that x publishes are hidden a little, are missed by
        x all the more; and they are sparser and cut deeper, for they weigh these cells too. The last stage is x itself.
        Promising cells are `among` these, if only they are decided on.
        """
        rows: list[Cut] = []
        while True:
            inside = self._inside(x, stages[0], self.leads if among is None else among)
            most = most or self.rows_a_round
            rows = self.separator.separate(inside, self.requirements, most=most, deadline=self.deadline)
            if rows or len(stages) == 1 or self.deadline.passed():
                return [*self.valid(rows), *self.patterns.separate(x)], stages
            stages = stages[1:]

    def covers(self, x: Floats, most: int | None = None, kinds: int | None = None) -> list[Cut]:
        """Covers that a fractional point misses, of at most so many kinds. On networks only."""
        if self._covers is None:
            return []
        return self.valid(
            self._covers.separate(x, most=most or self.rows_a_round, kinds=kinds, deadline=self.deadline)
        )

    def _inside(self, x: Floats, stage: Stage, among: Bools) -> Floats:
        """The point with promising cells hidden to some extent: those with the smallest reduced costs."""
        cells = np.flatnonzero(among & (x < stage.extent))
        if cells.size > stage.cells:
            cells = cells[np.argpartition(self.relaxation.reduced[cells], stage.cells)[: stage.cells]]
        inside = x.copy()
        inside[cells] = stage.extent
        return self.aggregation.expanded(inside)

    def is_safe(self, x: Floats) -> bool:
        """Whether a whole point is a safe pattern; kept if it is the best. Levels missed lately are asked first."""
        if self._suspects and self.separator.separate(x, self._suspects, most=1):
            return False
        safe = not self.check(x, most=1)
        if not safe and self.is_network and self.separator.worst is not None:
            self._suspects = [self.separator.worst, *self._suspects[: SUSPECTS - 1]]
        return safe

    def check(self, x: Floats, most: int | None = None) -> list[Cut]:
        """Rows that a whole point misses. None: it is a safe pattern, and kept if it is the best."""
        found = self.separator.separate(
            x, self.requirements, most=most or self.rows_a_round, deadline=self.deadline
        )
        rows = self.valid(found)
        if not rows:
            if not found and self.deadline.passed():  # then not every level was asked
                raise TimeUp
            sure = self.is_network and not found
            open_levels = self.adopt((x > 0.5) | self.problem.must_hide, sure=sure)
            rows = [self.separator.weakest_no_good(requirement, x) for requirement in open_levels]
        return [*rows, *self.patterns.separate(x)] if rows else []

    def valid(self, rows: list[Cut]) -> list[Cut]:
        """Without rows that a safe pattern misses: they would be wrong. They are counted."""
        if not rows or not self._safe_patterns:
            return rows
        points = np.array(self._safe_patterns, dtype=np.float64).T
        right = np.array([row.rhs for row in rows])[:, None]
        wrong = ((right - matrix_of(rows, self.free.size) @ points) > WRONG).any(axis=1)
        self.counters["rows against safe patterns"] += int(wrong.sum())
        return [row for row, is_wrong in zip(rows, wrong.tolist(), strict=True) if not is_wrong]

    def polish(self) -> None:
        """Solve the relaxation again with all rows found since: better reduced costs leave fewer cells to decide on."""
        relaxation = self.relaxation
        for _ in range(POLISHED):  # rows that retire and come back could go on for ever
            if relaxation.solve(self.deadline.left) is not Outcome.OPTIMAL:
                break
            if not relaxation.violated_in_pool(relaxation.x) and not relaxation.price():
                break
        self.raise_bound(relaxation.bound)

    def cells_within(self, cost: float) -> Ints:
        """The leaders of the cells that a pattern of at most this cost may hide, by reduced costs."""
        best = self.cost - (self.unit if self.alike else 0.0)
        return np.flatnonzero(self.relaxation.within(min(cost, best)))

    # ------------------------------------------------------------------ patterns

    def adopt(self, hidden: Bools, *, sure: bool | None = None) -> list[Requirement]:
        """Keep a safe pattern if it is the best; `changed` counts how often that was so.

        Flows of whole numbers are `sure`. Elsewhere what floats call safe is audited first: gives the levels that are
        open all the same.
        """
        hidden, most = self.aggregation.without_partial(hidden), self.problem.most_touched
        if (most is not None and int(hidden.sum()) > most) or self.cost_of(hidden) >= self.cost:
            return []
        if not (self.is_network if sure is None else sure):
            judged = audit(self.problem, Suppression.copy_of(hidden), progress=self.deadline.watched(silent))
            open_levels = unmet_requirements(self.problem, judged)
            if open_levels:
                return open_levels
        self.hidden = hidden
        self.changed += 1
        self._safe_patterns = [
            *self._safe_patterns[1 - SAFE_PATTERNS :],
            self.aggregation.representatives_of(hidden) & self.leads,
        ]
        return []

    def search(self, weights: Floats, within: Bools | None = None) -> None:
        """A greedy pattern at these weights, cleaned up at the true ones; kept if it is the best.

        `within`: only these cells, which hold a safe pattern. With conditional levels, which hiding more can break, the
        others are needed too.
        """
        if self.problem.most_touched is not None:
            return
        conditional = bool(self.problem.levels.conditional.any())
        allowed = self.allowed if within is None or conditional else within
        search: Search | NetworkSearch
        if self.is_network and not conditional:
            search = NetworkSearch(
                self.problem, allowed, self.requirements, self.quietly, self.deadline, weights=weights
            )
        else:
            search = Search(self.problem, allowed, self.quietly, self.deadline, weights=weights)
        search.construct()
        if search.complete:
            search.clean_up()
            self.adopt(search.hidden.copy())

    def search_near(self, x: Floats) -> None:
        """A search among the cells of a fractional point, cheaper the more it has of them, and the best pattern."""
        self._thin(self._support(x), self._prices(x))

    def build_near(self, x: Floats) -> None:
        """The same, level by level."""
        self.search(self._prices(x), None if self.hidden is None else self._support(x) | self.hidden)

    def repair(self, x: Floats) -> None:
        """What a whole point that is not safe misses, taken from the best pattern and the relaxation, cheaply."""
        prices = np.where(x > 0.5, 1e-3 * self.problem.weights, self.problem.weights)
        self._thin((self.allowed & (x > 0.5)) | self._support(self.point), prices)

    def _prices(self, x: Floats) -> Floats:
        return self.problem.weights * np.maximum(1.0 - x, 1e-3)

    def _support(self, x: Floats) -> Bools:
        return self.allowed & (x > SUPPORT)

    def thins(self, hidden: Bools) -> bool:
        """Whether thinning is the way for a pattern: on networks, where searches are fast, it is not."""
        fits = not self.is_network and Thinner.fits(self.problem, self.requirements, hidden)
        return fits and not self.problem.levels.conditional.any()

    def _thin(self, cells: Bools, prices: Floats) -> None:
        """Thin these cells and those of the best pattern, dearest first; where that is not the way, search in them."""
        within = None if self.hidden is None else cells | self.hidden
        if within is not None and self.thins(within):
            thinner = Thinner(self.problem, self.requirements, within, self.deadline, self.relaxation.live())
            if thinner.run(self.quietly, prices):
                self.adopt(thinner.hidden)
        else:
            self.search(prices, within)
