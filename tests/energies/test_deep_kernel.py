"""The deep kernel exponential family: its definition, its start and its closed-form alpha."""

import pytest
import torch
from tests.energies.energy_cases import LAYOUTS, random_energy, rows

from gpmnet.energies import Coordinates, DeepKernel, DeepKernelEnergy, Energy, NormalEnergy
from gpmnet.objectives import Hyvarinen, Mixed

DOUBLE = torch.float64


def test_the_energy_is_the_sum_of_kernels_at_the_points():
    energy, h = random_energy("deep_kernel", LAYOUTS["mixed"]), rows(LAYOUTS["mixed"])
    hid = energy.hidden
    mixture = torch.softmax(energy.log_mixture, dim=0)

    def psi(r, x):
        block = energy.weight[2 * hid * r : 2 * hid * (r + 1)]
        outer, skip = block[:hid], block[hid:]
        return energy.mix[r] @ torch.nn.functional.softplus(outer @ x + energy.shift[r]) + skip @ x

    for row, value in zip(h, energy(h), strict=True):
        total = 0.0
        for m, u in enumerate(energy.points):
            for r in range(energy.n_kernels):
                gap = (psi(r, row) - psi(r, u)).square().sum()
                total += (
                    energy.alpha[m]
                    * mixture[r]
                    * torch.exp(-gap / (2 * torch.exp(2 * energy.log_bandwidth[r])))
                )
        torch.testing.assert_close(value, total)


def test_the_start_takes_rows_as_points_and_median_distances_as_bandwidths():
    coordinates = LAYOUTS["mixed"]
    data = rows(coordinates, 50)
    energy = DeepKernel(n_points=20).build(coordinates, data, torch.Generator().manual_seed(0))
    gaps = torch.cdist(energy.points.detach(), data)
    assert float(gaps.min(dim=1).values.max()) < 1e-6
    assert len(set(gaps.argmin(dim=1).tolist())) > 15  # without replacement; equal rows may tie
    psi = energy._centres().detach()
    for r, factor in enumerate([0.5, 1.0, 2.0]):
        median = torch.pdist(psi[r]).median()
        assert float(energy.log_bandwidth[r].detach().exp()) == pytest.approx(float(factor * median))


def test_fewer_rows_than_points_are_used_again():
    energy = DeepKernel(n_points=9).build(Coordinates(2), rows(Coordinates(2), 4), None)
    assert len({tuple(u) for u in energy.points.tolist()}) == 4


class Asked(torch.nn.Module):
    """An energy, and a question that is asked of it."""

    def __init__(self, energy):
        super().__init__()
        self.energy = energy

    def forward(self, question):
        return question()


def at_alpha(energy, alpha, question):
    """The answer with an alpha that depends on other parameters in place of the stored one."""
    return torch.func.functional_call(Asked(energy), {"energy.alpha": alpha}, (question,))


def alpha_loss(energy, base, h, alpha, ridge):
    """The ridged loss with derivatives by autograd."""
    score, bend = at_alpha(energy, alpha, lambda: (Energy.score(energy, h), Energy.curvature(energy, h)))
    score = score + base.score(h)
    return (0.5 * score.square() + bend).sum(dim=1).mean() + 0.5 * ridge * alpha.square().sum()


@pytest.mark.parametrize("kind", ["continuous", "mixed"])
def test_alpha_minimises_the_loss_written_with_autograd(kind):
    coordinates = LAYOUTS[kind]
    energy, base, h = (
        random_energy("deep_kernel", coordinates),
        NormalEnergy(coordinates),
        rows(coordinates, 40),
    )
    ridge = torch.tensor(0.05, dtype=DOUBLE)
    alpha = energy.fit_alpha(h, base.score(h), ridge).detach().requires_grad_()
    gradient = torch.autograd.grad(alpha_loss(energy, base, h, alpha, ridge), alpha)[0]
    assert float(gradient.abs().max()) < 1e-10
    assert float(alpha.detach().abs().max()) > 1e-3


def test_alpha_in_parts_is_alpha_at_once(monkeypatch):
    import gpmnet.energies.deep_kernel as module

    energy, h = random_energy("deep_kernel", LAYOUTS["continuous"]), rows(LAYOUTS["continuous"], 30)
    whole = energy.fit_alpha(h)
    monkeypatch.setattr(module, "BUDGET", 1)
    torch.testing.assert_close(energy.fit_alpha(h), whole)


def test_alpha_carries_the_gradient_of_the_kernel_and_of_the_ridge():
    """The total derivative of the held-out loss through the solve, against finite differences."""
    coordinates = LAYOUTS["continuous"]
    energy, base = random_energy("deep_kernel", coordinates), NormalEnergy(coordinates)
    log_ridge = torch.tensor(-3.0, dtype=DOUBLE, requires_grad=True)
    fit, held = rows(coordinates, 30, seed=4), rows(coordinates, 30, seed=5)

    def loss():
        alpha = energy.fit_alpha(fit, base.score(fit), log_ridge.exp())
        score, bend = at_alpha(energy, alpha, lambda: (energy.score(held), energy.curvature(held)))
        return (0.5 * (score + base.score(held)).square() + bend).sum(dim=1).mean()

    gradients = torch.autograd.grad(loss(), [energy.weight, log_ridge, energy.points])
    for parameter, gradient in zip([energy.weight, log_ridge, energy.points], gradients, strict=True):
        at = (1, 2) if parameter.ndim else ()
        step = 1e-5
        with torch.no_grad():
            parameter[at] += step
            up = loss()
            parameter[at] -= 2 * step
            down = loss()
            parameter[at] += step
        assert float((up - down) / (2 * step)) == pytest.approx(float(gradient[at]), rel=1e-4, abs=1e-6)


