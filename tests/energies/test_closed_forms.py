"""Every closed form of every family against autograd and replacement one by one."""

import pytest
import torch
from tests.energies.energy_cases import BUILDERS, LAYOUTS, random_energy, rows

import gpmnet.energies.low_rank as low_rank
from gpmnet.energies import ENERGIES, MLP, Coordinates, DeepKernelEnergy, Energy, NormalEnergy, SumEnergy
from gpmnet.energies.base import in_chunks
from gpmnet.energies.low_rank import LowRankEnergy
from gpmnet.errors import InputError

METHODS = ["score", "curvature", "hessian", "logits", "level_scores", "pair_logits"]
SHAPES = {
    "score": lambda n, dc, s: (n, dc),
    "curvature": lambda n, dc, s: (n, dc),
    "hessian": lambda n, dc, s: (n, dc, dc),
    "logits": lambda n, dc, s: (n, s),
    "level_scores": lambda n, dc, s: (n, s, dc),
    "pair_logits": lambda n, dc, s: (n, s, s),
}
every_family = pytest.mark.parametrize("name", BUILDERS)
every_layout = pytest.mark.parametrize("kind", LAYOUTS)
every_method = pytest.mark.parametrize("method", METHODS)


def parameter_gradients(energy, value):
    weight = torch.randn(value.shape, generator=torch.Generator().manual_seed(3), dtype=value.dtype)
    total = (weight * value).sum() + 0 * sum(p.sum() for p in energy.parameters())
    return torch.autograd.grad(total, list(energy.parameters()))


@every_family
@every_layout
@every_method
def test_closed_form_equals_autograd_and_so_do_its_parameter_gradients(name, kind, method):
    coordinates = LAYOUTS[kind]
    energy, h = random_energy(name, coordinates), rows(coordinates)
    value = getattr(energy, method)(h)
    oracle = getattr(Energy, method)(energy, h)
    assert value.shape == SHAPES[method](len(h), coordinates.n_continuous, coordinates.n_levels)
    torch.testing.assert_close(value, oracle, rtol=1e-9, atol=1e-10)
    for a, b in zip(parameter_gradients(energy, value), parameter_gradients(energy, oracle), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-9)


@every_family
@every_method
def test_without_gradients_the_values_are_the_same(name, method):
    energy, h = random_energy(name, LAYOUTS["mixed"]), rows(LAYOUTS["mixed"])
    for owner in (energy.__class__, Energy):
        with torch.no_grad():
            silent = getattr(owner, method)(energy, h)
        assert not silent.requires_grad
        torch.testing.assert_close(silent, getattr(owner, method)(energy, h).detach())


@every_family
def test_the_autograd_hessian_is_that_of_finite_differences(name):
    """The oracle of the other tests has one of its own."""
    coordinates, step = LAYOUTS["mixed"], 1e-5
    energy, h = random_energy(name, coordinates), rows(coordinates)
    move = torch.zeros(coordinates.width, dtype=torch.float64)
    move[0] = step
    with torch.no_grad():
        slope = (energy(h + move) - energy(h - move)) / (2 * step)
        bend = (energy.score(h + move) - energy.score(h - move)) / (2 * step)
    torch.testing.assert_close(slope, energy.score(h)[:, 0], rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(bend, Energy.hessian(energy, h)[:, 0], rtol=1e-6, atol=1e-7)


@every_family
@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 2), (3, 1), (2, 3)])
def test_pairs_moved_over_grids_are_replaced_columns(name, first, second):
    """Up to a constant of each row."""
    coordinates = LAYOUTS["mixed"]
    energy, h = random_energy(name, coordinates), rows(coordinates)
    other = rows(coordinates, 5, seed=8)
    here = (
        other[:, None, coordinates.columns(first)].repeat(1, 3, 1)
        * torch.tensor([0.5, 1.0, 2.0])[None, :, None]
    )
    there = (
        other[:, None, coordinates.columns(second)].repeat(1, 2, 1) * torch.tensor([1.0, -1.0])[None, :, None]
    )
    value = energy.pair_values(h, first, here, second, there)
    assert value.shape == (5, 3, 2)
    for i in range(3):
        for j in range(2):
            moved, start = h.clone(), h.clone()
            moved[:, coordinates.columns(first)], moved[:, coordinates.columns(second)] = (
                here[:, i],
                there[:, j],
            )
            start[:, coordinates.columns(first)], start[:, coordinates.columns(second)] = (
                here[:, 0],
                there[:, 0],
            )
            torch.testing.assert_close(value[:, i, j] - value[:, 0, 0], energy(moved) - energy(start))


@pytest.mark.parametrize("name", ["mlp", "mlp2", "deep_kernel"])
def test_head_derivatives_equal_autograd(name):
    energy = random_energy(name, LAYOUTS["mixed"])
    a = energy.project(rows(LAYOUTS["mixed"])).detach()
    for at in a:
        torch.testing.assert_close(
            energy.head_gradient(at), torch.autograd.functional.jacobian(energy.head, at)
        )
        torch.testing.assert_close(
            energy.head_hessian(at), torch.autograd.functional.hessian(energy.head, at)
        )


