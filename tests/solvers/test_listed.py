"""The active set: its units, its solution against the fit of all pairs, what joins the list, masks."""

import numpy as np
import pytest
import torch
from tests.solvers.test_proximal import TRUE, mixed_rows, sparse_fit

from gpmnet.energies import NormalEnergy, Pairwise
from gpmnet.energies.listed import ListedPairwiseEnergy
from gpmnet.objectives import OBJECTIVES
from gpmnet.penalties import L1, SCAD
from gpmnet.solvers.listed import ListedPairwise
from gpmnet.solvers.proximal import PairMasks


def ones(first, second):
    return torch.ones(torch.broadcast_shapes(first.shape, second.shape))


def listed_fit(coordinates, h, closed=(), free=(), most_steps=300):
    d = coordinates.n_variables
    masks = torch.zeros((2, d, d), dtype=torch.bool)
    for mask, pairs in zip(masks, (closed, free), strict=True):
        for a, b in pairs:
            mask[a, b] = mask[b, a] = True
    pairwise = ListedPairwiseEnergy(coordinates, Pairwise()).to(h)
    base, generator = NormalEnergy(coordinates).to(h), torch.Generator().manual_seed(0)
    return ListedPairwise(base, pairwise, h, OBJECTIVES["mixed"], PairMasks(*masks), generator, most_steps)


def listed_pairs(sparse):
    return {tuple(pair) for pair in sparse.pairwise.pairs.tolist()}


def test_the_unit_is_the_root_mean_square_of_the_rows_gradients():
    coordinates, h = mixed_rows(n=40)
    dense, listed = sparse_fit(coordinates, h), listed_fit(coordinates, h)
    with torch.no_grad():
        dense.pairwise.own.copy_(listed.pairwise.own)
        dense.pairwise.own_levels.copy_(listed.pairwise.own_levels)
    variable, root = dense.pairwise.variable, dense.scales.root
    total = torch.zeros(5, 5, dtype=torch.float64)
    for row in h:
        loss = dense.objective(dense.energy, row[None]).sum()
        (found,) = torch.autograd.grad(loss, dense.pairwise.theta)
        found = 2 * root.mT @ found @ root
        for i in range(5):
            for j in range(5):
                total[i, j] += found[variable == i][:, variable == j].square().sum() / len(h)
    i, j = torch.triu_indices(5, 5, 1)
    torch.testing.assert_close(listed.noise_of(i, j), total[i, j].sqrt(), rtol=1e-8, atol=0)


@pytest.mark.parametrize("lam", [2.0, 4.0])
def test_the_solution_is_that_of_all_pairs(lam):
    coordinates, h = mixed_rows()
    listed, dense = listed_fit(coordinates, h, most_steps=2000), sparse_fit(coordinates, h, most_steps=2000)
    i, j = torch.triu_indices(5, 5, 1)
    noise = torch.ones(5, 5, dtype=torch.float64)
    noise[i, j] = noise[j, i] = listed.noise_of(i, j)
    dense.scales.noise = noise
    penalty = L1(lam * len(h) ** -0.5)
    solved = listed.solve(penalty, ones)
    dense.fit(penalty)
    assert solved.converged
    assert listed.held_out(h) == pytest.approx(dense.held_out(h), abs=1e-4)
    expected = dense.norms()
    found = torch.zeros(5, 5, dtype=torch.float64)
    found[listed.pairwise.pairs[:, 0], listed.pairwise.pairs[:, 1]] = listed.norms()
    np.testing.assert_allclose(found[i, j], expected[i, j], atol=0.01)
    at_rest = (expected[i, j] == 0) & (found[i, j] == 0)
    assert int(at_rest.sum()) > 0  # something is left out, so that the list is put to the test


def test_pairs_that_only_show_later_join_the_list(monkeypatch):
    monkeypatch.setattr("gpmnet.solvers.listed._JOINING", 0.2)  # one pair a round
    coordinates, h = mixed_rows()
    slow = listed_fit(coordinates, h)
    slow.solve(SCAD(3.0 * len(h) ** -0.5), ones)
    monkeypatch.undo()
    fast = listed_fit(coordinates, h)
    fast.solve(SCAD(3.0 * len(h) ** -0.5), ones)
    assert slow.n_rounds > fast.n_rounds
    assert listed_pairs(slow) == listed_pairs(fast) == TRUE


def test_a_list_that_is_not_complete_is_said_to_be_so(monkeypatch):
    monkeypatch.setattr("gpmnet.solvers.listed._JOINING", 0.2)
    monkeypatch.setattr("gpmnet.solvers.listed._ROUNDS", 2)
    coordinates, h = mixed_rows()
    assert not listed_fit(coordinates, h).solve(SCAD(3.0 * len(h) ** -0.5), ones).converged


def test_closed_pairs_never_join_and_free_ones_always_stay():
    coordinates, h = mixed_rows()
    sparse = listed_fit(coordinates, h, closed=[(0, 1)], free=[(2, 4)])
    sparse.solve(SCAD(3.0 * len(h) ** -0.5), ones)
    assert (0, 1) not in listed_pairs(sparse)
    assert (2, 4) in listed_pairs(sparse)
    assert float(sparse.norms()[(sparse.pairwise.pairs == torch.tensor([2, 4])).all(dim=1)]) > 0


def test_a_strong_penalty_leaves_an_empty_list():
    coordinates, h = mixed_rows()
    sparse = listed_fit(coordinates, h)
    assert sparse.solve(L1(100.0), ones).converged
    assert listed_pairs(sparse) == set()
