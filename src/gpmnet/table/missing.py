"""What happens to rows with gaps. Each policy is a function from the gaps to the rows that are kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, quote, quote_all
from gpmnet.table.raw import RawTable
from gpmnet.table.schema import Schema

Policy = Callable[[RawTable, Schema], NDArray[np.intp]]


def keep_or_fail(raw: RawTable, schema: Schema) -> NDArray[np.intp]:
    """Keep all rows, or raise naming the columns with gaps and the choices there are."""
    gaps = [column for column in schema.active if column.n_missing]
    if gaps:
        worst = tuple(c.name for c in sorted(gaps, key=lambda c: -c.n_missing))
        complete = len(keep_complete(raw, schema, least=0))
        raise InputError(
            f"{len(gaps)} column{'s' * (len(gaps) > 1)} with missing values (NaN): {quote_all(worst)}; choose "
            f'missing="drop" (--missing drop) to keep the {complete:,} complete rows of {schema.n_rows:,}, or give the '
            'columns you can spare the kind "ignored"'
        )
    return np.arange(schema.n_rows)


def keep_complete(raw: RawTable, schema: Schema, least: int = 2) -> NDArray[np.intp]:
    """Keep the rows without a gap in any active column."""
    complete = np.ones(raw.n_rows, dtype=bool)
    active = {schema.index(column.name) for column in schema.active if column.n_missing}
    for at in active.intersection(raw.labelled):
        complete &= raw.labelled[at].codes >= 0
    in_numbers = np.flatnonzero([at in active for at in raw.number_at])
    complete &= ~np.isnan(raw.numbers[:, in_numbers]).any(axis=1)
    if np.count_nonzero(complete) < least:
        worst = max(schema.active, key=lambda c: c.n_missing)
        raise InputError(
            f"only {np.count_nonzero(complete)} rows of {raw.n_rows:,} are complete; "
            f'{quote(worst.name)} alone lacks {worst.n_missing:,}: give such columns the kind "ignored"'
        )
    return np.flatnonzero(complete)


MISSING: dict[str, Policy] = {"error": keep_or_fail, "drop": keep_complete}


def rows_to_keep(raw: RawTable, schema: Schema, missing: str) -> NDArray[np.intp]:
    """Apply the policy called `missing`."""
    if missing not in MISSING:
        raise InputError(f"missing={quote(missing)} is not one of {', '.join(sorted(MISSING))}")
    return MISSING[missing](raw, schema)
