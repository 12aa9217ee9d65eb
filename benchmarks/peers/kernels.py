"""Run by the Python of one checkout: times kernels on random inputs, whatever compiled them.

Orders, one a line: {"kernel": ..., "size": "small" or "large", "repeat": ...}. Answers, one a line: the least `seconds`
of the processor of some repetitions of the same calls, and a `digest` of all that they gave. Kernels are called as the
package calls them, by the typed interface of a network where there is one; inputs depend on the order alone.
"""

import hashlib
import json
import sys
import time
from importlib import import_module

import numpy as np
from scipy.sparse import csc_array

from tablecloak.solvers import graphs


def kernel(file, before, now):
    """A kernel that is not behind a typed interface: from the file that it had, or from the one compiled module."""
    try:
        return getattr(import_module(f"tablecloak.solvers.kernels.{file}"), before)
    except ModuleNotFoundError:
        return getattr(import_module("tablecloak.solvers.kernels"), now)


# ---------------------------------------------------------------------- inputs


def arcs_of(rng, size):
    """A two-way table, a third of it hidden: nodes, tail, head, and how far cells may go up and down."""
    side = {"small": 8, "large": 120}[size]
    row, column = np.nonzero(rng.random((side, side)) < 0.3)
    up, down = rng.integers(1, 100, (2, row.size)).astype(float)
    return 2 * side, row.astype(np.int32), (side + column).astype(np.int32), up, down


def matrix_of(rng, size):
    """The equations of the hidden cells of a three-way table, by columns."""
    side = {"small": 4, "large": 14}[size]
    cells = np.flatnonzero(rng.random(side**3) < 0.4)
    place = np.array(np.unravel_index(cells, (side,) * 3))
    row = np.concatenate([k * side**2 + place[(k + 1) % 3] * side + place[(k + 2) % 3] for k in range(3)])
    matrix = csc_array(
        (np.ones(row.size), (row, np.tile(np.arange(cells.size), 3))), shape=(3 * side**2, cells.size)
    )
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data, matrix.shape[0]


def some(rng, count, size):
    """The arcs or cells that are asked about."""
    return rng.choice(count, min(count, {"small": 10, "large": 200}[size]), replace=False)


# ---------------------------------------------------------------------- what is timed: inputs, then calls


def network(rng, size):
    nodes, tail, head, up, down = arcs_of(rng, size)
    return lambda: graphs.Network(nodes, tail, head, up, down).bridges()


def reach(rng, size):
    net = graphs.Network(*arcs_of(rng, size))
    arcs = some(rng, net.arcs, size)
    return lambda: net.reach(arcs)


def settle(rng, size):
    net = graphs.Network(*arcs_of(rng, size))
    arcs = some(rng, net.arcs, size)
    return lambda: net.settle(arcs, 30.0, 30.0)


def max_deviation(rng, size):
    net = graphs.Network(*arcs_of(rng, size))
    arcs = some(rng, net.arcs, size)[:20].tolist()
    return lambda: [tuple(net.max_deviation(arc, True)) for arc in arcs]


def undetermined(rng, size):
    net = graphs.Network(*arcs_of(rng, size))
    return net.undetermined


def least_cuts(rng, size):
    nodes, tail, head, up, down = arcs_of(rng, size)
    net, arcs = graphs.Network(nodes, tail, head, up, down), some(rng, tail.size, size)[:50].astype(np.int32)
    level, x = np.full(arcs.size, 25.0), np.round(rng.random(tail.size), 1)
    zeros, upward = np.zeros(arcs.size, np.int32), np.ones(arcs.size, bool)
    boxes = up[None, :].copy(), down[None, :].copy()
    return lambda: net.least_cuts(arcs, upward, level, level, zeros, boxes, x)


def levels_met(rng, size):
    nodes, tail, head, up, down = arcs_of(rng, size)
    arcs = some(rng, tail.size, size).astype(np.int32)
    upward, need = np.ones(arcs.size, bool), np.full(arcs.size, 25.0)
    if hasattr(graphs.Network, "meets"):
        return lambda: graphs.Network(nodes, tail, head, up, down).meets(arcs, upward, need)
    met = kernel("bottleneck_paths", "levels_met", "")
    return lambda: met(nodes, (tail, head), up, down, arcs, upward, need)


def min_cost(rng, size):
    nodes, tail, head, up, down = arcs_of(rng, size)
    net, price = graphs.MinCostNetwork(nodes, tail, head), rng.random(tail.size)
    arcs = some(rng, tail.size, size)[:20].tolist()
    return lambda: [tuple(net.send(arc, True, 30.0, up, down, price, price)) for arc in arcs]


def slide(rng, size):
    nodes, tail, head, up, down = arcs_of(rng, size)
    net, price = graphs.MinCostNetwork(nodes, tail, head), rng.random(tail.size)
    arcs = some(rng, tail.size, size)[:20].tolist()
    return lambda: [[tuple(side) for side in net.slide(arc, 50.0, up, down, price, price)] for arc in arcs]


