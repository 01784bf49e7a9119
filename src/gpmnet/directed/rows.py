"""Rows in pieces: what a score needs of them are sums, so that of a long table only a few pieces are in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.columns.features import LONG
from gpmnet.directed.score import Floats
from gpmnet.parallel import side_by_side
from gpmnet.table.space import release

PIECE = LONG
"""Rows that are summed at a time at most."""
NUMBERS = 1 << 24
"""Numbers that are made of a piece at most."""
_TOGETHER = 4  # pieces whose sums are added before they meet those of others: the same, however many threads there are


def pieces(n: int, width: int = 1) -> list[slice]:
    """Return n rows in pieces, of each of which `width` numbers a row are made; one where they are few."""
    size = max(1, min(PIECE, NUMBERS // max(width, 1)))
    return [slice(at, min(at + size, n)) for at in range(0, max(n, 1), size)]


def summed(of: Callable[[slice], Floats], n: int, *read: NDArray[Any], width: int = 1) -> Floats:
    """Return the sum of what a function says of the pieces of n rows, those of long tables side by side.

    The order in which sums are made does not depend on threads. What was read of arrays on the disk is given back.
    """
    all_pieces = pieces(n, width)
    groups = [all_pieces[at : at + _TOGETHER] for at in range(0, len(all_pieces), _TOGETHER)]

    def one(piece: slice) -> Floats:
        found = of(piece)
        for array in read:
            release(array)
        return found

    def some(part: slice) -> list[Floats]:
        return [_total(map(one, group)) for group in groups[part]]

    return _total(total for part in side_by_side(some, len(groups), len(groups)) for total in part)


def _total(parts: Iterable[Floats]) -> Floats:
    return reduce(np.add, parts)


def most_kept(n: int, most: int) -> int:
    """Return how many arrays of n rows are kept for later, where those of short tables are `most`.

    >>> most_kept(1000, 64), most_kept(10_000_000, 64)
    (64, 6)
    """
    return max(4, min(most, (1 << 26) // max(n, 1)))
