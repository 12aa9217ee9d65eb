"""Programs that drive τ-ARGUS drive this one: piargus itself, and jobs in the shapes of others, byte by byte."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tablecloak.cli.argus import _install
from tests.job.argus.jobs import run

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("piargus")

pytestmark = [
    pytest.mark.filterwarnings("ignore:is_categorical_dtype is deprecated"),  # in piargus
    pytest.mark.filterwarnings("ignore:This method is deprecated. Use tree:UserWarning"),  # in piargus
]
REGIONS = ["ExampleDam", "ExampleCity", "Delta", "Port"]


@pytest.fixture(scope="module")
def tau(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """piargus with our executable."""
    return pa.TauArgus(str(_install(tmp_path_factory.mktemp("bin"))))


def frame(seed: int = 3, count: int = 120) -> Any:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "symbol": rng.choice(["A", "B", "C"], count),
            "regio": rng.choice(REGIONS, count, p=[0.5, 0.3, 0.17, 0.03]),
            "nace": rng.choice(["011", "012", "021", "022", "101"], count),
            "income": rng.lognormal(3, 1.5, count).round(2),
            "staff": rng.integers(1, 50, count),
            "w": rng.integers(1, 4, count),
            "firm": np.sort(rng.integers(0, 40, count)),
            "ask": rng.choice(["0", "1"], count, p=[0.9, 0.1]),
        }
    )


def tree() -> Any:
    node = pa.TreeHierarchy(
        {"Land": {"ExampleDam": {}, "Delta": {}}, "Coast": {"ExampleCity": {}, "Port": {}}}
    )
    return node


def check(result: Any, data: Any, rows: list[str], value: str = "income") -> Any:
    """What piargus reads back: true values, statuses, and a safe table without the unsafe ones."""
    status, unsafe = result.status(), result.unsafe()
    assert len(status) == len(unsafe) and set(status) <= set("SUPMZ")
    there = status != "Z"
    total = float(unsafe[status.index[0]])
    assert total == pytest.approx(data[value].sum() if value in data else len(data))
    if unsafe.dtype != np.float64:  # with pandas 3 piargus cannot put marks into a column of numbers
        assert ((result.safe() == "x") == status.isin(["U", "M"])).all()
    return status[there]


def test_version(tau: Any) -> None:
    assert tau.version_info() == {"name": "TAU-ARGUS", "version": "4.2.5", "build": "3"}


@pytest.mark.parametrize("method", [pa.OPTIMAL, pa.MODULAR, pa.GHMITER, pa.NETWORK])
def test_microdata(tau: Any, tmp_path: Path, method: str) -> None:
    data = frame()
    table = pa.Table(
        ["symbol", "regio"], "income", safety_rule={"P(15)", "FREQ(4,20)"}, suppress_method=method
    )
    counts = pa.Table(["symbol", "regio"], safety_rule="FREQ(4,20)", suppress_method=method)
    report = tau.run(pa.Job(pa.MicroData(data), [table, counts], directory=tmp_path, name="basic"))
    assert report.is_succesful
    status = check(table.load_result(), data, ["symbol", "regio"])
    assert {"U", "M"} <= set(status)
    found = counts.load_result()
    check(found, data, ["symbol", "regio"], "count")
    unsafe = found.unsafe()[found.status() == "U"]
    assert (pd.to_numeric(unsafe) < 4).all()


def test_hierarchies_by_tree_and_by_digits_and_code_lists(tau: Any, tmp_path: Path) -> None:
    data = frame()
    micro = pa.MicroData(
        data,
        hierarchies={"regio": tree(), "nace": pa.LevelHierarchy([2, 1])},
        codelists={"symbol": pa.CodeList({"A": "one", "B": "two", "C": "three"})},
    )
    table = pa.Table(["nace", "regio"], "income", safety_rule="P(20)", suppress_method=pa.MODULAR)
    tau.run(pa.Job(micro, [table], directory=tmp_path, name="hierarchical"))
    result = table.load_result()
    assert "M" in set(check(result, data, ["nace", "regio"]))
    assert {"01", "02", "10", "011"} <= set(result.unsafe().index.get_level_values("nace").astype(str))
    land = data[data.regio.isin(["ExampleDam", "Delta"])].income.sum()
    assert float(result.unsafe()["Total", "Land"]) == pytest.approx(land)


def test_holdings_weights_requests_shadow_and_cost(tau: Any, tmp_path: Path) -> None:
    data = frame()
    micro = pa.MicroData(data, weight="w", holding="firm", request="ask", request_values=["1"])
    rule = {
        "individual": ["NK(2, 70)", "MIS(1)", "WGT(1)", "REQ(20, 20, 15)"],
        "holding": ["FREQ(2, 20)", "NK(1, 90)"],
    }
    table = pa.Table(["symbol", "regio"], "income", shadow="staff", cost="staff", labda=1, safety_rule=rule)
    report = tau.run(pa.Job(micro, [table], directory=tmp_path, name="holding"))
    assert report.is_succesful
    result = table.load_result()
    assert float(result.unsafe()["Total", "Total"]) == pytest.approx((data.income * data.w).sum())
    assert "U" in set(result.status())


def test_apriori(tau: Any, tmp_path: Path) -> None:
    data = frame()
    marks = pa.Apriori(
        [
            (["A", "Delta"], "S"),
            (["B", "ExampleDam"], "U"),
            (["B", "ExampleDam"], "PL", 7),
            (["C", "Delta"], "C", 5),
        ]
    )
    table = pa.Table(["symbol", "regio"], "income", safety_rule="FREQ(4,20)", apriori=marks)
    tau.run(pa.Job(pa.MicroData(data), [table], directory=tmp_path, name="apriori"))
    raw = table.load_result().status(recode=False)
    assert raw["B", "ExampleDam"] == 9 and raw["A", "Delta"] in (2, 12)


def test_recodes(tau: Any, tmp_path: Path) -> None:
    data = frame()
    micro = pa.MicroData(data, hierarchies={"regio": tree(), "nace": pa.LevelHierarchy([2, 1])})
    table = pa.Table(["nace", "regio"], "income", safety_rule="P(20)", recodes={"nace": 1, "regio": ["Land"]})
    tau.run(pa.Job(micro, [table], directory=tmp_path, name="recode"))
    index = table.load_result().unsafe().index
    assert set(index.get_level_values("nace").astype(str)) == {"Total", "01", "02", "10"}
    assert set(index.get_level_values("regio")) == {"Total", "Land", "Coast", "ExampleCity", "Port"}


def test_linked_tables(tau: Any, tmp_path: Path) -> None:
    data = frame()
    tables = [
        pa.Table(["symbol", "regio"], "income", safety_rule="P(15)", suppress_method=None),
        pa.Table(["symbol", "nace"], "income", safety_rule="P(15)", suppress_method=None),
    ]
    job = pa.Job(
        pa.MicroData(data), tables, directory=tmp_path, name="linked", linked_suppress_method=pa.MODULAR
    )
    tau.run(job)
    one, two = (table.load_result().status(recode=False) for table in tables)
    for symbol in ("Total", "A", "B", "C"):
        assert one[symbol, "Total"] == two[symbol, "Total"]


def aggregated(data: Any, **columns: Any) -> Any:
    """A table with totals, as `TableData` takes it."""
    rows = []
    for symbol in ["Total", *sorted(data.symbol.unique())]:
        for regio in ["Total", *sorted(data.regio.unique())]:
            part = data[
                ((data.symbol == symbol) | (symbol == "Total")) & ((data.regio == regio) | (regio == "Total"))
            ]
            if len(part):
                rows.append(
                    {
                        "symbol": symbol,
                        "regio": regio,
                        "income": round(part.income.sum(), 2),
                        "freq": len(part),
                    }
                )
                rows[-1] |= {
                    "top1": part.income.nlargest(2).iloc[0],
                    "top2": [*part.income.nlargest(2), 0.0][1],
                }
    return pd.DataFrame(rows)


def test_tables(tau: Any, tmp_path: Path) -> None:
    data = frame()
    cells = aggregated(data)
    table = pa.TableData(
        cells, ["symbol", "regio"], "income", frequency="freq", top_contributors=["top1", "top2"],
        safety_rule={"P(15)", "FREQ(4,20)"}, suppress_method=pa.OPTIMAL,
    )  # fmt: skip
    tau.run(pa.Job(table, directory=tmp_path, name="table"))
    same = pa.Table(["symbol", "regio"], "income", safety_rule={"P(15)", "FREQ(4,20)"})
    tau.run(pa.Job(pa.MicroData(data), [same], directory=tmp_path / "micro", name="micro"))
    one, two = table.load_result().status(), same.load_result().status()
    assert (one.sort_index() == two.sort_index()).all() and "M" in set(one)


def test_tables_with_a_status_and_levels(tau: Any, tmp_path: Path) -> None:
    cells = aggregated(frame()).drop(columns=["freq", "top1", "top2"])
    cells["status"] = np.where(cells.income <= cells.income.quantile(0.1), "U", "S")
    cells["low"], cells["up"] = 3.0, 4.0
    table = pa.TableData(
        cells, ["symbol", "regio"], "income", status_indicator="status", lower_protection_level="low",
        upper_protection_level="up", suppress_method=pa.OPTIMAL,
    )  # fmt: skip
    tau.run(pa.Job(table, directory=tmp_path, name="status"))
    status = table.load_result().status()
    given = cells.set_index(["symbol", "regio"]).status.reindex(status.index, fill_value="Z")
    assert ((status == "U") == (given == "U")).all() and (given == "U").any()
    assert "M" in set(status)


def test_another_response_and_rounding(tau: Any, tmp_path: Path) -> None:
    data = frame()
    tables = [
        pa.Table(["symbol", "regio"], "staff", safety_rule="NK(1,60)", suppress_method=pa.TABULAR_ADJUSTMENT)
    ]
    tables.append(
        pa.Table(
            ["symbol", "regio"],
            safety_rule="FREQ(3,20)",
            suppress_method=pa.ROUNDING,
            suppress_method_args=(5,),
        )
    )
    tau.run(pa.Job(pa.MicroData(data), tables, directory=tmp_path, name="changed"))
    rounded = pd.read_csv(tables[1].filepath_out, index_col=["symbol", "regio"])
    assert list(rounded.columns) == ["Freq_Round", "Freq_Orig"]
    shown = pd.to_numeric(rounded.Freq_Round[rounded.Freq_Round != "-"])
    assert (shown % 5 == 0).all()
    adjusted = pd.read_csv(tables[0].filepath_out)
    assert list(adjusted.columns[2:]) == ["staff_CTA", "staff_Orig"]


def test_jobs_in_parallel(tau: Any, tmp_path: Path) -> None:
    jobs = []
    for number in range(3):
        table = pa.Table(["symbol", "regio"], "income", safety_rule="P(15)")
        jobs.append(
            pa.Job(
                pa.MicroData(frame(number)), [table], directory=tmp_path / str(number), name=f"job{number}"
            )
        )
    assert all(report.is_succesful for report in tau.run(jobs))
    for number, job in enumerate(jobs):
        check(next(iter(job.tables.values())).load_result(), frame(number), ["symbol", "regio"])


def test_errors_reach_piargus(tau: Any, tmp_path: Path) -> None:
    table = pa.Table(["symbol", "regio"], "income", safety_rule="P(15)")
    job = pa.Job(pa.MicroData(frame()), [table], directory=tmp_path, name="broken")
    (tmp_path / "input" / "broken_microdata.csv").unlink()
    with pytest.raises(pa.TauArgusException, match="there is no file"):
        tau.run(job)


# ---------------------------------------------------------------------- the shapes of other clients


RTAUARGUS_RDA = """<SEPARATOR> ","
<SAFE> "s"
<UNSAFE> "u"
<PROTECT> "z"
ACT
  <RECODEABLE>
  <TOTCODE> "Total"
