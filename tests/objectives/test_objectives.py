"""Objectives against explicit divergences: quadrature over densities, sums over all states."""

import itertools
import math

import pytest
import torch
from tests.energies.energy_cases import LAYOUTS, mass, random_energy, rows, states

import gpmnet.objectives.sliced as sliced
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
from gpmnet.errors import InputError
from gpmnet.objectives import (
    OBJECTIVES,
    Hyvarinen,
    Marginalisation,
    Mixed,
    Noisy,
    PseudoLikelihood,
    Sliced,
)

DOUBLE = torch.float64
RAW = Marginalisation(cap=float("inf"), ridge=0)
every_layout = pytest.mark.parametrize("kind", LAYOUTS)


def plane(step=0.1, reach=9.0):
    """A grid of the plane; the trapezoid rule is exact to rounding for smooth densities that vanish at its rim."""
    axis = torch.arange(-reach, reach + step / 2, step, dtype=DOUBLE)
    return torch.cartesian_prod(axis, axis), step**2


def two_clusters(x):
    """The log density and the score of a mixture of two normals."""
    means = torch.tensor([[1.0, 0.8], [-0.9, 0.4]], dtype=DOUBLE)
    precision = torch.tensor([[[1.5, -0.6], [-0.6, 1.2]], [[1.0, 0.5], [0.5, 2.0]]], dtype=DOUBLE)
    gap = x[:, None] - means
    logs = torch.tensor([0.4, 0.6], dtype=DOUBLE).log() + 0.5 * torch.logdet(precision)
    logs = logs - 0.5 * torch.einsum("nki,kij,nkj->nk", gap, precision, gap)
    score = -torch.einsum("nk,kij,nkj->ni", torch.softmax(logs, dim=1), precision, gap)
    return torch.logsumexp(logs, dim=1) - math.log(2 * math.pi), score


@pytest.mark.parametrize("name", ["mlp", "mlp2", "deep_kernel", "pairwise", "sum"])
@torch.no_grad()
def test_hyvarinen_is_the_fisher_divergence_up_to_one_constant(name):
    """E_p of the loss less the divergence is -E_p |score of p|^2 / 2, whatever the energy."""
    x, cell = plane()
    log_p, score_p = two_clusters(x)
    p = log_p.exp() * cell
    assert float(p.sum()) == pytest.approx(1, abs=1e-9)
    for seed in (0, 1):
        energy = random_energy(name, Coordinates(2), seed)
        loss = (p * Hyvarinen()(energy, x)).sum()
        divergence = 0.5 * (p * (energy.score(x) - score_p).square().sum(dim=1)).sum()
        constant = -0.5 * (p * score_p.square().sum(dim=1)).sum()
        assert float(loss) == pytest.approx(float(divergence + constant), abs=1e-7)


