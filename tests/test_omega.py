"""Omega against autograd, enumeration, exact precision matrices, and the theorems as zero patterns."""

import itertools

import numpy as np
import pytest
import torch
from tests.energies.energy_cases import BUILDERS, LAYOUTS, Written, mass, random_energy, rows, states

from gpmnet.energies import (
    MLP,
    Coordinates,
    Energy,
    MLPEnergy,
    NormalEnergy,
    Pairwise,
    PairwiseEnergy,
    SumEnergy,
)
from gpmnet.objectives import Hyvarinen
from gpmnet.omega import generalised_precision, squared_omega, table_order

DOUBLE = torch.float64


def by_definition(energy, h):
    """E sum f^2 written out: derivatives by autograd, differences by replacing blocks, one row and one pair at a time."""
    coordinates = energy.coordinates
    dc, total = coordinates.n_continuous, np.zeros((coordinates.n_variables, coordinates.n_variables))

    def value(row, *moves):
        for v, k in moves:
            row = coordinates.replace(row, v, k)
        return energy(row[None])[0]

    def slope(row, *moves):
        leaf = row.clone().requires_grad_()
        return torch.autograd.grad(value(leaf, *moves), leaf)[0][:dc]

    for row in h:
        full = torch.autograd.functional.hessian(lambda x: energy(x[None])[0], row)[:dc, :dc]
        total[:dc, :dc] += full.square().numpy()
        for v, m in enumerate(coordinates.levels):
            for k in range(1, m):
                f = (slope(row, (v, 0)) - slope(row, (v, k))).square().numpy()
                total[dc + v, :dc] += f
                total[:dc, dc + v] += f
            for w in range(coordinates.n_discrete):
                if w == v:
                    continue
                for k, m2 in itertools.product(range(1, m), range(1, coordinates.levels[w])):
                    f = value(row, (v, 0), (w, 0)) - value(row, (v, k), (w, 0))
                    f = f - (value(row, (v, 0), (w, m2)) - value(row, (v, k), (w, m2)))
                    total[dc + v, dc + w] += f.item() ** 2
    return total / len(h)


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("kind", LAYOUTS)
def test_omega_of_every_kind_of_pair_is_its_definition(name, kind):
    coordinates = LAYOUTS[kind]
    energy, h = random_energy(name, coordinates), rows(coordinates, 3)
    expected = by_definition(energy, h)
    np.testing.assert_allclose(squared_omega(energy, h).detach(), expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(generalised_precision(energy, h), np.sqrt(expected), rtol=1e-8, atol=1e-7)


class Plain(Energy):
    """An energy stripped of its closed forms."""

    def __init__(self, energy):
        super().__init__(energy.coordinates)
        self.energy = energy

    def forward(self, h):
        return self.energy(h)


@pytest.mark.parametrize("name", BUILDERS)
def test_closed_form_omega_equals_autograd_omega(name):
    coordinates = LAYOUTS["mixed"]
    energy, h = random_energy(name, coordinates), rows(coordinates, 20)
    torch.testing.assert_close(generalised_precision(energy, h), generalised_precision(Plain(energy), h))


@pytest.mark.parametrize("name", BUILDERS)
def test_the_gradient_of_omega_is_that_of_autograd(name):
    coordinates = LAYOUTS["mixed"]
    energy, h = random_energy(name, coordinates), rows(coordinates)
    parameters = list(energy.parameters())
    found = torch.autograd.grad(squared_omega(energy, h).sum(), parameters, allow_unused=True)
    expected = torch.autograd.grad(squared_omega(Plain(energy), h).sum(), parameters, allow_unused=True)
    for a, b, p in zip(found, expected, parameters, strict=True):
        zero = torch.zeros_like(p)
        torch.testing.assert_close(zero if a is None else a, zero if b is None else b, rtol=1e-8, atol=1e-8)


def test_chunks_and_weights():
    coordinates = LAYOUTS["mixed"]
    energy, h = random_energy("mlp2", coordinates), rows(coordinates, 11)
    whole = generalised_precision(energy, h)
    torch.testing.assert_close(generalised_precision(energy, h, chunk=4), whole)
    counts = torch.tensor([1.0, 0, 2, 3, 0, 1, 1, 1, 0, 0, 5], dtype=DOUBLE)
    repeated = h.repeat_interleave(counts.long(), dim=0)
    torch.testing.assert_close(
        generalised_precision(energy, h, counts, chunk=3), generalised_precision(energy, repeated)
    )
    torch.testing.assert_close(whole, whole.T)


PRECISION = torch.tensor(
    [[1.5, -0.4, 0.0, 0.2], [-0.4, 1.2, 0.3, 0], [0, 0.3, 1.0, 0], [0.2, 0, 0, 0.8]], dtype=DOUBLE
)


def strength(omega, coordinates):
    r"""Return Omega with continuous pairs on the scale of a partial correlation: (d, d).

    .. math:: \Omega_{ij} / \sqrt{\Omega_{ii} \Omega_{jj}},

    which is ``|partial correlation|`` for Gaussian data. In a mixed pair only the continuous variable scales,
    :math:`\Omega_{ij} / \sqrt{\Omega_{jj}}`, which frees it of the unit of z; a pair of discrete ones is a norm of log odds
    ratios and stays. The diagonal is 0.
    """
    own = omega.diagonal()[: coordinates.n_continuous]
    scale = torch.cat(
        [own.clamp(min=torch.finfo(own.dtype).tiny).rsqrt(), own.new_ones(coordinates.n_discrete)]
    )
    result = omega * scale[:, None] * scale[None, :]
    return result - torch.diag(result.diagonal())


def test_gaussian_omega_is_the_absolute_precision_and_strength_the_partial_correlation():
    energy = Written(Coordinates(4), lambda z, _: -0.5 * torch.einsum("...i,ij,...j->...", z, PRECISION, z))
    omega = generalised_precision(energy, rows(Coordinates(4), 9))
    torch.testing.assert_close(omega, PRECISION.abs())
    scale = PRECISION.diagonal().rsqrt()
    partial = (PRECISION * scale[:, None] * scale).abs()
    torch.testing.assert_close(strength(omega, Coordinates(4)), partial - torch.eye(4, dtype=DOUBLE))


def test_omega_fitted_to_gaussian_rows_converges_to_the_precision():
    """The score-matching fit of the normal family, with 100 times the rows at a tenth of the error."""
    root = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(PRECISION)))
    errors = []
    for n in (500, 50_000):
        g = torch.Generator().manual_seed(1)
        x = torch.randn(n, 4, generator=g, dtype=DOUBLE) @ root.T
        energy = PairwiseEnergy(Coordinates(4), Pairwise(n_functions=1)).double()
        optimiser = torch.optim.LBFGS(energy.parameters(), max_iter=60, line_search_fn="strong_wolfe")

        def closure(optimiser=optimiser, energy=energy, x=x):
            optimiser.zero_grad()
            loss = Hyvarinen()(energy, x).mean()
            loss.backward()
            return loss

        optimiser.step(closure)
        errors.append(float((generalised_precision(energy, x[:50]) - PRECISION.abs()).abs().max()))
    assert errors[0] < 0.3
    assert errors[1] < 0.03


