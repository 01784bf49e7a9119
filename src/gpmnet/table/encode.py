r"""Values to what the engines compute with: ranks, their normal scores, and centred indicators.

Conditional independence survives any strictly monotone map of one variable, so every column of numbers is
replaced by its ranks, and where numbers are needed by their normal scores

.. math:: z_r = \Phi^{-1}\big((\mathrm{rank}_r + 1/2) / n\big), \qquad \mathrm{rank}_r \in 0..n-1,

which removes units, skew and heavy tails. Ties are broken at random: the randomised value is the value plus
independent noise, so counts and zero-inflated columns keep their exact graph. The noise is a hash of the
seed, the column's name and the row's position. Which rows share a value is kept beside the ranks, for whatever can do
without the noise.

Rows are put in an order that depends on nothing but what they hold (`gpmnet.table.order`). Whatever goes by the position of
a row, noise, folds, samples, the last bits of sums, is thereby the same for a table whose rows or columns come in another
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from gpmnet.table.order import name_noise, noise_at
from gpmnet.table.space import column_space, is_mapped, is_on_disk, release

Needs: TypeAlias = Literal["pair", "set"]
_SORTED_FROM = 1000  # times fewer order statistics than rows: beyond that all rows are sorted


@dataclass(frozen=True, slots=True)
class Encoded:
    """A table ready for an engine, its rows in an order of their own (`gpmnet.table.order`).

    Attributes
    ----------
    names : tuple of str
        The d variables in their order.
    is_discrete : ndarray of bool, shape (d,)
    ranks : ndarray of int32, shape (n, number of variables with scores)
        0..n-1 in every column.
    codes : ndarray of int16, shape (n, number of discrete variables)
    n_levels : ndarray of int, shape (number of discrete variables,)
    fine_codes : ndarray of int16, shape (n, number of discrete variables)
        Codes before levels were pooled: what tests are given.
    tied : ndarray of int, shape (t,)
        Which columns of `ranks` had ties.
    groups : ndarray of int32, shape (n, t)
        Number of each row's value among the distinct values of those columns.
    rows : ndarray of int, shape (n,)
        Which row of the table each one is.
    observed : ndarray of bool, shape (n, d), or None
        Which values were observed; None for all. The others are a draw.
    needs : {"pair", "set"}
        What the rows of a test must have observed; see `gpmnet.table.missing.Filling`.
    """

    names: tuple[str, ...]
    is_discrete: NDArray[np.bool_]
    ranks: NDArray[np.int32]
    codes: NDArray[np.int16]
    n_levels: NDArray[np.intp]
    fine_codes: NDArray[np.int16]
    tied: NDArray[np.intp]
    groups: NDArray[np.int32]
    rows: NDArray[np.intp]
    observed: NDArray[np.bool_] | None = None
    needs: Needs = "set"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.ranks)

    def take(self, rows: NDArray[np.intp]) -> Encoded:
        """Return some of the rows, ranked among themselves."""
        ranks, groups = (self._space(len(rows), k) for k in (self.ranks.shape[1], len(self.tied)))
        for k in range(ranks.shape[1]):
            ranks[np.argsort(self.ranks[rows, k]), k] = np.arange(len(rows), dtype=np.int32)
            release(self.ranks)
            release(ranks)
        for k in range(len(self.tied)):
            groups[:, k] = np.unique(self.groups[rows, k], return_inverse=True)[1]
            release(self.groups)
            release(groups)
        taken = {name: getattr(self, name)[rows] for name in ("codes", "fine_codes", "rows")}
        if self.observed is not None:
            taken["observed"] = self.observed[rows]
        return replace(self, ranks=ranks, groups=groups, **taken)

    def _space(self, n: int, k: int) -> NDArray[np.int32]:
        """Return space for numbers of some rows: where it is large, on the disk if those of all rows are."""
        return (
            column_space(n, k, np.int32) if is_on_disk(self.ranks) else np.empty((n, k), np.int32, order="F")
        )

    def held(self) -> Encoded:
        """Return the same in memory: a file on the disk that has no name is nothing to another process."""
        if not (is_mapped(self.ranks) or is_mapped(self.groups)):
            return self
        return replace(self, ranks=np.array(self.ranks), groups=np.array(self.groups))

    def __reduce__(self) -> tuple[type[Encoded], tuple[Any, ...]]:
        held = self.held()
        return Encoded, tuple(getattr(held, field.name) for field in fields(held))

    def sample(self, most: int, seed: int) -> Encoded:
        """Return a random sample of so many rows, ranked among themselves; all where there are no more."""
        return self if self.n_rows <= most else self.take(random_places(self.n_rows, most, seed))

    def without_rows(self) -> Encoded:
        """Return the same variables and no row."""
        names = ("ranks", "codes", "fine_codes", "groups", "rows")
        observed = None if self.observed is None else self.observed[:0]
        return replace(self, **{name: getattr(self, name)[:0] for name in names}, observed=observed)

    def of(self, variables: NDArray[np.intp]) -> Encoded:
        """Return some of the variables, by their increasing positions; levels that no row has are left out."""
        discrete = self.is_discrete[variables]
        place = np.cumsum(self.is_discrete) - 1
        scored, coded = (variables - 1 - place[variables])[~discrete], place[variables][discrete]
        tied = np.flatnonzero(np.isin(self.tied, scored))
        codes, fine = (_seen_levels(block[:, coded]) for block in (self.codes, self.fine_codes))
        return replace(
            self,
            names=tuple(self.names[at] for at in variables),
            is_discrete=discrete,
            ranks=_some_columns(self.ranks, scored),
            codes=codes,
            n_levels=codes.max(axis=0, initial=0).astype(np.intp) + 1,
            fine_codes=fine,
            tied=np.searchsorted(scored, self.tied[tied]),
            groups=_some_columns(self.groups, tied),
            observed=None if self.observed is None else self.observed[:, variables],
        )

    @property
    def n_fine_levels(self) -> NDArray[np.intp]:
        """Levels of the fine codes, shape (number of discrete variables,)."""
        found: NDArray[np.intp] = self.fine_codes.max(axis=0, initial=0).astype(np.intp) + 1
        return np.maximum(self.n_levels, found)

    @property
    def scores(self) -> NDArray[np.float32]:
        """Normal scores of the ranks, as large as these; looked up anew each time."""
        return normal_scores(self.ranks)


def _some_columns(array: NDArray[np.int32], columns: NDArray[np.intp]) -> NDArray[np.int32]:
    """Return some columns by their increasing positions; the array itself, which may be on the disk, if these are all."""
    return array if len(columns) == array.shape[1] else array[:, columns]


def random_places(n: int, most: int, seed: int) -> NDArray[np.intp]:
    """Return the places of a random sample of n rows, in increasing order."""
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def _seen_levels(codes: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return codes (n, k) in which the levels that no row has are left out."""
    found = np.empty_like(codes)
    for k, column in enumerate(codes.T):
        found[:, k] = np.unique(column, return_inverse=True)[1]
    return found


