"""Edge exchange: patterns of the least cost are rewired until they are safe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from searches import after_the_root, run_of
from tablecloak import Attacker, Levels, Problem, protect
from tablecloak.auditing import audit
from tablecloak.methods.branch_and_cut.improvement.edge_exchange import EdgeExchange, Shortfalls
from tablecloak.methods.cuts import BridgelessCuts
from tablecloak.model import Suppression
from tablecloak.testing.instances import class_one, class_problem, two_way


def small(seed: int, insiders: bool = False, sliding: bool = False) -> Problem:
    """A small two-way table with equal weights."""
    rng = np.random.default_rng(seed)
    table = two_way(rng.integers(0, 60, size=rng.integers(5, 8, 2)))
    parts = np.flatnonzero(table.is_leaf & (table.values > 0))
    chosen = parts[np.argsort(table.values[parts], kind="stable")[:5]]
    level = np.zeros(len(table))
    level[chosen] = table.values[chosen]
    slides = np.where(level > 0, 2 * level + 1, 0.0) if sliding else np.zeros(len(table))
    knowing = [
        Attacker.contributing(f"insider {k}", table, cells, np.floor(table.values[cells] / 2))
        for k, cells in enumerate(rng.choice(parts, (2, 2), replace=False))
    ]
    levels = Levels.of(len(table), np.maximum(level - 1, 0), level, slides)
    return Problem.of(
        table, level > 0, levels, hide_zeros=False, weights="unit", attackers=knowing if insiders else ()
    )


@pytest.mark.parametrize(("m", "n", "number"), [(80, 60, 9), (100, 50, 5)])
def test_where_the_first_pattern_is_bad_the_bound_is_reached_without_a_tree(
    m: int, n: int, number: int
) -> None:
    problem = class_problem("I", m, n, number, unit_weights=True)
    search = replace(after_the_root(problem), rng=np.random.default_rng(1))
    before = search.incumbent.cost
    assert before > 1.1 * search.gap.bound
    EdgeExchange(search).run(search)
    assert search.incumbent.pattern is not None
    assert search.incumbent.cost == search.gap.bound < before
    assert audit(problem, Suppression.copy_of(search.incumbent.pattern)).safe


@pytest.mark.parametrize("option", [{}, {"insiders": True}, {"sliding": True}])
def test_shortfalls_are_those_of_the_audit(option: dict[str, bool]) -> None:
    rng, verdicts = np.random.default_rng(5), []
    for seed in range(6):
        problem = small(seed, **option)
        model = run_of(problem).model
        shortfalls = Shortfalls(problem, model.requirements)
        for share in (0.1, 0.2, 0.4, 0.6, 0.8):
            hidden = problem.must_hide | (model.allowed & (rng.random(model.free.size) < share))
            verdicts.append(audit(problem, Suppression.copy_of(hidden)).safe)
            assert (shortfalls.of(hidden) == 0.0).all() == verdicts[-1]
    assert any(verdicts)
    assert not all(verdicts)


def test_proposals_lead_out_of_the_cut_and_cost_no_more() -> None:
    search = after_the_root(class_problem("I", 40, 40, 0, unit_weights=True))
    model = search.model
    assert search.incumbent.pattern is not None
    exchange, seen = EdgeExchange(replace(search, rng=np.random.default_rng(2))), 0
    hidden = search.incumbent.pattern & (model.representatives | model.problem.must_hide)
    for seed in range(5):
        inside = np.random.default_rng(seed).random(exchange.nodes) < 0.5
        for old, new in exchange.proposals(hidden, inside):
            assert hidden[list(old)].all()
            assert not hidden[list(new)].any()
            assert (inside[exchange.tail[list(new)]] != inside[exchange.head[list(new)]]).all()
            assert model.prices[list(new)].sum() <= model.prices[list(old)].sum()
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("engine", ["scip", "highs"])
@pytest.mark.parametrize("option", [{}, {"insiders": True}, {"sliding": True}])
def test_with_equal_weights_the_optimum_is_that_of_the_compact_model(
    engine: str, option: dict[str, bool]
) -> None:
    if engine == "scip":
        pytest.importorskip("pyscipopt")
    for seed in range(2):
        problem = small(seed + 40, **option)
        result = protect(problem, "suppress-optimal", params={"engine": engine})
        compact = protect(problem, "suppress-compact", params={"seconds": 5})
        assert result.bound == result.cost
        assert compact.bound is not None
        assert compact.bound - 1e-6 <= result.cost <= compact.cost + 1e-6


def test_only_networks_of_equal_weights_have_tied_weights() -> None:
    problem = class_one(20, 20, 1, unit_weights=True)
    some = np.arange(len(problem.table)) % 10
    weights = {
        "half of them": np.where(some < 7, 3.0, some + 1.0),
        "all zero": np.zeros(some.size),
        "no unit": np.where(some < 7, np.sqrt(2.0), 1.0),
        "a tiny unit": np.where(some < 7, 1000.0, 1000.001),
        "values": np.maximum(problem.table.values, 1.0),
    }
    found = {name: tied(replace(problem, weights=each)) for name, each in weights.items()}
    assert found == dict.fromkeys(weights, False) | {"half of them": True}
    assert tied(problem)
    assert not tied(replace(problem, most_touched=100))


def tied(problem: Problem) -> bool:
    return run_of(problem).model.has_tied_weights


def test_of_equally_cheap_cells_not_all_lines_offer_the_same() -> None:
    problem = class_one(60, 60, 3, unit_weights=True)
    rows = BridgelessCuts(problem, run_of(problem).model.allowed)
    touched = [
        np.unique(
            problem.table.equations[:, np.flatnonzero(chosen & problem.table.is_leaf)[:200]].indices
        ).size
        for chosen in (rows.cheapest(2), rows.cheapest(2, np.random.default_rng(0)))
    ]
    assert rows.cheapest(2).sum() > 0
    assert touched[1] > touched[0]


def test_the_same_seed_gives_the_same_pattern() -> None:
    problem = class_problem("I", 60, 60, 1, unit_weights=True)
    first, again = (protect(problem, "suppress-optimal", seed=3) for _ in range(2))
    assert (first.pattern.touched(problem) == again.pattern.touched(problem)).all()
