"""How many values a table lacks, which variables it hardly has together, and what was done about it, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import quote
from gpmnet.table import LEAST_TOGETHER, Table

_MOST_COMPARED = 2000  # variables of which all pairs are counted
_NAMED = 5  # pairs


def n_together(
    observed: NDArray[np.bool_], first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return how many rows have both variables of pairs, (m,), by which values were observed, (n, d)."""
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    both = [np.count_nonzero(observed[:, a] & observed[:, b]) for a, b in pairs]
    return np.array(both, dtype=np.intp)


def rarely_together(table: Table) -> str:
    """Return a sentence on the pairs that too few rows have both of to be tested; nothing where there are none.

    Of more than 2,000 variables nothing is said.
    """
    d = len(table.names)
    if not table.has_gaps or d > _MOST_COMPARED:
        return ""
    there = (~table.gaps).astype(np.float32)
    first, second = np.nonzero(np.triu(there.T @ there < LEAST_TOGETHER - 0.5, k=1))
    if not len(first):
        return ""
    ends = zip(first[:_NAMED].tolist(), second[:_NAMED].tolist(), strict=True)
    named = "; ".join(f"{quote(table.names[a])} and {quote(table.names[b])}" for a, b in ends)
    rest = f"; and {len(first) - _NAMED:,} more pairs" if len(first) > _NAMED else ""
    return (
        f"fewer than {LEAST_TOGETHER} rows have both variables of a pair, which was not tested: {named}{rest}"
    )


def gap_notes(table: Table) -> tuple[str, ...]:
    """Return what a reader should know of the gaps of a table and of what was done about them."""
    filling = table.filling
    if filling is None or not table.has_gaps:
        return ()
    gaps = table.gaps
    lacking, columns = int(gaps.sum()), int(gaps.any(axis=0).sum())
    complete = int((~gaps.any(axis=1)).sum())
    said = (
        f"{lacking:,} values ({lacking / gaps.size:.1%}) of {columns:,} column{'s' * (columns > 1)} are missing, and "
        f"{complete:,} of {table.n_rows:,} rows are complete"
    )
    if filling.needs == "set":
        done = (
            "every test uses the rows that have all that it needs (n_rows of an edge, of the test that decides); "
            f"{_draws(filling.n_draws)}"
        )
    else:
        done = (
            f"{filling.n_draws} complete draws were fitted and their answers pooled; a test uses the rows that have both "
            "variables, n_rows of an edge"
        )
    rare = rarely_together(table)
    return (f"{said}; {done}", *([rare] if rare else []))


def _draws(count: int) -> str:
    if count == 1:
        return "neighborhoods were looked for in one completed table, from which Omega and shapes come"
    return (
        f"neighborhoods are what {count} completed tables agree on, and Omega and shapes come from the first"
    )
