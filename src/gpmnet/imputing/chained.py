r"""Complete draws of a table by chained equations with donors.

Each column j with gaps is drawn anew given all others, sweep after sweep. Its features :math:`\phi_j(x_j)` (those of the
tests: all but linear, two cosines of the rank; indicators of levels) are regressed on the features of the other columns,
over a bootstrap sample of the rows that have it. A gap gets the value of a donor, one of the five rows of that sample whose
predicted features are nearest, in units of what the regression leaves (predictive mean matching, Little 1988, of several
means at once, so that a spread or a shape that depends on the others is matched too). The bootstrap, of the regression and
of the donors, is what makes several draws differ by as much as is not known (Rubin and Schenker 1986); of rows that depend
on each other it draws whole groups.

Since a donor brings its value and its features along, columns of every kind are drawn alike and no value appears that was
not observed. Rows and columns are put in an order of their own first: a draw depends on the seed and on what the rows hold,
not on where they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import KDTree
from scipy.special import ndtri
from scipy.stats import rankdata

from gpmnet.columns.functions import Scores, feature_functions, values
from gpmnet.progress import Progress, silent
from gpmnet.table import Table
from gpmnet.table.order import row_order

_DONORS = 5
_ROWS_A_COLUMN = 10  # that a regression needs
_FEWEST = 20  # columns that it has at least
_RIDGE = 1e-3  # of unit variances
_FUNCTIONS = feature_functions(3)
_JITTER = 1e-6  # in units of what is left: rows that are predicted alike are donors at random


def complete_tables(table: Table, seed: int, progress: Progress = silent) -> tuple[Table, ...]:
    """Return complete draws of a table, as many as its `Filling` says; a table without gaps is returned as it is.

    Time: of a sweep of one draw O(n p^2 + n log n) for every column with gaps, with p features of the others, a tenth of the
    rows at most; memory 8 n times the features of all columns.
    """
    filling = table.filling
    if filling is None or not table.has_gaps:
        return (table,)
    rows = _order(table)
    variables = _variables(table, rows)
    clusters = None if table.groups is None else table.groups.codes[rows]
    draws = []
    for number in range(filling.n_draws):
        progress("draws", number, filling.n_draws)
        donors = _Chain(variables, np.random.default_rng([seed, number]), clusters).run(filling.sweeps)
        drawn = _filled(table, variables, donors, rows)
        draws.append(replace(drawn, observed=~table.gaps, needs=filling.needs))
    progress("draws", filling.n_draws, filling.n_draws)
    return tuple(draws)


@dataclass(frozen=True, eq=False)
class _Variable:
    """A column in the order of the draws.

    Attributes
    ----------
    at : int
        Position among the variables of the table.
    seen, gaps : ndarray of int
        The rows that have it, and the others.
    columns : slice
        Where its features stand among all.
    features : ndarray of shape (n, k)
        Centred, with unit variance over the rows that have it; 0 in its gaps.
    """

    at: int
    seen: NDArray[np.intp]
    gaps: NDArray[np.intp]
    columns: slice
    features: NDArray[np.float64]


@dataclass(eq=False)
class _Chain:
    """One draw: the features of all columns, gaps filled, and whose values are in the gaps.

    `clusters` (n,) says which rows belong together, if any do: the bootstrap then draws whole clusters.
    """

    variables: Sequence[_Variable]
    rng: np.random.Generator
    clusters: NDArray[np.integer] | None = None

    def run(self, sweeps: int) -> dict[int, NDArray[np.intp]]:
        """Return the donors of every variable with gaps, by its position."""
        self.x = np.concatenate([variable.features for variable in self.variables], axis=1)
        gappy = [variable for variable in self.variables if len(variable.gaps)]
        gappy.sort(key=lambda variable: len(variable.gaps))
        donors = {}
        for variable in gappy:
            self._put(variable, self.rng.choice(variable.seen, len(variable.gaps)))
        for _ in range(sweeps):
            for variable in gappy:
                donors[variable.at] = self._donors(variable)
                self._put(variable, donors[variable.at])
        return donors

    def _put(self, variable: _Variable, donors: NDArray[np.intp]) -> None:
        self.x[variable.gaps, variable.columns] = self.x[donors, variable.columns]

    def _donors(self, variable: _Variable) -> NDArray[np.intp]:
        """Return a donor for every gap of a variable."""
        seen, gaps, rng = variable.seen, variable.gaps, self.rng
        unit = np.arange(len(seen)) if self.clusters is None else _numbered(self.clusters[seen])
        size = int(unit.max()) + 1
        count = np.bincount(rng.integers(size, size=size), minlength=size)[unit]
        drawn = np.flatnonzero(count)
        donors, weight = seen[drawn], count[drawn].astype(np.float64)
        target = self.x[donors, variable.columns]
        columns = self._predictors(variable, donors, target, weight)
        ones = np.ones((len(self.x), 1))
        design = np.concatenate([ones, self.x[:, columns]], axis=1)
        own = design[donors] * weight[:, None]
        gram = own.T @ design[donors]
        gram[np.diag_indices_from(gram)] += _RIDGE * len(seen)
        predicted = design @ np.linalg.solve(gram, own.T @ target)
        left = np.sqrt(np.average((target - predicted[donors]) ** 2, axis=0, weights=weight))
        predicted /= np.maximum(left, 1e-3)
        predicted += _JITTER * rng.standard_normal(predicted.shape)
        k = min(_DONORS, len(donors))
        near = KDTree(predicted[donors]).query(predicted[gaps], k=k)[1].reshape(len(gaps), k)
        share = weight[near].cumsum(axis=1)
        chosen = (share < rng.random(len(gaps))[:, None] * share[:, -1:]).sum(axis=1)
        found: NDArray[np.intp] = donors[near[np.arange(len(gaps)), chosen]]
        return found

    def _predictors(
        self,
        variable: _Variable,
        donors: NDArray[np.intp],
        target: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> NDArray[np.intp]:
        """Return the features of other variables that say most about a variable, as many as the rows allow."""
        own = np.arange(variable.columns.start, variable.columns.stop)
        others = np.setdiff1d(np.arange(self.x.shape[1]), own)
        most = max(_FEWEST, len(variable.seen) // _ROWS_A_COLUMN)
        if len(others) <= most:
            return others
        moments = self.x[donors].T @ (target * weight[:, None])
        return np.sort(others[np.argsort(-(moments**2).max(axis=1)[others], kind="stable")[:most]])


def _numbered(clusters: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the clusters of some rows by numbers from 0 without a gap, in the order in which they come.

    Whatever the clusters are called, the same ones are drawn.
    """
    _, first, place = np.unique(clusters, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    found: NDArray[np.intp] = number[place]
    return found


def _order(table: Table) -> NDArray[np.intp]:
    """Return an order of the rows that depends on what they hold, gaps included."""
    scored = [c.name for c in table.variables if c.encoding == "scores"]
    coded = [c.name for c in table.variables if c.encoding == "codes"]
    ranks = np.empty(table.numbers.shape, dtype=np.int64)
    for k, column in enumerate(table.numbers.T):
        ranks[:, k] = np.unique(column, return_inverse=True)[1]
    return row_order([(scored, ranks), (coded, table.fine_codes + np.int16(1))], table.n_rows)


def _variables(table: Table, rows: NDArray[np.intp]) -> list[_Variable]:
    """Return the variables in the order of their names, rows in a given order."""
    gaps, found, start = table.gaps[rows], [], 0
    place = np.cumsum(table.is_discrete) - 1
    for at in sorted(range(len(table.names)), key=lambda at: table.names[at]):
        seen = np.flatnonzero(~gaps[:, at])
        if table.is_discrete[at]:
            own = _indicators(table.codes[rows, place[at]][seen])
        else:
            own = _functions(table.numbers[rows, at - 1 - place[at]][seen])
        features = np.zeros((len(rows), own.shape[1]))
        features[seen] = own
        where = slice(start, start + own.shape[1])
        start = where.stop
        found.append(_Variable(at, seen, np.flatnonzero(gaps[:, at]), where, features))
    return found


def _indicators(codes: NDArray[np.int16]) -> NDArray[np.float64]:
    """Return the indicators of the levels but the first, standardised."""
    levels = np.unique(codes)[1:]
    return _standardised((codes[:, None] == levels).astype(np.float64))


def _functions(numbers: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the features of numbers, by their mid-ranks."""
    scores = ndtri((rankdata(numbers) - 0.5) / len(numbers))
    return _standardised(values(_FUNCTIONS, Scores(torch.as_tensor(scores))).numpy())


def _standardised(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    columns = columns - columns.mean(axis=0)
    spread = np.sqrt((columns**2).mean(axis=0))
    return columns / np.where(spread > 1e-6, spread, np.inf)


def _filled(
    table: Table, variables: Sequence[_Variable], donors: dict[int, NDArray[np.intp]], rows: NDArray[np.intp]
) -> Table:
    """Return a table whose gaps have the values of donors; these and the gaps are counted in a given order of the rows."""
    numbers, codes, fine = table.numbers.copy(), table.codes.copy(), table.fine_codes.copy()
    place = np.cumsum(table.is_discrete) - 1
    for variable in variables:
        if variable.at not in donors:
            continue
        to, of = rows[variable.gaps], rows[donors[variable.at]]
        if table.is_discrete[variable.at]:
            for block in (codes, fine):
                block[to, place[variable.at]] = block[of, place[variable.at]]
        else:
            k = variable.at - 1 - place[variable.at]
            numbers[to, k] = numbers[of, k]
    return replace(table, numbers=numbers, codes=codes, fine_codes=fine, filling=None, sums=None)
