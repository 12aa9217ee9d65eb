"""Tables of counts, from the microdata to the page: what its reader can work out, against enumeration.

The attacker of these tests enumerates all tables of whole numbers that fit the page: what is printed adds up, and
what is there is at least one.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tablecloak import (
    Attacker,
    Dimension,
    Frequency,
    InputError,
    Insiders,
    Levels,
    Microdata,
    Problem,
    Rounding,
    Suppression,
    Table,
    assess,
    audit,
    link,
    protect,
    publish,
    tabulate,
)
from tablecloak.cli.app import app
from tablecloak.formats import read_cloak
from tablecloak.job import Job, run_job
from tablecloak.model import Pattern

N, S, W = "N", "S", "W"
PERSONS = {
    (N, "a"): 1, (N, "b"): 1, (N, "c"): 9, (S, "a"): 1, (S, "b"): 1, (S, "c"): 12, (W, "a"): 20, (W, "b"): 30,
}  # fmt: skip
"""No person in (W, c)."""
DIMENSIONS = [Dimension.flat("r", [N, S, W]), Dimension.flat("s", ["a", "b", "c"])]


def records(counts: dict[tuple[str, str], int]) -> dict[str, list[str]]:
    rows = [codes for codes, count in counts.items() for _ in range(count)]
    return {"r": [row[0] for row in rows], "s": [row[1] for row in rows]}


def persons(**options: object) -> Table:
    return tabulate(records(PERSONS), DIMENSIONS, **options)  # type: ignore[arg-type]


def two_way(values: list[list[int]], **options: object) -> Table:
    """A table of counts; zeros are not listed."""
    rows, columns = [f"r{i}" for i in range(len(values))], [f"c{j}" for j in range(len(values[0]))]
    filled = [(r, c, values[i][j]) for i, r in enumerate(rows) for j, c in enumerate(columns) if values[i][j]]
    given = {name: [each[k] for each in filled] for k, name in enumerate(("r", "c", "value"))}
    dimensions = [Dimension.flat("r", rows), Dimension.flat("c", columns)]
    return Table.from_cells(dimensions, given, recompute=True, counts=True, **options)  # type: ignore[arg-type]


def enumerated(table: Table, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """All whole tables in low..high that add up, one a row: leaves are enumerated, totals follow."""
    leaves = np.flatnonzero(table.is_leaf)
    ranges = [np.arange(low[leaf], high[leaf] + 1) for leaf in leaves]
    inside = np.array(list(product(*ranges)))
    totals = np.zeros((len(table), leaves.size))
    for k, leaf in enumerate(leaves):  # a total covers a leaf if it has its codes or totals of them
        same = (table.codes == table.codes[leaf]) | (table.codes == 0)
        totals[same.all(axis=1), k] = 1
    every = inside @ totals.T
    return np.asarray(every[((every >= low) & (every <= high)).all(axis=1)])


def page_box(table: Table, pattern: Pattern, problem: Problem, empty: str) -> tuple[np.ndarray, np.ndarray]:
    """What the page states about each cell, and that it is there."""
    view = pattern.view(problem)
    low = np.ceil(np.maximum(view.low, 1 if empty == "known" else 0))
    high = np.floor(view.high)
    for cell in np.flatnonzero(table.is_leaf):  # no more than the totals of its row and column
        row, column = table.codes[cell]
        above = (table.codes == [row, 0]).all(axis=1) | (table.codes == [0, column]).all(axis=1)
        high[cell] = min(high[cell], high[above].min())
    return low, high


# ---------------------------------------------------------------------- the attack


def old_pattern(table: Table) -> Suppression:
    """Two ones a row and a column, hidden: this was called safe."""
    return Suppression.of(table, [table.find(r=r, s=s) for r in (N, S) for s in ("a", "b")])


def test_eleven_is_x_and_x_and_nine() -> None:
    table = persons()
    problem = assess(table, Frequency(3))
    found = audit(problem, old_pattern(table), intervals=True)
    assert not found.safe and len(found.open_cells) == 4
    assert (found.low == 1).all() and (found.high == 1).all()
    result = protect(problem)
    assert result.audit.safe
    exact = audit(problem, result.pattern, intervals=True)
    assert (exact.high >= 3).all()  # nobody can tell that a count is below three


def test_a_given_percentage_wins_and_is_no_less_safe_from_being_determined() -> None:
    problem = assess(persons(), Frequency(3, percent=20))
    assert problem.levels.upper[problem.sensitive].tolist() == [1, 1, 1, 1]
    assert not audit(problem, old_pattern(problem.table)).safe
    assert protect(problem).audit.safe


def test_bounds_given_by_the_caller_do_not_take_it_away() -> None:
    table = persons()
    problem = assess(table, Frequency(3), known=(0, 1000))
    assert not audit(problem, old_pattern(table)).safe


@pytest.mark.parametrize("empty", ["known", "cells"])
def test_no_count_is_negative_whatever_the_caller_says(empty: str) -> None:
    """1 = 1 + 0 + 0: the zeros are listed, or cells of empty combinations."""
    given = {"r": ["N"] * 3, "s": ["a", "b", "c"], "value": [1, 0, 0]}
    if empty == "cells":
        given = {name: column[:1] for name, column in given.items()}
    table = Table.from_cells(DIMENSIONS, given, recompute=True, counts=True, empty=empty)
    zeros = [table.find(r=N, s=s) for s in ("b", "c")]
    problem = Problem.of(table, zeros, known=(-np.inf, np.inf), widen=True)
    assert (problem.outsider_low >= 0).all()
    found = audit(problem, Suppression.of(table, zeros), intervals=True)
    assert not found.safe and (found.low == 0).all() and (found.high == 0).all()


def test_widening_keeps_what_the_page_says() -> None:
    """Conditional levels of counts are cut as all others are: nobody takes a count that is there for none."""
    table = persons()
    one = table.find(r=N, s="a")
    levels = Levels.of(len(table), conditional_lower=np.where(np.arange(len(table)) == one, 7.0, 0.0))
    secret = [table.find(r=S, s="a")]
    problem = Problem.of(table, secret, levels, known=(-5, 100), widen=True)
    assert (problem.outsider_low >= 1).all() and problem.levels.conditional_lower[one] == 0
    assert not audit(problem, old_pattern(table)).safe
    assert Problem.of(table, secret, levels).outsider_low[one] == 1


def test_two_is_x_and_x() -> None:
    table = two_way([[1, 1]])
    ones = [table.find(r="r0", c="c0"), table.find(r="r0", c="c1")]
    hidden = [*ones, table.find(c="c0"), table.find(c="c1")]
    problem = Problem.of(table, ones)
    found = audit(problem, Suppression.of(table, hidden), intervals=True)
    assert not found.safe and (found.low == 1).all() and (found.high == 1).all()
    open_table = two_way([[1, 1]], empty="cells")
    problem = Problem.of(open_table, ones)
    found = audit(problem, Suppression.of(open_table, hidden), intervals=True)
    assert found.safe and (found.low == 0).all() and (found.high == 2).all()


def test_nothing_is_x_and_x_and_nothing() -> None:
    """A total of zero tells that its parts are zero, whatever is hidden."""
    given = {"r": [N, S, W], "value": [0, 0, 0]}
    table = Table.from_cells([Dimension.flat("r", [N, S, W])], given, recompute=True, counts=True)
    problem = Problem.of(table, [])
    assert (problem.outsider_low == 0).all()
    pattern = Suppression.of(table, [table.find(r=N), table.find(r=S)])
    found = audit(problem, pattern, intervals=True, every_hidden=True)
    assert (found.low == 0).all() and (found.high == 0).all()


def test_ones_and_zeros() -> None:
    """A listed zero may be hidden; it could be anything, a one beside it is at least one."""
    given = {"r": [N, S, W], "value": [1, 0, 7]}
    table = Table.from_cells([Dimension.flat("r", [N, S, W])], given, recompute=True, counts=True)
    one, zero = table.find(r=N), table.find(r=S)
    found = audit(
        Problem.of(table, [one]), Suppression.of(table, [one, zero]), intervals=True, every_hidden=True
    )
    at = {int(cell): (low, high) for cell, low, high in zip(found.cells, found.low, found.high, strict=True)}
    assert at[one] == (1, 1) and at[zero] == (0, 0)


def test_weighted_counts_are_not_bounded() -> None:
    data = {**records(PERSONS), "w": [1.0] * sum(PERSONS.values())}
    table = tabulate(Microdata(data, weight="w"), DIMENSIONS)
    problem = assess(table, Frequency(3, percent=20))
    assert (problem.outsider_low == 0).all() and audit(problem, old_pattern(table)).safe


# ---------------------------------------------------------------------- against enumeration


def random_counts(rng: np.random.Generator) -> list[list[int]]:
    values = rng.choice([0, 1, 1, 2, 3], size=(2, 3))
    values[:, 0] = np.maximum(values[:, 0], 1)
    values[0] = np.maximum(values[0], 1)
    return values.tolist()


@pytest.mark.parametrize("empty", ["known", "cells"])
@pytest.mark.parametrize("seed", range(12))
def test_suppressed_counts_against_enumeration(seed: int, empty: str) -> None:
    rng = np.random.default_rng(seed)
    table = two_way(random_counts(rng), empty=empty)
    hidden = np.flatnonzero(table.is_leaf & (rng.random(len(table)) < 0.8))
    pattern, problem = Suppression.of(table, hidden), Problem.of(table, hidden)
    tables = enumerated(table, *page_box(table, pattern, problem, empty))
    found = audit(problem, pattern, intervals=True)
    assert found.low.tolist() == tables.min(axis=0)[found.cells].tolist()  # networks: ends are whole
    assert found.high.tolist() == tables.max(axis=0)[found.cells].tolist()


@pytest.mark.parametrize("empty", ["known", "cells"])
@pytest.mark.parametrize("seed", range(12))
def test_rounded_counts_against_enumeration(seed: int, empty: str) -> None:
    """A count shown as 0 is there all the same: it starts at one."""
    rng = np.random.default_rng(seed)
    table = two_way(random_counts(rng), empty=empty)
    base = 3
    shown = base * np.floor(table.values / base)  # every count down: small ones are shown as zero
    pattern = Rounding.of(shown, base)
    problem = Problem.of(table, np.flatnonzero((table.values > 0) & (table.values < 3)))
    tables = enumerated(table, *page_box(table, pattern, problem, empty))
    found = audit(problem, pattern, intervals=True)
    assert (found.low >= (1 if empty == "known" else 0)).all()
    assert found.low.tolist() == tables.min(axis=0)[found.cells].tolist()
    assert found.high.tolist() == tables.max(axis=0)[found.cells].tolist()


@pytest.mark.parametrize(
    "method", ["round-controlled", "perturb-cell", "interval-partial", "suppress-optimal"]
)
def test_methods_protect_against_the_reader(method: str) -> None:
    table = persons()
    problem = assess(table, Frequency(3))
    result = protect(problem, method, params={"base": 5} if method == "round-controlled" else {})
    exact = audit(problem, result.pattern, intervals=True)
    assert result.audit.safe and exact.low.min() >= 1 and (exact.high >= 3).all()


# ---------------------------------------------------------------------- linked tables and insiders


def test_what_one_table_prints_as_empty_is_known_in_the_other() -> None:
    """The zero of the table with ages is hidden there; without ages it is printed as empty."""
    ages = Dimension.flat("age", ["y", "o"])
    data = records(PERSONS) | {"age": ["y", "o"] * (sum(PERSONS.values()) // 2) + ["y"]}
    plain = tabulate(data, DIMENSIONS)
    by_age = tabulate(data, [*DIMENSIONS, ages], empty="cells")
    both = link([plain, by_age])
    hidden = [both.find(r=W, s="c", age=age) for age in ("y", "o", "Total")]
    found = audit(Problem.of(both, []), Suppression.of(both, hidden), intervals=True, every_hidden=True)
    assert (found.low == 0).all() and (found.high == 0).all()


def test_an_insider_reads_the_page_too() -> None:
    """Three, three and six hidden in a row of twelve: who is three times in the six leaves no room for much."""
    values = [[3, 3, 6], [30, 40, 50]]
    table = two_way(values)
    cells = [table.find(r="r0", c=f"c{j}") for j in range(3)]
    pattern = Suppression.of(table, [*cells, *(table.find(r="r1", c=f"c{j}") for j in range(3))])
    him = Attacker.contributing("he", table, [cells[2]], [5])
    problem = Problem.of(table, cells[:1], Levels.at(len(table), cells[:1], upper=5), attackers=[him])
    found = audit(problem, pattern, intervals=True)
    high = dict(zip(found.attackers.tolist(), found.high.tolist(), strict=True))
    assert high[0] == 12 - 1 - 1 and high[1] == 12 - 1 - 5


def test_insiders_of_counts_are_held_off() -> None:
    data = records(PERSONS) | {"who": [str(i // 2) for i in range(sum(PERSONS.values()))]}
    table = tabulate(Microdata(data, respondent="who"), DIMENSIONS)
    problem = assess(table, Frequency(3), insiders=Insiders())
    assert problem.attackers and protect(problem).audit.safe


# ---------------------------------------------------------------------- the page


def test_the_legend_says_what_empty_means() -> None:
    table = persons()
    problem = assess(table, Frequency(3))
    assert dict(publish(problem, protect(problem)).legend())["–"] == "nothing there: exactly zero"
    data = {**records(PERSONS), "w": [2.5] * sum(PERSONS.values())}
    sample = assess(tabulate(Microdata(data, weight="w"), DIMENSIONS), Frequency(3))
    legend = dict(publish(sample, protect(sample)).legend())
    assert legend["–"] == "no respondent there: the true value need not be zero"
    page = publish(sample, protect(sample)).render("page.html")
    assert isinstance(page, str) and "no respondent there" in page and "exactly zero" not in page


def test_the_legend_of_one_of_several_linked_tables() -> None:
    data = records(PERSONS) | {"age": ["y", "o"] * (sum(PERSONS.values()) // 2) + ["y"]}
    ages = Dimension.flat("age", ["y", "o"])
    both = link([tabulate(data, DIMENSIONS), tabulate(data, [DIMENSIONS[0], ages])])
    problem = Problem.of(both, [])
    page = publish(problem, protect(problem))
    assert dict(page.legend())["–"] == "no such cell"
    assert dict(page.part(["r", "s"]).legend())["–"] == "nothing there: exactly zero"
    assert dict(page.part(["r", "s"], {"age": "Total"}).legend())["–"] == "nothing there: exactly zero"
    assert dict(page.part(["s", "age"], {"r": "N"}).legend())["–"] == "no such cell"


# ---------------------------------------------------------------------- jobs and commands

JOB = """\
[data]
path = "persons.csv"

