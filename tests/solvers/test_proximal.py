"""The sparse pairwise fit: stationarity, limits, oracles of Gaussian and discrete models, masks, units, order."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import expit

from gpmnet.energies import Coordinates, NormalEnergy, Pairwise, PairwiseEnergy
from gpmnet.errors import ComputationError
from gpmnet.objectives import OBJECTIVES
from gpmnet.omega import generalised_precision
from gpmnet.penalties import L1, MCP, PENALTIES, SCAD
from gpmnet.solvers import proximal as module
from gpmnet.solvers.proximal import PairMasks, SparsePairwise

DOUBLE = torch.float64


def mixed_rows(n=600, seed=0, dtype=DOUBLE):
    """A chain of three coordinates, a bit that shifts the first, and a trit that has no neighbor."""
    rng = np.random.default_rng(seed)
    bit, trit = rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = rng.normal(size=(n, 3))
    x[:, 0] += 1.2 * bit - 0.6
    for j in (1, 2):
        x[:, j] = (x[:, j] + 0.7 * x[:, j - 1]) / 1.2
    codes = torch.as_tensor(np.stack([bit, trit], axis=1))
    coordinates = Coordinates.from_codes(3, (2, 3), codes)
    return coordinates, coordinates.encode(torch.as_tensor(x, dtype=dtype), codes)


TRUE = {(0, 1), (1, 2), (0, 3)}


def sparse_fit(coordinates, h, objective="mixed", closed=(), free=(), n_functions=3, most_steps=300):
    d = coordinates.n_variables
    masks = torch.zeros((2, d, d), dtype=torch.bool)
    for mask, pairs in zip(masks, (closed, free), strict=True):
        for a, b in pairs:
            mask[a, b] = mask[b, a] = True
    pairwise = PairwiseEnergy(coordinates, Pairwise(n_functions)).to(h)
    generator = torch.Generator().manual_seed(0)
    base = NormalEnergy(coordinates).to(h)
    return SparsePairwise(base, pairwise, h, OBJECTIVES[objective], PairMasks(*masks), generator, most_steps)


def block_norms(matrix, variable, d):
    return torch.tensor(
        [[float(matrix[variable == i][:, variable == j].norm()) for j in range(d)] for i in range(d)]
    )


def gradient(sparse):
    """The gradient of the mean loss in each pair's block, in orthonormal functions, by autograd alone: (P, P)."""
    pairwise, root = sparse.pairwise, sparse.scales.root
    loss = sparse.objective(sparse.energy, sparse.h, torch.Generator().manual_seed(sparse.seed)).mean()
    (found,) = torch.autograd.grad(loss, pairwise.theta)
    return 2 * root.mT @ found @ root


def gaps(sparse, penalty):
    """Distance of 0 from the subdifferential of each block, in units of the largest slope of the penalty."""
    pairwise, root, units = sparse.pairwise, sparse.scales.root, sparse.scales.noise
    inverse = torch.linalg.inv(root)
    theta = inverse @ pairwise.interactions().detach() @ inverse.mT
    d, v, slopes = len(units), pairwise.variable, gradient(sparse)
    found = {}
    for i in range(d):
        for j in range(i + 1, d):
            block, slope = theta[v == i][:, v == j], slopes[v == i][:, v == j]
            size = block.norm()
            rate = (units * penalty.derivative(size / units))[i, j]
            least = float(size) > 0
            gap = (slope + rate * block / size).norm() if least else (slope.norm() - rate).clamp(min=0)
            found[i, j] = float(gap / (units * penalty.derivative(0 * units))[i, j])
    return found


@pytest.mark.parametrize(
    ("penalty", "objective"), [*((name, "mixed") for name in sorted(PENALTIES)), ("scad", "sliced")]
)
def test_the_solution_is_stationary_for_every_penalty(monkeypatch, penalty, objective):
    monkeypatch.setattr(module, "_TOLERANCE", 1e-6)
    coordinates, h = mixed_rows()
    sparse = sparse_fit(coordinates, h, objective)
    lam = 3 / len(h) ** 0.5
    rho = PENALTIES[penalty].at(lam)
    rho = rho.fitted_to(lambda: sparse.initial() / sparse.scales.noise * len(h) ** 0.5)
    solved = sparse.fit(rho)
    assert solved.converged
    assert solved.steps < module.MOST_STEPS
    found = gaps(sparse, rho)
    assert max(found.values()) < 1e-4
    nonzero = {pair for pair in found if sparse.norms()[pair] > 0}
    assert nonzero >= TRUE
    assert len(nonzero) < len(found)
    loss = sparse.objective(sparse.energy, h, torch.Generator().manual_seed(sparse.seed)).mean()
    for slope in torch.autograd.grad(loss, [sparse.pairwise.own, sparse.pairwise.own_levels]):
        assert float(slope.abs().max()) < 1e-4


