r"""Parents seen through functions of one column each: which columns a regression takes, and what they cost.

A continuous parent has features (z, then bounded functions of ever higher degree), a discrete one indicators. Columns are
added while one is worth more than its price, the best first; one that leaves the share :math:`1 - r^2` of a variance is
worth :math:`-\frac n2 \log(1 - r^2)`. All of it comes from second moments, whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpmnet.checks import check_number
from gpmnet.directed.forward import inverse_root, worth
from gpmnet.directed.moments import Within
from gpmnet.directed.score import Floats, Ints, Parents
from gpmnet.parts import Part


@dataclass(frozen=True)
class Prices(Part):
    """What a column of a parent costs.

    Attributes
    ----------
    linear : float
        Times log n: the first column of a parent, where both it and the child are linear (`gpmnet.directed.gate`).
    first : float
        Times log n: the first column of a parent elsewhere.
    bent : float
        Times log n: any other column; to it comes the log of the number of columns that it was chosen among.
    noise : float
        Share of a variance that is never explained: what is left below it is rounding, not evidence.
    """

    linear: float = 0.5
    first: float = 1.0
    bent: float = 1.0
    noise: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("linear", "first", "bent", "noise"):
            check_number(self, name, 0.0)


class Basis:
    """The columns of all variables with their prices.

    Parameters
    ----------
    within : Within
        Their moments.
    is_discrete : ndarray of bool, shape (d,)
    prices : Prices
    """

    def __init__(self, within: Within, is_discrete: NDArray[np.bool_], prices: Prices) -> None:
        self.within, self.prices, self.is_discrete = within, prices, is_discrete
        self.blocks, self.padded = within.moments.blocks, within.moments.padded
        self.width = np.array([len(block) for block in self.blocks])
        self.is_linear = ~is_discrete & (self.width == 1)
        self._log_n = float(np.log(within.moments.n))

    def columns(self, parents: Parents) -> Ints:
        """Return the columns of some variables."""
        return np.concatenate([np.empty(0, dtype=np.intp), *(self.blocks[p] for p in parents)])

    def bent(self, choices: int | Ints) -> Floats:
        """Return the price of a column that is not the first, chosen among so many."""
        return np.asarray(self.prices.bent * self._log_n + np.log(choices))

    def prices_of(self, child: int, candidates: Ints, responses: int) -> Floats:
        """Return the price of each column of candidates to a child with some responses: (candidates, widest)."""
        bent = self.bent(self.width[candidates] * responses)
        found = np.repeat(bent[:, None], self.padded.shape[1], axis=1)
        linear = self.is_linear[child] & (self.is_linear[candidates] | self.is_discrete[candidates])
        found[:, 0] = np.where(linear, self.prices.linear, self.prices.first) * self._log_n
        if self.is_linear[child]:  # bends with nobody
            found[~self.is_discrete[candidates], 1:] = np.inf
        return found

    def price(self, child: int, parents: Parents, responses: int) -> Floats:
        """Return the price of each of the columns of parents, in their order."""
        each = self.prices_of(child, np.array(parents, dtype=np.intp), responses)
        return np.concatenate(
            [np.empty(0), *(row[: self.width[p]] for row, p in zip(each, parents, strict=True))]
        )

    def gains(
        self, inner: Floats, outer: Floats, given: Parents, candidates: Ints, price: Floats, noise: float
    ) -> Floats:
        """Return about what each candidate's columns are worth, less their price, to a response beyond a regression.

        Parameters
        ----------
        inner : ndarray of shape (q + 1, q + 1)
            Moments of the regression's columns and, last, of the response.
        outer : ndarray of shape (q + 1, candidates * widest)
            Moments of these with the columns of the candidates.
        """
        padded, n = self.padded[candidates], self.within.rows_left(given)
        flat = padded.ravel()
        root = inverse_root(inner[:-1, :-1])
        known, at_y = root @ outer[:-1], root @ inner[:-1, -1]
        covariance = outer[-1] - at_y @ known
        variance = self.within.variances(flat, given) - np.einsum("ij,ij->j", known, known)
        s = max(float(inner[-1, -1] - at_y @ at_y), 0.0)
        alone = worth(covariance, variance, s, n, noise).reshape(padded.shape) - price
        # the columns of one candidate are nearly uncorrelated: what each is worth alone adds up
        found: Floats = np.maximum(alone, 0.0).sum(axis=1)
        return found
