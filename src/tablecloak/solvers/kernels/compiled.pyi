"""Types of the compiled kernels; what each does is said in the file of its algorithm.

`stop`, where there is one, is called now and then: what it raises ends the computation, and so does a true value (by
`TimeUp`). Ctrl-C ends it in any case.
"""

from collections.abc import Callable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Codes, Floats, Ints

Signs = NDArray[np.int8]
Bytes = NDArray[np.uint8]
Stop = Callable[[], object] | None
Matrix = tuple[Codes, Codes, Floats, int]

SOURCES: str
"""SHA-256 of the source files that this module was compiled from."""
LONGEST: int
"""Maximum number of codes of a walk in a hypercube."""
FORBIDDEN: float
"""The price of a cell that must not be in a hypercube."""

# max_flow.pxi, connectivity.pxi, min_cuts.pxi, bottleneck_paths.pxi

class FlowArrays:
    entry_capacity: memoryview
    residual: memoryview
    level: memoryview
    def __init__(
        self, nodes: int, tail: Codes, head: Codes, capacity: Floats, notes: int | None = None
    ) -> None: ...

def set_capacity(net: FlowArrays, arc: int, up: float, down: float) -> None: ...
def reach(net: FlowArrays, arcs: Codes, up: Floats, down: Floats, eps: float, stop: Stop = None) -> None: ...
def max_deviation(
    net: FlowArrays, arc: int, upward: bool, limit: float, eps: float, stop: Stop = None
) -> tuple[float, Floats, Bools] | None: ...
def probe(
    net: FlowArrays, arcs: Codes, up: Floats, down: Floats, budget: int, stop: Stop = None
) -> tuple[Bools, Bools]: ...
def settle(
    net: FlowArrays, arcs: Codes, up: Floats, down: Floats, eps: float, budget: int, stop: Stop = None
) -> int: ...
def bridges(net: FlowArrays, eps: float) -> Bools: ...
def undetermined(net: FlowArrays, eps: float) -> Bools: ...
def least_cuts(
    net: FlowArrays,
    arcs: Codes,
    upward: Bools,
    limits: Floats,
    cap: Floats,
    part: Floats,
    attacker: Codes,
    up: Floats,
    down: Floats,
    x: Floats,
    noise: float,
    stop: Stop = None,
) -> tuple[Floats, Bools, Bools]: ...
def levels_met(net: FlowArrays, arcs: Codes, upward: Bools, need: Floats, stop: Stop = None) -> Bools: ...

# min_cost_flow.pxi

class MinCostArrays:
    flow_array: Floats
    def __init__(self, nodes: int, tail: Codes, head: Codes, ends: Codes) -> None: ...
    def another_flow(self) -> MinCostArrays: ...

class ArcLimits:
    def __init__(self, up: Floats, down: Floats, price_up: Floats, price_down: Floats) -> None: ...

def send(
    net: MinCostArrays, limits: ArcLimits, own: int, upward: bool, need: float, stop: Stop = None
) -> tuple[float, int]: ...
def slide(
    rise: MinCostArrays,
    fall: MinCostArrays,
    limits: ArcLimits,
    own: int,
    need: float,
    least_up: float,
    least_down: float,
    stop: Stop = None,
) -> tuple[float, float, int]: ...

# augmenting_paths.pxi

class PathOpeningArrays:
    open_array: Bools
    def __init__(self, nodes: int, tail: Codes, head: Codes, ends: Codes, price: Floats) -> None: ...

def open_all(net: PathOpeningArrays, arcs: Ints) -> None: ...
def clear_flow(net: PathOpeningArrays) -> None: ...
def open_paths(
    net: PathOpeningArrays,
    up: Floats,
    down: Floats,
    own: int,
    upward: bool,
    need: float,
    step: float,
    most: int,
    blocking: bool,
) -> float: ...

# stratified_paths.pxi

class StratifiedArrays:
    open_array: Bools
    reached_array: Floats
    witness_array: Ints
    trail_array: Codes
    legs_array: Codes
    found: int
    trail_length: int
    legs_length: int
    def __init__(
        self,
        nodes: int,
        tail: Codes,
        head: Codes,
        ends: Codes,
        weight: Floats,
        down: Floats,
        up: Floats,
        alone: Bools,
    ) -> None: ...

