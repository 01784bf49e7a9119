"""Newton steps by conjugate gradients: the solutions are those of a written-down Hessian, and a cap is told."""

from dataclasses import dataclass

import pytest
import torch

from gpmnet.solvers import conjugate
from gpmnet.solvers.conjugate import minimise_by_products, solve

DRAW = torch.Generator().manual_seed(0)


def normal(*shape):
    return torch.randn(shape, generator=DRAW, dtype=torch.float64)


@dataclass
class Dense:
    """A Hessian that is written down, its diagonal near it."""

    gradient: torch.Tensor
    hessian: torch.Tensor

    def times(self, direction):
        return (self.hessian @ direction.flatten(1)[..., None]).reshape(direction.shape)

    def solve_near(self, right):
        return right / self.hessian.diagonal(dim1=1, dim2=2).reshape(right.shape)


class Cosh:
    """The sum of cosh(A (theta - target)): convex, and far from a parabola."""

    def __init__(self, b, m, p):
        self.target = normal(b, m, p)
        self.a = normal(b, m * p, m * p) / (m * p) ** 0.5 + torch.eye(m * p, dtype=torch.float64)

    def _inner(self, theta):
        return (self.a @ (theta - self.target).flatten(1)[..., None])[..., 0]

    def loss(self, theta):
        return torch.cosh(self._inner(theta)).sum(dim=1)

    def curvature(self, theta):
        inner = self._inner(theta)
        gradient = (self.a.mT @ torch.sinh(inner)[..., None]).reshape(theta.shape)
        return Dense(gradient, self.a.mT @ (torch.cosh(inner)[..., None] * self.a))


def test_every_system_of_a_batch_is_solved_to_its_own_accuracy():
    root = normal(3, 90, 90)
    at = Dense(normal(3, 9, 10), root @ root.mT + torch.eye(90, dtype=torch.float64))
    accuracy = torch.tensor([1e-1, 1e-6, 1e-12], dtype=torch.float64)
    found, solved = solve(at, at.gradient, accuracy)
    exact = torch.linalg.solve(at.hessian, at.gradient.flatten(1)[..., None]).reshape(found.shape)
    error = (found - exact).abs().amax(dim=(1, 2))
    assert solved.all()
    assert error[2] < 1e-10 < error[1] < 1e-4 < error[0]


def test_no_pull_is_no_step():
    at = Dense(torch.zeros(1, 2, 2, dtype=torch.float64), torch.eye(4, dtype=torch.float64)[None])
    found, solved = solve(at, at.gradient, torch.tensor([1e-3], dtype=torch.float64))
    assert solved.all()
    assert not found.any()


def test_every_problem_reaches_its_minimum():
    loss = Cosh(4, 3, 5)
    found = minimise_by_products(loss, torch.zeros(4, 3, 5, dtype=torch.float64), 50)
    assert found.converged.all()
    torch.testing.assert_close(found.theta, loss.target, rtol=0, atol=1e-8)


def test_a_cap_of_the_steps_is_told_for_the_problems_that_it_stopped():
    loss = Cosh(2, 3, 5)
    start = loss.target.clone()
    start[1] += 3.0
    found = minimise_by_products(loss, start, 2)
    assert found.n_steps == 2
    assert found.converged.tolist() == [True, False]


def test_a_solver_that_stops_inside_a_step_has_not_converged(monkeypatch):
    monkeypatch.setattr(conjugate, "_MOST_ROUNDS", 1)
    loss = Cosh(1, 3, 5)
    found = minimise_by_products(loss, torch.zeros(1, 3, 5, dtype=torch.float64), 2000)
    assert not found.converged.any()


@pytest.mark.parametrize("enough", [1e-2, 1e-5])
def test_a_loss_that_need_not_be_the_least_is_as_near_as_was_asked(enough):
    loss = Cosh(3, 3, 5)
    start = torch.zeros(3, 3, 5, dtype=torch.float64)
    found = minimise_by_products(loss, start, 50, enough)
    assert found.converged.all()
    assert ((loss.loss(found.theta) - loss.loss(loss.target)) < enough).all()
    assert found.n_steps < minimise_by_products(loss, start, 50).n_steps
