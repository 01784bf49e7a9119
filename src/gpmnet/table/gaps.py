"""Where the gaps of a table are, what would help, and what can stand in their place before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import quote
from gpmnet.table.infer import code_numbers, free_label
from gpmnet.table.order import name_noise, row_order
from gpmnet.table.raw import Labelled, RawTable, free_name
from gpmnet.table.schema import Column, Schema

LEAST_TOGETHER = 20
"""Two variables that fewer rows have both of are not tested."""
_FIRST = 5  # columns whose leaving out is tried, those with the most gaps
_FEW = 0.1  # of the values missing, up to which tests on the rows that are there lose little; see docs/missing.md
_MORE = 1.2  # times the complete rows that leaving a column out must leave to be worth a word


def gaps_of(schema: Schema) -> list[Column]:
    """Return the active columns with gaps."""
    return [column for column in schema.active if column.n_missing]


def is_missing(raw: RawTable, at: int) -> NDArray[np.bool_]:
    """Return which rows lack a column, by its position, (n,)."""
    if at in raw.labelled:
        return np.asarray(raw.labelled[at].codes < 0)
    return np.asarray(np.isnan(raw.numbers[:, _column_of(raw, at)]))


def complete_rows(raw: RawTable, columns: Iterable[Column]) -> NDArray[np.bool_]:
    """Return which rows have a value in all of some columns, (n,)."""
    position = {name: at for at, name in enumerate(raw.names)}
    wanted = {position[column.name] for column in columns if column.n_missing}
    complete = np.ones(raw.n_rows, dtype=bool)
    for at in wanted.intersection(raw.labelled):
        complete &= raw.labelled[at].codes >= 0
    in_numbers = np.flatnonzero([at in wanted for at in raw.number_at])
    complete &= ~np.isnan(raw.numbers[:, in_numbers]).any(axis=1)
    return complete


def empty_rows(raw: RawTable, schema: Schema) -> NDArray[np.bool_]:
    """Return which rows have a value in no active column, (n,)."""
    if any(column.n_missing == 0 for column in schema.active):
        return np.zeros(raw.n_rows, dtype=bool)
    empty = np.ones(raw.n_rows, dtype=bool)
    for column in schema.active:
        empty &= is_missing(raw, schema.index(column.name))
    return empty


def says_what_helps(raw: RawTable, schema: Schema) -> str:
    """Return, in a sentence, how many rows are complete, without which column they were more, and what uses all rows."""
    active, n = schema.active, raw.n_rows
    complete = int(complete_rows(raw, active).sum())
    said = f"{complete:,} of {n:,} rows are complete"
    worst = sorted(gaps_of(schema), key=lambda c: -c.n_missing)[:_FIRST]
    without = [(int(complete_rows(raw, [c for c in active if c is not one]).sum()), one) for one in worst]
    best, spare = max(without, key=lambda found: found[0])
    if best > _MORE * complete and len(active) > 2:
        said += f', without {quote(spare.name)} {best:,} (leave it out: kind "ignored", --kinds NAME=ignored)'
    rest = ', "drop" the complete ones' if complete >= LEAST_TOGETHER else ""
    share = sum(column.n_missing for column in active) / (n * len(active))
    rather = "available" if share <= _FEW else "impute"
    return (
        f'{said}; missing="available" (--missing available) and "impute" use all rows{rest}; with {_percent(share)} of the '
        f'values missing rather "{rather}"'
    )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "less than 1%"


def with_levels(raw: RawTable, schema: Schema, columns: Sequence[Column]) -> RawTable:
    """Return a table in which missing is a level of some columns that are codes."""
    labelled, moved = dict(raw.labelled), []
    for column in columns:
        at = schema.index(column.name)
        if at not in labelled:
            moved.append(_column_of(raw, at))
            coded = code_numbers(column.name, raw.numbers[:, moved[-1]], at in raw.dates)
            labelled[at] = Labelled(coded.codes.astype(np.int32), coded.levels, "categorical")
        old = labelled[at]
        codes = np.where(old.codes < 0, len(old.labels), old.codes).astype(np.int32)
        labels = (*old.labels, free_label("missing", old.labels))
        labelled[at] = Labelled(codes, labels, "categorical")
    rest = np.setdiff1d(np.arange(raw.numbers.shape[1]), moved)
    numbers = raw.numbers[:, rest] if moved else raw.numbers
    return replace(raw, numbers=numbers, number_at=raw.number_at[rest], labelled=labelled, file=None)


def with_indicators(raw: RawTable, columns: Sequence[Column]) -> RawTable:
    """Return a table with a further column for each of some, at its end, that says where that one is missing."""
    names, labelled = list(raw.names), dict(raw.labelled)
    for column in columns:
        missing = is_missing(raw, raw.names.index(column.name))
        labelled[len(names)] = Labelled(missing.astype(np.int32), ("no", "yes"), "categorical")
        names.append(free_name(f"{column.name} is missing", set(names), {}))
    return replace(raw, names=tuple(names), labelled=labelled, file=None)


def drawn_values(raw: RawTable, schema: Schema, columns: Sequence[Column]) -> RawTable:
    """Return a table in which the gaps of some columns hold draws from their own values, spread evenly over these.

    Which gap gets which draw is decided by the name of the column and what the row holds, whatever the order of the rows.
    """
    numbers, labelled = raw.numbers.copy(), dict(raw.labelled)
    order = _order(raw)
    for column in columns:
        at = schema.index(column.name)
        missing = order[is_missing(raw, at)[order]]
        present = np.setdiff1d(order, missing)
        shuffled = np.argsort(name_noise([column.name], len(missing), 0)[0], kind="stable")
        place = ((shuffled + 0.5) / len(shuffled) * len(present)).astype(np.intp)
        if at in labelled:
            codes = labelled[at].codes.copy()
            codes[missing] = np.sort(codes[present])[place]
            labelled[at] = replace(labelled[at], codes=codes)
        else:
            k = _column_of(raw, at)
            numbers[missing, k] = np.sort(numbers[present, k])[place]
    return replace(raw, numbers=numbers, labelled=labelled, file=None)


def _column_of(raw: RawTable, at: int) -> int:
    """Return which column of the numbers stands at a position of the table."""
    return int(np.flatnonzero(raw.number_at == at)[0])


def _order(raw: RawTable) -> NDArray[np.intp]:
    """Return an order of the rows that depends on nothing but what they hold; see `row_order`."""
    columns = [
        ([raw.names[at]], np.unique(raw.numbers[:, k], return_inverse=True)[1][:, None])
        for k, at in enumerate(raw.number_at.tolist())
    ]
    columns += [([raw.names[at]], column.codes[:, None] + 1) for at, column in raw.labelled.items()]
    return row_order(columns, raw.n_rows)