def protect(
    net: StratifiedArrays,
    own: int,
    rising: bool,
    level: float,
    step: float,
    by_weight: bool,
    only_open: bool,
    avoid: bool,
    number: int,
) -> bool: ...
def hide(net: StratifiedArrays, arcs: Ints, moved: Floats, number: int) -> None: ...

# presolve.pxi

def unpick(start: Codes, row: Codes, rows: int, columns: Ints) -> Bools: ...
def take_columns(start: Codes, row: Codes, data: Floats, rows: int, columns: Ints) -> Matrix: ...
def split_components(
    start: Codes, row: Codes, data: Floats, rows: int, columns: Ints
) -> tuple[Ints, Bools, int, Codes, Codes, Signs]: ...
def tie_columns(start: Codes, row: Codes, data: Floats, rows: int) -> tuple[Ints, Floats]: ...
def merge_columns(
    start: Codes, row: Codes, data: Floats, rows: int, group: Ints, ratio: Floats, groups: int
) -> Matrix: ...
def group_bounds(
    group: Ints, ratio: Floats, groups: int, low: Floats, high: Floats
) -> tuple[Floats, Floats]: ...
def unfold(start: Codes, row: Codes, data: Floats, asked: Ints) -> Matrix: ...
def is_balanced(start: Codes, row: Codes, data: Ints, rows: int, amount: Ints) -> bool: ...
def combined_rows(start: Codes, row: Codes, data: Ints, factor: Ints) -> Ints: ...

# exact_deviations.pxi

def folded(values: Floats, count: int, asked: Ints, scale: float) -> Floats: ...
def rounded_deviation(
    start: Codes, row: Codes, data: Ints, rows: int, most: float, amount: Floats, low: Floats, high: Floats
) -> tuple[bool, Ints]: ...
def mirrored(numerator: Ints, denominator: int, low: Floats, high: Floats) -> tuple[Ints, int]: ...
def credit(
    group: Ints, ratio: Floats, numerator: Ints, denominator: int, down: Floats, up: Floats
) -> None: ...
def whole_bound(
    start: Codes,
    row: Codes,
    data: Ints,
    most: float,
    duals: Floats,
    column: int,
    sign: int,
    low: Floats,
    high: Floats,
) -> tuple[bool, float]: ...
def denominator_near(numerator: int, denominator: int, largest: int) -> int: ...
def common_denominator(
    amount: Floats, noise: float, relative: float, largest: int, most: int
) -> tuple[bool, int]: ...
def least_correction(
    start: Codes,
    row: Codes,
    data: Floats,
    rows: int,
    moved: Ints,
    amount: Floats,
    steps: int,
    precision: float,
) -> tuple[float, Floats]: ...

# covering_simplex.pxi, capacity_rows.pxi

class Covering(IntEnum):
    """How `CoveringArrays.solve` ended."""

    SOLVED = 0
    ABOVE = 1
    UNSOLVED = 2

class CoveringArrays:
    size: int
    rows: int
    pivots: int
    bound: float
    def __init__(self, cost: Floats, room: int) -> None: ...
    def restart(self) -> None: ...
    def add(self, left: Floats, right: Floats) -> None: ...
    def drop_slack(self) -> Ints: ...
    def solve(self, low: Floats, high: Floats, cutoff: float, most: int, stop: Stop = None) -> int: ...
    def point(self) -> Floats: ...
    def reduced(self) -> Floats: ...

class CombinationArrays:
    size: int
    unmet: int
    def __init__(
        self,
        columns: tuple[Codes, Codes, Floats],
        equations: int,
        variable: Ints,
        size: int,
        boxes: tuple[Floats, Floats],
        flows: tuple[Ints, Codes, Codes, Bytes],
        levels: tuple[Floats, Floats],
        limits: tuple[int, int, float],
    ) -> None: ...
    def separate(
        self,
        x: Floats,
        point: Floats,
        part: float,
        above: float,
        least: float,
        integral: bool,
        stop: Stop = None,
    ) -> tuple[Floats, Floats]: ...
    def meets_all(self, x: Floats, stop: Stop = None) -> bool: ...
    def without_redundant(self, x: Floats, candidates: Ints, stop: Stop = None) -> None: ...