def open_paths(rng, size):
    nodes, tail, head, up, down = arcs_of(rng, size)
    price, is_open, arcs = (
        rng.random(tail.size),
        rng.random(tail.size) < 0.1,
        some(rng, tail.size, size).tolist(),
    )

    def run():
        net = graphs.PathOpeningNetwork(nodes, tail, head, price, is_open)
        return [net.missing(arc, True, 40.0, (up, down)) for arc in arcs], net.is_open

    return run


def stratified(rng, size):
    nodes, tail, head, up, down = arcs_of(rng, size)
    weight, is_open, alone = rng.random(tail.size), rng.random(tail.size) < 0.1, rng.random(tail.size) < 0.1
    arcs = some(rng, tail.size, size).tolist()

    def run():
        net = graphs.StratifiedNetwork(
            (nodes, tail, head), weight, (down, up), is_open, alone, by_weight=False
        )
        return [net.protect(arc, True, 40.0) for arc in arcs], net.is_open

    return run


def unpick(rng, size):
    start, row, _, rows = matrix_of(rng, size)
    columns, call = np.arange(start.size - 1), kernel("presolve", "unpick", "unpick")
    return lambda: call(start, row, rows, columns)


def take_columns(rng, size):
    matrix = matrix_of(rng, size)
    columns, call = np.arange(0, matrix[0].size - 1, 2), kernel("presolve", "take", "take_columns")
    return lambda: call(*matrix, columns)


def split_components(rng, size):
    matrix = matrix_of(rng, size)
    columns, call = np.arange(matrix[0].size - 1), kernel("presolve", "split", "split_components")
    return lambda: call(*matrix, columns)


def merge(rng, size):
    matrix, tie = matrix_of(rng, size), kernel("presolve", "tie", "tie_columns")
    merged, confine = (
        kernel("presolve", "merge", "merge_columns"),
        kernel("presolve", "confine", "group_bounds"),
    )

    def run():
        group, ratio = tie(*matrix)
        groups = int(group.max()) + 1
        low, high = -np.ones(group.size), np.ones(group.size)
        return group, ratio, merged(*matrix, group, ratio, groups), confine(group, ratio, groups, low, high)

    return run


def unfold(rng, size):
    start, row, data, _ = matrix_of(rng, size)
    asked, call = np.arange(0, start.size - 1, 3), kernel("presolve", "unfold", "unfold")
    return lambda: call(start, row, data, asked)


def exact(rng, size):
    """`folded`, `rounded_deviation`, `mirrored`, `credit`, `is_balanced`: what an audit does with one deviation."""
    start, row, data, rows = matrix_of(rng, size)
    count, whole = start.size - 1, data.astype(np.int64)
    values, asked = np.round(3 * rng.random(2 * count)), np.zeros(0, np.int64)
    low, high, group = np.full(count, -9.0), np.full(count, 9.0), np.arange(count)
    names = [("exact_deviations", "folded", "folded"), ("exact_deviations", "rounded", "rounded_deviation"),
             ("exact_deviations", "mirrored", "mirrored"), ("exact_deviations", "credit", "credit"),
             ("presolve", "balanced", "is_balanced")]  # fmt: skip
    folded, rounded, mirrored, credit, balanced = (kernel(*each) for each in names)

    def run():
        amount = folded(values, count, asked, 1.0)
        found, _ = rounded(start, row, whole, rows, 99.0, amount, low, high)
        numerator = amount.astype(np.int64)
        image, denominator = mirrored(numerator, 1, low, high)
        down, up = np.zeros(count), np.zeros(count)
        credit(group, np.ones(count), numerator, 1, down, up)
        return found, image, denominator, down, up, balanced(start, row, whole, rows, numerator)

    return run


def bounds(rng, size):
    """`whole_bound`, `combined_rows`, `common_denominator`: what an audit does with multipliers."""
    start, row, data, rows = matrix_of(rng, size)
    whole, duals, wall = (
        data.astype(np.int64),
        rng.integers(-3, 4, rows).astype(float),
        np.full(start.size - 1, 9.0),
    )
    bound = kernel("exact_deviations", "whole_bound", "whole_bound")
    combined = kernel("presolve", "combined", "combined_rows")
    common = kernel("exact_deviations", "common_denominator", "common_denominator")
    return lambda: (
        bound(start, row, whole, 9.0, duals, 0, 1, -wall, wall),
        combined(start, row, whole, duals.astype(np.int64)),
        common(duals / 6, 1e-6, 1e-12, 1000, 10**6),
    )


def correction(rng, size):
    matrix, call = matrix_of(rng, size), kernel("exact_deviations", "correction", "least_correction")
    moved = np.arange(matrix[0].size - 1)
    amount = rng.normal(size=moved.size)
    return lambda: call(*matrix, moved, amount, 50, 1e-14)