def test_single_precision_is_stationary_too_and_stays_symmetric(monkeypatch):
    """Rounding once drove the two copies of a block apart, which a concave penalty blows up."""
    coordinates, h = mixed_rows(dtype=torch.float32)
    sparse = sparse_fit(coordinates, h)
    rho = MCP(3 / len(h) ** 0.5)
    sparse.fit(rho)
    assert max(gaps(sparse, rho).values()) < 0.05  # at the tolerance that the engine uses
    monkeypatch.setattr(module, "_TOLERANCE", 0.0)
    sparse.fit(rho, most_steps=150)
    theta = sparse.pairwise.theta.detach()
    assert float((theta - theta.mT).abs().max()) < 1e-5 * float(theta.abs().max())
    assert max(gaps(sparse, rho).values()) < 0.01


def test_the_reported_gap_is_the_distance_from_the_subdifferential():
    coordinates, h = mixed_rows()
    sparse = sparse_fit(coordinates, h, closed=[(0, 2)], free=[(1, 4)])
    rho = SCAD(3 / len(h) ** 0.5)
    solved = sparse.fit(rho, most_steps=6)
    assert (solved.steps, solved.converged) == (6, False)
    for (i, j), gap in gaps(sparse, rho).items():
        if (i, j) == (0, 2):
            expected = 0.0
        elif (i, j) == (1, 4):  # not penalised: the slope itself
            v = sparse.pairwise.variable
            slope = gradient(sparse)[v == 1][:, v == 4].norm()
            expected = float(slope / sparse.scales.noise[1, 4]) * len(h) ** 0.5
        else:  # there in units of the penalty's slope at 0, which is 3
            expected = 3 * gap
        assert float(solved.gap[i, j]) == pytest.approx(expected, rel=1e-6, abs=1e-8)
    totals = [sum(float(solved.gap[i, j]) ** 2 for j in range(5) if j != i) for i in range(5)]
    assert solved.worst == int(np.argmax(totals))
    again = sparse.fit(rho)
    assert again.converged
    assert float(again.gap.max()) < 0.1 < float(solved.gap.max())


def test_the_fits_behind_units_and_first_estimates_say_how_they_ended(monkeypatch):
    coordinates, h = mixed_rows()
    sparse = sparse_fit(coordinates, h)
    assert sparse.alone.converged
    assert sparse.first is None
    sparse.initial()
    assert sparse.first.converged
    monkeypatch.setattr(module, "_TOLERANCE", 0.0)
    short = sparse_fit(coordinates, h, most_steps=5)
    loss = short.objective(short.energy, h, torch.Generator().manual_seed(short.seed)).mean()
    own, levels = torch.autograd.grad(loss, [short.pairwise.own, short.pairwise.own_levels])
    slopes = [*(own @ short.scales.own_root).norm(dim=1), levels[:1].norm(), levels[1:].norm()]
    torch.testing.assert_close(short.alone.gap, torch.diag(torch.stack(slopes)) * len(h) ** 0.5)
    assert (short.alone.steps, short.alone.converged) == (5, False)
    assert short.alone.worst == int(torch.stack(slopes).argmax()) > 0
    assert float(short.norms().max()) == 0
    short.initial()
    assert (short.first.steps, short.first.converged) == (1, False)


def test_a_large_lambda_gives_the_empty_graph_and_a_sensible_one_the_graph():
    coordinates, h = mixed_rows(n=2000)
    sparse = sparse_fit(coordinates, h)
    slopes = block_norms(gradient(sparse), sparse.pairwise.variable, coordinates.n_variables).to(h)
    largest = float((slopes / sparse.scales.noise).triu(1).max())
    sparse.fit(L1(1.001 * largest))
    assert float(sparse.norms().max()) == 0
    sparse.fit(L1(0.9 * largest))
    assert float(sparse.norms().max()) > 0
    sparse.fit(SCAD(3 / len(h) ** 0.5))
    found = {tuple(pair) for pair in sparse.norms().triu(1).nonzero().tolist()}
    assert found == TRUE


def test_gaussian_rows_without_a_penalty_give_the_precision_matrix():
    rng = np.random.default_rng(1)
    precision = np.array([[1.5, -0.7, 0.0], [-0.7, 2.0, 0.5], [0.0, 0.5, 1.2]])
    x = rng.multivariate_normal(np.zeros(3), np.linalg.inv(precision), 4000)
    empirical = np.linalg.inv(x.T @ x / len(x))
    coordinates, h = Coordinates(3), torch.as_tensor(x)
    linear = sparse_fit(coordinates, h, n_functions=1)
    linear.fit(L1(0.0), most_steps=1000)
    # z alone: score matching of a Gaussian, whose minimiser is the inverse of the empirical second moments.
    np.testing.assert_allclose(
        linear.pairwise.interactions().detach() + torch.diag(linear.pairwise.own[:, -1].detach() - 1),
        -empirical, atol=0.01,
    )  # fmt: skip
    rich = sparse_fit(coordinates, h)
    rich.fit(SCAD(2 / len(h) ** 0.5))
    omega = generalised_precision(rich.energy, h).numpy()
    np.testing.assert_allclose(omega, np.abs(precision), atol=0.15)
    assert omega[0, 2] == 0


