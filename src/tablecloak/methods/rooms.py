"""What a publication leaves open, and proofs that it is too little: the second model of all ways to publish.

A publication states an interval for every cell: it leaves cell i the room U_i above its true value and D_i below it.
For level L of cell p (upper side), an attacker k and any multipliers y of the equations M d = 0

    d_p = sum_i rho_i d_i <= sum_i rho_i^+ min(U_i, UB_i^k) + rho_i^- min(D_i, LB_i^k),    rho_i = [i = p] - (M'y)_i,

so a safe publication leaves at least L on the right. Where it leaves less, the attacker's own program gives y: on
networks a minimum cut, elsewhere the duals. A sliding level takes the sum of both sides. Suppression, intervals,
rounding and perturbation differ only in how U and D depend on what is decided (`forms`).

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, second models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.audit.reduce import without_empty_rows, working_columns, working_equations
from tablecloak.engines.flow import Network
from tablecloak.engines.freedom import attack_on
from tablecloak.methods.deviations import Side, Task, undominated
from tablecloak.methods.network_search import Boxes, CellNetwork, is_network
from tablecloak.methods.separation import DIRECTIONS
from tablecloak.problem import Problem
from tablecloak.progress import NEVER, Deadline

SHORT = 1e-7
"""A level is missed if more than this share of it is missing."""
NOISE = 1e-9
"""Smaller coefficients of a proof, and room below this share of a level, are rounding noise."""


@dataclass(frozen=True, eq=False)
class Proof:
    """sum of above[i] * U[cells[i]] + below[i] * D[cells[i]] >= level, in every safe publication."""

    task: Task
    cells: Ints
    above: Floats
    below: Floats


class Prover(Protocol):
    """Finds levels that a publication misses."""

    def proofs(
        self,
        below: Floats,
        above: Floats,
        tasks: Sequence[Task],
        *,
        extent: Floats,
        most: int,
        deadline: Deadline = NEVER,
    ) -> list[Proof]:
        """Proofs for at most `most` of the levels, asked to some extent each, that this room misses."""


def all_levels(problem: Problem) -> list[Task]:
    """The levels of sensitive cells against every attacker, the largest first; those that others imply are left out."""
    cells = np.flatnonzero(problem.sensitive)
    tasks = []
    for attacker in range(len(problem.attacker_names)):
        lower, upper, sliding = problem.required(attacker, cells)
        for side, need in ((Side.UP, upper), (Side.DOWN, lower), (Side.SLIDE, sliding)):
            wanted = need > 0 if side is not Side.SLIDE else need > np.maximum(lower + upper, 0.0)
            tasks += [
                Task(cell, attacker, side, level)
                for cell, level in zip(cells[wanted].tolist(), need[wanted].tolist(), strict=True)
            ]
    return _largest_first(undominated(problem, tasks))


def conditional_widths(problem: Problem, cells: Bools) -> list[Task]:
    """What is asked of these cells only if they are touched, against every attacker."""
    which = np.flatnonzero(cells & (problem.levels.conditional > 0))
    tasks = []
    for attacker in range(len(problem.attacker_names) if which.size else 0):
        _, _, widths = problem.required(attacker, which)
        tasks += [
            Task(cell, attacker, Side.SLIDE, width)
            for cell, width in zip(which.tolist(), widths.tolist(), strict=True)
            if width > 0
        ]
    return _largest_first(tasks)


def _largest_first(tasks: list[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: (-task.level, task.attacker, task.cell, task.side.value))


def prover_of(problem: Problem) -> Prover:
    """The engine that fits the equations of the table."""
    return NetworkProver(problem) if is_network(problem) else LinearProver(problem)


class NetworkProver:
    """Minimum cuts, the nearest to each end: rho is 1 for cells that leave the source side, -1 for cells that enter."""

    def __init__(self, problem: Problem) -> None:
        self.boxes, self.graph = Boxes(problem), CellNetwork(problem)

    def proofs(
        self,
        below: Floats,
        above: Floats,
        tasks: Sequence[Task],
        *,
        extent: Floats,
        most: int,
        deadline: Deadline = NEVER,
    ) -> list[Proof]:
        asked = [t for t in range(len(tasks)) if extent[t] > NOISE]
        if not asked:
            return []
        support = (below > 0) | (above > 0)
        support[[tasks[t].cell for t in asked]] = True
        cells = np.flatnonzero(support)
        who = sorted({tasks[t].attacker for t in asked})
        down = np.array([np.minimum(self.boxes[k][0], below)[cells] for k in who])
        up = np.array([np.minimum(self.boxes[k][1], above)[cells] for k in who])
        queries = [(t, upward) for t in asked for upward in DIRECTIONS[tasks[t].side]]
        level = np.array([tasks[t].level for t, _ in queries])
        need = level * np.array([extent[t] for t, _ in queries])
        arcs = np.searchsorted(cells, [tasks[t].cell for t, _ in queries]).astype(np.int32)
        attackers = np.array([who.index(tasks[t].attacker) for t, _ in queries], dtype=np.int32)
        upward = np.array([direction for _, direction in queries])
        limit = np.minimum(need, np.where(upward, up[attackers, arcs], down[attackers, arcs]))
        ones = np.ones(cells.size)
        network = Network(self.graph.nodes, self.graph.tail[cells], self.graph.head[cells], ones, ones)
        flows, near, far = network.least_cuts(arcs, upward, limit, level, attackers, (up, down), ones)
        got: dict[int, float] = {}
        parts: dict[int, list[int]] = {}
        for q, (t, _) in enumerate(queries):
            got[t] = got.get(t, 0.0) + float(flows[q])
            parts.setdefault(t, []).append(q)
        missed = [t for t in asked if got[t] < tasks[t].level * (extent[t] - SHORT)]
        missed.sort(key=lambda t: got[t] / tasks[t].level)
        own = flows >= limit * (1 - NOISE)
        return [
            self._proof(tasks[t], [(bool(upward[q]), bool(own[q]), cuts[q]) for q in parts[t]])
            for t in missed[:most]
            for cuts in (near, far)
        ]

    def _proof(self, task: Task, sides: list[tuple[bool, bool, Bools]]) -> Proof:
        """From the source sides of minimum cuts; where the cell's own room is the limit, that is the proof."""
        tail, head = self.graph.tail, self.graph.head
        above, below = np.zeros((2, tail.size))
        for upward, own, source in sides:
            if own:
                (above if upward else below)[task.cell] += 1.0
                continue
            leaves, enters = source[tail], source[head]
            out, into = leaves & ~enters, enters & ~leaves
            out[task.cell] = into[task.cell] = False
            above[out] += 1.0
            below[into] += 1.0
        return _sparse(task, above, below)


