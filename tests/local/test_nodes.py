"""Node models and Omega against autograd, scikit-learn, enumeration and the exact precision matrix."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from gpmnet.local.nodes import (
    NodeOptions,
    edge_omegas,
    fit_logits,
    fit_scores,
    neighbour_basis,
    score_functions,
)

RNG = np.random.default_rng(0)


def own_features(z):
    return torch.stack([z, z.square() / 2, torch.tanh(z), torch.exp(-0.5 * z.square())], dim=-1)


def test_derivatives_of_the_own_features_agree_with_autograd():
    z = torch.linspace(-3, 3, 41, dtype=torch.float64, requires_grad=True)
    first, second = score_functions(z)
    for k in range(4):
        slope = torch.autograd.grad(own_features(z)[:, k].sum(), z, create_graph=True)[0]
        torch.testing.assert_close(first[:, k], slope)
        curve = torch.autograd.grad(slope.sum(), z, allow_unused=True, retain_graph=True)[0] if k else None
        torch.testing.assert_close(second[:, k], torch.zeros_like(z) if curve is None else curve)


def test_the_score_fit_minimises_the_loss_written_with_autograd():
    z = torch.tensor(RNG.normal(size=(1, 200)))
    basis = torch.cat([torch.ones((1, 200, 1)), torch.tensor(RNG.normal(size=(1, 200, 2)))], dim=2)
    theta = fit_scores(z, basis, ridge=0.0)[0].requires_grad_()

    x = z[0].clone().requires_grad_()
    log_density = -0.5 * x.square() + (own_features(x) * (basis[0] @ theta.T)).sum(dim=1)
    score = torch.autograd.grad(log_density.sum(), x, create_graph=True)[0]
    slope = torch.autograd.grad(score.sum(), x, create_graph=True)[0]
    loss = (0.5 * score.square() + slope).mean()
    gradient = torch.autograd.grad(loss, theta)[0]
    assert float(gradient.abs().max()) < 1e-8


def test_the_newton_fit_is_multinomial_logistic_regression():
    x = RNG.normal(size=(500, 3))
    logits = np.column_stack([np.zeros(500), x @ [1.0, -1.0, 0.3], x @ [0.2, 0.5, -1.0] + 0.3])
    codes = (
        RNG.random(500)[:, None] > np.cumsum(np.exp(logits) / np.exp(logits).sum(1, keepdims=True), 1)
    ).sum(1)
    basis = torch.tensor(np.column_stack([np.ones(500), x]))[None]
    theta = fit_logits(torch.tensor(codes)[None], 3, basis, NodeOptions(logistic_ridge=1e-10))[0].numpy()
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(x, codes)
    np.testing.assert_allclose(theta[:, 1:], model.coef_[1:] - model.coef_[0], atol=1e-4)
    np.testing.assert_allclose(theta[:, 0], model.intercept_[1:] - model.intercept_[0], atol=1e-4)


@pytest.mark.parametrize("levels", [8, 12])
def test_the_newton_fit_reaches_the_maximum_with_many_levels_and_a_strong_effect(levels):
    rng = np.random.default_rng(0)
    a = rng.integers(0, levels, 1000)
    b = np.where(rng.random(1000) < 0.6, a, rng.integers(0, levels, 1000))
    basis = torch.tensor(np.column_stack([np.ones(1000), np.eye(levels)[a][:, 1:]]))[None]
    theta = fit_logits(torch.tensor(b)[None], levels, basis, NodeOptions())[0]
    share = torch.softmax(torch.cat([torch.zeros((1000, 1)), basis[0] @ theta.T], dim=1), dim=1)[:, 1:]
    hot = torch.tensor(np.eye(levels)[b][:, 1:])
    penalty = 1e-3 * basis[0].square().mean(dim=0)
    penalty[0] = 1e-9
    gradient = (hot - share).T @ basis[0] / 1000 - penalty * theta
    assert float(gradient.abs().max()) < 1e-7
    assert float(theta.abs().max()) < 20


def test_the_basis_changes_as_its_derivative_says(features_of):
    f = features_of(RNG.normal(size=(50, 3)))
    members = torch.tensor([[1, 2]])
    basis = neighbour_basis(f, members)
    step = 1e-6
    at = int(f.linear_start[2])
    f.linear[:, at] += step
    moved = neighbour_basis(f, members).value
    f.linear[:, at] -= step
    torch.testing.assert_close((moved - basis.value) / step, basis.derivative(1), rtol=1e-4, atol=1e-5)


def omega(features, neighbours):
    squared, own = edge_omegas(features, neighbours, NodeOptions())
    return {pair: value**0.5 for pair, value in squared.items()}, own.sqrt()


def test_gaussian_omega_is_the_precision_matrix(features_of):
    precision = np.array([[1.0, -0.4, 0.0], [-0.4, 1.2, 0.3], [0.0, 0.3, 1.0]])
    covariance = np.linalg.inv(precision)
    x = np.random.default_rng(5).multivariate_normal(np.zeros(3), covariance, size=40_000)
    scale = np.sqrt(np.diag(covariance))
    expected = np.abs(precision * np.outer(scale, scale))  # of the standardised variables
    found, own = omega(features_of(x), [[1], [0, 2], [1]])
    for (i, j), value in found.items():
        assert value == pytest.approx(expected[i, j], rel=0.08)
    np.testing.assert_allclose(own, np.diag(expected), rtol=0.06)


def test_binary_omega_is_the_log_odds_ratio(features_of):
    table = np.array([[0.4, 0.1], [0.15, 0.35]])
    cells = np.random.default_rng(0).choice(4, 40_000, p=table.ravel())
    frame = pd.DataFrame({"a": cells // 2, "b": cells % 2})
    counts = np.bincount(cells, minlength=4).reshape(2, 2)
    expected = abs(np.log(counts[0, 0] * counts[1, 1] / counts[0, 1] / counts[1, 0]))
    found, own = omega(features_of(frame), [[1], [0]])
    assert found[0, 1] == pytest.approx(expected, rel=0.03)
    assert found[1, 0] == pytest.approx(expected, rel=0.03)
    assert own.tolist() == [0, 0]


def test_discrete_omega_agrees_with_enumeration(features_of):
    """Three levels each: f_kl are the log odds ratios against level 0; Omega sums their squares."""
    table = np.array([[0.2, 0.1, 0.05], [0.05, 0.2, 0.05], [0.05, 0.1, 0.2]])
    cells = np.random.default_rng(1).choice(9, 60_000, p=table.ravel())
    log = np.log(np.bincount(cells, minlength=9).reshape(3, 3))
    f = log[0, 0] - log[1:, [0]] - log[[0], 1:] + log[1:, 1:]
    frame = pd.DataFrame({"a": cells // 3, "b": cells % 3})
    found, _ = omega(features_of(frame), [[1], [0]])
    assert found[0, 1] == pytest.approx(np.sqrt((f**2).sum()), rel=0.03)


def test_mixed_omega_from_both_ends(features_of):
    """b | a ~ N(a delta, 1): f = delta on the standardised scale, whichever end is asked."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2, 40_000)
    b = 1.0 * a + rng.normal(size=40_000)
    frame = pd.DataFrame({"a": a, "b": b})
    found, _ = omega(features_of(frame), [[1], [0]])
    assert found[0, 1] == pytest.approx(1.0 * b.std(), rel=0.15)
    assert found[1, 0] == pytest.approx(1.0 * b.std(), rel=0.15)
