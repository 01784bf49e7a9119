"""Partial correlations with Benjamini-Hochberg: the exact method for Gaussian data with n > d."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import stdtr

from gpmnet.baselines.base import Baseline, Estimate, FloatArray, TableLike, standardised
from gpmnet.baselines.glasso import partial_correlations
from gpmnet.checks import check_number

MAX_CONDITION = 1e12


@dataclass(kw_only=True, eq=False)
class PartialCorrelations(Baseline):
    """t-test of every partial correlation given all other variables, Benjamini-Hochberg over all pairs.

    With r the partial correlation of a pair, ``t = r sqrt(df / (1 - r^2))`` has Student's distribution with
    ``df = n - d`` for Gaussian data without the edge; it is the t-statistic of the one variable in the
    regression of the other on all. Discrete columns enter as integer codes. The weight is ``|r|``.

    Parameters
    ----------
    fdr : float
        False-discovery rate of Benjamini-Hochberg.
    """

    name: ClassVar[str] = "partial-corr"
    package: ClassVar[str] = "scipy"
    module: ClassVar[str] = "scipy.stats"
    fdr: float = 0.05

    def _check_options(self) -> None:
        check_number(self, "fdr", 0, 1, open_low=True, open_high=True)

    def supports(self, table: TableLike) -> tuple[bool, str]:
        """Say whether there are more rows than variables (plus what every baseline needs)."""
        if table.n_rows <= len(table.names):
            return False, f"{table.n_rows} rows are not more than {len(table.names)} variables"
        return super().supports(table)

    def _graph(self, table: TableLike) -> Estimate:
        from scipy.stats import false_discovery_control

        partial, p_values = partial_correlation_tests(table.values())
        pairs = np.triu_indices(len(partial), 1)
        adjacency = np.zeros(partial.shape, dtype=bool)
        adjacency[pairs] = false_discovery_control(p_values[pairs]) <= self.fdr
        return adjacency | adjacency.T, np.abs(partial)


def partial_correlation_tests(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the partial correlations (d, d) and their two-sided p-values (d, d; 1 on the diagonal)."""
    n_rows, n_variables = values.shape
    scaled = standardised(values)
    covariance = scaled.T @ scaled / n_rows
    if np.linalg.cond(covariance) > MAX_CONDITION:
        raise RuntimeError("the correlation matrix is singular: some columns are linear functions of others")
    partial = partial_correlations(np.linalg.inv(covariance))
    freedom = n_rows - n_variables
    with np.errstate(divide="ignore"):
        statistic = np.abs(partial) * np.sqrt(freedom / np.clip(1.0 - partial**2, 0.0, None))
    p_values = 2.0 * stdtr(freedom, -statistic)
    np.fill_diagonal(p_values, 1.0)
    return partial, np.asarray(p_values)
