"""Models of discrete nodes against scikit-learn, autograd, and sums over all states of a known mass function."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize as scipy_minimise
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from gpmnet.nodes.discrete import LogitData, LogitSettings, fit_logits, penalties
from gpmnet.objectives.linear_logits import (
    LinearMarginalisation,
    LinearPseudoLikelihood,
    information,
    level_probabilities,
)
from gpmnet.solvers.newton import minimise

RNG = np.random.default_rng(0)
COUNTS = np.array([[6, 2, 1], [2, 5, 3], [1, 1, 4]])  # rows: the neighbor, columns: the node


def drawn(n=300, levels=3):
    basis = torch.tensor(np.column_stack([np.ones(n), RNG.normal(size=(n, 3))]))[None]
    return basis, torch.tensor(RNG.integers(0, levels, n))[None]


def population():
    """Rows in the proportions of the table, and indicators of the neighbor: the loss is then its expectation."""
    neighbor, node = (np.repeat(axis.ravel(), COUNTS.ravel()) for axis in np.indices(COUNTS.shape))
    basis = np.column_stack([np.ones(len(node)), np.eye(3)[neighbor][:, 1:]])
    return torch.tensor(basis)[None], torch.tensor(node)[None]


def fit(codes, levels, basis, ridge):
    start = basis.new_zeros((len(basis), levels - 1, basis.shape[2]))
    return minimise(LinearPseudoLikelihood(codes, basis, penalties(basis, ridge)), start, 50).theta


def test_the_newton_fit_is_multinomial_logistic_regression():
    x = RNG.normal(size=(500, 3))
    logits = np.column_stack([np.zeros(500), x @ [1.0, -1.0, 0.3], x @ [0.2, 0.5, -1.0] + 0.3])
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    codes = (RNG.random(500)[:, None] > np.cumsum(shares, 1)).sum(1)
    basis = torch.tensor(np.column_stack([np.ones(500), x]))[None]
    theta = fit(torch.tensor(codes)[None], 3, basis, 1e-10)[0].numpy()
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(x, codes)
    np.testing.assert_allclose(theta[:, 1:], model.coef_[1:] - model.coef_[0], atol=1e-4)
    np.testing.assert_allclose(theta[:, 0], model.intercept_[1:] - model.intercept_[0], atol=1e-4)


@pytest.mark.parametrize("levels", [8, 12])
def test_the_newton_fit_reaches_the_maximum_with_many_levels_and_a_strong_effect(levels):
    rng = np.random.default_rng(0)
    a = rng.integers(0, levels, 1000)
    b = np.where(rng.random(1000) < 0.6, a, rng.integers(0, levels, 1000))
    basis = torch.tensor(np.column_stack([np.ones(1000), np.eye(levels)[a][:, 1:]]))[None]
    theta = fit(torch.tensor(b)[None], levels, basis, 1e-3)[0]
    share = torch.softmax(torch.cat([torch.zeros((1000, 1)), basis[0] @ theta.T], dim=1), dim=1)[:, 1:]
    hot = torch.tensor(np.eye(levels)[b][:, 1:])
    penalty = 1e-3 * basis[0].square().mean(dim=0)
    penalty[0] = 1e-9
    gradient = (hot - share).T @ basis[0] / 1000 - penalty * theta
    assert float(gradient.abs().max()) < 1e-7
    assert float(theta.abs().max()) < 20


@pytest.mark.parametrize("levels", [2, 4])
def test_derivatives_agree_with_autograd(levels):
    basis, codes = drawn(levels=levels)
    penalty = torch.tensor(RNG.random((1, 4)))
    theta = torch.tensor(RNG.normal(size=(1, levels - 1, 4)), requires_grad=True)
    losses = LinearPseudoLikelihood(codes, basis, penalty), LinearMarginalisation(codes, basis, penalty, 0.02)
    for objective in losses:
        gradient = torch.autograd.grad(objective.loss(theta).sum(), theta)[0]
        hessian = torch.autograd.functional.hessian(lambda t, o=objective: o.loss(t).sum(), theta)
        found = objective.derivatives(theta.detach())
        size = 4 * (levels - 1)
        torch.testing.assert_close(found[0], gradient.reshape(1, size))
        torch.testing.assert_close(found[1][0], hessian.reshape(size, size), rtol=1e-6, atol=1e-6)


def test_the_marginalisation_loss_is_a_sum_over_all_states():
    basis, codes = population()
    theta = torch.tensor(RNG.normal(size=(1, 2, 3)))
    share = COUNTS / COUNTS.sum()
    expected = 0.0
    for k in range(3):
        logits = np.r_[0.0, theta[0].numpy() @ np.r_[1.0, np.eye(3)[k][1:]]]
        r = np.exp(logits).sum() / np.exp(logits)
        expected += sum(share[k, x] * (0.5 * r[x] ** 2 - r.sum()) for x in range(3))
    loss = LinearMarginalisation(codes, basis, torch.zeros((1, 3), dtype=torch.float64), 0.0).loss(theta)
    np.testing.assert_allclose(loss, expected)


def test_the_population_minimiser_of_marginalisation_is_the_truth():
    basis, codes = population()
    none = torch.full((1, 3), 1e-12, dtype=torch.float64)
    truth = np.log(COUNTS[:, 1:] / COUNTS[:, :1])
    expected = np.column_stack([truth[0], truth[1] - truth[0], truth[2] - truth[0]])
    plain = LinearMarginalisation(codes, basis, none, 0.0)
    gradient, hessian = plain.derivatives(torch.tensor(expected)[None])
    assert float(gradient.abs().max()) < 1e-8
    assert float(torch.linalg.eigvalsh(hessian).min()) > 0
    # the ridge on r, 1/n, moves it a little: with the same proportions and many rows it is reached
    rows = 200
    start = torch.zeros((1, 2, 3), dtype=torch.float64)
    loss = LinearMarginalisation(codes.repeat(1, rows), basis.repeat(1, rows, 1), none)
    found = minimise(loss, start, 100).theta
    np.testing.assert_allclose(found[0], expected, atol=0.02)


def test_marginalisation_has_a_minimiser_where_a_state_was_never_seen():
    neighbor = np.repeat([0, 0, 1], [40, 20, 30])
    node = np.repeat([0, 1, 1], [40, 20, 30])  # level 0 never with neighbor 1
    basis = torch.tensor(np.column_stack([np.ones(90), neighbor]).astype(float))[None]
    codes = torch.tensor(node)[None]
    penalty = penalties(basis, 1e-3)
    zero = torch.zeros((1, 1, 2), dtype=torch.float64)
    start = minimise(LinearPseudoLikelihood(codes, basis, penalty), zero, 50).theta
    theta = minimise(LinearMarginalisation(codes, basis, penalty), start, 100).theta
    gradient, hessian = LinearMarginalisation(codes, basis, penalty, 1 / 90).derivatives(theta)
    assert float(gradient.abs().max()) < 1e-6
    assert float(torch.linalg.eigvalsh(hessian).min()) > 0
    unseen = level_probabilities(basis @ theta.mT)[0, -1, 0]
    assert 0.2 / 90 < float(unseen) < 5 / 90


def test_the_information_is_the_covariance_of_the_gradients_under_the_model():
    basis, _ = drawn(levels=3)
    p = level_probabilities(basis @ torch.tensor(RNG.normal(size=(1, 2, 4))).mT)
    expected = torch.zeros((8, 8), dtype=torch.float64)
    for row in range(basis.shape[1]):
        for level in range(3):
            residual = torch.eye(3, dtype=torch.float64)[level, 1:] - p[0, row, 1:]
            g = torch.kron(residual, basis[0, row])
            expected += p[0, row, level] * torch.outer(g, g) / basis.shape[1]
    torch.testing.assert_close(information(p, basis)[0], expected)


def test_the_ridge_follows_the_signal():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 800, 10))
    strong = rng.random(800) < 1 / (1 + np.exp(-3 * x[1, :, 0]))
    codes = torch.tensor(np.stack([rng.integers(0, 2, 800), strong]).astype(np.int64))
    basis = torch.cat([torch.ones((2, 800, 1)), torch.tensor(x)], dim=2)
    flexible = torch.arange(11) > 0
    settings = LogitSettings("pseudo-likelihood", 1e-3, (1e-3, 0.1, 10.0), 50)
    found, penalty = fit_logits(LogitData(codes, 2, basis, flexible), settings)
    assert found.converged.all()
    assert float(penalty[0, 1]) > 100 * float(penalty[1, 1])
    assert float(found.theta[1, 0, 1]) > 2


def many_levels(b=2, n=1500, levels=12, p=15, seed=5):
    """Nodes with uneven levels, some of which depend on flexible columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(b, n, p - 1))
    theta = rng.normal(size=(b, levels, p - 1)) * (rng.random((b, 1, p - 1)) < 0.4)
    logits = x @ theta.transpose(0, 2, 1) + np.linspace(0, 3, levels) + rng.gumbel(size=(b, n, levels))
    basis = torch.cat([torch.ones((b, n, 1)), torch.tensor(x)], dim=2)
    return LogitData(torch.tensor(logits.argmax(axis=2)), levels, basis, torch.arange(p) > 8)