def test_minimising_hyvarinen_gives_the_inverse_of_the_covariance():
    """For a normal energy score matching is maximum likelihood."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(200, 3, generator=g, dtype=DOUBLE) @ torch.randn(3, 3, generator=g, dtype=DOUBLE)
    expected = torch.cholesky_inverse(torch.linalg.cholesky(x.T @ x / 200))
    energy = PairwiseEnergy(Coordinates(3), Pairwise(n_functions=1)).double()
    with torch.no_grad():
        energy.own[:, 1] = -expected.diagonal()
        energy.theta.copy_(-expected)
    energy.own.requires_grad_()
    loss = Hyvarinen()(energy, x).mean()
    gradient = torch.autograd.grad(loss, [energy.theta, energy.own])
    assert float(gradient[0].abs().max()) < 1e-10
    assert float(gradient[1][:, 1].abs().max()) < 1e-10


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("name", ["mlp", "deep_kernel", "pairwise", "normal"])
def test_sliced_is_unbiased(name, reduced, monkeypatch):
    """Averaged over all sign vectors both forms are the exact loss, and so are their gradients."""
    coordinates = LAYOUTS["mixed"]
    energy, h = random_energy(name, coordinates), rows(coordinates)
    every = [torch.tensor(v, dtype=DOUBLE) for v in itertools.product([-1.0, 1.0], repeat=2)]
    draws = iter(every)
    monkeypatch.setattr(sliced, "_signs", lambda like, _: next(draws).expand_as(like))
    found, exact = Sliced(reduced, n_slices=4)(energy, h), Hyvarinen()(energy, h)
    torch.testing.assert_close(found, exact)
    parameters = list(energy.parameters())
    one = torch.autograd.grad(found.sum(), parameters, allow_unused=True)
    two = torch.autograd.grad(exact.sum(), parameters, allow_unused=True)
    for a, b, p in zip(one, two, parameters, strict=True):
        zero = torch.zeros_like(p)
        torch.testing.assert_close(zero if a is None else a, zero if b is None else b)


def test_the_signs_are_fair_and_follow_their_generator():
    like = torch.zeros(4000, 3)
    draw = sliced._signs(like, torch.Generator().manual_seed(1))
    assert set(draw.unique().tolist()) == {-1.0, 1.0}
    assert float(draw.mean(dim=0).abs().max()) < 0.08
    assert float((draw[:, 0] * draw[:, 1]).mean().abs()) < 0.08
    assert torch.equal(draw, sliced._signs(like, torch.Generator().manual_seed(1)))
    assert not torch.equal(draw, sliced._signs(like, torch.Generator().manual_seed(2)))


def test_the_reduced_form_varies_less():
    coordinates = Coordinates(6)
    energy, h = (
        SumEnergy(NormalEnergy(coordinates).double(), random_energy("mlp", coordinates)),
        rows(coordinates, 50),
    )
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        spread = {
            r: torch.stack([Sliced(r)(energy, h, g) for _ in range(50)]).var(dim=0).mean()
            for r in (False, True)
        }
    assert float(spread[1]) < 0.5 * float(spread[0])


@pytest.fixture
def truth():
    """A mass function of three dependent variables, and its energy."""
    g = torch.Generator().manual_seed(3)
    table = torch.softmax(torch.randn(2, 3, 2, generator=g, dtype=DOUBLE).flatten(), dim=0).reshape(2, 3, 2)
    return table, mass(table.log())


def marginal_ratio(table, axis):
    """M_v m / m from the table alone."""
    return (table.sum(dim=axis, keepdim=True) / table).flatten()


@pytest.mark.parametrize("name", ["mlp", "deep_kernel", "pairwise"])
def test_marginalisation_is_the_explicit_sum_over_all_states(name, truth):
    """E_m of the loss less the divergence of the operator's ratios is the same constant for every energy."""
    table, true_energy = truth
    m = table.flatten()
    every = states(true_energy.coordinates)
    for seed in (0, 1):
        energy = random_energy(name, true_energy.coordinates, seed)
        model = torch.softmax(energy(every), dim=0).reshape(table.shape)
        gaps = [(marginal_ratio(model, v) - marginal_ratio(table, v)).square() for v in range(3)]
        constant = -0.5 * sum((m * marginal_ratio(table, v).square()).sum() for v in range(3))
        loss = (m * RAW(energy, every)).sum()
        torch.testing.assert_close(loss, 0.5 * sum((m * gap).sum() for gap in gaps) + constant)
        explicit = sum(
            0.5 * marginal_ratio(model, v).square()
            - (marginal_ratio(model, v).reshape(table.shape))
            .sum(dim=v, keepdim=True)
            .expand(table.shape)
            .flatten()
            for v in range(3)
        )
        torch.testing.assert_close(RAW(energy, every), explicit)


def test_the_marginalisation_operator_is_complete(truth):
    """Equal ratios mean equal mass functions: the log ratios determine every conditional, and these the joint."""
    table, energy = truth
    every = states(energy.coordinates)
    shifted = mass(table.log() + 5.0)
    torch.testing.assert_close(RAW(shifted, every), RAW(energy, every))  # the constant of L does not count
    other = table.clone()
    other[0, 0, 0] *= 1.1
    ratios = [(marginal_ratio(table, v), marginal_ratio(other, v)) for v in range(3)]
    assert all(float((a - b).abs().max()) > 1e-3 for a, b in ratios)