def tableau(rng, size):
    """`independent_part`, `substituted`."""
    start, row, data, rows = matrix_of(rng, size)
    dense = csc_array((data, row, start), shape=(rows, start.size - 1)).toarray()
    independent = kernel("null_space_simplex", "independent", "independent_part")
    substituted = kernel("null_space_simplex", "substituted", "substituted")

    def run():
        work = dense.copy()
        chosen, columns = independent(work)
        return (
            chosen,
            columns,
            substituted(work, chosen, columns, np.setdiff1d(np.arange(dense.shape[1]), columns)),
        )

    return run


def simplex(rng, size):
    """`farthest_deviation`, one cell after the other on one tableau."""
    _, columns, table = tableau(rng, size)()
    count, call = (
        columns.size + table.shape[1],
        kernel("null_space_simplex", "farthest", "farthest_deviation"),
    )
    loose, place = np.setdiff1d(np.arange(count), columns), np.empty(count, np.int64)
    place[columns], place[loose] = np.arange(columns.size), -1 - np.arange(loose.size)
    high, cells = rng.integers(1, 30, count).astype(float), some(rng, count, size)[:40].tolist()

    def run():
        state = table.copy(), columns.copy(), loose.copy(), place.copy(), -high, high, np.zeros(count)
        return [tuple(call(*state, cell, True, 25.0)) for cell in cells], state

    return run


def hypercube(rng, size):
    from tablecloak.attacker import Cubes, structure_of, working_columns
    from tablecloak.model import Dimension, Table

    side = {"small": 4, "large": 16}[size]
    dimensions = [Dimension.flat(name, [f"{name}{k}" for k in range(side)]) for name in "xyz"]
    place = np.indices((side,) * 3).reshape(3, -1)
    cells = {name: [f"{name}{k}" for k in place[d]] for d, name in enumerate("xyz")}
    table = Table.from_cells(dimensions, {**cells, "value": rng.integers(1, 99, side**3)}, recompute=True)
    (block,) = structure_of(table).blocks
    cubes = Cubes(block.grid, block.cells, working_columns(table))
    price, chosen = rng.random(len(table)), some(rng, len(table), size).tolist()
    up, down = np.full(len(table), np.inf), table.values.copy()

    def run():
        found = [cubes.cheapest(cell, 20.0, price, up, down, 4, cell) for cell in chosen]
        return [() if cube is None else (cube.cells, cube.signs) for cube in found]

    return run


def anneal(rng, size):
    try:
        from tablecloak.solvers import balanced_senses
    except ImportError:
        balanced_senses = kernel("sign_annealing", "balanced_senses", "")
    start, row, data, rows = matrix_of(rng, size)
    columns = csc_array((data, row, start), shape=(rows, start.size - 1))
    step, rest = rng.integers(1, 9, start.size - 1).astype(float), rng.integers(-9, 9, rows).astype(float)
    senses, steps = rng.integers(0, 2, step.size), {"small": 1_000, "large": 100_000}[size]
    return lambda: balanced_senses(
        columns, step, 0.1 * step, np.ones(rows), rest, senses, heat=(5.0, 0.05), steps=steps, seed=1
    )


def rounding(rng, size):
    round_residues = getattr(graphs, "round_residues", None) or kernel(
        "unbiased_rounding", "round_residues", ""
    )
    side = {"small": 8, "large": 120}[size]
    table = rng.integers(0, 99, (side, side))
    table = np.vstack([table, table.sum(axis=0)])
    table = np.column_stack([table, table.sum(axis=1)])
    row, column = np.indices(table.shape).reshape(2, -1)
    marginal = (row == side) ^ (column == side)
    tail = np.where(marginal, side + 1 + column, row)
    head = np.where(marginal, row, side + 1 + column)
    draws = rng.random(table.size)
    return lambda: tuple(round_residues(2 * side + 2, tail, head, table.ravel() % 5, 5, draws, 3))


TIMED = (
    network, reach, settle, max_deviation, undetermined, least_cuts, levels_met, min_cost, slide, open_paths,
    stratified, unpick, take_columns, split_components, merge, unfold, exact, bounds, correction, tableau, simplex,
    hypercube, anneal, rounding,
)  # fmt: skip


def digest(found):
    """A hash of all arrays and numbers, whatever their types."""
    if isinstance(found, tuple | list):
        return hashlib.sha256("".join(map(digest, found)).encode()).hexdigest()
    array = np.asarray(found)
    return hashlib.sha256(array.astype(np.float64).tobytes()).hexdigest()


def answer(order):
    """The least seconds of some repetitions."""
    make = next(each for each in TIMED if each.__name__ == order["kernel"])
    run = make(np.random.default_rng(7), order["size"])
    found, calls, start = digest(run()), 0, time.process_time()
    while time.process_time() - start < 0.02:
        run()
        calls += 1
    best = np.inf
    for _ in range(order["repeat"]):
        start = time.process_time()
        for _ in range(calls):
            run()
        best = min(best, (time.process_time() - start) / calls)
    return {"seconds": best, "digest": found}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
