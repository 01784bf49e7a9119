"""Penalties against grid search, numerical derivatives and each other."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpmnet.errors import InputError
from gpmnet.penalties import L1, MCP, PENALTIES, SCAD, Adaptive, adaptive, l1, mcp, scad
from gpmnet.penalties.adaptive import Weighted

FORMULAS = {"l1": (l1, {}), "scad": (scad, {"a": 3.7}), "mcp": (mcp, {"gamma": 3.0})}
W = np.linspace(-6, 6, 241)
every_formula = pytest.mark.parametrize("name", FORMULAS)


def textbook(name, t, lam, shape):
    """The penalties by cases, as printed by their authors, at one t >= 0."""
    if name == "l1":
        return lam * t
    if name == "mcp":
        return lam * t - t**2 / (2 * shape) if t <= shape * lam else shape * lam**2 / 2
    if t <= lam:
        return lam * t
    if t <= shape * lam:
        return (2 * shape * lam * t - t**2 - lam**2) / (2 * (shape - 1))
    return lam**2 * (shape + 1) / 2


@every_formula
@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_values_are_those_of_the_authors(name, lam):
    module, options = FORMULAS[name]
    shape = next(iter(options.values()), None)
    expected = [textbook(name, abs(w), lam, shape) for w in W]
    np.testing.assert_allclose(module.value(W, lam, **options), expected, atol=1e-12)


@every_formula
def test_the_derivative_is_the_slope_of_the_value(name):
    module, options = FORMULAS[name]
    t, step = np.linspace(0.013, 6, 97), 1e-6  # away from the corners
    slope = (module.value(t + step, 1.0, **options) - module.value(t - step, 1.0, **options)) / (2 * step)
    np.testing.assert_allclose(module.derivative(t, 1.0, **options), slope, atol=1e-6)
    np.testing.assert_allclose(module.derivative(-t, 1.0, **options), slope, atol=1e-6)
    assert module.derivative(np.zeros(1), 0.7, **options)[0] == pytest.approx(0.7)


GRID = np.linspace(-8, 8, 16_001)


def grid_prox(module, w, lam, step, options):
    """The least objective on a grid, and every point of the grid that reaches it but for rounding."""
    cost = 0.5 * (GRID - w) ** 2 + step * module.value(GRID, lam, **options)
    return cost.min(), GRID[cost < cost.min() + 1e-8]


# The problem stops being convex at step = a - 1 = 2.7 for SCAD and at step = gamma = 3 for MCP.
@every_formula
@pytest.mark.parametrize("step", [0.1, 1.0, 2.6, 2.7, 2.8, 3.0, 3.2, 6.0])
def test_the_prox_is_that_of_a_grid_search_on_both_sides_of_the_convexity_limit(name, step):
    module, options = FORMULAS[name]
    for w in np.linspace(-6.03, 6.01, 44):
        for lam in (0.4, 1.0):
            least, points = grid_prox(module, w, lam, step, options)
            x = float(module.prox(np.array([w]), lam, step, **options)[0])
            cost = 0.5 * (x - w) ** 2 + step * float(module.value(np.array([x]), lam, **options)[0])
            assert cost <= least + 1e-12, (w, lam)
            assert np.abs(points - x).min() <= 1.1e-3, (w, lam)


@given(
    st.floats(-5, 5),
    st.floats(0.01, 2),
    st.floats(0.01, 8),
    st.floats(2.01, 6),
    st.sampled_from(["scad", "mcp"]),
)
def test_no_point_beats_the_prox(w, lam, step, shape, name):
    module, key = FORMULAS[name][0], {"scad": "a", "mcp": "gamma"}[name]
    options = {key: shape}
    x = module.prox(np.array([w]), lam, step, **options)
    cost = 0.5 * (x - w) ** 2 + step * module.value(x, lam, **options)
    others = np.linspace(-10, 10, 2001)
    rest = 0.5 * (others - w) ** 2 + step * module.value(others, lam, **options)
    assert cost[0] <= rest.min() + 1e-9
    assert abs(x[0]) <= abs(w) + 1e-12 or step * lam == 0


@pytest.mark.parametrize("name", PENALTIES)
def test_every_entry_may_have_its_own_step(name):
    penalty, steps = PENALTIES[name].at(0.8), np.resize([0.1, 1.0, 2.7, 3.0, 5.0], W.shape)
    expected = [float(penalty.prox(np.array([w]), s)[0]) for w, s in zip(W, steps.tolist(), strict=True)]
    np.testing.assert_allclose(penalty.prox(W, steps), expected)
    np.testing.assert_allclose(penalty.prox(torch.tensor(W), torch.tensor(steps)), expected)


@pytest.mark.parametrize(
    "penalty", [SCAD(0.7, a=1e9), MCP(0.7, gamma=1e9), Adaptive(0.7), Weighted(0.7, np.ones_like(W))]
)
@pytest.mark.parametrize("step", [0.3, 1.0, 4.0])
def test_the_limits_are_l1(penalty, step):
    plain = L1(0.7)
    np.testing.assert_allclose(penalty.value(W), plain.value(W), atol=1e-6)
    np.testing.assert_allclose(penalty.derivative(W), plain.derivative(W), atol=1e-6)
    np.testing.assert_allclose(penalty.prox(W, step), plain.prox(W, step), atol=1e-6)


@pytest.mark.parametrize("name", PENALTIES)
def test_numpy_and_torch_agree_and_keep_their_kind(name):
    penalty = PENALTIES[name].at(0.8)
    for dtype in (torch.float32, torch.float64):
        w = torch.tensor(W, dtype=dtype)
        for array, tensor in [
            (penalty.value(W), penalty.value(w)),
            (penalty.derivative(W), penalty.derivative(w)),
            (penalty.prox(W, 1.3), penalty.prox(w, 1.3)),
            (penalty.prox(W, 5.0), penalty.prox(w, 5.0)),
        ]:
            assert tensor.dtype == dtype
            assert array.shape == W.shape
            np.testing.assert_allclose(array, tensor.numpy(), atol=1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("name", PENALTIES)
def test_autograd_agrees_with_the_derivative(name):
    penalty = PENALTIES[name].at(0.8)
    w = torch.linspace(0.011, 5, 60, dtype=torch.float64, requires_grad=True)
    gradient = torch.autograd.grad(penalty.value(w).sum(), w)[0]
    torch.testing.assert_close(gradient, penalty.derivative(w.detach()))


@pytest.mark.parametrize("name", PENALTIES)
def test_without_lambda_nothing_happens(name):
    penalty = PENALTIES[name].at(0.0)
    assert not penalty.value(W).any()
    np.testing.assert_allclose(penalty.prox(W, 2.0), W)


def test_large_entries_are_left_alone_by_scad_and_mcp_but_not_by_l1():
    far = np.array([5.0, -5.0])
    np.testing.assert_array_equal(SCAD(1.0).prox(far, 1.0), far)
    np.testing.assert_array_equal(MCP(1.0).prox(far, 1.0), far)
    np.testing.assert_array_equal(L1(1.0).prox(far, 1.0), [4.0, -4.0])


def test_adaptive_weights_are_inverse_to_the_first_estimate():
    initial = np.array([0.0, 0.01, -0.5, 2.0])
    np.testing.assert_allclose(adaptive.weights(initial), [1000, 100, 2, 0.5])
    np.testing.assert_allclose(adaptive.weights(initial, power=2, floor=0.1), [100, 100, 4, 0.25])
    for penalty, expected in (
        (Adaptive(0.1), adaptive.weights(initial)),
        (Adaptive(0.1, power=2, floor=0.1), [100, 100, 4, 0.25]),
    ):
        fitted = penalty.fitted_to(lambda: torch.tensor(initial))
        np.testing.assert_allclose(fitted.derivative(torch.ones(4)), 0.1 * np.array(expected))
        np.testing.assert_allclose(fitted.at(0.2).derivative(torch.ones(4)), 0.2 * np.array(expected))


@pytest.mark.parametrize("penalty", [L1(), SCAD(), MCP()])
def test_no_first_estimate_is_made_for_a_penalty_that_needs_none(penalty):
    def never():
        raise AssertionError

    assert penalty.fitted_to(never) is penalty


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: L1(-1),
        lambda: SCAD(float("nan")),
        lambda: SCAD(float("inf")),
        lambda: SCAD(a=2),
        lambda: MCP(gamma=1),
        lambda: SCAD(a=float("inf")),
        lambda: MCP("1"),
        lambda: Adaptive(floor=0),
        lambda: Adaptive(power=-1),
    ],
)
def test_wrong_shapes_are_refused(wrong):
    with pytest.raises(InputError, match="must be"):
        wrong()
