"""A comparison as text: columns that line up, figures that are there or a dash, bounds that hold for all."""

from __future__ import annotations

from fixtures import FIXTURES
from tablecloak.analysis import compare
from tablecloak.analysis.compare import summary_text


def test_columns_line_up() -> None:
    found = compare(
        FIXTURES["two way"](),
        ["suppress-greedy", "suppress-compact", "suppress-three-phase", "suppress-kelly-lp"],
    )
    lines = summary_text(found).splitlines()
    assert lines[0].startswith("Confidential: 4 methods")
    heads, rows = lines[1], lines[2:6]
    for head, end in (("cost", "cost"), ("bound", "bound"), ("gap", "gap")):
        stop = heads.index(head) + len(end)
        assert all(row[stop - 1] != " " and row[stop] == " " for row in rows), head
    assert {len(row) for row in rows} == {len(heads)}
    greedy, compact = found["suppress-greedy"], found["suppress-compact"]
    assert rows[0].split()[3:6] == [f"{greedy.cost:.6g}", "-", "-"]
    assert rows[1].split()[3:6] == [f"{compact.cost:.6g}", f"{compact.bound:.6g}", "0%"]
    lost = lines[6:11]
    assert lost[0].split()[3:7] == ["touched", "extra", "cells", "value"]
    row = found.table()[1]
    assert lost[2].split()[1:3] == [str(row["touched"]), str(row["complementary"])]
    assert lines[-1].startswith(
        f"No safe suppression costs less than {compact.bound:.6g}. Gaps to that: suppress-"
    )


def test_a_single_method_needs_no_word_on_others() -> None:
    assert "Gaps to that" not in summary_text(compare(FIXTURES["two way"](), ["suppress-compact"]))
