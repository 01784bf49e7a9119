r"""Multinomial logits with an offset: how much more likely columns make the levels of a variable.

.. math:: P(k \mid x) \propto \exp(o_k + x^\top b_k), \qquad b_0 = 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpmnet.directed.score import Floats

_STEPS = 12
_CLOSE = 1e-3
"""Newton's method ends when a step promises less than so many nats."""
_RIDGE = 1e-3
"""Rows that say the slopes are 0, so that they stay finite where the levels are separated."""


def logit_gain(columns: Floats, codes: NDArray[np.intp], offset: Floats) -> float:
    """Return the log likelihood of a logit on columns, (n, q), over that of its offset alone, (n, r), in nats.

    Newton's method from slopes 0, a step halved while it does not help; never below 0.
    """
    n, q = columns.shape
    r = offset.shape[1]
    slopes, at = np.zeros((q, r - 1)), np.arange(n)
    start = now = _log_likelihood(offset, codes)
    share = _shares(offset)
    for _ in range(_STEPS):
        wrong = -share[:, 1:]
        rows = codes > 0
        wrong[at[rows], codes[rows] - 1] += 1.0
        gradient = (columns.T @ wrong - _RIDGE * slopes).T.ravel()
        step = np.linalg.solve(_information(columns, share), gradient)
        promised, length = float(step @ gradient), 1.0
        if promised < _CLOSE:
            break
        while length > 1e-3:
            tried = slopes + length * step.reshape(r - 1, q).T
            logits = offset.copy()
            logits[:, 1:] += columns @ tried
            after = _log_likelihood(logits, codes)
            if after > now:
                slopes, now, share = tried, after, _shares(logits)
                break
            length /= 2
        else:
            break
    return max(now - start, 0.0)


def _information(columns: Floats, share: Floats) -> Floats:
    q, free = columns.shape[1], share.shape[1] - 1
    found = np.empty((free, q, free, q))
    for a in range(free):
        for b in range(a + 1):
            weight = share[:, a + 1] * ((a == b) - share[:, b + 1])
            block = columns.T @ (weight[:, None] * columns)
            found[a, :, b], found[b, :, a] = block, block.T
    return np.asarray(found.reshape(free * q, free * q) + _RIDGE * np.eye(free * q))


def _log_likelihood(logits: Floats, codes: NDArray[np.intp]) -> float:
    most = logits.max(axis=1)
    total = most + np.log(np.exp(logits - most[:, None]).sum(axis=1))
    return float((logits[np.arange(len(codes)), codes] - total).sum())


def _shares(logits: Floats) -> Floats:
    found = np.exp(logits - logits.max(axis=1, keepdims=True))
    found /= found.sum(axis=1, keepdims=True)
    return np.asarray(found)