SETTINGS = LogitSettings("pseudo-likelihood", 1e-3, (1e-3, 1e-2, 0.1, 1.0), 50)


def test_the_fit_without_a_hessian_is_that_of_newton_steps(monkeypatch):
    data = many_levels()
    found, penalty = fit_logits(data, SETTINGS)
    monkeypatch.setattr("gpmnet.nodes.discrete.WRITTEN_UP_TO", 10**9)
    exact, exact_penalty = fit_logits(data, SETTINGS)
    assert found.converged.all()
    assert exact.converged.all()
    torch.testing.assert_close(penalty, exact_penalty, rtol=0, atol=0)
    torch.testing.assert_close(found.theta, exact.theta, rtol=0, atol=1e-8)


def test_the_fit_without_a_hessian_is_that_of_an_optimiser_of_scipy():
    data = many_levels(b=1)
    found, penalty = fit_logits(data, SETTINGS)
    x, codes, weight = data.basis[0].numpy(), data.codes[0].numpy(), penalty[0].numpy()

    def value_and_slope(flat):
        theta = flat.reshape(11, 15)
        logits = np.column_stack([np.zeros(len(x)), x @ theta.T])
        log_p = logits - logsumexp(logits, axis=1, keepdims=True)
        rest = np.exp(log_p) - np.eye(12)[codes]
        loss = -log_p[np.arange(len(x)), codes].mean() + 0.5 * (weight * theta**2).sum()
        return loss, (rest[:, 1:].T @ x / len(x) + weight * theta).ravel()

    options = {"maxiter": 20000, "maxfun": 20000, "ftol": 1e-16, "gtol": 1e-10}
    best = scipy_minimise(value_and_slope, np.zeros(165), jac=True, method="L-BFGS-B", options=options)
    np.testing.assert_allclose(found.theta[0].numpy().ravel(), best.x, atol=1e-4)
    loss, slope = value_and_slope(found.theta[0].numpy().ravel())
    assert loss <= best.fun + 1e-12
    assert np.abs(slope).max() < 1e-9


def test_a_cap_is_told_with_many_levels():
    short = LogitSettings("pseudo-likelihood", 1e-3, (1e-3,), 2)
    assert not fit_logits(many_levels(), short)[0].converged.any()


def test_a_level_that_no_row_shows_has_a_fit():
    data = many_levels(b=1)
    codes = torch.where(data.codes == 3, 4, data.codes)
    found, _ = fit_logits(LogitData(codes, 12, data.basis, data.flexible), SETTINGS)
    assert torch.isfinite(found.theta).all()
    assert float(level_probabilities(data.basis @ found.theta.mT)[..., 3].mean()) < 1e-3
