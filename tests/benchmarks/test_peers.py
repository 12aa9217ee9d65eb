"""Peers: their answers are priced and audited by us, and however one ends there is a run."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from peers import process, suppression
from tablecloak import protect
from tablecloak.testing import instances


def test_an_answer_of_the_peer_is_priced_and_audited_by_us() -> None:
    problem = instances.class_one(20, 20, seed=0)
    best = protect(problem, "suppress-optimal")
    text, ids = suppression.peer_text(problem, 1.0)
    assert text.splitlines()[1] == str(len(problem.table)) == str(len(ids))
    extra = np.flatnonzero(best.pattern.touched(problem) & ~problem.must_hide)
    sensitive = float(problem.weights[problem.must_hide].sum())
    answer = {"code": 0, "seconds": 0.5, "solve_seconds": 0.4, "bound": best.cost + sensitive, "message": ""}
    run = suppression.judged(problem, ids, {**answer, "hidden": [ids[cell] for cell in extra]}, 1.0)
    assert (run.status, run.cost, run.bound, run.open_cells) == ("optimal", best.cost, best.cost, 0)
    bare = suppression.judged(problem, ids, {**answer, "code": 1, "hidden": [], "bound": None}, 1.0)
    assert (bare.status, bare.cost, bare.bound) == ("time-limit", 0.0, None)
    assert bare.open_cells is not None and bare.open_cells > 0
    assert (
        suppression.judged(problem, ids, {**answer, "code": 7, "hidden": []}, 1.0).status == "error: code 7"
    )


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (
            "answer = dict(code=1, seconds=2.5, solve_seconds=-60.0, bound=9.0, hidden=[], message='')",
            "time-limit",
        ),
        ("os.kill(os.getpid(), 11)", "crashed: signal 11"),
        ("raise ValueError('no such thing')", "error: ValueError: no such thing"),
    ],
)
def test_however_the_peer_ends_there_is_a_run(
    lines: str, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "peer.py"
    script.write_text(
        "import json, os, sys\norder = json.load(sys.stdin)\nassert order['minutes'] == 2\n"
        f"assert open(order['folder'] + '/problem.jj').read(1) == '0'\n{lines}\nprint(json.dumps(answer))\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(process, "environment", lambda name: Path(sys.executable))
    monkeypatch.setattr(suppression, "SCRIPT", script)
    monkeypatch.setattr(suppression, "LEAST_LARGEST", 5000.0)
    run = suppression.pytauargus(instances.class_one(20, 20, seed=0), seconds=61)
    assert run.status == status
    crashed = status.startswith("crashed")
    assert run.scale == (10.0 if crashed else 1.0)
    assert run.crashes == ("crashed: signal 11 at scale 1" if crashed else "")
    if status == "time-limit":
        assert (run.seconds, run.solve_seconds, run.cost, run.bound) == (2.5, 60.0, 0.0, 0.0)


def test_what_is_too_large_for_the_peer_is_scaled_down() -> None:
    problem = instances.class_one(20, 20, seed=0)
    assert suppression.first_scale(problem) == 1.0
    cells = suppression.peer_text(problem, 1.0)[0].splitlines()[2 : 2 + len(problem.table)]
    scaled = suppression.peer_text(problem, 10.0)[0].splitlines()[2 : 2 + len(problem.table)]
    for line, other in zip(cells, scaled, strict=True):
        name, value, weight, status, low, high, *levels = line.split()
        expected = [name, float(value) / 10, float(weight) // 10, status, float(low) / 10, float(high)]
        found = other.split()
        assert [
            found[0],
            float(found[1]),
            float(found[2]),
            found[3],
            float(found[4]),
            float(found[5]),
        ] == expected
        assert [float(text) for text in found[6:]] == [float(level) / 10 for level in levels]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("print('{\"a\": 1}'); print('printed later')", ""),
        ("print('nothing')", "error: no answer"),
        ("raise SystemExit(3)", "error: no message"),
        ("import time; time.sleep(60)", "killed after 2 s"),
    ],
)
def test_what_a_script_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, status: str) -> None:
    script = tmp_path / "peer.py"
    script.write_text(line + "\n", encoding="utf-8")
    monkeypatch.setattr(process, "environment", lambda name: Path(sys.executable))
    said = process.ask("any", script, {"folder": str(tmp_path)}, 2.0 if "sleep" in line else 60.0)
    assert said.status == status
    assert said.answer == (None if status else {"a": 1})


def test_a_script_may_have_the_name_of_what_it_imports(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "json.py"
    script.write_text("import json\nprint(json.dumps({'a': 1}))\n", encoding="utf-8")
    monkeypatch.setattr(process, "environment", lambda name: Path(sys.executable))
    assert process.ask("any", script, {"folder": str(tmp_path)}, 60.0).answer == {"a": 1}
