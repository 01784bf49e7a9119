"""The support of Omega from two halves: products of interactions against exact values, agreement, the penalty's unit."""

import numpy as np
import pytest
import torch

from gpmnet.energies import MLP, Coordinates, Pairwise
from gpmnet.omega import generalised_precision, shared_interactions
from gpmnet.selection.halves import Halves, common_support, entering_size

MIXED = Coordinates(2, (2, 3))


def gaussian(precision):
    """Return the pairwise energy of one function, z, with these mixed derivatives."""
    d = len(precision)
    energy = Pairwise(n_functions=1).build(Coordinates(d), torch.zeros(1, d, dtype=torch.float64), None)
    energy.theta.data = torch.tensor(-np.asarray(precision))
    energy.own.data[:, -1] = -torch.tensor(np.diag(precision))
    return energy


def any_energy(seed):
    generator = torch.Generator().manual_seed(seed)
    energy = MLP(hidden=5).build(MIXED, torch.zeros(1, MIXED.width), generator).double()
    energy.output.data = torch.randn(5, generator=generator).double()
    return energy


def mixed_rows(n=40):
    rng = np.random.default_rng(0)
    z, codes = rng.normal(size=(n, 2)), np.column_stack([rng.integers(0, m, n) for m in MIXED.levels])
    return MIXED.encode(torch.tensor(z), torch.tensor(codes))


def test_of_gaussian_energies_it_is_the_product_of_the_precisions():
    one, other = (np.array([[2.0, a, 0.0], [a, 1.5, -0.3], [0.0, -0.3, 1.0]]) for a in (0.4, -0.2))
    rows = torch.randn(7, 3, dtype=torch.float64)
    both, first, second = shared_interactions(gaussian(one), gaussian(other), rows)
    np.testing.assert_allclose(both, one * other, atol=1e-12)
    np.testing.assert_allclose(first, one**2, atol=1e-12)
    np.testing.assert_allclose(second, other**2, atol=1e-12)


def test_with_one_energy_twice_it_is_omega_squared():
    energy, h = any_energy(0), mixed_rows()
    for found in shared_interactions(energy, energy, h):
        np.testing.assert_allclose(found, generalised_precision(energy, h).square(), rtol=1e-10)


def test_two_energies_are_the_mean_of_products_row_by_row():
    one, other, h = any_energy(0), any_energy(1), mixed_rows()
    both = shared_interactions(one, other, h)[0]
    plus = torch.stack([shared_interactions(one, other, row[None])[0] for row in h]).mean(dim=0)
    np.testing.assert_allclose(both, plus, rtol=1e-10)
    np.testing.assert_allclose(both, both.T, rtol=1e-10)


def test_agreement_is_one_for_multiples_and_minus_one_for_opposites():
    h = torch.randn(5, 2, dtype=torch.float64)
    one = gaussian([[1.0, 0.3], [0.3, 1.0]])
    for factor, expected in ((2.0, 1.0), (-1.0, -1.0)):
        other = gaussian([[1.0, factor * 0.3], [factor * 0.3, 1.0]])
        assert float(Halves.of(one, other, h).agreement()[0, 1]) == pytest.approx(expected)


def test_the_support_needs_agreement_and_size_in_both_halves():
    one = torch.tensor([[1.0, 0.1, 0.2], [0.1, 1.0, 0.3], [0.2, 0.3, 1.0]]).double()
    halves = Halves(torch.tensor([[1, 0.09, 0.02], [0.09, 1, 0.3], [0.02, 0.3, 1]]).double(), one, one)
    assert common_support([halves]).tolist() == [
        [False, True, False],
        [True, False, True],
        [False, True, False],
    ]
    assert common_support([halves], 0.4).sum() == 2  # Omega squared of 0.1 is too small now
    nothing = Halves(torch.zeros(2, 2).double(), torch.zeros(2, 2).double(), torch.zeros(2, 2).double())
    assert not common_support([nothing]).any()
    opposite = Halves(-halves.both, one, one)
    assert not common_support([halves, opposite]).any()


def test_the_unit_is_exceeded_with_the_chance_it_says():
    rng = np.random.default_rng(1)
    sizes = entering_size(Coordinates(2, (2, 4)), 3, 25)
    for (i, j), df in {(0, 1): 9, (0, 2): 3, (2, 3): 3, (1, 3): 9}.items():
        drawn = np.linalg.norm(rng.normal(size=(200_000, df)), axis=1) / df**0.5
        assert np.mean(drawn > float(sizes[i, j])) == pytest.approx(0.05, abs=0.003)
