"""Directions of equations and the families of subsystems that they give, for tables made in every way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack, vstack

from tablecloak import Dimension, Hierarchy, Table, link
from tablecloak.attacker import Subsystem, Subtables, is_network
from tablecloak.attacker import directions as by_lines
from tablecloak.attacker.directions import directions_of
from tablecloak.testing import KINDS, random_problem
from tablecloak.testing.instances import nested, three_way_generator_one
from tablecloak.testing.random_cases import flat, table_of_leaves

REGION = Dimension.of(
    "region",
    Hierarchy.from_dict({"north": ["n1", "n2", "n3"], "south": ["s1", "s2", "s3"]}),
    Hierarchy.from_dict({"coast": ["n1", "s1", "s2"], "inland": ["n2", "n3", "s3"]}),
)
TREE = nested("t", (3, 3))
TABLES = {
    "flat": [flat("a", 4), flat("b", 5), flat("c", 3)],
    "one hierarchy": [TREE, flat("b", 4), flat("c", 3)],
    "hierarchies": [TREE, nested("u", (2, 2))],
    "non-nested": [REGION, flat("b", 4), flat("c", 3)],
    "non-nested and nested": [REGION, TREE],
    "two non-nested": [REGION, replace(REGION, name="other"), flat("c", 3)],
}


def table_over(dimensions):
    """A table without zeros."""
    shape = tuple(int(dimension.is_leaf.sum()) for dimension in dimensions)
    return table_of_leaves(dimensions, np.random.default_rng(0).integers(1, 50, shape))


def moving(table, row):
    """The dimension in which the cells of an equation differ, by the codes of the table."""
    codes = table.codes[table.equations[[row]].indices]
    (dimension,) = np.flatnonzero((codes != codes[0]).any(axis=0))
    return int(dimension)


@pytest.mark.parametrize("name", list(TABLES))
@pytest.mark.parametrize("from_equations", [False, True], ids=["with codes", "equations only"])
def test_directions_are_the_dimensions(name, from_equations):
    """Also from equations alone: codes are not looked at."""
    table = table_over(TABLES[name])
    given = Table.from_equations(table.values, table.equations) if from_equations else table
    found = directions_of(given).dimension
    true = np.array([moving(table, row) for row in range(table.equations.shape[0])])
    pairs = set(zip(found.tolist(), true.tolist(), strict=True))
    assert len(pairs) == len(set(found.tolist())) == len(table.dimensions)


@pytest.mark.parametrize("name", ["flat", "one hierarchy", "hierarchies"])
def test_lines_alone_say_what_grids_say(name):
    table = table_over(TABLES[name])
    by_grid, matrix = directions_of(table), csr_array(table.equations)
    dimension, bundle = by_lines._of_lines(matrix, -1, by_lines.SETTINGS)
    assert same_classes(dimension, by_grid.dimension)
    assert same_classes(bundle, by_grid.bundle)


def same_classes(one, other):
    """Whether two labellings have the same classes."""
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


def test_slices_of_a_family_have_the_codes_of_the_others_fixed_and_share_no_cell():
    table = table_over(TABLES["two non-nested"])
    split = Subtables(table)
    for family in split.slice_families(range(3), 2):
        assert sum(map(len, family)) == len(table)
        assert all(np.array_equal(each.cells, Subsystem.of(table, each.rows).cells) for each in family)
        for subsystem in family:
            codes = table.codes[subsystem.cells]
            assert int((codes == codes[0]).all(axis=0).sum()) == 1


def test_two_way_slices_and_strips_are_networks():
    problem = three_way_generator_one(4, 5, 3, 5, 0)
    split = Subtables(problem.table)
    sizes = [sorted({len(each) for each in family}) for family in split.slice_families(range(3), 2)]
    assert sorted(sizes) == [[20], [24], [30]]
    assert all(is_network(each.view(problem)) for each in split.slices([0, 1]))
    table = table_over([TREE, nested("u", (2, 2))])
    problem = replace(random_problem("two-way", np.random.default_rng(0)), table=table)
    split = Subtables(table)
    for strip in [*split.strips(0, [1]), *split.strips(1, [0])]:
        assert directions_of_view(strip, table) == {"network"}


def directions_of_view(strip, table):
    """The kinds of the blocks of a subsystem."""
    from tablecloak.attacker import structure_of

    return {block.kind for block in structure_of(strip._table(table)).blocks}


def test_subtables_are_products_of_a_code_and_its_parts():
    table = table_over([TREE, nested("u", (2, 2)), flat("c", 3)])
    found = Subtables(table).subtables()
    assert sorted(map(len, found)) == sorted(4 * n * 4 for n in [3, 3, 3] * 4)
    covered = np.unique(np.concatenate([each.rows for each in found]))
    assert covered.size == table.equations.shape[0]


def test_subtables_of_codes_that_do_not_nest():
    table = table_over([REGION, flat("b", 2)])
    found = Subtables(table).subtables()
    assert sorted(map(len, found)) == [9, 9, 12, 12, 12, 12]


def test_linked_tables_split_too():
    a, b, c = flat("a", 4), flat("b", 5), flat("c", 3)
    cube = np.random.default_rng(0).integers(1, 30, (4, 5, 3))
    table = link([table_of_leaves([a, b], cube.sum(axis=2)), table_of_leaves([a, c], cube.sum(axis=1))])
    split = Subtables(table)
    every = np.concatenate([each.rows for part in split.components() for each in split.slices(part)])
    assert set(every.tolist()) == set(range(table.equations.shape[0]))


def test_unions_go_with_all_their_cells():
    table = table_over([flat("a", 4), flat("b", 5), flat("c", 3)])
    members = [table.find(a="a1", b="b1", c="c1"), table.find(a="a1", b="b2", c="c1")]
    united = with_union(table, members)
    split = Subtables(united)
    assert directions_of(united).dimension[-1] == -1
    union = len(united) - 1
    for subsystem in split.slices([0, 1]):
        has_all = np.isin(members, subsystem.cells).all()
        assert (union in subsystem.cells) == has_all
        assert subsystem._table(united).virtual == int(has_all)
    assert sum(union in each.cells for each in split.slices([0, 2])) == 0


def with_union(table, members):
    """The table with a virtual cell, the sum of some of its cells."""
    cells = len(table)
    row = np.zeros((1, cells + 1))
    row[0, members], row[0, cells] = 1.0, -1.0
    wider = hstack([table.equations, csr_array((table.equations.shape[0], 1))])
    return replace(
        table,
        codes=np.vstack([table.codes, table.codes[:1]]),
        units=np.append(table.units, table.units[members].sum()),
        equations=csr_array(vstack([wider, csr_array(row)])),
        rhs=np.append(table.rhs, 0.0),
        virtual=1,
    )


def test_neighbourhoods_hold_their_cells_and_no_more_than_they_may():
    problem = three_way_generator_one(5, 5, 5, 8, 1)
    seeds = np.flatnonzero(problem.sensitive)
    found = Subtables(problem.table).neighbourhoods(seeds.tolist(), 60)
    assert np.isin(seeds, np.concatenate([each.cells for each in found])).all()
    assert all(1 < len(each) <= 60 for each in found)


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_splits_into_valid_subsystems(kind):
    """Any equations: what has no directions is left to neighbourhoods."""
    for seed in range(20):
        problem = random_problem(kind, np.random.default_rng(seed), negative=bool(seed % 2))
        split = Subtables(problem.table)
        families = [split.whole(), split.subtables(), split.neighbourhoods(range(len(problem.table)), 8)]
        families += [split.slices(part[1:]) for part in split.components()]
        for subsystem in (each for family in families for each in family):
            subsystem.view(problem).table.check_additive()