def test_an_unobserved_state_sends_the_raw_loss_to_minus_infinity_and_not_the_capped_one():
    coordinates = Coordinates(0, (2,))
    h = coordinates.encode(torch.zeros(10, 0, dtype=DOUBLE), torch.zeros(10, 1, dtype=torch.long))

    def loss(objective, log_odds):
        return float(objective(mass(torch.tensor([log_odds, 0.0], dtype=DOUBLE)), h).mean())

    assert loss(RAW, 20.0) < loss(RAW, 10.0) < -1e4
    capped = Marginalisation(cap=50, ridge=0)
    assert loss(capped, 20.0) == pytest.approx(loss(capped, 10.0), abs=1e-3)
    ridged = [loss(Marginalisation(cap=50, ridge=0.1), t) for t in (2.0, 3.9, 20.0)]
    assert ridged[1] < ridged[0]
    assert ridged[1] < ridged[2]


def test_the_cap_leaves_the_minimiser_of_common_levels_where_it_is():
    probability = torch.tensor([0.5, 0.3, 0.2], dtype=DOUBLE)
    coordinates = Coordinates(0, (3,))
    every = states(coordinates)
    for cap in (8.0, float("inf")):
        logs = probability.log().clone().requires_grad_()
        loss = (probability * Marginalisation(cap=cap, ridge=0)(mass(logs), every)).sum()
        assert float(torch.autograd.grad(loss, logs)[0].abs().max()) < 1e-12


@pytest.mark.parametrize("name", ["mlp", "deep_kernel", "pairwise"])
def test_pseudo_likelihood_is_the_sum_of_conditionals_over_all_states(name, truth):
    table, true_energy = truth
    every = states(true_energy.coordinates)
    energy = random_energy(name, true_energy.coordinates)
    model = torch.softmax(energy(every), dim=0).reshape(table.shape)
    expected = sum(marginal_ratio(model, v).log() for v in range(3))
    torch.testing.assert_close(PseudoLikelihood()(energy, every), expected)


def mixed_truth():
    """A density over one normal score and one variable with three levels, and points that cover it with their masses."""
    coordinates = Coordinates(1, (3,), (0.3, 0.3, 0.4))
    energy = PairwiseEnergy(coordinates, Pairwise()).double()
    g = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.copy_(0.6 * torch.randn(parameter.shape, generator=g, dtype=DOUBLE))
        energy.own[:, -1] = -1.0
    z = torch.arange(-9, 9, 0.02, dtype=DOUBLE)
    codes = torch.arange(3).repeat_interleave(len(z))[:, None]
    h = coordinates.encode(z.repeat(3)[:, None], codes)
    return energy, h, torch.softmax(energy(h).detach(), dim=0)


@pytest.mark.parametrize(
    "objective", [Mixed(), Mixed(discrete=RAW), Mixed(Hyvarinen(), Marginalisation(1e6, 0))]
)
def test_mixed_objectives_are_least_at_the_truth(objective):
    """Consistency: at the true parameters the expected loss is stationary, and any step away raises it."""
    energy, h, p = mixed_truth()
    parameters = list(energy.parameters())
    best = (p * objective(energy, h)).sum()
    gradient = torch.autograd.grad(best, parameters)
    assert max(float(g.abs().max()) for g in gradient) < 1e-8
    true = [q.detach().clone() for q in parameters]
    g = torch.Generator().manual_seed(0)
    for size in (0.02, 0.2):
        for _ in range(5):
            with torch.no_grad():
                for q, value in zip(parameters, true, strict=True):
                    q.copy_(value + size * torch.randn(q.shape, generator=g, dtype=DOUBLE))
                assert float((p * objective(energy, h)).sum()) > float(best) + 1e-7


@every_layout
@pytest.mark.parametrize("name", OBJECTIVES)
def test_registered_objectives_serve_every_kind_of_table(name, kind):
    coordinates = LAYOUTS[kind]
    energy, h = (
        SumEnergy(NormalEnergy(coordinates).double(), random_energy("mlp", coordinates)),
        rows(coordinates),
    )
    g = torch.Generator().manual_seed(0)
    loss = OBJECTIVES[name](energy, h, g)
    assert loss.shape == (len(h),)
    assert loss.dtype == h.dtype
    assert bool(torch.isfinite(loss).all())
    loss.mean().backward()
    assert energy.parts[1].weight.grad is not None
    with torch.no_grad():
        silent = OBJECTIVES[name](energy, h, torch.Generator().manual_seed(0))
    torch.testing.assert_close(silent, loss.detach())


