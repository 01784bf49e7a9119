"""Continuous children: forward selection against explicit regressions, the noise against simulated laws."""

import numpy as np
import pytest

from gpmnet.directed.basis import Basis, Prices
from gpmnet.directed.cells import Cells
from gpmnet.directed.forward import forward, worth
from gpmnet.directed.gate import linear_variables
from gpmnet.directed.location_scale import LocationScale, negentropy
from gpmnet.directed.moments import Moments, Within


def columns(rng, n, count):
    values = rng.normal(size=(n, count)) @ (np.eye(count) + 0.3 * rng.normal(size=(count, count)))
    values -= values.mean(axis=0)
    return values / values.std(axis=0)


def rest_of(y, x):
    """Return the mean square of what least squares leaves."""
    return np.mean((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2) if x.shape[1] else np.mean(y**2)


def test_forward_selection_is_that_of_explicit_regressions():
    rng = np.random.default_rng(0)
    n, values = 200, columns(rng, 200, 6)
    values[:, 0] += values[:, 2] - 0.5 * values[:, 4]
    moments = values.T @ values / n
    price = np.full(5, 3.0)
    found = forward(moments, price, n, 0.0)
    taken, gain = [], 0.0
    while True:
        now = rest_of(values[:, 0], values[:, [1 + c for c in taken]])
        after = {
            c: rest_of(values[:, 0], values[:, [1 + k for k in (*taken, c)]])
            for c in range(5)
            if c not in taken
        }
        best = min(after, key=after.get)
        step = -n / 2 * np.log(after[best] / now)
        if step <= 3.0:
            break
        taken.append(best)
        gain += step
    assert found.columns.tolist() == taken
    assert found.gain == pytest.approx(gain)
    assert found.price == 3.0 * len(taken)


def test_a_column_that_is_known_already_is_worth_nothing():
    assert worth(np.array([0.5]), np.array([1e-4]), 1.0, 100, 0.01) == 0


def continuous_score(values, bent=False, **prices):
    """Return the score of columns with one feature each, or with these and their squares and cubes."""
    n, d = values.shape
    blocks, used = [], []
    for v in range(d):
        z = (values[:, v] - values[:, v].mean()) / values[:, v].std()
        block = z[:, None] if not bent else np.column_stack([z, z**2, z**3])
        q, r = np.linalg.qr(block - block.mean(axis=0))
        blocks.append(len(np.concatenate([np.empty(0), *blocks])) + np.arange(block.shape[1]))
        used.append(q * np.sqrt(n) * np.sign(np.diag(r)))
    moments = Moments(np.column_stack([*used, np.zeros(n)]), tuple(blocks))
    cells = Cells([np.zeros(n, dtype=np.intp)] * d, [0] * d)
    return LocationScale(Basis(Within(moments, cells), np.zeros(d, dtype=bool), Prices(**prices)))


def test_a_linear_family_is_the_gaussian_likelihood():
    rng = np.random.default_rng(1)
    n = 400
    values = columns(rng, n, 4)
    values[:, 0] += values[:, 1] + values[:, 2]
    score = continuous_score(values, noise=0.0, linear=0.0)
    z = (values - values.mean(axis=0)) / values.std(axis=0)
    expected = -(n - 1) / 2 * np.log(rest_of(z[:, 0], z[:, 1:]))
    assert score.fit(0, (1, 2, 3)).score == pytest.approx(expected, rel=1e-9)
    more = score.gains(score.fit(0, (1,)), np.array([2, 3]))
    after = [score.fit(0, (1, other)).score - score.fit(0, (1,)).score for other in (2, 3)]
    assert more == pytest.approx(after)


def test_noise_is_worth_its_likelihood():
    """Of y = (1 + x^2 / 2)^(1/2) e the scale gains what the true density gains, and the shape of e nothing."""
    rng = np.random.default_rng(2)
    n = 20000
    x = rng.normal(size=n)
    variance = 1 + 0.5 * x**2
    y = np.sqrt(variance) * rng.normal(size=n)
    score = continuous_score(np.column_stack([y, x]), bent=True).fit(0, (1,))
    z = y / y.std()
    truth = np.sum(-0.5 * np.log(variance / y.var()) - 0.5 * z**2 * (y.var() / variance - 1))
    assert len(score.mean.columns) == 0
    assert score.score == pytest.approx(truth, rel=0.15)


@pytest.mark.parametrize(
    ("law", "truth"), [("laplace", 0.0724), ("uniform", 0.1765), ("exponential", 0.4189)]
)
def test_negentropy_is_about_that_of_known_laws(law, truth):
    """Within a factor of three, and hardly above: an approximation from two moments."""
    rng = np.random.default_rng(3)
    values = {"laplace": rng.laplace, "uniform": rng.random, "exponential": rng.exponential}[law](
        size=200_000
    )
    assert truth / 3 < negentropy(values) < 1.3 * truth


def test_the_gate_takes_gaussian_columns_for_linear_and_bent_ones_not():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 2000))
    gaussian = np.column_stack([a, a + b, a - b])
    assert linear_variables(gaussian).all()
    bent = np.column_stack([*gaussian.T, a * rng.normal(size=2000), rng.normal(size=2000)])
    assert linear_variables(bent).tolist()[3:] == [False, True]
