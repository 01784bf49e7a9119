"""The cross-validated generalised score of a variable given its parents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

FloatArray = NDArray[np.float64]
RELATIVE_EIGENVALUE = 1e-10


def median_distance(column: FloatArray) -> float:
    """Return the median of the squared distances between different values, as in the authors' code."""
    distances = (column[:, None] - column[None, :]) ** 2
    return float(np.median(distances[distances > 0]))


def gaussian_kernel(column: FloatArray, median: float) -> FloatArray:
    """Return ``exp(-(a - b)^2 / (2 w^2))``, (n, n), with ``w^2`` twice the median squared distance."""
    return np.asarray(np.exp((column[:, None] - column[None, :]) ** 2 / (-4.0 * median)))


def centred(kernel: FloatArray) -> FloatArray:
    """Return H K H with ``H = I - 1/n``: the kernel of centred feature vectors."""
    means = kernel.mean(axis=0)
    return np.asarray(kernel - means[:, None] - means[None, :] + means.mean())


def feature_map(kernel: FloatArray) -> FloatArray:
    """Return features (n, m) whose inner products are the kernel, but for negligible eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh(kernel)
    kept = eigenvalues > RELATIVE_EIGENVALUE * eigenvalues[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(eigenvalues[kept]))


class GeneralisedScore:
    """The cross-validated log-likelihood of a variable's features given its parents; larger is better.

    The features ``phi(x)`` of a Gaussian kernel are regressed on the parents by kernel ridge regression. On
    the training rows (n_1 of them) the residuals have covariance ``S = E'E / n_1 + noise I``; the n_0 test
    rows then have residuals R, and the score is the mean over folds of
    ``-(n_0 log det S / 2 + tr R S^-1 R') / 2`` up to a constant. The log-determinant has half its weight in a
    Gaussian likelihood, as in the authors' program and in causal-learn, so that results compare. Folds are
    consecutive blocks of rows.

    The formula is repeated here because causal-learn 0.1.4.8 centres its kernel matrices with an element-wise
    instead of a matrix product, which leaves hardly anything but the diagonal: any first parent, related or
    not, then raises the score by the same large amount, and GES joins independent variables. Working with the
    few features that matter instead of n x n matrices is also several times faster.

    Parameters
    ----------
    values : ndarray (n, d)
    folds : int
    ridge, noise : float
        Regularisation of the regression and of the covariance.

    References
    ----------
    Huang, Zhang, Lin, Schölkopf, Glymour, "Generalized score functions for causal discovery", KDD 2018.
    """

    def __init__(self, values: FloatArray, folds: int = 10, ridge: float = 0.01, noise: float = 0.01) -> None:
        self.values = values
        self.folds = folds
        self.ridge = ridge
        self.noise = noise
        # What depends on one variable is kept; kernel matrices are not, they would fill the memory.
        self._median = cache(lambda variable: median_distance(values[:, variable]))
        self._features = cache(lambda variable: feature_map(centred(self._kernel(variable))))

    def __call__(self, child: int, parents: Sequence[int]) -> float:
        """Return the score of a variable given its parents."""
        n_rows = len(self.values)
        features = self._features(child)
        kernel = np.zeros((n_rows, n_rows))
        if len(parents) > 0:
            product = self._kernel(parents[0])
            for parent in parents[1:]:
                product *= self._kernel(parent)
            kernel = centred(product)
        bounds = [fold * (n_rows // self.folds) for fold in range(self.folds)] + [n_rows]
        loss = sum(self._loss(features, kernel, start, stop) for start, stop in pairwise(bounds))
        return float(-loss / (2 * self.folds))

    def _kernel(self, variable: int) -> FloatArray:
        return gaussian_kernel(self.values[:, variable], self._median(variable))

    def _loss(self, features: FloatArray, kernel: FloatArray, start: int, stop: int) -> float:
        """Return what one fold, the rows from start to stop, adds to the loss."""
        test = np.arange(start, stop)
        train = np.delete(np.arange(len(kernel)), test)
        scale = self.ridge * len(train)
        system = kernel[np.ix_(train, train)]
        system[np.diag_indices_from(system)] += scale
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        dual = cho_solve(factor, features[train], check_finite=False)
        error = scale * dual
        covariance = error.T @ error / len(train) + self.noise * np.eye(features.shape[1])
        residual = features[test] - kernel[np.ix_(test, train)] @ dual
        fit = np.sum(residual * np.linalg.solve(covariance, residual.T).T)
        return float(len(test) * np.linalg.slogdet(covariance)[1] / 2 + fit)
