"""Why is this cell hidden: which cells it protects, and which cells protect a sensitive one.

A complementary cell *protects* the cells that would be open if it alone were published: those that the audit of the
pattern without it finds open. A cell whose publication alone opens nothing is *redundant on its own*; several such
cells may still need each other. The work is done block by block in `tablecloak.analysis.witness_deviations`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tablecloak.analysis.witness_deviations import Block, OutOfTime, blocks_of
from tablecloak.arrays import Bools, Ints, frozen, mask
from tablecloak.auditing import checked_view
from tablecloak.errors import NotApplicable, counted
from tablecloak.model import Mark, Pattern, Perturbation, Problem, Rounding, View
from tablecloak.progress import Deadline, Progress, silent


@dataclass(frozen=True)
class ExplanationSettings:
    """How much is worked out and said. Untested defaults."""

    few_cells: int = 5
    """Maximum number of complementary cells of a block whose deviations are not all looked for first."""
    named_cells: int = 5
    """Maximum number of cells named in a sentence."""
    first_share: float = 0.5
    """Share of the time for the first deviation of each requirement."""


SETTINGS = ExplanationSettings()


@dataclass(frozen=True)
class Opening:
    """A cell that would be open, and against whom: the outsider (0, then everybody) or some insiders."""

    cell: int
    attackers: tuple[int, ...]


@dataclass(frozen=True)
class Protectors:
    """Hidden cells that together keep a cell uncertain for an attacker: they can move with it."""

    attacker: int
    cells: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why cells are hidden. Confidential."""

    protects: Mapping[int, tuple[Opening, ...]]
    """For each complementary cell that was explained: what would be open if it alone were published."""
    protectors: Mapping[int, tuple[Protectors, ...]]
    """For each cell with a level: its routes, the outsider's first, then those of insiders who need others."""
    determined: Ints
    """Complementary cells whose value follows from what is published: hiding them does nothing."""
    unexplained: Ints
    """Complementary cells that there was no time for."""
    already_open: Ints
    """Cells that are open with the pattern as it is; no cell gets the credit for protecting them."""
    seconds: float
    subject: tuple[Problem, Pattern]

    @property
    def redundant(self) -> Ints:
        """Cells that could be published, one of them alone, and nothing would be open."""
        alone = [cell for cell, found in self.protects.items() if not found]
        return np.sort(np.concatenate([np.array(alone, dtype=np.int64), self.determined]))

    def why(self, cell: int) -> str:
        """Why a cell is hidden, in one sentence."""
        problem, pattern = self.subject
        if problem.sensitive[cell]:
            reasons = [f"{reason.rule}: {reason.why}" for reason in problem.reasons.get(cell, ())]
            return f"sensitive ({'; '.join(reasons) or 'no rule is on record'})"
        if not pattern.touched(problem)[cell]:
            return "published"
        if problem.marks[cell] == Mark.HIDDEN:
            return "marked to be hidden"
        if cell in self.determined:
            return "redundant: its value follows from what is published, so hiding it does nothing"
        if cell not in self.protects:
            return "not explained: there was no time for it, or it was not asked about"
        if not self.protects[cell]:
            return "redundant on its own: publish it alone and nothing is open"
        return f"protects {some([self.opening(found) for found in self.protects[cell]])}"

    def opening(self, opening: Opening) -> str:
        """A protected cell and against whom it is protected."""
        problem = self.subject[0]
        names = [problem.attacker_names[k] for k in opening.attackers]
        whom = "everybody" if opening.attackers == (0,) else some(names, ", ")
        return f"{problem.table.label(opening.cell)} (against {whom})"

    def summary(self) -> str:
        """What was explained, in a few lines, cells by label."""
        table = self.subject[0].table
        cells = sorted({*self.protects, *self.determined.tolist()})
        lines = [
            f"{counted(len(cells), 'complementary cell')} explained: {self.redundant.size} redundant on their own; "
            f"{self.unexplained.size} not explained"
        ]
        lines += [f"  {table.label(cell)}: {self.why(cell)}" for cell in cells[:20]]
        return "\n".join([*lines, f"  ... and {len(cells) - 20} more"] if len(cells) > 20 else lines)

    def __repr__(self) -> str:
        return f"<confidential Explanation: {counted(len(self.protects) + self.determined.size, 'cell')} explained>"


