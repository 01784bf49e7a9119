"""NPN: normal scores, then the graphical lasso."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from scipy.special import ndtri

from gpmnet.baselines.base import FloatArray, TableLike, standardised
from gpmnet.baselines.glasso import Glasso


def tied_normal_scores(values: FloatArray) -> FloatArray:
    """Return ``Phi^-1(rank / (n + 1))`` of every column, standardised; ties share their average rank.

    Not randomised, as in R's `huge`: equal values stay equal, so a discrete column remains discrete, with its
    codes moved to normal quantiles.

    >>> import numpy as np
    >>> tied_normal_scores(np.array([[1.0], [10.0], [100.0]])).ravel().round(2)
    array([-1.22,  0.  ,  1.22])
    """
    from scipy.stats import rankdata

    return standardised(ndtri(rankdata(values, axis=0) / (len(values) + 1)))


@dataclass(kw_only=True, eq=False)
class Nonparanormal(Glasso):
    """Graphical lasso after a monotone map of every column to normal; options as in `Glasso`.

    The answer does not change under increasing maps of the columns. Discrete codes are ranked like numbers.

    References
    ----------
    Liu, Lafferty, Wasserman, "The nonparanormal: semiparametric estimation of high dimensional undirected
    graphs", JMLR 10 (2009).
    """

    name: ClassVar[str] = "npn"

    def _columns(self, table: TableLike) -> FloatArray:
        return tied_normal_scores(table.values())


@dataclass(kw_only=True, eq=False)
class NonparanormalEbic(Nonparanormal):
    """Nonparanormal with the penalty chosen by the extended BIC; see `Nonparanormal`."""

    name: ClassVar[str] = "npn-ebic"
    selection: Literal["cv", "ebic"] = "ebic"
