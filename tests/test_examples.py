"""The shipped examples: the business survey is what its generator makes, is believable, and runs through the chain."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from tablecloak import examples
from tablecloak.assessment import Frequency, Marks, PPercent, assess
from tablecloak.errors import InputError
from tablecloak.examples import make_business_survey as making
from tablecloak.job import Job
from tablecloak.model import Table
from tablecloak.tabulation import tabulate


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with examples.path("business_survey.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def table() -> Table:
    """Turnover by region and industry."""
    region, industry, _ = examples.business_dimensions()
    return tabulate(examples.business_survey(), [region, industry], "turnover")


# ---------------------------------------------------------------------- the generator


def test_the_shipped_survey_is_what_the_generator_makes() -> None:
    shipped = examples.path("business_survey.csv").read_bytes()
    assert shipped == making.business_survey_text().encode("utf-8")


def test_another_seed_gives_another_survey() -> None:
    assert making.business_survey_text(1) != making.business_survey_text(2)


def test_main_rewrites_the_file_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "__file__", str(tmp_path / "make_business_survey.py"))
    making.main()
    assert [path.name for path in tmp_path.iterdir()] == ["business_survey.csv"]
    written = (tmp_path / "business_survey.csv").read_bytes()
    assert written == examples.path("business_survey.csv").read_bytes()


# ---------------------------------------------------------------------- the survey


def test_the_survey_has_the_columns_and_enterprises_it_says(rows: list[dict[str, str]]) -> None:
    assert tuple(rows[0]) == making.FIELDS
    assert len({row["enterprise"] for row in rows}) == len(rows) == 2000


def test_figures_fit_together(rows: list[dict[str, str]]) -> None:
    for row in rows:
        low, high = making.SIZES[row["size"]]
        assert low <= int(row["employees"]) <= high
        assert int(row["profit"]) == int(row["turnover"]) - int(row["costs"])
        assert int(row["turnover"]) > 0
        assert 1 <= float(row["weight"]) <= 12
        assert float(row["weight"]) == 1 or row["size"] != "S5"
    negative = sum(int(row["profit"]) < 0 for row in rows)
    assert 0.1 < negative / len(rows) < 0.3


def test_weights_are_constant_in_a_stratum(rows: list[dict[str, str]]) -> None:
    strata = defaultdict[tuple[str, str, str], set[str]](set)
    for row in rows:
        strata[row["region"][0], row["industry"][0], row["size"]].add(row["weight"])
    assert {len(weights) for weights in strata.values()} == {1}


def test_holdings_reach_across_regions_and_industries(rows: list[dict[str, str]]) -> None:
    members = defaultdict[str, list[dict[str, str]]](list)
    for row in rows:
        if row["holding"]:
            members[row["holding"]].append(row)
    assert len(members) == 60
    assert 0.12 < sum(map(len, members.values())) / len(rows) < 0.18
    assert min(map(len, members.values())) >= 2
    for place in ("region", "industry"):
        assert sum(len({row[place][0] for row in some}) > 1 for some in members.values()) >= 20


def test_requests_and_waivers_are_rare_and_never_together(rows: list[dict[str, str]]) -> None:
    requests = Counter(row["request"] for row in rows)
    assert set(requests) == {"", "1", "2"}
    assert requests["1"] > requests["2"] > 0
    assert {row["waiver"] for row in rows} == {"", "1"}
    assert not [row for row in rows if row["request"] and row["waiver"]]
    assert sum(bool(row["request"] or row["waiver"]) for row in rows) < 0.03 * len(rows)


def test_every_code_of_the_classifications_is_used(rows: list[dict[str, str]]) -> None:
    for dimension in examples.business_dimensions():
        leaves = set(dimension.hierarchies[0].leaves)
        assert leaves == {row[dimension.name] for row in rows}
        assert dimension.total == "Total"
    region, industry, size = examples.business_dimensions()
    assert [len(d.codes) for d in (region, industry, size)] == [18, 64, 6]
    assert industry.hierarchies[0].depth.max() == 3


# ---------------------------------------------------------------------- the tables


def test_values_are_the_weighted_sums(table: Table, rows: list[dict[str, str]]) -> None:
    for region, industry in (("N1", "A51"), ("E", "D3"), ("Total", "Total")):
        expected = sum(
            float(row["weight"]) * int(row["turnover"])
            for row in rows
            if region in (row["region"], row["region"][0], "Total")
            and (row["industry"].startswith(industry) or industry == "Total")
        )
        assert table.values[table.find(region=region, industry=industry)] == pytest.approx(expected)


def test_rules_catch_a_believable_share(table: Table) -> None:
    plain = assess(table, [PPercent(10), Frequency(3)])
    held = assess(table, [PPercent(10), Frequency(3), PPercent(10, level="holdings")])
    assert len(table) == 835
    assert (plain.sensitive.sum(), held.sensitive.sum()) == (53, 65)
    alone = (table.respondents.count == 1) & table.is_leaf
    assert alone.sum() > 10
    assert len(table) < np.prod([len(dimension.codes) for dimension in table.dimensions])


def test_the_three_way_table_catches_a_believable_share_too() -> None:
    table = tabulate(examples.business_survey(), examples.business_dimensions(), "turnover")
    problem = assess(table, [PPercent(10), Frequency(3)])
    assert (len(table), problem.sensitive.sum()) == (3762, 508)


def test_marks_are_about_cells_of_the_table(table: Table) -> None:
    marks = Marks.of(table, examples.path("marks.csv"))
    counts = {name: int(getattr(marks, name).sum()) for name in ("forced", "safe", "unsafe", "hidden")}
    assert counts == {"forced": 10, "safe": 2, "unsafe": 1, "hidden": 1}
    problem = assess(table, [PPercent(10), Frequency(3)], marks=marks)
    assert not problem.sensitive[table.find(region="W3", industry="F11")]
    assert problem.sensitive[table.find(region="W2", industry="E12")]


# ---------------------------------------------------------------------- files


def test_labels_are_those_of_the_classifications() -> None:
    with examples.path("labels.csv").open(encoding="utf-8", newline="") as file:
        found = [(row["dimension"], row["code"], row["label"]) for row in csv.DictReader(file)]
    wanted = examples.business_labels("region", "industry")
    assert found == [(name, code, label) for name, some in wanted.items() for code, label in some.items()]
    assert set(examples.business_labels()) == {"region", "industry", "size"}
    assert all(label for some in wanted.values() for label in some.values())


def test_an_unknown_file_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InputError, match=r"business_survey\.csv"):
        examples.path("survey.csv")
    with pytest.raises(InputError, match=r"no file"):
        examples.path("__init__.py")


def test_the_job_is_valid_where_it_was_copied_to(tmp_path: Path) -> None:
    job = Job.read(examples.copy_business_survey(tmp_path / "survey"))
    assert len(job.rules) == 3
    assert job.insiders is not None
    names = {path.name for path in job.outputs()}
    assert names >= {"turnover.csv", "turnover.xlsx", "turnover.html", "turnover.sdmx.csv", "report.html"}


def test_copying_twice_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    examples.copy_business_survey(tmp_path)
    (tmp_path / "marks.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"marks\.csv is there already"):
        examples.copy_business_survey(tmp_path)
    assert (tmp_path / "marks.csv").read_text(encoding="utf-8") == "mine"


def test_the_readme_lists_every_file_and_its_figures_are_right() -> None:
    text = examples.path("README.md").read_text(encoding="utf-8")
    shipped = {path.name for path in examples.path("README.md").parent.iterdir() if path.is_file()}
    assert not [name for name in shipped - {"__init__.py", "README.md"} if f"`{name}`" not in text]
    assert all(figure in text for figure in ("835 cells", "53 cells", "65 (", "3,762 cells", "508 ("))
