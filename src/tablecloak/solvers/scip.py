"""Branch and cut with rows that are found on the way (SCIP, the extra `scip`).

A constraint handler asks the caller for rows that a point misses: at fractional points of the nodes, and at every whole
point before it counts as a solution. Traps this file takes care of: reductions that argue by duality are off, for SCIP
does not know the rows to come; no restarts; exceptions inside callbacks, Ctrl-C among them, end the search and are
raised again afterwards (SCIP would only print them).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Codes, Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.solvers.outcome import MixedSolution, Outcome


class SolverCut(NamedTuple):
    """sum of coefficients[i] * x[columns[i]] >= low."""

    columns: Ints | Codes
    coefficients: Floats
    low: float


@dataclass(frozen=True)
class Callbacks:
    """What the caller knows."""

    separate: Callable[[Floats, bool], Sequence[SolverCut]]
    """Rows that a point misses; the flag says that it is whole: then no rows means that it is a solution."""
    accept: Callable[[Floats], bool]
    """Whether a whole point is a solution; it need not tell why not."""
    propose: Callable[[Floats], Floats | None]
    """A solution near a fractional point, if there is a new one; asked after each node."""
    tell: Callable[[int, float], bool]
    """Told the number of nodes and the bound; true ends the search."""


def is_there() -> bool:
    """Whether PySCIPOpt is installed."""
    return find_spec("pyscipopt") is not None


def branch_and_cut(
    cost: Floats,
    rows: tuple[Floats, Any],
    callbacks: Callbacks,
    *,
    cutoff: float = math.inf,
    step: float = 0.0,
    seconds: float = math.inf,
    nodes: float = math.inf,
    bare: bool = False,
    rounds: int = 5,
) -> MixedSolution:
    """min cost x over binary x that miss no row: none of those given (low <= matrix x), none that `separate` finds.

    Points that cost more than `cutoff` do not matter; if there are no others the outcome is INFEASIBLE. Costs are
    multiples of `step` (0: nothing is known). `bare`: SCIP adds no cuts of its own. `rounds`: at most so many rounds of
    rows at a node below the root.
    """
    import pyscipopt

    if cost.size == 0:
        return _without_columns(rows[0], callbacks)
    model = pyscipopt.Model()
    _settings(model, seconds, nodes)
    if bare:
        model.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
    scale = 1.0 / step if step > 0 else 1.0
    variables = [model.addVar(vtype="B", obj=float(c) * scale) for c in cost]
    if step > 0:
        model.setObjIntegral()
    low, matrix = rows[0], csr_array(rows[1])
    for k in range(low.size):
        part = slice(matrix.indptr[k], matrix.indptr[k + 1])
        _add_row(model, variables, SolverCut(matrix.indices[part], matrix.data[part], float(low[k])))
    if math.isfinite(cutoff):
        model.setObjlimit(cutoff * scale + (0.5 if step > 0 else 1e-9 * max(1.0, abs(cutoff))))
    handler = _handler(variables, callbacks, scale, rounds)
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
        model.optimize()
        if handler.failure is not None:
            raise handler.failure
        return _outcome(model, variables, scale, cutoff)
    finally:
        model.freeProb()  # model and handler know each other: else the tree stays until Python looks for such circles


def _without_columns(low: Floats, callbacks: Callbacks) -> MixedSolution:
    none = np.zeros(0)
    if (low > 1e-9).any() or callbacks.separate(none, True):
        return MixedSolution(Outcome.INFEASIBLE, math.inf, math.inf, none)
    return MixedSolution(Outcome.OPTIMAL, 0.0, 0.0, none)


def _settings(model: Any, seconds: float, nodes: float) -> None:
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


def _outcome(model: Any, variables: list[Any], scale: float, cutoff: float) -> MixedSolution:
    status, values, objective = model.getStatus(), np.zeros(0), math.inf
    if model.getNSols() > 0:
        solution = model.getBestSol()
        objective = float(model.getSolObjVal(solution)) / scale
        if objective <= cutoff + 0.5 / scale:
            values = np.array([model.getSolVal(solution, v) for v in variables])
    bound = float(model.getDualbound()) / scale
    if status in ("infeasible", "inforunbd") or (status == "optimal" and not values.size):
        return MixedSolution(Outcome.INFEASIBLE, math.inf, math.inf, np.zeros(0))
    if status == "optimal":
        return MixedSolution(Outcome.OPTIMAL, objective, bound, values)
    if status in ("timelimit", "nodelimit", "userinterrupt"):
        return MixedSolution(Outcome.TIME_LIMIT, objective, bound, values)
    raise SolverError(f"SCIP ended with status {status} on a program of {len(variables)} binary columns")


def _guarded(otherwise: str) -> Callable[[Any], Any]:
    """Keep an exception of a callback for later and end the search; meanwhile the answer is `otherwise`."""

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
    """The rows that are not in the program yet."""
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
            if callbacks.tell(model.getNNodes(), model.getDualbound() / scale):
                model.interruptSolve()
                return "DIDNOTRUN"
            if model.getDepth() > 0 and self.rounds[node] > most:
                return "DIDNOTRUN"
            cuts = callbacks.separate(self.point(), False)
            for cut in cuts:
                row = model.createEmptyRowUnspec("", lhs=cut.low, rhs=None, local=False, removable=True)
                model.cacheRowExtensions(row)
                for i, value in zip(cut.columns.tolist(), cut.coefficients.tolist(), strict=True):
                    model.addVarToRow(row, self.own[i], value)
                model.flushRowExtensions(row)
                model.addCut(row, forcecut=False)
                model.releaseRow(row)
            return "SEPARATED" if cuts else "DIDNOTFIND"

        def conslock(self, constraint: Any, locktype: Any, nlockspos: int, nlocksneg: int) -> None:
            for v in variables:
                self.model.addVarLocksType(v, locktype, nlockspos + nlocksneg, nlockspos + nlocksneg)

    return Handler()


def _heuristic(keeper: Any, variables: list[Any], callbacks: Callbacks) -> Any:
    """Solutions of the caller's own search."""
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
