"""SDMX-CSV, public and confidential, read back by pysdmx."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from fixtures import TwoWay
from publications import CASES, case, published, truth, with_unions
from tablecloak.assessment import Dominance, Frequency, PPercent, ZeroUnsafe
from tablecloak.errors import InputError
from tablecloak.model import Problem, Reason, Suppression
from tablecloak.publication import Publication
from tablecloak.publication.sdmx import conf_status, write_confidential_sdmx, write_sdmx_csv
from two_way import FIGURE_001


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def column_of(publication: Publication, name: str) -> list[str]:
    return [row[name] for row in rows_of(write_sdmx_csv(publication))]


def test_the_whole_text() -> None:
    text = write_sdmx_csv(published("one dimension"), "ESTAT:SALES(2.1)")
    assert text == (
        "STRUCTURE,STRUCTURE_ID,ACTION,R,OBS_VALUE,OBS_STATUS,CONF_STATUS\n"
        "dataflow,ESTAT:SALES(2.1),I,Total,66,A,F\n"
        "dataflow,ESTAT:SALES(2.1),I,r1,,Q,C\n"
        "dataflow,ESTAT:SALES(2.1),I,r2,9,A,F\n"
        "dataflow,ESTAT:SALES(2.1),I,r3,20,A,F\n"
        "dataflow,ESTAT:SALES(2.1),I,r4,31,A,F\n"
        "dataflow,ESTAT:SALES(2.1),I,r5,,Q,C\n"
    )


@pytest.mark.parametrize("name", CASES)
def test_pysdmx_reads_the_public_text(name: str) -> None:
    pytest.importorskip("pysdmx")
    from pysdmx.io import read_sdmx

    publication = published(name)
    (dataset,) = read_sdmx(write_sdmx_csv(publication)).data
    assert dataset.short_urn == f"Dataflow=LOCAL:{publication.response.upper()}(1.0)"
    frame, cells = dataset.data, truth(publication)
    assert len(frame) == len(publication)
    names = [dimension.name.upper() for dimension in publication.dimensions]
    for row in frame.to_dict("records"):
        cell = cells[tuple(row[each] for each in names)]
        silent = publication.status[cell] in ("hidden", "interval")
        assert (row["OBS_STATUS"], row["CONF_STATUS"]) == (("Q", "C") if silent else ("A", "F"))
        if silent:
            assert row["OBS_VALUE"] == ""
        else:
            assert float(row["OBS_VALUE"]) == publication.shown[cell]
        if publication.status[cell] == "interval":
            assert float(row["LOW"] or "-inf") == publication.low[cell]
            assert float(row["HIGH"] or "inf") == publication.high[cell]
        assert float(row.get("WITHIN") or 0) == publication.within[cell]


def test_sensitive_and_complementary_cells_look_alike() -> None:
    problem, pattern = case("turnover")
    assert pattern.complementary(problem).any()
    assert set(column_of(published("turnover"), "CONF_STATUS")) == {"F", "C"}


def test_names_become_identifiers() -> None:
    publication = published("two hierarchies")
    rows, columns = publication.dimensions
    odd = replace(
        publication,
        dimensions=(replace(rows, name="obs value"), replace(columns, name="1ère")),
        response="Chiffre d'affaires",
    )
    header, first = write_sdmx_csv(odd).splitlines()[:2]
    assert header == "STRUCTURE,STRUCTURE_ID,ACTION,OBS_VALUE_,D_1_RE,OBS_VALUE,OBS_STATUS,CONF_STATUS"
    assert first.startswith("dataflow,LOCAL:CHIFFRE_D_AFFAIRES(1.0),I,")


@pytest.mark.parametrize("reference", ["", "SALES", "A:B", "A:B()", "A B:C(1.0)", "A:B(1.0)\n"])
def test_references_that_are_none(reference: str) -> None:
    with pytest.raises(InputError, match=r"expected AGENCY:ID\(VERSION\)"):
        write_sdmx_csv(published("one dimension"), reference)


# ---------------------------------------------------------------------- confidential


@pytest.mark.parametrize(
    ("rule", "kind", "code"),
    [
        ("frequency rule (minimum=3)", "frequency", "A"),
        ("dominance rule (n=1, k=75)", "dominance", "O"),
        ("dominance rule (n=2, k=85)", "dominance", "T"),
        ("dominance rule (n=3, k=85)", "dominance", "M"),
        ("dominance", "dominance", "G"),
        ("p% rule (p=10)", "p-percent", "M"),
        ("request rule", "request", "C"),
        ("zero cells", "zero", "C"),
        ("marked by hand", "manual", "C"),
        ("union of cells", "union", "C"),
    ],
)
def test_reasons_have_codes(rule: str, kind: str, code: str) -> None:
    assert conf_status(Reason(rule, kind, "")) == code


def test_the_rules_of_the_package_are_understood() -> None:
    asked = {
        Frequency(3): "A",
        Dominance(1, 75.0): "O",
        Dominance(2, 85.0): "T",
        Dominance(3, 90.0): "M",
        PPercent(10.0, n=2): "M",
        ZeroUnsafe(5.0): "C",
    }
    assert {rule: conf_status(Reason(rule.name, rule.kind, rule.why)) for rule in asked} == asked


def test_the_confidential_text_has_every_value_and_why() -> None:
    grid = TwoWay(FIGURE_001)
    sensitive, marked = grid.cells([(1, 1), (2, 2), (3, 3)]), grid.cells([(4, 4)])
    reasons = {
        sensitive[0]: (Reason("dominance rule (n=1, k=75)", "dominance", ""), Reason("", "frequency", "")),
        sensitive[1]: (Reason("p% rule (p=10)", "p-percent", ""),),
    }
    problem = replace(Problem.of(grid.table, sensitive, hidden=marked), reasons=reasons)
    other = grid.cells([(1, 2)])
    pattern = Suppression.of(grid.table, [*sensitive, *marked, *other])
    rows = rows_of(write_confidential_sdmx(problem, pattern, "ESTAT:SBS(1.0)"))
    assert [float(row["OBS_VALUE"]) for row in rows] == grid.table.values.tolist()
    wanted = np.full(len(grid.table), "F")
    wanted[sensitive], wanted[marked], wanted[other] = ["O", "M", "C"], "C", "D"
    assert [row["CONF_STATUS"] for row in rows] == wanted.tolist()
    assert {row["OBS_STATUS"] for row in rows} == {"A"}
    assert all(row["COMMENT_DSET"].startswith("CONFIDENTIAL") for row in rows)


def test_pysdmx_reads_the_confidential_text() -> None:
    pytest.importorskip("pysdmx")
    from pysdmx.io import read_sdmx

    problem, pattern = case("turnover")
    (dataset,) = read_sdmx(write_confidential_sdmx(problem, pattern)).data
    assert set(dataset.data["CONF_STATUS"]) == {"F", "C", "D"}
    assert len(dataset.data) == len(problem.table)


def test_virtual_cells_are_not_transmitted() -> None:
    whole, hidden, plain, same = with_unions()
    assert write_confidential_sdmx(whole, hidden) == write_confidential_sdmx(plain, same)
