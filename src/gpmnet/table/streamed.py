"""Parquet files that are too large to be held: one column at a time, and of it one batch of rows.

What comes out is what reading the whole file gives (`gpmnet.table.frames`), to the last bit. Numbers go to where
`gpmnet.table.space` finds room; text is held as codes and its distinct spellings.
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from gpmnet.table.assemble import AnyColumn, Text, assemble
from gpmnet.table.frames import as_floats, column_of
from gpmnet.table.raw import RawTable, check_shape, unique_names
from gpmnet.table.space import column_space, release

STREAMED_BYTES = 1 << 29
"""Files that unpack to more than this are read column by column."""
_ROWS = 1 << 20


def can_stream(file: Any, kept: list[int]) -> bool:
    """Whether the columns of an open Parquet file can be asked for one by one: they need names of their own."""
    names = file.schema_arrow.names
    flat = len(file.schema) == len(names) and all("." not in names[at] for at in kept)
    return flat and len(set(names)) == len(names)


def from_parquet(file: Any, kept: list[int], na: frozenset[str], warnings: tuple[str, ...]) -> RawTable:
    """Return the raw form of some columns of an open Parquet file, by their positions in it."""
    fields = [file.schema_arrow.field(at) for at in kept]
    names, renamed = unique_names([field.name for field in fields])
    n = file.metadata.num_rows
    check_shape(n, len(names))
    types = nw.from_native(file.schema_arrow.empty_table()).schema.dtypes()
    numeric = [k for k, at in enumerate(kept) if types[at].is_numeric()]
    single = {types[kept[k]] for k in range(len(kept))} == {nw.Float32()}  # as the whole matrix would be
    numbers = column_space(n, len(numeric), np.float32 if single else np.float64)
    for place, k in enumerate(numeric):
        start = 0
        for batch in file.iter_batches(_ROWS, columns=[fields[k].name], use_threads=False):
            numbers[start : start + len(batch), place] = _floats(batch)
            start += len(batch)
        release(numbers)
    columns: dict[int, AnyColumn] = {
        k: _other(file, fields[k], names[k]) for k in range(len(kept)) if k not in set(numeric)
    }
    return assemble(names, numbers, np.array(numeric, dtype=np.intp), columns, na, (*warnings, *renamed))


def _floats(batch: Any) -> NDArray[np.floating]:
    column = batch.column(0)
    kind = str(column.type)
    if column.null_count == 0 and kind in ("float", "double"):
        values: NDArray[np.floating] = column.to_numpy(zero_copy_only=False)
        return values
    import pyarrow as pa

    return as_floats(nw.from_native(pa.table({"0": column}))["0"])


def _other(file: Any, field: Any, name: str) -> AnyColumn:
    """Return a column that is not numeric."""
    import pyarrow as pa

    if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
        return _text(file, field.name)
    return column_of(nw.from_native(file.read(columns=[field.name], use_threads=False))[field.name], name)


def _text(file: Any, name: str) -> Text:
    """Return a column of text by its distinct spellings, in the order in which they first come."""
    places: dict[str, int] = {}
    parts = [np.empty(0, dtype=np.int32)]
    for batch in file.iter_batches(_ROWS, columns=[name], use_threads=False):
        coded = batch.column(0).dictionary_encode()
        lookup = [places.setdefault(text.strip(), len(places)) for text in coded.dictionary.to_pylist()]
        codes = coded.indices.fill_null(len(lookup)).to_numpy(zero_copy_only=False)
        parts.append(np.array([*lookup, -1], dtype=np.int32)[codes])
    return Text(np.concatenate(parts), tuple(places))