@pytest.mark.parametrize("name", ["mlp", "mlp2", "deep_kernel"])
def test_the_general_second_derivatives_equal_the_special_ones(name):
    energy, h = random_energy(name, LAYOUTS["mixed"]), rows(LAYOUTS["mixed"])
    torch.testing.assert_close(LowRankEnergy.hessian(energy, h), energy.hessian(h))
    torch.testing.assert_close(LowRankEnergy.curvature(energy, h), energy.curvature(h))


@pytest.mark.parametrize("name", ["mlp", "mlp2", "deep_kernel"])
@pytest.mark.parametrize("method", METHODS)
def test_cutting_changes_neither_values_nor_gradients(name, method, monkeypatch):
    energy, h = random_energy(name, LAYOUTS["mixed"]), rows(LAYOUTS["mixed"])
    whole = getattr(energy, method)(h)
    gradients = parameter_gradients(energy, whole)
    monkeypatch.setattr(low_rank.LowRankEnergy, "_budget", lambda self: 1)
    monkeypatch.setattr(DeepKernelEnergy, "_budget", lambda self: 1)
    cut = getattr(energy, method)(h)
    torch.testing.assert_close(cut, whole)
    for a, b in zip(parameter_gradients(energy, cut), gradients, strict=True):
        torch.testing.assert_close(a, b)


def test_chunks_hold_no_more_than_asked():
    seen = []

    def part(at):
        seen.append(at.stop - at.start)
        return torch.arange(at.start, at.stop, dtype=torch.float64)[None]

    torch.testing.assert_close(in_chunks(part, 7, 3), torch.arange(7, dtype=torch.float64)[None])
    assert seen == [3, 3, 1]


@every_family
def test_float32_agrees_with_float64(name):
    coordinates = LAYOUTS["mixed"]
    energy, h = random_energy(name, coordinates), rows(coordinates)
    wide = {method: getattr(energy, method)(h).detach() for method in METHODS}
    energy.float()
    for method in METHODS:
        narrow = getattr(energy, method)(h.float())
        assert narrow.dtype == torch.float32
        torch.testing.assert_close(narrow.double(), wide[method], rtol=2e-3, atol=2e-3)


@every_family
def test_forward_takes_any_leading_shape(name):
    energy, h = random_energy(name, LAYOUTS["mixed"]), rows(LAYOUTS["mixed"], 6)
    torch.testing.assert_close(energy(h.reshape(2, 3, -1)), energy(h).reshape(2, 3))


@pytest.mark.parametrize("name", ENERGIES)
@every_layout
def test_registered_energies_start_at_zero_and_can_learn(name, kind):
    coordinates = LAYOUTS[kind]
    h = rows(coordinates)
    energy = ENERGIES[name].build(coordinates, h, None)
    assert {parameter.dtype for parameter in energy.parameters()} == {h.dtype}
    assert float(energy(h).detach().abs().max()) == 0
    gradient = torch.autograd.grad(energy(h).sum(), list(energy.parameters()), allow_unused=True)
    assert any(g is not None and float(g.abs().max()) > 0 for g in gradient)


@pytest.mark.parametrize("name", ["mlp", "deep_kernel"])
def test_the_same_generator_gives_the_same_energy(name):
    coordinates = LAYOUTS["mixed"]
    one, two, other = (
        ENERGIES[name].build(coordinates, rows(coordinates), torch.Generator().manual_seed(s))
        for s in (5, 5, 6)
    )
    assert torch.equal(one.weight, two.weight)
    assert not torch.equal(one.weight, other.weight)


def test_a_saved_state_brings_back_the_energy():
    coordinates = LAYOUTS["mixed"]
    for name in BUILDERS:
        energy, other = random_energy(name, coordinates, 1), random_energy(name, coordinates, 2)
        other.load_state_dict(energy.state_dict())
        torch.testing.assert_close(other(rows(coordinates)), energy(rows(coordinates)), rtol=0, atol=0)


@every_layout
def test_row_size_bounds_the_results(kind):
    coordinates = LAYOUTS[kind]
    for name in BUILDERS:
        energy, h = random_energy(name, coordinates), rows(coordinates)
        assert energy.row_size() >= max(
            getattr(energy, method)(h).numel() // len(h) for method in METHODS[:4]
        )


def test_wrong_sums_and_depths_are_refused():
    with pytest.raises(InputError, match="the same coordinates"):
        SumEnergy(NormalEnergy(Coordinates(2)), NormalEnergy(Coordinates(3)))
    with pytest.raises(InputError, match="at least one"):
        SumEnergy()
    with pytest.raises(InputError, match=r"MLP: depth must be a whole number in \[1, 2\]; got"):
        MLP(depth=3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@every_family
def test_cuda_agrees_with_cpu(name):
    coordinates = LAYOUTS["mixed"]
    energy, h = random_energy(name, coordinates), rows(coordinates)
    here = {method: getattr(energy, method)(h).detach() for method in METHODS}
    energy.cuda()
    for method in METHODS:
        torch.testing.assert_close(getattr(energy, method)(h.cuda()).detach().cpu(), here[method])
