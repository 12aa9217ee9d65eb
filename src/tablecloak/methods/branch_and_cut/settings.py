"""Tuning of branch and cut: what each number trades against what, and the benchmark part that supports it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tablecloak.methods.cuts import (
    BridgelessSettings,
    CapacitySettings,
    GapLimitSettings,
    RelaxationSettings,
)
from tablecloak.methods.heuristics import FirstPatternSettings


class Shift(NamedTuple):
    """A shifted separation point: this number of promising cells is raised to this extent."""

    extent: float
    cells: int


NO_SHIFT = Shift(0.0, 0)


@dataclass(frozen=True)
class SeparationEffort:
    """The effort of separation at a node."""

    shifts: Sequence[Shift]
    levels: int
    """Maximum number of requirements that get cuts in one round."""
    rounds: int
    """Maximum number of rounds at a node."""
    covers: int
    """Maximum number of kinds of covers that are separated if there are no other cuts."""


@dataclass(frozen=True)
class RootSettings:
    """The cut loop at the root: deeper cuts and better patterns against its time."""

    shifts: Sequence[Shift] = (
        Shift(0.1, 400),
        Shift(0.03, 400),
        Shift(0.01, 400),
        Shift(0.003, 200),
        NO_SHIFT,
    )
    """Separation points, from the interior to the point itself. Supported by benchmark part study."""
    first_columns: int = 8
    """Number of cheapest cells of each equation that are columns from the start. Untested default."""
    grace: float = 0.3
    """Share of the time after which covers are no longer separated and, on non-network tables, neighbourhoods begin
    during the root: not before, for they need its reduced costs. Untested default."""
    star_cut_work: int = 50_000_000
    """Networks with more requirements times cells, where minimum cuts have many cells, begin with the cuts of single
    equations. Untested default."""
    tailing_off: float = 1e-4
    """A round that raises the bound by less than this share has stalled. Untested default."""
    stalled_rounds: int = 10
    """Maximum number of stalled rounds in a row before separation ends. Untested default."""
    tied_rounds: int = 5
    """With tied weights, maximum number of rounds after that: cuts can leave and come back for ever. Untested
    default."""
    shift_patience: int = 3
    """Maximum number of stalled rounds in a row with one shift. Untested default."""
    guided_rounds: int = 6
    """Primal heuristics may run every this number of rounds. Untested default."""
    max_guided_levels: int = 300
    """Maximum number of requirements of non-network tables for patterns built requirement by requirement. Untested
    default."""
    reoptimisation_rounds: int = 30
    """Maximum number of rounds of the relaxation between two gap limits. Untested default."""


@dataclass(frozen=True)
class TreeSettings:
    """Branch and cut below a gap limit: fewer nodes against faster ones."""

    thorough: SeparationEffort = SeparationEffort((Shift(0.01, 100), NO_SHIFT), 60, 5, 1)
    """On networks, and on other tables with many requirements. Supported by benchmark part study."""
    plain: SeparationEffort = SeparationEffort((NO_SHIFT,), 10, 5, 0)
    """With tied weights where only connectivity matters: very many patterns have it, so nodes must be fast. Untested
    default."""
    light: SeparationEffort = SeparationEffort((NO_SHIFT,), 20, 2, 0)
    """On non-network tables with few requirements: the root's cuts say nearly all, and many nodes are needed. Untested
    default."""
    max_light_levels: int = 50
    """Maximum number of requirements for the light effort. Untested default."""
    fractional: bool = True
    """Whether fractional points are separated, not only integral ones. Supported by benchmark part study."""
    worthwhile: float = 0.02
    """A cut is added at a node if it is violated by more than this. Untested default."""
    guided: bool = True
    """Whether patterns are constructed near the points of nodes. Supported by benchmark part study."""
    repair_wait: int = 4
    """On networks, number of unsafe integral points before the first is repaired. Untested default."""
    rough_gap: float = 0.01
    """HiGHS solves to this gap until its points are safe, then to the end. Untested default."""
    neighbourhoods: int = 2
    """Number of neighbourhoods without success that end a visit during the tree. Untested default."""


@dataclass(frozen=True)
class DecompositionSettings:
    """Which components are solved by themselves, before branch and cut over everything."""

    max_share: float = 0.5
    """A component with more than this share of all cells in cuts is too large: hardly anything splits. Untested
    default."""
    max_work: int = 200_000
    """Maximum number of nodes times cells for a component. Untested default."""
    max_rounds: int = 100
    """Maximum number of rounds. Untested default."""


@dataclass(frozen=True)
class NeighbourhoodSettings:
    """Large-neighbourhood search: better patterns against time for the bound. Benchmark part study is without it."""

    offered: int = 100
    """Maximum number of published cells that a neighbourhood may hide instead. Untested default."""
    proposals: int = 6
    """Maximum number of solutions of one neighbourhood. Untested default."""
    first_share: float = 0.2
    """Share of the hidden cells that the first neighbourhood frees. Untested default."""
    smallest_share: float = 0.1
    largest_share: float = 0.8
    grows: float = 1.1
    """Factor of that share after a neighbourhood that was solved. Untested default."""
    shrinks: float = 0.7
    """Factor of that share after a neighbourhood that was too large. Untested default."""
    nodes: int = 1
    """A neighbourhood is too large if a solution takes more nodes. Untested default."""
    network_wait: tuple[int, int] = (8, 16)
    """The first and the longest wait for a neighbourhood on networks, in nodes. Untested default."""
    general_wait: tuple[int, int] = (2, 16)
    """The first and the longest wait on non-network tables, in nodes. Untested default."""
    levels_per_node: int = 10
    """On non-network tables the longest wait is at least the number of requirements by this. Untested default."""
    early_per_percent: float = 4.0
    """Neighbourhoods for each percent of the gap before the first gap limit, on non-network tables, where nodes take
    long. Untested default."""
    early_share: float = 0.5
    """Maximum number of these, as a share of the complementary cells. Untested default."""
    early_levels: int = 5_000
    """Maximum number of these times requirements. Untested default."""
    large_network_cells: int = 100_000
    """Networks with more cells below the incumbent's cost have early neighbourhoods too: nodes take long there.
    Untested default."""
    early_per_percent_on_networks: float = 0.4
    """Neighbourhoods for each percent of the gap before the first gap limit, on large networks. Untested default."""


@dataclass(frozen=True)
class RestrictedSettings:
    """Restricted programs on large networks."""

    first_cells: int = 500
    """Number of cells of least reduced cost in the first program. Untested default."""
    growth: int = 2
    """By how much the next program has more of them. Untested default."""
    nodes: int = 150
    """Maximum number of nodes of each program. Untested default."""
    seconds_share: float = 0.4
    """Maximum share of the time left for each program. Untested default."""


@dataclass(frozen=True)
class IteratedGreedySettings:
    """Iterated greedy and CMSA on non-network tables. Benchmark part study is without merges."""

    rebuilt: tuple[float, float] = (0.1, 0.5)
    """The smallest and the largest share of a pattern that is built anew. Untested default."""
    noise: float = 0.4
    """Prices for that vary by up to this share. Untested default."""
    acceptance: float = 0.03
    """A pattern is accepted up to this share above the incumbent's cost, or if it costs no more than the one before.
    Untested default."""
    least_price: float = 0.05
    """What a cell that the relaxation hides costs then, as a share of its weight. Untested default."""
    remembered: int = 100
    """Number of recent patterns that are merged. Untested default."""
    merge_period: int = 20
    """One step in this number is a merge (CMSA); 0: none. Untested default."""
    first_merge: int = 5
    """The first of them. Untested default."""
    first_cells: int = 100
    """Number of cells in the first merge beside those of the incumbent. Untested default."""
    least_cells: int = 20
    grows: float = 1.1
    """Factor of that number after a merge that was solved. Untested default."""
    shrinks: float = 0.8
    """Factor of that number after a merge that was not. Untested default."""
    nodes: int = 150
    """Maximum number of nodes of a merge; with a time limit it takes no longer than the steps before it. Untested
    default."""


@dataclass(frozen=True)
class EdgeExchangeSettings:
    """Edge exchange with tied weights."""

    offered: int = 2000
    """Number of cells beside those of the relaxation in the program that proposes starts. Untested default."""
    nodes: int = 50
    """Maximum number of nodes of that program. Untested default."""
    steps_per_cell: int = 8
    """Maximum number of steps for each hidden cell. Untested default."""
    max_steps: int = 200
    """Maximum number of steps of one start. Untested default."""
    proposals: int = 12
    """Number of exchanges of which a step is the best. Untested default."""
    failures: int = 2
    """Maximum number of starts in a row that fail before the target cost is raised. Untested default."""
    tabu: int = 10
    """Number of steps for which a published cell stays published, unless hiding it makes the best pattern. Untested
    default."""
    temperature: float = 0.3
    """An exchange that adds a shortfall of d is accepted with probability exp(-d / temperature). Untested default."""
    swaps: float = 0.8
    """Share of exchanges that swap the ends of two cells. Untested default."""
    refusal: float = 0.8
    """Probability of refusing a cell whose deviation bounds are below the largest level. Untested default."""


@dataclass(frozen=True)
class SmallSettings:
    """Small tables, which are solved with dense rows and a tree of their own. Benchmark part `small`."""

    max_cells: int = 600
    """Larger tables are solved with sparse cuts, priced columns and a solver's tree. Untested default."""
    max_work: int = 60_000
    """Maximum number of cells times directions of requirements. Untested default."""
    max_general_cells: int = 400
    """The same on non-network tables. Untested default."""
    max_general_work: int = 20_000
    """The same on non-network tables, whose equations have whole coefficients. Untested default."""
    shifts: Sequence[float] = (0.1, 0.01)
    """Extents to which published cells are hidden at the separation points of the root, before the point itself.
    Untested default."""
    general_shifts: Sequence[float] = ()
    """The same on non-network tables, where larger supports take much longer. Untested default."""
    covers: Sequence[tuple[float, float]] = ((0.7, 0.4), (0.5, 0.2))
    """Kinds of covers at the root: cells hidden to more than this, and the first estimate of the rest in levels.
    Untested default."""
    max_nodes: int = 1000
    """Maximum number of nodes: what is not proven by then is hard and left to the general recipe. Untested
    default."""
    node_rounds: int = 20
    """Maximum number of rounds at a node whose point is fractional. Untested default."""
    node_gain: float = 0.04
    """A further round follows one that raised the bound by this share of the distance to the cutoff. Untested
    default."""
    min_violation: float = 1e-3
    """Violation from which a cut of right-hand side 1 is added, at fractional points. Untested default."""
    max_new_rows: int = 40
    """Maximum number of cuts that are added in one round, the most violated ones. Untested default."""
    tailing_off: float = 1e-3
    """A round at the root that raises the bound by less than this share has stalled. Untested default."""
    stalled_rounds: int = 3
    """Maximum number of stalled rounds in a row before branching. Untested default."""
    max_rows: int = 300
    """Rows that bind nothing are dropped when there are more than this number. Untested default."""
    kept_columns: float = 0.6
    """A smaller program takes the place of one of whose variables no more than this share can be 1. Untested
    default."""
    polish_period: int = 4
    """Rounds at the root between patterns that are made of a fractional point. Untested default."""
    max_pivots: int = 2000
    """Maximum number of simplex steps of one program. Untested default."""
    min_rest: float = 1e-6
    """Residual of a cover, as a fraction of the cut, below which it is not used. Untested default."""
    max_covered: int = 12
    """Maximum number of cells in a cover. Untested default."""
    max_divisors: int = 6
    """Maximum number of divisors of a rounding. Untested default."""