def explain(
    problem: Problem,
    pattern: Pattern,
    cells: ArrayLike | None = None,
    *,
    seconds: float | None = 60.0,
    progress: Progress = silent,
) -> Explanation:
    """Which cells each complementary cell protects, and which cells protect each one that has a level.

    `cells` is a mask or a list of cells to explain (all by default). After `seconds` the cells that are left,
    those with the smallest weights, are listed as unexplained. Suppressions, intervals and mixed patterns can be
    explained; a rounded or perturbed table is vague everywhere, so that no cell is there for another.
    """
    if isinstance(pattern, Rounding | Perturbation):
        raise NotApplicable(
            "Only hidden cells can be explained.", needs="a suppression, intervals or a mixed pattern"
        )
    start, deadline = time.perf_counter(), Deadline.after(seconds)
    early = Deadline.after(None if seconds is None else SETTINGS.first_share * seconds)
    view = checked_view(problem, pattern)
    asked = frozen((view.low < view.high) & (True if cells is None else mask(cells, len(problem.table))))
    blocks = _Blocks(problem, view, asked)
    blocks.find_routes(early, progress)
    free = np.flatnonzero(asked & ~problem.must_hide)
    stays = blocks.label[free] < 0
    order = free[~stays][np.argsort(-problem.weights[free[~stays]], kind="stable")]
    protects: dict[int, tuple[Opening, ...]] = {}
    for done, cell in enumerate(order.tolist()):
        progress("explaining", done, order.size)
        found = blocks.openings(cell, deadline)
        if found is not None:
            protects[cell] = found
    return Explanation(
        dict(sorted(protects.items())),
        blocks.protectors(),
        free[stays],
        np.sort(order[~np.isin(order, list(protects))]),
        blocks.already_open(),
        time.perf_counter() - start,
        (problem, pattern),
    )


class _Blocks:
    """The blocks with cells asked about, made when they are needed."""

    def __init__(self, problem: Problem, view: View, asked: Bools) -> None:
        self.problem, self.view, self.asked = problem, view, asked
        self.label = blocks_of(problem, view)
        self.wanted = np.unique(self.label[asked & (self.label >= 0)])
        self.made: dict[int, Block] = {}
        order = np.argsort(self.label, kind="stable")
        starts, stops = (np.searchsorted(self.label[order], self.wanted, side=s) for s in ("left", "right"))
        self._cells = {
            number: np.sort(order[start:stop])
            for number, start, stop in zip(self.wanted.tolist(), starts, stops, strict=True)
        }
        self._knowing: dict[int, list[int]] = {}
        for who, attacker in enumerate(problem.attackers, start=1):
            for number in np.unique(self.label[attacker.cells]).tolist():
                self._knowing.setdefault(number, []).append(who)

    def of(self, number: int) -> Block:
        """A block by its number."""
        if number not in self.made:
            insiders = self._knowing.get(number, [])
            self.made[number] = Block(self.problem, self.view, self._cells[number], insiders)
        return self.made[number]

    def find_routes(self, deadline: Deadline, progress: Progress) -> None:
        """The first routes of each level, as far as there is time."""
        for done, number in enumerate(self.wanted.tolist()):
            progress("routes", done, self.wanted.size)
            if deadline.passed():
                return
            block = self.of(number)
            asked = self.asked[block.cells]
            every = int((asked & ~self.problem.must_hide[block.cells]).sum()) > SETTINGS.few_cells
            with suppress(OutOfTime):
                for question, place in enumerate(block.questions):
                    if every or asked[place]:
                        block.find_routes(question, deadline)

    def openings(self, cell: int, deadline: Deadline) -> tuple[Opening, ...] | None:
        """What would be open if the cell were published; None if the time is over."""
        if deadline.passed():
            return None
        block = self.of(int(self.label[cell]))
        try:
            found = block.openings(int(np.searchsorted(block.cells, cell)), deadline)
        except OutOfTime:
            return None
        return tuple(Opening(*one) for one in found)

    def protectors(self) -> dict[int, tuple[Protectors, ...]]:
        """The routes found for each cell asked about."""
        found = {}
        for block in self.made.values():
            for question, place in enumerate(block.questions):
                cell = int(block.cells[place])
                routes = [Protectors(who, tuple(cells.tolist())) for who, cells in block.protectors(question)]
                if routes and self.asked[cell]:
                    found[cell] = tuple(routes)
        return dict(sorted(found.items()))

    def already_open(self) -> Ints:
        """Cells that are open in the blocks made, and cells that cannot move although a level is asked of them."""
        stuck = np.flatnonzero(self.problem.sensitive & (self.label < 0))
        asked = np.sum(self.problem.required(0, stuck), axis=0) > 0
        return np.sort(np.concatenate([stuck[asked], *(block.open_cells for block in self.made.values())]))


def some(items: Sequence[str], between: str = "; ") -> str:
    """The first items, and how many there are beside."""
    rest = (
        f"{between}and {len(items) - SETTINGS.named_cells} more" if len(items) > SETTINGS.named_cells else ""
    )
    return between.join(items[: SETTINGS.named_cells]) + rest