def test_alpha_is_solved_only_where_that_is_asked_for_and_the_table_is_continuous():
    for alpha, coordinates, solved in (
        ("solved", LAYOUTS["continuous"], True),
        ("solved", LAYOUTS["mixed"], False),
        ("trained", LAYOUTS["continuous"], False),
    ):
        h, base = rows(coordinates, 12), NormalEnergy(coordinates).double()
        energy = DeepKernel(n_points=5, alpha=alpha).build(coordinates, h, None)
        assert isinstance(energy, DeepKernelEnergy)
        solve = energy.solver(base)
        assert (solve is not None) == solved
        if solve is not None:
            solve(h)
            torch.testing.assert_close(energy.alpha.detach(), energy.fit_alpha(h, base.score(h)).detach())


def test_closed_form_alpha_learns_a_density_that_is_not_normal():
    """Two clusters: with alpha alone the loss falls well below that of the base measure."""
    g = torch.Generator().manual_seed(0)
    signs = 2.0 * torch.randint(0, 2, (400, 1), generator=g) - 1
    h = (signs * 1.2 + 0.4 * torch.randn(400, 2, generator=g)).double()
    coordinates = Coordinates(2)
    energy = DeepKernel(n_points=50, alpha="solved").build(coordinates, h[:200], g)
    base = NormalEnergy(coordinates)
    energy.solver(base)(h[:200])
    held = h[200:]
    score, bend = energy.score(held) + base.score(held), energy.curvature(held) + base.curvature(held)
    fitted = (0.5 * score.square() + bend).detach().sum(dim=1).mean()
    assert float(fitted) < float(Hyvarinen()(base, held).mean()) - 1


def trained_pairs(coordinates, reads=2, steps=5):
    """A family of kernels that read sets of variables, after some steps of Adam."""
    g = torch.Generator().manual_seed(0)
    h = rows(coordinates, 40)
    energy = DeepKernel(n_kernels=2, hidden=3, n_points=6, reads=reads).build(coordinates, h, g)
    optimiser = torch.optim.Adam(energy.parameters(), lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        Mixed()(energy, h).mean().backward()
        optimiser.step()
    return energy, h


def test_a_family_of_every_pair_is_a_sum_of_functions_of_two_variables():
    """Its mixed differences over any three variables are 0, also after training; those over two are not."""
    coordinates = Coordinates(3)
    energy, h = trained_pairs(coordinates)
    assert energy.n_sets == 3
    assert tuple(energy.alpha.shape) == (3, 6)

    def value(*moved):
        x = h.clone()
        for v in moved:
            x[:, v] += 0.7
        return energy(x)

    pair = value(0, 1) - value(0) - value(1) + value()
    triple = (
        value(0, 1, 2) - value(0, 1) - value(0, 2) - value(1, 2) + value(0) + value(1) + value(2) - value()
    )
    assert float(pair.detach().abs().max()) > 1e-3
    assert float(triple.detach().abs().max()) < 1e-10


def test_each_set_is_a_published_family_of_its_variables():
    coordinates = LAYOUTS["mixed"]
    energy, h = trained_pairs(coordinates)
    total, family = torch.zeros(len(h), dtype=DOUBLE), DeepKernel(n_kernels=2, hidden=3, n_points=6)
    for k in range(energy.n_sets):
        one = DeepKernelEnergy(coordinates, family).double()
        at = slice(2 * k, 2 * k + 2)
        with torch.no_grad():
            one.weight.copy_(energy.weight[12 * k : 12 * (k + 1)])
            one.alpha.copy_(energy.alpha[k])
            one.points.copy_(energy.points)
            for name in ("shift", "mix", "log_bandwidth", "log_mixture"):
                getattr(one, name).copy_(getattr(energy, name)[at])
            total += one(h)
    torch.testing.assert_close(energy(h).detach(), total)


def test_with_triples_and_few_variables_one_set_reads_all():
    energy, _ = trained_pairs(Coordinates(2), reads=3)
    assert energy.n_sets == 1
    assert bool((energy.weight != 0).all())


def test_the_bandwidth_scales_the_start():
    h, g = rows(Coordinates(3), 30), torch.Generator()
    one, wide = (
        DeepKernel(bandwidth=b).build(Coordinates(3), h, g.manual_seed(0)).log_bandwidth for b in (1.0, 3.0)
    )
    torch.testing.assert_close(wide - one, torch.full_like(one, 3.0).log())
