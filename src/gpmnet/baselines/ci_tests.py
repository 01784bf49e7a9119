"""Kernel tests of conditional independence, called through causal-learn.

Discrete variables are given as their integer codes, as numbers: causal-learn standardises every column and
has no kernel for categories, so this is how such data must have reached these tests in published work.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from gpmnet.baselines.base import FloatArray, require
from gpmnet.baselines.iamb import CITest


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hide what third-party code prints and warns about; errors still come through."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def seeded(*key: int) -> Iterator[None]:
    """Seed NumPy's global generator, which third-party code draws from, and put its state back after."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(np.random.SeedSequence(key).generate_state(4))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def kci_test(values: FloatArray, *, fast: bool = True) -> CITest:
    """Return the kernel-based conditional independence test of one data set.

    Gamma approximation of the null distribution and empirical kernel widths (causal-learn's defaults). The
    cost of a test is cubic in the number of rows.

    Parameters
    ----------
    values : ndarray (n, d)
    fast : bool
        Compute the same numbers by a shorter way, see `_shorten`; False leaves causal-learn as it is.

    References
    ----------
    Zhang, Peters, Janzing, Schölkopf, "Kernel-based conditional independence test and application in causal
    discovery", UAI 2011.
    """
    # A fresh object per data set: its cache is keyed by str(data), which elides long arrays.
    test = require("causallearn.utils.cit", "causal-learn").CIT(np.asarray(values), "kci")
    if fast:
        _shorten(test.kci_ci)

    def p_value(i: int, j: int, given: tuple[int, ...]) -> float:
        with quiet():
            return _answer("KCI", test, i, j, given)

    return p_value


def _shorten(conditional: Any) -> None:
    """Replace the two slow steps of causal-learn's conditional test by what they are equal to.

    The null distribution needs trace and squared norm of ``U U'``, where the columns of U are all products of
    an eigenvector of one kernel matrix with one of the other. That matrix is the element-wise product of the
    two kernel matrices, so the eigenvectors (causal-learn drops those below 1e-5 of the first) are not
    needed.
    And ``K + eps I`` is positive definite: a Cholesky factor instead of a singular value decomposition.
    """

    def statistic(
        kx: FloatArray, ky: FloatArray, kz: FloatArray, _: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        identity = np.eye(len(kz))
        shrink = conditional.epsilon_x
        factor = cho_factor(kz + shrink * identity, lower=True, check_finite=False)
        residual = shrink * cho_solve(factor, identity, check_finite=False)
        residual_x, residual_y = residual @ kx @ residual, residual @ ky @ residual
        return float(np.sum(residual_x * residual_y)), residual_x, residual_y

    def products(residual_x: FloatArray, residual_y: FloatArray) -> tuple[FloatArray, int]:
        return residual_x * residual_y, len(residual_x)

    conditional.KCI_V_statistic = statistic
    conditional.get_uuprod = products


def rcit_test(values: FloatArray, seed: int = 0, *, cross: bool = True, n_features: int = 100) -> CITest:
    """Return the randomised conditional independence test (RCIT or RCoT) of one data set.

    KCI with random Fourier features in place of kernel matrices: linear in the number of rows. RCIT takes
    features of (y, z) jointly; RCoT (``cross=False``) those of y alone, which is weaker in theory and often
    better calibrated with many conditioning variables. The features of a test depend on the seed and on the
    variables in it only, never on which tests were made before.

    Parameters
    ----------
    values : ndarray (n, d)
    seed : int
    cross : bool
        RCIT if True, RCoT if False.
    n_features : int
        Random features of the conditioning set (5 for either variable).

    References
    ----------
    Strobl, Zhang, Visweswaran, "Approximate kernel-based conditional independence tests for fast
    non-parametric causal discovery", Journal of Causal Inference 7 (2019).
    """
    options = {"rcit": cross, "num_f": n_features}
    test = require("causallearn.utils.cit", "causal-learn").CIT(np.asarray(values), "rcit", **options)

    def p_value(i: int, j: int, given: tuple[int, ...]) -> float:
        with quiet(), seeded(seed, min(i, j), max(i, j), *sorted(given)):
            return _answer("RCIT" if cross else "RCoT", test, i, j, given)

    return p_value


def _answer(name: str, test: Callable[..., float], i: int, j: int, given: tuple[int, ...]) -> float:
    """Return a p-value in [0, 1]; a test that broke down numerically is an error, not an independence."""
    cause: Exception | None = None
    p_value = np.nan
    try:
        p_value = float(test(i, j, list(given)))
    except np.linalg.LinAlgError as error:
        cause = error
    if not np.isfinite(p_value):
        raise FloatingPointError(
            f"{name} has no p-value for variables {i} and {j} given {sorted(given)}"
        ) from cause
    return min(max(p_value, 0.0), 1.0)
