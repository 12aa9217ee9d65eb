"""Status and levels of cells, against a model of τ-ARGUS's rules in exact arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.job.argus.jobs import HEAD, Model, cells, records, run, write_data

P, NK, FREQ, REQ, ZERO = "P", "NK", "FREQ", "REQ", "ZERO"
CASES = {
    "P(10,1)": [(P, (10, 100, 1), False)],
    "P(20,2)|P(5,80,1)": [(P, (20, 100, 2), False), (P, (5, 80, 1), False)],
    "NK(1,60)|NK(3,90)": [(NK, (1, 60), False), (NK, (3, 90), False)],
    "FREQ(4,30)": [(FREQ, (4, 30), False)],
    "P(15)|NK(2,80)|FREQ(3,25)|ZERO(5)": [
        (P, (15, 100, 1), False), (NK, (2, 80), False), (FREQ, (3, 25), False), (ZERO, (5,), False),
    ],
    "REQ(30,50,20)|FREQ(3,10)": [(REQ, (30, 50, 0, 20), False), (FREQ, (3, 10), False)],
    "REQ(60,40,4,35)": [(REQ, (60, 40, 4, 35), False)],
    "P(0,0)|P(0,0)|P(25)|FREQ(0,0)|FREQ(4,15)": [(P, (25, 100, 1), True), (FREQ, (4, 15), True)],
    "NK(2,70)|MIS(1)|NK(0, 0)|FREQ(2, 20)|FREQ(3, 30)|NK(1, 80)": [
        (NK, (2, 70), False), (FREQ, (2, 20), False), (FREQ, (3, 30), True), (NK, (1, 80), True),
    ],
    "P(20)|FREQ(4,30)|WGT(1)": [(P, (20, 100, 1), False), (FREQ, (4, 30), False)],
    "NK(2,75)|WGT(1)": [(NK, (2, 75), False)],
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", CASES)
@pytest.mark.parametrize("shadow", ["", "staff"])
def test_status_and_levels_as_tau_argus_computes_them(
    tmp_path: Path, rule: str, seed: int, shadow: str
) -> None:
    data = records(seed)
    write_data(tmp_path, data)
    text = (
        f'{HEAD}<SPECIFYTABLE> "region""size"|"turnover"|"{shadow}"\n<SAFETYRULE> {rule}\n<READMICRODATA>\n'
    )
    done = run(tmp_path, f'{text}<WRITETABLE> (1,2,AS+,"t.csv")\n<WRITETABLE> (1,5,SO+,"t.tab")\n')
    assert done.code == 0, done.message
    model = Model(data, shadow=shadow, weighted="WGT(1)" in rule)
    status = cells(tmp_path / "t.csv", 2)
    levels = cells(tmp_path / "t.tab", 2, ";")
    assert set(levels) == set(model.cells)
    unsafe = 0
    for cell in model.cells:
        value, given = status[cell]
        wanted, relative = model.status(cell, CASES[rule], missing_safe="MIS(1)" in rule)
        assert int(given) == wanted, cell
        true = model.total(cell, "turnover")
        assert float(value) == pytest.approx(float(true), abs=0.051)
        lower, upper = map(float, levels[cell][-2:])
        expected = max(float(abs(true) * abs(relative)), 0.1) if true and wanted > 1 else 0.0
        assert lower == pytest.approx(expected, rel=1e-8, abs=1e-9), cell
        zero = 5.0 if "ZERO(5)" in rule and wanted > 1 else 0.0
        assert upper == pytest.approx(expected if true else zero, rel=1e-8, abs=1e-9), cell
        unsafe += wanted > 1
    assert unsafe > 0


def test_frequencies(tmp_path: Path) -> None:
    data = records(5)
    write_data(tmp_path, data)
    text = f'{HEAD}<SPECIFYTABLE> "region""size"|"<freq>"\n<SAFETYRULE> FREQ(4,30)\n<READMICRODATA>\n'
    assert run(tmp_path, f'{text}<WRITETABLE> (1,2,AS+,"t.csv")\n').code == 0
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == '"region","size","Freq","Status"'
    for cell, some in Model(data).cells.items():
        assert cells(tmp_path / "t.csv", 2)[cell] == [str(len(some)), "5" if len(some) < 4 else "1"]
