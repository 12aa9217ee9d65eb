"""Witness deviations: both engines find deviations that keep the equations, and find none where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.analysis.explanation import Block, BlockWitnessFinder, OutOfTime, blocks_of
from tablecloak.attacker import reduce, working_columns
from tablecloak.auditing import checked_view
from tablecloak.model import Suppression
from tablecloak.progress import NEVER, Deadline

NOTHING = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)


def block_of(fixture: str) -> Block:
    """The first block when all cells that may be hidden are hidden."""
    problem = FIXTURES[fixture]()
    view = checked_view(problem, Suppression.of(problem.table, ~problem.forced & problem.table.is_leaf))
    label = blocks_of(problem, view)
    insiders = range(1, len(problem.attackers) + 1)
    return Block(problem, view, np.flatnonzero(label == 0), insiders)


@pytest.mark.parametrize(
    "fixture", ["two way", "three way", "mixed sizes", "decimals", "tiny decimals", "huge values"]
)
def test_a_witness_moves_its_cell_and_keeps_the_equations(fixture: str) -> None:
    block = block_of(fixture)
    for question, place in enumerate(block.questions):
        for upward in (True, False):
            amount = float(block.needs[upward][0, question])
            witness = block.finder.find(place, upward, amount, NOTHING)
            assert witness is not None
            assert witness[place] == pytest.approx(
                amount if upward else -amount, rel=1e-6, abs=block.problem.table.unit
            )
            equations = working_columns(block.problem.table)
            assert np.abs(equations @ witness).max() <= 1e-6 * amount
            assert (witness >= block.low - 1e-9 * amount).all()
            assert (witness <= block.high + 1e-9 * amount).all()


@pytest.mark.parametrize("fixture", ["two way", "three way"])
def test_no_witness_without_room(fixture: str) -> None:
    block = block_of(fixture)
    place = block.questions[0]
    others = np.setdiff1d(np.arange(block.cells.size), [place])
    shut = others, np.zeros(others.size), np.zeros(others.size)
    amount = float(block.needs[True][0, 0])
    assert block.finder.find(place, True, amount, shut) is None
    assert not [
        found for found in block.finder.push([(place, True)], [amount], shut) if found[place] >= amount
    ]
    found = block.finder.push([(place, True)], [amount], NOTHING)
    assert max(deviation[place] for deviation in found) >= amount * (1 - 1e-7)
    assert block.finder.find(place, True, amount, NOTHING) is not None, "the room is restored"


def test_insiders_who_can_exclude_a_witness_get_their_own() -> None:
    block = block_of("fifty attackers")
    assert len(block.numbers) == 58
    for question in range(len(block.questions)):
        block.find_witnesses(question, NEVER)
    excluded = {
        who for witnesses in block.witnesses.values() for witness in witnesses for who in witness.excluded
    }
    assert excluded
    assert not block.unsettled


def test_time_is_kept() -> None:
    block = block_of("three way")
    with pytest.raises(OutOfTime):
        block.find_witnesses(0, Deadline.after(0.0))
    with pytest.raises(OutOfTime):
        block.openings(int(np.flatnonzero(~block.problem.sensitive)[0]), Deadline.after(0.0))


def test_a_finder_takes_any_component() -> None:
    problem = FIXTURES["any equations"]()
    value = problem.table.values
    (component,) = reduce(working_columns(problem.table), -value, value, 1.0).components
    witness = BlockWitnessFinder(component).find(1, True, 1.0, NOTHING)
    assert witness is not None
    assert witness[1] == pytest.approx(1.0)
    assert np.abs(problem.table.equations @ witness).max() < 1e-9
