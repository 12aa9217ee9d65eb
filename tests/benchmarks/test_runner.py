"""The runner survives what cases do, samples cover every size, rows belong to their parts."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

import runner
from cases.base import OURS, PEER, WARMING
from cases.parts import PARTS
from runner import Case, Row, Store, measure, sample, share_of, to_do
from tablecloak import protect
from tablecloak.testing import instances

LIMITED = (
    "rebuild", "castro-2002", "castro-2007", "ways", "adjustment", "models", "rounding", "peer-rounding", "intervals",
)  # fmt: skip
"""Parts whose cases have one limit each."""

# ---------------------------------------------------------------------- cases of a made-up part


def fine(number: int) -> Row:
    return {"status": "optimal", "cost": number, "seconds": 0.0, "process": os.getpid()}


def die() -> Row:
    os.kill(os.getpid(), signal.SIGSEGV)
    return {}


def hang() -> Row:
    time.sleep(600)
    return {}


def fail() -> Row:
    raise ValueError("this went wrong\nand more")


def made_up(name: str) -> Case:
    """A case by what it does; its name may carry a number, ``fine 3``."""
    what, _, number = name.partition(" ")
    measures = {"fine": partial(fine, int(number or 0)), "die": die, "hang": hang, "fail": fail}
    return Case(name, measures[what], 0.2, facts={"kind": what}, slack=0.2)


# ---------------------------------------------------------------------- the runner


def test_whatever_happens_to_a_case_is_a_row_and_the_next_one_is_measured() -> None:
    names = ["fine 1", "fine 2", "die", "fine 3", "hang", "fail", "fine 4"]
    found = {case.name: row for case, row in measure([made_up(name) for name in names])}
    assert list(found) == names
    assert {name: row["status"] for name, row in found.items() if "fine" not in name} == {
        "die": "crashed: signal 11",
        "hang": "killed after 0 s",
        "fail": "error: ValueError: this went wrong",
    }
    assert [found[f"fine {i}"]["cost"] for i in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert found["fine 1"]["process"] == found["fine 2"]["process"] != os.getpid()
    assert len({found[f"fine {i}"]["process"] for i in (2, 3, 4)}) == 3
    assert {row["kind"] for row in found.values()} == {"fine", "die", "hang", "fail"}
    assert {row["workers"] for row in found.values()} == {1}


def test_several_workers_measure_every_case_once() -> None:
    found = [case.name for case, row in measure([made_up(f"fine {i}") for i in range(6)], workers=2)]
    assert sorted(found) == [f"fine {i}" for i in range(6)]


def test_a_run_that_is_stopped_goes_on_where_it_stopped(tmp_path: Path) -> None:
    cases, path = [made_up(f"fine {i}") for i in range(5)], tmp_path / "part.csv"
    store, stream = Store(path), measure(cases)
    for case, row in stream:
        store.put(case.name, row)
        if case.name == "fine 1":
            break
    stream.close()
    with path.open("a", encoding="utf-8") as file:
        file.write("fine 2,opt")  # the process died while it wrote
    again = Store(path)
    assert [case.name for case in to_do(cases, again)] == ["fine 2", "fine 3", "fine 4"]
    again.put("fine 2", fine(2))
    assert Store(path).rows["fine 2"]["cost"] == "2"
    assert path.read_text(encoding="utf-8").count("\n") == 4


def test_rows_are_appended_and_new_columns_and_repeated_rows_rewrite_the_file(tmp_path: Path) -> None:
    path = tmp_path / "part.csv"
    path.write_text("instance,cost\nold,5\n", encoding="utf-8")
    store = Store(path)
    store.put("same columns", {"cost": 6.0})
    assert path.read_text(encoding="utf-8") == "instance,cost\nold,5\nsame columns,6.0\n"
    store.put("more", {"cost": None, "status": "crashed: signal 9"})
    store.put("old", {"cost": 4})
    assert path.read_text(encoding="utf-8").splitlines() == [
        "instance,cost,status",
        "old,4,",
        "same columns,6.0,",
        "more,,crashed: signal 9",
    ]
    cases = [Case(name, die, 1.0) for name in ("old", "more", "new")]
    assert [case.name for case in to_do(cases, store, repeat="crashed*")] == ["more", "new"]
    assert [case.name for case in to_do(cases, store, only="*e*", repeat="*")] == ["more", "new"]


# ---------------------------------------------------------------------- parts and samples


def test_the_classes_have_as_many_instances_as_in_the_paper() -> None:
    cases = list(PARTS["classes"].cases(None))
    count = {kind: sum(case.stratum[::2] == (kind, "value") for case in cases) for kind in ("I", "II")}
    assert count == {"I": 580, "II": 830}
    assert len(cases) == 2 * 1410
    assert len({case.name for case in cases}) == len(cases)
    made = [case.measure.args[:4] for case in cases if case.stratum[2] == "value"]  # type: ignore[attr-defined]
    assert len({instances.class_seed(*made_of) for made_of in made}) == 1410


def test_a_sample_covers_every_class_and_size_and_all_seeds_and_is_always_the_same() -> None:
    cases = list(PARTS["classes"].cases(None))
    chosen = sample(cases, share_of("10%"))
    assert [case.name for case in chosen] == [case.name for case in sample(PARTS["classes"].cases(None), 0.1)]
    assert {case.stratum for case in chosen} == {case.stratum for case in cases}
    assert len({case.name for case in chosen}) == len(chosen) == 282
    seeds = [case.facts["number"] for case in chosen]
    assert min(seeds.count(number) for number in range(10)) >= 10
    sizes = {(case.facts["class"], case.facts["m"], case.facts["n"]) for case in cases}
    assert len({(case.facts["class"], case.facts["m"], case.facts["n"]) for case in chosen}) == len(sizes)


def test_a_sample_takes_both_programs_on_an_instance() -> None:
    chosen = sample(PARTS["peer-classes"].cases(None), 0.2)
    by_name: dict[str, list[str]] = {}
    for case in chosen:
        by_name.setdefault(case.facts["name"], []).append(case.facts["program"])
    assert len(by_name) == 12
    assert set(map(tuple, by_name.values())) == {(OURS, PEER)}


@pytest.mark.parametrize("text", ["0", "-5%", "101%", "2"])
def test_a_share_is_above_nothing_and_up_to_all(text: str) -> None:
    with pytest.raises(ValueError, match="share"):
        share_of(text)


@pytest.mark.parametrize("name", PARTS)
def test_every_stored_row_is_one_of_its_part(name: str) -> None:
    rows = Store(runner.RESULTS / f"{name}.csv").rows
    assert set(rows) <= {case.name for case in PARTS[name].cases(None)}


@pytest.mark.parametrize("name", LIMITED)
def test_cases_have_names_of_their_own_and_take_another_limit(name: str) -> None:
    cases = list(PARTS[name].cases(7.0))
    assert len({case.name for case in cases}) == len(cases) > 0
    assert all(case.facts["limit_s"] == "7" for case in cases)
    assert all(case.seconds >= 7.0 for case in cases)


def test_what_workers_warm_up_with_needs_protection() -> None:
    assert all(protect(make()).cost > 0 for make in WARMING)
