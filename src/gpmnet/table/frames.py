"""Data frames and arrays to `RawTable`: the only file that knows data-frame libraries.

pandas, polars and pyarrow are read through narwhals. Numeric columns go into one matrix in one call;
the rest is turned into codes and labels, and put together by `gpmnet.table.assemble`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpmnet.errors import InputError, one_line, quote
from gpmnet.table.assemble import AnyColumn, Dates, Text, Unusable, assemble, natural_order
from gpmnet.table.parse import date_number, may_be_codes
from gpmnet.table.raw import Labelled, RawTable, check_shape, unique_names

_DAY = 86_400.0


def is_frame(data: object) -> bool:
    """Whether the object is a data frame that narwhals can read."""
    if isinstance(data, pd.DataFrame) or _is_arrow(data):
        return True
    return isinstance(nw.from_native(data, pass_through=True), nw.DataFrame | nw.LazyFrame)


def _is_arrow(data: object) -> bool:
    return hasattr(data, "rename_columns") and hasattr(data, "column_names")


def from_frame(data: Any, na: frozenset[str] = frozenset(), warnings: Sequence[str] = ()) -> RawTable:
    """Return the raw form of a pandas, polars or pyarrow table."""
    given, data = _positional(data)
    frame = nw.from_native(data)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    names, renamed = unique_names(given)
    check_shape(len(frame), len(names))
    kinds = frame.schema.dtypes()
    number_at = np.array([at for at, kind in enumerate(kinds) if kind.is_numeric()], dtype=np.intp)
    numbers = _matrix(frame, number_at.tolist())
    whole = np.array([kinds[at].is_integer() for at in number_at], dtype=bool)
    if whole.any():
        long = [k for k in may_be_codes(numbers) if whole[k]]
        if long:
            numbers, number_at = np.delete(numbers, long, axis=1), np.delete(number_at, long)
    others = sorted(set(range(len(names))) - set(number_at.tolist()))
    columns: dict[int, AnyColumn] = {at: column_of(frame[:, at], names[at]) for at in others}
    return assemble(names, numbers, number_at, columns, na, (*warnings, *renamed))


def from_array(
    data: NDArray[Any],
    names: Sequence[object] | None = None,
    na: frozenset[str] = frozenset(),
    warnings: Sequence[str] = (),
) -> RawTable:
    """Return the raw form of a two-dimensional NumPy array; columns are called x1, x2, ... unless named."""
    if data.dtype.names is not None:
        fields = [_plain(data[field]) for field in data.dtype.names]
        if any(field.ndim != 1 for field in fields):
            raise InputError("an array with named fields must have one dimension, and so must its fields")
        if names is not None:
            raise InputError("names cannot be given for an array that names its fields")
        return from_frame(pd.DataFrame(dict(zip(data.dtype.names, fields, strict=True))), na, warnings)
    data = _plain(data)
    if data.ndim != 2:
        raise InputError(f"an array must have two dimensions (rows, columns); this one has {data.ndim}")
    if names is not None and len(names) != data.shape[1]:
        raise InputError(f"{len(names)} names were given for {data.shape[1]} columns")
    given = [f"x{i + 1}" for i in range(data.shape[1])] if names is None else list(names)
    unique, renamed = unique_names(given)
    warnings = (*warnings, *renamed)
    if data.dtype.kind == "c":
        raise InputError("Complex data not supported: a table holds real numbers or text")
    check_shape(*data.shape)
    if data.dtype.kind in "iuf":
        numbers = data if data.dtype in (np.float32, np.float64) else data.astype(np.float64)
        if data.dtype.kind in "iu" and len(may_be_codes(numbers)):
            return from_frame(pd.DataFrame(data, columns=pd.Index(unique, dtype=object)), na, warnings)
        return assemble(unique, numbers, np.arange(data.shape[1]), {}, na, warnings)
    if data.dtype.kind not in "bOU":
        raise InputError(f"an array of type {data.dtype} is not a table of numbers or text")
    columns: dict[int, AnyColumn] = {}
    for at in range(data.shape[1]):
        column = data[:, at]
        columns[at] = (
            _boolean(column) if data.dtype.kind == "b" else _objects(column.astype(object), unique[at])
        )
    return assemble(unique, np.empty((data.shape[0], 0)), np.arange(0), columns, na, warnings)


def _plain(data: NDArray[Any]) -> NDArray[Any]:
    """Return an array without a mask, with bytes as text and moments as Python objects."""
    gaps = np.ma.getmaskarray(data) if isinstance(data, np.ma.MaskedArray) else np.zeros((), dtype=bool)
    data = np.asarray(data)
    if data.dtype.kind == "S":
        data = np.char.decode(data, "utf-8", "replace")
    elif data.dtype.kind in "Mm":  # finer than a microsecond, NumPy hands out bare integers
        data = data.astype(f"{data.dtype.kind}8[us]").astype(object)
    if gaps.any():
        numeric = data.dtype.kind in "iuf"
        data = data.astype(np.float64 if numeric else object)
        data[gaps] = np.nan if numeric else None
    return data


def _positional(data: Any) -> tuple[Sequence[object], Any]:
    """Return the column names and the frame with its columns named by position.

    narwhals refuses repeated names and pandas allows any object as one, so names are handled apart.
    """
    if isinstance(data, pd.DataFrame):
        given = list(data.columns)
        shallow = data.copy(deep=False)
        shallow.columns = pd.Index([str(i) for i in range(len(given))])
        return given, shallow
    if _is_arrow(data):
        import pyarrow as pa

        data = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
        given = list(data.column_names)
        return given, data.rename_columns([str(i) for i in range(len(given))])
    frame = nw.from_native(data)
    return list(frame.collect_schema().names()), data


def _matrix(frame: nw.DataFrame[Any], numeric: list[int]) -> NDArray[np.floating]:
    if not numeric:
        return np.empty((len(frame), 0))
    if len(numeric) == len(frame.columns) and len(set(frame.schema.dtypes())) == 1:
        matrix = frame.to_numpy()
        if matrix.dtype in (np.float32, np.float64):
            return matrix
        if matrix.dtype.kind in "iu":
            return matrix.astype(np.float64)
    parts = [as_floats(frame[:, at]) for at in numeric]
    return np.stack(parts, axis=1)


def as_floats(series: nw.Series[Any]) -> NDArray[np.float64]:
    """Return a numeric column, NaN where it has gaps."""
    try:
        return np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):  # a nullable column whose gaps the library hands out as objects
        return pd.to_numeric(pd.Series(series.to_list(), dtype=object), errors="raise").to_numpy(np.float64)


def column_of(series: nw.Series[Any], name: str) -> AnyColumn:
    """Return a column that is not numeric, or has long whole numbers, as what it holds."""
    dtype = series.dtype
    if isinstance(dtype, nw.Boolean) and not series.is_null().any():
        return _boolean(series.to_numpy())
    if isinstance(dtype, nw.Categorical | nw.Enum):
        ordered = bool(nw.is_ordered_categorical(series))
        labels = [str(label) for label in series.cat.get_categories().to_list()]
        return _categorical(series.cast(nw.String()).to_list(), labels, ordered)
    try:
        values = series.to_list()
    except (OverflowError, ValueError) as error:  # moments that Python has no dates for
        raise InputError(
            f"column {quote(name)} holds a moment outside the years 1 to 9999 ({one_line(error)}); mend it or leave it empty"
        ) from error
    return _objects(np.array([*values, None], dtype=object)[:-1], name)


def _boolean(values: NDArray[Any]) -> Labelled:
    return Labelled(values.astype(np.int32), ("False", "True"), "boolean")


def _categorical(values: list[str | None], labels: list[str], ordered: bool) -> Labelled:
    labels = labels if ordered else natural_order(labels)
    lookup: dict[str | None, int] = {label: i for i, label in enumerate(labels)}
    codes = np.array([lookup.get(value, -1) for value in values], dtype=np.int32)
    column = Labelled(codes, tuple(labels), "categorical", ordered)
    return column.used()


def _objects(values: NDArray[np.object_], name: str) -> AnyColumn:
    """Read a column of Python objects: numbers, booleans, moments, or text."""
    values = np.array([*map(_quiet, values), None], dtype=object)[:-1]
    gone = np.asarray(pd.isna(values), dtype=bool)
    present = values[~gone]
    types = set(map(type, present))
    if types and all(issubclass(t, bool | np.bool_) for t in types):
        truth = np.full(len(values), -1, dtype=np.int32)
        truth[~gone] = present.astype(np.int32)
        return Labelled(truth, ("False", "True"), "boolean").used()
    convert: Callable[[Any], float] | None = None
    if types and all(issubclass(t, Real | Decimal) and not issubclass(t, bool) for t in types):
        convert = None if all(issubclass(t, Integral) for t in types) and _are_long(present) else float
    elif types and all(issubclass(t, date) for t in types):
        convert = _moment
    elif types and all(issubclass(t, timedelta) for t in types):
        convert = _duration
    if convert is not None:
        numbers = np.full(len(values), np.nan)
        try:
            numbers[~gone] = [convert(value) for value in present]
        except (OverflowError, ValueError) as error:
            raise InputError(
                f"column {quote(name)} holds a value that is no ordinary number: {error}"
            ) from error
        return Dates(numbers) if convert is _moment else numbers
    plain = str | bool | np.bool_ | Real | Decimal | date
    strange = sorted(t.__name__ for t in types if not issubclass(t, plain))
    if strange:
        codes, labels = pd.factorize(np.array([*map(repr, values), ""], dtype=object)[:-1])
        full = np.where(gone, -1, codes).astype(np.int32)
        labelled = Labelled(full, tuple(labels), "text").used()
        return Unusable(labelled, f"values of type {strange[0]}")
    try:
        texts = [str(value).strip() for value in present]
    except ValueError as error:  # Python spells whole numbers up to 4,300 digits only
        raise InputError(
            f"column {quote(name)} holds a value that cannot be spelled: {one_line(error)}"
        ) from error
    codes, uniques = pd.factorize(np.array([*texts, ""], dtype=object)[:-1])
    full = np.full(len(values), -1, dtype=np.int32)
    full[~gone] = codes
    return Text(full, tuple(uniques))


def _are_long(present: NDArray[np.object_]) -> bool:
    """Whether a few whole numbers are so long that they are read as their spellings are."""
    try:
        return len(may_be_codes(present.astype(np.float64)[:, None])) > 0
    except OverflowError:  # no floats at all, which is said of the column
        return False


def _quiet(value: Any) -> Any:
    """Return a value, None for a number that raises an error whenever it is looked at (a signalling NaN)."""
    return None if isinstance(value, Decimal) and value.is_snan() else value


def _moment(value: date) -> float:
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return date_number(value)


def _duration(value: timedelta) -> float:
    return value.total_seconds() / _DAY
