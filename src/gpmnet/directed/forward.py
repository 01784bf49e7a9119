"""Forward selection of columns from moments: what columns are worth to one, and which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpmnet.directed.score import Floats, Ints


@dataclass(frozen=True, eq=False)
class Chosen:
    """Columns that were added one after another.

    Attributes
    ----------
    gain : float
        What they are worth together, before their price.
    price : float
    columns : ndarray of int
        Their positions, the first added first.
    """

    gain: float
    price: float
    columns: Ints


def worth(covariance: Floats, variance: Floats, s: float, n: int, noise: float) -> Floats:
    """Return what each column is worth to one of variance s, -(n/2) log(1 - r^2).

    A share `noise` of unit variance is never explained, and a column of which all but that is known has nothing to add.
    """
    explained = np.zeros_like(covariance)
    np.divide(covariance * covariance, variance, out=explained, where=variance > noise)
    left = np.maximum(s - explained, 0.0)
    found: Floats = -0.5 * n * np.log((left + noise) / (s + noise))
    return found


def forward(moments: Floats, price: Floats, n: int, noise: float) -> Chosen:
    """Return the columns that are worth more than their price to the first one, the best added first.

    Parameters
    ----------
    moments : ndarray of shape (q + 1, q + 1)
        Of the column that is explained, then of those that may.
    price : ndarray of shape (q,)
    """
    left = moments.copy()
    total, paid, taken = 0.0, 0.0, list[int]()
    while len(taken) < len(price):
        gain = worth(left[0, 1:], left.diagonal()[1:], float(left[0, 0]), n, noise)
        best = int((gain - price).argmax())
        if gain[best] <= price[best]:
            break
        total, paid = total + float(gain[best]), paid + float(price[best])
        taken.append(best)
        sweep(left, best + 1)
    return Chosen(total, paid, np.array(taken, dtype=np.intp))


def sweep(moments: Floats, at: int) -> None:
    """Take one column off all others, in place, and itself to zero."""
    column = moments[at].copy()
    moments -= column[:, None] * (column / column[at])
    moments[at] = moments[:, at] = 0.0


def inverse_root(moments: Floats) -> Floats:
    """Return R with R M R' = I for moments M."""
    found: Floats = np.linalg.inv(np.linalg.cholesky(moments + 1e-9 * np.eye(len(moments))))
    return found
