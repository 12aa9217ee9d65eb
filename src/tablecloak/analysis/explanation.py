"""Why is this cell hidden: which cells it protects, and which cells protect a sensitive one.

A complementary cell *protects* the cells that would be open if it alone were published: those that the audit of the
pattern without it finds open. A cell whose publication alone opens nothing is *redundant on its own*; several such
cells may still need each other.

The work is done block by block. A *block* is a set of cells whose deviations d depend on each other. A witness
deviation of cell p moves it by what a level requires, and little else: min sum |d|  subject to  M d = 0,
low <= d <= high, d_p = amount; on a network a flow of that amount. Publishing cell c (d_c = 0) can only open cells of
its block, and only those whose every known deviation moves c. Where none without c is found, the audit of the block
without c has the last word.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array

from tablecloak.analysis.tolerances import DEVIATION_NOISE, EQUATION_RESIDUAL, REQUIREMENT_SLACK
from tablecloak.arrays import Bools, Floats, Ints, frozen, mask
from tablecloak.attacker import (
    Component,
    LinearAttack,
    NetworkAttack,
    reduce,
    without_empty_rows,
    working_columns,
)
from tablecloak.auditing import audit, checked_view
from tablecloak.errors import NotApplicable, counted
from tablecloak.methods.heuristics import CheapestDeviationProgram
from tablecloak.model import (
    Intervals,
    Levels,
    Mark,
    Pattern,
    Perturbation,
    Problem,
    Rounding,
    Table,
    View,
    deviation_bounds,
    whole_units,
)
from tablecloak.progress import Deadline, Progress, silent

Side = tuple[int, bool]
"""A question and whether it is pushed upward."""
Box = tuple[Ints, Floats, Floats]
"""Cells and how far down (low <= 0) and up (high >= 0) they may move."""


class OutOfTime(Exception):
    """The time is over before the answer was found."""


@dataclass(frozen=True)
class BlockWitness:
    """A deviation that is possible: the cells it moves, how far it takes its own, and who can exclude it."""

    moved: frozenset[int]
    amount: float
    excluded: frozenset[int]


def blocks_of(problem: Problem, view: View) -> Ints:
    """The block of each cell; -1 where it cannot deviate."""
    table, bounds = problem.table, deviation_bounds(problem, view, 0)
    return reduce(working_columns(table), *bounds, table.unit).block


class Block:
    """One block as a problem of its own. Cells are places in the block, attackers numbers in `problem`.

    `insiders` are the numbers (in the whole problem) of the attackers who may know something about its cells;
    all others are like the outsider here.
    """

    def __init__(self, whole: Problem, view: View, cells: Ints, insiders: Sequence[int]) -> None:
        self.cells, self.numbers = cells, (0, *insiders)
        matrix = without_empty_rows(csc_array(working_columns(whole.table)[:, cells]))
        values, rhs = whole.table.values[cells], whole.table.amounts(matrix @ whole.table.units[cells])
        self.problem = Problem(
            Table.from_equations(values, matrix, rhs, decimals=whole.table.decimals),
            whole.marks[cells],
            Levels(*(level[cells] for _, level in whole.levels.named())),
            whole.weights[cells],
            whole.outsider_low[cells],
            whole.outsider_high[cells],
            tuple(whole.attackers[number - 1].at_cells(cells) for number in insiders),
        )
        self.view = View(values, view.low[cells], view.high[cells])
        self.low, self.high = deviation_bounds(self.problem, self.view, 0)
        self.finder = BlockWitnessFinder(reduce(matrix, self.low, self.high, whole.table.unit).components[0])
        self.boxes = [self._box(attacker) for attacker in range(len(self.numbers))]
        self.known = _stacked(self.boxes)
        self.witnesses: dict[Side, list[BlockWitness]] = {}
        self.users: dict[int, set[Side]] = {}
        """By cell: the (question, upward) of witnesses that move it."""
        self._judge()
        sides = ((q, upward) for q in range(len(self.questions)) for upward in (True, False))
        self.unsettled = {(q, upward) for q, upward in sides if self.needs[upward][:, q].any()}
        """Levels that have no witness yet against some attacker: any cell may matter to them."""

    def _box(self, attacker: int) -> Box:
        """Where an attacker knows more than the outsider."""
        low, high = deviation_bounds(self.problem, self.view, attacker)
        cells = np.flatnonzero((low > self.low) | (high < self.high))
        return cells, low[cells], high[cells]

    def _judge(self) -> None:
        """The verdict on the block as it is: what is open, and how far each level asks each cell to move."""
        found = audit(self.problem, Intervals(self.view.low, self.view.high))
        shape = len(self.numbers), -1
        table = self.problem.table
        value = whole_units(table.values[found.cells], table.unit)
        got_up, got_down = found.high / table.unit - value, value - found.low / table.unit
        lower, upper, sliding = (
            whole_units(level, table.unit)
            for level in (found.required_lower, found.required_upper, found.required_sliding)
        )
        up = np.minimum(np.maximum(upper, np.minimum(sliding, got_up)), got_up)
        down = np.minimum(np.maximum(lower, sliding - up), got_down)
        asked = lower + upper + sliding > 0
        self.questions = found.cells.reshape(shape)[0].tolist()
        self.open = (~found.safe_rows).reshape(shape)
        closed = asked & found.safe_rows
        self.needs = {
            side: np.where(closed, amount, 0.0).reshape(shape) for side, amount in ((True, up), (False, down))
        }

    @property
    def open_cells(self) -> Ints:
        """Cells of the whole table that are open against some attacker already."""
        return self.cells[np.array(self.questions, dtype=np.int64)[self.open.any(axis=0)]]

    # ------------------------------------------------------------------ witnesses

    def find_witnesses(self, question: int, deadline: Deadline) -> None:
        """Witnesses of one question for every attacker and side, as far as there is time."""
        for upward in (True, False):
            side = question, upward
            failed: set[int] = set()
            while left := self._uncovered(side, None) - failed:
                if deadline.passed():
                    raise OutOfTime
                attacker = min(left)
                amount = float(self.needs[upward][attacker, question])
                place = self.questions[question]
                found = self.finder.find(place, upward, amount, self.boxes[attacker])
                self._keep([side], attacker, [] if found is None else [found])
                if attacker in self._uncovered(side, None):
                    failed.add(attacker)
            if not failed:
                self.unsettled.discard(side)

    def protectors(self, question: int) -> Iterator[tuple[int, Ints]]:
        """(attacker, cells) in numbers of the whole: the outsider's witnesses, then those only insiders need."""
        place, seen = self.questions[question], set()
        for attacker, number in enumerate(self.numbers):
            moved: set[int] = set()
            for upward in (True, False):
                need = self.needs[upward][attacker, question]
                witnesses = self.witnesses.get((question, upward), [])
                fits = (r for r in witnesses if r.amount >= need and attacker not in r.excluded)
                if need > 0 and (witness := next(fits, None)) is not None:
                    moved |= witness.moved
            cells = frozenset(moved - {place})
            if cells and cells not in seen:
                seen.add(cells)
                yield number, np.sort(self.cells[list(cells)])

    def _uncovered(self, side: Side, closed: int | None) -> set[int]:
        """Attackers against whom no known witness is left without the closed cell."""
        question, upward = side
        need = self.needs[upward][:, question]
        left = set(np.flatnonzero(need > 0).tolist())
        for witness in self.witnesses.get(side, []):
            if not left:
                break
            if closed not in witness.moved:
                left = {k for k in left if k in witness.excluded or need[k] > witness.amount}
        return left

    def _keep(self, sides: Sequence[Side], attacker: int, deviations: Sequence[Floats]) -> None:
        """Keep, for each side, the first deviation that meets its need; the attacker can exclude none of them."""
        if not deviations:
            return
        places = [self.questions[question] for question, _ in sides]
        signs = np.array([1.0 if upward else -1.0 for _, upward in sides])
        needs = np.array([self.needs[upward][attacker, question] for question, upward in sides])
        amounts = np.array([deviation[places] for deviation in deviations]) * signs
        meets = amounts >= needs * (1 - REQUIREMENT_SLACK)
        first = meets.argmax(axis=0)
        for column in np.flatnonzero(meets.any(axis=0)).tolist():
            deviation, amount = deviations[first[column]], float(amounts[first[column], column])
            moved = frozenset(np.flatnonzero(deviation).tolist())
            excluded = self._excluding(deviation, amount) - {attacker}
            witness = BlockWitness(moved, max(amount, float(needs[column])), excluded)
            self.witnesses.setdefault(sides[column], []).append(witness)
            for cell in moved:
                self.users.setdefault(cell, set()).add(sides[column])

    def _excluding(self, deviation: Floats, amount: float) -> frozenset[int]:
        """Insiders who know that the table does not deviate like this."""
        who, where, least, most = self.known
        slack, move = DEVIATION_NOISE * amount, deviation[where]
        return frozenset(who[(move < least - slack) | (move > most + slack)].tolist())

    # ------------------------------------------------------------------ publishing a cell

    def openings(self, cell: int, deadline: Deadline) -> list[tuple[int, tuple[int, ...]]]:
        """What would be open if a cell were published: (cell, attackers), in numbers of the whole.

        Open against the outsider is open against everybody; then only he is named, but where levels differ all are.
        """
        suspects, shared = self._suspects(cell, deadline), set() if self.problem.has_own_levels else {0}
        everybody = self._confirmed(cell, [q for q, who in suspects.items() if shared & who], [], deadline)
        rest = {question: who - shared for question, who in suspects.items() if question not in everybody}
        insiders = sorted({k for who in rest.values() for k in who} - {0})
        asked = [question for question, who in rest.items() if who]
        some = self._confirmed(cell, asked, insiders, deadline)
        return [
            (
                int(self.cells[self.questions[question]]),
                (0,) if question in everybody else tuple(self.numbers[k] for k in sorted(some[question])),
            )
            for question in sorted({*everybody, *some})
        ]

    def _suspects(self, closed: int, deadline: Deadline) -> dict[int, set[int]]:
        """Attackers by question against whom no witness is found without the closed cell."""
        sides = sorted(self.users.get(closed, set()) | self.unsettled)
        left = {side: self._uncovered(side, closed) for side in sides if self.questions[side[0]] != closed}
        lost: set[int] = set()
        for attacker in range(len(self.numbers)):
            todo = [side for side, who in left.items() if attacker in who and side[0] not in lost]
            if todo and deadline.passed():
                raise OutOfTime
            if todo:
                needs = [float(self.needs[upward][attacker, question]) for question, upward in todo]
                places = [(self.questions[question], upward) for question, upward in todo]
                self._keep(todo, attacker, self.finder.push(places, needs, self._without(attacker, closed)))
                left.update({side: self._uncovered(side, closed) for side in todo})
            if attacker == 0 and not self.problem.has_own_levels:
                lost = {side[0] for side in todo if 0 in left[side]}
        found: dict[int, set[int]] = {}
        for (question, _), who in left.items():
            if who:
                found.setdefault(question, set()).update(who)
        return found

    def _without(self, attacker: int, closed: int) -> Box:
        """An attacker's box with one cell closed."""
        cells, low, high = self.boxes[attacker]
        keep = cells != closed
        return np.append(cells[keep], closed), np.append(low[keep], 0.0), np.append(high[keep], 0.0)

    def _confirmed(
        self, cell: int, questions: list[int], insiders: list[int], deadline: Deadline
    ) -> dict[int, set[int]]:
        """What the audit finds open without the cell: the attackers (outsider and these insiders) by question."""
        if not questions:
            return {}
        problem, places = self.problem, np.array(self.questions, dtype=np.int64)
        asked = np.zeros(self.cells.size, dtype=bool)
        asked[places[questions]] = True
        small = replace(
            problem,
            marks=np.where(problem.sensitive & ~asked, np.int8(Mark.FREE), problem.marks),
            levels=problem.levels.conditional_at(asked),
            attackers=tuple(problem.attackers[k - 1] for k in insiders),
        )
        low, high = self.view.low.copy(), self.view.high.copy()
        low[cell] = high[cell] = self.view.shown[cell]
        verdict = audit(small, Intervals(low, high), progress=_interrupting(deadline))
        found: dict[int, set[int]] = {}
        for row in np.flatnonzero(~verdict.safe_rows):
            question = int(np.searchsorted(places, verdict.cells[row]))
            attacker = (0, *insiders)[verdict.attackers[row]]
            if not self.open[attacker, question]:
                found.setdefault(question, set()).add(attacker)
        return found


