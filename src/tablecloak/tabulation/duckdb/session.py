"""A private DuckDB: in a folder that only the user can read, and that is gone when the work is done.

Records that do not fit into memory are kept in that folder. It is removed whatever happens: an error, Ctrl-C. What a
killed process left is removed by the next session in the same place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tablecloak.errors import InputError, SolverError
from tablecloak.locks import private_folder
from tablecloak.tabulation.settings import SETTINGS

if TYPE_CHECKING:
    import duckdb

MEMORY = "1GB"
"""Memory that DuckDB uses before it works on disk."""
T = TypeVar("T")


@contextmanager
def session(memory: str = MEMORY, threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an empty database; database and folder are gone afterwards.

    Errors of DuckDB are raised as `SolverError`, without its message: that may quote the data.
    """
    import duckdb

    if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", memory):
        raise InputError("Memory", [f"{memory!r} is no amount of memory"], advice="Write it like '1GB'.")
    with private_folder() as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory,
            "temp_directory": str(folder / "spilled"),
            "autoinstall_known_extensions": False,
            "preserve_insertion_order": True,
        }
        if threads is not None:
            config["threads"] = threads
        try:
            with duckdb.connect(str(folder / "records.duckdb"), config=config) as connection:
                yield connection
        except duckdb.OutOfMemoryException:
            fault, advice = (
                f"{memory} are not enough for these records",
                "Allow more, for example memory='4GB'.",
            )
            raise InputError("Memory", [fault], advice=advice) from None
        except duckdb.Error as error:
            secret = {"message": str(error)}
            raise SolverError(f"DuckDB failed: {type(error).__name__}.", confidential=secret) from None


def run(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None
) -> list[tuple[Any, ...]]:
    """Execute a statement to its end (DuckDB is lazy about it) and give its rows."""
    return _finished(connection, lambda: connection.execute(sql, dict(parameters or {})).fetchall())


def arrays(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None
) -> dict[str, NDArray[Any]]:
    """The columns that a query gives; masked arrays where there are NULLs."""
    found = _finished(connection, lambda: connection.execute(sql, dict(parameters or {})).fetchnumpy())
    return {
        name: column if isinstance(column, np.ndarray) else np.asarray(column)
        for name, column in found.items()
    }


def _finished(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """The result of some work with the database, done in a thread: an interrupt reaches Python, not always DuckDB."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            while not wait([future], timeout=SETTINGS.poll_seconds).done:
                pass
        except BaseException:
            connection.interrupt()
            raise
        return future.result()


def scalar(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    """The integer that a query gives."""
    return int(run(connection, sql)[0][0])


@contextmanager
def lent(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, NDArray[Any]]
) -> Iterator[None]:
    """Columns as a table of that name, while they are needed."""
    connection.register(name, dict(columns))
    try:
        yield
    finally:
        connection.unregister(name)


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
