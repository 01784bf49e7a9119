"""The ridge of ill-conditioned regressions, against its closed form."""

import torch

from gpmnet.testing.blocks import DenseBlock
from gpmnet.testing.regression import Regression

RIDGE = 1e-3


def columns(n=200, p=3):
    value = torch.randn(1, p, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    value -= value.mean(dim=2, keepdim=True)
    return value / value.square().mean(dim=2, keepdim=True).sqrt()


def fitted(blocks, target, ridge=RIDGE):
    regression = Regression.without_columns(1, target.shape[1], ridge, target.device)
    for block in blocks:
        regression = regression.with_columns(DenseBlock(block))
    return regression.fitted(target)


def test_copies_of_a_column_share_a_ridge():
    """Two copies with a ridge each are one column with half of it, in the same block and in another."""
    x = columns()
    target = (x.sum(dim=1) + columns(p=1)[:, 0].flip(1))[:, :, None]
    target = target - target.mean(dim=1, keepdim=True)
    expected = torch.zeros_like(target)
    weight = torch.tensor([RIDGE / 2] * 3, dtype=torch.float64)
    gram = x[0] @ x[0].T / x.shape[2] + torch.diag(weight)
    expected[0] = x[0].T @ torch.linalg.solve(gram, x[0] @ target[0] / x.shape[2])
    torch.testing.assert_close(fitted([torch.cat([x, x], dim=1)], target), expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(fitted([x, x], target), expected, rtol=1e-9, atol=1e-9)


def test_a_sum_of_columns_beside_them_is_no_singular_matrix():
    x = columns()
    total = x.sum(dim=1, keepdim=True)
    total = total / total.square().mean(dim=2, keepdim=True).sqrt()
    target = x[:, 0, :, None]
    found = fitted([torch.cat([x, total], dim=1), x, total], target)
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found, target, rtol=0, atol=10 * RIDGE)
