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

from gpmnet.columns.functions import Scores, cosines
from gpmnet.columns.tabulated import standardised
from gpmnet.testing.blocks import DenseBlock, TableBlock
from gpmnet.testing.regression import Regression


def with_indices(regression: Regression, linear: TableBlock, first: Tensor, count: int) -> Regression:
    """Return regressions with `count` cosines of the indices of targets.

    `linear` has the scores and indicators that indices are made of, `first`, (b, t), the rows of the targets' first
    features in the same table.
    """
    if not count:
        return regression
    table = linear.table
    plain = Regression.without_columns(len(first), regression.n, regression.ridge, first.device)
    plain = plain.with_columns(linear)
    index = plain.combined(plain.solve(plain.feature_moments(table, first)))
    s = Scores(standardised(index))
    return regression.with_columns(DenseBlock(standardised(torch.cat([*cosines(s, count)], dim=1))))
