"""Kinds of all columns of a raw table, and which of them say the same.

Long columns are looked at one by one, as many side by side as there are threads, or by the workers of a cluster
(`gpmnet.table.spread`). The sort that counts their values ranks
them too, and what these ranks add to the order of the rows is kept: a table is sorted once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpmnet import parallel
from gpmnet.table import facts
from gpmnet.table.duplicates import RELABELLED_UP_TO, find_duplicates
from gpmnet.table.infer import Coded, Decided, code_numbers, label_column, number_column
from gpmnet.table.order import add_columns
from gpmnet.table.ranked import ranked
from gpmnet.table.raw import RawTable
from gpmnet.table.schema import Column, Schema
from gpmnet.table.space import columns_at_a_time, release, side_by_side
from gpmnet.table.spread import spread_facts


@dataclass(frozen=True, eq=False)
class Understood:
    """What the columns of a raw table are.

    Attributes
    ----------
    schema : Schema
    coded : dict
        Codes of the columns that are encoded so, by position.
    positions : dict
        Positions among their levels of long ordered categories, by position.
    sums : ndarray of uint64, shape (n,), or None
        What the ranks of all columns that are encoded as scores add to the order of the rows (`gpmnet.table.order`), of a
        long table without gaps in these.
    """

    schema: Schema
    coded: dict[int, Coded]
    positions: dict[int, NDArray[np.float64]]
    sums: NDArray[np.uint64] | None


def understand(raw: RawTable, decided: dict[str, Decided]) -> Understood:
    """Infer all kinds."""
    columns: dict[int, Column] = {}
    coded: dict[int, Coded] = {}
    positions: dict[int, NDArray[np.float64]] = {}
    numbers, sums = _long_columns(raw, decided) if raw.n_rows > facts.LONG_ROWS else _columns(raw, decided)
    for at, (column, codes) in zip(raw.number_at.tolist(), numbers, strict=True):
        columns[at] = column
        if codes is not None:
            coded[at] = codes
    for at, labels in raw.labelled.items():
        name = raw.names[at]
        columns[at], found = label_column(name, labels, decided.get(name))
        if isinstance(found, Coded):
            coded[at] = found
        elif found is not None:
            positions[at] = found
    for at, notes in raw.notes.items():
        columns[at] = replace(columns[at], notes=(*notes, *columns[at].notes))
    twins = _duplicates(raw, columns, positions)
    if sums is not None:
        sums = _settled(sums, raw, columns, positions, twins)
    for at, first in twins.items():
        columns[at] = replace(columns[at], duplicate_of=raw.names[first])
    ordered = tuple(columns[at] for at in range(len(raw.names)))
    return Understood(Schema(ordered, raw.n_rows, raw.warnings), coded, positions, sums)


def _columns(raw: RawTable, decided: dict[str, Decided]) -> tuple[list[tuple[Column, Coded | None]], None]:
    """Return what the columns of numbers are, many of them at a time."""
    found, columns = facts.number_facts(raw.numbers), []
    for k, at in enumerate(raw.number_at.tolist()):
        said = decided.get(raw.names[at]), at in raw.dates
        columns.append(number_column(raw.names[at], k, raw.numbers[:, k], found, *said))
    return columns, None


def _long_columns(
    raw: RawTable, decided: dict[str, Decided]
) -> tuple[list[tuple[Column, Coded | None]], NDArray[np.uint64]]:
    """Return what long columns of numbers are, and the sums of the ranks of those that are encoded as scores."""
    k = raw.numbers.shape[1]
    worth = columns_at_a_time(raw.n_rows, max(k, 1))
    known, spread = spread_facts(raw, decided)
    parts = parallel.side_by_side(partial(_some_columns, raw, decided, known), k, worth)
    sums = parts[0][1]
    for more in (*spread, *(own for _, own in parts[1:])):
        sums += more
    return [column for columns, _ in parts for column in columns], sums


def _some_columns(
    raw: RawTable, decided: dict[str, Decided], known: dict[int, facts.NumberFacts], part: slice
) -> tuple[list[tuple[Column, Coded | None]], NDArray[np.uint64]]:
    columns, sums = [], np.zeros(raw.n_rows, dtype=np.uint64)
    for k in range(part.start, part.stop):
        at = int(raw.number_at[k])
        name, values = raw.names[at], np.ascontiguousarray(raw.numbers[:, k])
        found, ranks = (known[k], None) if k in known else facts.long_facts(values)
        column, coded = number_column(name, 0, values, found, decided.get(name), at in raw.dates)
        columns.append((column, coded))
        if column.encoding == "scores" and ranks is not None:
            add_columns(sums, [name], ranks[:, None])
        release(raw.numbers)
    return columns, sums


def _settled(
    sums: NDArray[np.uint64],
    raw: RawTable,
    columns: dict[int, Column],
    positions: dict[int, NDArray[np.float64]],
    twins: dict[int, int],
) -> NDArray[np.uint64] | None:
    """Return the sums with long ordered categories and without columns that repeat others; None if there are gaps."""
    scored = [at for at, column in columns.items() if column.encoding == "scores"]
    if any(columns[at].n_missing for at in scored if at not in twins):
        return None
    place = {int(at): k for k, at in enumerate(raw.number_at)}
    for at in scored:
        if at in positions and at not in twins:
            add_columns(sums, [raw.names[at]], ranked(positions[at]).ranks[:, None])
        elif at not in positions and at in twins and not columns[at].n_missing:
            values = np.ascontiguousarray(raw.numbers[:, place[at]])
            add_columns(sums, [raw.names[at]], ranked(values).ranks[:, None], times=-1)
            release(raw.numbers)
    return sums


def _duplicates(
    raw: RawTable, columns: dict[int, Column], positions: dict[int, NDArray[np.float64]]
) -> dict[int, int]:
    used = {at for at, column in columns.items() if column.kind != "ignored"}
    # A value that hardly repeats makes any two columns one-to-one; only their order can then be compared.
    limit = min(RELABELLED_UP_TO, raw.n_rows // 4)
    long = [at for at in positions if columns[at].n_distinct > limit]
    few: dict[int, NDArray[np.integer]] = {
        at: labels.codes for at, labels in raw.labelled.items() if at in used and at not in long
    }
    is_used = np.array([at in used for at in raw.number_at], dtype=bool)
    is_few = np.array([columns[at].n_distinct <= limit for at in raw.number_at.tolist()], dtype=bool)
    for k in np.flatnonzero(is_used & is_few):
        at = int(raw.number_at[k])
        few[at] = code_numbers(raw.names[at], raw.numbers[:, k]).codes
        release(raw.numbers)
    many = np.flatnonzero(is_used & ~is_few)
    if not long:
        return find_duplicates(few, raw.numbers, raw.number_at[many].tolist(), many)
    column_of = {int(raw.number_at[k]): k for k in many}
    many_at = sorted((*column_of, *long))  # the first column stands for all
    parts = (positions[at] if at in positions else raw.numbers[:, column_of[at]] for at in many_at)
    return find_duplicates(few, side_by_side(parts, raw.n_rows, len(many_at), np.float64), many_at)
