"""Strengths and their intervals: against derivatives by finite differences, textbook formulas, and simulated truths."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpmnet.testing.strength import Strength, interval, log_p_at_most, strength_of, weighted_strength


def whitened(x, weight=None):
    """Return columns with unit weighted covariance, rows weighted."""
    weight = np.full(len(x), 1 / len(x)) if weight is None else weight
    root = np.linalg.cholesky((x * weight[:, None]).T @ x)
    return np.linalg.solve(root, x.T).T


def top(weight, u, v, w=None):
    """The largest canonical correlation of weighted rows, all blocks whitened with the same weights."""
    u, v = whitened(u, weight), whitened(v, weight)
    if w is not None:
        w = whitened(w, weight)
        v = (v[:, :, None] * w[:, None, :]).reshape(len(v), -1)
    return np.linalg.norm((u * weight[:, None]).T @ v, 2)


def jackknife(blocks, step=1e-5):
    """The infinitesimal jackknife: the variance over rows of the derivative by a row's weight."""
    n = len(blocks[0])
    slopes = []
    for at in range(n):
        ends = []
        for sign in (1, -1):
            weight = np.full(n, 1 / n)
            weight *= 1 - sign * step
            weight[at] += sign * step
            ends.append(top(weight, *blocks))
        slopes.append((ends[0] - ends[1]) / (2 * step))
    return np.mean(np.square(slopes)) / n


def found(u, v, w=None):
    n = len(u)
    u, v, w = (None if x is None else torch.tensor(whitened(x))[None] for x in (u, v, w))
    left = torch.tensor([float(n)])
    if w is None:
        return strength_of(u, v, u.mT @ v / n, torch.tensor([u.shape[2] + v.shape[2]]), left)
    product = (v[..., :, None] * w[..., None, :]).flatten(2)
    width = torch.tensor([u.shape[2] + product.shape[2]])
    return weighted_strength(u, v, w, u.mT @ product / n, width, left)


def blocks_of(rng, n, kind):
    u = rng.normal(size=(n, 2))
    if kind == "pair":
        v = np.column_stack([0.5 * u[:, 0] + rng.exponential(size=n), rng.normal(size=(n, 2))])
        return u, v
    w = rng.normal(size=(n, 2))
    return u, np.column_stack([u[:, 0] * w[:, 0] + rng.normal(size=n), rng.normal(size=n)]), w


@pytest.mark.parametrize("kind", ["pair", "three"])
def test_the_error_is_the_infinitesimal_jackknife(kind):
    blocks = blocks_of(np.random.default_rng(0), 150, kind)
    got = found(*blocks)
    rho, turns = float(got.value), blocks[0].shape[1] + np.prod([x.shape[1] for x in blocks[1:]]) - 2
    plain = np.sqrt(jackknife(blocks)) / (1 - rho**2)
    larger = np.sqrt(1 + turns / (2 * max(1, (np.arctanh(rho) / plain) ** 2)))
    assert rho > 0.2
    assert float(got.error) == pytest.approx(plain * larger, rel=1e-4)


def test_the_error_of_two_normal_variables_is_fishers():
    x = np.random.default_rng(1).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=20_000)
    got = found(x[:, :1] - x[:, 0].mean(), x[:, 1:] - x[:, 1].mean())
    assert float(got.error) == pytest.approx(20_000**-0.5, rel=0.03)
    assert float(got.excess) == 0


def test_the_error_of_a_table_is_that_of_phi():
    """The delta method for phi of a fourfold table by numerical derivatives of the multinomial's probabilities."""
    counts = np.array([[120, 30], [50, 100]])
    n = counts.sum()

    def phi(p):
        rows, columns = p.sum(axis=1), p.sum(axis=0)
        return (p[0, 0] * p[1, 1] - p[0, 1] * p[1, 0]) / np.sqrt(rows.prod() * columns.prod())

    p, slope = counts / n, np.zeros((2, 2))
    for at in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[at] = 1e-6
        slope[at] = (phi(p + step) - phi(p - step)) / 2e-6
    variance = ((p * slope**2).sum() - (p * slope).sum() ** 2) / n
    a, b = (np.repeat(codes, counts.ravel()) for codes in ([0, 0, 1, 1], [0, 1, 0, 1]))
    got = found((a - a.mean())[:, None], (b - b.mean())[:, None])
    assert float(got.value) == pytest.approx(phi(p), rel=1e-9)
    assert float(got.error) == pytest.approx(np.sqrt(variance) / (1 - phi(p) ** 2), rel=1e-4)


def test_no_noise_is_no_doubt():
    x = np.random.default_rng(0).normal(size=(100, 1))
    got = found(x, x)
    low, high = interval(*(figure.numpy() for figure in (got.value, got.error, got.excess)))
    assert 0.999 < low[0] <= high[0] <= 1


def test_larger_strengths_are_put_in_their_places():
    both = Strength(*(torch.tensor(x) for x in ([0.1, 0.5, 0.2], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0])))
    both.put_larger(
        torch.tensor([0, 1]), Strength(*(torch.tensor(x) for x in ([0.4, 0.4], [7.0, 8.0], [9.0, 9.0])))
    )
    assert both.error.tolist() == [7.0, 2.0, 3.0]
    assert both.excess.tolist() == [9.0, 0.0, 0.0]


SHARE = st.floats(0, 1)
ERROR = st.floats(1e-6, 10)


