r"""Multinomial logits with an offset: how much more likely columns make the levels of a variable.

.. math:: P(k \mid x) \propto \exp(o_k + x^\top b_k), \qquad b_0 = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.rows import summed
from gpmnet.directed.score import Floats

_STEPS = 12
_CLOSE = 1e-3
"""Newton's method ends when a step promises less than so many nats."""
_RIDGE = 1e-3
"""Rows that say the slopes are 0, so that they stay finite where the levels are separated."""


Piece: TypeAlias = Callable[[slice], tuple[Floats, NDArray[np.integer], Floats]]
"""Columns (m, q), codes (m,) and offsets (m, r) of a slice of the rows."""


def logit_gain(rows: Piece, n: int, q: int, r: int) -> float:
    """Return the log likelihood of a logit on columns over that of its offset alone, in nats; never below 0.

    Of n rows, which are made piece by piece, with q columns and r levels.

    Newton's method from slopes 0, a step halved while it does not help. Time O(n q^2 r^2) a step.
    """
    slopes = np.zeros((q, r - 1))
    start = now = _sums(rows, n, slopes)
    for _ in range(_STEPS):
        gradient = (now.gradient - _RIDGE * slopes).T.ravel()
        step = np.linalg.solve(now.information + _RIDGE * np.eye(len(gradient)), gradient)
        promised, length = float(step @ gradient), 1.0
        if promised < _CLOSE:
            break
        while length > 1e-3:
            tried = slopes + length * step.reshape(r - 1, q).T
            after = _sums(rows, n, tried)
            if after.log_likelihood > now.log_likelihood:
                slopes, now = tried, after
                break
            length /= 2
        else:
            break
    return max(now.log_likelihood - start.log_likelihood, 0.0)


class _Sums(NamedTuple):
    """The log likelihood, its gradient (q, r - 1) and its information ((r - 1) q, (r - 1) q), slope by slope of a level."""

    log_likelihood: float
    gradient: Floats
    information: Floats


def _sums(rows: Piece, n: int, slopes: Floats) -> _Sums:
    q, free = slopes.shape

    def of(piece: slice) -> Floats:
        columns, codes, logits = rows(piece)
        at = np.arange(len(codes))
        logits = logits.copy()
        logits[:, 1:] += columns @ slopes
        logits -= logits.max(axis=1, keepdims=True)
        likely = logits[at, codes].sum()
        share = np.exp(logits, out=logits)
        total = share.sum(axis=1, keepdims=True)
        likely -= np.log(total).sum()
        share /= total
        information = _information(columns, share)
        wrong = -share[:, 1:]
        others = codes > 0
        wrong[at[others], codes[others] - 1] += 1.0
        return np.concatenate([[likely], (columns.T @ wrong).ravel(), information.ravel()])

    found = summed(of, n, width=2 * q + 4 * free)
    gradient, information = np.split(found[1:], [q * free])
    return _Sums(float(found[0]), gradient.reshape(q, free), information.reshape(q * free, q * free))


def _information(columns: Floats, share: Floats) -> Floats:
    q, free = columns.shape[1], share.shape[1] - 1
    found = np.empty((free, q, free, q))
    for a in range(free):
        for b in range(a + 1):
            weight = share[:, a + 1] * ((a == b) - share[:, b + 1])
            block = columns.T @ (weight[:, None] * columns)
            found[a, :, b], found[b, :, a] = block, block.T
    return found
