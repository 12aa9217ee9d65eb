"""Run by the Python of OR-tools: the heuristic of Castro (2007), Figure 9, with minimum-cost flows instead of paths.

Order: {"folder": ..., "seconds": ...} with network.npz in the folder: `tail`, `head`, `value` and `weight` of the cells
that may be hidden, `nodes`, the places `cells` of the sensitive ones in their order, with `lower` and `upper`. Answer:
`flows` solved, `solve_seconds` inside of the solver alone, `seconds` in all, `done` sensitive cells, `failed` flows,
`hidden` cells and their `cost` with the sensitive ones. It stops at the limit, between two flows.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from ortools.graph.python import min_cost_flow


class Heuristic:
    """One sensitive cell after the other: a flow for each side that is not met by now."""

    def __init__(self, given):
        self.tail, self.head, self.value, self.weight = (
            given[name] for name in ("tail", "head", "value", "weight")
        )
        self.nodes, self.cells = int(given["nodes"]), given["cells"]
        self.levels = given["upper"], given["lower"]
        self.hidden = np.zeros(self.tail.size, dtype=bool)
        self.hidden[self.cells] = True
        self.have = np.zeros((2, self.tail.size), dtype=np.int64)
        self.flows = self.failed = self.done = 0
        self.inside = 0.0

    def run(self, seconds):
        """All sensitive cells, or as many as there is time for."""
        start = time.perf_counter()
        for number, p in enumerate(self.cells.tolist()):
            for side in (0, 1):
                level = int(self.levels[side][number])
                if self.have[side, p] < level:
                    if time.perf_counter() - start > seconds:
                        return time.perf_counter() - start
                    self.protect(p, side, level)
            self.done += 1
        return time.perf_counter() - start

    def protect(self, p, side, level):
        """Hide the cells of the cheapest flow that lets p rise (side 0) or fall (side 1) by its level."""
        cost = np.where(self.hidden, 0, self.weight)
        rise, fall = np.full(self.tail.size, level), np.minimum(self.value, level)
        rise[p] = fall[p] = 0
        solver = min_cost_flow.SimpleMinCostFlow()
        solver.add_arcs_with_capacity_and_unit_cost(
            np.concatenate([self.tail, self.head]),
            np.concatenate([self.head, self.tail]),
            np.concatenate([rise, fall]),
            np.concatenate([cost, cost]),
        )
        ends = int(self.head[p]), int(self.tail[p])
        start, end = ends if side == 0 else ends[::-1]
        solver.set_node_supply(start, level)
        solver.set_node_supply(end, -level)
        begun = time.perf_counter()
        status = solver.solve()
        self.inside += time.perf_counter() - begun
        self.flows += 1
        if status != solver.OPTIMAL:
            self.failed += 1
            return
        found = np.asarray(solver.flows(np.arange(2 * self.tail.size)))
        moved = found[: self.tail.size] - found[self.tail.size :]
        moved[p] = level if side == 0 else -level
        self.book(np.flatnonzero(moved), moved, side)

    def book(self, places, moved, side):
        """What its cells have by it: the least value among them, or as far as they move themselves."""
        self.hidden[places] = True
        along = moved[places] if side == 0 else -moved[places]
        least = int(self.value[places].min())
        self.have[side, places] = np.maximum(self.have[side, places], np.maximum(least, along))


def main() -> None:
    order = json.load(sys.stdin)
    with np.load(Path(order["folder"]) / "network.npz") as given:
        heuristic = Heuristic({name: given[name] for name in given.files})
    seconds = heuristic.run(order["seconds"])
    answer = {
        "flows": heuristic.flows,
        "failed": heuristic.failed,
        "done": heuristic.done,
        "solve_seconds": heuristic.inside,
        "seconds": seconds,
        "hidden": int(heuristic.hidden.sum()),
        "cost": float(heuristic.weight[heuristic.hidden].sum()),
    }
    print("\n" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
