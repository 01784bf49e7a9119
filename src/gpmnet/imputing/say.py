"""How many values a table lacks, which variables it hardly has together, and what was done about it, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import quote
from gpmnet.table import LEAST_TOGETHER, Table
from gpmnet.table.together import MOST_COMPARED, apart

_NAMED = 5  # pairs
_THIN = 1 / 3  # of the rows that have both variables


def n_together(
    observed: NDArray[np.bool_], first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return how many rows have both variables of pairs, (m,), by which values were observed, (n, d)."""
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    both = [np.count_nonzero(observed[:, a] & observed[:, b]) for a, b in pairs]
    return np.array(both, dtype=np.intp)


def rarely_together(table: Table) -> str:
    """Return a sentence on the pairs that the gaps leave too little of to be tested; nothing where there are none.

    Of more than 2,000 variables nothing is said.
    """
    d = len(table.names)
    if not table.has_gaps or d > MOST_COMPARED:
        return ""
    place = np.cumsum(table.is_discrete) - 1

    def column(at: int) -> NDArray[np.generic]:
        return table.codes[:, place[at]] if table.is_discrete[at] else table.numbers[:, at - 1 - place[at]]

    first, second = np.nonzero(np.triu(apart(~table.gaps, column), k=1))
    if not len(first):
        return ""
    ends = zip(first[:_NAMED].tolist(), second[:_NAMED].tolist(), strict=True)
    named = "; ".join(f"{quote(table.names[a])} and {quote(table.names[b])}" for a, b in ends)
    rest = f"; and {len(first) - _NAMED:,} more pairs" if len(first) > _NAMED else ""
    return (
        f"fewer than {LEAST_TOGETHER} rows have both variables of a pair, or one of them has one value there, and it was "
        f"not tested: {named}{rest}"
    )


def gap_notes(table: Table, rare: str) -> tuple[str, ...]:
    """Return what a reader should know of the gaps of a table and of what was done about them.

    `rare` is what `rarely_together` says.
    """
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
    return (f"{said}; {done}", *([rare] if rare else []))


def thin_note(
    table: Table, first: NDArray[np.intp], second: NDArray[np.intp], n_rows: NDArray[np.float64]
) -> tuple[str, ...]:
    """Return a sentence where the gaps of sets leave most tests of pairs (m,) few of the rows that have both variables."""
    filling = table.filling
    if filling is None or not table.has_gaps or filling.needs != "set":
        return ()
    both = n_together(~table.gaps, first, second)
    share = (n_rows / np.maximum(both, 1))[both >= LEAST_TOGETHER]
    if not len(share) or np.median(share) >= _THIN:
        return ()
    return (
        f"half of the tests use less than {np.median(share):.0%} of the rows that have both variables, since the sets they "
        'are given have gaps, and miss edges; missing="impute" (--missing impute) uses all of these rows',
    )


def _draws(count: int) -> str:
    if count == 1:
        return "neighborhoods were looked for in one completed table, from which Omega and shapes come"
    return (
        f"neighborhoods are what {count} completed tables agree on, and Omega and shapes come from the first"
    )
