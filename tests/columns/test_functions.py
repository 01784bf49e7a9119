"""Functions of a column: every derivative against autograd, means against quadrature."""

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from gpmnet.columns.functions import (
    OWN_FUNCTIONS,
    Bell,
    Cosine,
    Power,
    Scores,
    Tanh,
    design_functions,
    feature_functions,
    firsts,
    pairwise_functions,
    seconds,
    values,
)
from gpmnet.columns.whitening import whitener

FUNCTIONS = [
    Tanh(2.5), Tanh(1.0), Cosine(1), Cosine(4), Power(1), Power(2), Power(3),
    *(Bell(p, width) for p in range(4) for width in (2.0, 3.0)), Bell(2, 3.0, centred=True),
]  # fmt: skip
FAMILIES = [feature_functions(4), design_functions(3), pairwise_functions(5), OWN_FUNCTIONS]


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
def test_derivatives_agree_with_autograd(function):
    z = torch.linspace(-3, 3, 41, dtype=torch.float64, requires_grad=True)
    s = Scores(z)
    slope = torch.autograd.grad(function.value(s).sum(), z, create_graph=True)[0]
    torch.testing.assert_close(function.first(s), slope)
    curved = slope.requires_grad
    bend = torch.autograd.grad(slope.sum(), z, allow_unused=True, create_graph=True)[0] if curved else None
    torch.testing.assert_close(function.second(s), torch.zeros_like(z) if bend is None else bend)


@pytest.mark.parametrize("p", range(6))
@pytest.mark.parametrize("width", [2.0, 3.0])
def test_a_centred_bell_has_mean_zero(p, width):
    def integrand(z):
        return float(
            Bell(p, width, centred=True).value(Scores(torch.tensor(z, dtype=torch.float64)))
        ) * stats.norm.pdf(z)

    assert integrate.quad(integrand, -12, 12)[0] == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_its_functions_side_by_side(family):
    s = Scores(torch.randn((3, 5), dtype=torch.float64))
    for k, function in enumerate(family):
        torch.testing.assert_close(values(family, s)[..., k], function.value(s))
        torch.testing.assert_close(firsts(family, s)[..., k], function.first(s))
        torch.testing.assert_close(seconds(family, s)[..., k], function.second(s))


def test_a_value_is_computed_once():
    class Counted:
        calls = 0

        def value(self, s):
            self.calls += 1
            return s.z

    s, function = Scores(torch.zeros(3)), Counted()
    assert s.value(function) is s.value(function)
    assert function.calls == 1


def test_the_features_of_tests_are_bounded_and_of_rising_degree():
    z = torch.linspace(-8, 8, 2001, dtype=torch.float64)
    found = values(feature_functions(5), Scores(z)).numpy()
    assert np.abs(found).max() <= 2.5
    signs = np.sign(np.where(np.abs(found) < 1e-12, 0, found))
    assert [np.count_nonzero(np.diff(column[column != 0])) for column in signs.T] == [1, 2, 3, 4, 5]


def test_the_whitener_whitens_in_order():
    x = torch.randn((50, 4), dtype=torch.float64) @ torch.randn((4, 4), dtype=torch.float64)
    gram, floor = x.T @ x / 50, torch.tensor([0.0, 0.1, 0.0, 0.2], dtype=torch.float64)
    w = whitener(gram, floor)
    torch.testing.assert_close(w.T @ (gram + torch.diag(floor)) @ w, torch.eye(4, dtype=torch.float64))
    torch.testing.assert_close(w, torch.triu(w))