def test_the_omega_of_a_product_density_is_zero():
    coordinates = LAYOUTS["mixed"]
    own = PairwiseEnergy(coordinates, Pairwise()).double()
    with torch.no_grad():
        own.own.normal_()
        own.own_levels.normal_()
    normal = NormalEnergy(coordinates).double()
    for energy in (normal, own, SumEnergy(normal, own)):
        omega = generalised_precision(energy, rows(coordinates, 20))
        off = omega - torch.diag(omega.diagonal())
        assert float(off.abs().max()) < 1e-12
        assert omega.diagonal()[:2].min() > 0
        assert omega.diagonal()[2:].tolist() == [0, 0, 0]


def off_diagonal(omega):
    return {(i, j): float(omega[i, j]) for i, j in itertools.combinations(range(len(omega)), 2)}


def zeros(omega):
    return {pair for pair, value in off_diagonal(omega).items() if value < 1e-10}


def conditional_information(table, i, j):
    """Mutual information of axes i and j given the others, from the mass function alone."""
    pij, pi, pj = table, table.sum(dim=j, keepdim=True), table.sum(dim=i, keepdim=True)
    rest = pi.sum(dim=i, keepdim=True)
    return float((table * (pij * rest / (pi * pj)).log()).sum())


@pytest.mark.parametrize("seed", range(4))
def test_theorem_1_discrete_omega_is_zero_exactly_where_the_mass_function_factorises(seed):
    """a - c - b: a and b independent given c, in a mass function of random tables; then one cell is moved."""
    g = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.rand(*shape, generator=g, dtype=DOUBLE) + 0.1

    table = draw(3, 1, 2) * draw(1, 4, 2)  # axes a, b, c
    table = table / table.sum()
    energy = mass(table.log())
    assert zeros(generalised_precision(energy, states(energy.coordinates))) == {(0, 1)}
    assert conditional_information(table, 0, 1) == pytest.approx(0, abs=1e-12)
    for pair in [(0, 2), (1, 2)]:
        assert conditional_information(table, *pair) > 1e-4
    moved = table.clone()
    moved[2, 3, 1] *= 1.5
    moved = moved / moved.sum()
    energy = mass(moved.log())
    assert zeros(generalised_precision(energy, states(energy.coordinates))) == set()
    assert conditional_information(moved, 0, 1) > 1e-5


