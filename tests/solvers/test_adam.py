"""Training: seeds, resuming to the bit, early stopping, numbers that are not finite, what the penalty does."""

import itertools

import numpy as np
import pytest
import torch

from gpmnet.energies import Coordinates, Mlp, Normal, Sum
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.errors import ComputationError
from gpmnet.objectives import OBJECTIVES, Hyvarinen
from gpmnet.omega import generalised_precision
from gpmnet.penalties import SCAD
from gpmnet.solvers.adam import OmegaPenalty, train

OPTIONS = DeepOptions(steps=260, batch=64, patience=1000, omega_rows=16)


def rows(n=300, seed=0, null=False):
    """Two dependent coordinates and one that is independent of both, or three independent ones."""
    z = torch.randn(n, 3, generator=torch.Generator().manual_seed(seed))
    if not null:
        z[:, 1] = (z[:, 1] + z[:, 0]) / 2**0.5
    return z


def model(seed=0, d=3, hidden=8):
    coordinates = Coordinates(d)
    deep = Mlp(coordinates, hidden, generator=torch.Generator().manual_seed(seed))
    return Sum(Normal(coordinates), deep), deep


def run(h, options=OPTIONS, seed=0, penalty=None, checkpoint=None, report=None, objective="mixed"):
    energy, deep = model(seed)
    generator = torch.Generator().manual_seed(seed)
    better = train(energy, deep, h, OBJECTIVES[objective], penalty, options, generator, checkpoint, report)
    return energy, deep, better


def same_bits(one, two):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def penalty_of(lam, d=3, n_rows=16):
    return OmegaPenalty(SCAD(lam), torch.ones(d, d), n_rows)


def test_the_same_seed_gives_the_same_bits_and_another_one_does_not():
    options = DeepOptions(steps=60, batch=64)
    one, two, other = (run(rows(), options, seed)[1] for seed in (0, 0, 1))
    assert same_bits(one, two)
    assert not same_bits(one, other)


@pytest.mark.parametrize("objective", ["mixed", "sliced"])
def test_an_interrupted_training_goes_on_to_the_same_bits(tmp_path, objective):
    h, penalty, path = rows(), penalty_of(0.05), tmp_path / "x.safetensors"
    whole = run(h, penalty=penalty, objective=objective)[1]

    def interrupt(step, steps, note):
        if step == 240:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(h, penalty=penalty, checkpoint=path, report=interrupt, objective=objective)
    seen = []
    again = run(
        h, penalty=penalty, checkpoint=path, report=lambda step, *_: seen.append(step), objective=objective
    )
    assert seen[0] == 200  # it went on from the last checkpoint, not from the start
    assert same_bits(whole, again[1])


def test_early_stopping_returns_the_parameters_of_the_least_held_out_loss():
    """Few rows and a fast rate overfit: the held-out loss turns, training stops there and goes back."""
    energy, deep = model(hidden=32)
    found, states = [], []

    class Watched:
        def __call__(self, whole, h, generator=None):
            loss = Hyvarinen()(whole, h)
            if not torch.is_grad_enabled():  # a look at the held-out rows
                found.append(float(loss.mean()))
                states.append([p.clone() for p in deep.parameters()])
            return loss

    options = DeepOptions(steps=4000, batch=64, patience=200, learning_rate=0.03)
    better = train(energy, deep, rows(60), Watched(), None, options, torch.Generator().manual_seed(0))
    best = 0
    for at, loss in enumerate(found):  # the last one that was better by more than a thousandth
        best = at if loss < found[best] - 1e-3 else best
    assert better
    assert 0 < best == len(found) - 13  # ten looks within its patience, one beyond, one at the end
    assert found[-1] > found[best] + 0.1
    for parameter, then, last in zip(deep.parameters(), states[best], states[-1], strict=True):
        assert torch.equal(parameter, then)
        assert not torch.equal(parameter, last)


def test_training_that_cannot_get_better_leaves_the_start_and_says_so():
    _, deep, better = run(rows(400, null=True), DeepOptions(steps=100, learning_rate=1.0))
    assert not better
    assert float(deep.output.detach().abs().max()) == 0


@pytest.mark.parametrize("term", ["objective", "penalty on Omega"])
def test_a_term_that_is_not_finite_stops_training_and_is_named(term):
    class Broken:
        calls = itertools.count()

        def __call__(self, energy, h, generator=None):
            late = torch.is_grad_enabled() and next(self.calls) >= 30
            return Hyvarinen()(energy, h) * (torch.nan if late and term == "objective" else 1.0)

    class BrokenPenalty(SCAD):
        def value(self, omega):
            return omega * torch.nan

    energy, deep = model()
    penalty = None if term == "objective" else OmegaPenalty(BrokenPenalty(0.1), torch.ones(3, 3), 4)
    at = 30 if term == "objective" else 0
    with pytest.raises(
        ComputationError, match=f"at step {at}: the {term} is nan; try a smaller learning_rate"
    ):
        train(energy, deep, rows(), Broken(), penalty, OPTIONS, torch.Generator())


def test_the_penalty_is_the_sum_over_pairs_in_their_units():
    energy, deep = model()
    with torch.no_grad():
        deep.output.normal_(generator=torch.Generator().manual_seed(1))
    h, units = rows(40), torch.tensor([[1.0, 0.5, 2.0], [0.5, 1.0, 3.0], [2.0, 3.0, 1.0]])
    omega = (energy.hessian(h[:16]).detach().square().mean(dim=0) + 1e-6).sqrt()
    expected = sum(
        units[i, j] ** 2 * float(SCAD(0.2).value(omega[i, j] / units[i, j]))
        for i, j in ((0, 1), (0, 2), (1, 2))
    )
    found = OmegaPenalty(SCAD(0.2), units, 16)(energy, h)
    np.testing.assert_allclose(float(found.detach()), float(expected), rtol=1e-5)


def test_the_penalty_shrinks_omega_of_a_null_pair_and_keeps_the_edge():
    h = rows(600)
    options = DeepOptions(steps=300, batch=256, patience=1000)
    omegas = [
        generalised_precision(run(h, options, penalty=penalty)[0], h)
        for penalty in (None, penalty_of(0.3, n_rows=32))
    ]
    null = [float(omega[0, 2] + omega[1, 2]) for omega in omegas]
    assert null[1] < 0.5 * null[0]
    assert float(omegas[1][0, 1]) > 0.8  # SCAD is flat there; 1.41 is exact
