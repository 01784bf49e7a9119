"""Files that are too large to be held: Parquet one column at a time, and of it one batch of rows; text some rows at a time.

What comes out is what reading the whole file gives (`gpmnet.table.frames`), to the last bit. Numbers go to where
`gpmnet.table.space` finds room; text is held as codes and its distinct spellings. What a column of a text file holds is
known when all of it was seen, hence it is read twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpmnet.table.assemble import AnyColumn, Text, assemble
from gpmnet.table.column_file import ROWS, ColumnFile, read_numbers
from gpmnet.table.frames import column_of
from gpmnet.table.parse import EXACT, FEW_NUMBERS, may_be_codes
from gpmnet.table.raw import Labelled, RawTable, check_shape, unique_names
from gpmnet.table.space import column_space, release, side_by_side
from gpmnet.table.text_body import (
    EMPTY_LAST,
    TextFormat,
    few_numbers,
    is_whole,
    leading_zeros,
    long_fields,
    raise_ragged,
    read_parts,
    same_numbers,
)

STREAMED_BYTES = 1 << 29
"""Files that unpack to more than this are read column by column."""
_CELLS, _LEAST_ROWS = 1 << 22, 1 << 10  # of a text, at a time
_GZIP_TIMES = 4  # so many times as long as the file is a packed table, about


def can_stream(file: Any, kept: list[int]) -> bool:
    """Whether the columns of an open Parquet file can be asked for one by one: they need names of their own."""
    names = file.schema_arrow.names
    flat = len(file.schema) == len(names) and all("." not in names[at] for at in kept)
    return flat and len(set(names)) == len(names)


def from_parquet(
    seen: ColumnFile, file: Any, kept: list[int], na: frozenset[str], warnings: tuple[str, ...]
) -> RawTable:
    """Return the raw form of some columns of an open Parquet file, by their positions in it.

    `seen` says which file it was before it was opened: one that takes its place meanwhile is another.
    """
    fields = [file.schema_arrow.field(at) for at in kept]
    names, renamed = unique_names([field.name for field in fields])
    n = file.metadata.num_rows
    check_shape(n, len(names))
    types = nw.from_native(file.schema_arrow.empty_table()).schema.dtypes()
    numeric = [k for k, at in enumerate(kept) if types[at].is_numeric()]
    single = {types[kept[k]] for k in range(len(kept))} == {nw.Float32()}  # as the whole matrix would be
    numbers = column_space(n, len(numeric), np.float32 if single else np.float64)
    long: list[int] = []  # places of what has to be read as text
    for place, k in enumerate(numeric):
        read_numbers(file, fields[k].name, numbers[:, place])
        if types[kept[k]].is_integer() and len(may_be_codes(numbers[:, [place]])):
            long.append(place)
        release(numbers)
    number_at = np.delete(np.array(numeric, dtype=np.intp), long)
    if long:
        kept_places = [place for place in range(len(numeric)) if place not in long]
        numbers = side_by_side((numbers[:, p] for p in kept_places), n, len(kept_places), numbers.dtype)
    columns: dict[int, AnyColumn] = {
        k: _other(file, fields[k], names[k]) for k in range(len(kept)) if k not in set(number_at.tolist())
    }
    raw = assemble(names, numbers, number_at, columns, na, (*warnings, *renamed))
    if na:  # some numbers of the file may be gaps here
        return raw
    own = {int(at): fields[at].name for at in number_at}
    places = {k: own[at] for k, at in enumerate(raw.number_at.tolist()) if at in own}
    return replace(raw, file=seen.holding(n, places, raw.numbers.dtype))


def _other(file: Any, field: Any, name: str) -> AnyColumn:
    """Return a column that is not numeric."""
    import pyarrow as pa

    if (
        pa.types.is_string(field.type)
        or pa.types.is_large_string(field.type)
        or pa.types.is_integer(field.type)
    ):
        return _text(file, field.name)
    return column_of(nw.from_native(file.read(columns=[field.name], use_threads=False))[field.name], name)


def _text(file: Any, name: str) -> Text:
    """Return a column of text, or of whole numbers, by its distinct spellings, in the order in which they first come."""
    places: dict[str, int] = {}
    parts = [np.empty(0, dtype=np.int32)]
    for batch in file.iter_batches(ROWS, columns=[name], use_threads=False):
        coded = batch.column(0).dictionary_encode()
        lookup = [places.setdefault(str(text).strip(), len(places)) for text in coded.dictionary.to_pylist()]
        codes = coded.indices.fill_null(len(lookup)).to_numpy(zero_copy_only=False)
        parts.append(np.array([*lookup, -1], dtype=np.int32)[codes])
    return Text(np.concatenate(parts), tuple(places))


def is_long_text(path: Path) -> bool:
    """Whether a text file is too large to be held."""
    times = _GZIP_TIMES if path.suffix.lower() == ".gz" else 1
    return times * path.stat().st_size > STREAMED_BYTES


def from_text(path: Path, form: TextFormat, na: frozenset[str]) -> RawTable:
    """Return the raw form of a text table."""
    with long_fields():
        seen = _Seen.of(path, form)
        codes = leading_zeros(path, form, seen.whole()) | seen.long()
        form = replace(form, as_text=form.as_text | seen.texts() | codes)
        few = [at for at in seen.few() if at not in codes]
        notes = same_numbers(path, form, few)
        width, remarks = form.width, form.remarks
        if not form.names[-1] and width > 2 and seen.is_empty[-1]:
            width, remarks = width - 1, (*remarks, EMPTY_LAST)
        names, renamed = unique_names(form.names[:width])
        check_shape(seen.n_rows, width)
        number_at = np.array([at for at in seen.numbers() if at < width and at not in codes], dtype=np.intp)
        numbers, columns = _filled(path, form, seen.n_rows, number_at, width)
    raw = assemble(names, numbers, number_at, columns, na, (*remarks, *renamed))
    ignored = raw.ignored | {0: "row names"} if form.row_names else raw.ignored
    return replace(raw, ignored=ignored, notes=notes | raw.notes)


def _parts(path: Path, form: TextFormat) -> Iterator[pd.DataFrame]:
    return read_parts(path, form, max(_LEAST_ROWS, _CELLS // form.width))


@dataclass(eq=False)
class _Seen:
    """What pandas takes the columns of a text for, part by part: arrays of shape (width,).

    Attributes
    ----------
    n_rows : int
    kinds : dict of str to ndarray of bool
        By letter of a type, the columns that have a part of that type; parts that are all empty do not count.
    is_empty, has_gaps, is_integral : ndarray of bool
        Whether a column has no values, an empty cell, or whole numbers only.
    distinct : dict of int to set
        The numbers of columns that have few of them so far.
    """

    n_rows: int
    kinds: dict[str, NDArray[np.bool_]]
    is_empty: NDArray[np.bool_]
    has_gaps: NDArray[np.bool_]
    is_integral: NDArray[np.bool_]
    distinct: dict[int, set[float]]

    @classmethod
    def of(cls, path: Path, form: TextFormat) -> _Seen:
        """Read a text once."""
        yes, no = np.ones(form.width, dtype=bool), np.zeros(form.width, dtype=bool)
        kinds = {kind: no.copy() for kind in "iufbO"}
        seen = cls(0, kinds, yes.copy(), no.copy(), yes.copy(), {at: set() for at in range(form.width)})
        for part in _parts(path, form):
            seen._add(part)
        if seen.has_gaps[-1]:  # an empty last cell, or a line that ends too early?
            raise_ragged(path, form)
        return seen

    def _add(self, part: pd.DataFrame) -> None:
        self.n_rows += len(part)
        gone = part.isna().to_numpy()
        empty = gone.all(axis=0)
        self.is_empty &= empty
        self.has_gaps |= gone.any(axis=0)
        kind_of = np.array([dtype.kind for dtype in part.dtypes])
        for kind, where in self.kinds.items():
            where |= (kind_of == kind) & ~empty
        floats = np.flatnonzero(kind_of == "f")
        self.is_integral[floats] &= is_whole(part[floats.tolist()].to_numpy(dtype=np.float64))
        for at in [at for at in self.distinct if kind_of[at] in "iuf"]:
            values = part[at].to_numpy(dtype=np.float64)
            for some in (values[:1000], values):  # a column at a time is slow, and few get that far
                self.distinct[at].update(np.unique(some[~np.isnan(some)]).tolist())
                if len(self.distinct[at]) > FEW_NUMBERS:
                    del self.distinct[at]
                    break

    def numbers(self) -> list[int]:
        """Return the columns that are numbers to pandas when it sees all of them."""
        has = self.kinds
        other = has["b"] | has["O"] | (has["u"] & (has["f"] | self.has_gaps))
        return np.flatnonzero(~other).tolist()

    def texts(self) -> set[int]:
        """Return those that are text; what was read as numbers or truth values in some parts is spelled out in all."""
        has = self.kinds
        truth = has["b"] & ~(has["i"] | has["u"] | has["f"] | has["O"] | self.has_gaps)
        return set(np.flatnonzero(~truth).tolist()) - set(self.numbers())

    def whole(self) -> list[int]:
        """Return those that are whole numbers."""
        return [at for at in self.numbers() if self.is_integral[at]]

    def long(self) -> set[int]:
        """Return those of a few whole numbers that are so long that their spellings have to be seen."""
        return {at for at in self.whole() if any(abs(v) >= EXACT for v in self.distinct.get(at, ()))}

    def few(self) -> list[int]:
        """Return those that are a few numbers, not all of them written as whole ones."""
        most = few_numbers(self.n_rows)
        mixed = self.kinds["f"] | self.has_gaps
        return [
            at for at in self.numbers() if mixed[at] and len(self.distinct.get(at, range(most + 1))) <= most
        ]


def _filled(
    path: Path, form: TextFormat, n: int, number_at: NDArray[np.intp], width: int
) -> tuple[NDArray[np.float64], dict[int, AnyColumn]]:
    """Return the numbers of n rows of some columns, and the others, which are text or truth values."""
    numbers = column_space(n, len(number_at), np.float64)
    others = sorted(set(range(width)) - set(number_at.tolist()))
    places: dict[int, dict[str, int]] = {at: {} for at in others}
    codes = {at: np.empty(n, dtype=np.int32) for at in others}
    truths = set(others) - form.as_text
    start = 0
    for part in _parts(path, form):
        rows = slice(start, start + len(part))
        numbers[rows] = part[number_at.tolist()].to_numpy(dtype=np.float64)
        release(numbers)
        for at in others:
            if at in truths:
                codes[at][rows] = part[at].to_numpy(dtype=np.int32)
                continue
            found, spellings = pd.factorize(part[at])
            place = places[at]
            lookup = [place.setdefault(text.strip(), len(place)) for text in spellings]
            codes[at][rows] = np.array([*lookup, -1], dtype=np.int32)[found]
        start = rows.stop
    columns: dict[int, AnyColumn] = {
        at: Labelled(codes[at], ("False", "True"), "boolean")
        if at in truths
        else Text(codes[at], tuple(places[at]))
        for at in others
    }
    return numbers, columns
