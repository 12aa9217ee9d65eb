"""The catalogue of methods. A method's name here, its file, its docs page and its test carry the same name."""

from tablecloak.methods.base import Method, Proposal
from tablecloak.methods.data_units import exactly
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.interval_combined import CombinedParams, interval_combined
from tablecloak.methods.interval_partial import PartialParams, interval_partial
from tablecloak.methods.mixed import MixedParams
from tablecloak.methods.mixed_joint import mixed_joint
from tablecloak.methods.perturb_cell import PerturbCellParams, perturb_cell
from tablecloak.methods.perturb_cta import PerturbCtaParams, perturb_cta
from tablecloak.methods.round_controlled import ControlledParams, round_controlled
from tablecloak.methods.round_random import RandomParams, round_random
from tablecloak.methods.round_rapid import RapidParams, round_rapid
from tablecloak.methods.suppress_auto import AutoParams, suppress_auto
from tablecloak.methods.suppress_compact import CompactParams, suppress_compact
from tablecloak.methods.suppress_cox import CoxParams, suppress_cox
from tablecloak.methods.suppress_elimination import EliminationParams, suppress_elimination
from tablecloak.methods.suppress_gauss import GaussParams, suppress_gauss
from tablecloak.methods.suppress_general import GeneralParams, suppress_general
from tablecloak.methods.suppress_greedy import GreedyParams, suppress_greedy
from tablecloak.methods.suppress_hypercube import HypercubeParams, suppress_hypercube
from tablecloak.methods.suppress_kelly import KellyParams, suppress_kelly
from tablecloak.methods.suppress_kelly_lp import KellyLpParams, suppress_kelly_lp
from tablecloak.methods.suppress_modular import ModularParams, suppress_modular
from tablecloak.methods.suppress_network_flow import NetworkFlowParams, suppress_network_flow
from tablecloak.methods.suppress_optimal import OptimalParams, suppress_optimal
from tablecloak.methods.suppress_shortest_path import ShortestPathParams, suppress_shortest_path
from tablecloak.methods.suppress_three_phase import ThreePhaseParams, suppress_three_phase
from tablecloak.methods.timed_audit import best_audited

