"""A network of cells on which paths protect one level after the other; the kernels of `stratified_paths`."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.solvers import kernels
from tablecloak.solvers.graphs.adjacency import least_step


class StratifiedNetwork:
    """Arcs ``tail -> head``, each a cell with a weight and capacities to fall and to rise; some are hidden already.

    `alone` are the cells of single contributors. `by_weight` says which key makes a path short (see
    `stratified_paths.pxi`).
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
        self.by_weight = by_weight
        self.paths: list[Codes] = []
        """The arcs of every path so far, its own one first."""
        self._together: list[int] = []
        """Number of paths, from this one on, that were found for the same level."""
        self._step = least_step(weight) if by_weight else 1.0
        self._net = _network(ends, weight, capacities, alone)
        hidden = np.flatnonzero(is_open)
        kernels.hide(self._net, hidden, np.zeros(hidden.size), 0)

    @property
    def is_open(self) -> Bools:
        """The arcs that are hidden now."""
        return self._net.open_array.copy()

    @property
    def found(self) -> int:
        """Number of paths found, those that were taken back included."""
        return self._net.found

    def reached(self, arc: int, rising: bool) -> float:
        """How far an arc is known to rise or to fall: Cupl and Clpl in Castro (2007)."""
        return float(self._net.reached_array[2 * arc + rising])

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
        kernels.hide(self._net, arcs.astype(np.int64), moved.astype(np.float64), len(self.paths))
        self.paths.append(arcs)
        self._together.append(1)

    def proof(self, arc: int, rising: bool) -> Codes:
        """The cells of the paths along which an arc is known to rise or fall."""
        place = int(self._net.witness_array[2 * arc + rising])
        if place < 0:
            return np.array([arc], dtype=np.int32)
        several = self._together[place] if self.paths[place][0] == arc else 1
        return np.concatenate(self.paths[place : place + several])

    def set_open(self, arc: int, is_open: bool) -> None:
        """Publish a hidden arc, or hide it again. Only for arcs that were hidden by this object."""
        self._net.open_array[arc] = is_open

    def _run(self, arc: int, rising: bool, level: float, *, only_open: bool, avoid: bool) -> bool:
        number = len(self.paths)
        return kernels.protect(
            self._net, arc, rising, level, self._step, self.by_weight, only_open, avoid, number
        )

    def _legs(self) -> list[Codes]:
        """The paths of the level just met."""
        net = self._net
        if net.legs_length == 0:
            return []
        return np.split(net.trail_array[: net.trail_length].copy(), net.legs_array[: net.legs_length - 1])


def _network(
    ends: tuple[int, Codes, Codes], weight: Floats, capacities: tuple[Floats, Floats], alone: Bools
) -> kernels.StratifiedArrays:
    """The arrays of the kernels: the arcs of each node from the lightest on, nothing hidden yet."""
    nodes, tail, head = ends
    linked = np.flatnonzero(tail != head)
    lightest = np.repeat(2 * linked[np.argsort(weight[linked], kind="stable")], 2)
    lightest[1::2] += 1
    down, up = (np.ascontiguousarray(side, dtype=np.float64) for side in capacities)
    return kernels.StratifiedArrays(
        nodes, tail, head, lightest.astype(np.int32), weight.astype(np.float64), down, up, alone.copy()
    )
