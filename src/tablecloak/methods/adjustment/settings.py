"""Tuning of the perturbation methods. Where no benchmark part or table is named, a number is an untested default."""

from __future__ import annotations

from dataclasses import dataclass

from tablecloak.methods.unified import CompactModelSettings, CuttingPlaneSettings
from tablecloak.solvers import BalancingSettings, HighsSettings, NewtonSettings, SiftingSettings


@dataclass(frozen=True)
class LeafSettings:
    """Corrections by leaves. Set on the JJ library: table1 takes five passes, the other tables four at most."""

    passes: int = 4
    """Maximum number of passes over all cells outside their ranges: one correction may take another cell out of its
    range. More passes succeed more often and take longer."""
    shuffled: int = 20
    """Maximum number of further passes with leaves in a random order (fixed seed)."""


@dataclass(frozen=True)
class IntegerUnitsSettings:
    """Integer data units from a move in fractions. Untested defaults."""

    rounds: int = 6
    """Maximum number of corrections of one move: each repairs what the tolerance of the one before left."""
    steps: tuple[int, ...] = (1, 3, 10)
    """Units that a cell may move, tried in turn: small boxes give small programs, large ones succeed more often."""
    max_digits: int = 3
    """Maximum number of further decimals that are tried where integer units are not found: additive results against
    decimals that betray which cells moved."""
    max_nodes: int = 2000
    """Maximum number of nodes of each program: success against time."""
    least_seconds: float = 0.25
    """Seconds that these programs have also when the time is up: keeping the limit against integer results."""
    leaf: LeafSettings = LeafSettings()
    highs: HighsSettings = HighsSettings()


@dataclass(frozen=True)
class ProgramSettings:
    """Linear and integer programs of controlled tabular adjustment. Untested defaults."""

    undecided: float = 1e-6
    """Distance to 0 or 1 from which on the relaxed sense of a cell counts as undecided."""
    share_at_once: float = 0.3
    """Share of the undecided senses that is fixed in one step of a dive: fewer programs against better senses."""
    few_senses: int = 12
    """Minimum number of senses that are fixed in one step."""
    restart_share: float = 0.2
    """A linear program is solved afresh, with presolve, if more than this share of the senses has changed."""
    any_move_gap: float = 0.05
    """Gap limit of an integer program that only has to find some move."""
    largest_cost: float = 1e6
    """Largest cost coefficient after scaling: numerical range against resolution."""
    sifted_columns: int = 20_000
    """Programs with more columns, and with the shape below, are solved over a growing subset of their columns."""
    sifted_shape: int = 20
    """Minimum ratio of columns to rows for that: sifting pays where programs are flat."""
    cells_a_second: int = 1000
    """For the advice in an error message: speed of a first perturbation on slow machines."""
    least_seconds: float = 0.25
    """Seconds of each program without which there is no result, also when the time is up."""
    sifting: SiftingSettings = SiftingSettings()
    highs: HighsSettings = HighsSettings()


@dataclass(frozen=True)
class DescentSettings:
    """Block coordinate descent, set on two random two-way tables of 30 x 30 and 100 x 100."""

    block: int = 40
    """Cells with a free sense in a block at first: large blocks with few nodes did better than small ones solved to
    optimality."""
    largest_block: int = 160
    """Maximum number of such cells."""
    company: int = 10
    """Minimum number of other cells that take part, for each cell with a free sense."""
    most_company: int = 6000
    """Maximum number of other cells that take part: better blocks against larger programs."""
    nodes: int = 20
    """Maximum number of nodes of a block."""
    gap: float = 1e-3
    """Gap limit of a block."""
    fails: int = 5
    """Number of blocks without improvement after which blocks grow, or the descent ends."""
    wide_cells: int = 20_000
    """With a time limit, on tables up to this number of cells, the descent ends with blocks in which all cells take
    part."""
    wide_share: float = 0.5
    """Share of all choices up to which such blocks grow."""
    wide_nodes: int = 100
    """Maximum number of nodes of such a block."""
    polish: int = 5
    """Number of improvements after which the linear program is solved over all cells."""
    uniform_odds: float = 0.1
    """Share of the odds of the first cell of a block that is the same for all cells: diversification against blocks
    where distance is paid."""


@dataclass(frozen=True)
class StartSettings:
    """The start by sign annealing and reweighted least squares. Untested defaults."""

    steps_a_cell: int = 4000
    """Annealing steps for each cell with a choice: balance against time."""
    most_steps: int = 10_000_000
    """Maximum number of annealing steps."""
    hot: float = 30.0
    """Temperature at the start, in units of the cost of an equation that is out of balance by a typical level."""
    cold: float = 0.1
    """Temperature at the end."""
    reweightings: int = 8
    """Rounds of reweighted least squares: sparser moves against time."""
    sharpening: float = 0.6
    """The factor by which the smoothing of the weights shrinks in each round."""
    most_equations: int = 5000
    """With more equations least squares take long: the linear program starts without them."""
    price_quantile: float = 0.25
    """Quantile of the weights in an equation at which its imbalance is priced."""
    balancing: BalancingSettings = BalancingSettings()


