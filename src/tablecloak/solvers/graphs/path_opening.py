"""A network of cells with prices, on which cheap routes are looked for; see `kernels.augmenting_paths`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tablecloak.solvers.tolerances import HALF, NOISE

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Rooms = tuple[Floats, Floats]
"""How far up and how far down each arc may deviate."""
Stop = Callable[[], bool]

PATHS, SEARCHES = 64, 4
"""How many paths a level gets one by one, and how many blocking flows then before the clock is looked at."""


def never() -> bool:
    """Do not stop."""
    return False


class RoadMap:
    """Arcs ``tail -> head`` that may be opened at a price; some are open already."""

    def __init__(self, nodes: int, tail: Ints, head: Ints, price: Floats, is_open: Bools) -> None:
        from tablecloak.solvers.kernels import augmenting_paths

        count = tail.size
        linked = np.flatnonzero(tail != head)
        node = np.concatenate([tail[linked], head[linked]])
        target = np.concatenate([head[linked], tail[linked]])
        arc = np.concatenate([linked, linked])
        forward = np.arange(arc.size) < linked.size
        order = np.lexsort((price[arc], node))
        first = np.searchsorted(node[order], np.arange(nodes + 1)).astype(np.int32)
        entries = np.full(2 * count, augmenting_paths.NONE, dtype=np.int32)
        entries[2 * arc[order] + ~forward[order]] = np.arange(arc.size)
        self._route: Callable[..., float] = augmenting_paths.route
        self._forget: Callable[..., None] = augmenting_paths.forget
        self._roads = augmenting_paths.Roads(
            first=first,
            target=target[order].astype(np.int32),
            arc=arc[order].astype(np.int32),
            forward=forward[order],
            price=price.astype(np.float64),
            is_open=np.zeros(count, dtype=np.bool_),
            opened=np.full(nodes, augmenting_paths.NONE, dtype=np.int32),
            before=np.full(arc.size, augmenting_paths.NONE, dtype=np.int32),
            entries=entries,
            flow=np.zeros(count),
            used=np.zeros(count, dtype=np.int32),
            in_route=np.zeros(count, dtype=np.bool_),
            distance=np.zeros(nodes),
            arrived=np.zeros(nodes, dtype=np.int32),
            done=np.zeros(nodes, dtype=np.bool_),
            keys=np.zeros(arc.size + nodes + 2),
            heap=np.zeros(arc.size + nodes + 2, dtype=np.int32),
            length=np.zeros(1, dtype=np.int32),
        )
        self._step = 1e-7 * float(np.median(price[price > 0])) if (price > 0).any() else 1e-7
        for each in np.flatnonzero(is_open).tolist():
            augmenting_paths.open_arc(self._roads, each)

    @property
    def is_open(self) -> Bools:
        """The arcs that are open now."""
        return self._roads.is_open.copy()

    def route(self, arc: int, upward: bool, need: float, rooms: Rooms, stop: Stop = never) -> bool:
        """Open arcs so that `arc` can deviate by `need` within the rooms; False if that is impossible."""
        return self.missing(arc, upward, need, rooms, stop) == 0.0

    def missing(self, arc: int, upward: bool, need: float, rooms: Rooms, stop: Stop = never) -> float:
        """The same as far as possible, or until `stop` says so; gives what is missing in the end.

        Shortest paths one by one; a level that takes more than `PATHS` of them gets blocking flows for the rest.
        """
        up, down = rooms
        left, before, many = need, np.inf, False
        noise = min(NOISE * need, HALF)
        while left > noise and not stop():
            many = left < before and before < np.inf  # not again if that brought nothing
            before = left
            searches = SEARCHES if many else PATHS
            left = float(self._route(self._roads, up, down, arc, upward, left, self._step, searches, many))
            if left < 0:
                break
        self._forget(self._roads)
        return 0.0 if abs(left) <= noise else abs(left)
