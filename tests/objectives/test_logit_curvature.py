"""Products with the Hessian of the pseudo-likelihood, and the matrix near it, against both written down."""

import pytest
import torch

from gpmnet.objectives.linear_logits import LinearPseudoLikelihood, level_probabilities

DRAW = torch.Generator().manual_seed(0)
B, N, P = 2, 80, 5


def normal(*shape):
    return torch.randn(shape, generator=DRAW, dtype=torch.float64)


@pytest.fixture(params=[2, 3, 7])
def case(request):
    """A loss, coefficients, and how it curves there."""
    basis = normal(B, N, P)
    basis[..., 0] = 1
    codes = torch.randint(0, request.param, (B, N), generator=DRAW)
    penalty = torch.rand((B, P), generator=DRAW, dtype=torch.float64)
    penalty[:, 0] = 1e-9  # as that of the constant
    loss = LinearPseudoLikelihood(codes, basis, penalty)
    theta = normal(B, request.param - 1, P)
    return loss, theta, loss.curvature(theta)


def near(loss, theta):
    """Return K without the penalties, and the penalties, both (b, m p, m p)."""
    share = level_probabilities(loss.basis @ theta.mT)[..., 1:]
    spread = (torch.diag_embed(share) - share[..., :, None] * share[..., None, :]).mean(dim=1)
    gram = loss.basis.mT @ loss.basis / N
    plain = torch.stack([torch.kron(c, g) for c, g in zip(spread, gram, strict=True)])
    return plain, torch.diag_embed(loss.penalty.repeat(1, theta.shape[1]))


def test_gradient_and_products_are_those_of_the_hessian(case):
    loss, theta, at = case
    gradient, hessian = loss.derivatives(theta)
    torch.testing.assert_close(at.gradient.flatten(1), gradient)
    direction = normal(*theta.shape)
    expected = (hessian @ direction.flatten(1)[..., None])[..., 0]
    torch.testing.assert_close(at.times(direction).flatten(1), expected, rtol=1e-5, atol=1e-6)


def test_the_matrix_near_is_inverted(case):
    loss, theta, at = case
    plain, penalty = near(loss, theta)
    right = normal(*theta.shape)
    found = at.solve_near(right).flatten(1)[..., None]
    torch.testing.assert_close(((plain + penalty) @ found)[..., 0], right.flatten(1), rtol=1e-5, atol=1e-6)


def test_degrees_of_freedom_are_those_of_the_matrix_near(case):
    loss, theta, at = case
    plain, penalty = near(loss, theta)
    expected = torch.linalg.solve(plain + penalty, plain).diagonal(dim1=1, dim2=2).sum(dim=1)
    torch.testing.assert_close(at.freedom(), expected, rtol=1e-5, atol=1e-5)


def test_where_all_rows_are_alike_the_matrix_near_is_the_hessian(case):
    loss, _, _ = case
    m = int(loss.codes.max())
    alike = torch.zeros((B, m, P), dtype=torch.float64)  # the same probabilities in all rows
    alike[:, :, 0] = normal(B, m)
    plain, penalty = near(loss, alike)
    torch.testing.assert_close(plain + penalty, loss.derivatives(alike)[1], rtol=1e-6, atol=1e-8)
