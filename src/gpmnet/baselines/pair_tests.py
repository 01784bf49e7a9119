"""Tests of one pair given a set, to stand beside the p-values of an engine that must find the set itself.

A pair test is a dataclass whose `p_value` takes the numbers of a table: continuous values as they are, discrete
ones as codes. Every one of these treats codes as numbers; independence given the set makes each of them right all
the same, as far as its regressions are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import norm, rankdata

from gpmnet.baselines.base import FloatArray
from gpmnet.baselines.ci_tests import kci_test, rcit_test


@dataclass(kw_only=True, eq=False)
class PairTest(ABC):
    """A test of: two variables are independent given some others.

    Parameters
    ----------
    random_state : int
        Seed of whatever is random.
    max_rows : int or None
        Tables of more rows are refused, where the time would be out of all proportion.
    """

    name: ClassVar[str]
    package: ClassVar[str] = ""
    """The package that does the work, as pip calls it; empty where no other is needed."""
    module: ClassVar[str] = ""
    """The module of it to import before a test is timed."""
    random_state: int = 0
    max_rows: int | None = None

    def supports(self, n_rows: int) -> tuple[bool, str]:
        """Say whether the test can run on so many rows, and if not, why (else an empty string)."""
        if self.max_rows is None or n_rows <= self.max_rows:
            return True, ""
        return False, f"{self.name} is run on at most {self.max_rows:,} rows, these are {n_rows:,}"

    @abstractmethod
    def p_value(self, values: FloatArray, i: int, j: int, given: tuple[int, ...]) -> float:
        """Return the p-value of columns i and j of `values` (n, d) given other columns."""


@dataclass(kw_only=True, eq=False)
class KciTest(PairTest):
    """The kernel test (KCI) of one pair given its true neighbors; cubic in the number of rows."""

    name: ClassVar[str] = "kci-test"
    package: ClassVar[str] = "causal-learn"
    module: ClassVar[str] = "causallearn.utils.cit"
    max_rows: int | None = 1000

    def p_value(self, values: FloatArray, i: int, j: int, given: tuple[int, ...]) -> float:
        """Return the p-value of causal-learn's KCI."""
        return kci_test(values)(i, j, given)


@dataclass(kw_only=True, eq=False)
class RcitTest(PairTest):
    """The randomised kernel test (RCIT) of one pair given its true neighbors."""

    name: ClassVar[str] = "rcit-test"
    package: ClassVar[str] = "causal-learn"
    module: ClassVar[str] = "causallearn.utils.cit"

    def p_value(self, values: FloatArray, i: int, j: int, given: tuple[int, ...]) -> float:
        """Return the p-value of causal-learn's RCIT, whose features depend on `random_state`."""
        return rcit_test(values, self.random_state)(i, j, given)


@dataclass(kw_only=True, eq=False)
class GcmTest(PairTest):
    """The generalised covariance measure of one pair given its true neighbors, with boosted trees.

    Both variables, as ranks, are predicted from the others by gradient boosting on the folds that do not hold
    the row. With the products R of what is left of them, ``sqrt(n) mean(R) / sd(R)`` is standard normal where
    they are independent given the others and the product of the two regressions' errors vanishes faster than
    ``n^-1/2``. Ranks, since tails too heavy for a variance would leave no normal limit.

    Parameters
    ----------
    n_folds : int
        Parts of the rows, each predicted from the others.

    References
    ----------
    Shah, Peters, "The hardness of conditional independence testing and the generalised covariance measure",
    Annals of Statistics 48 (2020).
    """

    name: ClassVar[str] = "gcm-test"
    module: ClassVar[str] = "sklearn.ensemble"
    n_folds: int = 5

    def p_value(self, values: FloatArray, i: int, j: int, given: tuple[int, ...]) -> float:
        """Return the two-sided p-value."""
        left_i, left_j = (self._residuals(rankdata(values[:, k]), values[:, list(given)]) for k in (i, j))
        products = left_i * left_j
        spread = products.std()
        if spread == 0:
            raise FloatingPointError(f"GCM has no p-value: the residuals of columns {i} and {j} do not vary")
        return float(2 * norm.sf(np.sqrt(len(products)) * abs(products.mean()) / spread))

    def _residuals(self, target: FloatArray, others: FloatArray) -> FloatArray:
        if not others.shape[1]:
            return np.asarray(target - target.mean())
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.model_selection import KFold, cross_val_predict

        model = HistGradientBoostingRegressor(
            max_iter=100,
            max_leaf_nodes=15,
            min_samples_leaf=10,
            early_stopping=False,
            random_state=self.random_state,
        )
        folds = KFold(self.n_folds, shuffle=True, random_state=self.random_state)
        return np.asarray(target - cross_val_predict(model, others, target, cv=folds))


PAIR_TESTS: dict[str, type[PairTest]] = {test.name: test for test in (KciTest, RcitTest, GcmTest)}