def ising(n, seed, coupling):
    """Rows of a chain of three bits with the given couplings of neighbors, drawn exactly."""
    rng = np.random.default_rng(seed)
    states = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    logs = states @ [0.3, -0.4, 0.2] + coupling * (states[:, 0] * states[:, 1] - states[:, 1] * states[:, 2])
    return states[rng.choice(8, n, p=np.exp(logs) / np.exp(logs).sum())]


def test_discrete_rows_without_a_penalty_give_the_pseudo_likelihood_fit(monkeypatch):
    monkeypatch.setattr(module, "_TOLERANCE", 1e-7)
    x = ising(1500, 0, 1.0)
    pairs = ((0, 1), (0, 2), (1, 2))

    def loss(parameters):
        own, theta = parameters[:3], np.zeros((3, 3))
        for (i, j), value in zip(pairs, parameters[3:], strict=True):
            theta[i, j] = theta[j, i] = value
        chance = expit(own + x @ theta)
        return -np.log(np.where(x == 1, chance, 1 - chance)).sum(axis=1).mean()

    best = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-9}).x
    codes = torch.as_tensor(x)
    coordinates = Coordinates.from_codes(0, (2, 2, 2), codes)
    sparse = sparse_fit(coordinates, coordinates.encode(torch.zeros((len(x), 0), dtype=DOUBLE), codes))
    sparse.fit(SCAD(0.0), most_steps=2000)
    found = sparse.pairwise.interactions().detach()
    np.testing.assert_allclose([found[pair] for pair in pairs], best[3:], atol=1e-4)
    np.testing.assert_allclose(sparse.norms().triu(1)[0, 1], abs(best[3]), atol=1e-4)  # Omega of two bits
    np.testing.assert_allclose(
        generalised_precision(sparse.energy, sparse.h)[0], [0, *np.abs(best[3:5])], atol=1e-4
    )


def test_closed_pairs_stay_zero_and_free_pairs_are_not_shrunk(monkeypatch):
    monkeypatch.setattr(module, "_TOLERANCE", 1e-6)
    coordinates, h = mixed_rows()
    sparse = sparse_fit(coordinates, h, closed=[(0, 1)], free=[(2, 4), (1, 2)])
    rho = L1(4 / len(h) ** 0.5)
    sparse.fit(rho)
    norms, slopes = sparse.norms(), gradient(sparse)
    v = sparse.pairwise.variable
    assert float(norms[0, 1]) == 0
    assert float(norms[0, 3]) > 0
    for i, j in ((2, 4), (1, 2)):  # the gradient of the loss alone vanishes, also of the pair without an edge
        assert float(norms[i, j]) > 0
        assert float(slopes[v == i][:, v == j].norm()) < 1e-4


@pytest.mark.parametrize("objective", ["mixed", "sliced"])
def test_the_unit_of_a_pair_is_the_root_mean_square_of_its_gradients(monkeypatch, objective):
    monkeypatch.setattr(module, "_DRAWS", 200)
    coordinates, h = mixed_rows(n=60)
    sparse = sparse_fit(coordinates, h, objective)
    losses = sparse.objective(sparse.energy, h, torch.Generator().manual_seed(sparse.seed))
    total, root = torch.zeros(5, 5), sparse.scales.root
    for loss in losses:
        (g,) = torch.autograd.grad(loss, sparse.pairwise.theta, retain_graph=True)
        total += block_norms(2 * root.mT @ g @ root, sparse.pairwise.variable, 5).square() / len(h)
    off = ~torch.eye(5, dtype=torch.bool)
    np.testing.assert_allclose(sparse.scales.noise[off], total[off].sqrt(), rtol=0.2)


def test_permuting_variables_permutes_the_answer():
    coordinates, h = mixed_rows()
    order = [2, 0, 1]
    moved = torch.cat([h[:, order], h[:, 5:8], h[:, 3:5]], dim=1)
    shares = coordinates.shares
    other = Coordinates(3, (3, 2), (*shares[2:], *shares[:2]))
    rho = SCAD(3 / len(h) ** 0.5)
    one, two = sparse_fit(coordinates, h), sparse_fit(other, moved)
    for sparse in (one, two):
        sparse.fit(rho)
    place = [*order, 4, 3]
    np.testing.assert_allclose(two.norms(), one.norms()[place][:, place], atol=1e-9)


def test_a_loss_that_is_not_finite_stops_the_fit(monkeypatch):
    monkeypatch.setitem(
        OBJECTIVES, "broken", lambda energy, h, generator: energy.score(h).sum(dim=1) * torch.nan
    )
    coordinates, h = mixed_rows(n=50)
    with pytest.raises(ComputationError, match="pairwise family stopped: its objective is nan"):
        sparse_fit(coordinates, h, "broken")