def test_discrete_omega_does_not_need_a_pairwise_signal():
    """Noisy parity of three: every pair is independent, every pair given the third is not."""
    x = torch.tensor(list(itertools.product([0, 1], repeat=3)))
    table = torch.where(x.sum(dim=1) % 2 == 0, 0.2, 0.05).double().reshape(2, 2, 2)
    energy = mass(table.log())
    omega = off_diagonal(generalised_precision(energy, states(energy.coordinates)))
    for value in omega.values():
        assert value == pytest.approx(2 * np.log(4))


def test_corollary_1_continuous_omega_is_zero_exactly_where_the_density_factorises():
    """z0 - z2 - z1 with no Gaussian in it; then an interaction of all three."""

    def chain(z, _):
        a, b, c = z.unbind(dim=-1)
        return -(a**4) + torch.sin(a * c) - torch.cosh(b - c) + torch.tanh(b) * c**2 - c**2

    coordinates = Coordinates(3)
    h = rows(coordinates, 30)
    assert zeros(generalised_precision(Written(coordinates, chain), h)) == {(0, 1)}
    product = Written(coordinates, lambda z, hot: chain(z, hot) + 0.1 * z[..., 0] * z[..., 1] * z[..., 2])
    assert zeros(generalised_precision(product, h)) == set()


def mixed_density(spread_by_i):
    """i discrete (3 levels), w discrete (2), z continuous: i - w - z, and with `spread_by_i` also i - z by the variance."""
    g = torch.Generator().manual_seed(5)
    joint = torch.randn(3, 2, generator=g, dtype=DOUBLE)
    mean = torch.tensor([-0.7, 0.9], dtype=DOUBLE)
    spread = torch.tensor([0.5, 1.0, 2.0] if spread_by_i else [1.0, 1.0, 1.0], dtype=DOUBLE)

    def log_density(z, hot):
        i, w = hot[..., :3], hot[..., 3:]
        scale = i @ spread
        gap = z[..., 0] - w @ mean
        return torch.einsum("...a,ab,...b->...", i, joint, w) - 0.5 * gap**2 / scale**2 - scale.log()

    return Written(Coordinates(1, (3, 2)), log_density)


def test_theorem_2_mixed_omega_is_zero_exactly_where_the_density_factorises():
    h = rows(Coordinates(1, (3, 2)), 30)
    assert zeros(generalised_precision(mixed_density(False), h)) == {(0, 1)}  # in the order z, i, w
    assert zeros(generalised_precision(mixed_density(True), h)) == set()


def test_a_network_whose_units_see_one_clique_each_has_the_zeros_of_its_graph():
    """Cliques {z0, a} and {a, z1} and {z1, b}: exact zeros elsewhere, through the closed forms."""
    coordinates = Coordinates(2, (2, 3))  # z0, z1, a, b
    columns = {"z0": [0], "z1": [1], "a": [2, 3], "b": [4, 5, 6]}
    energy = MLPEnergy(coordinates, MLP(hidden=9)).double()
    cliques = [("z0", "a"), ("a", "z1"), ("z1", "b")]
    with torch.no_grad():
        energy.output.normal_()
        mask = torch.zeros_like(energy.weight)
        for unit in range(9):
            for name in cliques[unit % 3]:
                mask[unit, columns[name]] = 1
        energy.weight.mul_(3 * mask)
    assert zeros(generalised_precision(energy, rows(coordinates, 20))) == {(0, 1), (0, 3), (2, 3)}


def test_no_discrete_difference_changes_when_levels_are_renamed_in_a_binary_variable():
    coordinates = Coordinates(1, (2, 2))
    energy, h = random_energy("mlp2", coordinates), rows(coordinates, 10)
    swap = torch.tensor([0, 2, 1, 3, 4])
    other = Written(coordinates, lambda z, hot: energy((torch.cat([z, hot - 0.5], dim=-1))[..., swap]))
    torch.testing.assert_close(generalised_precision(energy, h), generalised_precision(other, h[:, swap]))


def test_strength_of_mixed_pairs_is_free_of_the_unit():
    omega = torch.tensor([[4.0, 1.0, 6.0], [1.0, 9.0, 3.0], [6.0, 3.0, 0.0]])
    expected = torch.tensor([[0, 1 / 6, 3], [1 / 6, 0, 1], [3, 1, 0]])
    torch.testing.assert_close(strength(omega, Coordinates(2, (2,))), expected)


def test_the_order_of_the_table_comes_back():
    flags = [True, False, False, True, False]
    order = table_order(flags)
    in_layout = np.array(["b", "c", "e", "a", "d"])  # continuous first
    assert in_layout[order].tolist() == ["a", "b", "c", "d", "e"]
