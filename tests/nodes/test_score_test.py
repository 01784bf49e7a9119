"""Rao's score test: its gradients and projections against autograd, its p-values, its power."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from gpmnet.columns.functions import OWN_FUNCTIONS, Scores, feature_functions, values
from gpmnet.nodes.models import NodeFitter, NodeOptions
from gpmnet.nodes.score_test import ScoreTest, directed_log_p
from gpmnet.testing.p_values import cauchy_combination, log_chi2_sf

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(150, 3)), columns=["a", "b", "c"]).assign(
    d=RNG.integers(0, 3, 150), e=lambda f: (f["a"] + RNG.normal(size=150) > 0).astype(int)
)


def functions(z):
    return values(feature_functions(3), Scores(z))


def own_features(z):
    return values(OWN_FUNCTIONS, Scores(z))


def directed(features, node, candidate, given):
    return directed_log_p(NodeFitter(features, NodeOptions()), node, candidate, given)


def score_losses(models, added):
    """Return the losses of the rows as a function of (theta, eta), eta the coefficients of the new direction."""
    basis, z = models.basis.value[0], models.z[0]

    def losses(theta, eta):
        x = z.clone().requires_grad_()
        log_density = -0.5 * x.square() + (own_features(x) * (basis @ theta.T)).sum(dim=1)
        log_density = log_density + (functions(x) * (added @ eta.T)).sum(dim=1)
        score = torch.autograd.grad(log_density.sum(), x, create_graph=True)[0]
        return 0.5 * score.square() + torch.autograd.grad(score.sum(), x, create_graph=True)[0]

    return losses


def logit_losses(models, added):
    basis, codes = models.basis.value[0], models.codes()[0]

    def losses(theta, eta):
        logits = basis @ theta.T + added @ eta.T
        logits = torch.cat([torch.zeros_like(logits[:, :1]), logits], dim=1)
        return torch.nn.functional.cross_entropy(logits, codes, reduction="none")

    return losses


@pytest.mark.parametrize(
    ("node", "candidate", "given"), [(0, 1, [2, 3]), (0, 3, [1]), (3, 1, [0]), (3, 4, [0, 1])]
)
def test_the_statistic_is_that_of_projected_gradients_by_autograd(features_of, node, candidate, given):
    f = features_of(FRAME)
    levels = int(f.levels[node])
    models = NodeFitter(f, NodeOptions()).fit(torch.tensor([node]), torch.tensor([given]))
    added = f.phi[:, f.columns(torch.tensor([candidate]))[0]]
    losses = (logit_losses if levels else score_losses)(models, added)
    k = levels - 1 if levels else 3
    at = (models.theta[0], torch.zeros((k, added.shape[1]), dtype=torch.float64))
    rows = torch.autograd.functional.jacobian(losses, at)
    u, g = (x.flatten(1) for x in rows)
    blocks = torch.autograd.functional.hessian(lambda t, e: losses(t, e).mean(), at)
    a = blocks[0][0].reshape(u.shape[1], u.shape[1]) + torch.diag(models.penalty[0])
    b = blocks[1][0].reshape(g.shape[1], u.shape[1])
    part = torch.linalg.solve(a, b.T)
    left = g - u @ part
    if levels:  # the model's own covariance of the projected gradients
        p = torch.softmax(
            torch.cat([torch.zeros((150, 1)), models.basis.value[0] @ models.theta[0].T], dim=1), dim=1
        )
        spread = torch.zeros((g.shape[1], g.shape[1]), dtype=torch.float64)
        for level in range(levels):
            residual = torch.eye(levels, dtype=torch.float64)[level, 1:] - p[:, 1:]
            both = [(residual[:, :, None] * x[:, None, :]).flatten(1) for x in (models.basis.value[0], added)]
            moved = both[1] - both[0] @ part
            spread += (p[:, level, None] * moved).T @ moved / 150
    else:
        spread = left.T @ left / 150
    mean = left.mean(dim=0)
    expected = log_chi2_sf(150 * mean @ torch.linalg.solve(spread, mean), g.shape[1])
    found = directed(f, torch.tensor([node]), torch.tensor([candidate]), torch.tensor([given]))
    torch.testing.assert_close(found[0, 0], expected, rtol=1e-3, atol=1e-4)


def test_gaussian_pairs_get_about_the_partial_correlation_test(features_of):
    precision = np.array([[1.0, -0.15, -0.4], [-0.15, 1.0, 0.2], [-0.4, 0.2, 1.0]])
    x = np.random.default_rng(1).multivariate_normal(np.zeros(3), np.linalg.inv(precision), size=4000)
    f = features_of(x)
    sample = np.linalg.inv(np.cov(x.T))
    for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        partial = -sample[i, j] / np.sqrt(sample[i, i] * sample[j, j])
        classical = np.log(2) + stats.t.logsf(abs(partial) * np.sqrt(3997 / (1 - partial**2)), 3997)
        found = directed(f, torch.tensor([i]), torch.tensor([j]), torch.tensor([[k]]))
        # the variance is the empirical one, which a strong effect inflates
        assert float(found[0, 1]) == pytest.approx(classical, rel=0.2)


N, REPEATS = 400, 300


def gaussian_null(rng):
    k, m, a, b = rng.normal(size=(4, N, REPEATS))
    return [a + k - 0.5 * m, b + k + 0.5 * m, k, m]


def discrete_null(rng):
    k = rng.integers(0, 3, (N, REPEATS))
    a = (rng.random(k.shape) < np.array([0.1, 0.5, 0.9])[k]).astype(int)
    return [
        a,
        (rng.random(k.shape)[..., None] > np.array([[0.5, 0.7], [0.3, 0.6], [0.1, 0.3]])[k]).sum(-1),
        k,
    ]


def mixed_null(rng):
    k = rng.normal(size=(N, REPEATS))
    return [(rng.random(k.shape) < 1 / (1 + np.exp(-2 * k))).astype(int), k + rng.normal(size=k.shape), k]


@pytest.mark.parametrize("draw", [gaussian_null, discrete_null, mixed_null])
def test_p_values_are_uniform_given_the_true_neighbors(features_of, draw):
    blocks = draw(np.random.default_rng(0))
    kinds = {
        f"x{b * REPEATS + r}": "discrete" if block.dtype.kind == "i" else "continuous"
        for b, block in enumerate(blocks)
        for r in range(REPEATS)
    }
    f = features_of(pd.DataFrame(np.concatenate(blocks, axis=1)).add_prefix("x"), kinds)
    at = torch.arange(REPEATS)
    given = torch.stack([at + k * REPEATS for k in range(2, len(blocks))], dim=1)
    one_way = directed(f, at, at + REPEATS, given).exp()
    assert stats.kstest(one_way[:, 0], "uniform").pvalue > 0.001
    p = ScoreTest().log_p(f, at, at + REPEATS, given).exp().numpy()
    for alpha in (0.01, 0.05, 0.2):
        assert np.mean(p <= alpha) <= alpha + 3.5 * np.sqrt(alpha * (1 - alpha) / REPEATS)


def test_dependent_pairs_of_all_kinds_are_found_and_sets_may_be_padded(features_of):
    rng = np.random.default_rng(0)
    k = rng.normal(size=600)
    a = k + rng.normal(size=600)
    frame = pd.DataFrame({"k": k, "a": a, "b": k + 0.5 * a**2 + rng.normal(size=600)})
    frame["c"] = (a + rng.normal(size=600) > 0).astype(int)
    frame["d"] = np.where(rng.random(600) < 0.4, frame["c"], rng.integers(0, 3, 600))
    f = features_of(frame)
    first, second = torch.tensor([1, 1, 3]), torch.tensor([2, 3, 4])
    given = torch.tensor([[0, -1], [-1, 0], [-1, -1]])
    found = ScoreTest().log_p(f, first, second, given)
    assert found.shape == (3,)
    assert float(found.max()) < np.log(1e-6)
    torch.testing.assert_close(found, ScoreTest().log_p(f, second, first, given.flip(1)))
    ends = [directed(f, *pair, given) for pair in ((first, second), (second, first))]
    torch.testing.assert_close(found, cauchy_combination(torch.cat(ends, dim=1)))


def test_what_the_set_determines_gives_no_evidence(features_of):
    k = np.random.default_rng(0).integers(0, 4, 300)
    frame = pd.DataFrame({"a": k % 2, "b": RNG.normal(size=300) + k, "k": k})
    p = ScoreTest().log_p(features_of(frame), torch.tensor([0]), torch.tensor([1]), torch.tensor([[2]]))
    assert float(p.exp()) > 0.05
