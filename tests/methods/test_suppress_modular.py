"""suppress-modular: the order of HiTaS, what subtables inherit, singletons, and what is left for the repair."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from tablecloak import Dimension, Levels, Microdata, Problem, Table, audit, protect, tabulate
from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.methods.modular import Modular, ModularOptions, SingletonRules, with_singletons
from tablecloak.model import Reason, Suppression
from tablecloak.progress import NEVER, Deadline, silent
from tablecloak.testing import KINDS, random_problem
from tablecloak.testing.instances import nested
from tablecloak.testing.random_cases import flat, table_of_leaves

HIERARCHICAL = [nested("t", (3, 3)), flat("c", 4)]


def problem_over(dimensions, seed, share=0.15):
    """A table with cells of which some are sensitive."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(dimension.is_leaf.sum()) for dimension in dimensions)
    table = table_of_leaves(dimensions, rng.integers(1, 100, shape))
    sensitive = table.is_leaf & (rng.random(len(table)) < share)
    level = np.where(sensitive, np.ceil(0.1 * table.values), 0.0)
    return Problem.of(table, sensitive, Levels.of(len(table), level, level))


def modular(problem, **options):
    """A finished run without a limit."""
    run = Modular(problem, np.random.default_rng(0), NEVER, silent, ModularOptions(**options))
    run.run()
    return run


def test_subtables_come_by_group():
    run = modular(problem_over(HIERARCHICAL, 0))
    groups = [subtable.place.group for subtable in run.subtables]
    assert groups == sorted(groups)
    assert groups[0] == 1
    assert (
        run.counts["subtables"] == 4 + 4 + 1
    )  # the total and three codes, with columns and without; the columns


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_every_subtable_protects_its_own_sensitive_cells(seed, share):
    """What is open is open in the whole only: each subtable is safe by itself."""
    problem = problem_over([nested("t", (2, 3)), nested("u", (3, 2))], seed)
    run = modular(problem, lower_margin=1.0 - share, upper_margin=1.0 + share)
    hidden = Suppression.copy_of(run.hidden)
    assert not (run.hidden & problem.forced).any()
    if run.counts["subtables with cells that they cannot protect"]:
        return
    for subtable in run.subtables:
        own = Suppression.copy_of(run.hidden[subtable.cells])
        assert audit(subtable.view, own).safe
    assert audit(problem, hidden).cells.size


@pytest.mark.parametrize("seed", range(8))
def test_cells_that_other_subtables_hide_have_their_level_in_each(seed):
    """Complementary cells that several subtables share can move by a tenth of their value in all of them."""
    problem = problem_over(HIERARCHICAL, seed, share=0.3)
    run = modular(problem)
    if run.counts["subtables with cells that they cannot protect"]:
        return
    for subtable in run.subtables:
        solution = next(iter(subtable.solved.values()), None)
        if solution is None:
            continue
        assert (run.hidden[subtable.cells] >= solution.hidden).all()
        for levels in (run._lower, run._upper):
            level = np.where(solution.hidden & ~subtable.view.must_hide, levels[subtable.cells], 0.0)
            assert (level <= np.maximum(0.1 * np.abs(subtable.view.table.values) + 1.0, 1.0)).all()


def test_a_margin_that_must_be_hidden_begins_a_new_pass():
    """One row only and a forced neighbour: the total of the column is the only other cell that can move."""
    table = table_of_leaves(
        [nested("t", (2, 2)), flat("c", 2)], np.array([[5, 50], [60, 70], [80, 90], [30, 20]])
    )
    value = table.values
    cell = int(np.flatnonzero(value == 5)[0])
    forced = np.isin(value, [60, 70])
    problem = Problem.of(table, [cell], Levels.at(len(table), [cell], 2, 2), forced=forced)
    run = modular(problem)
    assert run.counts["passes"] > 1
    assert run.counts["margins hidden"] > 0
    assert protect(problem, "suppress-modular").audit.safe


def test_unchanged_subtables_are_not_solved_again():
    table = table_of_leaves(
        [nested("t", (4, 4)), nested("u", (3, 3))], np.arange(1, 16 * 9 + 1).reshape(16, 9)
    )
    rng = np.random.default_rng(1)
    sensitive = table.is_leaf & (rng.random(len(table)) < 0.3)
    level = np.where(sensitive, np.ceil(0.2 * table.values), 0.0)
    run = modular(Problem.of(table, sensitive, Levels.of(len(table), level, level)), lower_margin=0.7)
    assert run.counts["passes"] == 1 or run.counts["taken from the pass before"] > 0


def test_carried_bounds_leave_less_open():
    """A part of a total that can rise by little: it needs more than the total, which subtables below do not know."""
    open_cells = dict.fromkeys((False, True), 0)
    for seed in range(15):
        rng = np.random.default_rng(seed)
        leaves = np.concatenate([rng.integers(20, 80, 2), rng.integers(1, 5, 2), rng.integers(50, 90, 2)])
        table = table_of_leaves([nested("t", (3, 2))], leaves)
        part = int(np.flatnonzero(table.values == leaves[0])[0])
        total = int(np.flatnonzero(table.values == leaves[:2].sum())[0])
        level = np.zeros(len(table))
        level[[part, total]] = 10.0, 1.0
        problem = Problem.of(table, [part, total], Levels.of(len(table), level, level))
        for carried in open_cells:
            run = modular(problem, carry_bounds=carried)
            open_cells[carried] += audit(problem, Suppression.copy_of(run.hidden)).open_cells.size
    assert open_cells == {False: 15, True: 0}