@dataclass(frozen=True)
class ExactSettings:
    """All tuning of exact suppression."""

    root: RootSettings = RootSettings()
    tree: TreeSettings = TreeSettings()
    first: FirstPatternSettings = FirstPatternSettings()
    """The quick pattern; its settings of constructions and their witnesses are those of the primal heuristics too."""
    capacity: CapacitySettings = CapacitySettings()
    bridgeless: BridgelessSettings = BridgelessSettings()
    relaxation: RelaxationSettings = RelaxationSettings()
    """Its settings of HiGHS are those of all programs over the cuts."""
    decomposition: DecompositionSettings = DecompositionSettings()
    neighbourhoods: NeighbourhoodSettings = NeighbourhoodSettings()
    restricted: RestrictedSettings = RestrictedSettings()
    iterated_greedy: IteratedGreedySettings = IteratedGreedySettings()
    edge_exchange: EdgeExchangeSettings = EdgeExchangeSettings()
    small: SmallSettings = SmallSettings()
    network_limits: GapLimitSettings = GapLimitSettings(0.02, 2.5)
    """Gap limits on networks. Supported by benchmark part study."""
    general_limits: GapLimitSettings = GapLimitSettings(0.05, 1.0, 0.05)
    """Gap limits on non-network tables, where the time below a limit grows so fast with it that many small steps are
    better. Supported by benchmark part study."""
    tied_limits: GapLimitSettings = GapLimitSettings(units=None)
    """With tied weights the limit is the bound itself: a unit more would fix no cell. Untested default."""
    first_limit_cells: int = 1000
    """On networks the first gap limit is enlarged as long as it leaves no more cells. Untested default."""
    max_restart_cells: int = 100_000
    """Skip the initial construction if a start is given and a network has more candidate cells. Untested default."""
    covers: bool = True
    """Whether covers are separated by minimum cuts of their own (networks). Supported by benchmark part study."""
    drop_implied: bool = True
    """Whether requirements that follow from others in every pattern are left out (`auditing.implied`). Supported by
    benchmark part implied."""
    first_active: Literal["all", "K5"] = "all"
    """Requirements that fractional points are separated for to begin with: all, or those of the set K5 of `exposure`,
    the others as points without violated ones violate them. Benchmark part implied."""
    aggregate: bool = True
    """Whether cells tied by two-cell equations are one variable. Supported by benchmark part study."""
    tied_share: float = 0.5
    """Weights count as tied if this share of the candidate cells has the same. Untested default."""
    tied_units: float = 10.0
    """Tied weights are at most this number of units: their limits are a unit apart, so with a unit
    that is tiny beside them there would be very many. Untested default."""
    safe_patterns: int = 200
    """Number of recent safe patterns that cuts are checked against. Untested default."""
    recent_violations: int = 20
    """Number of recently violated requirements that are checked first at integral points. Untested default."""
