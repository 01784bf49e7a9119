r"""Indices of a target: functions of the best predictions of it, as further columns of its regressions.

Where a variable is moved by a set as a whole, :math:`x = g(s(z)) + \text{noise}` with s some combination of the
members, every feature of x has a conditional mean that is a function of s alone. Columns of single members and products
of a few of them need very many terms for a function of such an s (a threshold on a sum of four, say), and what they leave is
common to all variables that the same set moves: false edges. So the set's own predictions of a target are taken for s,

- the *linear index*, the regression of its first feature on the members' scores and indicators;
- the *fitted indices*, those of its first two features on all columns of the design,

each standardised, and :math:`\cos m\pi\Phi(s)`, m = 1..W, of each joins the design, for both ends of a pair. The indices are
made from the rows that they then serve; what they take of a target's own noise is counted as spent, and is independent of
the other end's noise if the pair is separated by the set.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gpmnet.columns.features import gather
from gpmnet.columns.functions import Cosine, Scores
from gpmnet.testing.design import Designs, Regression, standardise

_FITTED = 2  # first features of a target whose predictions are indices


def with_indices(
    designs: Designs, regression: Regression, given: Tensor, targets: list[Tensor]
) -> Regression:
    """Return regressions on sets (b, s; -1 pads) of one shape with the indices of targets, each (b,)."""
    count = designs.options.index_cosines(designs.features.n)
    if not count or not regression.design.shape[2] or designs.is_saturated(given):
        return regression
    if int((given[0] >= 0).sum()) < 2:
        return regression
    index = torch.cat([_linear(designs, given, target) for target in targets], dim=2)
    standardise(index)
    s = Scores(index)
    return regression.with_columns(torch.cat([Cosine(m).value(s) for m in range(1, count + 1)], dim=2))


def _fitted(designs: Designs, regression: Regression, target: Tensor) -> Tensor:
    """Return the predictions of a target's first features from all columns, (b, n, 2 or 1)."""
    block = designs.features.of(target)[:, :, :_FITTED]
    return regression.fitted(block - block.mean(dim=1, keepdim=True))


def _linear(designs: Designs, given: Tensor, target: Tensor) -> Tensor:
    """Return the prediction of a target's first feature from the members' scores and indicators, (b, n, 1)."""
    f = designs.features
    linear = Regression.of(gather(f.mid_scores, f.score_columns(given).flatten(1)), designs.options.ridge)
    first = f.of(target)[:, :, :1]
    return linear.fitted(first - first.mean(dim=1, keepdim=True))
