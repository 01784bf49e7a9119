"""Which pairs are edges: those up to a false-discovery rate, or up to a plain p-value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpmnet.selection.fdr import log_benjamini_hochberg


@dataclass(frozen=True)
class Cutoff:
    """Up to where pairs are edges.

    Attributes
    ----------
    value : float
    of : {"q", "p"}
        Whether that is a q-value, hence a false-discovery rate, or a p-value.
    min_strength : float
        The p-values are those of the hypothesis that a pair's strength is at most this; 0: that there is no dependence.
    """

    value: float
    of: Literal["q", "p"] = "q"
    min_strength: float = 0.0


@dataclass(frozen=True, eq=False)
class Chosen:
    """Which of m pairs are edges, and the q-value of each.

    Attributes
    ----------
    is_edge : ndarray of bool, shape (m,)
    p_value, q_value : ndarray of float, shape (m,)
    """

    is_edge: NDArray[np.bool_]
    p_value: NDArray[np.float64]
    q_value: NDArray[np.float64]


def choose_edges(
    log_p: NDArray[np.float64], n_tests: int, cutoff: Cutoff, required: NDArray[np.bool_]
) -> Chosen:
    """Return the edges among pairs with log p-values (m,).

    Parameters
    ----------
    n_tests : int
        Number of all pairs that could be edges, those not at hand counted.
    required : ndarray of bool, shape (m,)
        Pairs that are edges whatever their p-value.

    Examples
    --------
    >>> chosen = choose_edges(np.log([1e-4, 0.04, 0.2]), 10, Cutoff(0.05), np.array([False, False, True]))
    >>> chosen.is_edge
    array([ True, False,  True])
    """
    log_q = log_benjamini_hochberg(log_p, n_tests)
    is_edge = (log_q if cutoff.of == "q" else log_p) <= np.log(cutoff.value)
    return Chosen(is_edge | required, np.exp(log_p), np.exp(log_q))
