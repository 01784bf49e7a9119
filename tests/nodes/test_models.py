"""Node models and Omega against autograd, enumeration and the exact precision matrix."""

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet.columns.functions import OWN_FUNCTIONS, Scores, firsts, seconds, values
from gpmnet.nodes.continuous import core_terms, fit_scores
from gpmnet.nodes.joint import JointDirections
from gpmnet.nodes.models import NodeFitter, NodeOptions, edge_omegas
from gpmnet.nodes.neighbor_basis import NeighborBasis
from gpmnet.simulate import simulate

RNG = np.random.default_rng(0)


def own_features(z):
    return values(OWN_FUNCTIONS, Scores(z))


def neighbor_basis(features, members, count):
    return NeighborBasis.of(features, members, JointDirections.of(features, count, seed=0))


def test_the_score_fit_minimises_the_loss_written_with_autograd():
    z = torch.tensor(RNG.normal(size=(1, 200)))
    basis = torch.cat([torch.ones((1, 200, 1)), torch.tensor(RNG.normal(size=(1, 200, 2)))], dim=2)
    core = core_terms(torch.tensor([False, False, True]))
    fitted, penalty = fit_scores(z, basis, core, 1e-4, (1e-3, 0.1, 10.0))
    theta = fitted[0].requires_grad_()

    x = z[0].clone().requires_grad_()
    log_density = -0.5 * x.square() + (own_features(x) * (basis[0] @ theta.T)).sum(dim=1)
    score = torch.autograd.grad(log_density.sum(), x, create_graph=True)[0]
    slope = torch.autograd.grad(score.sum(), x, create_graph=True)[0]
    loss = (0.5 * score.square() + slope).mean() + 0.5 * (penalty[0] * theta.flatten().square()).sum()
    gradient = torch.autograd.grad(loss, theta)[0]
    assert float(gradient.abs().max()) < 1e-8


def test_the_ridge_of_the_flexible_terms_is_the_one_with_the_least_loss_on_rows_left_out():
    z = torch.tensor(RNG.normal(size=(2, 60)))
    basis = torch.cat([torch.ones((2, 60, 1)), torch.tensor(RNG.normal(size=(2, 60, 2)))], dim=2)
    z[1] += torch.tanh(3 * basis[1, :, 2])  # a flexible column that matters to the second node only
    core, ridges = core_terms(torch.tensor([False, False, True])), (1e-2, 1.0, 100.0)
    _, penalty = fit_scores(z, basis, core, 1e-4, ridges)
    first, second = firsts(OWN_FUNCTIONS, Scores(z)), seconds(OWN_FUNCTIONS, Scores(z))
    g = (first[..., :, None] * basis[..., None, :]).flatten(2).numpy()
    scale = (g**2).mean(axis=1)
    chosen = []
    for node in range(2):
        t = (
            z[node, :, None].numpy() * g[node]
            - (second[..., :, None] * basis[..., None, :]).flatten(2)[node].numpy()
        )
        loss = np.zeros(3)
        for at, ridge in enumerate(ridges):
            weights = np.where(core, 1e-4, ridge) * scale[node]
            for fold in range(4):
                out = np.arange(60) % 4 == fold
                a = g[node][~out].T @ g[node][~out] / (~out).sum() + np.diag(weights)
                theta = np.linalg.solve(a, t[~out].mean(axis=0))
                loss[at] += (0.5 * (g[node][out] @ theta) ** 2 - t[out] @ theta).sum()
        chosen.append(np.where(core, 1e-4, ridges[loss.argmin()]) * scale[node])
    np.testing.assert_allclose(penalty, chosen)
    assert penalty[0, 2] > penalty[1, 2]


MIXED = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["u", "v"]).assign(w=RNG.integers(0, 3, 60))


def test_the_basis_changes_as_its_derivative_says(features_of):
    f = features_of(MIXED)
    members = torch.tensor([[0, 1, 2]])
    basis = neighbor_basis(f, members, 7)
    assert basis.value.shape[2] == 1 + 3 + 3 + 2 + 7
    step, at = 1e-6, int(f.score_start[1])
    columns = []
    for sign in (1, -1):
        f.scores[:, at] += sign * step
        # the joint columns are centred with their means over the rows as they are
        moved = neighbor_basis(f, members, 7)
        joint = torch.tanh(moved.inner) - torch.tanh(basis.inner).mean(dim=1, keepdim=True)
        columns.append(torch.cat([moved.value[..., :-7], joint], dim=2))
        f.scores[:, at] -= sign * step
    slope = (columns[0] - columns[1]) / (2 * step)
    torch.testing.assert_close(*_changes(basis, 1), slope, rtol=1e-5, atol=1e-6)
    theta = torch.tensor(RNG.normal(size=(1, 4, basis.value.shape[2])))
    torch.testing.assert_close(*basis.changes(1, theta), slope @ theta.mT, rtol=1e-5, atol=1e-5)


def _changes(basis, slot):
    """Return how each column of F changes."""
    b, n, p = basis.value.shape
    return [change.expand(b, n, p) for change in basis.changes(slot, torch.eye(p, dtype=torch.float64)[None])]


