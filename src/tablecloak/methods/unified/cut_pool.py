"""The protection cuts of a cutting-plane model: separated at points, strengthened, kept.

Separation at the point x of a relaxation itself gives many shallow cuts. While the relaxation is far from its optimum,
cuts are separated at *shifted points*: some variables that x does not use, those with the smallest reduced costs, are
raised. Where larger variables leave larger deviation bounds, what is violated there is violated at x all the more, and
such cuts weigh variables that x does not use yet. The shift decreases stage by stage; the last one is x itself.

References: Salazar-Gonzalez (2002), second models; Ben-Ameur & Neto (2007), Acceleration of cutting-plane and column
generation algorithms: applications to network design, Networks 49(1), for separation at points inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker import DeviationBounds
from tablecloak.methods.unified.cut_strengthening import CutBuilder, Switched
from tablecloak.methods.unified.formulation import Formulation
from tablecloak.methods.unified.protection_cuts import ProtectionCut, own_bound_cuts
from tablecloak.methods.unified.reduced_cost_fixing import RestrictedProgram
from tablecloak.methods.unified.separation import protection_separator_of
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline
from tablecloak.solvers import CUT_VIOLATION, watched


@dataclass(frozen=True)
class ShiftStage:
    """One stage of separation: how far and how many variables are raised (0: separation at the point itself)."""

    value: float
    """Value that variables are raised to, in units of the variables (levels for lengths)."""
    share: float = 1.0
    """Share of `SeparationSettings.raised_per_requirement` that is raised."""


@dataclass(frozen=True)
class SeparationSettings:
    """Effort and order of the separation of protection cuts. Benchmark parts `models` and `intervals` run with the
    defaults; none of them has been varied there."""

    stages: tuple[ShiftStage, ...] = (
        ShiftStage(30.0),
        ShiftStage(10.0),
        ShiftStage(3.0),
        ShiftStage(1.0),
        ShiftStage(0.3),
        ShiftStage(0.1),
        ShiftStage(0.03),
        ShiftStage(0.01, 0.5),
        ShiftStage(0.0, 0.0),
    )
    """Shifts, the largest first, the last one 0. More stages: fewer and deeper cuts, against rounds that add none.
    Untested default."""
    raised_per_requirement: int = 10
    """Maximum number of variables that are raised at shifted points, for each requirement. More: deeper cuts, against
    points that violate nothing. Untested default."""
    min_requirements: int = 100
    """The number of raised variables is for at least this number of requirements. Untested default."""
    max_violated: int = 2000
    """Maximum number of requirements that get cuts in one round. More: fewer rounds, against larger programs. Untested
    default."""
    recent_rounds: int = 3
    """Number of rounds for which a violated requirement is separated before the others. More: quicker rounds, against
    late cuts for other requirements. Untested default."""
    depth: int = 5
    """Maximum number of cuts for each violated requirement, each found as if the cells of those before it had wide
    bounds. More: fewer rounds, against slower separation. Untested default."""
    max_deep_size: int = 2_000_000
    """Requirements times cells up to which more than one cut is sought for each. Untested default."""


class ProtectionCutPool:
    """Protection cuts over the variables of a formulation, separated on demand; each is added to one program."""

    def __init__(
        self,
        problem: Problem,
        formulation: Formulation,
        requirements: Sequence[Requirement],
        widths: Sequence[Requirement],
        deadline: Deadline,
        settings: SeparationSettings = SeparationSettings(),
    ) -> None:
        """`widths`: conditional requirements, which hold to the extent to which their cells are touched."""
        self.formulation, self.deadline, self.settings = formulation, deadline, settings
        self.requirements, self._unconditional = [*requirements, *widths], len(requirements)
        self._separator = protection_separator_of(problem)
        self._builder, self._extent = CutBuilder(formulation, DeviationBounds(problem)), Switched(formulation)
        small = len(self.requirements) * len(problem.table) <= settings.max_deep_size
        self._depth = settings.depth if small and self._is_monotone() else 1
        self._last_violated = np.full(len(self.requirements), -settings.recent_rounds)
        self._any_violated = False
        self.constraints: list[tuple[csr_array, Floats]] = []
        """Blocks  matrix x >= right."""
        self._cuts: list[ProtectionCut] = []

    @property
    def size(self) -> int:
        """Number of cuts."""
        return len(self._cuts)

    def stages(self) -> list[ShiftStage]:
        """The stages of separation; only the last one where shifted points prove nothing or are not needed."""
        useful = self._is_monotone() and not self._separator.weighs_closed_cells
        return list(self.settings.stages if useful else self.settings.stages[-1:])

    def _is_monotone(self) -> bool:
        """Whether larger variables leave larger deviation bounds to every cell."""
        return all(
            (bound.matrix.data >= 0).all() for bound in (self.formulation.above, self.formulation.below)
        )

    # ------------------------------------------------------------------ separation

    def separate(self, x: Floats, program: RestrictedProgram, number: int, *, integral: bool = False) -> int:
        """Add the cuts that a point violates in round `number`; gives how many."""
        return self._add_at(x, x, self._all, program, number, integral=integral)

    def separate_shifted(
        self, x: Floats, program: RestrictedProgram, number: int, stages: list[ShiftStage]
    ) -> int:
        """Add cuts that x violates, found at shifted points while there are such stages; gives how many.

        A stage that finds nothing is removed from the list. Recently violated requirements are separated first.
        """
        if not self._any_violated and not self._violated(x, self._all, False, most=1)[1].size:
            return 0
        self._any_violated = True
        while len(stages) > 1:
            recent = self._last_violated > number - self.settings.recent_rounds
            at = self._shifted(x, program.reduced_costs, stages[0])
            for which in (self._all[recent], self._all[~recent]):
                added = self._add_at(at, x, which, program, number)
                if added:
                    return added
            stages.pop(0)
        return self.separate(x, program, number)

    @property
    def _all(self) -> Ints:
        return np.arange(len(self.requirements))

    def _shifted(self, x: Floats, reduced_costs: Floats, stage: ShiftStage) -> Floats:
        """The point with promising variables raised."""
        number = max(self.settings.min_requirements, len(self.requirements))
        count = int(stage.share * self.settings.raised_per_requirement * number)
        raised = np.minimum(stage.value, self.formulation.high)
        columns = np.flatnonzero(x < raised)
        if columns.size > count:
            columns = columns[np.argpartition(reduced_costs[columns], count)[:count]]
        shifted = x.copy()
        shifted[columns] = raised[columns]
        return shifted

    def _add_at(
        self,
        at: Floats,
        x: Floats,
        which: Ints,
        program: RestrictedProgram,
        number: int,
        *,
        integral: bool = False,
    ) -> int:
        """Separate some requirements at a point and add the cuts that x violates."""
        cuts, violated = self._violated(at, which, integral, self.settings.max_violated)
        self._last_violated[violated] = number
        return self.add(cuts, at, x, program)

    def _violated(
        self, x: Floats, which: Ints, integral: bool, most: int
    ) -> tuple[list[ProtectionCut], Ints]:
        """Cuts for those of the requirements that a point violates, and which these are."""
        extent = np.ones(len(self.requirements))
        conditional = self.requirements[self._unconditional :]
        cells = np.array([requirement.cell for requirement in conditional], dtype=np.int64)
        extent[self._unconditional :] = self.formulation.touched.at(x)[cells]
        with watched(self.deadline.check):  # a single program may take longer than there is time
            cuts = self._separator.separate(
                *self.formulation.deviation_bounds(x),
                [self.requirements[t] for t in which],
                extent=extent[which],
                most=most,
                share=None if integral else self._extent.at(x),
                depth=self._depth,
                deadline=self.deadline,
            )
        violated = {id(cut.requirement) for cut in cuts}
        return cuts, which[[id(self.requirements[t]) in violated for t in which.tolist()]]

    # ------------------------------------------------------------------ cuts

    def initial_cuts(self, known: Sequence[ProtectionCut]) -> list[ProtectionCut]:
        """Cuts that need no separation: of each cell's own bounds, and known ones for the same cells.

        The requirements of this pool take the place of theirs: multipliers hold for requirements of any size.
        """
        own = self.requirements[: self._unconditional]
        by_key = {(each.cell, each.attacker, each.side): each for each in own}
        keys = ((cut.requirement.cell, cut.requirement.attacker, cut.requirement.side) for cut in known)
        adapted = [
            replace(cut, requirement=by_key[key])
            for key, cut in zip(keys, known, strict=True)
            if key in by_key and cut.cells.size > 1
        ]
        return [*own_bound_cuts(own), *adapted]

    def add(self, cuts: Sequence[ProtectionCut], at: Floats, x: Floats, program: RestrictedProgram) -> int:
        """Add cuts that were found at a point to a program, as far as x violates them; gives how many."""
        if not cuts:
            return 0
        conditional = {id(requirement) for requirement in self.requirements[self._unconditional :]}
        matrix, right = self._builder.rows(
            cuts,
            *self.formulation.deviation_bounds(at),
            [id(cut.requirement) in conditional for cut in cuts],
        )
        matrix, right = self._builder.strengthened(matrix, right, x)
        new = self._builder.new(matrix, right, np.flatnonzero(right - matrix @ x > CUT_VIOLATION))
        if new.size == 0:  # within the tolerance of linear programs, or violated at shifted points only
            return 0
        matrix, right = csr_array(matrix[new]), right[new]
        self.constraints.append((matrix, right))
        self._cuts += [cuts[k] for k in new.tolist()]
        program.add_cuts(matrix, right)
        return int(new.size)

    def tight_cuts(self, x: Floats) -> list[ProtectionCut]:
        """The cuts that a point meets without slack: a start for requirements of other sizes."""
        if x.size < self.formulation.size or not self.constraints:
            return []
        slack = np.concatenate([matrix @ x - right for matrix, right in self.constraints])
        return [self._cuts[k] for k in np.flatnonzero(slack <= CUT_VIOLATION)]
