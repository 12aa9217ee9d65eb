"""Insiders: who becomes an attacker, what he knows, and the one stronger intruder instead of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from contributed import Record, contributed, records_by_cell
from tablecloak.assessment import Frequency, Insiders, Marks, PPercent, assess
from tablecloak.assessment.insiders import POOLED
from tablecloak.auditing import audit
from tablecloak.errors import InputError
from tablecloak.model import Attacker, Contributions, Dimension, Levels, Problem, Suppression, Table
from tablecloak.protection import protect

DIMENSIONS = [Dimension.flat("row", ["a", "b", "c"]), Dimension.flat("column", ["x", "y", "z"])]


def survey(top: int = 3, **holdings: str) -> Table:
    """Cell (a, x) is of A alone, (a, y) of B and C, (b, x) of A, D and E; the others of many."""
    rows = [
        ("A", "ax", 40),
        ("B", "ay", 30),
        ("C", "ay", 12),
        ("A", "bx", 20),
        ("D", "bx", 9),
        ("E", "bx", 5),
    ]
    records = [Record((cell[0], cell[1]), value, unit, holdings.get(unit, "")) for unit, cell, value in rows]
    for cell in (f"{row}{column}" for row in "abc" for column in "xyz"):
        if cell not in ("ax", "ay", "bx"):
            records += [Record((cell[0], cell[1]), 7, f"{cell}{i}") for i in range(8)]
    return contributed(DIMENSIONS, records, top=top)


def problem_of(table: Table, *cells: str, **levels: Any) -> Problem:
    wanted = [table.find(row=cell[0], column=cell[1]) for cell in cells]
    return Problem.of(table, wanted, Levels.at(len(table), wanted, **levels))


def knows(table: Table, attacker: Attacker) -> dict[str, tuple[float, float]]:
    """What an attacker knows of leaf cells."""
    found = zip(attacker.cells.tolist(), attacker.low.tolist(), attacker.high.tolist(), strict=True)
    return {
        "".join(d.codes[c] for d, c in zip(table.dimensions, table.codes[cell], strict=True)): (low, high)
        for cell, low, high in found
        if table.is_leaf[cell]
    }


def named(attackers: Sequence[Attacker]) -> list[str]:
    return [attacker.name for attacker in attackers]


def test_sole_contributors_know_their_cell() -> None:
    table = survey()
    found = Insiders(largest=0).attackers(problem_of(table, "ay"))
    assert named(found) == ["respondent A"]
    assert knows(table, found[0]) == {"ax": (40, 40), "bx": (20, np.inf)}
    total = table.find(row="a")
    assert found[0].low[found[0].cells == total] == 40


def test_the_largest_contributors_of_sensitive_cells() -> None:
    table = survey()
    found = Insiders(sole=False).attackers(problem_of(table, "ay", "bx"))
    assert named(found) == ["respondent A", "respondent B"]
    assert named(Insiders(sole=False, largest=2).attackers(problem_of(table, "ay"))) == [
        "respondent B",
        "respondent C",
    ]
    assert Insiders(sole=False, largest=0).attackers(problem_of(table, "ay")) == ()
    assert named(Insiders().attackers(problem_of(table))) == ["respondent A"]  # nothing is sensitive


def test_coalitions_inside_a_cell() -> None:
    table = survey()
    found = Insiders(sole=False, largest=0, coalition=2).attackers(problem_of(table, "bx", "ay"))
    assert named(found) == [
        "coalition of respondents A, D",
        "coalition of respondents B, C",
        "coalition of respondents D, E",
    ]
    assert knows(table, found[0]) == {"ax": (40, 40), "bx": (29, np.inf)}
    assert knows(table, found[1]) == {"ay": (42, 42)}
    assert knows(table, found[2]) == {"bx": (14, np.inf)}


def test_coalitions_need_more_of_the_largest() -> None:
    with pytest.raises(InputError, match=r"the 3 largest respondents of sensitive cells(.|\n)*top=3"):
        Insiders(coalition=2).attackers(problem_of(survey(top=2), "bx"))
    few = Insiders(sole=False, largest=0, coalition=2).attackers(problem_of(survey(top=2), "ay"))
    assert named(few) == ["coalition of respondents B, C"]  # there are no others in the cell


def test_holdings_add_up_and_stand_for_their_respondents() -> None:
    table = survey(B="H", D="H")
    found = Insiders().attackers(problem_of(table, "ay", "bx"))
    # at the level of holdings A and H; A is the same as the respondent; B belongs to H but knows less
    assert named(found) == ["respondent A", "respondent B", "holding H"]
    assert knows(table, found[2]) == {"ay": (30, np.inf), "bx": (9, np.inf)}
    assert named(Insiders(holdings=False).attackers(problem_of(table, "ay", "bx"))) == [
        "respondent A",
        "respondent B",
    ]


def test_weights_count() -> None:
    dims = [Dimension.flat("row", ["a", "b"])]
    records = [Record(("a",), 10, "A", weight=2.5), Record(("a",), 3, "B"), Record(("b",), 4, "C")]
    table = contributed(dims, records)
    found = Insiders(sole=False).attackers(Problem.of(table, [table.find(row="a")]))
    assert found[0].low.tolist() == [25, 25]


def test_contributors_without_more_knowledge_are_left_out() -> None:
    dims = [Dimension.flat("row", ["a", "b"])]
    records = [
        Record(("a",), 10, "A"),
        Record(("a",), -3, "B"),
        Record(("b",), 4, "C"),
        Record(("b",), -9, "D"),
    ]
    table = contributed(dims, records)  # others may be negative: no bounds
    assert Insiders(largest=2).attackers(Problem.of(table, [table.find(row="a")])) == ()
    small = survey()
    known = (0.9 * small.values, 1.1 * small.values)
    told = Problem.of(small, [small.find(row="b", column="x")], known=known)
    assert named(Insiders().attackers(told)) == ["respondent A"]  # by (a, x) alone
    assert Insiders(sole=False).attackers(replace(told, outsider_low=small.values)) != ()


def test_too_many() -> None:
    table = survey(top=8)
    problem = Problem.of(table, np.flatnonzero(table.is_leaf))
    with pytest.raises(InputError, match=r"there are 11 attackers(.|\n)*most=10(.|\n)*pooled=True"):
        Insiders(largest=8, most=10).attackers(problem)
    with pytest.raises(InputError, match="there are 53 candidates"):
        Insiders(largest=8, most=2).attackers(problem)  # refused before they are looked at
    assert len(Insiders(largest=8, most=11).attackers(problem)) == 11  # each kind of knowledge once
    assert len(Insiders(largest=8, most=1, pooled=True).attackers(problem)) == 1


def test_figures_by_cell_name_no_contributors() -> None:
    table = survey()
    who = Contributions.of_cells(np.ones(len(table), dtype=int), np.ones((len(table), 1)), table.values)
    for blind in (replace(table, respondents=who), replace(table, respondents=None)):
        with pytest.raises(InputError, match=r"does not know its contributors(.|\n)*microdata"):
            Insiders().attackers(problem_of(blind, "ax"))


def test_wrong_parameters_are_listed_together() -> None:
    with pytest.raises(InputError) as caught:
        Insiders(largest=-1, coalition=2.5, most="many", sole=1)  # type: ignore[arg-type]
    assert len(caught.value.faults) == 4
    with pytest.raises(InputError, match="coalition must be at least 2"):
        Insiders(coalition=1)


# ---------------------------------------------------------------------- one stronger intruder


def test_the_pooled_intruder_knows_the_most_of_each_cell() -> None:
    table = survey()
    problem = problem_of(table, "ay", "bx", lower=4, upper=4)
    (intruder,) = Insiders(pooled=True, largest=2).attackers(problem)
    assert intruder.name == POOLED
    # (a, x) exactly, of A; (a, y) = 42 and (b, x) = 34: B and A, the largest
    assert knows(table, intruder) == {"ax": (40, 40), "ay": (30, np.inf), "bx": (20, np.inf)}
    assert intruder.low[intruder.cells == table.find(row="a")] == 40  # A has 40, B 30, C 12


def test_the_pooled_intruder_is_never_closer_than_the_levels() -> None:
    table = survey()
    problem = problem_of(table, "ax", "ay", lower=15, upper=6)
    (intruder,) = Insiders(pooled=True).attackers(problem)
    assert knows(table, intruder) == {"ax": (25, 46), "ay": (27, np.inf), "bx": (20, np.inf)}
    sliding = problem_of(table, "ax", sliding=30)
    (intruder,) = Insiders(pooled=True).attackers(sliding)
    assert knows(table, intruder)["ax"] == (10, 40)
    low = problem_of(table, "ax", sliding=50)
    (intruder,) = Insiders(pooled=True).attackers(low)
    assert knows(table, intruder)["ax"] == (0, 50)


def test_no_insiders_to_pool() -> None:
    assert Insiders(sole=False, largest=0, pooled=True).attackers(problem_of(survey(), "ay")) == ()


def test_what_is_safe_from_the_pooled_intruder_is_safe_from_each() -> None:
    """No contributor is in two sensitive cells here, so the simplification proves it for all of them."""
    table = survey()
    outsider = problem_of(table, "ay", "bx", lower=8, upper=8)
    each = replace(outsider, attackers=Insiders(largest=2).attackers(outsider))
    pooled = replace(outsider, attackers=Insiders(largest=2, pooled=True).attackers(outsider))
    careless = Suppression.of(
        table, [table.find(row=r, column=c) for r, c in (("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"))]
    )
    assert audit(outsider, careless).safe
    assert not audit(each, careless).safe  # A knows (a, x), and with it everything
    result = protect(pooled)
    assert audit(each, result.pattern).safe
    assert result.cost >= protect(each).cost


# ---------------------------------------------------------------------- levels as each insider sees them


def expected_level(members: set[str], sizes: dict[str, float], p: float) -> float:
    """p/100 x_t - (a - s - x_t), from the records."""
    own = sum(size for unit, size in sizes.items() if unit in members)
    others = [size for unit, size in sizes.items() if unit not in members]
    largest = max(others, default=0.0)
    return max(p / 100 * largest - (sum(sizes.values()) - own - largest), 0.0) if others else 0.0


@pytest.mark.parametrize("seed", range(40))
def test_levels_by_the_p_percent_rule_are_those_of_each_insider(seed: int) -> None:
    rng, p = np.random.default_rng([21, seed]), float(30 + seed)
    records = [
        Record(
            (str(rng.choice(list("abc"))), str(rng.choice(list("xyz")))), float(rng.integers(1, 200)), unit
        )
        for unit in "ABCDEFGH"
        for _ in range(4)
    ]
    table = contributed(DIMENSIONS, records, top=4)
    problem = assess(table, PPercent(p), insiders=Insiders(largest=2, coalition=2, p_percent=p))
    sizes = records_by_cell(DIMENSIONS, records)
    checked = larger = 0
    for who in problem.attackers:
        members = set(who.name.split(" ", 3)[-1].split(", ")) if "coalition" in who.name else {who.name[-1]}
        for place, cell in enumerate(who.levels.cells.tolist()):
            codes = tuple(d.codes[c] for d, c in zip(table.dimensions, table.codes[cell], strict=True))
            own: dict[str, float] = {}
            for record in sizes[codes]:
                own[record.unit] = own.get(record.unit, 0.0) + record.value
            wanted = expected_level(members, own, p)
            wanted = max(wanted, 1.0) if wanted > 1e-9 else 0.0
            value, low = sum(own.values()), sum(own[unit] for unit in members if unit in own)
            assert who.levels.lower[place] == pytest.approx(min(wanted, value - low))
            assert who.levels.upper[place] == pytest.approx(0.0 if value == low else wanted)
            assert np.isnan(who.levels.sliding[place])
            checked += 1
            larger += who.levels.upper[place] > problem.levels.upper[cell]
    assert checked or not problem.sensitive.any()
    if problem.sensitive.any():
        assert protect(problem, "suppress-greedy").audit.safe


def test_coalitions_require_more_and_single_insiders_less_than_the_rule() -> None:
    rows = [("A", 50.0), ("B", 30.0), ("C", 6.0), ("D", 2.0)]
    records = [Record(("a", "x"), value, unit) for unit, value in rows]
    records += [
        Record((r, c), 7.0, f"{r}{c}{i}") for r in "abc" for c in "xyz" if r + c != "ax" for i in range(9)
    ]
    table = contributed(DIMENSIONS, records, top=4)
    problem = assess(table, PPercent(20), insiders=Insiders(largest=2, coalition=2, p_percent=20))
    cell = table.find(row="a", column="x")
    levels = {who.name: who.levels.upper[who.levels.cells == cell].tolist() for who in problem.attackers}
    assert problem.levels.upper[cell] == 2.0  # B of A: 20% of 50, less the 8 of C and D
    assert levels["respondent B"] == [2.0]
    assert levels["respondent A"] == [0.0]  # 20% of 30 is less than 8
    assert levels["coalition of respondents B, C"] == [8.0]
    assert levels["coalition of respondents A, B"] == [0.0]  # 20% of 6 is less than 2
    required = problem.required(
        1 + [who.name for who in problem.attackers].index("respondent A"), np.array([cell])
    )
    assert [float(level[0]) for level in required] == [0.0, 0.0, 0.0]


def test_levels_given_by_hand_or_by_another_rule_stay_the_common_ones() -> None:
    table = survey()
    insiders = Insiders(p_percent=40)
    by_rule = assess(table, PPercent(40), insiders=insiders)
    assert by_rule.has_own_levels
    assert not assess(table, Frequency(4), insiders=insiders).has_own_levels
    marks = Marks.of(table, {"row": ["a"], "column": ["y"], "mark": ["unsafe"], "upper": [9.0]})
    marked = assess(table, PPercent(40), marks=marks, insiders=insiders)
    cell = table.find(row="a", column="y")
    assert all(cell not in who.levels.cells for who in marked.attackers)
    assert any(cell in who.levels.cells for who in by_rule.attackers)


@pytest.mark.parametrize(
    "wrong", [{"p_percent": 10, "pooled": True}, {"p_percent": 0}, {"p_percent": "10"}, {"p_percent": 100}]
)
def test_levels_by_the_rule_are_refused_where_they_mean_nothing(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="p_percent"):
        Insiders(**wrong)
