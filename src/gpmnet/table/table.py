"""`Table`: typed, immutable columns, and the one way to make it from anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpmnet.errors import InputError, one_line, quote
from gpmnet.parts import resolve
from gpmnet.table.duplicates import RELABELLED_UP_TO, find_duplicates
from gpmnet.table.encode import (
    Encoded,
    break_ties,
    ranks_and_ties,
    row_order,
    sample_ranks,
    values_at_scores,
)
from gpmnet.table.frames import from_array, from_frame, is_frame
from gpmnet.table.infer import (
    Coded,
    Decided,
    NumberFacts,
    code_numbers,
    label_column,
    number_column,
    number_facts,
)
from gpmnet.table.missing import MISSING, MissingPolicy
from gpmnet.table.raw import RawTable
from gpmnet.table.read import read_raw
from gpmnet.table.schema import Column, Schema, check_kinds
from gpmnet.table.space import columns_at_a_time, is_on_disk, release, rows_of, side_by_side


@dataclass(frozen=True, eq=False)
class Table:
    """The active columns of a table: numbers as one matrix, categories as codes.

    Make one with `load_table`, which copies: the table shares no memory with its source.

    Attributes
    ----------
    schema : Schema
        All columns, ignored ones included.
    numbers : ndarray of shape (n, k), float32 or float64
        Values of the variables encoded as scores, in the order of the schema.
    codes : ndarray of int16, shape (n, number of discrete variables)
    fine_codes : ndarray of int16, shape (n, number of discrete variables)
        The same before levels were pooled: what tests are given. As codes where none were.
    """

    schema: Schema
    numbers: NDArray[np.floating]
    codes: NDArray[np.int16]
    fine_codes: NDArray[np.int16]

    def __post_init__(self) -> None:
        for name in ("numbers", "codes", "fine_codes"):
            view = getattr(self, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    @cached_property
    def variables(self) -> tuple[Column, ...]:
        """The columns that take part in a fit."""
        return self.schema.active

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(column.name for column in self.variables)

    @cached_property
    def is_discrete(self) -> NDArray[np.bool_]:
        """Whether each variable is encoded as codes, shape (d,)."""
        return np.array([column.encoding == "codes" for column in self.variables], dtype=bool)

    @cached_property
    def n_levels(self) -> NDArray[np.intp]:
        """Number of levels of each variable, 0 for those encoded as scores, shape (d,)."""
        return np.array(
            [len(c.levels) if c.encoding == "codes" else 0 for c in self.variables], dtype=np.intp
        )

    def values(self) -> NDArray[np.float64]:
        """Return numbers and codes as one matrix of shape (n, d), in the order of the variables."""
        values = np.empty((self.n_rows, len(self.names)))
        values[:, ~self.is_discrete] = self.numbers
        values[:, self.is_discrete] = self.codes
        return values

    def encode(self, seed: int = 0, most: int | None = None) -> Encoded:
        """Return ranks and codes, rows in the order that `row_order` gives them; `seed` decides how ties are broken.

        Parameters
        ----------
        most : int, optional
            Of a longer table this many rows, drawn at random and ranked among themselves; the other rows are looked at
            a few columns at a time.
        """
        if most is not None and most < self.n_rows:
            return self._sampled(seed, most)
        scored, coded = self._named("scores"), self._named("codes")
        ranks, tied, groups = ranks_and_ties(self.numbers)
        ranks[:, tied] = groups  # what tells values apart, until ties are broken
        rows = row_order([(scored, ranks), (coded, self.fine_codes)], self.n_rows)
        for column in ranks.T:
            column[:] = column[rows]
        groups = groups[rows]
        break_ties(ranks, tied, groups, scored, seed)
        return Encoded(
            names=self.names,
            is_discrete=self.is_discrete,
            ranks=ranks,
            codes=self.codes[rows],
            n_levels=self.n_levels[self.is_discrete],
            fine_codes=self.fine_codes[rows],
            tied=tied,
            groups=np.asfortranarray(groups),
            rows=rows,
        )

    def _named(self, encoding: str) -> list[str]:
        return [column.name for column in self.variables if column.encoding == encoding]

    def _sampled(self, seed: int, most: int) -> Encoded:
        """Return what `encode(seed).take(...)` would of a random sample, without the ranks of all rows."""
        scored, coded = self._named("scores"), self._named("codes")
        tied: list[int] = []
        step = columns_at_a_time(self.n_rows, 512)

        def apart() -> Iterator[tuple[list[str], NDArray[np.integer]]]:
            for start in range(0, len(scored), step):
                ranks, at, groups = ranks_and_ties(self.numbers[:, start : start + step])
                release(self.numbers)
                ranks[:, at] = groups
                tied.extend((start + at).tolist())
                yield scored[start : start + step], ranks
            yield coded, self.fine_codes

        order = row_order(apart(), self.n_rows)
        places = np.sort(np.random.default_rng(seed).choice(self.n_rows, most, replace=False))
        rows = order[places]
        values = rows_of(self.numbers, rows)
        at = np.array(tied, dtype=np.intp)
        ranks, groups = sample_ranks(values, at, [scored[k] for k in tied], places, seed)
        return Encoded(
            names=self.names,
            is_discrete=self.is_discrete,
            ranks=ranks,
            codes=self.codes[rows],
            n_levels=self.n_levels[self.is_discrete],
            fine_codes=self.fine_codes[rows],
            tied=at,
            groups=groups,
            rows=rows,
        )

    def decode(self, name: str, encoded: ArrayLike) -> NDArray[Any]:
        """Return the values of a variable behind normal scores, or the labels behind codes."""
        if name not in self.names:
            raise InputError(f"{quote(name)} is not a variable of this table")
        at, column = self.names.index(name), self.schema[name]
        if self.is_discrete[at]:
            return np.array(column.levels, dtype=object)[np.asarray(encoded, dtype=np.intp)]
        values = values_at_scores(
            self.numbers[:, np.count_nonzero(~self.is_discrete[:at])], np.asarray(encoded)
        )
        release(self.numbers)
        if column.levels:  # ordered categories: positions among the levels
            return np.array(column.levels, dtype=object)[values.astype(np.intp)]
        return values

    def __repr__(self) -> str:
        kinds = [column.kind for column in self.variables]
        counts = ", ".join(
            f"{kinds.count(k)} {k}" for k in ("continuous", "ordinal", "discrete") if k in kinds
        )
        return f"Table({self.n_rows:,} rows, {len(kinds):,} variables: {counts or 'none'})"


def load_table(
    source: Any,
    *,
    kinds: Mapping[Any, str] | None = None,
    missing: str | MissingPolicy = "error",
    names: Sequence[object] | None = None,
    na: str | Sequence[str] = (),
    **reading: Any,
) -> Table:
    """Return the `Table` of a file, a data frame or an array.

    Parameters
    ----------
    source : path, ndarray, pandas, polars or pyarrow table, or Table
        A `Table` is returned as it is.
    kinds : dict, optional
        Kinds that overrule the inferred ones, by column name.
    missing : {"error", "drop"} or MissingPolicy
        Refuse gaps, or keep the complete rows only; kinds are inferred from all rows.
    names : sequence, optional
        Column names of an array.
    na : str or sequence of str
        Spellings that mean "missing" in every column, beside the empty cell.
    **reading
        How to read a file: separator, encoding, header, transpose, sheet, max_gb, max_columns; see
        `gpmnet.table.reading.Reading`.

    Examples
    --------
    >>> import pandas as pd
    >>> load_table(pd.DataFrame({"dose": [0.1, 0.7, 0.4, 1.2, 0.9, 0.3] * 2, "sex": ["f", "m"] * 6}))
    Table(12 rows, 2 variables: 1 continuous, 1 discrete)
    """
    if isinstance(source, Table):
        if kinds or na or names is not None or reading:
            raise InputError("kinds, names and the like must be given when the table is first loaded")
        return source
    policy = resolve("missing", missing, MISSING, MissingPolicy)
    raw = load_raw(source, names=names, na=na, **reading)
    decided = _decided(kinds, raw)
    schema, coded, positions = _understand(raw, decided)
    rows = policy.rows(raw, schema)
    if len(rows) < raw.n_rows:
        note = f"{len(rows):,} of {raw.n_rows:,} rows kept: the others have missing values"
        raw = replace(raw.take(rows), warnings=(*raw.warnings, note))
        announced = {c.name: Decided(c.kind, c.why, firm=False) for c in schema}
        schema, coded, positions = _understand(raw, announced | decided)
    if len(schema.active) < 2:
        left_out = [c for c in schema.columns if not c.active][:5]
        reasons = "; ".join(f"{quote(c.name)}: {_why_left_out(c)}" for c in left_out)
        raise InputError(f"fewer than two usable columns remain ({reasons})")
    return _build(raw, schema, coded, positions)


def _why_left_out(column: Column) -> str:
    return column.why if column.duplicate_of is None else f"a duplicate of {quote(column.duplicate_of)}"


def describe(source: Any, *, kinds: Mapping[Any, str] | None = None, **options: Any) -> Schema:
    """Return what each column would be taken for, gaps and all."""
    raw = load_raw(source, **options)
    return _understand(raw, _decided(kinds, raw))[0]


def load_raw(
    source: Any, *, names: Sequence[object] | None = None, na: str | Sequence[str] = (), **reading: Any
) -> RawTable:
    """Return the raw form of a file, frame or array, before kinds are inferred."""
    spellings = frozenset({na} if isinstance(na, str) else map(str, na))
    is_array = isinstance(source, np.ndarray | list)
    if names is not None and not is_array:
        raise InputError(f"names: only for arrays, not for {type(source).__name__}, which has its own")
    if isinstance(source, str | Path):
        return read_raw(source, na=spellings, **reading)
    if reading:
        raise InputError(f"{', '.join(sorted(reading))}: only for files, not for {type(source).__name__}")
    if is_frame(source):
        return from_frame(source, spellings)
    if is_array:
        return from_array(_array(source), names, spellings)
    raise InputError(
        f"cannot read a table from {type(source).__name__}; give a file, a data frame or a dense array (not a sparse one)"
    )


def _array(source: NDArray[Any] | list[Any]) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.asanyarray(source)  # masks stay
    except ValueError as error:
        raise InputError(f"the rows of the list are not of equal length: {one_line(error)}") from error
    if isinstance(source, list) and array.dtype.kind in "US":
        return np.array(source, dtype=object)  # or numbers and gaps beside text would become text
    return array


def _decided(kinds: Mapping[Any, str] | None, raw: RawTable) -> dict[str, Decided]:
    beforehand = {raw.names[at]: Decided("ignored", why) for at, why in raw.ignored.items()}
    said = check_kinds(kinds, raw.names)
    return beforehand | {name: Decided(kind, "you said so") for name, kind in said.items()}


def _understand(
    raw: RawTable, decided: dict[str, Decided]
) -> tuple[Schema, dict[int, Coded], dict[int, NDArray[np.float64]]]:
    """Infer all kinds; return the schema, the codes and the positions of long ordered categories."""
    facts = number_facts(raw.numbers)
    columns: dict[int, Column] = {}
    coded: dict[int, Coded] = {}
    positions: dict[int, NDArray[np.float64]] = {}
    for k, at in enumerate(raw.number_at.tolist()):
        name = raw.names[at]
        columns[at], codes = number_column(
            name, k, raw.numbers[:, k], facts, decided.get(name), at in raw.dates
        )
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
    for at, first in _duplicates(raw, facts, columns, positions).items():
        columns[at] = replace(columns[at], duplicate_of=raw.names[first])
    ordered = tuple(columns[at] for at in range(len(raw.names)))
    return Schema(ordered, raw.n_rows, raw.warnings), coded, positions


def _duplicates(
    raw: RawTable, facts: NumberFacts, columns: dict[int, Column], positions: dict[int, NDArray[np.float64]]
) -> dict[int, int]:
    used = {at for at, column in columns.items() if column.kind != "ignored"}
    # A value that hardly repeats makes any two columns one-to-one; only their order can then be compared.
    limit = min(RELABELLED_UP_TO, raw.n_rows // 4)
    long = [at for at in positions if columns[at].n_distinct > limit]
    few: dict[int, NDArray[np.integer]] = {
        at: labels.codes for at, labels in raw.labelled.items() if at in used and at not in long
    }
    is_used = np.array([at in used for at in raw.number_at], dtype=bool)
    is_few = facts.n_distinct <= limit
    for k in np.flatnonzero(is_used & is_few):
        at = int(raw.number_at[k])
        few[at] = code_numbers(raw.names[at], raw.numbers[:, k]).codes
    many = np.flatnonzero(is_used & ~is_few)
    if not long:
        return find_duplicates(few, raw.numbers, raw.number_at[many].tolist(), many)
    column_of = {int(raw.number_at[k]): k for k in many}
    many_at = sorted((*column_of, *long))  # the first column stands for all
    parts = (positions[at] if at in positions else raw.numbers[:, column_of[at]] for at in many_at)
    return find_duplicates(few, side_by_side(parts, raw.n_rows, len(many_at), np.float64), many_at)


def _build(
    raw: RawTable, schema: Schema, coded: dict[int, Coded], positions: dict[int, NDArray[np.float64]]
) -> Table:
    scored = [schema.index(c.name) for c in schema.active if c.encoding == "scores"]
    discrete = [schema.index(c.name) for c in schema.active if c.encoding == "codes"]
    if len(scored) == raw.numbers.shape[1] and not positions:
        # In memory it may be the caller's own; a file on the disk is ours.
        numbers = raw.numbers if is_on_disk(raw.numbers) else raw.numbers.copy(order="K")
    else:
        column_of = {at: k for k, at in enumerate(raw.number_at.tolist())}
        parts = (positions[at] if at in positions else raw.numbers[:, column_of[at]] for at in scored)
        kind = np.float64 if positions else raw.numbers.dtype
        numbers = side_by_side(parts, raw.n_rows, len(scored), kind)
    chosen = [coded[at] for at in discrete]
    codes = _stacked([one.codes for one in chosen], raw.n_rows)
    fine = codes
    if any(one.fine is not None for one in chosen):
        fine = _stacked([one.codes if one.fine is None else one.fine for one in chosen], raw.n_rows)
    return Table(schema, numbers, codes, fine)


def _stacked(codes: list[NDArray[np.int16]], n: int) -> NDArray[np.int16]:
    return np.stack(codes, axis=1) if codes else np.empty((n, 0), dtype=np.int16)