@given(SHARE, ERROR, st.floats(0, 3))
def test_an_interval_holds_its_strength_and_is_the_p_values_that_are_not_small(strength, error, excess):
    figures = tuple(np.array([x]) for x in (strength, error, excess))
    (low,), (high,) = interval(*figures)
    assert 0 <= low <= strength <= high <= 1
    if strength < np.tanh(1.95 * error + excess):
        assert low == 0
    if 1e-9 < low < strength < 1 - 1e-9:  # the low end is the hypothesis that is just refuted at 2.5%
        assert np.exp(log_p_at_most(low, *figures)[0]) == pytest.approx(0.025, rel=1e-3)
    weaker, stronger = (log_p_at_most(least, *figures)[0] for least in (0.1, 0.3))
    assert weaker <= stronger <= 0
    wider = interval(figures[0], 2 * figures[1], figures[2])
    assert wider[0][0] <= low <= high <= wider[1][0]


def test_what_is_not_known_stays_unknown():
    low, high = interval(np.array([0.3, np.nan]), np.array([np.nan, 0.1]), np.array([np.nan, 0.0]))
    assert np.isnan([*low, *high]).all()


def gaussian(rng, draws, n, rho):
    """Blocks of three normal features each, some of which correlate pair by pair."""
    u, v = rng.normal(size=(2, draws, n, 3))
    for k, r in enumerate(rho):
        v[..., k] = r * u[..., k] + np.sqrt(1 - r**2) * v[..., k]
    return u, v


def potts(rng, draws, n, rho):
    """Two variables of four levels that agree more often than by chance: three equal singular values."""
    x, y = rng.integers(0, 4, (2, draws, n))
    y = np.where(rng.random((draws, n)) < rho[0], x, y)
    return tuple(np.eye(4)[codes][..., 1:] for codes in (x, y))


@pytest.mark.parametrize(
    ("law", "rho", "n"),
    [
        (gaussian, [], 300), (gaussian, [0.1], 1000), (gaussian, [0.3], 300), (gaussian, [0.7], 300),
        (gaussian, [0.3, 0.28], 300), (gaussian, [0.3, 0.3, 0.3], 300), (potts, [0.3], 300), (potts, [0.3], 2000),
    ],
)  # fmt: skip
def test_intervals_hold_the_truth_and_the_truth_is_not_refuted(law, rho, n):
    """Also where several singular values are equal, or all are zero, and the largest is so by chance."""
    draws = 1500
    u, v = (torch.tensor(x) for x in law(np.random.default_rng(n), draws, n, rho))
    u, v = (x - x.mean(dim=1, keepdim=True) for x in (u, v))
    u, v = (
        torch.linalg.solve_triangular(torch.linalg.cholesky(x.mT @ x / n), x.mT, upper=False).mT
        for x in (u, v)
    )
    got = strength_of(
        u, v, u.mT @ v / n, torch.full((draws,), 6.0), torch.full((draws,), n - 1.0, dtype=torch.float64)
    )
    figures = tuple(x.numpy() for x in (got.value, got.error, got.excess))
    low, high = interval(*figures)
    truth = rho[0] if rho else 0.0
    margin = 3 * np.sqrt(0.05 * 0.95 / draws)
    assert np.mean((low <= truth) & (truth <= high)) > 0.95 - margin
    if rho:
        p = np.exp(log_p_at_most(truth, *figures))
        for rate in (0.05, 0.01):  # a fifth more for three equal ones, whose tail is a little heavier
            assert np.mean(p <= rate) < 1.2 * rate + 3 * np.sqrt(rate * (1 - rate) / draws)


def law_of(kind, rng, n, repeats):
    """Pairs x, y behind a common cause k, each of another column: (x, y, k, true strength given k)."""
    k = rng.normal(size=(n, repeats))
    x = 0.7 * k + rng.normal(size=k.shape)
    noise = rng.normal(size=k.shape)
    if kind == "continuous":
        return x, 0.7 * k + 0.3 * (x - 0.7 * k) + np.sqrt(1 - 0.09) * noise, k, 0.3
    k = rng.integers(0, 2, size=k.shape)
    x = (rng.random(k.shape) < 0.3 + 0.3 * k).astype(int)
    mean = x - 0.3 - 0.3 * k
    if kind == "discrete":
        y = (rng.random(k.shape) < 0.4 + 0.2 * k + 0.3 * mean).astype(int)
        return x, y, k, 0.3 * np.sqrt((0.3 * 0.7 + 0.6 * 0.4) / (0.4 * 0.6 + 0.6 * 0.4))
    y = 0.7 * k + 0.8 * mean + noise
    return x, y, k, None


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_pairs_at_the_least_strength_are_refuted_at_the_nominal_rate(test_of, kind):
    """With the regressions on a common cause, n = 300; where no formula has the strength, it is that of 200,000 rows."""
    n, repeats = 300, 400
    x, y, k, truth = law_of(kind, np.random.default_rng(5), n, repeats)
    if truth is None:
        large = np.concatenate(law_of(kind, np.random.default_rng(6), 200_000, 1)[:3], axis=1)
        truth = float(test_of(large).pairs(*torch.tensor([[0], [1], [2]])[:2], torch.tensor([[2]])).strength)
    assert 0.2 < truth < 0.5
    at = torch.arange(repeats)
    test = test_of(np.concatenate([x, y, k], axis=1))
    tests = test.pairs(at, at + repeats, (at + 2 * repeats)[:, None])
    figures = [getattr(tests, f"strength{name}").numpy() for name in ("", "_error", "_excess")]
    low, high = interval(*figures)
    held = np.mean((low <= truth) & (truth <= high))
    assert 0.95 - 3 * np.sqrt(0.05 * 0.95 / repeats) < held
    p = np.exp(np.maximum(tests.log_p.numpy(), log_p_at_most(truth, *figures)))
    for rate in (0.05, 0.01):
        assert np.mean(p <= rate) < rate + 3 * np.sqrt(rate * (1 - rate) / repeats)
