"""Greedy search for a safe pattern: protect each exposed level by its cheapest deviation, then clean up.

Shared by the methods that need a pattern to start from. See `suppress_greedy` for the recipe.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import unpicked, working_equations
from tablecloak.errors import SolverError
from tablecloak.methods.base import GRACE
from tablecloak.methods.heuristics.deviation import Router, Witness, met_by
from tablecloak.methods.heuristics.redundancy import Thinner, elimination_seconds
from tablecloak.methods.timed_audit import audit_within
from tablecloak.model import Problem, Requirement, Side, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress

MOST_ROUNDS = 50
CLEAN_UP_WIDTH = 1600
"""The clean-up looks for another way at most so far around a cell."""


class Search:
    """The hidden cells so far, and a witness for every level that needed work.

    `weights` are the prices of the construction (the problem's own unless given); the clean-up goes by the problem's.
    `start`: cells hidden to begin with (those that must be, unless given); `met`: levels that they meet already, which
    the clean-up must mind too.
    """

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        progress: Progress,
        deadline: Deadline,
        *,
        weights: Floats | None = None,
        start: Bools | None = None,
        met: Sequence[Requirement] = (),
        reweight: int = 2,
    ) -> None:
        self.problem, self.allowed, self.reweight, self.met = problem, allowed, reweight, met
        self.weights = problem.weights if weights is None else weights
        self.progress, self.deadline = progress, deadline
        self.hidden: Bools = problem.must_hide.copy() if start is None else start.copy()
        self.complete = False
        self.witness: dict[Requirement, Witness] = {}
        self.router: Router | None = None
        self.requirements_seen = self.published_again = self.rounds = 0
        positive = self.weights[self.weights > 0]
        self.floor = 1e-3 * float(np.median(positive)) if positive.size else 1.0

    @property
    def routed(self) -> int:
        return 0 if self.router is None else self.router.solves

    @property
    def cost(self) -> float:
        """The weights of the complementary cells hidden now. Told to others only once the pattern is safe."""
        return float(self.problem.weights[self.hidden & ~self.problem.must_hide].sum())

    # ------------------------------------------------------------------ construction

    def construct(self) -> None:
        """Rounds of audit and repair; one round is enough but for conditional levels and numerical near misses."""
        for self.rounds in range(1, MOST_ROUNDS + 1):
            found = audit_within(self.problem, Suppression.copy_of(self.hidden), self.deadline, self.progress)
            if found is None:  # the time is up
                return
            requirements = unmet_requirements(self.problem, found)
            self.requirements_seen += len(requirements)
            if not requirements:
                self.complete = True
                self.progress("safe", 1, 1, self.cost)
                return
            before = int(self.hidden.sum())
            self._protect(requirements)
            if self._router().is_late():
                return
            if (
                int(self.hidden.sum()) == before
            ):  # nothing to add and yet not safe: small moves were taken for noise
                self._protect_exactly(requirements)
            if int(self.hidden.sum()) == before:
                self._hide_all(requirements)
        raise SolverError(f"no safe pattern was found in {MOST_ROUNDS} rounds of audit and repair")

    def _router(self) -> Router:
        """Made when it is first needed."""
        if self.router is None:
            equations = working_equations(self.problem.table)
            self.router = Router(self.problem, equations, self.allowed, self.deadline)
        return self.router

    def _protect(self, requirements: list[Requirement]) -> None:
        router = self._router()
        queue = sorted(
            requirements,
            key=lambda requirement: (
                requirement.attacker > 0,
                -requirement.level,
                requirement.attacker,
                requirement.cell,
            ),
        )
        waiting: dict[int, list[Requirement]] = {}
        for requirement in queue:
            waiting.setdefault(requirement.cell, []).append(requirement)
        done = 0
        for requirement in queue:
            if self.deadline.passed():
                return
            if requirement not in waiting[requirement.cell]:  # met by a deviation for another one
                continue
            witness = router.cheapest(requirement, self._price(), reweight=self.reweight)
            if witness is None and router.is_late():
                return
            if witness is None:
                self._hide_all(requirements)
                return
            self._adopt(requirement, witness)
            waiting[requirement.cell].remove(requirement)
            near = [other for cell in witness.cells.tolist() for other in waiting.get(cell, ())]
            met = met_by(self.problem, witness, requirement.attacker, near)
            for other in met:
                self.witness[other] = witness
                waiting[other.cell].remove(other)
            done += 1 + len(met)
            self.progress("protecting levels", done, len(queue))  # not safe yet: it has no cost to tell

    def _protect_exactly(self, requirements: list[Requirement]) -> None:
        """Hide every cell of some deviation for each level, however little it moves."""
        for requirement in requirements:
            if self.deadline.passed():
                return
            witness = self._router().any_deviation(requirement)
            if witness is not None:
                self._adopt(requirement, witness)

    def _hide_all(self, requirements: list[Requirement]) -> None:
        """Everything that may be hidden: what single deviations do not settle is left to the clean-up."""
        self.hidden |= self.allowed
        self.met = [*self.met, *requirements]

    def _price(self) -> Floats:
        """Weights of cells not hidden yet (a small floor so that cells of weight zero are not free)."""
        return np.where(self.hidden, 0.0, np.maximum(self.weights, self.floor))

    def _adopt(self, requirement: Requirement, witness: Witness) -> None:
        self.witness[requirement] = witness
        self.hidden[witness.cells] = True

    # ------------------------------------------------------------------ clean-up

    def clean_up(self) -> None:
        """Publish again what no level needs, dearest first."""
        if self.router is None and not self.met:
            return
        requirements = [*self.witness, *self._unwatched()]
        in_time = elimination_seconds(self.problem, self.hidden) <= self.deadline.left + GRACE
        if in_time and Thinner.fits(self.problem, requirements, self.hidden):
            thinner = Thinner(self.problem, requirements, self.hidden, self.deadline)
            thinner.run(self.progress)
            self.hidden, self.published_again = thinner.hidden, thinner.published
            self.progress("cleaned up", 1, 1, self.cost)
            return
        if not self._watch():
            return
        self._drop_unused()
        candidates = np.flatnonzero(self.hidden & ~self.problem.must_hide)
        order = candidates[np.argsort(-self.problem.weights[candidates], kind="stable")]
        self._router().allowed[:] = self.hidden
        for number, cell in enumerate(order):
            if self.deadline.passed():
                return
            if self._can_publish(int(cell)):
                self.published_again += 1
            self.progress("cleaning up", number + 1, order.size, self.cost)

    def _unwatched(self) -> list[Requirement]:
        """The levels met from the start and the conditional widths in force that have no witness yet."""
        cells = np.flatnonzero((self.problem.levels.conditional > 0) & self.hidden)
        requirements = list(self.met)
        for attacker in range(len(self.problem.attacker_names)):
            _, _, widths = self.problem.required(attacker, cells)
            requirements += [
                Requirement(cell, attacker, Side.SLIDE, width)
                for cell, width in zip(cells.tolist(), widths.tolist(), strict=True)
                if width > 0
            ]
        return [requirement for requirement in dict.fromkeys(requirements) if requirement not in self.witness]

    def _watch(self) -> bool:
        """A witness for every level met without anybody's doing.

        False if one could not be found (in time): then nothing may be published again.
        """
        router = self._router()
        router.allowed[:] = self.hidden
        for requirement in self._unwatched():
            if requirement not in self.witness:
                witness = router.cheapest(requirement, np.zeros(self.hidden.size))
                if witness is None:
                    return False
                self.witness[requirement] = witness
                rest = [other for other in self.met if other not in self.witness]
                self.witness |= dict.fromkeys(
                    met_by(self.problem, witness, requirement.attacker, rest), witness
                )
        return True

    def _drop_unused(self) -> None:
        """Cells that no stored witness moves carry nothing."""
        used = self.problem.must_hide.copy()
        for witness in self.witness.values():
            used[witness.cells] = True
        dropped = self.hidden & ~used
        self.published_again += int(dropped.sum())
        self.hidden &= used

    def _unpicks(self, cell: int, watched: list[int]) -> bool:
        """Whether publishing the cell lets single equations determine a watched cell: then it is needed."""
        assert self.router is not None
        others = np.flatnonzero(self.hidden)
        others = others[others != cell]
        gone = others[~unpicked(self.router.columns[:, others])]
        return bool(np.isin(watched, gone).any())

    def _can_publish(self, cell: int) -> bool:
        assert self.router is not None
        conditional = self.problem.levels.conditional[cell] > 0
        waiting = [
            requirement
            for requirement, w in self.witness.items()
            if cell in w.cells and not (conditional and requirement.cell == cell)
        ]
        if waiting and self._unpicks(
            cell, [requirement.cell for requirement in self.witness if requirement.cell != cell]
        ):
            return False
        self.router.allowed[cell] = False
        replaced: dict[Requirement, Witness] = {}
        price = np.where(self.problem.must_hide, 0.0, np.maximum(self.problem.weights, self.floor))
        # Those that lean on the cell most are the likeliest to fail: ask them first.
        for requirement in sorted(
            waiting,
            key=lambda requirement: -abs(self.witness[requirement].moves(cell)[0]) / requirement.level,
        ):
            if requirement in replaced:
                continue
            witness = self.router.cheapest(requirement, price, widest=CLEAN_UP_WIDTH)
            if witness is None:
                self.router.allowed[cell] = True
                return False
            replaced[requirement] = witness
            rest = [other for other in waiting if other not in replaced]
            replaced |= dict.fromkeys(met_by(self.problem, witness, requirement.attacker, rest), witness)
        self.witness |= replaced
        self.hidden[cell] = False
        for requirement in [requirement for requirement in self.witness if requirement.cell == cell]:
            del self.witness[requirement]
        return True