def _interrupting(deadline: Deadline) -> Progress:
    """A progress that stops an audit when the time is over."""

    def watch(
        phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        if deadline.passed():
            raise OutOfTime

    return watch


def _stacked(boxes: list[Box]) -> tuple[Ints, Ints, Floats, Floats]:
    """(attacker, cell, low, high) of all that insiders know, in four long columns."""
    who = np.repeat(np.arange(len(boxes)), [cells.size for cells, _, _ in boxes])
    cells, low, high = (np.concatenate([box[part] for box in boxes]) for part in range(3))
    return who, cells.astype(np.int64), low, high


# ---------------------------------------------------------------------- the two engines


class BlockWitnessFinder:
    """Finds witnesses in one component: flows where it is a network, else linear programs."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.network = None if component.orientation is None else NetworkAttack(component)
        self.program = None if self.network else CheapestDeviationProgram(component.matrix)
        self.attack: LinearAttack | None = None

    def find(self, cell: int, upward: bool, amount: float, box: Box) -> Floats | None:
        """A deviation that moves the cell by the amount, within a box that is tighter on some cells; or None."""
        if self.network is not None:
            return _flow(self.network, cell, upward, amount, box)
        assert self.program is not None
        low, high = self._bounds(box)
        deviation = self.program.cheapest(cell, upward, amount, (-low, high), np.ones(low.size), np.inf)
        if deviation is None:
            return None
        deviation[np.abs(deviation) <= DEVIATION_NOISE * amount] = 0.0
        inside = (
            (deviation >= low - DEVIATION_NOISE * amount) & (deviation <= high + DEVIATION_NOISE * amount)
        ).all()
        missed = np.abs(self.component.matrix @ deviation).max(initial=0.0)
        return deviation if inside and missed <= EQUATION_RESIDUAL * amount else None

    def push(self, sides: Sequence[tuple[int, bool]], needs: Sequence[float], box: Box) -> list[Floats]:
        """Deviations within the box that move the (cell, upward) as far as needed, where that is possible."""
        if self.network is not None:
            found = (_flow(self.network, *side, need, box) for side, need in zip(sides, needs, strict=True))
            return [deviation for deviation in found if deviation is not None]
        low, high = self._bounds(box)
        attack = LinearAttack(self.component.with_bounds(low, high), self.attack)
        cells = np.unique([cell for cell, _ in sides])
        down, up = np.zeros(cells.size), np.zeros(cells.size)
        for (cell, upward), need in zip(sides, needs, strict=True):
            (up if upward else down)[np.searchsorted(cells, cell)] = np.ceil(need - DEVIATION_NOISE)
        size = np.where((down > 0) & (up > 0), np.minimum(down, up), np.maximum(down, up))
        attack.reach(cells, down, up, lambda _: None, size)
        self.attack = attack
        return [attack.spread(witness) for pool in attack.pools.values() for witness in pool]

    def _bounds(self, box: Box) -> tuple[Floats, Floats]:
        low, high = self.component.low.copy(), self.component.high.copy()
        low[box[0]], high[box[0]] = box[1], box[2]
        return low, high


def _flow(attack: NetworkAttack, cell: int, upward: bool, amount: float, box: Box) -> Floats | None:
    """A flow of the amount, in whole units, through a cell, or None."""
    network, want = attack.network, float(np.ceil(amount - DEVIATION_NOISE))
    before = [(int(arc), *network.capacity[2 * arc : 2 * arc + 2].tolist()) for arc in box[0]]
    for arc, down, up in zip(box[0].tolist(), (-box[1]).tolist(), box[2].tolist(), strict=True):
        network.set_capacity(arc, up, down)
    found = network.max_deviation(cell, upward, want)
    for arc, up, down in before:
        network.set_capacity(arc, up, down)
    return found.deviation if found.value >= want else None


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
    """A cell that would be open, and against whom: everybody (0) or some insiders; all of them where levels differ."""

    cell: int
    attackers: tuple[int, ...]

    def is_shared(self, problem: Problem) -> bool:
        """Whether the cell would be open against everybody."""
        return self.attackers == (0,) and not problem.has_own_levels


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
    """For each cell with a level: its witnesses, the outsider's first, then those of insiders who need others."""
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
        whom = "everybody" if opening.is_shared(problem) else some(names, ", ")
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
    blocks.find_witnesses(early, progress)
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
            for number in np.unique(self.label[[*attacker.cells, *attacker.levels.cells]]).tolist():
                self._knowing.setdefault(number, []).append(who)

    def of(self, number: int) -> Block:
        """A block by its number."""
        if number not in self.made:
            insiders = self._knowing.get(number, [])
            self.made[number] = Block(self.problem, self.view, self._cells[number], insiders)
        return self.made[number]

    def find_witnesses(self, deadline: Deadline, progress: Progress) -> None:
        """The first witnesses of each level, as far as there is time."""
        for done, number in enumerate(self.wanted.tolist()):
            progress("witnesses", done, self.wanted.size)
            if deadline.passed():
                return
            block = self.of(number)
            asked = self.asked[block.cells]
            every = int((asked & ~self.problem.must_hide[block.cells]).sum()) > SETTINGS.few_cells
            with suppress(OutOfTime):
                for question, place in enumerate(block.questions):
                    if every or asked[place]:
                        block.find_witnesses(question, deadline)

    def openings(self, cell: int, deadline: Deadline) -> tuple[Opening, ...] | None:
        """What would be open if the cell were published; None if the time is over."""
        if deadline.passed():
            return None
        block = self.of(int(self.label[cell]))
        try:
            found = block.openings(int(np.searchsorted(block.cells, cell)), deadline)
        except OutOfTime:
            return None
        if not self.problem.has_own_levels:
            return tuple(Opening(*one) for one in found)
        like = {*range(len(self.problem.attacker_names))}  # those who are like the outsider in this block
        like -= {*block.numbers} if block.problem.has_own_levels else set()
        return tuple(Opening(at, tuple(sorted({*who} | (like if 0 in who else set())))) for at, who in found)

    def protectors(self) -> dict[int, tuple[Protectors, ...]]:
        """The witnesses found for each cell asked about."""
        found = {}
        for block in self.made.values():
            for question, place in enumerate(block.questions):
                cell = int(block.cells[place])
                each = block.protectors(question)
                witnesses = [Protectors(who, tuple(cells.tolist())) for who, cells in each]
                if witnesses and self.asked[cell]:
                    found[cell] = tuple(witnesses)
        return dict(sorted(found.items()))

    def already_open(self) -> Ints:
        """Cells that are open in the blocks made, and cells that cannot move although they have a level."""
        stuck = np.flatnonzero(self.problem.sensitive & (self.label < 0))
        attackers = range(len(self.problem.attacker_names) if self.problem.has_own_levels else 1)
        asked = np.any([np.sum(self.problem.required(k, stuck), axis=0) > 0 for k in attackers], axis=0)
        return np.sort(np.concatenate([stuck[asked], *(block.open_cells for block in self.made.values())]))


def some(items: Sequence[str], between: str = "; ") -> str:
    """The first items, and how many there are beside."""
    more = len(items) - SETTINGS.named_cells
    return between.join([*items[: SETTINGS.named_cells], *([f"and {more} more"] if more > 0 else [])])
