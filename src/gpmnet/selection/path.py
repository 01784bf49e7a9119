"""Lambda, from a path of fits that start where the last one ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import ComputationError

MOST_INSTABILITY = 0.05
N_SUBSAMPLES = 20


def best_lam(
    lams: Sequence[float], fit: Callable[[float], None], loss: Callable[[], float], worse: float
) -> tuple[float, list[float]]:
    """Return the lambda with the least held-out loss, and the losses along the path.

    Parameters
    ----------
    lams : sequence of float
        From the strongest penalty to the weakest.
    fit : callable
        Fits at a lambda, starting from the last fit.
    loss : callable
        Returns the held-out loss of the present fit; one that is not finite is never chosen.
    worse : float
        The path ends where the loss is this much above the least so far.

    Examples
    --------
    >>> seen = []
    >>> best_lam([3.0, 2.0, 1.0, 0.5], seen.append, lambda: abs(seen[-1] - 2), worse=0.5)
    (2.0, [1.0, 0.0, 1.0])
    """
    losses: list[float] = []
    for lam in lams:
        fit(lam)
        found = loss()
        losses.append(found if math.isfinite(found) else math.inf)
        if losses[-1] > min(losses) + worse:
            break
    if math.isinf(min(losses)):
        raise ComputationError("no lambda has a finite held-out loss; try another objective, or give lam")
    return lams[losses.index(min(losses))], losses


def subsample_size(n: int) -> int:
    """Return how many of n rows a subsample of StARS has: 10 sqrt(n), and of small tables four in five.

    >>> subsample_size(10_000), subsample_size(100)
    (1000, 80)
    """
    return int(10 * n**0.5) if n > 144 else int(0.8 * n)


def stars_lam(
    lams: Sequence[float], supports: Callable[[float], NDArray[np.bool_]], most: float = MOST_INSTABILITY
) -> tuple[float, list[float]]:
    """Return the weakest penalty at which graphs of subsamples still agree, and the instability along the path.

    With theta the share of subsamples that have a pair as an edge, two of them disagree with chance 2 theta (1 - theta);
    instability is its mean over all pairs. As the penalty weakens it is taken never to fall, and the path ends where it is
    above `most`; if it is so from the start, the strongest penalty is taken.

    It is made for many pairs of which few are edges. With few pairs, the true edges alone, each of which comes into some
    subsamples before it comes into all, end the path too early.

    Parameters
    ----------
    lams : sequence of float
        From the strongest penalty to the weakest.
    supports : callable
        Returns, at a lambda, which of m pairs are edges in each of N subsamples: (N, m).

    References
    ----------
    Liu, Roeder & Wasserman (2010), "Stability approach to regularization selection (StARS) for high dimensional graphical
    models".

    Examples
    --------
    >>> graphs = {2.0: [[0, 0], [0, 0]], 1.0: [[1, 0], [1, 0]], 0.5: [[1, 0], [1, 1]]}
    >>> stars_lam([2.0, 1.0, 0.5], lambda lam: np.array(graphs[lam], dtype=bool))
    (1.0, [0.0, 0.0, 0.25])
    """
    chosen = lams[0]
    found: list[float] = []
    for lam in lams:
        share = supports(lam).mean(axis=0)
        now = float((2 * share * (1 - share)).mean()) if share.size else 0.0
        found.append(max(now, *found) if found else now)
        if found[-1] > most:
            break
        chosen = lam
    return chosen, found
