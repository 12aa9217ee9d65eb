"""The catalogue of methods. A method's name here, its file, its docs page and its test carry the same name."""

from tablecloak.methods.base import Method
from tablecloak.methods.suppress_compact import CompactParams, suppress_compact
from tablecloak.methods.suppress_greedy import GreedyParams, suppress_greedy
from tablecloak.methods.suppress_optimal import OptimalParams, suppress_optimal
from tablecloak.methods.suppress_three_phase import ThreePhaseParams, suppress_three_phase

METHODS = {
    "suppress-greedy": Method(
        suppress_greedy,
        GreedyParams,
        "each exposed level gets its cheapest deviation, then a clean-up; any table, any attackers",
        "Kelly, Golden & Assad 1992 (LP heuristic); Fischetti & Salazar 2001",
    ),
    "suppress-optimal": Method(
        suppress_optimal,
        OptimalParams,
        "branch and cut: the cheapest safe pattern, or the best found with its proven gap; any table, any attackers",
        "Fischetti & Salazar 2001; Salazar 2002, second model",
    ),
    "suppress-three-phase": Method(
        suppress_three_phase,
        ThreePhaseParams,
        "what single lines ask, then flows where that is not enough; exact, for two-way tables and the outsider",
        "Carvalho & Almeida 2008",
    ),
    "suppress-compact": Method(
        suppress_compact,
        CompactParams,
        "the compact integer model, one deviation a level and attacker; exact, for small tables",
        "Kelly, Golden & Assad 1992; Salazar 2002, first model",
    ),
}

__all__ = ["METHODS", "Method"]
