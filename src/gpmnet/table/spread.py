"""Long columns of a Parquet file that the workers of a cluster read and sort.

Ranks need whole columns, so columns, and not blocks of rows, are what workers share. A worker says of some of them what the
rules for kinds need, and what their ranks add to the order of the rows. That is a sum modulo 2^64 (`gpmnet.table.order`):
whoever adds which part when, it is the same to the last bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import ComputationError, quote
from gpmnet.jobs import Where
from gpmnet.jobs.given import Given
from gpmnet.jobs.run import Arrays, Tasks, Workplace
from gpmnet.table.column_file import ColumnFile
from gpmnet.table.facts import NumberFacts, long_facts
from gpmnet.table.infer import Decided, number_kind
from gpmnet.table.order import add_columns
from gpmnet.table.raw import RawTable

_where: ContextVar[Where | None] = ContextVar("where", default=None)
_COLUMNS_A_TASK = 4  # that a task looks at: what comes back of it is as long as one column


@dataclass(frozen=True)
class _Column:
    """A column, by its place among the numbers of a table, and what is known of it beforehand."""

    place: int
    name: str
    decided: Decided | None
    dates: bool


@contextmanager
def spread_over(where: Where) -> Iterator[None]:
    """Let tables that are loaded in the body be looked at by the workers of a cluster, if `where` names one."""
    before = _where.set(where)
    try:
        yield
    finally:
        _where.reset(before)


def spread_facts(
    raw: RawTable, decided: Mapping[str, Decided]
) -> tuple[dict[int, NumberFacts], list[NDArray[np.uint64]]]:
    """Return what workers say of columns of numbers, by place, and what those encoded as scores add to the order of rows.

    Nothing is said of columns that are in no file, or in one that a worker cannot read: who asks looks at these himself.

    Notes
    -----
    A worker holds one column and its sort, up to 60 bytes a row; 8 bytes a row travel back from every task of four columns.
    """
    where = _where.get()
    if raw.file is None or where is None or where.cluster is None:
        return {}, []
    asked = [
        _Column(k, raw.names[at], decided.get(raw.names[at]), at in raw.dates)
        for k, at in enumerate(raw.number_at.tolist())
        if k in raw.file.fields
    ]
    parts = [asked[start : start + _COLUMNS_A_TASK] for start in range(0, len(asked), _COLUMNS_A_TASK)]
    sums = np.zeros(raw.n_rows, dtype=np.uint64)
    found: dict[int, NumberFacts] = {}
    why = "not every worker can read it, or has memory to sort its columns"
    try:
        with Workplace(where) as place:
            for number, said in place.results(Tasks(_columns_task, raw.file, parts), range(len(parts))):
                if not said:
                    continue
                sums += said["sums"]
                for at, column in enumerate(parts[number]):
                    own = {name: said[name][at : at + 1] for name in NumberFacts.__slots__}
                    found[column.place] = NumberFacts(**own)
    except ComputationError as error:  # workers that are too small for a column, or are gone
        why = str(error)
    if len(found) < len(asked):
        some = f"{len(asked) - len(found)} of {len(asked)} columns of {quote(raw.file.path)}"
        warnings.warn(f"{some} are sorted by this process: {why}", UserWarning, stacklevel=2)
    return found, [sums]


def _columns_task(given: Given, parts: list[list[_Column]], number: int) -> Arrays:
    """Return the facts of some columns and the sum of their ranks; nothing if their file cannot be read or sorted here."""
    from pyarrow import ArrowException

    file: ColumnFile = given.value
    try:
        found = _facts_and_sums(file, parts[number]) if file.is_here() else {}
    except (OSError, ArrowException, MemoryError):
        return {}
    return found if file.is_here() else {}  # it may have changed meanwhile


def _facts_and_sums(file: ColumnFile, asked: list[_Column]) -> Arrays:
    sums = np.zeros(file.n_rows, dtype=np.uint64)
    found = []
    for column, values in zip(asked, file.columns(one.place for one in asked), strict=True):
        facts, ranks = long_facts(values)
        encoding = number_kind(column.name, 0, file.n_rows, facts, column.decided, column.dates)[2]
        if encoding == "scores" and ranks is not None:
            add_columns(sums, [column.name], ranks[:, None])
        found.append(facts)
        del values, ranks  # before the next one is read
    together = {name: np.concatenate([getattr(one, name) for one in found]) for name in NumberFacts.__slots__}
    return together | {"sums": sums}
