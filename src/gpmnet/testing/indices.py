r"""The index of a target: functions of a set's prediction of it, as further columns of its regressions.

Where several members move a variable together, :math:`x = g(w^\top z) + \text{noise}`, every feature of x has a conditional
mean that is a function of one index, :math:`w^\top z`. Functions of single members and products of a few of them need very
many terms for such a function (already for the bounded features of a plain sum of four), and what they leave is common
to all variables that the same sum moves: false edges. So the linear regression of a target's first feature on the
members' scores and indicators is taken for the index, standardised, and :math:`\cos m\pi\Phi(s)`, m = 1..W, join the
design, for both ends of a pair.

A sum of curves, :math:`x = g(\sum_k f_k(z_k)) + \text{noise}`, has another index: the additive regression on a few functions
of each member. Its functions, and faster ones of the linear index (a threshold of a sum), join where what is left of an
end shows a sign of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from gpmnet.columns.functions import Scores, cosines
from gpmnet.columns.tabulated import standardised
from gpmnet.testing.blocks import DenseBlock, TableBlock
from gpmnet.testing.regression import Regression


def index_of(columns: TableBlock, first: Tensor, ridge: float) -> Tensor:
    """Return what regressions on some columns say of targets, standardised, (b, t, n).

    `first`, (b, t), has the rows of the targets' first features in the table of the columns.
    """
    plain = Regression.without_columns(len(first), columns.shape[2], ridge, first.device).with_columns(
        columns
    )
    return standardised(plain.combined(plain.solve(plain.feature_moments(columns.table, first))))


def index_functions(index: Tensor, count: int) -> Tensor:
    """Return the cosines m = 1 .. count of indices (b, t, n), standardised, (b, t, count, n)."""
    return standardised(torch.stack([*cosines(Scores(index), count)], dim=2))


def with_signs(regression: Regression, groups: Sequence[Tensor], left: Tensor) -> Regression | None:
    r"""Return regressions with those groups of columns of which what is left of targets shows a sign, None where none does.

    Each of the groups is (b, t, h, n), with h columns for each of t targets, and `left` is (b, q, n). A sign is a sum of h
    squared t-values that is 3 standard deviations above its mean h under none, for any feature; the columns are not
    regressed on the others first, which makes t smaller. Time O(b n t h q).
    """
    scale = left.square().mean(dim=2).clamp(min=1e-12).sqrt()
    found = None
    for columns in groups:
        b, g, h, n = columns.shape
        t = (columns.flatten(1, 2) @ left.mT / scale[:, None, :]).square().reshape(b, g, h, -1).sum(dim=2) / n
        wanted = (t > h + 3 * math.sqrt(2 * h)).any(dim=2)
        if wanted.any():
            chosen = torch.where(wanted[:, :, None, None], columns, 0.0)[:, wanted.any(dim=0)]
            found = (found or regression).with_columns(DenseBlock(chosen.flatten(1, 2)))
    return found
