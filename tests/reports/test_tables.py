"""The rows of the report against the audit, the losses and the explanation they come from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.analysis import explain
from tablecloak.auditing import audit
from tablecloak.model import Problem, Reason, Suppression
from tablecloak.protection import protect
from tablecloak.reports.settings import SETTINGS
from tablecloak.reports.tables import Tables, many, percent


def tables(problem: Problem, most_rows: int = 1_000) -> Tables:
    pattern = protect(problem).pattern
    return Tables(problem, pattern, audit(problem, pattern, intervals=True), most_rows)


@pytest.mark.parametrize(
    ("decimals", "value", "text"),
    [(0, 1234.0, "1,234"), (0, 2.5, "2.50"), (2, 0.1, "0.10"), (0, -3.0, "−3"), (0, np.inf, "∞"), (0, -np.inf, "−∞"),
     (0, -0.0, "0"), (0, 1e15, "1,000,000,000,000,000"), (7, 3e-7, "0.0000003")],
)  # fmt: skip
def test_numbers(decimals: int, value: float, text: str) -> None:
    problem = FIXTURES["one cell"]()
    problem = replace(problem, table=replace(problem.table, decimals=decimals))
    found = audit(problem, Suppression.of(problem.table, [0]))
    assert Tables(problem, found.subject[1], found, 10).number(value) == text


def test_words() -> None:
    assert (many(1, "cell"), many(0, "cell"), many(30_351, "cell")) == ("1 cell", "0 cells", "30,351 cells")
    assert (percent(0.1234), percent(float("nan"))) == ("12.3 %", "–")


def test_sensitive_cells_with_the_worst_attacker_first() -> None:
    made = tables(FIXTURES["fifty attackers"]())
    found, verdict = made.sensitive(), made.verdict
    assert (found["all"], found["more"]) == (4, 0)
    ratios = [row["ratio"].key for row in found["rows"]]
    assert ratios == sorted(ratios)
    assert min(ratios) >= 1 - 1e-6
    cells = {name: cell for cell, name in enumerate(made.names(np.arange(len(made.problem.table))))}
    for row in found["rows"]:
        rows = np.flatnonzero(verdict.cells == cells[" · ".join(row["codes"])])
        assert row["outsider"].text == made.interval(int(rows[verdict.attackers[rows] == 0][0]))
        assert len(row["attackers"]) == SETTINGS.attackers
        asked = (
            verdict.required_lower[rows] + verdict.required_upper[rows] + verdict.required_sliding[rows] > 0
        )
        assert len(row["attackers"]) + row["more"] == asked.sum()
        value = made.problem.table.values[verdict.cells[rows[asked]]]
        below = (value - verdict.low[rows[asked]]) / verdict.required_lower[rows[asked]]
        above = (verdict.high[rows[asked]] - value) / verdict.required_upper[rows[asked]]
        worst = np.minimum(below, above)
        assert row["ratio"].key == pytest.approx(worst.min())
        who = made.problem.attacker_names[verdict.attackers[rows[asked][worst.argmin()]]]
        assert row["attackers"][0][0] == who


def test_requirements_in_words() -> None:
    assert tables(FIXTURES["two way"]()).sensitive()["rows"][0]["required"].text == "− 10, + 12"
    assert tables(FIXTURES["only sliding"]()).sensitive()["rows"][0]["required"].text.startswith("width ")
    widths = {row["required"].text for row in tables(FIXTURES["conditional"]()).sensitive()["rows"]}
    assert widths == {"± 8", "width 30"}


def test_rules_count_what_they_decided_and_what_they_caught_too() -> None:
    problem = FIXTURES["two way several"]()
    one, two, *rest = np.flatnonzero(problem.sensitive).tolist()
    first, second = Reason("first", "dominance", "a"), Reason("second", "frequency", "b")
    found = tables(replace(problem, reasons={one: (first, second), two: (second,)})).rules()
    assert [(row["rule"], row["decided"], row["also"]) for row in found["rows"]] == [
        ("first", 1, 0),
        ("second", 1, 1),
    ]
    assert [why for _, why in found["rows"][1]["cells"]] == ["b", "b"]
    assert found["without"] == len(rest)


def test_losses_by_code_leave_out_mere_names() -> None:
    assert tables(FIXTURES["any equations"]()).losses()["tables"] == []
    made = tables(FIXTURES["one hierarchy"](), most_rows=4).losses()["tables"]
    assert [(table["name"], len(table["rows"])) for table in made] == [("r", 4), ("c", 4)]
    assert made[0]["more"] == 6
    assert [row["depth"] for row in made[0]["rows"]] == [0, 1, 2, 2]


def test_explanations_name_cells_and_attackers() -> None:
    made = tables(FIXTURES["fifty attackers"]())
    why = explain(made.problem, made.pattern)
    found = made.explained(why)
    assert [row["cell"] for row in found["hidden"]] == made.names(list(why.protects))
    assert [len(row["protects"]) for row in found["hidden"]] == [
        len(several) for several in why.protects.values()
    ]
    whom = {whom for row in found["hidden"] for _, whom in row["protects"]}
    assert "everybody" in whom
    assert len(whom) > 1
    assert len(found["routes"]) == 4
    short = Tables(made.problem, made.pattern, made.verdict, 2).explained(why)
    assert (len(short["hidden"]), len(short["routes"]), short["more_routes"]) == (2, 2, 2)
    assert short["more"] == len(why.protects) - 2
