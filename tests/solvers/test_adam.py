"""Training: seeds, resuming to the bit, early stopping, numbers that are not finite, what the penalty does."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from gpmnet.energies import MLP, Coordinates, DeepKernel, MLPEnergy, NormalEnergy, SumEnergy
from gpmnet.errors import ComputationError
from gpmnet.files import Shelf
from gpmnet.objectives import OBJECTIVES, Hyvarinen
from gpmnet.omega import generalised_precision
from gpmnet.penalties import SCAD
from gpmnet.solvers.adam import NOBODY, Loss, OmegaPenalty, Track, Training, train, worst_variable

OPTIONS = Training(steps=260, batch=64, patience=1000)


def rows(n=300, seed=0, null=False):
    """Two dependent coordinates and one that is independent of both, or three independent ones."""
    z = torch.randn(n, 3, generator=torch.Generator().manual_seed(seed))
    if not null:
        z[:, 1] = (z[:, 1] + z[:, 0]) / 2**0.5
    return z


def model(seed=0, d=3, hidden=8):
    coordinates = Coordinates(d)
    deep = MLPEnergy(coordinates, MLP(hidden=hidden), torch.Generator().manual_seed(seed))
    return SumEnergy(NormalEnergy(coordinates), deep), deep


def run(h, options=OPTIONS, seed=0, penalty=None, track=NOBODY, objective="mixed"):
    energy, deep = model(seed)
    generator = torch.Generator().manual_seed(seed)
    ended = train(Loss(energy, OBJECTIVES[objective], penalty), deep, h, options, generator, track)
    return energy, deep, ended


def same_bits(one, two):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def penalty_of(lam, d=3, n_rows=16):
    return OmegaPenalty(SCAD(lam), torch.ones(d, d), n_rows)


def test_the_same_seed_gives_the_same_bits_and_another_one_does_not():
    options = Training(steps=60, batch=64)
    one, two, other = (run(rows(), options, seed)[1] for seed in (0, 0, 1))
    assert same_bits(one, two)
    assert not same_bits(one, other)


@pytest.mark.parametrize("objective", ["mixed", "sliced"])
def test_an_interrupted_training_goes_on_to_the_same_bits(tmp_path, monkeypatch, objective):
    monkeypatch.setattr("gpmnet.files.shelf.EVERY", 0.0)
    monkeypatch.setattr("gpmnet.files.shelf._SHARE", 1e9)
    h, penalty = rows(), penalty_of(0.05)

    def opened():
        shelf = Shelf(tmp_path / "x")
        shelf.open("key")
        return shelf

    whole = run(h, penalty=penalty, objective=objective)[1]

    def interrupt(step, steps, note):
        if step == 240:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(h, penalty=penalty, track=Track(opened(), report=interrupt), objective=objective)
    seen = []
    track = Track(opened(), report=lambda step, *_: seen.append(step))
    again = run(h, penalty=penalty, track=track, objective=objective)
    assert seen[0] == 240  # it went on from where it was, not from the start
    assert same_bits(whole, again[1])
    once_more = run(h, penalty=penalty, track=replace(track, shelf=opened()), objective=objective)
    assert seen.count(seen[-1]) == 1  # all of it was there
    assert same_bits(whole, once_more[1])
    assert again[2:] == once_more[2:]


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

    options = Training(steps=4000, batch=64, patience=200, learning_rate=0.03)
    ended = train(Loss(energy, Watched()), deep, rows(60), options, torch.Generator().manual_seed(0))
    best = 0
    for at, loss in enumerate(found):  # the last one that was better by more than a thousandth
        best = at if loss < found[best] - 1e-3 else best
    assert ended.better
    assert ended.converged
    assert ended.steps < 4000
    assert 0 < best == len(found) - 13  # ten looks within its patience, one beyond, one at the end
    assert found[-1] > found[best] + 0.1
    for parameter, then, last in zip(deep.parameters(), states[best], states[-1], strict=True):
        assert torch.equal(parameter, then)
        assert not torch.equal(parameter, last)


def test_training_that_cannot_get_better_leaves_the_start_and_says_so():
    _, deep, ended = run(rows(400, null=True), Training(steps=100, learning_rate=1.0))
    assert not ended.better
    assert (ended.steps, ended.converged) == (100, False)  # at the cap, its patience not exhausted
    assert float(deep.output.detach().abs().max()) == 0


def clusters(n=300):
    g = torch.Generator().manual_seed(0)
    signs = 2.0 * torch.randint(0, 2, (n, 1), generator=g) - 1
    return signs * 1.2 + 0.4 * torch.randn(n, 2, generator=g)


def test_a_closed_form_is_the_first_step_and_must_beat_the_base_on_held_out_rows():
    h, base = clusters(), NormalEnergy(Coordinates(2))
    first = {}
    for alpha in ("trained", "solved"):
        g = torch.Generator().manual_seed(1)
        deep = DeepKernel(n_points=40, alpha=alpha).build(Coordinates(2), h, g)
        losses = []
        track = Track(report=lambda step, steps, note, found=losses: found.append((step, note)))
        training = Training(steps=41, patience=1000)
        ended = train(
            Loss(SumEnergy(base, deep), Hyvarinen()), deep, h, training, g, track, deep.solver(base)
        )
        assert ended.better
        first[alpha] = {step: float(note.split()[2].rstrip(",")) for step, note in losses}
    assert first["solved"][0] == first["trained"][0]  # the base alone
    assert first["solved"][1] < first["trained"][20] - 0.2


def test_a_closed_form_that_does_not_beat_the_base_is_dropped():
    h, base = rows(300, null=True), NormalEnergy(Coordinates(3))
    family = DeepKernel(n_points=200, hidden=4, alpha="solved", ridge=1e-6)  # as many points as rows overfit
    deep = family.build(Coordinates(3), h[:40], torch.Generator().manual_seed(0))
    g = torch.Generator().manual_seed(0)
    loss = Loss(SumEnergy(base, deep), Hyvarinen())
    ended = train(loss, deep, h[:40], Training(steps=1), g, solve=deep.solver(base))
    assert not ended.better
    assert float(deep.alpha.detach().abs().max()) == 0


def test_the_worst_variable_is_the_one_whose_own_distribution_is_wrong():
    coordinates = Coordinates(2, (2, 2), (0.5, 0.5, 0.1, 0.9))
    g = torch.Generator().manual_seed(0)
    z, codes = torch.randn(500, 2, generator=g), torch.randint(0, 2, (500, 2), generator=g)
    h = coordinates.encode(z, codes)
    assert (
        worst_variable(NormalEnergy(coordinates), h) == 3
    )  # levels of shares 0.1 and 0.9 in theory, one half in truth
    wide = coordinates.encode(z * torch.tensor([1.0, 1.6]), codes)
    assert worst_variable(NormalEnergy(coordinates), wide) == 1


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
        train(Loss(energy, Broken(), penalty), deep, rows(), OPTIONS, torch.Generator())


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
    options = Training(steps=300, batch=256, patience=1000)
    omegas = [
        generalised_precision(run(h, options, penalty=penalty)[0], h)
        for penalty in (None, penalty_of(0.3, n_rows=32))
    ]
    null = [float(omega[0, 2] + omega[1, 2]) for omega in omegas]
    assert null[1] < 0.5 * null[0]
    assert float(omegas[1][0, 1]) > 0.8  # SCAD is flat there; 1.41 is exact
