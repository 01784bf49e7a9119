r"""The index of a target: functions of a set's linear prediction of it, as further columns of its regressions.

Where several members move a variable together, :math:`x = g(w^\top z) + \text{noise}`, every feature of x has a conditional
mean that is a function of one index, :math:`w^\top z`. Functions of single members and products of a few of them need very
many terms for such a function (already for the bounded features of a plain sum of four), and what they leave is common
to all variables that the same sum moves: false edges. So the linear regression of a target's first feature on the
members' scores and indicators is taken for the index, standardised, and :math:`\cos m\pi\Phi(s)`, m = 1..W, join the
design, for both ends of a pair.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gpmnet.columns.features import gather
from gpmnet.columns.functions import Cosine, Scores
from gpmnet.testing.design import Designs, Regression, standardise


def with_indices(
    designs: Designs, regression: Regression, given: Tensor, targets: list[Tensor]
) -> Regression:
    """Return regressions on sets (b, s; -1 pads) of one shape with the indices of targets, each (b,).

    The same regressions where an index has nothing to add: of a single member, and where the joint table is saturated.
    """
    count = designs.options.index_cosines(designs.features.n)
    if not count or int((given[0] >= 0).sum()) < 2 or designs.is_saturated(given):
        return regression
    f = designs.features
    linear = Regression.of(gather(f.mid_scores, f.score_columns(given).flatten(1)), designs.options.ridge)
    first = torch.cat([f.of(target)[:, :, :1] for target in targets], dim=2)
    index = linear.fitted(first - first.mean(dim=1, keepdim=True))
    standardise(index)
    s = Scores(index)
    return regression.with_columns(torch.cat([Cosine(m).value(s) for m in range(1, count + 1)], dim=2))
