"""Columns made uncorrelated with unit variance."""

from __future__ import annotations

import torch
from torch import Tensor


def whitener(gram: Tensor, floor: Tensor) -> Tensor:
    """Return upper triangular W with W' (G + diag(floor)) W = I, for Gram matrices G (..., k, k) and floors (..., k).

    Columns are whitened in their order: the first is only scaled. What has no variance left stays small instead of being
    blown up, as far as the floor says.
    """
    root = torch.linalg.cholesky(gram + torch.diag_embed(floor))
    eye = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device).expand_as(gram)
    inverse: Tensor = torch.linalg.solve_triangular(root, eye, upper=False)
    return inverse.mT
