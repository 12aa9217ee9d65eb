"""A network of cells on which paths protect one level after the other; see `kernels.stratified_paths`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.solvers.graphs.adjacency import adjacency, least_step


class StratifiedNetwork:
    """Arcs ``tail -> head``, each a cell with a weight and capacities to fall and to rise; some are hidden already.

    `alone` are the cells of single contributors. `by_weight` says which key makes a path short (see
    `kernels.stratified_paths`).
    """

    def __init__(
        self,
        ends: tuple[int, Codes, Codes],
        weight: Floats,
        capacities: tuple[Floats, Floats],
        is_open: Bools,
        alone: Bools,
        *,
        by_weight: bool,
    ) -> None:
        from tablecloak.solvers.kernels import stratified_paths as kernels

        self._kernels: Any = kernels
        self.by_weight = by_weight
        self.paths: list[Codes] = []
        """The arcs of every path so far, its own one first."""
        self._together: list[int] = []
        """Number of paths, from this one on, that were found for the same level."""
        self._step = least_step(weight) if by_weight else 1.0
        self._net = _network(kernels, ends, weight, capacities, alone)
        kernels.open_all(self._net, np.flatnonzero(is_open))
        kernels.begin(self._net)

    @property
    def is_open(self) -> Bools:
        """The arcs that are hidden now."""
        return np.asarray(self._net.is_open.copy())

    @property
    def found(self) -> int:
        """Number of paths found, those that were taken back included."""
        return int(self._net.counts[self._kernels.FOUND])

    def reached(self, arc: int, rising: bool) -> float:
        """How far an arc is known to rise or to fall: Cupl and Clpl in Castro (2007)."""
        return float(self._net.reached[2 * arc + rising])

    def protect(self, arc: int, rising: bool, level: float, *, avoid: bool = False) -> bool:
        """Hide the cells of shortest paths until the arc is known to rise or fall by a level.

        False, and nothing is changed, if such paths end before. `avoid`: not through cells of single contributors.
        """
        if not self._run(arc, rising, level, only_open=False, avoid=avoid):
            return False
        legs = self._legs()
        self.paths += legs
        self._together += range(len(legs), 0, -1)
        return True

    def prove(self, arc: int, rising: bool, level: float, *, avoid: bool = False) -> Codes | None:
        """The cells of paths over hidden cells that give the arc its level; None if such paths end before."""
        if not self._run(arc, rising, level, only_open=True, avoid=avoid):
            return None
        return np.concatenate([np.array([arc], dtype=np.int32), *self._legs()])

    def shift(self, arcs: Codes, moved: Floats) -> None:
        """Hide the cells of a flow, and record that each of them can move as far as in this flow."""
        self._kernels.begin(self._net)
        for arc, by in zip(arcs.tolist(), moved.tolist(), strict=True):
            self._kernels.open_arc(self._net, arc)
            self._kernels.record(self._net, 2 * arc + (by > 0), abs(by), len(self.paths))
        self.paths.append(arcs)
        self._together.append(1)

    def proof(self, arc: int, rising: bool) -> Codes:
        """The cells of the paths along which an arc is known to rise or fall."""
        place = int(self._net.witness[2 * arc + rising])
        if place < 0:
            return np.array([arc], dtype=np.int32)
        several = self._together[place] if self.paths[place][0] == arc else 1
        return np.concatenate(self.paths[place : place + several])

    def set_open(self, arc: int, is_open: bool) -> None:
        """Publish a hidden arc, or hide it again. Only for arcs that were hidden by this object."""
        self._net.is_open[arc] = is_open

    def _run(self, arc: int, rising: bool, level: float, *, only_open: bool, avoid: bool) -> bool:
        query = self._kernels.PathQuery(
            source=0,
            sink=0,
            own=arc,
            rising=rising,
            level=level,
            base=0.0,
            step=self._step,
            by_weight=self.by_weight,
            only_open=only_open,
            avoid=avoid,
        )
        return bool(self._kernels.protect(self._net, query, len(self.paths)))

    def _legs(self) -> list[Codes]:
        """The paths of the level just met."""
        counts = self._net.counts
        ends = self._net.legs[: counts[self._kernels.LEGS]]
        if ends.size == 0:
            return []
        return np.split(self._net.trail[: counts[self._kernels.TRAIL]].copy(), ends[:-1])


def _network(
    kernels: Any,
    ends: tuple[int, Codes, Codes],
    weight: Floats,
    capacities: tuple[Floats, Floats],
    alone: Bools,
) -> Any:
    """The arrays of the kernels: the arcs of each node from the lightest on, nothing hidden yet."""
    nodes, tail, head = ends
    count = tail.size
    linked = np.flatnonzero(tail != head)
    lightest = np.repeat(2 * linked[np.argsort(weight[linked], kind="stable")], 2)
    lightest[1::2] += 1
    lists = adjacency(nodes, tail, head, lightest)
    arc, forward, (down, up) = lists.arc, lists.forward, capacities
    path_capacity = np.column_stack(
        [np.where(forward, down[arc], up[arc]), np.where(forward, up[arc], down[arc])]
    )
    queue = arc.size + nodes + 2
    return kernels.StratifiedArrays(
        first=lists.first,
        target=lists.target,
        arc=arc,
        forward=forward,
        entries=lists.entries,
        price=weight[arc].astype(np.float64),
        path_capacity=path_capacity.ravel().astype(np.float64),
        taken=np.zeros(arc.size, dtype=np.bool_),
        capacity=np.column_stack(capacities).ravel().astype(np.float64),
        alone=alone.copy(),
        is_open=np.zeros(count, dtype=np.bool_),
        opened=np.full(nodes, kernels.NONE, dtype=np.int32),
        before=np.full(arc.size, kernels.NONE, dtype=np.int32),
        used=np.zeros(count, dtype=np.int32),
        reached=np.zeros(2 * count),
        witness=np.full(2 * count, kernels.NONE, dtype=np.int64),
        new=np.zeros(count + 1, dtype=np.int32),
        changed=np.zeros(2 * count + 2, dtype=np.int64),
        old_reached=np.zeros(2 * count + 2),
        old_witness=np.zeros(2 * count + 2, dtype=np.int64),
        trail=np.zeros(2 * count + 2, dtype=np.int32),
        legs=np.zeros(count + 1, dtype=np.int32),
        rank=np.zeros(nodes, dtype=np.int64),
        cost=np.zeros(nodes),
        arrived=np.zeros(nodes, dtype=np.int32),
        done=np.zeros(nodes, dtype=np.bool_),
        ranks=np.zeros(queue, dtype=np.int64),
        costs=np.zeros(queue),
        heap=np.zeros(queue, dtype=np.int32),
        counts=np.zeros(7, dtype=np.int64),
    )
