"""Any dataframe to columns and back to the same kind; the only file that knows dataframe libraries.

pandas, polars (lazy frames too) and pyarrow are known by way of narwhals; a mapping of columns is no dataframe
and has no kind. None of the libraries need be there unless a frame of theirs is given or asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablecloak.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw

KINDS = ("pandas", "polars", "pyarrow")
_ADVICE = "Give a pandas, polars or pyarrow table, or a dict of columns."


def frame_kind(data: Any) -> str | None:
    """The library of a dataframe: "pandas", "polars" or "pyarrow"; None for a mapping of columns."""
    if isinstance(data, Mapping):
        return None
    return _kind(_eager(data))


def collected(data: Any) -> Any:
    """A lazy frame as a frame; anything else as it is."""
    return data if isinstance(data, Mapping) else _eager(data).to_native()


def columns_of(data: Any) -> dict[str, NDArray[Any]]:
    """The columns as plain numpy arrays, by name; None stands for gaps in columns of text or objects."""
    if isinstance(data, Mapping):
        return {str(name): _array(column) for name, column in data.items()}
    frame = _eager(data)
    names = names_of(data)
    _check_distinct(names)
    if _kind(frame) == "pandas":
        native = frame.to_native()
        return {name: _array(native.iloc[:, at]) for at, name in enumerate(names)}
    return {name: _array(frame[:, at].to_numpy()) for at, name in enumerate(names)}


def names_of(data: Any) -> list[str]:
    """The names of the columns, as text."""
    if isinstance(data, Mapping):
        return [str(name) for name in data]
    frame = _eager(data)
    return [str(name) for name in (frame.to_native().columns if _kind(frame) == "pandas" else frame.columns)]


def make_frame(columns: Mapping[str, ArrayLike], kind: str | None) -> Any:
    """A dataframe of the kind asked for; for None a dict of arrays."""
    arrays = {name: _array(column) for name, column in columns.items()}
    if kind is None:
        return arrays
    if kind not in KINDS:
        raise InputError("Frame", [f"there is no kind of dataframe {kind!r}"], advice=f"Kinds: {KINDS}.")
    if find_spec(kind) is None:
        raise InputError("Frame", [f"{kind} is not installed"], advice=f"Run: pip install {kind}")
    plain = {name: array.tolist() if array.dtype.kind in "OU" else array for name, array in arrays.items()}
    import narwhals as nw

    return nw.from_dict(plain, backend=cast(Any, kind)).to_native()


def scannable(data: Any, names: Sequence[str]) -> Any:
    """The columns of these names as something DuckDB can scan, called c0, c1, ... there.

    Numbers and text among each other become text, as do categories.
    """
    known, labels = names_of(data), [f"c{i}" for i in range(len(names))]
    _check_distinct([name for name in known if name in set(names)])
    if isinstance(data, Mapping):
        columns = columns_of(data)
        _check_lengths({name: columns[name] for name in names})
        return {label: _texts(columns[name]) for label, name in zip(labels, names, strict=True)}
    frame = _eager(data)
    places = [known.index(name) for name in names]
    if _kind(frame) == "pandas":
        return _scannable_pandas(frame.to_native(), places, labels)
    if _kind(frame) == "polars" and find_spec("pyarrow") is None:  # DuckDB needs it to read polars
        columns = columns_of(data)
        return {label: _texts(columns[name]) for label, name in zip(labels, names, strict=True)}
    picked = frame[:, places].rename({known[at]: label for at, label in zip(places, labels, strict=True)})
    return picked.to_arrow()


# ---------------------------------------------------------------------- libraries


def _eager(data: Any) -> nw.DataFrame[Any]:
    import narwhals as nw

    try:
        frame = nw.from_native(data)
    except TypeError:
        kind = type(data).__name__
        raise InputError("Data", [f"an object of type {kind!r} is no table"], advice=_ADVICE) from None
    except ValueError:
        names = [str(name) for name in getattr(data, "column_names", getattr(data, "columns", ()))]
        _check_distinct(names)
        raise InputError("Data", ["two columns have the same name"]) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame) or _kind(frame) not in KINDS:
        raise InputError("Data", ["this kind of dataframe is not known"], advice=_ADVICE)
    return frame


def _kind(frame: nw.DataFrame[Any]) -> str:
    return str(frame.implementation.value)


def _scannable_pandas(native: Any, places: Sequence[int], labels: Sequence[str]) -> Any:
    """A pandas frame without columns of mixed objects or categories."""
    picked = native.iloc[:, list(places)].reset_index(drop=True)
    picked.columns = list(labels)
    odd = {
        label: _texts(np.asarray(picked[label].astype(object)))
        for label, dtype in zip(labels, picked.dtypes, strict=True)
        if str(dtype) in ("object", "category") or str(dtype).startswith("complex")
    }
    return picked.assign(**{label: column.astype(object) for label, column in odd.items()})


# ---------------------------------------------------------------------- columns


def _array(column: Any) -> NDArray[Any]:
    """A column as an array; gaps among objects are None."""
    array = np.asarray(column) if hasattr(column, "__array__") else np.array(column, dtype=object)
    if array.dtype.kind != "O" or array.ndim != 1:
        return array
    return np.array([None if _is_gap(entry) else entry for entry in array.tolist()] or [], dtype=object)


def _is_gap(entry: Any) -> bool:
    """None, NaN, NaT, pandas.NA."""
    if entry is None or isinstance(entry, str):
        return entry is None
    return type(entry).__name__ in ("NAType", "NaTType") or (isinstance(entry, float) and entry != entry)


def _texts(column: NDArray[Any]) -> NDArray[Any]:
    """Text and objects as objects that are text or None; numbers stay what they are."""
    if column.dtype.kind not in "OUSc":
        return column
    entries = column.tolist()
    if entries and all(isinstance(entry, bool) for entry in entries):
        return column.astype(bool)
    return np.array([None if _is_gap(entry) else _text(entry) for entry in entries], dtype=object)


def _text(entry: Any) -> str:
    """A code as text: numbers as they are written, whole numbers without a decimal point."""
    if isinstance(entry, bytes):
        return entry.decode("utf-8", errors="replace")
    return str(int(entry)) if isinstance(entry, float) and entry.is_integer() else str(entry)


def _check_distinct(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        advice = "Rename or drop one of them."
        raise InputError("Data", [f"there are two columns {name!r}" for name in twice], advice=advice)


def _check_lengths(columns: Mapping[str, NDArray[Any]]) -> None:
    faults = [f"column {name!r} is not a plain list" for name, column in columns.items() if column.ndim != 1]
    lengths = {name: len(column) for name, column in columns.items() if column.ndim == 1}
    if len(set(lengths.values())) > 1:
        rows = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        faults.append(f"the columns have different numbers of rows: {rows}")
    if faults:
        raise InputError("Data", faults)
