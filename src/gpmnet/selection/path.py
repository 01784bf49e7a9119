"""Lambda, from a path of fits that start where the last one ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gpmnet.errors import ComputationError


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
