"""All suppression methods side by side: the public library, the INSEE system, the demonstration file of tau-ARGUS.

A case is one method on one instance, all with the same limit. Methods that do not apply are not cases: `applicable`
says which do, by what is known of the instances.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cases.base import WARMING, Make, Part, complementary, result_row, sizes, trace_text
from cases.real_data import CSPLIB, csplib_problem, insee_problem
from cases.synthetic import tau_problem
from runner import Case, Row
from tablecloak import InfeasibleProblem, NotApplicable, protect
from tablecloak.methods import METHODS

SECONDS = 60.0
SLACK = 60.0
"""Seconds that a row may take beside the method: reading the instance, the audit; it is killed after 210 s."""
AUTO = "suppress-auto"
SUPPRESSIONS = tuple(name for name in METHODS if name.startswith("suppress-"))
MAKERS: dict[str, Make] = {
    **{name: partial(csplib_problem, name) for name in CSPLIB},
    "insee": insee_problem,
    "tau_testW": tau_problem,
}
NETWORKS = {"targus", "table8", "osorio", "cbs"}
"""Instances whose equations are those of a network."""
TWO_WAY = NETWORKS - {"targus"}
"""Those without a hierarchy."""
SMALL = TWO_WAY | {"targus", "table7", "hier13x7x7d", "hier13x13x7d", "table1"}
"""Those that suppress-compact takes."""
ONLY_FOR = {
    "suppress-compact": SMALL,
    "suppress-three-phase": TWO_WAY,
    "suppress-kelly": NETWORKS,
    "suppress-cox": NETWORKS,
    "suppress-general": NETWORKS,
    "suppress-shortest-path": NETWORKS,
}
"""Methods that do not take every instance, and those that they take."""


def applicable(method: str, instance: str) -> bool:
    """Whether a method takes an instance."""
    return instance in ONLY_FOR.get(method, MAKERS)


def side_by_side(seconds: float | None) -> Iterator[Case]:
    """Every method on every instance that it takes."""
    limit = seconds or SECONDS
    for name, make in MAKERS.items():
        for method in SUPPRESSIONS:
            if applicable(method, name):
                measure = partial(method_row, make, method, limit)
                facts = {"name": name, "method": method, "limit_s": f"{limit:g}"}
                yield Case(f"{name}, {method}", measure, limit + SLACK, (), facts, group=name)


def method_row(make: Make, method: str, seconds: float) -> Row:
    """One method on a problem."""
    _warm(method)
    problem = make()
    try:
        result = protect(problem, method, params={"seconds": seconds})
    except (InfeasibleProblem, NotApplicable) as error:
        return {**sizes(problem), "status": f"refused: {type(error).__name__}"}
    return {
        **sizes(problem),
        **result_row(result),
        "complementary": complementary(problem, result),
        "own_cost": result.report.counters.get("own cost"),
        "own_open": result.report.counters.get("own open cells"),
        "trace": trace_text(result.report.trace),
    }


def _warm(method: str) -> None:
    """Load and compile whatever the method needs, on small problems, before the clock runs."""
    for make in WARMING:
        try:
            protect(make(), method, params={"seconds": 1.0})
        except NotApplicable:
            continue


PARTS = (
    Part(
        "methods",
        "all suppression methods on the library, the INSEE system and the tau-ARGUS file",
        side_by_side,
        True,
    ),
)
