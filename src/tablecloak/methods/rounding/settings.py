"""Tuning of the rounding methods."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tablecloak.methods.unified import CompactModelSettings, CuttingPlaneSettings
from tablecloak.solvers import BalancingSettings


@dataclass(frozen=True)
class IntegralBasisSettings:
    """Limits of the integral basis (`integral_basis`, `totals`)."""

    largest: int = 2**20
    """Largest coefficient of the elimination: smaller finds a basis less often, larger risks sums over all cells that
    are not exact in 64 bits. Untested default."""
    largest_probe: int = 2**31
    """Random integers below this, put into the leaves, test whether totals agree however they are added up: larger
    makes a wrong positive less likely, and must stay exact in 64 bits. Untested default."""


@dataclass(frozen=True)
class AnnealingSettings:
    """Simulated annealing of the directions in which cells are rounded."""

    steps_a_cell: int = 600
    """Steps for each free cell: more of them bring totals nearer to the truth, in proportionally more time. Untested
    default."""
    most_steps: int = 20_000_000
    """Maximum number of steps: quality against time in large tables. Untested default."""
    hot: float = 3.0
    """Temperature at the start, in bases: higher explores more before it settles. Untested default."""
    cold: float = 0.1
    """Temperature at the end, in bases. Untested default."""
    rounds: int = 4
    """Maximum number of rounds where cells that depend on others are below zero or far away: a smaller reach against
    proportionally more time. Set on hier16 and ninenew."""
    near: int = 2
    """Bases: a rounding within this distance of the truth gets no further round. Set on hier16 and ninenew."""
    basis: IntegralBasisSettings = IntegralBasisSettings()
    balancing: BalancingSettings = BalancingSettings()
    penalty_growth: float = 4.0
    """The factor by which such cells count more in the next round: larger pulls them in faster, at the expense of all
    others. Set on hier16 and ninenew."""


@dataclass(frozen=True)
class InitialRoundingSettings:
    """A rounding before programs start, and the time that they leave after it; benchmark part `limits`."""

    steps: int = 1_500_000
    """Maximum number of annealing steps, due within a tenth of the limit (0.1 to 0.2 s): a nearer rounding against a
    later first report."""
    share: float = 0.08
    """Maximum share of the time for it, against the time of programs."""
    large: int = 1_000
    """Cells: in larger non-network tables programs may take all the time there is, so that time is reserved."""
    kept: tuple[float, float] = (0.1, 0.25)
    """Share of the time, and maximum number of seconds, that programs leave there: some end a moment after their
    limit."""
    kept_to_anneal: tuple[float, float] = (0.3, 2.0)
    """Time kept as above where annealing is to be repeated with all its steps."""


@dataclass(frozen=True)
class RoundingSettings:
    """Tuning of round-controlled."""

    max_steps: int = 3
    """Maximum number of steps that are tried if none are given and no rounding exists: feasibility against a larger
    stated reach. Untested default."""
    max_conflict_nodes: int = 1_000
    """Maximum number of nodes of the program that names conflicting cells when nothing adds up: an explanation against
    time. Untested default."""
    annealing: AnnealingSettings = AnnealingSettings()
    initial: InitialRoundingSettings = InitialRoundingSettings()
    cutting_plane: CuttingPlaneSettings = CuttingPlaneSettings()
    compact: CompactModelSettings = CompactModelSettings()

    def initial_annealing(self, limited: bool) -> AnnealingSettings:
        """The annealing before programs start: with a time limit it is shorter."""
        steps = min(self.annealing.most_steps, self.initial.steps)
        return replace(self.annealing, most_steps=steps) if limited else self.annealing
