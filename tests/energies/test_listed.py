"""The pairwise family with a list of pairs, against the one that holds all pairs."""

import pytest
import torch
from tests.energies.energy_cases import LAYOUTS, rows

from gpmnet.energies import Pairwise, PairwiseEnergy
from gpmnet.energies.listed import ListedPairwiseEnergy
from gpmnet.objectives import Marginalisation, Mixed
from gpmnet.omega import shared_interactions

every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def both(layout, seed=0, leave_out=1):
    """A listed energy with random interactions, all pairs but some, and the same with a matrix."""
    coordinates, g = LAYOUTS[layout], torch.Generator().manual_seed(seed)
    listed = ListedPairwiseEnergy(coordinates, Pairwise()).double()
    d, width = listed.slots.shape
    pairs = torch.triu_indices(d, d, 1).mT[leave_out:]
    pairs = pairs[torch.randperm(len(pairs), generator=g)]
    inside = torch.arange(width) < listed.widths[:, None]
    theta = torch.randn(len(pairs), width, width, generator=g, dtype=torch.float64)
    theta *= inside[pairs[:, 0], :, None] & inside[pairs[:, 1], None, :]
    listed.relist(pairs, theta)
    dense = PairwiseEnergy(coordinates, Pairwise()).double()
    with torch.no_grad():
        for name in ("own", "own_levels"):
            value = getattr(listed, name)
            value.copy_(torch.randn(value.shape, generator=g, dtype=torch.float64))
            getattr(dense, name).copy_(value)
        for (i, j), block in zip(pairs.tolist(), theta, strict=True):
            a, b = (dense.variable == i).nonzero()[:, 0], (dense.variable == j).nonzero()[:, 0]
            dense.theta[a[:, None], b] = block[: len(a), : len(b)]
            dense.theta[b[:, None], a] = block[: len(a), : len(b)].mT
    return listed, dense


@every_layout
def test_values_derivatives_and_differences_are_those_of_the_matrix(layout):
    listed, dense = both(layout)
    h = rows(LAYOUTS[layout], 6)
    torch.testing.assert_close(listed.interactions(), dense.interactions())
    for name in ("forward", "score", "curvature", "hessian", "logits", "level_scores", "pair_logits"):
        torch.testing.assert_close(getattr(listed, name)(h), getattr(dense, name)(h), msg=name)
    coordinates = LAYOUTS[layout]
    for i, j in ((0, 1), (0, 2), (2, 1)):
        here, there = (torch.randn(6, 4, h[:, coordinates.columns(v)].shape[1]).double() for v in (i, j))
        torch.testing.assert_close(
            listed.pair_values(h, i, here, j, there), dense.pair_values(h, i, here, j, there)
        )


@every_layout
@pytest.mark.parametrize("objective", [Mixed(), Mixed(discrete=Marginalisation())])
def test_slopes_give_the_gradient_of_every_pair_listed_or_not(layout, objective):
    listed, dense = both(layout)
    h = rows(LAYOUTS[layout], 7)
    slopes, phi = listed.slopes(lambda: objective(listed, h), len(h)), dense.phi(h)
    (expected,) = torch.autograd.grad(objective(dense, h).sum(), dense.theta)
    different = dense.variable[:, None] != dense.variable[None, :]
    found = (slopes.mT @ phi + phi.mT @ slopes) * different
    torch.testing.assert_close(found, 2 * expected)  # the matrix has each pair twice
    assert listed.slopes(lambda: objective(listed, h), len(h)).equal(slopes)  # nothing is left behind


@every_layout
def test_products_of_interactions_are_those_of_the_matrices(layout):
    one, dense_one = both(layout, 0, leave_out=0)
    other, dense_other = both(layout, 1, leave_out=1)
    h = rows(LAYOUTS[layout], 9)
    d = len(one.slots)
    pairs = torch.triu_indices(d, d, 1).mT
    for found, expected in zip(
        ((one, other), (one, one), (other, other)),
        shared_interactions(dense_one, dense_other, h),
        strict=True,
    ):
        mean = found[0].mean_products(found[1], pairs, h)
        torch.testing.assert_close(mean, expected[pairs[:, 0], pairs[:, 1]], atol=1e-10, rtol=1e-9)
    assert float(other.mean_products(other, pairs, h)[0]) == 0.0  # not listed


def test_without_a_list_only_own_terms_are_left():
    energy = ListedPairwiseEnergy(LAYOUTS["mixed"], Pairwise()).double()
    h = rows(LAYOUTS["mixed"], 5)
    torch.nn.init.ones_(energy.own)
    assert not energy.interactions().any()
    off = energy.hessian(h) - torch.diag_embed(energy.curvature(h))
    assert not off.any()
    assert not energy.blocks(torch.tensor([[0, 1]])).any()
