"""Tuning of the bounds by subtables."""

from __future__ import annotations

from dataclasses import dataclass

from tablecloak.methods.cuts import BridgelessSettings, CapacitySettings, RelaxationSettings


@dataclass(frozen=True)
class MemberSettings:
    """Which subsystems take part. Larger ones give better bounds and take longer to solve."""

    max_network_cells: int = 10_000
    """Maximum number of cells of a subsystem that is a network: suppress-optimal proves most of these within seconds.
    Benchmark part: subtables."""
    max_general_cells: int = 400
    """Maximum number of cells of non-network subsystems, which take some tenths of a second at 169 cells. Benchmark
    part: subtables."""
    whole_cells: int = 60
    """Blocks up to this number of cells are solved whole. Untested default."""
    min_share: float = 0.01
    """Dimensions with a smaller share of the equations of a block count as fixed: irregular lines. Untested default."""
    block_cells: int = 100
    """Maximum number of cells of neighbourhoods, where equations have no directions. Untested default."""
    max_families: int = 40
    """Maximum number of families of slices: with many dimensions fewer of them vary. Untested default."""


@dataclass(frozen=True)
class EvaluationSettings:
    """How a subsystem is solved for given weights."""

    resolution: int = 20
    """Weights are whole numbers of the 2^-resolution part of the cost of a known pattern: sums are exact, and bounds
    are rounded up to whole numbers; the loss is that part for each hidden cell. Untested default."""
    nodes: int = 500
    """Maximum number of nodes of branch and cut for a subsystem; its bound is valid all the same. Untested default."""
    patterns: int = 200
    """Number of safe patterns that are remembered for a subsystem: their costs bound its optimum. Untested default."""


@dataclass(frozen=True)
class SubtableSettings:
    """The linear program over the inequalities of members, and the settings of its parts."""

    members: MemberSettings = MemberSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    capacity: CapacitySettings = CapacitySettings()
    """Cuts of the members."""
    bridgeless: BridgelessSettings = BridgelessSettings()
    relaxation: RelaxationSettings = RelaxationSettings()
    rounds: int = 200
    """Maximum number of linear programs without a time limit. Untested default."""
    preparation_share: float = 0.4
    """With a time limit: the share of it for the preparation of members. Untested default."""
    reoptimisation_rounds: int = 20
    """Maximum number of times that the program is solved in a round: cuts may leave and come back, columns are priced
    in. Untested default."""
    requirements_per_round: int = 100
    """Maximum number of requirements of a member that get new cuts in one round: the number of rounds against the size
    of the program. Untested default."""
    min_gain: float = 1e-3
    """A stage whose cuts raise the value by less than this share twice in a row waits for the others to have their
    turn. Benchmark part: subtables."""
    batch: float = 0.25
    """Share of the members that are solved exactly before the program is solved again. Untested default."""
