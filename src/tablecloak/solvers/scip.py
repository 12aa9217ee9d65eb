"""Branch and cut with cuts that are separated on the way (SCIP, the extra `scip`).

A constraint handler calls the separation of the caller: at fractional points of the nodes, and at every integral point
before it counts as a solution. Traps this file takes care of: dual reductions are off, for SCIP does not know the cuts
to come; no restarts; exceptions inside callbacks, Ctrl-C among them, end the search and are raised again afterwards
(SCIP would only print them).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Codes, Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.solvers.outcome import Outcome, Solution
from tablecloak.solvers.tolerances import CUTOFF


class SolverCut(NamedTuple):
    """sum of coefficients[i] * x[columns[i]] >= low."""

    columns: Ints | Codes
    coefficients: Floats
    low: float


@dataclass(frozen=True)
class Callbacks:
    """The problem-specific parts of branch and cut."""

    separate: Callable[[Floats, bool], Sequence[SolverCut]]
    """Cuts that a point violates; the flag marks integral points, which are solutions if they violate none."""
    accept: Callable[[Floats], bool]
    """Whether an integral point is a solution."""
    propose: Callable[[Floats], Floats | None]
    """Primal heuristic: a solution near a fractional point, if there is a new one; called after each node."""
    report: Callable[[int, float], bool]
    """Called with the number of nodes and the bound; true ends the search."""


@dataclass(frozen=True)
class TreeOptions:
    """Limits of one branch and cut."""

    cutoff: float = math.inf
    """Points that cost more do not matter; if there are no others the outcome is INFEASIBLE."""
    step: float = 0.0
    """Costs are multiples of this; 0: they are of any size."""
    seconds: float = math.inf
    """Time limit."""
    nodes: float = math.inf
    """Maximum number of nodes."""
    own_cuts: bool = True
    """Whether SCIP adds cuts of its own."""
    rounds: int = 5
    """Maximum number of separation rounds at a node below the root."""


def is_there() -> bool:
    """Whether PySCIPOpt is installed."""
    return find_spec("pyscipopt") is not None


def branch_and_cut(
    cost: Floats,
    rows: tuple[Floats, Any],
    callbacks: Callbacks,
    options: TreeOptions = TreeOptions(),
) -> Solution:
    """Solve min cost x over binary x that violate no row: neither those given (low <= matrix x) nor separated ones."""
    import pyscipopt

    if cost.size == 0:
        empty = Solution.without_columns(rows[0])
        violated = empty.outcome is Outcome.OPTIMAL and callbacks.separate(np.zeros(0), True)
        return Solution.without_point(Outcome.INFEASIBLE) if violated else empty
    model = pyscipopt.Model()
    _set_params(model, options.seconds, options.nodes)
    if not options.own_cuts:
        model.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
    step, cutoff = options.step, options.cutoff
    scale = 1.0 / step if step > 0 else 1.0
    variables = [model.addVar(vtype="B", obj=float(c) * scale) for c in cost]
    if step > 0:
        model.setObjIntegral()
    low, matrix = rows[0], csr_array(rows[1])
    for k in range(low.size):
        part = slice(matrix.indptr[k], matrix.indptr[k + 1])
        _add_row(model, variables, SolverCut(matrix.indices[part], matrix.data[part], float(low[k])))
    if math.isfinite(cutoff):
        model.setObjlimit(cutoff * scale + (0.5 if step > 0 else CUTOFF * max(1.0, abs(cutoff))))
    handler = _handler(variables, callbacks, scale, options.rounds)
    model.includeConshdlr(
        handler, "levels", "protection levels", sepapriority=1000, enfopriority=-10, chckpriority=-10, sepafreq=1,
        propfreq=-1, eagerfreq=-1, maxprerounds=0, delaysepa=False, delayprop=False, needscons=False,
    )  # fmt: skip
    model.includeHeur(
        _heuristic(handler, variables, callbacks),
        "search",
        "search near the relaxation",
        "L",
        timingmask=pyscipopt.SCIP_HEURTIMING.AFTERLPNODE,
    )
    try:
        _optimize(model, handler)
        return _outcome(model, variables, scale, cutoff)
    finally:
        model.freeProb()  # model and handler refer to each other: else the tree stays until Python collects such cycles


def _optimize(model: Any, handler: Any) -> None:
    """Run SCIP, and raise what a callback has raised.

    A signal that comes while SCIP works is raised by Python at the first step of the next callback, before any line of
    it could keep the exception. PySCIPOpt prints such a one and fails; here it is caught on its way to be printed.
    """
    escaped: list[BaseException] = []
    printed, ignored = sys.excepthook, sys.unraisablehook

    def keep(unraisable: Any) -> None:
        if unraisable.exc_value is not None and str(unraisable.object).startswith("pyscipopt"):
            escaped.append(unraisable.exc_value)
        else:
            ignored(unraisable)

    sys.excepthook, sys.unraisablehook = lambda *_: None, keep
    try:
        model.optimize()
    except Exception:
        if not escaped:
            raise
    finally:
        sys.excepthook, sys.unraisablehook = printed, ignored
    for failure in (handler.failure, *escaped):
        if failure is not None:
            raise failure


def _set_params(model: Any, seconds: float, nodes: float) -> None:
    model.hideOutput()
    for name, value in {
        **({"limits/time": max(seconds, 0.01)} if math.isfinite(seconds) else {}),
        "limits/nodes": int(min(nodes, 2**62)) if math.isfinite(nodes) else -1,
        "limits/gap": 0.0,
        "misc/allowstrongdualreds": False,
        "misc/allowweakdualreds": False,
        "misc/usesymmetry": 0,
        "misc/catchctrlc": False,
        "presolving/maxrestarts": 0,
        "estimation/restarts/restartpolicy": "n",
    }.items():
        model.setParam(name, value)


def _add_row(model: Any, variables: list[Any], cut: SolverCut) -> None:
    from pyscipopt import quicksum

    terms = zip(cut.columns.tolist(), cut.coefficients.tolist(), strict=True)
    model.addCons(quicksum(value * variables[i] for i, value in terms) >= cut.low, removable=True)


def _add_cut(model: Any, variables: list[Any], cut: SolverCut) -> None:
    row = model.createEmptyRowUnspec("", lhs=cut.low, rhs=None, local=False, removable=True)
    model.cacheRowExtensions(row)
    for i, value in zip(cut.columns.tolist(), cut.coefficients.tolist(), strict=True):
        model.addVarToRow(row, variables[i], value)
    model.flushRowExtensions(row)
    model.addCut(row, forcecut=False)
    model.releaseRow(row)


def _outcome(model: Any, variables: list[Any], scale: float, cutoff: float) -> Solution:
    status, values, objective = model.getStatus(), np.zeros(0), math.inf
    if model.getNSols() > 0:
        solution = model.getBestSol()
        objective = float(model.getSolObjVal(solution)) / scale
        if objective <= cutoff + 0.5 / scale:
            values = np.array([model.getSolVal(solution, v) for v in variables])
    bound = float(model.getDualbound()) / scale
    if status in ("infeasible", "inforunbd") or (status == "optimal" and not values.size):
        return Solution.without_point(Outcome.INFEASIBLE)
    if status == "optimal":
        return Solution(Outcome.OPTIMAL, objective, bound, values)
    if status in ("timelimit", "nodelimit", "userinterrupt"):
        return Solution(Outcome.TIME_LIMIT, objective, bound, values)
    raise SolverError(f"SCIP ended with status {status} on a program of {len(variables)} binary columns")


def _guarded(otherwise: str) -> Callable[[Any], Any]:
    """Keep an exception of a callback for later and end the search; meanwhile the result is `otherwise`."""

    def wrap(callback: Any) -> Any:
        @wraps(callback)
        def guarded(self: Any, *arguments: Any) -> dict[str, Any]:
            from pyscipopt import SCIP_RESULT

            keeper = getattr(self, "handler", self)
            if keeper.failure is None:
                try:
                    return {"result": getattr(SCIP_RESULT, callback(self, *arguments))}
                except BaseException as failure:
                    keeper.failure = failure
                    self.model.interruptSolve()
            return {"result": getattr(SCIP_RESULT, otherwise)}

        return guarded

    return wrap


def _handler(variables: list[Any], callbacks: Callbacks, scale: float, most: int) -> Any:
    """The constraint handler of the rows that are not in the program yet."""
    from pyscipopt import Conshdlr

    class Handler(Conshdlr):  # type: ignore[misc]
        failure: BaseException | None = None

        def __init__(self) -> None:
            self.rounds: dict[int, int] = {}
            self.known: dict[bytes, bool] = {}

        def point(self, solution: Any = None) -> Floats:
            value = self.model.getSolVal
            x: Floats = np.array([value(solution, v) for v in variables])
            return np.clip(x, 0.0, 1.0)

        def consinitsol(self, constraints: Any) -> None:
            self.own = [self.model.getTransformedVar(v) for v in variables]

        @_guarded("INFEASIBLE")
        def conscheck(self, constraints: Any, solution: Any, *_: Any) -> str:
            x = np.rint(self.point(solution))
            key = np.packbits(x > 0.5).tobytes()
            if key not in self.known:
                self.known[key] = callbacks.accept(x)
            return "FEASIBLE" if self.known[key] else "INFEASIBLE"

        @_guarded("INFEASIBLE")
        def consenfolp(self, *_: Any) -> str:
            cuts = callbacks.separate(np.rint(self.point()), True)
            for cut in cuts:
                _add_row(self.model, variables, cut)
            return "CONSADDED" if cuts else "FEASIBLE"

        @_guarded("INFEASIBLE")
        def consenfops(self, *_: Any) -> str:
            return "INFEASIBLE"

        @_guarded("DIDNOTRUN")
        def conssepalp(self, *_: Any) -> str:
            model = self.model
            node = model.getCurrentNode().getNumber()
            self.rounds[node] = self.rounds.get(node, 0) + 1
            if callbacks.report(model.getNNodes(), model.getDualbound() / scale):
                model.interruptSolve()
                return "DIDNOTRUN"
            if model.getDepth() > 0 and self.rounds[node] > most:
                return "DIDNOTRUN"
            cuts = callbacks.separate(self.point(), False)
            for cut in cuts:
                _add_cut(model, self.own, cut)
            return "SEPARATED" if cuts else "DIDNOTFIND"

        def conslock(self, constraint: Any, locktype: Any, nlockspos: int, nlocksneg: int) -> None:
            for v in variables:
                self.model.addVarLocksType(v, locktype, nlockspos + nlocksneg, nlockspos + nlocksneg)

    return Handler()


def _heuristic(keeper: Any, variables: list[Any], callbacks: Callbacks) -> Any:
    """The primal heuristic of the caller."""
    from pyscipopt import Heur

    class Heuristic(Heur):  # type: ignore[misc]
        handler = keeper

        @_guarded("DIDNOTRUN")
        def heurexec(self, heurtiming: Any, nodeinfeasible: Any) -> str:
            if nodeinfeasible:
                return "DIDNOTRUN"
            values = callbacks.propose(keeper.point())
            if values is None:
                return "DIDNOTFIND"
            solution = self.model.createOrigSol(self)  # presolve may have fixed what this one sets
            for i in np.flatnonzero(values > 0.5).tolist():
                self.model.setSolVal(solution, variables[i], 1.0)
            return "FOUNDSOL" if self.model.trySol(solution) else "DIDNOTFIND"

    return Heuristic()