@every_layout
def test_mixed_is_the_sum_of_its_parts_and_each_ignores_the_other_kind(kind):
    coordinates = LAYOUTS[kind]
    energy, h = random_energy("pairwise", coordinates), rows(coordinates)
    one, two = Hyvarinen()(energy, h), PseudoLikelihood()(energy, h)
    torch.testing.assert_close(Mixed()(energy, h), one + two)
    assert bool(one.any()) == (coordinates.n_continuous > 0)
    assert bool(two.any()) == (coordinates.n_discrete > 0)


def test_losses_are_of_the_row_alone():
    coordinates = LAYOUTS["mixed"]
    energy, h = random_energy("deep_kernel", coordinates), rows(coordinates, 8)
    for objective in (OBJECTIVES["mixed"], OBJECTIVES["published"]):
        order = torch.randperm(8, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(objective(energy, h[order]), objective(energy, h)[order])


def test_float32_works():
    coordinates = LAYOUTS["mixed"]
    energy = SumEnergy(NormalEnergy(coordinates), MLPEnergy(coordinates, MLP()))
    for objective in OBJECTIVES.values():
        assert objective(energy, rows(coordinates).float()).dtype == torch.float32


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="Sliced: n_slices must be a whole number of at least 1"):
        Sliced(n_slices=0)
    with pytest.raises(InputError, match="cap must be a number above 1"):
        Marginalisation(cap=1.0)
    with pytest.raises(InputError, match="ridge must be a number of at least 0"):
        Marginalisation(ridge=-1.0)


def test_blurred_rows_have_the_objective_of_the_blurred_density():
    """For independent normal rows with noise the score that fits best is that of N(0, 1 + sigma^2)."""
    coordinates, g = Coordinates(1), torch.Generator().manual_seed(0)
    h = torch.randn(20_000, 1, generator=g, dtype=torch.float64)
    energy = NormalEnergy(coordinates, learned=True).double()
    objective = Noisy(sigma=0.5)
    (slope,) = torch.autograd.grad(objective(energy, h, g).mean(), energy.precision)
    # d/d tau of tau^2 v / 2 - tau at tau = 1 is v - 1.
    assert float(slope[0]) == pytest.approx(0.25, abs=0.03)
    assert Noisy(sigma=0.0)(energy, h).equal(Mixed()(energy, h))


def test_noise_is_drawn_from_the_generator_and_leaves_levels_alone():
    coordinates = LAYOUTS["mixed"]
    energy, h = random_energy("mlp", coordinates), rows(coordinates, 8)
    once, again, other = (Noisy()(energy, h, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert once.equal(again)
    assert not once.equal(other)
    discrete = LAYOUTS["discrete"]
    energy, h = random_energy("mlp", discrete), rows(discrete, 8)
    assert Noisy()(energy, h).equal(Mixed()(energy, h))


def test_blurring_bounds_the_gain_of_a_spike():
    """A sharp bump at a row gains without bound as it gets sharper; on blurred rows it loses."""

    class Spike(Energy):
        def __init__(self, width):
            super().__init__(Coordinates(1))
            self.width = width

        def forward(self, h):
            return torch.exp(-0.5 * (h[..., 0] / self.width) ** 2)

    h = torch.zeros(1, 1, dtype=torch.float64)  # the one row, where the spike is
    sharp = [float(Mixed()(Spike(width), h).detach()) for width in (0.1, 0.01)]
    assert sharp[1] == pytest.approx(100 * sharp[0])
    g = torch.Generator().manual_seed(0)
    blurred = [float(Noisy(sigma=0.2)(Spike(w), h.expand(50_000, 1), g).mean().detach()) for w in (0.1, 0.01)]
    assert blurred[0] > -10
    assert blurred[1] > 0
