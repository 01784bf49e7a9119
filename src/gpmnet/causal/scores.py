"""Local scores of directed graphs: how well parents explain a variable, less the price of having them.

A score is a callable ``score(child, parents)``, by position, larger is better; that of a graph is the sum
over its variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, quote_all
from gpmnet.table import Table

LocalScore = Callable[[int, tuple[int, ...]], float]
"""From a variable and its parents, increasing positions, to a number."""


@dataclass(eq=False)
class Cached:
    """A score that computes nothing twice.

    Attributes
    ----------
    score : LocalScore
    known : dict
        What was computed so far.
    """

    score: LocalScore
    known: dict[tuple[int, tuple[int, ...]], float] = field(default_factory=dict)

    def __call__(self, child: int, parents: set[int]) -> float:
        """Return the score of a variable given its parents."""
        key = child, tuple(sorted(parents))
        if key not in self.known:
            self.known[key] = float(self.score(*key))
        return self.known[key]


@dataclass(frozen=True, eq=False)
class GaussianScore:
    r"""The BIC of a Gaussian network, from the correlations R of the variables alone.

    .. math:: -\tfrac n2 \log\big(1 - R_{ip} R_{pp}^{-1} R_{pi}\big) - \lambda \tfrac{\log n}2\, |p|

    Attributes
    ----------
    correlations : ndarray of shape (d, d)
    n_rows : int
    price : float
        Lambda; 1 is the BIC.

    Examples
    --------
    >>> score = GaussianScore(np.array([[1.0, 0.6], [0.6, 1.0]]), n_rows=100)
    >>> round(score(1, (0,)), 2), abs(score(1, (0,)) - score(0, (1,))) < 1e-12
    (20.01, True)
    """

    correlations: NDArray[np.float64]
    n_rows: int
    price: float = 1.0

    @classmethod
    def of(cls, table: Table, price: float = 1.0) -> GaussianScore:
        """Return the score of a table of numbers, from the normal scores of its columns."""
        discrete = [
            name for name, is_discrete in zip(table.names, table.is_discrete, strict=True) if is_discrete
        ]
        if discrete:
            raise InputError(
                f"the Gaussian score is for continuous columns; {quote_all(discrete)} are categories: "
                "use the generalised score, or PC"
            )
        scores = table.encode().scores.astype(np.float64)
        return cls(np.asarray(np.corrcoef(scores, rowvar=False)), table.n_rows, price)

    def __call__(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the score of a variable given its parents."""
        if not parents:
            return 0.0
        to_child = self.correlations[list(parents), child]
        among = self.correlations[np.ix_(parents, parents)]
        # The least-squares solution: parents that repeat each other are no error.
        explained = float(to_child @ np.linalg.lstsq(among, to_child, rcond=1e-12)[0])
        fit = -self.n_rows / 2 * math.log(max(1.0 - explained, 1e-12))
        return fit - self.price * math.log(self.n_rows) / 2 * len(parents)
