"""Damped Newton steps: they reach the minimum of every problem of a batch, and say where they did not."""

import pytest
import torch

from gpmnet.solvers.newton import minimise


class Quartic:
    """(theta - target)^4 + (theta - target)^2, one coefficient a problem."""

    convex = True

    def __init__(self, target):
        self.target = torch.tensor(target, dtype=torch.float64)[:, None, None]

    def loss(self, theta):
        gap = theta - self.target
        return (gap**4 + gap**2).sum(dim=(1, 2))

    def derivatives(self, theta):
        gap = theta - self.target
        return (4 * gap**3 + 2 * gap)[:, 0], 12 * gap**2 + 2

    def reach(self, step):
        return step.abs().amax(dim=(1, 2))


class DoubleWell(Quartic):
    """(theta^2 - target)^2: not convex between its two minima."""

    convex = False

    def loss(self, theta):
        return ((theta**2 - self.target) ** 2).sum(dim=(1, 2))

    def derivatives(self, theta):
        return (4 * theta * (theta**2 - self.target))[:, 0], 12 * theta**2 - 4 * self.target


def start(b):
    return torch.full((b, 1, 1), 0.3, dtype=torch.float64)


def test_every_problem_reaches_its_minimum():
    found = minimise(Quartic([-2.0, 0.3, 50.0]), start(3), 100)
    torch.testing.assert_close(found.theta.flatten(), torch.tensor([-2.0, 0.3, 50.0], dtype=torch.float64))
    assert found.converged.all()
    assert 1 < found.n_steps < 100


def test_negative_curvature_is_left_downhill():
    found = minimise(DoubleWell([1.0, 4.0]), start(2), 100)
    torch.testing.assert_close(found.theta.flatten(), torch.tensor([1.0, 2.0], dtype=torch.float64))
    assert found.converged.all()


@pytest.mark.parametrize("most", [1, 3])
def test_a_cap_is_told_for_the_problems_that_it_stopped(most):
    found = minimise(Quartic([0.3, 50.0]), start(2), most)
    assert found.n_steps == most
    assert found.converged.tolist() == [True, False]


class Misled(Quartic):
    """Derivatives that point uphill: no step of any length makes the loss less."""

    def derivatives(self, theta):
        gradient, hessian = super().derivatives(theta)
        return -gradient, hessian


def test_a_line_search_that_fails_is_not_a_minimum():
    found = minimise(Misled([0.3, 50.0]), start(2), 100)
    assert found.theta.flatten().tolist() == [0.3, 0.3]
    assert found.converged.tolist() == [True, False]
    assert found.n_steps == 1


class Coarse(Quartic):
    """A loss in single precision, whose rounding hides what is left to gain."""

    def __init__(self, target):
        super().__init__(target)
        self.target = self.target.float()

    def loss(self, theta):
        return super().loss(theta) + 1000 + 1e-3 * (theta[:, 0, 0] != 0.3)


def test_a_gain_that_the_loss_cannot_show_is_none():
    found = minimise(Coarse([0.301, 3.0]), start(2).float(), 1)
    assert found.theta[0].item() == pytest.approx(0.3)
    assert found.converged.tolist() == [True, False]
