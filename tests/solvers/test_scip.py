"""Branch and cut with rows on demand against enumeration: cutoffs, limits, proposals, and exceptions on the way."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from fixtures import FIXTURES
from tablecloak.errors import InputError
from tablecloak.methods import METHODS
from tablecloak.methods.branch_and_cut.settings import ExactSettings, SmallSettings
from tablecloak.methods.suppress_optimal import suppress_optimal
from tablecloak.model import Status
from tablecloak.protection import protect
from tablecloak.solvers import Callbacks, Outcome, Solution, SolverCut, TreeOptions, branch_and_cut, scip

pytest.importorskip("pyscipopt")
SIZE = 9


class Instance:
    """Random rows A x >= 1 or more: the first few are given, the others are found on demand."""

    def __init__(self, seed: int, *, step: float = 1.0, size: int = SIZE, rows: int = 12) -> None:
        rng = np.random.default_rng(seed)
        self.step, self.given = step, int(rng.integers(0, 4))
        self.cost = rng.integers(1, 20, size) * step if step else rng.random(size) * 10 + 0.1
        self.cost[rng.random(size) < 0.1] = 0.0
        cover = (rng.random((rows, size)) < 0.35).astype(float)
        weights = rng.integers(1, 9, size=(rows, size)) / 8.0
        self.matrix = np.where(rng.random((rows, 1)) < 0.5, cover, cover * weights)
        self.low = np.minimum(self.matrix.sum(axis=1), np.where(rng.random(rows) < 0.7, 1.0, 1.5))
        self.told: list[tuple[int, float]] = []
        self.asked = self.whole = self.judged = 0
        points = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
        fine = (points @ self.matrix.T >= self.low - 1e-9).all(axis=1)
        costs = points[fine] @ self.cost
        self.optimum = float(costs.min())
        self.best = points[fine][int(costs.argmin())].astype(float)

    def separate(self, x: np.ndarray, whole: bool) -> list[SolverCut]:
        self.asked += 1
        self.whole += whole
        assert x.shape == self.cost.shape
        assert ((x >= 0) & (x <= 1)).all()
        assert not whole or (x == np.rint(x)).all()
        missed = np.flatnonzero(self.low - self.matrix @ x > 1e-6)[: 2 if whole else 1]
        columns = np.arange(self.cost.size)
        return [SolverCut(columns, self.matrix[k], float(self.low[k])) for k in missed]

    def accept(self, x: np.ndarray) -> bool:
        self.judged += 1
        return not self.separate(x, True)

    def tell(self, nodes: int, bound: float) -> bool:
        self.told.append((nodes, bound))
        return False

    def solve(self, **options: object) -> Solution:
        calls = {name: options.pop(name, getattr(self, name, None)) for name in ("separate", "tell")}
        propose = options.pop("propose", lambda x: None)
        rows = self.low[: self.given], csr_array(self.matrix[: self.given])
        callbacks = Callbacks(calls["separate"], self.accept, propose, calls["tell"])
        return branch_and_cut(self.cost, rows, callbacks, TreeOptions(**{"step": self.step, **options}))


@pytest.mark.parametrize("step", [1.0, 0.25, 1e-4, 1e6, 0.0])
def test_the_optimum_of_enumeration(step):
    for seed in range(12):
        instance = Instance(seed, step=step)
        solution = instance.solve()
        assert solution.outcome is Outcome.OPTIMAL
        assert solution.objective == pytest.approx(instance.optimum, rel=1e-9)
        assert solution.bound == pytest.approx(instance.optimum, rel=1e-6)
        assert instance.cost @ np.rint(solution.values) == pytest.approx(instance.optimum)
        assert (instance.matrix @ np.rint(solution.values) >= instance.low - 1e-9).all()
        finite = [bound for _, bound in instance.told if bound > -1e19]
        assert all(bound <= instance.optimum * (1 + 1e-9) for bound in finite)


@pytest.mark.parametrize("step", [1.0, 0.25, 1e-4, 0.0])
def test_the_cutoff_separates_what_matters_from_what_does_not(step):
    for seed in range(10):
        instance = Instance(seed, step=step)
        least = step or 1e-3
        assert instance.solve(cutoff=instance.optimum).objective == pytest.approx(instance.optimum)
        below = instance.solve(cutoff=instance.optimum - least)
        assert below.outcome is Outcome.INFEASIBLE
        assert below.bound == math.inf
        assert below.values.size == 0
        assert instance.solve(cutoff=instance.optimum + 3 * least).objective == pytest.approx(
            instance.optimum
        )


def test_whole_points_are_judged_by_the_caller_only():
    """Nothing is given: all rows come from the callback, and every accepted point was shown to it."""
    instance = Instance(5)
    instance.given = 0
    assert instance.solve().objective == pytest.approx(instance.optimum)
    assert instance.whole >= instance.judged > 0


def test_rows_that_no_column_can_meet():
    """The columns below a gap limit may miss a row altogether: then there is no solution."""
    empty = SolverCut(np.zeros(0, dtype=np.int64), np.zeros(0), 1.0)
    nothing = Callbacks(lambda x, whole: [empty], lambda x: False, lambda x: None, lambda nodes, bound: False)
    cost, rows = np.ones(3), (np.zeros(0), csr_array((0, 3)))
    assert branch_and_cut(cost, rows, nothing, TreeOptions(step=1.0)).outcome is Outcome.INFEASIBLE
    only_whole = Callbacks(
        lambda x, whole: [empty] if whole else [], lambda x: False, lambda x: None, lambda nodes, bound: False
    )
    assert branch_and_cut(cost, rows, only_whole, TreeOptions(step=1.0)).outcome is Outcome.INFEASIBLE
    fine = Callbacks(lambda x, whole: [], lambda x: True, lambda x: None, lambda nodes, bound: False)
    given = np.ones(1), csr_array((1, 3))
    assert branch_and_cut(cost, given, fine, TreeOptions(step=1.0)).outcome is Outcome.INFEASIBLE


def test_without_columns():
    fine = Callbacks(lambda x, whole: [], lambda x: True, lambda x: None, lambda nodes, bound: False)
    solution = branch_and_cut(np.zeros(0), (np.zeros(0), csr_array((0, 0))), fine, TreeOptions(step=1.0))
    assert solution.outcome is Outcome.OPTIMAL
    assert solution.objective == 0.0


# ---------------------------------------------------------------------- proposals


def hard(seed: int = 0) -> Instance:
    """An instance with a tree: the rows x_i + x_j + x_k >= 1 of many triples."""
    instance = Instance(seed, size=14, rows=5)
    rng = np.random.default_rng(seed)
    triples = np.array([rng.choice(14, size=3, replace=False) for _ in range(90)])
    instance.matrix = np.zeros((90, 14))
    np.put_along_axis(instance.matrix, triples, 1.0, axis=1)
    instance.low, instance.cost, instance.given = np.ones(90), np.ones(14), 60
    points = (np.arange(2**14)[:, None] >> np.arange(14)) & 1
    fine = points[(points @ instance.matrix.T >= 1.0).all(axis=1)]
    instance.optimum = float(fine.sum(axis=1).min())
    instance.best = fine[int(fine.sum(axis=1).argmin())].astype(float)
    return instance


def test_proposals_are_used_if_they_are_solutions():
    instance, shown = hard(), []

    def propose(x: np.ndarray) -> np.ndarray:
        shown.append(x)
        return instance.best

    solution = instance.solve(propose=propose)
    assert shown
    assert solution.objective == pytest.approx(instance.optimum)
    stopped = hard(1)
    found = stopped.solve(propose=lambda x: stopped.best, tell=lambda nodes, bound: True)
    assert found.outcome is Outcome.TIME_LIMIT
    assert found.bound <= stopped.optimum + 1e-6


def test_proposals_that_miss_a_row_are_refused():
    instance = hard()
    solution = instance.solve(propose=lambda x: np.zeros(instance.cost.size))
    assert solution.outcome is Outcome.OPTIMAL
    assert solution.objective == pytest.approx(instance.optimum)


def test_proposals_that_the_given_rows_exclude_are_refused():
    """Presolve fixes the first column at zero: a proposal with it is no solution, and no failure either."""
    instance = hard()
    row = np.zeros((1, instance.cost.size))
    row[0, 0] = -1.0
    instance.matrix, instance.low = np.vstack([row, instance.matrix]), np.append(0.0, instance.low)
    points = (np.arange(2**14)[:, None] >> np.arange(14)) & 1
    fine = (points @ instance.matrix.T >= instance.low).all(axis=1)
    solution = instance.solve(propose=lambda x: np.ones(instance.cost.size))
    assert solution.objective == pytest.approx(points[fine].sum(axis=1).min())


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize("after", [1, 2, 5])
def test_the_caller_can_end_the_search(after):
    instance, calls = hard(), []

    def tell(nodes: int, bound: float) -> bool:
        calls.append(nodes)
        return len(calls) >= after

    solution = instance.solve(tell=tell)
    assert solution.outcome is Outcome.TIME_LIMIT
    assert len(calls) == after
    assert solution.bound <= instance.optimum + 1e-6


@pytest.mark.parametrize("limits", [{"nodes": 1}, {"nodes": 3}, {"seconds": 1e-3}])
def test_limits_leave_valid_bounds(limits):
    stopped = 0
    for seed in range(6):
        instance = hard(seed)
        solution = instance.solve(**limits)
        stopped += solution.outcome is Outcome.TIME_LIMIT
        assert solution.bound <= instance.optimum + 1e-6
        if solution.values.size:
            point = np.rint(solution.values)
            assert (instance.matrix @ point >= instance.low).all()
            assert solution.objective == pytest.approx(point.sum())
            assert solution.objective >= instance.optimum - 1e-6
    assert stopped or "seconds" in limits


# ---------------------------------------------------------------------- exceptions


class Trouble(Exception):
    """Something that goes wrong in a callback."""


@pytest.mark.parametrize("failure", [Trouble, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["separate", "propose", "tell"])
@pytest.mark.parametrize("call", [1, 3])
def test_exceptions_in_callbacks_come_out(failure, where, call, capfd):
    instance, calls = hard(), []

    def fail(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) >= call:
            raise failure("here")
        return getattr(instance, where)(*arguments) if where != "propose" else None

    if where == "propose" and call > 1:
        call = 1
    with pytest.raises(failure, match="here"):
        instance.solve(**{where: fail})
    assert len(calls) == call, "after a failure no callback is called again"
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("call", [1, 2, 5])
def test_an_interrupt_before_the_first_line_of_a_callback_comes_out(call, capfd):
    """Where Python raises it if a signal comes while SCIP works: nothing in the callback can keep it."""
    instance, calls = hard(), []
    hooks = sys.excepthook, sys.unraisablehook

    def interrupting(frame, event, argument):
        if frame.f_code.co_name == "guarded":
            calls.append(frame)
            if len(calls) == call:
                raise KeyboardInterrupt("here")

    before = sys.gettrace()
    sys.settrace(interrupting)
    try:
        with pytest.raises(KeyboardInterrupt, match="here"):
            instance.solve()
    finally:
        sys.settrace(before)
    assert (sys.excepthook, sys.unraisablehook) == hooks
    assert "Traceback" not in capfd.readouterr().err
    again = hard().solve()
    assert again.objective == pytest.approx(instance.optimum)


def test_an_exception_at_a_whole_point_comes_out():
    instance = hard()

    def fail(x: np.ndarray, whole: bool) -> list[SolverCut]:
        if whole:
            raise Trouble
        return []

    with pytest.raises(Trouble):
        instance.solve(separate=fail)


# ---------------------------------------------------------------------- not installed


def test_without_scip_asking_for_it_is_an_error_and_auto_takes_highs(monkeypatch):
    problem = FIXTURES["three way"]()
    tree = partial(suppress_optimal, settings=ExactSettings(small=SmallSettings(max_general_cells=0)))
    method = replace(METHODS["suppress-optimal"], function=tree)
    assert scip.is_there()
    assert "SCIP" in protect(problem, method).report.engine
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    assert not scip.is_there()
    with pytest.raises(InputError, match="not installed") as caught:
        protect(problem, "suppress-optimal", params={"engine": "scip"})
    assert "pip install tablecloak[scip]" in str(caught.value)
    for engine in ("auto", "highs"):
        result = protect(problem, method, params={"engine": engine})
        assert "HiGHS" in result.report.engine
        assert result.status is Status.OPTIMAL


def test_the_search_for_the_package_decides(monkeypatch):
    monkeypatch.setattr(scip, "find_spec", lambda name: None)
    assert not scip.is_there()