[[dimension]]
name = "r"

[[dimension]]
name = "s"

[table]
empty = "cells"
impossible = [["W", "c"]]

[[rule]]
rule = "frequency"
minimum = 3

[protect]
method = "suppress-greedy"

[publish]
outputs = ["safe.csv"]

[report]
problem = "problem.cloak"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = records({**PERSONS, (N, "d"): 7})
    lines = [f"{r},{s}" for r, s in zip(data["r"], data["s"], strict=True)]
    (tmp_path / "persons.csv").write_text("\n".join(["r,s", *lines]) + "\n")
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "impossible.csv").write_text("r,s\nW,c\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_job_with_empty_cells(folder: Path) -> None:
    table = run_job(Job.read("job.toml")).problem.table
    assert len(table) == 4 * 5 - 1 and table.empty == "cells" and table.counts
    problem = read_cloak("problem.cloak")
    assert isinstance(problem, Problem) and problem.table.empty == "cells"
    Path("job.toml").write_text(JOB.replace('[["W", "c"]]', '"impossible.csv"'))
    job = Job.read("job.toml")
    assert any(path.name == "impossible.csv" for path in job.inputs())
    assert len(run_job(job).problem.table) == len(table)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('empty = "cells"\n', "", "line 11, table.impossible: it goes with empty = 'cells' only"),
        ('"cells"', '"sells"', "table.empty: there is no 'sells'; did you mean 'cells'?"),
        (
            '[["W", "c"]]',
            '["W", "c"]',
            "table.impossible: it takes the name of a csv or parquet file, or a list",
        ),
        ('[["W", "c"]]', '"none.csv"', "table.impossible: there is no file none.csv"),
        ("[table]", "[table]\ncounts = 1", "table.counts: it takes true or false"),
    ],
)
def test_faults_of_jobs(folder: Path, old: str, new: str, fault: str) -> None:
    Path("job.toml").write_text(JOB.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        Job.read("job.toml")
    assert fault in str(error.value)


def test_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            app(list(arguments))
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out + captured.err

    base = ("tabulate", "persons.csv", "--dimension", "r", "--dimension", "s", "--out", "t.cloak")
    done = run(*base, "--empty", "cells", "--impossible", "impossible.csv", "--most-cells", "19")
    assert done[0] == 0, done[1]
    table = read_cloak("t.cloak")
    assert isinstance(table, Table) and len(table) == 19 and table.counts
    assert run(*base, "--no-counts")[0] == 0
    plain = read_cloak("t.cloak")
    assert isinstance(plain, Table) and not plain.counts
    code, text = run(*base, "--empty", "cells", "--most-cells", "18")
    assert code == 2 and "there would be 20 cells, more than most_cells=18" in text
    assert run(*base)[0] == 0
    code, text = run("assess", "t.cloak", "--rule", "frequency minimum=3", "--out", "p.cloak")
    assert code == 0 and "4 levels cut to what the page itself tells everybody" in text