def normal_quantiles(n: int) -> NDArray[np.float64]:
    """Return the n normal scores in increasing order; symmetric around 0 to the last bit."""
    upper = ndtri((np.arange(n // 2, n) + 0.5) / n)
    if n % 2:
        upper[0] = 0.0
    return np.concatenate([-upper[::-1][: n // 2], upper])


def normal_scores(ranks: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the normal scores of ranks 0..n-1, (n, k), columns in one piece as `ranks_and_ties` leaves them.

    Examples
    --------
    >>> normal_scores(np.array([[2], [0], [1]], dtype=np.int32)).round(2).ravel()
    array([ 0.97, -0.97,  0.  ], dtype=float32)
    """
    return np.take(normal_quantiles(len(ranks)).astype(np.float32), ranks.T).T


def ranks_and_ties(
    values: NDArray[np.floating], columns_per_block: int = 512
) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.int32]]:
    """Return the ranks of every column, equal values in any order, and which columns have such ties where.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Finite numbers.

    Returns
    -------
    ranks : ndarray of shape (n, k)
    tied : ndarray of shape (t,)
        The columns with ties; see `break_ties`.
    groups : ndarray of shape (n, t)
        In them, the number of each row's value among the distinct ones.

    Notes
    -----
    Time O(k n log n), one sort of each column; memory O(n * columns_per_block) beyond input and output.

    Examples
    --------
    >>> ranks_and_ties(np.array([[3.0], [1.0], [2.0]]))[0].ravel()
    array([2, 0, 1], dtype=int32)
    """
    n, k = values.shape
    ranks = np.empty((k, n), dtype=np.int32)
    in_order = np.arange(n, dtype=np.int32)[None, :]
    tied, groups = [np.empty(0, dtype=np.intp)], [np.empty((0, n), dtype=np.int32)]
    for start in range(0, k, columns_per_block):
        block = np.ascontiguousarray(values[:, start : start + columns_per_block].T)
        order = np.argsort(block, axis=1)
        ordered = np.take_along_axis(block, order, axis=1)
        fresh = ordered[:, 1:] != ordered[:, :-1]
        at = np.flatnonzero(~fresh.all(axis=1))
        if at.size:
            group = np.zeros((len(at), n), dtype=np.int32)
            np.put_along_axis(group, order[at][:, 1:], fresh[at].cumsum(axis=1, dtype=np.int32), axis=1)
            tied.append(start + at)
            groups.append(group)
        np.put_along_axis(ranks[start : start + len(block)], order, in_order, axis=1)
    return ranks.T, np.concatenate(tied), np.concatenate(groups).T


def break_ties(
    ranks: NDArray[np.int32],
    tied: NDArray[np.intp],
    groups: NDArray[np.int32],
    names: Sequence[str],
    seed: int,
    columns_per_block: int = 512,
) -> None:
    """Order equal values by noise of (seed, name, position of the row), in the ranks themselves."""
    n = len(ranks)
    in_order = np.arange(n, dtype=np.int32)[None, :]
    for start in range(0, len(tied), columns_per_block):
        at = tied[start : start + columns_per_block]
        noise = name_noise([names[column] for column in at], n, seed)
        order = np.lexsort((noise, groups[:, start : start + len(at)].T), axis=1)
        broken = np.empty((len(at), n), dtype=np.int32)
        np.put_along_axis(broken, order, in_order, axis=1)
        ranks[:, at] = broken.T


def sample_ranks(
    values: NDArray[np.floating],
    tied: NDArray[np.intp],
    names: Sequence[str],
    places: NDArray[np.intp],
    seed: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the ranks of some rows of a table among themselves, ties broken as in all its rows, and which values are equal.

    Parameters
    ----------
    values : ndarray of shape (m, k)
    tied : ndarray of shape (t,)
        The columns in which the whole table has ties, and their names.
    places : ndarray of shape (m,)
        Positions of the rows among all, in the order of `gpmnet.table.order`.

    Returns
    -------
    ranks : ndarray of shape (m, k)
    groups : ndarray of shape (m, t)
    """
    m, k = values.shape
    ranks = np.empty((m, k), dtype=np.int32, order="F")
    groups = np.empty((m, len(tied)), dtype=np.int32, order="F")
    slot = {int(column): at for at, column in enumerate(tied)}
    for column in range(k):
        order = np.argsort(values[:, column])
        if column in slot:
            at = slot[column]
            groups[:, at] = np.unique(values[:, column], return_inverse=True)[1]
            order = np.lexsort((noise_at(names[at], places, seed), groups[:, at]))
        ranks[order, column] = np.arange(m, dtype=np.int32)
    return ranks, groups


def values_at_scores(values: NDArray[np.floating], scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the values that a column takes at given normal scores: the inverse of `normal_scores`.

    Exact at the scores of the column's own rows; the nearest order statistic elsewhere.
    """
    n = len(values)
    rank = np.clip(np.rint(ndtr(scores.astype(np.float64)) * n - 0.5).astype(np.intp), 0, n - 1)
    wanted = np.unique(rank)
    # A few order statistics are found without all of them.
    ordered = np.partition(values, wanted) if _SORTED_FROM * len(wanted) < n else np.sort(values)
    decoded: NDArray[np.floating] = ordered[rank]
    return decoded


def centred_indicators(
    codes: NDArray[np.int16], n_levels: NDArray[np.intp]
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return indicators of each variable's levels 1, 2, ..., minus their means (level 0 is the reference).

    Returns
    -------
    indicators : ndarray of float32, shape (n, sum of (levels - 1))
    owner : ndarray of int
        Position among the variables of each column.

    Examples
    --------
    >>> centred_indicators(np.array([[0], [1], [1], [0]], dtype=np.int16), np.array([2]))[0].ravel()
    array([-0.5,  0.5,  0.5, -0.5], dtype=float32)
    """
    owner = np.repeat(np.arange(len(n_levels)), n_levels - 1)
    first = np.repeat(np.cumsum(n_levels - 1) - (n_levels - 1), n_levels - 1)
    level = np.arange(len(owner)) - first + 1
    indicators = (codes[:, owner] == level).astype(np.float32)
    indicators -= indicators.mean(axis=0, dtype=np.float64).astype(np.float32)
    return indicators, owner