METHODS = {
    "suppress-auto": Method(
        exactly(suppress_auto),
        AutoParams,
        "the best of the fast methods, then the exact recipe from there: better with every second; any table",
        "the papers of the methods it uses",
    ),
    "suppress-greedy": Method(
        exactly(suppress_greedy),
        GreedyParams,
        "each exposed level gets its cheapest deviation, then a clean-up; any table, any attackers",
        "Kelly, Golden & Assad 1992 (LP heuristic); Fischetti & Salazar 2001",
    ),
    "suppress-optimal": Method(
        exactly(suppress_optimal),
        OptimalParams,
        "branch and cut: the cheapest safe pattern, or the best found with its proven gap; any table, any attackers",
        "Fischetti & Salazar 2001; Salazar 2002, second model",
    ),
    "suppress-three-phase": Method(
        exactly(suppress_three_phase),
        ThreePhaseParams,
        "what single lines ask, then flows where that is not enough; exact, for two-way tables and the outsider",
        "Carvalho & Almeida 2008",
    ),
    "suppress-compact": Method(
        exactly(suppress_compact),
        CompactParams,
        "the compact integer model, one deviation a level and attacker; exact, for small tables",
        "Kelly, Golden & Assad 1992; Salazar 2002, first model",
    ),
    "suppress-network-flow": Method(
        exactly(suppress_network_flow),
        NetworkFlowParams,
        "cycles or cheapest flows a level, what they prove carried to the next cells; any table, any attackers",
        "Castro 2002",
    ),
    "suppress-kelly": Method(
        exactly(suppress_kelly),
        KellyParams,
        "both sides of a level by one combined flow; tables that are networks, sliding levels; any attackers",
        "Kelly, Golden & Assad 1992",
    ),
    "suppress-kelly-lp": Method(
        exactly(suppress_kelly_lp),
        KellyLpParams,
        "one linear program a level, at the paper's linear prices or at fixed charges; any table, any attackers",
        "Kelly, Golden & Assad 1992 (LP heuristic); Serpell et al. 2013",
    ),
    "suppress-elimination": Method(
        exactly(suppress_elimination),
        EliminationParams,
        "everything hidden, then published cell by cell while all levels are met; any table, any attackers, anytime",
        "Serpell et al. 2013 (elimination LP)",
    ),
    "suppress-cox": Method(
        exactly(suppress_cox),
        CoxParams,
        "cycles through each sensitive cell until they carry its level; tables that are networks; any attackers",
        "Cox 1995, as in Castro 2007",
    ),
    "suppress-general": Method(
        exactly(suppress_general),
        GeneralParams,
        "the shortest cycle through each sensitive cell; tables that are networks, values of any sign",
        "Carvalho, Dellaert & Osorio 1994",
    ),
    "suppress-shortest-path": Method(
        exactly(suppress_shortest_path),
        ShortestPathParams,
        "a few shortest paths a level; huge positive networks, and grids by equal flows; any attackers",
        "Castro 2007",
    ),
    "suppress-hypercube": Method(
        exactly(suppress_hypercube),
        HypercubeParams,
        "a hypercube of hidden cells for each sensitive one, by subtables, then repaired; any table, any attackers",
        "Repsilber 2002; Giessing & Repsilber 2002 (GHMITER)",
    ),
    "suppress-gauss": Method(
        exactly(suppress_gauss),
        GaussParams,
        "published while no sensitive cell is a combination of published ones, then repaired; any table, any attackers",
        "Langsrud 2024 (Gaussian elimination)",
    ),
    "suppress-modular": Method(
        exactly(suppress_modular),
        ModularParams,
        "hierarchies as subtables solved from the top down, then repaired globally; any table, any attackers",
        "de Wolf 2002 (HiTaS); de Wolf & Giessing 2009",
    ),
    "interval-partial": Method(
        interval_partial,
        PartialParams,
        "every cell as an interval, as narrow as safety allows; proven by a linear program; any table, any attackers",
        "Fischetti & Salazar 2003; Salazar 2002",
    ),
    "interval-combined": Method(
        interval_combined,
        CombinedParams,
        "intervals with a price for touching a cell at all; bounds on touched cells and conditional widths",
        "Salazar 2002",
    ),
    "mixed-joint": Method(
        mixed_joint,
        MixedParams,
        "different ways for different cells, decided together (intervals inside, rounded totals), beside old figures",
        "Salazar 2002",
    ),
    "round-controlled": Method(
        round_controlled,
        ControlledParams,
        "the nearest rounding to multiples of a base that adds up and protects; names what it must leave open",
        "Salazar 2002; Salazar, Staggemeier & Bycroft 2005",
    ),
    "round-random": Method(
        round_random,
        RandomParams,
        "unbiased random rounding to one base, additive; two-way tables with at most one hierarchy; audited only",
        "Cox 1987",
    ),
    "round-rapid": Method(
        round_rapid,
        RapidParams,
        "leaves to the nearest multiple, totals added up, what is stated grows with them; huge tables; audited only",
        "tau-ARGUS manual 4.1 (RAPID)",
    ),
    "perturb-cell": Method(
        perturb_cell,
        PerturbCellParams,
        "numbers near the truth that add up, sensitive cells a level away; the stated reach does not give them away",
        "Salazar 2002",
    ),
    "perturb-cta": Method(
        perturb_cta,
        PerturbCtaParams,
        "controlled tabular adjustment: the nearest table that adds up, a sense for each sensitive cell; L1 or L2",
        "Dandekar & Cox 2002; Castro 2006; Gonzalez & Castro 2011",
    ),
}

__all__ = ["METHODS", "Method", "Proposal", "best_audited", "largest_pattern"]
