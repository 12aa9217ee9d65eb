"""Every method on every kind of table: audited, forced cells kept, deterministic, honest about cost and bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import FIXTURES, fifty_attackers, only_sliding
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.methods import METHODS
from tablecloak.model import Levels, Status, Suppression, Table, infer_decimals
from tablecloak.protection import protect
from tablecloak.testing import assert_additive, assert_protected
from two_way import FIGURE_004, TwoWay

EVERY_METHOD = pytest.mark.parametrize("method", list(METHODS))
TWO_WAY = {
    "two way", "two way several", "unit weights", "zeros published", "negative values", "known within half", "decimals",
    "tiny decimals", "huge values", "forced hidden",
}  # fmt: skip
"""Two-way tables with lower and upper levels and no attacker but the outsider."""
NETWORKS = TWO_WAY | {
    "one hierarchy", "one cell", "one dimension", "counts without levels", "only sliding", "conditional",
    "conditional sides", "fifty attackers", "own levels",
}  # fmt: skip
MONOTONE = set(FIXTURES) - {"conditional", "conditional sides"}
APPLIES_TO = {
    "suppress-three-phase": TWO_WAY,
    "suppress-modular": MONOTONE,
    "suppress-hypercube": MONOTONE,
    "suppress-gauss": MONOTONE,
    "suppress-shortest-path": set(FIXTURES) - {"negative values", "any equations"},
    "suppress-kelly": NETWORKS,
    "suppress-cox": NETWORKS,
    "suppress-general": NETWORKS,
    "interval-partial": MONOTONE,
    "round-controlled": set(FIXTURES) - {"forced hidden"},
    "round-random": NETWORKS - {"forced hidden"},
    "round-rapid": set(FIXTURES) - {"forced hidden", "linked", "responses", "any equations"},
    "perturb-cell": set(FIXTURES) - {"forced hidden"},
    "perturb-cta": set(FIXTURES) - {"forced hidden", "conditional", "conditional sides"},
}
"""The fixtures that a method takes, if not all of them. It must take these and refuse the others."""
SHOWING = {name for name in METHODS if name.startswith(("round-", "perturb-"))}
"""Methods that show a number for every cell. They may leave cells open, and then the audit names them."""
CHANGING = {*SHOWING, "mixed-joint"}
"""Methods that change some cells whatever is decided: a bound on touched cells may be too small for that."""
NO_ROUNDING = {("round-controlled", "any equations"), ("mixed-joint", "forced hidden")}
"""Where no rounding adds up."""
PARAMS = {
    **{name: {"share": 0.9, "least": 30.0} for name in ("perturb-cell", "perturb-cta")},
    "mixed-joint": {"base": 100.0},
}
"""What some methods need to be told: a reach or a base that has room for the levels of all fixtures."""
WITHOUT_LIMIT = {
    name for name, method in METHODS.items() if "seconds" not in method.params.__dataclass_fields__
}


def protected(problem, method, fixture, **options):
    """The result; None where the method says, as it should, that it cannot take the fixture and what can."""
    options.setdefault("params", PARAMS.get(method))
    if fixture in APPLIES_TO.get(method, FIXTURES):
        return protect(problem, method, **options)
    with pytest.raises(NotApplicable) as caught:
        protect(problem, method, **options)
    assert caught.value.instead
    assert set(caught.value.instead) <= set(METHODS)
    return None


@EVERY_METHOD
@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_every_method_protects_every_kind_of_table(method, fixture):
    problem = FIXTURES[fixture]()
    assert_additive(problem.table)
    if (method, fixture) in NO_ROUNDING:
        with pytest.raises(InfeasibleProblem, match="adds up"):
            protect(problem, method, seed=1)
        return
    result = protected(problem, method, fixture, seed=1)
    if result is None:
        return
    if method in SHOWING:
        view = result.pattern.view(problem)
        table = problem.table
        digits = infer_decimals(np.append(view.shown, table.unit))
        Table.from_equations(view.shown, table.equations, table.rhs, decimals=digits)  # adds up exactly
        assert np.array_equal(view.shown[problem.forced], problem.table.values[problem.forced])
        assert result.audit.safe or result.audit.open_cells.size
    else:
        assert_protected(problem, result.pattern)
        assert result.audit.safe
    if method.startswith("suppress-"):
        complementary = result.pattern.touched(problem) & ~problem.must_hide
        assert result.cost == pytest.approx(problem.weights[complementary].sum())
        assert result.cost_all == pytest.approx(problem.weights[result.pattern.touched(problem)].sum())
    assert result.cost == result.pattern.loss(problem)
    assert result.bound is None or result.bound <= result.cost + 1e-9
    assert result.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert (result.status is Status.OPTIMAL) <= (result.gap == pytest.approx(0.0, abs=1e-9))


@EVERY_METHOD
@pytest.mark.parametrize(
    "fixture",
    ["two way several", "three way", "fifty attackers", "conditional", "conditional sides", "own levels"],
)
def test_same_seed_same_pattern(method, fixture):
    problem = FIXTURES[fixture]()
    results = [protected(problem, method, fixture, seed=7) for _ in range(2)]
    if None in results:
        return
    first, second = (result.pattern.view(problem) for result in results)
    assert first.low.tobytes() == second.low.tobytes()
    assert first.high.tobytes() == second.high.tobytes()


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_heuristics_never_beat_the_optimum(fixture):
    problem = FIXTURES[fixture]()
    optimum = protect(problem, "suppress-compact")
    assert optimum.status is Status.OPTIMAL
    assert optimum.cost <= protect(problem, "suppress-greedy").cost * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("method", sorted(set(METHODS) - SHOWING))
def test_infeasible_levels_name_the_cells_and_what_is_in_the_way(method):
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 10, 12, forced=grid.cells([(2, 1), (2, 2), (2, -1)]))
    with pytest.raises(InfeasibleProblem) as caught:
        protect(problem, method)
    assert caught.value.cells == ("row=2, column=3",)
    assert set(caught.value.forced) >= {"row=2, column=1", "row=2, column=2", "row=2, column=T"}
    assert caught.value.confidential["shortfall"]["row=2, column=3"] == pytest.approx(12)
    assert "22" not in str(caught.value)
    assert "12" not in str(caught.value)


@pytest.mark.parametrize("method", sorted(set(METHODS) - SHOWING))
def test_a_method_stopped_at_once_still_returns_a_safe_pattern(method):
    problem = FIXTURES["two way several" if method in APPLIES_TO else "three way"]()
    result = protect(problem, method, params={"seconds": 0.0})
    assert_protected(problem, result.pattern)
    assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL)


def touched(problem, result):
    return int(result.pattern.touched(problem).sum())


def fewest_touched(problem, method):
    """How few cells can be touched in a two-way table with one sensitive cell; None: not known.

    A cell that is hidden, vague or changed needs three others, at the corners of a rectangle, for the equations leave
    no smaller set any freedom. A rounding changes all cells that are no multiples, and here no other need change.
    """
    if method == "round-controlled":
        base = METHODS[method].params().base
        return int((problem.table.values % base != 0).sum())
    return None if method == "mixed-joint" else 4


@EVERY_METHOD
def test_bound_on_touched_cells_is_kept_or_refused(method):
    problem, params = FIXTURES["two way"](), PARAMS.get(method)
    try:
        protect(replace(problem, most_touched=len(problem.table)), method, params=params)
    except NotApplicable as refusal:
        assert {"suppress-compact", "interval-combined", "perturb-cell"} & set(refusal.instead)
        return
    free = protect(problem, method, params=params)
    count = touched(problem, free)
    kept = protect(replace(problem, most_touched=count), method, params=params)
    assert touched(problem, kept) <= count, "a pattern of this size exists, so it must be found"
    if not method.startswith("interval-") and free.status is kept.status is Status.OPTIMAL:
        assert kept.cost == pytest.approx(free.cost)
    fewest = fewest_touched(problem, method)
    if fewest is None:
        with pytest.raises(InfeasibleProblem):
            protect(replace(problem, most_touched=0), method, params=params)
        return
    tight = protect(replace(problem, most_touched=fewest), method, params=params)
    assert touched(problem, tight) == fewest
    assert tight.cost >= free.cost * (1 - 1e-9) or method.startswith("interval-")
    with pytest.raises(InfeasibleProblem):
        protect(replace(problem, most_touched=fewest - 1), method, params=params)


@pytest.mark.parametrize("method", sorted(set(METHODS) - WITHOUT_LIMIT))
def test_unknown_and_wrong_parameters_are_listed_together(method):
    with pytest.raises(InputError) as caught:
        protect(FIXTURES["two way"](), method, params={"secnds": 3, "seconds": "soon"})
    assert len(caught.value.faults) == 2
    assert "seconds" in caught.value.faults[0]


@pytest.mark.parametrize("method", sorted(set(METHODS) - WITHOUT_LIMIT))
def test_negative_times_and_seeds_are_refused(method):
    problem = FIXTURES["two way"]()
    with pytest.raises(InputError, match="seconds"):
        protect(problem, method, params={"seconds": -1})
    with pytest.raises(InputError, match="seed"):
        protect(problem, method, seed=-1)


def test_unknown_method_lists_those_there_are():
    with pytest.raises(InputError, match="suppress-greedy"):
        protect(FIXTURES["two way"](), "suppress-magic")


def test_the_outsider_s_optimum_fails_against_fifty_attackers():
    problem = fifty_attackers()
    assert len(problem.attackers) >= 50
    outsider_only = protect(replace(problem, attackers=()), "suppress-compact")
    verdict = audit(problem, outsider_only.pattern)
    assert not verdict.safe
    assert (verdict.attackers[~verdict.safe_rows] > 0).all()
    full = protect(problem, "suppress-compact")
    assert full.cost > outsider_only.cost


def test_sliding_levels_are_cheaper_than_both_halves():
    problem = only_sliding()
    half = problem.levels.sliding / 2
    both_sides = replace(problem, levels=Levels.of(len(problem.table), half, half))
    assert protect(problem, "suppress-compact").cost < protect(both_sides, "suppress-compact").cost


def test_protect_takes_a_method_object_and_repairs_what_the_audit_rejects():
    from tablecloak.errors import SolverError
    from tablecloak.methods import Method, Proposal
    from tablecloak.methods.suppress_greedy import GreedyParams

    def careless(problem, *, params, rng, progress):
        return Proposal(Suppression.copy_of(problem.must_hide), Status.OPTIMAL, "hope", bound=0.0)

    problem = FIXTURES["two way"]()
    repaired = protect(problem, Method(careless, GreedyParams, "", ""))
    assert_protected(problem, repaired.pattern)
    assert repaired.status is Status.FEASIBLE
    stuck = replace(problem, most_touched=int(problem.must_hide.sum()))  # nothing more may be hidden
    with pytest.raises(SolverError, match="audit rejects") as caught:
        protect(stuck, Method(careless, GreedyParams, "", ""))
    assert not any(str(int(v)) in str(caught.value) for v in problem.table.values[problem.sensitive] if v > 9)


def test_protect_discards_numbers_that_do_not_add_up():
    from tablecloak.errors import SolverError
    from tablecloak.methods import Method, Proposal
    from tablecloak.methods.suppress_greedy import GreedyParams
    from tablecloak.model import Perturbation, Rounding

    problem = FIXTURES["two way"]()
    shown = problem.table.values + np.where(np.arange(len(problem.table)) == 0, 1.0, 0.0)
    for pattern in (Rounding.of(shown, 5.0), Perturbation.of(shown, 5.0)):

        def careless(problem, *, params, rng, progress, pattern=pattern):
            return Proposal(pattern, Status.FEASIBLE, "hope", may_leave_open=True)

        with pytest.raises(SolverError, match="do not add up"):
            protect(problem, Method(careless, GreedyParams, "", ""))


def test_seeded_generators_are_the_only_randomness():
    problem = FIXTURES["two way several"]()
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    protect(problem, "suppress-greedy", seed=3)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002
