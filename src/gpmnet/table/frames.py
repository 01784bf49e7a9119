"""Data frames and arrays to `RawTable`: the only file that knows data-frame libraries.

pandas, polars and pyarrow are read through narwhals. Numeric columns go into one matrix in one call;
the rest is turned into codes and labels, and text is parsed by `gpmnet.table.parse`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpmnet.errors import InputError, quote
from gpmnet.table.parse import MISSING_SPELLINGS, Parsed, date_number, parse_spellings
from gpmnet.table.raw import Labelled, RawTable, check_finite, check_shape, unique_names

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class _Text:
    """A column of text by its distinct, stripped spellings; code -1 is missing."""

    codes: NDArray[np.int32]
    spellings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Dates:
    """A column of moments, in days since 1970."""

    numbers: NDArray[np.float64]


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
    numeric = [at for at, dtype in enumerate(frame.schema.dtypes()) if dtype.is_numeric()]
    columns: dict[int, Any] = {}
    for at in sorted(set(range(len(names))) - set(numeric)):
        columns[at] = _column(frame[:, at], names[at])
    numbers = _matrix(frame, numeric)
    return _assemble(names, numbers, np.array(numeric, dtype=np.intp), columns, na, (*warnings, *renamed))


def from_array(
    data: NDArray[Any], names: Sequence[object] | None = None, na: frozenset[str] = frozenset()
) -> RawTable:
    """Return the raw form of a two-dimensional NumPy array; columns are called x1, x2, ... unless named."""
    if data.dtype.names is not None:
        return from_frame(pd.DataFrame({name: data[name] for name in data.dtype.names}), na)
    if data.ndim != 2:
        raise InputError(f"an array must have two dimensions (rows, columns); this one has {data.ndim}")
    if names is not None and len(names) != data.shape[1]:
        raise InputError(f"{len(names)} names were given for {data.shape[1]} columns")
    given = [f"x{i + 1}" for i in range(data.shape[1])] if names is None else list(names)
    unique, warnings = unique_names(given)
    check_shape(*data.shape)
    if data.dtype.kind in "iuf":
        numbers = data if data.dtype in (np.float32, np.float64) else data.astype(np.float64)
        return _assemble(unique, numbers, np.arange(data.shape[1]), {}, na, warnings)
    if data.dtype.kind not in "bOUSM":
        raise InputError(f"an array of type {data.dtype} is not a table of numbers or text")
    columns: dict[int, Any] = {}
    for at in range(data.shape[1]):
        column = data[:, at]
        columns[at] = (
            _boolean(column) if data.dtype.kind == "b" else _objects(column.astype(object), unique[at])
        )
    return _assemble(unique, np.empty((data.shape[0], 0)), np.arange(0), columns, na, warnings)


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
    parts = [_as_float(frame[:, at]) for at in numeric]
    return np.stack(parts, axis=1)


def _as_float(series: nw.Series[Any]) -> NDArray[np.float64]:
    try:
        return np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):  # a nullable column whose gaps the library hands out as objects
        return pd.to_numeric(pd.Series(series.to_list(), dtype=object), errors="raise").to_numpy(np.float64)


def _column(series: nw.Series[Any], name: str) -> Any:
    dtype = series.dtype
    if isinstance(dtype, nw.Boolean) and not series.is_null().any():
        return _boolean(series.to_numpy())
    if isinstance(dtype, nw.Categorical | nw.Enum):
        ordered = bool(nw.is_ordered_categorical(series))
        labels = [str(label) for label in series.cat.get_categories().to_list()]
        return _categorical(series.cast(nw.String()).to_list(), labels, ordered)
    return _objects(np.array([*series.to_list(), None], dtype=object)[:-1], name)


def _boolean(values: NDArray[Any]) -> Labelled:
    return Labelled(values.astype(np.int32), ("False", "True"), "boolean")


def _categorical(values: list[str | None], labels: list[str], ordered: bool) -> Labelled:
    labels = labels if ordered else natural_order(labels)
    lookup: dict[str | None, int] = {label: i for i, label in enumerate(labels)}
    codes = np.array([lookup.get(value, -1) for value in values], dtype=np.int32)
    column = Labelled(codes, tuple(labels), "categorical", ordered)
    return column.take(np.arange(len(codes)))


def natural_order(labels: Sequence[str]) -> list[str]:
    """Sort labels, by value if all are whole numbers ("10" after "9").

    >>> natural_order(["10", "9", "1"])
    ['1', '9', '10']
    """
    if all(label.lstrip("-").isdecimal() for label in labels):
        return sorted(labels, key=lambda label: (int(label), label))
    return sorted(labels)


def _objects(values: NDArray[np.object_], name: str) -> Labelled | NDArray[np.float64] | _Dates | _Text:
    """Read a column of Python objects: numbers, booleans, moments, or text."""
    gone = np.asarray(pd.isna(values), dtype=bool)
    present = values[~gone]
    types = set(map(type, present))
    if types and all(issubclass(t, bool | np.bool_) for t in types):
        truth = np.full(len(values), -1, dtype=np.int32)
        truth[~gone] = present.astype(np.int32)
        return Labelled(truth, ("False", "True"), "boolean").take(np.arange(len(truth)))
    convert: Callable[[Any], float] | None = None
    if types and all(issubclass(t, Real | Decimal) and not issubclass(t, bool) for t in types):
        convert = float
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
        return _Dates(numbers) if convert is _moment else numbers
    strange = [t for t in types if not issubclass(t, str | bool | np.bool_ | Real | Decimal | date)]
    if strange:
        raise InputError(
            f"column {quote(name)} holds values of type {strange[0].__name__}; "
            "only numbers, text, booleans and dates can be used"
        )
    codes, uniques = pd.factorize(np.array([str(value).strip() for value in present], dtype=object))
    full = np.full(len(values), -1, dtype=np.int32)
    full[~gone] = codes
    return _Text(full, tuple(uniques))


def _moment(value: date) -> float:
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return date_number(value)


def _duration(value: timedelta) -> float:
    return value.total_seconds() / _DAY


def _assemble(
    names: tuple[str, ...],
    numbers: NDArray[np.floating],
    number_at: NDArray[np.intp],
    columns: dict[int, Any],
    na: frozenset[str],
    warnings: Sequence[str],
) -> RawTable:
    """Parse the columns of text, then put numbers with numbers and labels with labels."""
    parsed = _parse_texts({at: c for at, c in columns.items() if isinstance(c, _Text)}, na)
    labelled: dict[int, Labelled] = {}
    extra: dict[int, NDArray[np.float64]] = {}
    notes: dict[int, tuple[str, ...]] = {}
    dates: set[int] = set()
    for at, column in columns.items():
        value = column
        if isinstance(column, _Text):
            value = _finish_text(column, parsed[at])
            if parsed[at].notes:
                notes[at] = parsed[at].notes
        if isinstance(value, Labelled):
            labelled[at] = value
        elif isinstance(value, _Dates):
            dates.add(at)
            extra[at] = value.numbers
        else:
            extra[at] = value
    if extra:
        numbers = np.column_stack([numbers, *extra.values()])
        number_at = np.concatenate([number_at, np.array(list(extra), dtype=np.intp)])
        order = np.argsort(number_at)
        numbers, number_at = numbers[:, order], number_at[order]
    check_finite(numbers, lambda at: names[number_at[at]])
    return RawTable(names, numbers, number_at, labelled, notes, frozenset(dates), tuple(warnings))


def _parse_texts(texts: dict[int, _Text], na: frozenset[str]) -> dict[int, Parsed]:
    """Parse all columns of text: numbers and dates first, since they show how the file spells "missing"."""
    parsed = {at: parse_spellings(text.spellings, given=na) for at, text in texts.items()}
    marks: set[str] = set()
    for at, text in texts.items():
        if parsed[at].reading in ("number", "date"):
            marks |= MISSING_SPELLINGS.intersection(text.spellings)
    for at, text in texts.items():
        if parsed[at].reading in ("text", "boolean") and marks.intersection(text.spellings):
            parsed[at] = parse_spellings(text.spellings, frozenset(marks), na)
    return parsed


def _finish_text(text: _Text, parsed: Parsed) -> Labelled | NDArray[np.float64] | _Dates:
    if parsed.reading in ("number", "date"):
        lookup = np.array([np.nan if v is None else v for v in parsed.values] + [np.nan])
        return lookup[text.codes] if parsed.reading == "number" else _Dates(lookup[text.codes])
    if parsed.reading == "boolean":
        labels = [_spelled(text.spellings, parsed, truth) for truth in (0.0, 1.0)]
        codes_of = [-1 if v is None else int(v) for v in parsed.values]
    else:
        labels = natural_order(
            [s for s, gone in zip(text.spellings, parsed.missing, strict=True) if not gone]
        )
        at = {label: i for i, label in enumerate(labels)}
        codes_of = [-1 if gone else at[s] for s, gone in zip(text.spellings, parsed.missing, strict=True)]
    codes = np.array([*codes_of, -1], dtype=np.int32)[text.codes]
    column = Labelled(codes, tuple(labels), "text" if parsed.reading == "text" else "boolean")
    return column.take(np.arange(len(codes)))


def _spelled(spellings: tuple[str, ...], parsed: Parsed, truth: float) -> str:
    """Return the file's own word for a truth value; True and False are spelled as Python does."""
    for spelling, value in zip(spellings, parsed.values, strict=True):
        if value == truth:
            lowered = spelling.lower()
            return lowered.capitalize() if lowered in ("true", "false") else spelling
    return str(bool(truth))
