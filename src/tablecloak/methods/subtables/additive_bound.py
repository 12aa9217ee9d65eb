"""The additive bound: the weights are split over subsystems (members), and what members prove is added up.

    sum_s opt_s(w_s)  <=  opt(w)      for w_s >= 0 with sum_s w_s <= w in every cell    (`attacker.subsystem`)

The best split is a linear program over inequalities p_k x >= b_k that hold for all safe patterns of a member, and so of
the whole (a bundle method, one bundle for each member):

    min w x,  p_k x >= b_k,  0 <= x <= 1    =    max sum_k u_k b_k,  sum_k u_k p_k <= w,  u >= 0   (bounds on x apart)

Its duals u are the split: member s has the share w_s = sum_k u_k p_k over its own inequalities. What they prove is safe
for any u >= 0, whatever the tolerances of the solver (`cuts.relaxation`). Inequalities come in stages, the cheap ones
first; a stage that gains little is passed over until a later one has had its turn:

1. bridgeless cuts, and capacity cuts of the members at the point x, on networks by minimum cuts (`separation`);
2. covers of these;
3. capacity cuts of the whole table, where they are wanted: with its share of the weights the relaxation of the whole
   is one more member;
4. exact solves of members with their shares and a part of what is left of the weights (`evaluation`), which prove
   w_s x >= opt_s(w_s).

The bound never falls, and is valid whenever it is stopped.

References: Geoffrion (1974); Kelley (1960); Boyd (1994) for inequalities by optimising over a part of the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.cuts import (
    BridgelessCuts,
    Cut,
    EquationCuts,
    Relaxation,
    SeparationRoutine,
    fixing_cuts,
    rounded_up,
    weight_unit,
)
from tablecloak.methods.subtables.evaluation import ExactMember
from tablecloak.methods.subtables.members import choose_members
from tablecloak.methods.subtables.separation import MemberCut, MemberSeparator
from tablecloak.methods.subtables.settings import SubtableSettings
from tablecloak.model import Problem
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import CUT_VIOLATION, Outcome


class AdditiveBound:
    """The linear program over the inequalities of all members, and what it proves.

    `allowed`: cells that may be hidden.
    """

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        deadline: Deadline,
        progress: Progress,
        settings: SubtableSettings = SubtableSettings(),
    ) -> None:
        self.problem, self.allowed = problem, allowed
        self.deadline, self.progress, self.settings = deadline, progress, settings
        self.free: Bools = allowed & ~problem.must_hide
        self.unit = weight_unit(problem.weights[self.free])
        self._bridgeless = BridgelessCuts(problem, allowed, settings=settings.bridgeless)
        start = self._bridgeless.cheapest()
        self.relaxation = Relaxation(problem.weights, self.free, start, settings.relaxation)
        self.members: list[MemberSeparator] = []
        self.rounds = self.solves = 0
        """Numbers of linear programs, and of exact solves of members."""
        self._exact: dict[int, ExactMember] = {}
        self._next = 0
        """The member that is solved next."""

    @property
    def value(self) -> float:
        """Proven: no safe pattern costs less. Rounded up where all weights are multiples of a unit."""
        return rounded_up(max(self.relaxation.bound, 0.0), self.unit)

    def solve(self, of_whole: Sequence[SeparationRoutine] = ()) -> bool:
        """Raise the bound until nothing is gained; False if a limit or an interrupt came first.

        `of_whole` are separators of the whole table.
        """
        finished = False
        with self.deadline.stoppable():
            finished = not self.free.any() or self._solve(of_whole)
        return finished

    def separate(self, x: Floats) -> list[Cut]:
        """Capacity cuts of members that a point violates: an integral point without any is safe for each of them."""
        return self._of_members(
            lambda member: member.capacity(x, self.settings.requirements_per_round, self.deadline)
        )

    def _solve(self, of_whole: Sequence[SeparationRoutine]) -> bool:
        if not self._begin():
            return False
        stages = _Stages(
            [self._of_capacity, self._of_covers, *of_whole, self._of_solves], self.settings.min_gain
        )
        before, rounds = 0.0, self.settings.rounds
        while self.deadline.moment is not None or self.rounds < rounds:
            if not self._reoptimise():
                return False
            self.progress("subtables", self.rounds, self.rounds, None, self.value)
            gain = (self.relaxation.value - before) / max(abs(self.relaxation.value), self.unit, 1e-300)
            before = self.relaxation.value
            if self.deadline.passed():
                return False
            if not stages.next(gain, lambda find: self.relaxation.add(find(self.relaxation.x))):
                return not self.deadline.passed()
        return True

    def _begin(self) -> bool:
        """Cuts of single equations, and the members with their separators; False when the time is up.

        With a time limit no more members take part than are prepared in a share of it.
        """
        lines = EquationCuts(self.problem, self.allowed)
        volume = lines.volume_cuts()
        self.relaxation.add([*lines.isolated_cuts(), *volume, *fixing_cuts(volume)])
        if not self._reoptimise():  # a first bound, before the members are prepared
            return False
        within = self.deadline.share(self.settings.preparation_share)
        for subsystem in choose_members(self.problem, self.settings.members):
            if within.passed():  # a bound by fewer members is valid too
                break
            member = MemberSeparator(len(self.members), subsystem, self.problem, self.settings.capacity)
            if member.requirements:
                self.members.append(member)
        return not self.deadline.passed()

    def _reoptimise(self) -> bool:
        """Solve the program over the cuts of the pool and all columns; False when it cannot be solved in time.

        Cuts may leave and come back, so the number of rounds is limited.
        """
        for _ in range(self.settings.reoptimisation_rounds):
            if self.deadline.passed() or self.relaxation.solve(self.deadline.left) is not Outcome.OPTIMAL:
                return False
            back = self.relaxation.violated_in_pool(self.relaxation.x)
            if not self.relaxation.price() and not back:
                break
        self.rounds += 1
        return True

    # ------------------------------------------------------------------ stages

    def _of_capacity(self, x: Floats) -> list[Cut]:
        """Bridgeless cuts and capacity cuts of members."""
        return [*self._bridgeless.separate(x), *self.separate(x)]

    def _of_covers(self, x: Floats) -> list[Cut]:
        """Covers of members."""
        most = self.settings.requirements_per_round
        return self._of_members(lambda member: member.covers(x, most, self.deadline))

    def _of_members(self, find: Callable[[MemberSeparator], list[MemberCut]]) -> list[Cut]:
        found: list[Cut] = []
        for member in self.members:
            if self.deadline.passed():
                break
            found += find(member)
        return found

    def _of_solves(self, x: Floats) -> list[Cut]:
        """Inequalities of exact solves, of a share of the members and on to others until one of them is violated."""
        shares, found = self._split(), list[Cut]()
        batch = max(1, round(self.settings.batch * len(self.members)))
        for done in range(len(self.members)):
            if self.deadline.passed() or (found and done >= batch):
                break
            number = (self._next + done) % len(self.members)
            found += self._solved(number, shares[number], x)
        self._next = (self._next + done + 1) % max(len(self.members), 1) if self.members else 0
        return found

    def _solved(self, number: int, weights: Floats, x: Floats) -> list[MemberCut]:
        """What the exact solve of a member proves and x violates."""
        member = self.members[number]
        exact = self._exact.setdefault(number, ExactMember(member, self.settings.evaluation))
        result = exact.evaluate(weights, self.deadline)
        self.solves += 1
        own = [result.inequality()] if result.bound > 0.0 else []
        cuts = member.in_parent([*own, *result.cuts])
        return [cut for cut in cuts if cut.violation(x) > CUT_VIOLATION]

    def _split(self) -> list[Floats]:
        """The share of each member in the weights: what duals give its inequalities, and of the rest an equal part."""
        shares = [np.zeros(len(member.subsystem)) for member in self.members]
        rest, covered = self.problem.weights.copy(), np.zeros(self.free.size)
        for cut, dual in self.relaxation.priced_cuts():
            rest[cut.cells] -= dual * cut.coefficients
            if isinstance(cut, MemberCut):
                place = np.searchsorted(self.members[cut.member].subsystem.cells, cut.cells)
                shares[cut.member][place] += dual * cut.coefficients
        for member in self.members:
            covered[member.subsystem.cells] += 1.0
        part = np.maximum(rest, 0.0) / np.maximum(covered, 1.0)
        return [
            np.maximum(share, 0.0) + part[member.subsystem.cells]
            for share, member in zip(shares, self.members, strict=True)
        ]


class _Stages:
    """Separators from cheap to expensive; one that gained too little in its last turns is passed over."""

    def __init__(self, separators: Sequence[SeparationRoutine], min_gain: float, patience: int = 2) -> None:
        self._separators, self._min_gain, self._patience = separators, min_gain, patience
        self._poor = [0] * len(separators)
        """How often in a row each of them gained too little."""
        self._last: int | None = None

    def next(self, gain: float, add: Callable[[SeparationRoutine], int]) -> bool:
        """Add the cuts of the first stage that has any, `gain` being what the last ones brought; False: there are none.

        When the last stage has had its turn, all take part again.
        """
        if self._last is not None:
            self._poor[self._last] = self._poor[self._last] + 1 if gain < self._min_gain else 0
        last = len(self._separators) - 1
        passed_over = [poor >= self._patience for poor in self._poor]
        order = [k for k in range(last + 1) if not passed_over[k]] + [
            k for k in range(last + 1) if passed_over[k]
        ]
        if self._last == last or all(passed_over):
            self._poor = [0] * len(self._separators)
            order = list(range(last + 1))
        for number in order:
            if add(self._separators[number]):
                self._last = number
                return True
        return False