class CapacityArrays:
    size: int
    def __init__(
        self,
        net: FlowArrays,
        ends: tuple[Codes, Codes],
        variable: Ints,
        size: int,
        boxes: tuple[Floats, Floats],
        flows: tuple[Ints, Codes, Codes, Bytes],
        levels: tuple[Floats, Floats],
        limits: tuple[int, int, float],
    ) -> None: ...
    def separate(
        self,
        x: Floats,
        point: Floats,
        part: float,
        above: float,
        least: float,
        integral: bool,
        stop: Stop = None,
    ) -> tuple[Floats, Floats]: ...
    def meets_all(self, x: Floats, stop: Stop = None) -> bool: ...
    def without_redundant(self, x: Floats, candidates: Ints, stop: Stop = None) -> None: ...

# null_space_simplex.pxi

class Ending(IntEnum):
    """How `farthest_deviation` ended."""

    MET = 0
    FARTHEST = 1
    OWN_BOUND = 2
    ENDLESS = 3
    LOST = 4

def independent_part(work: Floats, stop: Stop = None) -> tuple[Ints, Ints]: ...
def substituted(work: Floats, rows: Ints, columns: Ints, loose: Ints, stop: Stop = None) -> Floats: ...
def farthest_deviation(
    table: Floats,
    basic: Ints,
    loose: Ints,
    place: Ints,
    low: Floats,
    high: Floats,
    value: Floats,
    cell: int,
    upward: bool,
    enough: float,
    stop: Stop = None,
) -> tuple[int, int]: ...

# modular_elimination.pxi

def publishable(
    start: Codes,
    column: Codes,
    coefficient: Ints,
    rows: Ints,
    height: Floats,
    candidates: Ints,
    forced: Bytes,
    sensitive: Ints,
    stop: Stop,
) -> Bytes: ...

class Elimination:
    def __init__(self, cells: int, sensitive: int) -> None: ...

def elimination_of(
    start: Codes,
    column: Codes,
    coefficient: Ints,
    rows: Ints,
    height: Floats,
    fixed: Bytes,
    sensitive: Ints,
    stop: Stop,
) -> Elimination: ...
def publish_together(states: list[Elimination], candidates: Ints, stop: Stop) -> Bytes: ...
def remainders(state: Elimination, cells: Ints) -> tuple[Ints, Ints, Ints]: ...

# opposite_cells.pxi

LARGEST_PRODUCT: int
"""Maximum number of dimensions of a table without hierarchies in which hypercubes are looked for."""

class HypercubeTargets:
    def __init__(
        self,
        marks: tuple[Bytes, Bytes, Bytes],
        room: tuple[Floats, Floats],
        levels: tuple[Floats, Floats, Floats],
        cost: Floats,
        divisors: Floats,
        margin_cost: float,
        singletons: bool,
    ) -> None: ...

class OppositeCells:
    def __init__(
        self,
        all: HypercubeTargets,
        shape: Ints,
        place: Codes,
        at: Ints,
        is_total: Bytes,
        cells: Ints,
        margin: Bytes,
    ) -> None: ...

def hide_hypercubes(search: OppositeCells, targets: Ints, stop: Stop) -> Ints: ...

# hypercubes.pxi

class HypercubeArrays:
    def __init__(
        self,
        stride: Ints,
        kind_stride: Ints,
        trees: tuple[Codes, Codes, Codes, Codes],
        place: Codes,
        there: Bools,
        columns: tuple[Codes, Codes, Floats],
        equations: int,
    ) -> None: ...

def cheapest_hypercube(
    net: HypercubeArrays,
    key: int,
    level: float,
    price: Floats,
    up: Floats,
    down: Floats,
    starts: int,
    seed: int,
) -> tuple[Codes, Signs]: ...

# sign_annealing.pxi

class AnnealingState:
    best_array: Signs
    def __init__(self, senses: Ints, rest: Floats, cost: float, seed: int) -> None: ...

def anneal(
    state: AnnealingState,
    first: Codes,
    rows: Codes,
    data: Floats,
    row_first: Codes,
    row_columns: Codes,
    step: Floats,
    own: Floats,
    price: Floats,
    hot: float,
    cold: float,
    steps: int,
) -> None: ...

# unbiased_rounding.pxi

def round_cycles(
    nodes: int,
    tail: Codes,
    head: Codes,
    residue: Ints,
    base: int,
    draws: Floats,
    seed: int,
    stop: Stop = None,
) -> int: ...
