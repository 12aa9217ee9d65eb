"""A network whose arcs are opened at a price along shortest augmenting paths; the kernels of `augmenting_paths`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.solvers import kernels
from tablecloak.solvers.graphs.adjacency import arc_ends, least_step
from tablecloak.solvers.tolerances import HALF_UNIT, LEVEL_NOISE

Capacities = tuple[Floats, Floats]
"""How far up and how far down each arc may deviate."""
Stop = Callable[[], bool]


@dataclass(frozen=True)
class PathOpeningSettings:
    """Searches between two checks of the clock."""

    paths: int = 64
    """Number of single shortest paths; a deviation that takes more gets blocking flows for the rest, which are faster
    and open more arcs. Untested default."""
    blocking_flows: int = 4
    """Number of blocking flows. Untested default."""


def never() -> bool:
    """Do not stop."""
    return False


class PathOpeningNetwork:
    """Arcs ``tail -> head`` that may be opened at a price; some are open already."""

    def __init__(
        self,
        nodes: int,
        tail: Codes,
        head: Codes,
        price: Floats,
        is_open: Bools,
        settings: PathOpeningSettings = PathOpeningSettings(),
    ) -> None:
        ends = arc_ends(tail, head)
        cheapest_first = ends[np.argsort(price[ends >> 1], kind="stable")]
        price = price.astype(np.float64)
        self._net = kernels.PathOpeningArrays(nodes, tail, head, cheapest_first, price)
        self._step, self._settings = least_step(price), settings
        kernels.open_all(self._net, np.flatnonzero(is_open))

    @property
    def is_open(self) -> Bools:
        """The arcs that are open now."""
        return self._net.open_array.copy()

    def route(self, arc: int, upward: bool, need: float, capacities: Capacities, stop: Stop = never) -> bool:
        """Open arcs so that `arc` can deviate by `need` within the capacities; False if that is impossible."""
        return self.missing(arc, upward, need, capacities, stop) == 0.0

    def missing(
        self, arc: int, upward: bool, need: float, capacities: Capacities, stop: Stop = never
    ) -> float:
        """Open arcs as `route` does, as far as possible or until `stop`; returns the shortfall of the deviation.

        Shortest paths one by one; a deviation that takes many of them gets blocking flows for the rest.
        """
        up, down = capacities
        left, before, blocking = need, np.inf, False
        noise = min(LEVEL_NOISE * need, HALF_UNIT)
        while left > noise and not stop():
            blocking = left < before and before < np.inf  # not again if that brought nothing
            before = left
            searches = self._settings.blocking_flows if blocking else self._settings.paths
            left = kernels.open_paths(self._net, up, down, arc, upward, left, self._step, searches, blocking)
            if left < 0:
                break
        kernels.clear_flow(self._net)
        return 0.0 if abs(left) <= noise else abs(left)
