r"""A continuous variable given discrete and continuous parents: a linear regression in each cell of the discrete ones.

The regressions are of normal scores, with slopes and a variance of their own; the score is the log marginal likelihood under
:math:`\beta \sim N(0, \sigma^2 I / \lambda)`, :math:`\sigma^2 \sim IG(a, b)`, in closed form, over that of one cell without
parents. A cell of few rows costs little and says little; none has to be left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from gpmnet.checks import check_number
from gpmnet.directed.cells import Cells
from gpmnet.directed.score import Floats, Parents
from gpmnet.parts import Part


@dataclass(frozen=True)
class CellPrior(Part):
    """Prior of the regression in a cell.

    Attributes
    ----------
    precision : float
        Lambda: of slopes and means, in rows.
    shape, scale : float
        a and b.
    """

    precision: float = 0.5
    shape: float = 1.0
    scale: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("precision", "shape", "scale"):
            check_number(self, name, 0.0, open_low=True)


class ConditionalGaussianScore:
    """Scores of continuous variables given the cells of discrete ones and linear slopes on continuous ones.

    Parameters
    ----------
    scores : ndarray of shape (n, d)
        Normal scores; anything for discrete variables.
    """

    def __init__(self, scores: Floats, cells: Cells, prior: CellPrior) -> None:
        self.scores, self.cells, self.prior = scores, cells, prior
        self._alone: dict[int, float] = {}

    def score(self, child: int, parents: Parents, given: Parents) -> float:
        """Return the log Bayes factor of regressions on `parents` in the cells of `given` over no parents at all."""
        if child not in self._alone:
            self._alone[child] = self._evidence(child, (), ())
        return self._evidence(child, parents, given) - self._alone[child]

    def _evidence(self, child: int, parents: Parents, given: Parents) -> float:
        cell, count = self.cells.of(given)
        columns = [np.ones(len(cell)), *(self.scores[:, at] for at in (*parents, child))]
        p = len(columns)
        sums = np.empty((count, p, p))
        for a in range(p):
            for b in range(a + 1):
                sums[:, a, b] = sums[:, b, a] = np.bincount(cell, columns[a] * columns[b], minlength=count)
        return float(log_evidence(sums[sums[:, 0, 0] > 0], self.prior).sum())


def log_evidence(sums: Floats, prior: CellPrior) -> Floats:
    """Return the log marginal likelihoods of regressions from sums of products, (cells, p + 1, p + 1), response last."""
    rows, p = sums[:, 0, 0], sums.shape[1] - 1
    precision = sums[:, :p, :p] + prior.precision * np.eye(p)
    slopes = np.linalg.solve(precision, sums[:, :p, p:])[:, :, 0]
    rest = sums[:, p, p] - np.einsum("ij,ij->i", slopes, sums[:, :p, p])
    shape = prior.shape + rows / 2
    scale = prior.scale + np.maximum(rest, 0.0) / 2
    found: Floats = (
        0.5 * (p * np.log(prior.precision) - np.linalg.slogdet(precision)[1])
        + prior.shape * np.log(prior.scale)
        - shape * np.log(scale)
        + gammaln(shape)
        - gammaln(prior.shape)
        - 0.5 * rows * np.log(2 * np.pi)
    )
    return found
