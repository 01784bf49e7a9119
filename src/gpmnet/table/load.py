"""The one way to make a `Table` from anything, or to say what it would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, one_line, quote, quote_all
from gpmnet.parts import resolve
from gpmnet.table.dependence import Block, dependence_notes, grouping
from gpmnet.table.frames import from_array, from_frame, is_frame
from gpmnet.table.gaps import says_what_helps
from gpmnet.table.infer import Decided
from gpmnet.table.missing import MISSING, MissingPolicy
from gpmnet.table.raw import RawTable
from gpmnet.table.read import read_raw
from gpmnet.table.schema import Column, Schema, check_kinds
from gpmnet.table.space import is_on_disk, side_by_side
from gpmnet.table.table import Table
from gpmnet.table.understand import Understood, understand


def load_table(
    source: Any,
    *,
    kinds: Mapping[Any, str] | None = None,
    missing: str | MissingPolicy = "error",
    names: Sequence[object] | None = None,
    na: str | Sequence[str] = (),
    groups: Any = None,
    **reading: Any,
) -> Table:
    """Return the `Table` of a file, a data frame or an array.

    Parameters
    ----------
    source : path, ndarray, pandas, polars or pyarrow table, or Table
        A `Table` is returned as it is.
    kinds : dict, optional
        Kinds that overrule the inferred ones, by column name.
    missing : {"error", "drop", "impute", "available", "level"} or MissingPolicy
        Refuse gaps, keep the complete rows only, keep all rows and complete them when they are fitted, test every pair on
        the rows that have it, or take missing for a level; kinds are inferred from all rows.
    names : sequence, optional
        Column names of an array.
    na : str or sequence of str
        Spellings that mean "missing" in every column, beside the empty cell.
    groups : str, array of shape (n,) or Block, optional
        Which rows belong together and may depend on each other: a column, which is then no variable; a value for each
        row; or blocks of consecutive rows of a series.
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
        if kinds or na or names is not None or groups is not None or reading:
            raise InputError("kinds, names and the like must be given when the table is first loaded")
        return source
    policy = resolve("missing", missing, MISSING, MissingPolicy)
    raw = load_raw(source, names=names, na=na, **reading)
    decided = _decided(kinds, raw)
    together = None if groups is None else grouping(groups, raw)
    if isinstance(groups, str):
        decided[groups] = Decided("ignored", "says which rows belong together")
    found = understand(raw, decided)
    schema = found.schema
    if any(column.n_missing for column in schema.active):
        admitted = policy.admit(raw, schema)
        if admitted.raw is not raw:
            raw = replace(admitted.raw, warnings=(*raw.warnings, *admitted.notes))
            if together is not None and admitted.rows is not None:
                together = together.take(admitted.rows)
            announced = {c.name: Decided(c.kind, c.why, firm=False) for c in schema} | decided
            for name in admitted.discrete:
                announced[name] = replace(announced[name], kind="discrete", firm=False)
            found = understand(raw, announced)
            schema = found.schema
    if len(schema.active) < 2:
        left_out = [c for c in schema.columns if not c.active][:5]
        reasons = "; ".join(f"{quote(c.name)}: {_why_left_out(c)}" for c in left_out)
        raise InputError(f"fewer than two usable columns remain ({reasons})")
    left = [column.name for column in schema.active if column.n_missing]
    if left and policy.filling is None:
        raise InputError(
            f"{type(policy).__name__} leaves gaps in {quote_all(left)} and does not say what fills them"
        )
    shared = not isinstance(source, str | Path)
    if together is None:
        return replace(_build(raw, _with_signs(raw, schema), found, shared), filling=policy.filling)
    if isinstance(groups, Block):
        schema = _with_signs(raw, schema, groups)
    return replace(_build(raw, schema, found, shared), filling=policy.filling, groups=together.checked())


def _why_left_out(column: Column) -> str:
    return column.why if column.duplicate_of is None else f"a duplicate of {quote(column.duplicate_of)}"


def describe(source: Any, *, kinds: Mapping[Any, str] | None = None, **options: Any) -> Schema:
    """Return what each column would be taken for, gaps and all; its warnings say what would help against these."""
    raw = load_raw(source, **options)
    schema = _with_signs(raw, understand(raw, _decided(kinds, raw)).schema)
    if not any(column.n_missing for column in schema.active):
        return schema
    return replace(schema, warnings=(*schema.warnings, f"missing values: {says_what_helps(raw, schema)}"))


def _with_signs(raw: RawTable, schema: Schema, block: Block | None = None) -> Schema:
    """Return the schema with what its rows show of depending on each other, beyond blocks where there are such."""
    notes = dependence_notes(raw, dict(enumerate(schema.columns)), block)
    return replace(schema, warnings=(*schema.warnings, *notes)) if notes else schema


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


def _build(raw: RawTable, schema: Schema, found: Understood, shared: bool) -> Table:
    """Return the table; where the numbers may be the caller's own (`shared`), it has a copy of them."""
    coded, positions = found.coded, found.positions
    scored = [schema.index(c.name) for c in schema.active if c.encoding == "scores"]
    discrete = [schema.index(c.name) for c in schema.active if c.encoding == "codes"]
    if len(scored) == raw.numbers.shape[1] and not positions:
        ours = is_on_disk(raw.numbers) or (raw.numbers.flags.owndata and not shared)
        numbers = raw.numbers if ours else raw.numbers.copy(order="K")
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
    return Table(schema, numbers, codes, fine, sums=found.sums)


def _stacked(codes: list[NDArray[np.int16]], n: int) -> NDArray[np.int16]:
    return np.stack(codes, axis=1) if codes else np.empty((n, 0), dtype=np.int16)
