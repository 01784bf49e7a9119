"""SING: sparsity identification in non-Gaussian distributions, by transport maps."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from gpmnet.baselines.base import Baseline, Estimate, TableLike, require, standardised
from gpmnet.baselines.ci_tests import quiet, seeded
from gpmnet.checks import check_choice, check_number
from gpmnet.errors import quote


@dataclass(kw_only=True, eq=False)
class Sing(Baseline):
    """The algorithm of TransportMaps: fit a map to a normal, threshold ``E |d2 log p|``, reorder, repeat.

    Continuous columns only, standardised (the map starts from the identity). The implementation compares each
    entry with `delta` standard errors and leaves out the factor ``sqrt(log n)`` of the published threshold;
    it is multiplied in here.

    Parameters
    ----------
    order : int
        Total polynomial order of the map. Order 2 misses edges of Butterfly, 3 finds them.
    delta : float
        Threshold, in standard errors times ``sqrt(log n)``.
    ordering : "min-fill" or "min-degree"
        How variables are reordered between rounds. (The reverse Cholesky order needs scikit-sparse.)
    max_variables : int
        More variables than this are refused: the number of coefficients of a full map grows like
        ``d^(order + 1)``, and the memory for its Hessian like the square of that.

    References
    ----------
    Morrison, Baptista, Marzouk, "Beyond normality: learning sparse probabilistic graphical models in the
    non-Gaussian setting", NeurIPS 2017; Baptista, Marzouk, Morrison, Zahm, arXiv:2101.03093.
    """

    name: ClassVar[str] = "sing"
    package: ClassVar[str] = "TransportMaps"
    module: ClassVar[str] = "TransportMaps.Algorithms.SparsityIdentification"
    order: int = 3
    delta: float = 1.0
    ordering: Literal["min-fill", "min-degree"] = "min-fill"
    max_variables: int = 20

    def _check_options(self) -> None:
        check_choice(self, "ordering", ("min-fill", "min-degree"))
        check_number(self, "order", 1, integer=True)
        check_number(self, "delta", 0, open_low=True)

    def supports(self, table: TableLike) -> tuple[bool, str]:
        """Say whether all columns are continuous and few enough (plus what every baseline needs)."""
        if table.is_discrete.any():
            column = table.names[int(np.argmax(table.is_discrete))]
            return False, f"SING is for continuous data only and column {quote(column)} is discrete"
        if len(table.names) > self.max_variables:
            return (
                False,
                f"{len(table.names)} variables are more than the {self.max_variables} SING is run on",
            )
        return super().supports(table)

    def _graph(self, table: TableLike) -> Estimate:
        library = require(self.module, self.package)
        orderings = {"min-fill": library.MinFill, "min-degree": library.MinDegree}
        threshold = self.delta * np.sqrt(np.log(table.n_rows))
        logging.getLogger("TransportMaps").setLevel(logging.ERROR)
        with quiet(), seeded(self.random_state):
            omega = library.SING(
                standardised(table.values()), self.order, orderings[self.ordering](), float(threshold)
            )
        if not np.isfinite(omega).all():
            raise FloatingPointError("SING: the generalised precision is not finite")
        weights = np.abs(np.asarray(omega, dtype=float))
        np.fill_diagonal(weights, 0.0)
        return (weights > 0) | (weights.T > 0), np.maximum(weights, weights.T)
