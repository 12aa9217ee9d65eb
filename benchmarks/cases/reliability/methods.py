"""Methods against the oracle: what they return is safe, what they prove is true, and they end in no fault of ours."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from cases.reliability.findings import Fault, Findings, message_of
from tablecloak import InfeasibleProblem, InputError, NotApplicable, Problem, SolverError, Status, protect
from tablecloak.methods import METHODS
from tablecloak.model import Suppression
from tablecloak.testing import oracle_verdict
from tablecloak.testing.enumeration import safe_suppression_below
from tablecloak.testing.random_cases import near_threshold, random_case, random_levels

OPTIMA, METHOD_RUNS = "optima", "methods"
MOST_FREE_CELLS = 14
"""Brute force takes problems with at most this number of cells to decide on."""
PATIENCE = 120
"""Seconds after which a run is interrupted as by Ctrl-C: exact methods go on until they have their proof."""
COST_NOISE = 1e-6
"""Costs that differ by less are the same: weights are whole numbers here."""

# ---------------------------------------------------------------------- optima


def examine_optimum(seed: int) -> Findings:
    """One claim of suppress-optimal against brute force, and against suppress-compact."""
    rng = np.random.default_rng([3, seed])
    case = random_case(rng, publishing="suppression", size="tiny")
    near = rng.random() < 0.5
    problem = near_threshold(case, rng, conditional=False) if near else random_levels(case.problem, rng)
    found = Findings()
    claims = {name: _claim(problem, name, seed, found) for name in ("suppress-optimal", "suppress-compact")}
    told = {name: cost for name, cost in claims.items() if cost is not None}
    for name, cost in told.items():
        found.counts["claims"] += 1
        if (~problem.forced & ~problem.must_hide).sum() <= MOST_FREE_CELLS:
            found.counts["by_brute_force"] += 1
            cheaper = safe_suppression_below(problem, cost - COST_NOISE if np.isfinite(cost) else np.inf)
            if cheaper is not None:
                less = f"{name} claims {cost:g}, {cheaper.loss(problem):g} is safe"
                found.add(Fault(OPTIMA, seed, f"wrong optimum: {less}", problem, cheaper), "wrong_optimum")
    costs = list(told.values())
    if len(costs) == 2:
        found.counts["by_second_method"] += 1
        if costs[0] != costs[1] and not abs(costs[0] - costs[1]) <= COST_NOISE:
            found.add(Fault(OPTIMA, seed, f"methods differ: {told}", problem), "methods_differ")
    return found


def _claim(problem: Problem, name: str, seed: int, found: Findings) -> float | None:
    """The cost that a method calls optimal (infinite: it says that nothing is safe); None if it claims nothing."""
    try:
        result = protect(problem, name)
    except InfeasibleProblem:
        return np.inf
    except NotApplicable:
        return None
    except Exception as error:  # whatever it is, it is what we look for
        found.add(Fault(OPTIMA, seed, f"error: {name}: {message_of(error)}", problem), "errors")
        return None
    if not oracle_verdict(problem, result.pattern).safe:
        found.add(Fault(OPTIMA, seed, f"unsafe: {name}", problem, result.pattern), "unsafe")
        return None
    return result.cost if result.status is Status.OPTIMAL else None


# ---------------------------------------------------------------------- methods


def examine_methods(seed: int) -> Findings:
    """Every method on one problem."""
    rng = np.random.default_rng([4, seed])
    case = random_case(rng, size="tiny" if rng.random() < 0.3 else "usual")
    problem = random_levels(case.problem, rng, conditional=bool(rng.random() < 0.15))
    found = Findings()
    for name in METHODS:
        found.merge(examine_method(problem, name, seed))
    return found


def examine_method(problem: Problem, name: str, seed: int) -> Findings:
    """One run of a method: what it ended in, and whether the oracle agrees with its verdict."""
    found = Findings()
    found.counts["runs"] += 1
    fired: list[int] = []
    try:
        with _interrupted_after(PATIENCE, fired):
            result = protect(problem, name, params=params_of(problem, name), seed=seed)
    except (NotApplicable, InputError):
        found.counts["refused"] += 1
    except InfeasibleProblem:
        found.counts["infeasible"] += 1
        everything = Suppression(~problem.forced)
        if (
            name.startswith(("suppress", "interval-partial"))
            and problem.is_monotone
            and oracle_verdict(problem, everything).safe
        ):
            found.add(Fault(METHOD_RUNS, seed, f"wrongly infeasible: {name}", problem), "wrongly_infeasible")
    except SolverError as error:
        found.add(
            Fault(METHOD_RUNS, seed, f"solver error: {name}: {message_of(error)}", problem), "solver_errors"
        )
    except (Exception, KeyboardInterrupt) as error:  # whatever it is, it is what we look for
        found.add(Fault(METHOD_RUNS, seed, f"foreign: {name}: {message_of(error)}", problem), "foreign")
    else:
        found.counts[result.status.name.lower()] += 1
        found.counts["left_open"] += not result.audit.safe
        if result.status not in (Status.OPTIMAL, Status.FEASIBLE) and not fired:
            about = f"stopped without a limit: {name}: {result.status.value}, {'; '.join(result.report.notes)[:120]}"
            found.add(Fault(METHOD_RUNS, seed, about, problem, result.pattern), "stopped_without_a_limit")
        if result.audit.safe and not oracle_verdict(problem, result.pattern).safe:
            found.add(Fault(METHOD_RUNS, seed, f"unsafe: {name}", problem, result.pattern), "unsafe")
    return found


@contextlib.contextmanager
def _interrupted_after(seconds: int, fired: list[int]) -> Iterator[None]:
    """A KeyboardInterrupt in what takes longer than this, as by Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        fired.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def params_of(problem: Problem, name: str) -> dict[str, Any]:
    """Defaults, but for a base that is a multiple of the data unit."""
    own = {field.name for field in fields(METHODS[name].params)}
    return {"base": 5 * problem.table.unit} if "base" in own else {}
