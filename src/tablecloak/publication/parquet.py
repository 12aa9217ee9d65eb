"""Publications as Parquet, written by DuckDB: the columns of the publication, null where nothing is shown. Public."""

from __future__ import annotations

import numpy as np

from tablecloak.locks import private_folder
from tablecloak.publication.publication import Publication


def write_parquet(publication: Publication) -> bytes:
    """The bytes of the file: codes and labels as text, numbers as doubles, one row a cell in the order of print."""
    import duckdb

    columns = {
        name: np.ma.masked_invalid(column) if column.dtype.kind == "f" else column
        for name, column in publication.columns().items()
    }
    types = ["DOUBLE" if column.dtype.kind == "f" else "VARCHAR" for column in columns.values()]
    held = {f"c{number}": column for number, column in enumerate(columns.values())}
    selected = ", ".join(
        f"c{number}::{kind} AS {_quoted(name)}"
        for number, (name, kind) in enumerate(zip(columns, types, strict=True))
    )
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "preserve_insertion_order": True,
        "autoinstall_known_extensions": False,
    }
    with (
        private_folder() as folder,
        duckdb.connect(":memory:", config=settings) as connection,
    ):
        path = folder / "publication.parquet"
        connection.register("publication", held)
        connection.execute(f"COPY (SELECT {selected} FROM publication) TO ? (FORMAT parquet)", [str(path)])
        return path.read_bytes()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
