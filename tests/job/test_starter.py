"""init: a look at the data, guesses about its columns, and a job file that can be run as it is."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tablecloak.errors import InputError
from tablecloak.examples import path as example
from tablecloak.job import Job, plan, starter
from tablecloak.job.infer import digits_of, infer_columns
from tablecloak.job.inspect import codes_in, column_names, look_at


def columns(rows: int = 300, seed: int = 1) -> dict[str, Any]:
    """Records of invented firms with all that `init` looks for."""
    rng = np.random.default_rng(seed)
    nace = np.array([f"{a}{b}{c}" for a in "12" for b in "123" for c in "1234"])
    return {
        "Firm_ID": [f"E{i:04}" for i in range(rows)],
        "year": np.full(rows, 2024),
        "Région": rng.choice(["Nord", "Süd", "été"], rows),
        "nace": rng.choice(nace, rows),
        "size": rng.integers(1, 5, rows),
        "weight": rng.choice([1.0, 2.5], rows),
        "group": np.where(rng.random(rows) < 0.1, "G1", np.where(rng.random(rows) < 0.1, "G2", "G3")),
        "turnover": rng.lognormal(8, 1, rows).round(2),
        "staff": rng.integers(0, 4000, rows),
    }


def checked(data: Path, folder: Path) -> dict[str, Any]:
    """The job for the data as a document, after a dry run."""
    text = starter(data, folder)
    job = folder / "job.toml"
    job.write_text(text, encoding="utf-8")
    told = plan(Job.read(job))
    assert "would protect with suppress-auto" in told
    return tomllib.loads(text)


def test_pandas_csv(tmp_path: Path) -> None:
    pd.DataFrame(columns()).to_csv(tmp_path / "data.csv", index=False)
    found = checked(tmp_path / "data.csv", tmp_path)
    assert found["data"] == {
        "path": "data.csv", "kind": "microdata", "weight": "weight", "respondent": "Firm_ID", "holding": "group",
    }  # fmt: skip
    assert [each["name"] for each in found["dimension"]] == ["Région", "nace", "size"]
    assert found["dimension"][1]["hierarchy"] == [1, 1, 1]
    assert found["table"] == {"response": "turnover"}
    assert [rule["rule"] for rule in found["rule"]] == ["p-percent", "frequency"]
    assert "CHOOSE" in starter(tmp_path / "data.csv")


def test_semicolons_and_latin_1(tmp_path: Path) -> None:
    text = pd.DataFrame(columns()).to_csv(index=False, sep=";")
    (tmp_path / "data.csv").write_bytes(text.encode("latin-1"))
    assert column_names(tmp_path / "data.csv")[2] == "Région"
    assert checked(tmp_path / "data.csv", tmp_path)["dimension"][0]["name"] == "Région"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_parquet(tmp_path: Path, library: str) -> None:
    data = columns()
    data["size"] = data["size"].astype(float)  # as pandas has codes with gaps
    if library == "pandas":
        pd.DataFrame(data).to_parquet(tmp_path / "data.parquet")
    else:
        pl.DataFrame(data).write_parquet(tmp_path / "data.parquet")
    found = checked(tmp_path / "data.parquet", tmp_path)
    assert "size" in [each["name"] for each in found["dimension"]]
    assert codes_in(tmp_path / "data.parquet", "size") == ["1", "2", "3", "4"]


def test_several_files(tmp_path: Path) -> None:
    data = pd.DataFrame(columns())
    data[:100].to_csv(tmp_path / "part1.csv", index=False)
    data[100:].to_csv(tmp_path / "part2.csv", index=False)
    found = checked(tmp_path / "part*.csv", tmp_path)
    assert found["data"]["path"] == "part*.csv" and found["publish"]["outputs"][0] == "part__safe.csv"
    assert look_at(tmp_path / "part*.csv").rows == 300
    inputs = [path.name for path in Job.read(tmp_path / "job.toml").inputs()]
    assert inputs == ["job.toml", "part1.csv", "part2.csv"]


def test_empty_codes(tmp_path: Path) -> None:
    data = pd.DataFrame(columns())
    data.loc[3:9, "Région"] = None
    data.to_csv(tmp_path / "data.csv", index=False)
    found = checked(tmp_path / "data.csv", tmp_path)
    assert found["data"]["missing"] == "unknown"
    assert codes_in(tmp_path / "data.csv", "Région", "unknown") == ["Nord", "Süd", "unknown", "été"]
    assert codes_in(tmp_path / "data.csv", "Région") == ["Nord", "Süd", "été"]


def test_no_numbers_is_a_table_of_counts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 90), "job": rng.choice(list("abc"), 90)})
    people.to_csv(tmp_path / "people.csv", index=False)
    found = checked(tmp_path / "people.csv", tmp_path)
    assert found["table"] == {} and [rule["rule"] for rule in found["rule"]] == ["frequency"]


def test_the_shipped_examples(tmp_path: Path) -> None:
    cells = checked(example("regional_turnover.csv"), tmp_path)
    assert cells["data"]["kind"] == "cells" and cells["data"]["top"] == ["largest", "second"]
    assert cells["dimension"][0]["hierarchy"]["Centre"] == ["Ashmere", "Dunvale"]
    survey = checked(example("business_survey.csv"), tmp_path)
    roles = ("weight", "respondent", "holding", "request", "waiver")
    assert [survey["data"][role] for role in roles] == [
        "weight",
        "enterprise",
        "holding",
        "request",
        "waiver",
    ]
    names = [Path(each["hierarchy"]).name for each in survey["dimension"]]
    assert names == ["region.csv", "industry.csv", "size.csv"] and survey["publish"]["labels"] is True


def test_real_data(tmp_path: Path, data: Path) -> None:
    tau = checked(data / "microdata" / "tau_testW.csv", tmp_path)
    assert (tau["data"]["weight"], tau["data"]["request"]) == ("Wgt", "Request")
    assert tau["dimension"][0]["name"] == "IndustryCode"
    insee = checked(data / "microdata" / "insee_indiv_dt.csv", tmp_path)
    first = insee["dimension"][0]
    assert first["name"] == "A88" and first["hierarchy"]["FZ"] == {"F": ["41", "42", "43"]}
    assert insee["table"]["response"] == "TURNOVER"


def test_cells_without_counts_need_marks(tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_text("sex,value\nTotal,9\nf,4\nm,5\n")
    text = starter(tmp_path / "cells.csv", tmp_path)
    assert tomllib.loads(text)["marks"] == {"file": "marks.csv"}
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(InputError, match=r"marks\.file: there is no file"):
        Job.read(tmp_path / "job.toml")
    (tmp_path / "marks.csv").write_text("sex,mark\nf,unsafe\n")
    assert "1 of 3 cells" in plan(Job.read(tmp_path / "job.toml"))


def test_names_that_need_quotes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    odd = pd.DataFrame({'a "b"\\c': rng.choice(["x", "y"], 50), "über d": rng.lognormal(3, 1, 50)})
    odd.to_csv(tmp_path / "odd name.csv", index=False)
    found = checked(tmp_path / "odd name.csv", tmp_path)
    assert found["dimension"] == [{"name": 'a "b"\\c'}] and found["table"] == {"response": "über d"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ("a,b\n", "there are no rows"),
        ("a,b\n1.5,x1\n2.5,x2\n3.5,x3\n", "no column looks like a dimension"),
        ('a,b\nx,1\nx,"2\n', "quote"),
        ("a,b\nx,1\ny,1,2\n", "line 3: 3 columns, but the first line has 2"),
    ],
)
def test_wrong_data(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "data.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        starter(tmp_path / "data.csv")
    assert told in str(caught.value)


def test_digits(tmp_path: Path) -> None:
    def digits(codes: list[str]) -> list[int]:
        (tmp_path / "codes.csv").write_text("code,x\n" + "".join(f"{code},1\n" for code in codes))
        (column, _) = look_at(tmp_path / "codes.csv").columns
        return digits_of(column)

    assert digits([f"{a}{b}{c}" for a in "AB" for b in "123" for c in "1234"]) == [1, 1, 1]
    assert digits([f"FR{a}{b}{c}" for a in "12" for b in "123" for c in "1234"]) == [3, 1, 1]
    assert digits([f"{i:04}" for i in range(1000, 9000, 700)]) == []
    assert digits(["1", "22", "333"]) == []


def test_what_columns_look_like(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b,c,d\n01,1,-2.5,\n02,2,3,x\n01,3,1e3,\n")
    a, b, c, d = look_at(tmp_path / "data.csv").columns
    assert (a.number, a.distinct, a.codes) == (False, 2, ("01", "02"))
    assert (b.number, b.whole, b.positive, b.negative) == (True, True, True, False)
    assert (c.number, c.whole, c.negative) == (True, False, True)
    assert (d.empty, d.distinct, d.number) == (2, 1, False)


def test_guesses_say_what_groups_what(tmp_path: Path) -> None:
    rows = ["big,small,v"] + [f"{'AB'[i % 2]},{'ab'[i % 2]}{i % 4},{i * 1.5}" for i in range(60)]
    (tmp_path / "data.csv").write_text("\n".join(rows) + "\n")
    guess = infer_columns(look_at(tmp_path / "data.csv"))
    assert [column.name for column in guess.dimensions] == ["small"]
    assert [column.name for column in guess.above["small"]] == ["big"]
    found = checked(tmp_path / "data.csv", tmp_path)
    assert found["dimension"][0]["hierarchy"] == {"A": ["a0", "a2"], "B": ["b1", "b3"]}
