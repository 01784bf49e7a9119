"""Whether sums that were computed in single precision are what they would be in double: a look at a few of them."""

from __future__ import annotations

import torch
from torch import Tensor

from gpmnet.errors import ComputationError

FEW = 8
"""Rows on either side that are looked at: next to nothing beside the product of all."""
# What may be missing, of a null sum's noise and of the sum: more than rounding ever is.
_NOISE, _SHARE = 0.02, 2e-3


def check_sums(one: Tensor, two: Tensor, sums: Tensor) -> None:
    """Raise if sums of products differ from those in double precision by more than rounding can do.

    Parameters
    ----------
    one, two : Tensor of shape (p, n) and (q, n)
        A few rows with variance about 1 (`FEW` at most are looked at).
    sums : Tensor of shape (p, q)
        What was computed of them.
    """
    n = one.shape[1]
    exact = one[:FEW].double() @ two[:FEW].double().mT
    gap = (sums[:FEW, :FEW].double() - exact).abs()
    allowed = _NOISE * n**0.5 + _SHARE * exact.abs()
    if not bool(torch.all(gap <= allowed)):  # not a number is no agreement either
        raise ComputationError(
            f"sums in single precision on {one.device} differ from those in double precision by {float(gap.max()):.3g} over "
            f"{n:,} rows, more than rounding can do: this build of torch, or this device, computes wrongly"
        )
