"""Explanations against brute force: publishing a cell opens exactly the cells that it is said to protect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.analysis import Explanation, explain
from tablecloak.analysis.explanation import Opening, _Blocks, some
from tablecloak.auditing import audit, checked_view
from tablecloak.errors import NotApplicable
from tablecloak.model import (
    Intervals,
    Levels,
    Mixed,
    Pattern,
    Perturbation,
    Problem,
    Reason,
    Rounding,
    Suppression,
)
from tablecloak.protection import protect


def without(problem: Problem, pattern: Pattern, cell: int) -> Pattern:
    """The pattern with one cell published."""
    view = checked_view(problem, pattern)
    low, high = view.low.copy(), view.high.copy()
    low[cell] = high[cell] = problem.table.values[cell]
    return Intervals(low, high)


def open_rows(problem: Problem, pattern: Pattern) -> set[tuple[int, int]]:
    found = audit(problem, pattern)
    bad = ~found.safe_rows
    return set(zip(found.cells[bad].tolist(), found.attackers[bad].tolist(), strict=True))


def opened(problem: Problem, pattern: Pattern, cell: int) -> tuple[Opening, ...]:
    """By brute force: what publishing the cell opens that was not open before."""
    new = open_rows(problem, without(problem, pattern, cell)) - open_rows(problem, pattern)
    cells = sorted({p for p, _ in new})
    who = {p: sorted(k for q, k in new if q == p) for p in cells}
    shared = not problem.has_own_levels
    return tuple(Opening(p, (0,) if shared and 0 in who[p] else tuple(who[p])) for p in cells)


def check(problem: Problem, pattern: Pattern, found: Explanation) -> None:
    """Everything that an explanation says, looked at from outside."""
    touched = pattern.touched(problem)
    free = np.flatnonzero(touched & ~problem.must_hide).tolist()
    assert sorted([*found.protects, *found.determined.tolist()]) == free
    for cell in free:
        assert found.protects.get(cell, ()) == opened(problem, pattern, cell), problem.table.label(cell)
    for cell, witnesses in found.protectors.items():
        for witness in witnesses:
            assert cell not in witness.cells
            assert touched[list(witness.cells)].all()
            check_witness(problem, pattern, cell, witness.attacker, witness.cells)


def check_witness(
    problem: Problem, pattern: Pattern, cell: int, attacker: int, cells: tuple[int, ...]
) -> None:
    """With nothing hidden but the cell and its protectors the attacker is still held off."""
    view = checked_view(problem, pattern)
    low, high = problem.table.values.copy(), problem.table.values.copy()
    move = [cell, *cells]
    low[move], high[move] = view.low[move], view.high[move]
    rows = open_rows(problem, Intervals(low, high))
    assert (cell, attacker) not in rows


@pytest.mark.parametrize("fixture", [*FIXTURES])
def test_publishing_a_cell_opens_exactly_what_it_protects(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    pattern = protect(problem).pattern
    check(problem, pattern, explain(problem, pattern))


@pytest.mark.parametrize(
    "fixture", ["fifty attackers", "three way", "non nested", "only sliding", "conditional"]
)
def test_more_than_needed_is_hidden(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    hidden = protect(problem).pattern.touched(problem) | problem.table.is_leaf
    pattern = Suppression.of(problem.table, hidden & ~problem.forced)
    found = explain(problem, pattern)
    check(problem, pattern, found)
    assert found.redundant.size


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(4, 5), (3, 3, 3), (4, 3, 2)])
def test_random_patterns_safe_or_not(shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = from_leaves(
        [flat(name, n) for name, n in zip("rcs", shape, strict=False)], leaf_values(*shape, seed=seed)
    )
    problem = with_levels(table, smallest_leaves(table, 4), 0.5)
    hidden = problem.must_hide | (rng.random(len(table)) < 0.5)
    pattern = Suppression.of(table, hidden)
    found = explain(problem, pattern)
    check(problem, pattern, found)
    assert found.already_open.tolist() == sorted({cell for cell, _ in open_rows(problem, pattern)})


def test_an_insider_may_be_the_only_reason() -> None:
    problem = FIXTURES["fifty attackers"]()
    pattern = protect(problem).pattern
    found = explain(problem, pattern)
    openings = [opening for several in found.protects.values() for opening in several]
    assert any(opening.attackers == (0,) for opening in openings)
    assert any(0 not in opening.attackers for opening in openings)
    assert any(witness.attacker > 0 for witnesses in found.protectors.values() for witness in witnesses)
    assert set(found.protectors) == set(np.flatnonzero(problem.sensitive).tolist())


def test_intervals_and_mixed_patterns() -> None:
    problem = FIXTURES["three way"]()
    hidden = protect(problem).pattern.touched(problem)
    value = problem.table.values
    wide = Intervals(np.where(hidden, 0.0, value), np.where(hidden, 3 * value, value))
    assert audit(problem, wide).safe
    check(problem, wide, explain(problem, wide))
    half = np.flatnonzero(hidden)[::2]
    mixed = Mixed.of(
        problem.table, [(half, wide), (hidden & ~np.isin(np.arange(value.size), half), Suppression(hidden))]
    )
    check(problem, mixed, explain(problem, mixed))


@pytest.mark.parametrize("pattern", [Rounding, Perturbation])
def test_vague_tables_have_no_explanation(pattern: type[Rounding] | type[Perturbation]) -> None:
    problem = FIXTURES["two way"]()
    with pytest.raises(NotApplicable, match="suppression, intervals or a mixed pattern"):
        explain(problem, pattern.of(problem.table.values + 1, 5.0))


@pytest.mark.parametrize("fixture", ["fifty attackers", "three way"])
def test_some_cells_only(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    pattern = protect(problem).pattern
    every = explain(problem, pattern)
    for cell, openings in every.protects.items():
        alone = explain(problem, pattern, [cell])
        assert alone.protects == {cell: openings}
        assert not alone.protectors
    secret = int(np.flatnonzero(problem.sensitive)[0])
    assert list(explain(problem, pattern, [secret]).protectors) == [secret]
    published = np.flatnonzero(~pattern.touched(problem))[:3]
    assert not explain(problem, pattern, published).protects


def test_out_of_time_says_which_cells_are_left() -> None:
    problem = FIXTURES["fifty attackers"]()
    pattern = protect(problem).pattern
    found = explain(problem, pattern, seconds=0.0)
    assert not found.protects
    assert (
        found.unexplained.tolist() == np.flatnonzero(pattern.touched(problem) & ~problem.must_hide).tolist()
    )
    assert "not explained" in found.why(int(found.unexplained[0]))
    assert f"{found.unexplained.size} not explained" in found.summary()


def test_progress_is_told() -> None:
    problem = FIXTURES["two way several"]()
    pattern = protect(problem).pattern
    order: list[str] = []

    def progress(
        phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        order.append(phase)

    found = explain(problem, pattern, progress=progress)
    assert order.count("explaining") == len(found.protects)
    assert "witnesses" in order


def test_the_costliest_cells_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = FIXTURES["two way several"]()
    pattern = protect(problem).pattern
    asked: list[int] = []

    def only_listen(blocks: object, cell: int, deadline: object) -> None:
        asked.append(cell)

    monkeypatch.setattr(_Blocks, "openings", only_listen)
    found = explain(problem, pattern)
    assert found.unexplained.tolist() == sorted(asked)
    assert len(set(problem.weights[asked])) > 1
    assert (np.diff(problem.weights[asked]) <= 0).all()


def test_words() -> None:
    problem = FIXTURES["forced hidden"]()
    secret = int(np.flatnonzero(problem.sensitive)[0])
    reason = Reason("p% rule (p=10)", "p-percent", "the second largest can estimate the largest")
    problem = replace(problem, reasons={secret: (reason,)})
    pattern = protect(problem).pattern
    found = explain(problem, pattern)
    other = int(np.flatnonzero(problem.sensitive)[1])
    assert found.why(secret) == "sensitive (p% rule (p=10): the second largest can estimate the largest)"
    assert found.why(other) == "sensitive (no rule is on record)"
    assert found.why(int(np.flatnonzero(problem.must_hide & ~problem.sensitive)[0])) == "marked to be hidden"
    assert found.why(int(np.flatnonzero(~pattern.touched(problem))[0])) == "published"
    cell, openings = next((cell, several) for cell, several in found.protects.items() if several)
    assert found.why(cell).startswith(f"protects {problem.table.label(openings[0].cell)} (against everybody)")
    assert "confidential" in repr(found)
    assert problem.table.label(cell) in found.summary()
    assert some(list("abcdefgh")) == "a; b; c; d; e; and 3 more"


def test_a_cell_that_follows_from_what_is_published_protects_nothing() -> None:
    table = from_leaves([flat("r", 3), flat("c", 3)], leaf_values(3, 3, low=1))
    problem = Problem.of(table, [], Levels.of(len(table)))
    cell = int(np.flatnonzero(table.is_leaf)[0])
    found = explain(problem, Suppression.of(table, [cell]))
    assert found.determined.tolist() == found.redundant.tolist() == [cell]
    assert "follows from what is published" in found.why(cell)
