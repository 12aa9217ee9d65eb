"""The report: pages are written from rows and come out the same each time."""

from __future__ import annotations

from pathlib import Path

from cases.base import OURS, PEER, trace_points, trace_text
from report import Report
from reports.exact import gap_points
from runner import Store


def test_traces_are_stored_short_and_read_back() -> None:
    trace = [(0.01 * i, None if i == 0 else 500.0 - i, None if i < 5 else float(i)) for i in range(200)]
    points = trace_points(trace_text(trace))
    assert len(points) <= 61
    assert points[0] == (0.0, None, None)
    assert points[-1] == (1.99, 301.0, 199.0)
    assert gap_points("0.10 80 -;0.20 20 10;1.00 60 30;2.00 50 50") == [
        (0.1, 100.0),
        (0.2, 87.5),
        (1.0, 50.0),
        (2.0, 0.0),
    ]


def test_pages_are_written_from_rows_and_come_out_the_same_each_time(tmp_path: Path) -> None:
    results, docs = tmp_path / "results", tmp_path / "docs"
    page = docs / "benchmarks" / "page.md"
    page.parent.mkdir(parents=True)
    names = ("classes", "peer-classes", "growth")
    page.write_text(
        "Before.\n" + "".join(f"<!-- results: {name} -->\n<!-- end of results -->\n" for name in names),
        encoding="utf-8",
    )
    classes = Store(results / "classes.csv")
    base = {"class": "I", "m": 20, "weights": "value", "limit_s": "60"}
    solved = {"status": "optimal", "seconds": 2.0, "levels": "4", "p_tight": True, "proven_1": True}
    classes.put("one", {**base, **solved})
    classes.put(
        "two", {**base, **solved, "seconds": 4.0, "p_tight": False, "proven_1": False, "gap_1_percent": 12.5}
    )
    classes.put("three", {**base, "status": "crashed: signal 11"})
    pairs = Store(results / "peer-classes.csv")
    both = {"class": "II", "m": 50, "name": "a", "cost": 7.0}
    pairs.put(
        "a, us", {**both, "program": OURS, "status": "optimal", "seconds": 0.5, "read_s": 0.5, "limit_s": 60}
    )
    pairs.put(
        "a, peer", {**both, "program": PEER, "status": "time-limit", "seconds": 90, "open": 3, "limit_s": 50}
    )
    Report(results, docs).write()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("Before.\n")
    assert (
        "| 20 | 3 | 2 | 50.0 | 12.50 | 3.00 | 4.00 | 50.0 | 0.0 | 20 of 20 | 15.0 | 21.44 | 22.85 |" in text
    )
    assert "| II | 50 | 1 | 1 of 1 | 1 | 0 | 3 | 0.50 (0.50) | 50.0 (50.0) | 100.0 (100.0) | 50.0 |" in text
    assert "No rows are stored yet." in text.split("results: growth")[1]
    pictures = {path.name: path.read_bytes() for path in docs.rglob("*.svg")}
    assert set(pictures) == {"classes.svg", "peer.svg"}
    Report(results, docs).write()
    assert page.read_text(encoding="utf-8") == text
    assert {path.name: path.read_bytes() for path in docs.rglob("*.svg")} == pictures


def test_three_phases_beside_the_exact_solver(tmp_path: Path) -> None:
    """Rows of a busy machine are not counted, what the limit stopped is named, and costs are compared."""
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(
        "".join(f"<!-- results: {n} -->\n<!-- end of results -->\n" for n in ("three-phase", "phase-3"))
    )
    results = tmp_path / "results"
    rows, classes, ways = (Store(results / f"{name}.csv") for name in ("three-phase", "classes", "phase-3"))
    base = {"class": "I", "m": 20, "limit_s": "60", "s_phase_1": 1.0, "s_phase_3": 3.0, "bound": 90.0}
    solved = {**base, "status": "optimal", "cost": 90.0, "cpu_s": 2.0, "iterations": 3, "proven_1": 0}
    rows.put("a", {**solved, "gap_1_percent": 12.5})
    rows.put("b", {**solved, "proven_1": 1, "iterations": 1, "cpu_s": 1.0})
    rows.put(
        "c",
        {**base, "status": "time-limit", "cost": 100.0, "gap_percent": 10.0, "iterations": 5, "proven_1": 0},
    )
    rows.put("d", {**base, "status": "time-limit, starved", "cost": 100.0, "cpu_s": 3.0})
    for name, cost in (("a", 90.0), ("b", 91.0), ("c", 95.0)):
        classes.put(name, {**base, "weights": "value", "status": "optimal", "cost": cost, "seconds": 4.0})
    for way, status in (("cuts", "optimal"), ("flows", "time-limit")):
        ways.put(f"I 20x20 #3, {way}", {**solved, "status": status, "phase3": way})
    Report(results, tmp_path / "docs").write()
    text = page.read_text(encoding="utf-8")
    assert (
        "| 20 | 3 of 20 | 2 | 33.3 | 12.50 | 3.0 (5) | 1.50 (2.00) | 0 | 0 | 25 | 0 | 75 | 3 | 4.00 | 20 of 20"
        in text
    )
    assert "3 of 1410 instances are measured; 1407 are missing. On 1 of 2 instances" in text
    assert "| c | 60 | 100 | 90 | 10.0 |" in text and "| d |" not in text
    assert "| I 20x20 #3 | optimal | 90 | 90 | 2.0 | time-limit | 90 | 90 | 2.0 |" in text