def test_carried_bounds_without_an_upper_end():
    """What has no bound below a subtable has none in it: nothing is computed with infinite ends."""
    for seed in range(5):
        run = modular(problem_over(HIERARCHICAL, seed), upper_margin=1.0, lower_margin=1.0, carry_bounds=True)
        assert not np.isnan(run._high).any() and np.isinf(run._high).any()


def test_a_deadline_ends_it_and_the_result_is_safe():
    problem = problem_over([nested("t", (3, 3)), nested("u", (3, 3))], 3)
    run = Modular(problem, np.random.default_rng(0), Deadline.after(0.0), silent)
    run.run()
    assert run.counts["solved"] == 0
    assert protect(problem, "suppress-modular", params={"seconds": 0.01}).audit.safe


@pytest.mark.parametrize("kind", KINDS)
def test_own_counters_name_what_is_open(kind):
    protected = 0
    for seed in range(6):
        problem = random_problem(kind, np.random.default_rng(seed))
        with suppress(InfeasibleProblem):
            result = protect(problem, "suppress-modular")
            assert result.audit.safe
            counters = result.report.counters
            assert counters["own open cells"] == 0 or counters["added by repair"] > 0
            protected += 1
    assert protected


# ---------------------------------------------------------------------- singletons


def survey(rows):
    """A table from records: region, branch, firm, turnover."""
    names = ("region", "branch", "firm", "turnover")
    frame = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    dimensions = [Dimension.flat("region", ["n", "s", "w"]), Dimension.flat("branch", ["a", "b", "c"])]
    return tabulate(Microdata(frame, respondent="firm"), dimensions, "turnover")


FIRMS = [
    ("n", "a", "one", 50), ("n", "b", "two", 60), ("n", "b", "three", 5), ("n", "c", "four", 10), ("n", "c", "five", 9),
    *((region, branch, f"{region}{branch}{k}", 20 + k) for region in "sw" for branch in "abc" for k in range(4)),
]  # fmt: skip


def marked(table, **cells):
    """The problem in which these cells (by branch of region n) are sensitive."""
    chosen = [table.find(region="n", branch=branch) for branch in cells]
    return Problem.of(table, chosen, Levels.at(len(table), chosen, 5, 5))


@pytest.mark.parametrize(
    ("cells", "rules", "virtual"),
    [
        ("ab", SingletonRules(), 1),
        ("ab", SingletonRules(single_multiple=False), 0),
        ("bc", SingletonRules(), 0),
        ("abc", SingletonRules(), 0),
        ("a", SingletonRules(), 0),
    ],
)
def test_sums_with_single_respondents_are_virtual_cells(cells, rules, virtual):
    problem = marked(survey(FIRMS), **dict.fromkeys(cells))
    extended = with_singletons(problem, rules)
    assert len(extended.table) - len(problem.table) == virtual
    if not virtual:
        assert extended is problem
        return
    parts = [problem.table.find(region="n", branch=branch) for branch in cells]
    assert extended.table.units[-1] == problem.table.units[parts].sum()
    assert extended.table.is_virtual[-1] and extended.sensitive[-1]
    assert extended.levels.upper[-1] == 1.0 and extended.levels.lower[-1] == 0.0
    extended.table.check_additive()


def test_few_respondents_of_a_frequency_rule_are_one_virtual_cell():
    problem = marked(survey(FIRMS), a=1, b=1, c=1)
    caught = {
        problem.table.find(region="n", branch=branch): (Reason("frequency rule", "frequency", ""),)
        for branch in "abc"
    }
    problem = replace(problem, reasons=caught)
    assert len(with_singletons(problem, SingletonRules(min_count=5)).table) == len(problem.table) + 1
    assert with_singletons(problem, SingletonRules(min_count=4)) is problem


def test_the_pattern_protects_the_sum():
    """Two sensitive cells of one row, one firm each: it can subtract itself, so a third cell of the row is hidden."""
    rows = [row for row in FIRMS if row[2] != "three"]
    problem = marked(survey(rows), a=1, b=1)
    table = problem.table
    row = [table.find(region="n", branch=branch) for branch in "abc"]
    row.append(next(k for k in range(len(table)) if table.values[k] == table.values[row].sum()))
    hidden = {}
    for singles in (False, True):
        params = {"single_single": singles, "single_multiple": singles, "clean_up": False}
        hidden[singles] = protect(problem, "suppress-modular", params=params).pattern.hidden
    assert hidden[True][row].sum() > 2
    assert hidden[False][row].sum() == 2


def test_without_respondents_there_are_no_virtual_cells():
    problem = problem_over(HIERARCHICAL, 0)
    assert with_singletons(problem, SingletonRules()) is problem
    assert isinstance(problem.table, Table)


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({"min_count": -1}, "min_count"),
        ({"subtable_seconds": 0.0}, "subtable_seconds"),
        ({"lower_margin": 1.2}, "lower_margin"),
        ({"upper_margin": 0.9}, "upper_margin"),
        ({"upper_margin": float("inf")}, "upper_margin"),
        ({"max_weight": -1.0}, "max_weight"),
    ],
)
def test_wrong_parameters(params, fault):
    with pytest.raises(InputError, match=fault):
        protect(problem_over(HIERARCHICAL, 0), "suppress-modular", params=params)
