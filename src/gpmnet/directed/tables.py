r"""Discrete variables given discrete parents: factorised normalised maximum likelihood.

A cell of the parents' values with N rows, :math:`N_k` of them at level k of the child's r, is worth

.. math:: \sum_k N_k \log(N_k / N) - \log C(N, r),

the shortest code length of those rows up to the best in hindsight; C is the sum of the maximised likelihoods of all
sequences of N values (Roos, Silander, Kontkanen, Myllymaki 2008). Empty cells cost nothing and no prior has to be chosen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpmnet.directed.cells import Cells
from gpmnet.directed.score import FamilyScore, Floats, Ints, Parents

_EXACT = 1000
"""Up to so many rows C(N, 2) is summed; above, its expansion is right to nine digits."""
_LISTED = 1 << 20
"""Cells of up to so many rows have their cost in a list; that of larger ones, which are few, is computed."""


def log_complexities(size: Floats, r: int) -> Floats:
    r"""Return log C(N, r) for some N, (k,), and r levels.

    C(N, 2) is :math:`\sum_k N! / ((N-k)! N^k)` by Abel's identity; then :math:`C(N, r+2) = C(N, r+1) + (N/r) C(N, r)`
    (Kontkanen, Myllymaki 2007).

    Examples
    --------
    >>> np.exp(log_complexities(np.arange(3.0), 2)).round(3)  # of one value: 1 + 1; of two: 1 + 1/2 + 1
    array([1. , 2. , 2.5])
    """
    if r == 1:
        return np.zeros(len(size))
    last = np.log(_two_levels(size))
    before = np.zeros(len(size))
    with np.errstate(divide="ignore"):
        log_size = np.log(size)
    for k in range(1, r - 1):
        before, last = last, np.logaddexp(last, log_size - np.log(k) + before)
    return last


def _two_levels(size: Floats) -> Floats:
    found, is_small = np.empty(len(size)), size <= _EXACT
    small, large = size[is_small], size[~is_small]
    total, term = np.ones_like(small), np.ones_like(small)
    for k in range(1, 1 + int(small.max(initial=0.0))):
        term = term * np.maximum(small - k + 1, 0.0) / np.maximum(small, 1.0)
        total += term
    root = np.sqrt(np.pi * large / 2)
    found[is_small] = total
    found[~is_small] = root + 2 / 3 + np.sqrt(np.pi / (2 * large)) / 12 - 4 / (135 * large)
    return found


class TableScore(FamilyScore):
    """The code length that discrete parents save of a discrete child."""

    def __init__(self, cells: Cells) -> None:
        self.d, self.cells = len(cells.levels), cells
        listed = np.arange(min(cells.n, _LISTED) + 1, dtype=np.float64)
        self._log_counts = _n_log_n(listed)
        # of a cell: its N log N and its complexity
        self._cell_cost = {
            r: self._log_counts + log_complexities(listed, r) for r in sorted(set(cells.levels)) if r
        }
        self._known: dict[tuple[int, Parents], float] = {}

    def score(self, child: int, parents: Parents) -> float:
        """Return the code length saved by a set of discrete parents."""
        key = child, parents
        if key not in self._known:
            with_parents, alone = (self._length(child, *self.cells.of(given)) for given in (parents, ()))
            self._known[key] = with_parents - alone
        return self._known[key]

    def gains(self, child: int, parents: Parents, candidates: Ints) -> Floats:
        """Return what each discrete candidate saves beyond the parents."""
        cell, count = self.cells.of(parents)
        now = self._length(child, cell, count)
        found = [
            self._length(child, *self.cells.split(cell, count, other)) - now for other in candidates.tolist()
        ]
        return np.array(found, dtype=np.float64)

    def _length(self, child: int, cell: Ints, count: int) -> float:
        r = self.cells.levels[child]
        counts = _counted(cell * r + self.cells.codes[child], count * r)
        rows = np.bincount(cell, minlength=count)
        fit = _looked_up(self._log_counts, counts, _n_log_n).sum()
        cost = _looked_up(
            self._cell_cost[r], rows, lambda size: _n_log_n(size) + log_complexities(size, r)
        ).sum()
        return float(fit - cost)


def _counted(places: Ints, most: int) -> Ints:
    """Return how many rows each place below `most` has, in their order, but for those without; memory as the rows take."""
    if most > 2 * len(places):
        return np.unique(places, return_counts=True)[1]
    counts = np.bincount(places, minlength=most)
    return counts[counts > 0]


def _n_log_n(count: Floats) -> Floats:
    return np.asarray(count * np.log(np.maximum(count, 1.0)))


def _looked_up(listed: Floats, counts: Ints, compute: Callable[[Floats], Floats]) -> Floats:
    """Return what is listed for counts, and computed for those beyond the list."""
    if counts.max(initial=0) < len(listed):
        return np.asarray(listed[counts])
    found = listed[np.minimum(counts, len(listed) - 1)]
    beyond = counts >= len(listed)
    found[beyond] = compute(counts[beyond].astype(np.float64))
    return found
