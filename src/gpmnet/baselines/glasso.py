"""Graphical lasso on the raw columns; the penalty by cross-validation or by the extended BIC."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from gpmnet.baselines.base import (
    Baseline,
    BoolArray,
    Estimate,
    FloatArray,
    TableLike,
    standardised,
)
from gpmnet.checks import check_choice, check_number

ZERO = 1e-10
TOLERANCE = 1e-8
# scikit-learn's 1e-4 is as coarse as the dual gap it must reach, which then often never closes.
INNER_TOLERANCE = 1e-8
PATH_LENGTH = 50
PATH_RATIO = 0.01


@dataclass(kw_only=True, eq=False)
class Glasso(Baseline):
    """Sparse inverse covariance; an edge is a non-zero entry, its weight ``|partial correlation|``.

    Columns are standardised. Discrete and mixed data are given as integer codes taken for numbers, which is
    how they must have reached this method in the paper; the order of the categories then matters.

    Parameters
    ----------
    selection : "cv" or "ebic"
        How the penalty is chosen: by 5-fold cross-validated likelihood (scikit-learn's `GraphicalLassoCV`),
        or as the minimum of ``-2 log L + E log n + 4 gamma E log d`` over a path of penalties, E the edges.
    gamma : float
        Of the extended BIC; 0 is plain BIC. Only for "ebic".
    max_iter : int
        Iterations after which the solver gives up, which ends the fit with an error.

    References
    ----------
    Friedman, Hastie, Tibshirani, "Sparse inverse covariance estimation with the graphical lasso",
    Biostatistics 9 (2008); Foygel, Drton, "Extended Bayesian information criteria for Gaussian graphical
    models", NIPS 2010.
    """

    name: ClassVar[str] = "glasso"
    package: ClassVar[str] = "scikit-learn"
    module: ClassVar[str] = "sklearn.covariance"
    selection: Literal["cv", "ebic"] = "cv"
    gamma: float = 0.5
    max_iter: int = 200

    def _check_options(self) -> None:
        check_choice(self, "selection", ("cv", "ebic"))
        check_number(self, "gamma", 0)
        check_number(self, "max_iter", 1, integer=True)

    def _columns(self, table: TableLike) -> FloatArray:
        """Return what the graphical lasso sees, (n, d)."""
        return standardised(table.values())

    def _graph(self, table: TableLike) -> Estimate:
        values = self._columns(table)
        if self.selection == "cv":
            precision = cv_precision(values, self.max_iter)
        else:
            precision = ebic_precision(values, self.gamma, self.max_iter)
        weights = np.abs(partial_correlations(precision))
        return weights > ZERO, weights


@dataclass(kw_only=True, eq=False)
class GlassoEbic(Glasso):
    """Graphical lasso with the penalty chosen by the extended BIC; see `Glasso`."""

    name: ClassVar[str] = "glasso-ebic"
    selection: Literal["cv", "ebic"] = "ebic"


def partial_correlations(precision: FloatArray) -> FloatArray:
    """Return ``-K_ij / sqrt(K_ii K_jj)`` with a zero diagonal.

    >>> partial_correlations(np.array([[2.0, -1.0], [-1.0, 2.0]]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    scale = 1.0 / np.sqrt(np.diag(precision))
    partial = -precision * scale[:, None] * scale[None, :]
    np.fill_diagonal(partial, 0.0)
    return np.asarray((partial + partial.T) / 2)


def solve(covariance: FloatArray, penalty: float, max_iter: int) -> FloatArray:
    """Return the graphical lasso precision matrix; RuntimeError where the solver does not converge."""
    from sklearn.covariance import graphical_lasso
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The outer iteration only: the inner regressions warn at gaps far below what the outer one needs.
        warnings.filterwarnings("error", "graphical_lasso: did not converge", ConvergenceWarning)
        try:
            _, precision = graphical_lasso(covariance, penalty, max_iter=max_iter, enet_tol=INNER_TOLERANCE)
        except (ConvergenceWarning, FloatingPointError) as error:
            raise RuntimeError(
                f"the graphical lasso did not converge at penalty {penalty:.3g} in {max_iter} iterations"
            ) from error
    return np.asarray(precision)


def cv_precision(values: FloatArray, max_iter: int) -> FloatArray:
    """Return the precision at the penalty with the best cross-validated likelihood."""
    from sklearn.covariance import GraphicalLassoCV, empirical_covariance

    search = GraphicalLassoCV(max_iter=max_iter, enet_tol=INNER_TOLERANCE, assume_centered=True)
    with warnings.catch_warnings():
        # Small penalties of the grid may not converge and lose the contest; the chosen one is checked below.
        warnings.simplefilter("ignore")
        penalty = search.fit(values).alpha_
    return solve(empirical_covariance(values, assume_centered=True), float(penalty), max_iter)


def ebic_precision(values: FloatArray, gamma: float, max_iter: int) -> FloatArray:
    """Return the maximum-likelihood precision of the graph with the smallest extended BIC.

    The graphs are those on a path of penalties that falls from the one of the empty graph. Each of them is
    scored by its maximum likelihood, as the criterion is defined, not by the shrunken estimate, whose bias
    would favour small penalties. A penalty at which the solver fails is left out, unless the graph before it
    is the best so far: the minimum may then lie in the gap, and the failure is raised.
    """
    n_rows, n_variables = values.shape
    covariance = values.T @ values / n_rows
    largest = np.abs(covariance - np.diag(np.diag(covariance))).max()
    price = np.log(n_rows) + 4 * gamma * np.log(n_variables)
    best, best_score, support = np.eye(n_variables), np.inf, None
    still_falling = True
    for penalty in largest * np.geomspace(1.0, PATH_RATIO, PATH_LENGTH):
        try:
            found = np.abs(solve(covariance, float(penalty), max_iter)) > ZERO
        except RuntimeError:
            if still_falling:
                raise
            continue
        if support is not None and np.array_equal(found, support):
            continue
        support = found
        precision = constrained_mle(covariance, support)
        fit = n_rows * (np.trace(covariance @ precision) - np.linalg.slogdet(precision)[1])
        score = fit + price * np.count_nonzero(np.triu(support, 1))
        still_falling = score < best_score
        if still_falling:
            best, best_score = precision, score
    return best


def constrained_mle(covariance: FloatArray, support: BoolArray, max_iter: int = 1000) -> FloatArray:
    """Return the Gaussian maximum-likelihood precision with zeros off the support (d, d).

    Its inverse W agrees with the covariance on the support. Variable by variable, the off-diagonal column of
    W is what the regression on the variable's neighbors implies, until nothing moves.

    References
    ----------
    Hastie, Tibshirani, Friedman, "The Elements of Statistical Learning" (2009), algorithm 17.1.
    """
    d = len(covariance)
    fitted = covariance.copy()
    coefficients = np.zeros((d, d))
    for _ in range(max_iter):
        before = fitted.copy()
        for j in range(d):
            rest = np.delete(np.arange(d), j)
            near = rest[support[rest, j]]
            coefficients[:, j] = 0.0
            coefficients[near, j] = np.linalg.solve(fitted[np.ix_(near, near)], covariance[near, j])
            fitted[rest, j] = fitted[j, rest] = fitted[np.ix_(rest, near)] @ coefficients[near, j]
        if np.abs(fitted - before).max() < TOLERANCE:
            break
    else:
        raise RuntimeError(f"the maximum likelihood of a graph was not found in {max_iter} sweeps")
    diagonal = 1.0 / (np.diag(covariance) - np.sum(fitted * coefficients, axis=0))
    precision = np.diag(diagonal) - coefficients * diagonal[None, :]
    return np.asarray((precision + precision.T) / 2)