def _at_level(f, basis, n_joint, level):
    """Return F with w, the last member, at a level in all rows: the coordinates of a row that has it are put in."""
    start, like = int(f.score_start[2]), int((torch.tensor(MIXED["w"].to_numpy()) == level).nonzero()[0, 0])
    old = f.scores.clone()
    f.scores[:, start : start + 2] = f.scores[like, start : start + 2].clone()
    value = basis.value.clone()
    own = slice(value.shape[2] - n_joint - 2, value.shape[2] - n_joint)
    value[:, :, own] = value[:, like, own]
    if n_joint:
        centre = torch.tanh(basis.inner).mean(dim=1, keepdim=True)
        value[..., -n_joint:] = torch.tanh(neighbor_basis(f, basis.members, n_joint).inner) - centre
    f.scores[:] = old
    return value


@pytest.mark.parametrize("n_joint", [0, 7])
def test_the_basis_changes_with_a_level_as_that_of_a_table_with_the_level(features_of, n_joint):
    f = features_of(MIXED)
    basis = neighbor_basis(f, torch.tensor([[0, 2]]), n_joint)
    at = [_at_level(f, basis, n_joint, level) for level in range(3)]
    for level in range(3):
        here = torch.tensor(MIXED["w"].to_numpy() == level)
        torch.testing.assert_close(at[level][:, here], basis.value[:, here], rtol=1e-5, atol=1e-5)
    found = _changes(basis, 1)
    assert len(found) == 2
    for level in (1, 2):
        torch.testing.assert_close(found[level - 1], at[level] - at[0], rtol=1e-5, atol=1e-5)


def test_averages_are_means_over_rows_with_one_member_moved(features_of):
    f = features_of(MIXED)
    basis = neighbor_basis(f, torch.tensor([[0, 2]]), 7)
    levels = torch.arange(3)
    expected = torch.stack([_at_level(f, basis, 7, k).mean(dim=1) for k in range(3)], dim=1)
    torch.testing.assert_close(basis.averages(1, levels, 100), expected, rtol=1e-5, atol=1e-5)
    points = torch.tensor([-1.0, 0.5], dtype=torch.float64)
    found = basis.averages(0, points, 100)
    old = f.scores[:, int(f.score_start[0])].clone()
    for g, point in enumerate(points):
        f.scores[:, int(f.score_start[0])] = point
        moved = neighbor_basis(f, torch.tensor([[0, 2]]), 7)
        torch.testing.assert_close(found[:, g, :-7], moved.value.mean(dim=1)[:, :-7])
        joint = (torch.tanh(moved.inner) - torch.tanh(basis.inner).mean(dim=1, keepdim=True)).mean(dim=1)
        torch.testing.assert_close(found[:, g, -7:], joint)
    f.scores[:, int(f.score_start[0])] = old


def omega(features, neighbors, **options):
    found = edge_omegas(NodeFitter(features, NodeOptions(**options)), neighbors)
    assert not found.stopped
    return {pair: value**0.5 for pair, value in found.squared.items()}, found.own.sqrt()


def test_joint_features_grow_with_the_rows_and_need_two_neighbors(features_of):
    assert [NodeOptions().n_joint(n) for n in (300, 3000)] == [6, 20]
    fitter = NodeFitter(features_of(RNG.normal(size=(300, 3))), NodeOptions())
    widths = [
        fitter.fit(torch.tensor([0]), torch.tensor([around])).basis.inner.shape[2] for around in ([1], [1, 2])
    ]
    assert widths == [0, 6]


@pytest.mark.parametrize(("n", "tolerance"), [(1000, 0.25), (40_000, 0.03)])
def test_gaussian_omega_is_the_precision_matrix(features_of, n, tolerance):
    precision = np.array(
        [[1.0, -0.4, 0.0, 0.2], [-0.4, 1.2, 0.3, 0.0], [0.0, 0.3, 1.0, 0.3], [0.2, 0.0, 0.3, 1.0]]
    )
    covariance = np.linalg.inv(precision)
    x = np.random.default_rng(5).multivariate_normal(np.zeros(4), covariance, size=n)
    scale = np.sqrt(np.diag(covariance))
    expected = np.abs(precision * np.outer(scale, scale))  # of the standardised variables
    found, own = omega(features_of(x), [[1, 3], [0, 2], [1, 3], [0, 2]])
    for (i, j), value in found.items():
        assert value == pytest.approx(expected[i, j], rel=tolerance)
    np.testing.assert_allclose(own, np.diag(expected), rtol=tolerance)


def test_omega_sees_a_product_that_additive_models_cannot(features_of):
    """x3 = x1 x2 + e / 2: f of x1 and x2 is (x3 - 2 x1 x2) / 0.25, whose root mean square is 2 sqrt(5)."""
    f = features_of(simulate("product", d=3, n=4000, seed=1).frame())
    around = [[1, 2], [0, 2], [0, 1]]
    joint, additive = omega(f, around)[0], omega(f, around, most_joint=0)[0]
    truth = 2 * np.sqrt(5)
    assert joint[0, 1] == pytest.approx(truth, rel=0.2)
    assert additive[0, 1] < 0.3 * truth


def test_omega_sees_parity_that_additive_models_cannot(features_of):
    """Given the third bit, the log odds ratio of two is +-2 log 9."""
    f = features_of(simulate("parity", d=3, n=2000, seed=1).frame())
    around = [[1, 2], [0, 2], [0, 1]]
    joint, additive = omega(f, around)[0], omega(f, around, most_joint=0)[0]
    for pair in joint:
        assert joint[pair] == pytest.approx(2 * np.log(9), rel=0.1)
        assert additive[pair] < 0.3


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
