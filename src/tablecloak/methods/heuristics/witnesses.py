"""Witnesses of requirements among the hidden cells, by the engine that fits the table.

A witness of a requirement is a deviation of hidden cells, M d = 0 within an attacker's box, that takes the sensitive
cell as far as its level; for a sliding level two deviations, one up and one down, that far apart. Cells are closed
(published) one after the other; the one closed last may be opened again.

Engines: maximum flows on networks; the attacker's oracle (`attacker.oracle`) on small systems; else
linear programs over the neighbourhood of the cell (`deviation`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints, places_of
from tablecloak.attacker import (
    CellNetwork,
    DeviationBounds,
    LinearOracle,
    NullSpaceSettings,
    OracleSettings,
    is_network,
    tolerances,
    unpicked,
    working_columns,
    working_equations,
)
from tablecloak.methods.heuristics.deviation import (
    DeviationFinder,
    DeviationSettings,
    Witness,
    met_by,
    negligible,
)
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline
from tablecloak.solvers.graphs import Network


@dataclass(frozen=True)
class WitnessSettings:
    """Sizes of the engines."""

    refactor_share: float = 0.8
    """Share of the cells: when fewer are left the equations are eliminated anew, which shortens the simplex steps that
    follow. Untested default."""
    entries_per_second: float = 1e7
    """Entries of a dense system that are eliminated in a second on a busy machine: no deadline is checked meanwhile, so
    systems that would take longer than the time left go to linear programs."""
    max_program_cells: int = 1600
    """Maximum number of cells of a program that seeks a witness without a cell: larger ones publish more cells and take
    longer. Untested default."""
    null_space: NullSpaceSettings = NullSpaceSettings()
    """Sizes of the systems that are eliminated."""
    max_cut_bytes: int = 50_000_000
    """Memory of the minimum cuts that are remembered on networks, a byte a node: a remembered cut saves flows. With 0
    none are."""
    deviation: DeviationSettings = DeviationSettings()


class WitnessEngine(ABC):
    """Finds witnesses among the cells that are not closed."""

    name: str
    credits = False
    """Whether a witness is credited to other requirements that it meets too; where a search is as quick it is not."""

    @abstractmethod
    def close(self, cell: int) -> None:
        """Publish the cell."""

    @abstractmethod
    def open(self, cell: int) -> None:
        """Hide the cell closed last again."""

    @abstractmethod
    def find(self, requirement: Requirement, *, limited: bool) -> Ints | None:
        """The cells that a witness of the requirement moves; None if there is none.

        With `limited` an engine may give up before it has searched the whole table.
        """

    def credited(self, requirements: Sequence[Requirement]) -> list[Requirement]:
        """The requirements that the last witness meets too."""
        return []

    def excludes(self, closed: int, requirements: Sequence[Requirement]) -> bool:
        """Whether one of these requirements is known, without a search, to have no witness without the closed cell."""
        return False


def engine_of(
    problem: Problem,
    requirements: Sequence[Requirement],
    hidden: Bools,
    deadline: Deadline,
    settings: WitnessSettings = WitnessSettings(),
) -> WitnessEngine:
    """The engine that fits the table, the number of requirements and the time left; `hidden`: the cells at first."""
    if is_network(problem):
        return FlowWitnesses(problem, requirements, hidden, settings=settings)
    if NullSpaceWitnesses.fits(
        problem, requirements, hidden, settings
    ) and deadline.left >= elimination_seconds(problem, hidden, settings):
        return NullSpaceWitnesses(problem, requirements, hidden, settings)
    return ProgramWitnesses(problem, hidden, deadline, settings)


class FlowWitnesses(WitnessEngine):
    """Maximum flows, one network an attacker.

    A flow that falls short leaves a minimum cut. While what leaves its source side stays below the level, the
    requirement has no witness, and no further flow is computed.
    """

    name = "network flow"

    def __init__(
        self,
        problem: Problem,
        requirements: Sequence[Requirement],
        hidden: Bools,
        *,
        graph: CellNetwork | None = None,
        boxes: DeviationBounds | None = None,
        settings: WitnessSettings = WitnessSettings(),
    ) -> None:
        graph, boxes = graph or CellNetwork(problem), boxes or DeviationBounds(problem)
        self.settings = settings
        self.cells = np.flatnonzero(hidden)
        self.place = places_of(self.cells, hidden.size)
        self.bounds: dict[int, tuple[Floats, Floats]] = {}
        """Deviation bounds up and down by attacker."""
        self.networks: dict[int, Network] = {}
        self.cuts: dict[Requirement, Bools] = {}
        """The source side of the last minimum cut, by requirement."""
        for attacker in sorted({requirement.attacker for requirement in requirements}):
            down, up = (side[self.cells] for side in boxes[attacker])
            ends = graph.tail[self.cells], graph.head[self.cells]
            self.bounds[attacker] = (up, down)
            self.networks[attacker] = Network(graph.nodes, *ends, up, down)

    def close(self, cell: int) -> None:
        for network in self.networks.values():
            network.set_capacity(int(self.place[cell]), 0.0, 0.0)

    def open(self, cell: int) -> None:
        arc = int(self.place[cell])
        for attacker, network in self.networks.items():
            up, down = self.bounds[attacker]
            network.set_capacity(arc, float(up[arc]), float(down[arc]))

    def find(self, requirement: Requirement, *, limited: bool) -> Ints | None:
        moves = self.deviations(requirement)
        if moves is None:
            return None
        places: Ints = np.flatnonzero(np.logical_or.reduce([move != 0.0 for move in moves]))
        return np.asarray(self.cells[places])

    def deviations(self, requirement: Requirement) -> list[Floats] | None:
        """The flows that meet a requirement, over `cells`; None if it is not met."""
        network, bounds = self.networks[requirement.attacker], self.bounds[requirement.attacker]
        arc, missing = int(self.place[requirement.cell]), requirement.level
        directions, moves = requirement.directions, []
        for upward in directions:
            if missing > 0:
                found = network.max_deviation(arc, upward, missing)
                moves.append(found.deviation)
                missing -= min(found.value, missing)
                short = missing > negligible(requirement) and found.value < bounds[not upward][arc]
                if short and len(directions) == 1:  # two cuts of a sliding level say nothing together
                    self._remember(requirement, found.source_side)
        return None if missing > negligible(requirement) else moves

    def excludes(self, closed: int, requirements: Sequence[Requirement]) -> bool:
        return any(self._is_cut_off(requirement) for requirement in requirements)

    def _remember(self, requirement: Requirement, source_side: Bools) -> None:
        """Keep the cut; beyond the memory limit the oldest one is dropped."""
        self.cuts.pop(requirement, None)
        self.cuts[requirement] = source_side
        if len(self.cuts) > self.settings.max_cut_bytes // source_side.size:
            del self.cuts[next(iter(self.cuts))]

    def _is_cut_off(self, requirement: Requirement) -> bool:
        """Whether the capacity of the remembered cut, as the network is now, is below the level."""
        source_side = self.cuts.get(requirement)
        if source_side is None:
            return False
        network, own = self.networks[requirement.attacker], int(self.place[requirement.cell])
        starts, ends, capacity = source_side[network.tail], source_side[network.head], network.capacity
        starts[own] = ends[own] = False
        leaves = capacity[0::2][starts & ~ends].sum() + capacity[1::2][ends & ~starts].sum()
        return bool(leaves < requirement.level - negligible(requirement))


def elimination_seconds(
    problem: Problem, hidden: Bools, settings: WitnessSettings = WitnessSettings()
) -> float:
    """Estimated time of the elimination of the equations of these cells; no deadline is checked meanwhile."""
    return _entries(problem, hidden) / settings.entries_per_second


def _entries(problem: Problem, hidden: Bools) -> int:
    """Entries of the equations of these cells as a dense system."""
    part = working_columns(problem.table)[:, np.flatnonzero(hidden)]
    return int(np.unique(part.indices).size * part.shape[1])


class NullSpaceWitnesses(WitnessEngine):
    """A simplex method in the null space of the equations; warm linear programs where it has many dimensions."""

    name = "compiled tableaus"

    def __init__(
        self,
        problem: Problem,
        requirements: Sequence[Requirement],
        hidden: Bools,
        settings: WitnessSettings = WitnessSettings(),
    ) -> None:
        self.hidden, self.settings, self._boxes = hidden.copy(), settings, DeviationBounds(problem)
        self._oracle = LinearOracle(problem.table, OracleSettings(settings.null_space))
        watched = np.unique([requirement.cell for requirement in requirements]).astype(np.int64)
        self._watched: Ints = watched[problem.must_hide[watched]]
        self._eliminate()

    @staticmethod
    def fits(
        problem: Problem,
        requirements: Sequence[Requirement],
        hidden: Bools,
        settings: WitnessSettings = WitnessSettings(),
    ) -> bool:
        """Whether the system is small enough to be eliminated."""
        part, most = _entries(problem, hidden), settings.null_space.max_entries
        return len(requirements) * hidden.size <= 4 * most and part <= most

    def _eliminate(self) -> None:
        self.cells: Ints = np.flatnonzero(self.hidden)
        self._oracle.restrict(self.cells)
        self._tied = np.zeros(self.hidden.size, dtype=bool)
        if self._watched.size:
            self._tied[self._oracle.tied(self._watched)] = True

    def close(self, cell: int) -> None:
        if self.hidden[self.cells].sum() < self.settings.refactor_share * self.cells.size:
            self._eliminate()  # with the cell, which may be opened again
        self.hidden[cell] = False

    def open(self, cell: int) -> None:
        self.hidden[cell] = True

    def find(self, requirement: Requirement, *, limited: bool) -> Ints | None:
        shown = ~self.hidden[self.cells]
        down, up = (side[self.cells] / requirement.level for side in self._boxes[requirement.attacker])
        down[shown] = up[shown] = 0.0
        self._oracle.set_bounds(down, up)
        found = self._oracle.witness(requirement, 1.0 - tolerances.WITNESS_MET)
        if found is None:
            return None
        moved = [np.abs(deviation) > tolerances.NULL_SPACE_MOVE for _, deviation in found.directions]
        return np.asarray(self.cells[np.logical_or.reduce(moved)])

    def excludes(self, closed: int, requirements: Sequence[Requirement]) -> bool:
        return bool(self._tied[closed])  # it moves in proportion with a cell that has a level


class ProgramWitnesses(WitnessEngine):
    """Linear programs over the neighbourhood of the cell.

    Cells that some witness has moved are free, others cost their weight: so witnesses have many cells in common, and
    one often meets other requirements too.
    """

    name, credits = "linear programs", True

    def __init__(
        self,
        problem: Problem,
        hidden: Bools,
        deadline: Deadline,
        settings: WitnessSettings = WitnessSettings(),
    ) -> None:
        self.problem, self.settings = problem, settings
        equations = working_equations(problem.table)
        self.finder = DeviationFinder(problem, equations, hidden, deadline, settings=settings.deviation)
        self._price: Floats = np.where(problem.must_hide, 0.0, problem.weights)
        self._last: tuple[Requirement, Witness] | None = None

    def close(self, cell: int) -> None:
        self.finder.allowed[cell] = False

    def open(self, cell: int) -> None:
        self.finder.allowed[cell] = True

    def find(self, requirement: Requirement, *, limited: bool) -> Ints | None:
        widest = self.settings.max_program_cells if limited else None
        witness = self.finder.cheapest(requirement, self._price, widest=widest)
        if witness is None:
            return None
        self._last = (requirement, witness)
        self._price[witness.cells] = 0.0
        return witness.cells

    def credited(self, requirements: Sequence[Requirement]) -> list[Requirement]:
        if self._last is None:
            return []
        requirement, witness = self._last
        return met_by(self.problem, witness, requirement.attacker, list(requirements))

    def excludes(self, closed: int, requirements: Sequence[Requirement]) -> bool:
        """Whether single equations determine a cell with a level now."""
        hidden = np.flatnonzero(self.finder.allowed)
        determined = hidden[~unpicked(self.finder.columns[:, hidden])]
        return bool(np.isin([requirement.cell for requirement in requirements], determined).any())
