"""The double-residual test against independent ways to the same number, and its p-values under the null."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from gpmnet.testing.p_values import cauchy_combination, log_chi2_sf

EMPTY = torch.full((1, 0), -1)


def one(test, first, second, given=()):
    sets = torch.tensor([list(given)], dtype=torch.int64).reshape(1, -1)
    return test.pairs(torch.tensor([first]), torch.tensor([second]), sets)


@pytest.mark.parametrize("df", [1, 4, 9, 40])
def test_chi_square_tail_in_logs(df):
    x = np.array([0.01, 1.0, df, 50.0, 500.0, 3000.0])
    found = log_chi2_sf(torch.tensor(x), df).numpy()
    # mpmath's upper incomplete gamma function, far beyond where doubles underflow
    import mpmath

    exact = [float(mpmath.log(mpmath.gammainc(df / 2, v / 2, mpmath.inf, regularized=True))) for v in x]
    np.testing.assert_allclose(found, exact, rtol=1e-3)


def test_cauchy_combination():
    p = np.array([[0.3, 0.02, 0.7], [1e-9, 0.5, 0.9], [0.999, 0.5, 0.6]])
    expected = 0.5 - np.arctan(np.tan((0.5 - np.minimum(p, 0.99)) * np.pi).mean(axis=1)) / np.pi
    np.testing.assert_allclose(cauchy_combination(torch.tensor(np.log(p))).exp(), expected, rtol=1e-6)
    far = cauchy_combination(torch.tensor([[-2000.0, -1.0], [-2000.0, -2000.0]], dtype=torch.float64))
    np.testing.assert_allclose(far, [-2000 + np.log(2), -2000], rtol=1e-9)
    gaps = torch.tensor([[np.log(0.02), np.nan], [np.nan, np.nan]])
    np.testing.assert_allclose(cauchy_combination(gaps), [np.log(0.02), 0.0], rtol=1e-6)


def test_two_binary_variables_give_the_table_test(test_of):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 500)
    b = (rng.random(500) < 0.35 + 0.2 * a).astype(int)
    found = one(test_of(np.column_stack([a, b])), 0, 1)
    table = np.histogram2d(a, b, 2)[0]
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert abs(float(found.log_p) - np.log(expected)) < 0.15 * abs(np.log(expected))
    phi = np.corrcoef(a, b)[0, 1]
    assert float(found.strength) == pytest.approx(phi, abs=1e-3)
    assert float(found.sign) == 1


def test_gaussian_data_give_the_partial_correlation(test_of):
    rng = np.random.default_rng(1)
    precision = np.array([[1.0, -0.3, -0.4], [-0.3, 1.0, 0.2], [-0.4, 0.2, 1.0]])
    x = rng.multivariate_normal(np.zeros(3), np.linalg.inv(precision), size=4000)
    test = test_of(x, interactions=False)
    sample = np.linalg.inv(np.cov(x.T))
    for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        found = one(test, i, j, [k])
        partial = -sample[i, j] / np.sqrt(sample[i, i] * sample[j, j])
        assert float(found.strength) == pytest.approx(abs(partial), abs=0.015)
        assert float(found.sign) == np.sign(partial)
        rows = 4000 - float(test.designs.regress(torch.tensor([[k]])).df) - 1  # what the set leaves
        t = partial * np.sqrt(rows / (1 - partial**2))
        classical = np.log(2) + stats.t.logsf(abs(t), rows)
        # The first feature is not quite linear and a third of the covariance is empirical, which a strong
        # effect inflates: that may cost up to 12% of the exponent.
        assert float(found.log_p) == pytest.approx(classical, rel=0.12)


N, REPEATS = 400, 300


def continuous_null(rng):
    k, m = rng.normal(size=(2, N, REPEATS))
    return [np.tanh(k * m) + rng.normal(size=k.shape), k**2 + rng.normal(size=k.shape), k, m]


def heteroscedastic_null(rng):
    k = rng.normal(size=(N, REPEATS))
    return [k * rng.normal(size=k.shape), k * rng.normal(size=k.shape), k]


def discrete_null(rng):
    k = rng.integers(0, 3, (N, REPEATS))
    a = rng.random(k.shape) < np.array([0.1, 0.5, 0.9])[k]
    b = (rng.random(k.shape)[..., None] > np.cumsum([[0.8, 0.1], [0.3, 0.3], [0.1, 0.2]], axis=1)[k]).sum(
        axis=-1
    )
    return [a.astype(int), b, k]


def mixed_null(rng):
    k = rng.normal(size=(N, REPEATS))
    return [
        (rng.random(k.shape) < 1 / (1 + np.exp(-2 * k))).astype(int),
        np.exp(k + rng.normal(size=k.shape)),
        k,
    ]


def sparse_null(rng):
    return [*rng.choice(4, (2, N, REPEATS), p=[0.85, 0.05, 0.05, 0.05]), rng.normal(size=(N, REPEATS))]


def null_p_values(test_of, draw, given, **options):
    """Return p-values of the first against the second variable in many independent tables, tested as one."""
    blocks = draw(np.random.default_rng(0))
    frame = pd.DataFrame(np.concatenate(blocks, axis=1)).add_prefix("x")
    kinds = {
        f"x{b * REPEATS + r}": "discrete" if block.dtype.kind == "i" else "continuous"
        for b, block in enumerate(blocks)
        for r in range(REPEATS)
    }
    test = test_of(frame, kinds, **options)
    at = torch.arange(REPEATS)
    sets = torch.stack([at + k * REPEATS for k in given], dim=1) if given else EMPTY.expand(REPEATS, 0)
    naive = test.rank(at, (at + REPEATS)[:, None], sets)[:, 0]
    return test.pairs(at, at + REPEATS, sets).log_p.exp().numpy(), naive.exp().numpy()


@pytest.mark.parametrize(
    ("draw", "given", "least"),
    [
        (continuous_null, [2, 3], 0.4),
        (heteroscedastic_null, [2], 0.4),
        (discrete_null, [2], 0.4),
        (mixed_null, [2], 0.4),
        (sparse_null, [], 0.1),  # with one row expected in a cell no test is sharp
        (sparse_null, [2], 0.1),
    ],
)
def test_p_values_are_honest_under_the_null(test_of, draw, given, least):
    p, _ = null_p_values(test_of, draw, given)
    for alpha in (0.01, 0.05, 0.2):
        assert np.mean(p <= alpha) <= alpha + 3.5 * np.sqrt(alpha * (1 - alpha) / len(p))
    assert np.mean(p <= 0.5) > least  # and not so cautious that they say nothing


def test_without_the_variance_given_the_set_the_test_would_be_wrong(test_of):
    """A pair that only shares a variance: homoscedastic p-values reject too often, ours do not."""
    p, naive = null_p_values(test_of, heteroscedastic_null, [2], interactions=False)
    assert np.mean(p <= 0.05) < 0.09 < 0.1 <= np.mean(naive <= 0.05) + 0.02


def test_parity_is_found_given_the_third(test_of):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 800))
    c = (a ^ b) ^ (rng.random(800) < 0.1)
    test = test_of(np.column_stack([a, b, c]))
    assert float(one(test, 0, 1).log_p) > np.log(0.01)
    assert float(one(test, 0, 1, [2]).log_p) < -50
    assert float(one(test, 0, 1, [2]).strength) > 0.5


def test_the_test_is_symmetric_and_ignores_the_order_of_the_set(test_of):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    x[:, 1] += x[:, 0] * x[:, 2]
    test = test_of(x)
    there, back = one(test, 0, 1, [2, 3]), one(test, 1, 0, [3, 2])
    for name in ("log_p", "strength", "sign"):
        torch.testing.assert_close(getattr(there, name), getattr(back, name), rtol=1e-6, atol=1e-8)


def test_what_the_set_determines_gives_no_evidence(test_of):
    rng = np.random.default_rng(0)
    k = rng.integers(0, 4, 300)
    frame = pd.DataFrame({"a": k % 2, "b": rng.normal(size=300) + k, "k": k})
    assert float(one(test_of(frame), 0, 1, [2]).log_p.exp()) > 0.05


def test_a_pair_does_not_depend_on_its_company(test_of):
    rng = np.random.default_rng(0)
    k = rng.integers(0, 2, 400)
    frame = pd.DataFrame(
        {"b1": rng.integers(0, 2, 400), "b2": rng.integers(0, 2, 400), "z": rng.normal(size=400), "k": k}
    )
    frame["w"] = rng.integers(0, 10, 400)
    test = test_of(frame)
    sets = torch.tensor([[3], [3], [3]])
    together = test.pairs(torch.tensor([0, 0, 2]), torch.tensor([1, 2, 4]), sets).log_p
    torch.testing.assert_close(together[:1], one(test, 0, 1, [3]).log_p, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(together[1:2], one(test, 0, 2, [3]).log_p, rtol=1e-9, atol=1e-12)


def test_ranks_do_not_depend_on_how_much_fits_at_once(test_of, monkeypatch):
    rng = np.random.default_rng(0)
    test = test_of(rng.normal(size=(100, 6)))
    nodes, sets = torch.tensor([0, 1, 2]), torch.tensor([[5], [5], [-1]])
    candidates = torch.tensor([[1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 3, -1]])
    expected = test.rank(nodes, candidates, sets)
    for most in (1, 2 * 100 * 3 * 3):
        monkeypatch.setattr("gpmnet.testing.double_residual.budget", lambda device, most=most: most)
        torch.testing.assert_close(test.rank(nodes, candidates, sets), expected)