class LinearProver:
    """Duals of the attackers' programs, over the cells that have any room."""

    def __init__(self, problem: Problem) -> None:
        self.boxes = Boxes(problem)
        self.columns = working_columns(problem.table)
        self.transposed = csc_array(working_equations(problem.table)).T.tocsr()
        self._missed: dict[Task, int] = {}
        self._calls = 0

    def proofs(
        self,
        below: Floats,
        above: Floats,
        tasks: Sequence[Task],
        *,
        extent: Floats,
        most: int,
        deadline: Deadline = NEVER,
    ) -> list[Proof]:
        order = [t for t in range(len(tasks)) if extent[t] > NOISE]
        order.sort(key=lambda t: -self._missed.get(tasks[t], 0))
        support = (below > 0) | (above > 0)
        support[[tasks[t].cell for t in order]] = True
        cells = np.flatnonzero(support)
        matrix = self.columns[:, cells]
        used = np.unique(matrix.indices).astype(np.int64)
        attack = attack_on(without_empty_rows(csc_array(matrix)))
        self._calls += 1
        found: list[Proof] = []
        groups: dict[tuple[int, float], list[int]] = {}
        for t in order:
            groups.setdefault((tasks[t].attacker, tasks[t].level), []).append(t)
        for (attacker, level), group in groups.items():
            box = self.boxes[attacker]
            attack.set_bounds(
                -np.minimum(box[0], below)[cells] / level, np.minimum(box[1], above)[cells] / level
            )
            for t in group:
                if len(found) >= most or deadline.passed():
                    return found
                task, need, got = tasks[t], extent[t] - SHORT, 0.0
                place, parts = int(np.searchsorted(cells, task.cell)), []
                for upward in DIRECTIONS[task.side]:
                    missing = need - got
                    reached = attack.reach(place, upward, missing)
                    got = need if reached >= missing else got + reached
                    if got >= need:
                        break
                    parts.append((upward, attack.multipliers(place, upward)))
                if got < need:
                    self._missed[task] = self._calls
                    found.append(self._proof(task, used, parts))
        return found

    def _proof(self, task: Task, used: Ints, sides: list[tuple[bool, Floats]]) -> Proof:
        """rho from multipliers; any are valid, so noise is cleaned away first."""
        above, below = np.zeros((2, self.columns.shape[1]))
        for upward, duals in sides:
            clean = np.round(duals * 840.0) / 840.0
            multipliers = np.zeros(self.columns.shape[0])
            multipliers[used] = np.where(np.abs(duals - clean) < 1e-5, clean, duals)
            rho = -(self.transposed @ multipliers)
            rho[task.cell] += 1.0 if upward else -1.0
            rho[np.abs(rho) < NOISE] = 0.0
            above += np.maximum(rho, 0.0)
            below += np.maximum(-rho, 0.0)
        return _sparse(task, above, below)


def _sparse(task: Task, above: Floats, below: Floats) -> Proof:
    cells = np.flatnonzero((above > 0) | (below > 0))
    return Proof(task, cells, above[cells], below[cells])
