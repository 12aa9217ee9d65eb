"""A network of cells on which paths protect one level after the other; see `kernels.stratified_paths`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Tracks:
    """Arcs ``tail -> head``, each a cell with a weight and room to fall and to rise; some are hidden already.

    `alone` are the cells of single contributors. `by_weight` says which key makes a path short (see
    `kernels.stratified_paths`).
    """

    def __init__(
        self,
        ends: tuple[int, Ints, Ints],
        weight: Floats,
        rooms: tuple[Floats, Floats],
        is_open: Bools,
        alone: Bools,
        *,
        by_weight: bool,
    ) -> None:
        from tablecloak.solvers.kernels import stratified_paths as strata

        self._kernels: Any = strata
        self.by_weight = by_weight
        self.paths: list[Ints] = []
        """The arcs of every path so far, its own one first."""
        self._together: list[int] = []
        """How many paths, from this one on, were found for the same level."""
        self._step = (
            (1e-7 * float(np.median(weight[weight > 0])) if weight.any() else 1e-7) if by_weight else 1.0
        )
        self._net = _network(strata, ends, weight, rooms, alone)
        strata.open_all(self._net, np.flatnonzero(is_open))
        strata.begin(self._net)

    @property
    def is_open(self) -> Bools:
        """The arcs that are hidden now."""
        return np.asarray(self._net.is_open.copy())

    @property
    def found(self) -> int:
        """How many paths were found, those that were taken back included."""
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

    def prove(self, arc: int, rising: bool, level: float, *, avoid: bool = False) -> Ints | None:
        """The cells of paths over hidden cells that give the arc its level; None if such paths end before."""
        if not self._run(arc, rising, level, only_open=True, avoid=avoid):
            return None
        return np.concatenate([np.array([arc], dtype=np.int32), *self._legs()])

    def shift(self, arcs: Ints, moved: Floats) -> None:
        """Hide the cells of a flow, and carry what it shows: each of its cells can move as far as it does."""
        self._kernels.begin(self._net)
        for arc, by in zip(arcs.tolist(), moved.tolist(), strict=True):
            self._kernels.open_arc(self._net, arc)
            self._kernels.carry(self._net, 2 * arc + (by > 0), abs(by), len(self.paths))
        self.paths.append(arcs)
        self._together.append(1)

    def proof(self, arc: int, rising: bool) -> Ints:
        """The cells of the paths that show how far an arc is known to rise or fall."""
        place = int(self._net.proof[2 * arc + rising])
        if place < 0:
            return np.array([arc], dtype=np.int32)
        several = self._together[place] if self.paths[place][0] == arc else 1
        return np.concatenate(self.paths[place : place + several])

    def set_open(self, arc: int, is_open: bool) -> None:
        """Publish a hidden arc, or hide it again. Only for arcs that were hidden by this object."""
        self._net.is_open[arc] = is_open

    def _run(self, arc: int, rising: bool, level: float, *, only_open: bool, avoid: bool) -> bool:
        asked = self._kernels.Aim(
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
        return bool(self._kernels.protect(self._net, asked, len(self.paths)))

    def _legs(self) -> list[Ints]:
        """The paths of the level just met."""
        counts = self._net.counts
        ends = self._net.legs[: counts[self._kernels.LEGS]]
        if ends.size == 0:
            return []
        return np.split(self._net.trail[: counts[self._kernels.TRAIL]].copy(), ends[:-1])


def _network(
    strata: Any, ends: tuple[int, Ints, Ints], weight: Floats, rooms: tuple[Floats, Floats], alone: Bools
) -> Any:
    """The arrays of the kernels: the arcs of each node from the lightest on, nothing hidden yet."""
    nodes, tail, head = ends
    count = tail.size
    linked = np.flatnonzero(tail != head)
    arc = np.repeat(linked[np.argsort(weight[linked], kind="stable")], 2)
    forward = np.arange(arc.size) % 2 == 0
    node = np.where(forward, tail[arc], head[arc])
    order = np.argsort(
        node.astype(np.uint16) if nodes < 1 << 16 else node, kind="stable"
    )  # short ones sort faster
    arc, forward, node = arc[order], forward[order], node[order]
    way = np.column_stack(
        [np.where(forward, rooms[0][arc], rooms[1][arc]), np.where(forward, rooms[1][arc], rooms[0][arc])]
    )
    entries = np.full(2 * count, strata.NONE, dtype=np.int32)
    entries[2 * arc + ~forward] = np.arange(arc.size)
    queue = arc.size + nodes + 2
    return strata.Strata(
        first=np.searchsorted(node, np.arange(nodes + 1)).astype(np.int32),
        target=np.where(forward, head[arc], tail[arc]).astype(np.int32),
        arc=arc.astype(np.int32),
        forward=forward,
        entries=entries,
        price=weight[arc].astype(np.float64),
        way=way.ravel().astype(np.float64),
        taken=np.zeros(arc.size, dtype=np.bool_),
        room=np.column_stack(rooms).ravel().astype(np.float64),
        alone=alone.copy(),
        is_open=np.zeros(count, dtype=np.bool_),
        opened=np.full(nodes, strata.NONE, dtype=np.int32),
        before=np.full(arc.size, strata.NONE, dtype=np.int32),
        used=np.zeros(count, dtype=np.int32),
        reached=np.zeros(2 * count),
        proof=np.full(2 * count, strata.NONE, dtype=np.int64),
        new=np.zeros(count + 1, dtype=np.int32),
        changed=np.zeros(2 * count + 2, dtype=np.int64),
        old_reached=np.zeros(2 * count + 2),
        old_proof=np.zeros(2 * count + 2, dtype=np.int64),
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
