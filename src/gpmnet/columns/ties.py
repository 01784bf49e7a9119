"""Rows with equal values have equal functions: the mean over the ranks that they share."""

from __future__ import annotations

import torch
from torch import Tensor

PEAK = 3.0
"""No feature of a continuous variable is larger."""


def tied_means(values: Tensor, group: Tensor) -> Tensor:
    """Return the means of values at the ranks, (n, k), over the ranks that rows with equal values share: (n, c, k).

    `group`, (n, c), numbers the distinct values of c variables in increasing order.
    """
    count = torch.zeros((int(group.max()) + 1, group.shape[1]), dtype=torch.int64, device=group.device)
    count.scatter_add_(0, group, torch.ones_like(group))
    stop = count.cumsum(dim=0)
    sums = torch.cat([torch.zeros_like(values[:1]), values.cumsum(dim=0)])
    mean = (sums[stop] - sums[stop - count]) / count.clamp(min=1)[..., None]
    return mean.gather(0, group[..., None].expand(-1, -1, values.shape[1]))


def bounded_orthonormal(block: Tensor, share: Tensor | None = None) -> Tensor:
    """Return features (n, c, k) of c variables, each variable's centred and orthonormal in their order, up to `PEAK`.

    Where few rows differ from the rest, unit variance would make spikes of them; such features stay smaller. The rows may
    stand for others, a share of all, (n,), each.
    """
    mean = block.mean(dim=0) if share is None else torch.einsum("n,nck->ck", share.to(block.dtype), block)
    value = (block - mean).permute(1, 2, 0)
    gram = value @ value.mT / value.shape[2] if share is None else (value * share) @ value.mT
    gram.diagonal(dim1=1, dim2=2).add_(1e-6)  # few values may leave fewer directions than features
    white: Tensor = torch.linalg.solve_triangular(torch.linalg.cholesky(gram), value, upper=False)
    white /= (white.abs().amax(dim=2, keepdim=True) / PEAK).clamp(min=1.0)
    return white.permute(2, 0, 1)