@dataclass(frozen=True)
class PumpSettings:
    """The feasibility pump over senses. Untested defaults."""

    rounds: int = 300
    """Maximum number of linear programs."""
    violated: float = 1e-6
    """Share of l + u by which a cell must miss its sense to count as violated."""
    penalty_growth: float = 1.2
    """The factor by which the penalty of a violated cell grows in each round."""
    randomness: float = 0.3
    """Random part of the order in which violated senses are flipped after a cycle."""
    fading: float = 0.97
    """The factor by which the weight of the distance shrinks in each round: nearer 1 gives better moves in more
    rounds."""
    faded_share: float = 0.8
    """Share of the time after which the distance has no weight any more."""
    prices: tuple[float, float] = (1e-4, 1e4)
    """Range of the objective coefficients: numerical safety against exact proportions."""


@dataclass(frozen=True)
class LeastSquaresSettings:
    """Least squares over senses. Untested defaults."""

    max_programs: int = 200
    """Maximum number of quadratic programs: better senses against time."""
    bound_steps: int = 300
    """Maximum number of quasi-Newton steps of the Lagrangian bound."""
    towards: tuple[float, ...] = (1.0, 0.75, 0.5, 0.25)
    """Shares of the way from a safe move to the least-squares move that are audited in turn."""
    least_weight: float = 1e-6
    """Weight of cells without one, as a share of the mean weight: it keeps the program strictly convex."""


@dataclass(frozen=True)
class SearchSettings:
    """The search of perturb-cta. Untested defaults."""

    small_cells: int = 3000
    """Maximum number of cells for the integer program over the whole table."""
    small_choices: int = 150
    """Maximum number of cells with a choice for it."""
    medium_cells: int = 20_000
    """Maximum number of cells of an integer program with a time limit, after some block descent."""
    medium_choices: int = 3000
    """Maximum number of cells with a choice of that program."""
    dive_share: float = 0.1
    """Share of the time left for a second start, from the relaxation."""
    first_descent_share: float = 0.2
    """Share of the time left for the descent before the integer program of a medium table."""
    integer_share: float = 0.8
    """Share of the time left for the integer program."""
    slow_fading: tuple[float, ...] = (0.985, 0.997)
    """Fading of slow feasibility pumps, which give better senses (`PumpSettings.fading`)."""
    slow_share: float = 0.2
    """Share of the time left for each of them; half of it for small tables."""
    slow_rounds: int = 1500
    """Maximum number of rounds of a slow pump with a time limit."""
    max_nodes: int = 20_000
    """Maximum number of nodes of the integer program without a time limit."""
    search_share: float = 0.9
    """Share of the time for the search: integer units take time too."""
    least_squares_share: float = 0.4
    """Share of the time for absolute distances where squares are minimized: they are only a start."""


@dataclass(frozen=True)
class ProtectionSettings:
    """Perturbations that attackers cannot undo. Untested defaults but for `reserved_share`."""

    margins: tuple[float, ...] = (0.0, 1.0, 2.0, 4.0, 8.0)
    """Data units by which levels are raised, in turn, until the audit accepts: success against distance."""
    program_share: float = 0.75
    """Share of the time left that a program may take; the rest is for integer units and the audit."""
    large: int = 1000
    """In tables of more cells a perturbation to fall back on is made first, also without a time limit."""
    check_share: float = 0.9
    """Share of the time that the check whether the problem is feasible may take then."""
    start_share: float = 0.6
    """Share of the time within which perturb-cell makes a better perturbation to fall back on."""
    reserved_share: float = 0.15
    """Maximum share of the time that perturb-cell keeps for what programs leave to be done; less where an audit takes
    less. Benchmark part `limits`."""
    attacked_cells: int = 5000
    """Maximum number of cells for which perturb-cta adds cuts against attackers: protection against time."""
    attacked_levels: int = 2000
    """Maximum number of pairs of sensitive cell and attacker for that."""


@dataclass(frozen=True)
class AdjustmentSettings:
    """Tuning of perturb-cell and perturb-cta."""

    program: ProgramSettings = ProgramSettings()
    start: StartSettings = StartSettings()
    pump: PumpSettings = PumpSettings()
    descent: DescentSettings = DescentSettings()
    least_squares: LeastSquaresSettings = LeastSquaresSettings()
    search: SearchSettings = SearchSettings()
    integer_units: IntegerUnitsSettings = IntegerUnitsSettings()
    protection: ProtectionSettings = ProtectionSettings()
    cutting_plane: CuttingPlaneSettings = CuttingPlaneSettings()
    compact: CompactModelSettings = CompactModelSettings()
    newton: NewtonSettings = NewtonSettings()
    """Quadratic programs of starts and of least squares."""