SIZE
  <RECODEABLE>
  <TOTCODE> "Ensemble"
TOT
  <NUMERIC>
  <DECIMALS> 2
N_OBS
  <FREQUENCY>
  <DECIMALS> 0
MAX
  <MAXSCORE>
  <DECIMALS> 2
"""


def test_a_job_as_rtauargus_writes_it(tmp_path: Path) -> None:
    """Tabular mode: padded fields, marks in a file, type 4 without options; R reads it without a header."""
    values = {
        ("A", "s"): 10.0,
        ("A", "l"): 90.25,
        ("B", "s"): 35.5,
        ("B", "l"): 44.0,
        ("C", "s"): 21.0,
        ("C", "l"): 33.0,
    }
    rows = dict(values)
    for act in "ABC":
        rows[act, "Ensemble"] = values[act, "s"] + values[act, "l"]
    for size in ("s", "l", "Ensemble"):
        rows["Total", size] = sum(rows[act, size] for act in "ABC")
    (tmp_path / "t.tab").write_text(
        "".join(
            f"{act:>5},{size:>8},{value:>10.2f},{5:>3},{value / 2:>8.2f}\n"
            for (act, size), value in rows.items()
        )
    )
    (tmp_path / "t.rda").write_text(RTAUARGUS_RDA)
    (tmp_path / "t.hst").write_text("A,s,u\nA,s,pl,3.0,3.0\nTotal,Ensemble,c,500\n")
    job = (
        "// Batch generated by package *rtauargus*\n"
        f'<OPENTABLEDATA> "{tmp_path}/t.tab"\n<OPENMETADATA> "{tmp_path}/t.rda"\n'
        '<SPECIFYTABLE> "ACT""SIZE"|"TOT"||\n<SAFETYRULE> MAN(10)\n<READTABLE> 1\n'
        f'<APRIORI> "{tmp_path}/t.hst",1,",",0,0\n<SUPPRESS> MOD(1,5,1,0,0)\n<WRITETABLE> (1,4,,"{tmp_path}/t.csv")\n'
    )
    done = run(tmp_path, job)
    assert done.code == 0, done.message
    with (tmp_path / "t.csv").open() as file:
        found = {(row[0], row[1]): row[2:] for row in csv.reader(file)}
    assert found.keys() == rows.keys()
    assert all(len(row) >= 3 and float(row[0]) == pytest.approx(rows[cell]) for cell, row in found.items())
    flags = {cell: row[2] for cell, row in found.items()}
    assert flags["A", "s"] == "B" and sorted(flags.values()).count("D") == 3


def test_a_job_as_sdctable_writes_it(tmp_path: Path) -> None:
    """CRLF, a log of its own, a solver, padded microdata, type 3 with status and a header."""
    lines = [f"{region:>4},{kind:>2},{value:>7}" for region, kind, value in (
        ("a", "x", 10), ("a", "y", 5), ("b", "x", 9), ("b", "y", 7), ("c", "x", 1), ("c", "y", 100), ("c", "x", 3),
    )]  # fmt: skip
    (tmp_path / "micro.asc").write_bytes("\r\n".join([*lines * 3, ""]).encode())
    rda = '<SEPARATOR> ","\r\nregion 4\r\n <RECODEABLE>\r\n <TOTCODE> "Tot"\r\nkind 2\r\n <RECODEABLE>\r\n'
    (tmp_path / "micro.rda").write_bytes(f"{rda}value 7\r\n <NUMERIC>\r\n <DECIMALS> 0\r\n".encode())
    job = (
        "//This batch file was generated by sdcTable\n"
        '<LOGBOOK> "own.log"\n<SOLVER> CPLEX,"c:\\lic.txt"\n<OPENMICRODATA> "micro.asc"\n<OPENMETADATA> "micro.rda"\n'
        '<SPECIFYTABLE> "region""kind"|"value"||\n<SAFETYRULE> NK(1,60)\n<READMICRODATA>\n<SUPPRESS> MOD(1, 5, 1, 1, 1)\n'
        '<WRITETABLE> (1, 3, AS+FL+, "out.txt")\n'
    ).replace("\n", "\r\n")
    (tmp_path / "job.arb").write_bytes(job.encode())
    from tablecloak.job.argus import ArgusOptions, run_argus

    done = run_argus(tmp_path / "job.arb", ArgusOptions(temp=tmp_path))
    assert done.code == 0, done.message
    found = (tmp_path / "out.txt").read_text().splitlines()
    assert found[0] == '"region","kind","value","Status"' and found[1] == '"Tot","Total",405,1'
    assert (tmp_path / "own.log").read_text().rstrip().endswith("End of TauArgus run")


def test_a_job_as_the_sas_macro_writes_it(tmp_path: Path) -> None:
    """Fixed format, codes with leading blanks, SBS out; written in Latin-1."""
    lines = [f"{code:>3}{size:>2}{value:>9.1f}" for code, size, value in (
        ("01", "1", 12.5), ("01", "2", 4.0), ("02", "1", 88.0), ("02", "2", 31.0), ("é3", "1", 7.5), ("é3", "2", 9.0),
    )]  # fmt: skip
    (tmp_path / "d.asc").write_bytes(("\r\n".join(lines * 2) + "\r\n").encode("latin-1"))
    (tmp_path / "d.rda").write_text(
        'NACE 1 3\n <RECODEABLE>\n <TOTCODE> "Total"\nSIZE 4 2\n <RECODEABLE>\nVALUE 6 9\n <NUMERIC>\n <DECIMALS> 1\n'
    )
    job = (
        '<OPENMICRODATA> "d.asc"\n<OPENMETADATA> "d.rda"\n<SPECIFYTABLE> "Nace""Size"|"value"||\n'
        '<SAFETYRULE> NK(1,49)|FREQ(2,20)\n<READMICRODATA>\n<SUPPRESS> GH(1,100)\n<WRITETABLE> (1,4,,"x.sbs")\n'
    )
    done = run(tmp_path, job)
    assert done.code == 0, done.message
    rows = (tmp_path / "x.sbs").read_text(encoding="utf-8").splitlines()
    assert rows[0] == '"Total","Total",304.0,12,V' and any(row.startswith('"é3"') for row in rows)
