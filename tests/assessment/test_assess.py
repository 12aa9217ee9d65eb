"""assess: which rule decides, levels by hand, marks, bounds, unions and insiders together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from contributed import Record, contributed, one_cell
from tablecloak.assessment import (
    Caught,
    Dominance,
    Frequency,
    Insiders,
    Marks,
    PPercent,
    PriorPosterior,
    Request,
    Rule,
    ZeroUnsafe,
    assess,
    summary,
)
from tablecloak.assessment.assess import CAPPED
from tablecloak.auditing import audit
from tablecloak.errors import InputError
from tablecloak.model import Dimension, Problem, Reason, Table
from tablecloak.protection import protect


def levels(problem: Problem, **codes: str) -> tuple[float, float, float]:
    """lower, upper and sliding of cell a, or of another."""
    cell = problem.table.find(**(codes or {"d": "a"}))
    found = problem.levels
    return float(found.lower[cell]), float(found.upper[cell]), float(found.sliding[cell])


def kinds(problem: Problem, **codes: str) -> list[str]:
    return [reason.kind for reason in problem.reasons.get(problem.table.find(**(codes or {"d": "a"})), ())]


def symmetric(level: float) -> Any:
    """The level on both sides, rounded up to whole data units (of 1)."""
    return (np.ceil(level), np.ceil(level), 0)


# ---------------------------------------------------------------------- levels by hand


def test_p_percent() -> None:
    problem = assess(one_cell([100, 50, 8]), PPercent(10))
    assert np.flatnonzero(problem.sensitive).tolist() == [problem.table.find(d="a")]
    assert levels(problem) == symmetric(2)  # 10% of 100 less the 8 that are left
    assert kinds(problem) == ["p-percent"]
    (reason,) = problem.reasons[problem.table.find(d="a")]
    assert reason == Reason("p% rule (p=10)", "p-percent", PPercent(10).why)


def test_dominance() -> None:
    assert levels(assess(one_cell([61, 20, 19]), Dominance(1, 60))) == symmetric(100 / 60 * 61 - 100)


def test_the_largest_required_total_counts() -> None:
    rules = [PPercent(10), Dominance(2, 90), PriorPosterior(10, 50)]
    table = one_cell([100, 50, 8])
    # p%: 2; dominance: 150/0.9 - 158 = 8.67; prior-posterior: 20 + 150 - 158 = 12
    assert levels(assess(table, rules)) == symmetric(12)
    assert levels(assess(table, rules[:2])) == symmetric(150 / 0.9 - 158)
    assert kinds(assess(table, rules)) == ["dominance", "p-percent", "p-percent"]


def test_holdings_and_respondents_at_once() -> None:
    records = [
        Record(("a",), 30, "r1", "H"),
        Record(("a",), 30, "r2", "H"),
        Record(("a",), 50),
        Record(("a",), 8),
    ]
    table = contributed([Dimension.flat("d", ["a", "b"])], [*records, *[Record(("b",), 1)] * 12])
    problem = assess(table, [PPercent(15), PPercent(15, level="holdings")])
    assert levels(problem) == symmetric(1)
    assert [reason.rule for reason in problem.reasons[table.find(d="a")]] == ["p% rule (p=15, holdings)"]


def test_frequency_takes_a_percentage_and_decides_after_the_others() -> None:
    table = one_cell([100, 50])
    assert levels(assess(table, Frequency(3, 25))) == symmetric(37.5)
    problem = assess(table, [Frequency(3, 25), PPercent(10)])
    assert levels(problem) == symmetric(10)  # p% decides: 10% of 100, nothing left
    assert kinds(problem) == ["p-percent", "frequency"]
    assert levels(assess(table, [Frequency(3, 25), Frequency(4, 30)])) == symmetric(45)
    assert levels(assess(table, [Frequency(3, 25), Frequency(2, 30)])) == symmetric(37.5)  # not caught by it


def test_request_decides_before_frequency() -> None:
    table = one_cell([60, 40], request={0: 1})
    problem = assess(table, [Frequency(3, 25), Request(50, percent=10)])
    assert levels(problem) == symmetric(10)
    assert kinds(problem) == ["request", "frequency"]


def test_a_level_is_at_least_the_data_unit() -> None:
    assert levels(assess(one_cell([100, 50, 9.99]), PPercent(10))) == (0.01, 0.01, 0)
    assert levels(assess(one_cell([100, 50, 9.999], decimals=1), PPercent(10))) == (0.1, 0.1, 0)
    assert levels(assess(one_cell([3, 2]), Frequency(3, 0))) == symmetric(1)


def test_levels_are_scaled_from_the_shadow_to_the_response() -> None:
    records = [Record(("a",), value, shadow=size) for value, size in ((7, 100), (900, 50), (93, 8))]
    table = contributed([Dimension.flat("d", ["a", "b"])], [*records, *[Record(("b",), 90)] * 12])
    assert levels(assess(table, PPercent(10))) == symmetric(1000 * 2 / 158)


def test_zeros() -> None:
    table = one_cell([0, 0])
    problem = assess(table, ZeroUnsafe(7.5))
    assert levels(problem) == (0, 8, 0)
    assert kinds(problem) == ["zero"]
    problem = assess(table, [ZeroUnsafe(7.5), Frequency(3)])
    assert levels(problem) == (0, 8, 0)
    assert kinds(problem) == ["frequency", "zero"]
    assert levels(assess(table, Frequency(3))) == (0, 0, 1)  # no distance: it must not be determined


def test_a_shadow_of_zero_takes_the_manual_percentage() -> None:
    records = [Record(("a",), 30, shadow=5), Record(("a",), 20, shadow=-5), *[Record(("b",), 90)] * 12]
    table = contributed([Dimension.flat("d", ["a", "b"])], records)
    assert levels(assess(table, PPercent(10), manual_percent=30)) == symmetric(15)


def test_negative_values() -> None:
    table = one_cell([-100, 50, 8])
    problem = assess(table, PPercent(10))
    assert levels(problem) == symmetric(202)  # 10 + 150 + 42; nothing bounds it
    assert problem.outsider_low.max() == -np.inf


def test_levels_are_cut_to_what_the_outsider_knows() -> None:
    table = one_cell([10, 5], decimals=0)
    problem = assess(table, Dominance(1, 20))
    assert levels(problem) == (15, 35, 0)  # 50 - 15, but no more than 15 lie below
    (reason,) = problem.reasons[table.find(d="a")]
    assert reason.why.endswith(CAPPED)
    windows = assess(table, Dominance(1, 20), known=(0.5 * table.values, 2 * table.values))
    assert levels(windows) == (8, 15, 0)
    wide = assess(table, Dominance(1, 20), widen=True)
    assert levels(wide) == (35, 35, 0)
    assert wide.outsider_low[table.find(d="a")] == -20
    assert CAPPED not in wide.reasons[table.find(d="a")][0].why


# ---------------------------------------------------------------------- marks and codes


def grid() -> Table:
    """(1, N) is of one firm; the others of nine."""
    dims = [Dimension.flat("size", ["1", "2"]), Dimension.flat("region", ["N", "S"])]
    records = [Record(("1", "N"), 40.0, "Big")]
    records += [
        Record((size, region), 5.0, f"{size}{region}{i}")
        for size, region in ("1S", "2N", "2S")
        for i in range(9)
    ]
    return contributed(dims, records)


def marks(table: Table, *rows: tuple[Any, ...], columns: str = "size region mark") -> Marks:
    names = columns.split()
    return Marks.of(table, {name: [row[i] for row in rows] for i, name in enumerate(names)})


def test_marks_of_all_kinds() -> None:
    table = grid()
    said = marks(table, ("1", "N", "safe"), ("2", "S", "unsafe"), ("", "N", "hidden"), ("", "", "forced"))
    problem = assess(table, Frequency(3), marks=said, manual_percent=10)
    assert table.labels(np.flatnonzero(problem.sensitive)) == ["size=2, region=S"]
    assert levels(problem, size="2", region="S") == symmetric(4.5)
    assert problem.forced[table.find()]
    assert problem.must_hide[table.find(region="N")]
    assert problem.reasons[table.find(size="2", region="S")] == (
        Reason("mark unsafe", "manual", "sensitive, whatever the rules say"),
    )
    assert kinds(problem, size="1", region="N") == ["manual"]
    assert len(problem.reasons) == 4


def test_a_cell_caught_and_marked_has_the_larger_level() -> None:
    table = grid()
    said = marks(table, ("1", "N", "unsafe"))
    assert levels(assess(table, Frequency(3, 5), marks=said), size="1", region="N") == symmetric(8)
    problem = assess(table, Frequency(3, 50), marks=said)
    assert levels(problem, size="1", region="N") == symmetric(20)
    assert kinds(problem, size="1", region="N") == ["frequency", "manual"]


def test_numbers_of_marks_replace_what_was_worked_out() -> None:
    table = grid()
    said = marks(
        table,
        ("1", "N", "", 3, 1.5, None, 90, None),
        ("2", "S", "unsafe", None, None, 7, None, 12),
        columns="size region mark weight lower upper high sliding",
    )
    problem = assess(table, Frequency(3), marks=said)
    one, other = table.find(size="1", region="N"), table.find(size="2", region="S")
    assert levels(problem, size="1", region="N") == (2, 8, 0)
    assert levels(problem, size="2", region="S") == (9, 7, 12)
    assert problem.weights[one] == 3
    assert problem.weights[other] == 45
    assert problem.outsider_high[one] == 90


def test_marks_against_the_rules() -> None:
    table = grid()
    said = marks(table, ("1", "N", "forced", None), ("2", "S", "", 4), columns="size region mark lower")
    with pytest.raises(InputError) as caught:
        assess(table, Frequency(3), marks=said)
    assert caught.value.faults == (
        "row 1: cell size=1, region=N is marked forced, but a rule makes it sensitive",
        "row 2: cell size=2, region=S is given a protection level, but is not sensitive",
    )


def test_levels_of_marks_are_not_cut() -> None:
    table = grid()
    said = marks(table, ("1", "N", "unsafe", 41), columns="size region mark lower")
    with pytest.raises(InputError, match="narrower than its protection level"):
        assess(table, Frequency(3), marks=said)
    assert levels(assess(table, Frequency(3), marks=said, widen=True), size="1", region="N") == (41, 8, 0)


def test_missing_codes_are_safe() -> None:
    table = grid()
    assert not assess(table, Frequency(3), missing_safe={"size": ["1"]}).sensitive.any()
    assert not assess(table, Frequency(3), missing_safe={"size": "1"}).sensitive.any()
    assert assess(table, Frequency(3), missing_safe={"size": ["2"]}).sensitive.any()
    said = marks(table, ("1", "N", "unsafe"))
    assert assess(table, Frequency(3), missing_safe={"size": ["1"]}, marks=said).sensitive.any()
    with pytest.raises(InputError) as caught:
        assess(table, Frequency(3), missing_safe={"sice": ["1"], "size": ["9"]})
    assert len(caught.value.faults) == 2


# ---------------------------------------------------------------------- handing on


def test_everything_reaches_the_problem() -> None:
    table = grid()
    total, free = table.find(), table.find(size="2", region="S")
    problem = assess(
        table, Frequency(3), weights="unit", forced=[total], hidden=[free], hide_zeros=False, most_touched=7
    )
    assert problem.forced[total]
    assert problem.must_hide[free]
    assert (problem.weights == 1).all()
    assert problem.most_touched == 7
    assert assess(table, Frequency(3), weights=np.arange(9.0)).weights.tolist() == list(range(9))


def test_arrays_of_the_wrong_size() -> None:
    with pytest.raises(InputError) as caught:
        assess(grid(), Frequency(3), weights=[1, 2], known=(0, [1, 2, 3]))
    assert len(caught.value.faults) == 2


def test_faults_of_several_rules_are_listed_together() -> None:
    with pytest.raises(InputError) as caught:
        assess(grid(), [Dominance(5, 80), PPercent(10, level="holdings"), Frequency(3)])
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError) as caught:
        assess(grid(), ["p%"], manual_percent=-1, unions=1)  # type: ignore[list-item]
    assert len(caught.value.faults) == 3


def test_no_rules_nothing_sensitive() -> None:
    assert not assess(grid(), []).sensitive.any()
    assert assess(grid(), []).reasons == {}


def test_a_rule_of_ones_own() -> None:
    class Large(Rule):
        key, kind, name, why = "large", "size", "large cells", "it is large"

        def caught(self, table: Table) -> Caught:
            return Caught.of(table.values > 44, 0.5)

    problem = assess(grid(), [Frequency(3), Large()])
    assert levels(problem, size="2", region="S") == symmetric(22.5)
    assert kinds(problem, size="2", region="S") == ["size"]


def test_insiders_are_found() -> None:
    table = grid()
    problem = assess(table, Frequency(3), insiders=Insiders())
    assert problem.attacker_names == ("outsider", "respondent Big")
    assert audit(problem, protect(problem).pattern).safe


def test_unions_and_everything_else_at_once() -> None:
    dims = [Dimension.flat("row", ["r1", "r2", "r3", "r4"])]
    records = [Record((row,), 100, "Big", "H") for row in ("r1", "r2")]
    records += [Record((row,), 20, f"{row}{i}") for row in ("r3", "r4") for i in range(9)]
    table = contributed(dims, records)
    said = Marks.of(table, {"row": ["r3"], "mark": [""], "weight": [1], "low": [100], "high": [200]})
    problem = assess(
        table,
        [PPercent(10), Frequency(3), PPercent(10, level="holdings")],
        marks=said,
        unions=True,
        insiders=Insiders(),
        known=(0.0, 1000.0),
        forced=[table.find()],
        most_touched=3,
    )
    assert problem.table.virtual == 1
    assert problem.most_touched == 4  # the union is no cell of the table
    assert problem.weights[-1] == 0
    assert (problem.outsider_low[-1], problem.outsider_high[-1]) == (0, 2000)
    assert problem.levels.upper[-1] == pytest.approx(20)  # 10% of 200
    assert problem.attacker_names == ("outsider", "respondent Big")  # he is all of his holding
    reasons = problem.reasons[len(table)]
    assert [reason.kind for reason in reasons] == ["union", "union"]
    assert reasons[0].why == f"{PPercent(10).why}, in these cells together"
    text = summary(problem)
    assert text.splitlines() == [
        "2 of 5 cells are sensitive",
        "  minimum frequency (3): caught 2, decided about 0",
        "  p% rule (p=10): caught 2, decided about 2",
        "  p% rule (p=10, holdings): caught 2, decided about 0",
        "  p% rule (p=10) (unions): caught 1, decided about 1",
        "  p% rule (p=10, holdings) (unions): caught 1, decided about 0",
        "1 union of sensitive cells must be protected too",
        "1 insider beside the outsider",
    ]
    free = assess(table, PPercent(10), unions=2, known=(0.0, 1000.0))
    assert free.table.virtual == 1
    assert protect(free).pattern.touched(free).sum() == 4


def test_reasons_have_no_figures_of_the_cell() -> None:
    table = one_cell([123457, 50, 8])
    problem = assess(table, [PPercent(10), Dominance(1, 75), Frequency(4)])
    text = repr(problem.reasons) + summary(problem)
    assert "123457" not in text
    assert "123515" not in text
