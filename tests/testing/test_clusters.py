"""Tests whose variances are those of sums over clusters: against plain formulas, under the null, and with an effect."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from gpmnet.columns.features import build_features
from gpmnet.columns.functions import feature_functions
from gpmnet.table import load_table
from gpmnet.testing.base import BoundTest
from gpmnet.testing.clusters import Clustered, Clusters, _distances
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual


def bound(table, code=None):
    encoded = load_table(table).encode()
    features = build_features(encoded, feature_functions(3), "cpu", torch.float64)
    clusters = None if code is None else Clusters.of(features, np.asarray(code)[encoded.rows], encoded.rows)
    return BoundTest(DoubleResidual(), Designs(features, DesignOptions(), clusters=clusters).tabulated())


def p_values(table, code=None, given=()):
    test = bound(table, code)
    a, b = torch.triu_indices(table.shape[1] - len(given), table.shape[1] - len(given), 1)
    sets = torch.tensor([list(given)] * len(a), dtype=torch.int64).reshape(len(a), len(given))
    return test.pairs(a, b, sets).log_p.exp().numpy()


def series(rng, n, d, memory):
    x = np.empty((n, d))
    x[0] = rng.normal(size=d)
    for row in range(1, n):
        x[row] = memory * x[row - 1] + np.sqrt(1 - memory**2) * rng.normal(size=d)
    return x


def copies(rng, n, d):
    return np.repeat(rng.normal(size=(n // 2, d)), 2, axis=0)


def visits(rng, n, d):
    return np.repeat(rng.normal(size=(n // 10, d)), 10, axis=0) + rng.normal(size=(n, d))


@pytest.mark.parametrize("sizes", [[1, 1, 1], [2, 2], [5, 1, 3, 3], [40, 7], [100, 100]])
def test_every_pair_of_rows_of_a_cluster_has_its_weight(sizes):
    lags, weight = _distances(np.array(sizes))
    n = sum(sizes)
    assert weight.sum() * n == pytest.approx(sum(m * (m - 1) for m in sizes))
    if max(sizes) <= 17:  # every distance is there
        pairs = [2 * sum(max(m - lag, 0) for m in sizes) / n for lag in lags]
        np.testing.assert_allclose(weight, pairs)


def test_the_effect_of_clusters_is_that_of_all_their_pairs_of_rows():
    """By a loop over all pairs of rows, of which those that are equally far apart share one correlation."""
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(40), 5)
    x = np.repeat(rng.normal(size=(40, 2)), 5, axis=0) + rng.normal(size=(200, 2))
    test = bound(x, code)
    clusters, features = test.designs.clusters, test.designs.features
    order = np.argsort(load_table(x).encode().rows)
    phi = features.phi.numpy()[order]  # in the order of the table
    a, b = int(features.start[0]), int(features.start[1])
    expected = 1.0
    for far in range(1, 5):
        pairs = [(r, r + far) for r in range(200) if r + far < 200 and code[r] == code[r + far]]
        one, two = np.array(pairs).T
        alike = [np.mean(phi[one, k] * phi[two, k]) / np.mean(phi[:, k] ** 2) for k in (a, b)]
        expected += 2 * len(pairs) / 200 * alike[0] * alike[1]
    found = clusters.effect(torch.tensor([[a]]), torch.tensor([[b]]))
    assert float(found[0, 0, 0]) == pytest.approx(expected)


def test_one_product_has_the_clustered_t_test():
    """Of a single product whose design effect is above one it is the squared t-value of cluster sums, by an F."""
    rng = np.random.default_rng(1)
    n, count = 400, 40
    code = np.repeat(np.arange(count), n // count)
    product = np.repeat(rng.normal(size=count), n // count) + 0.5 * rng.normal(size=n) + 0.1
    none = torch.zeros((2, 0), dtype=torch.float64)
    clusters = Clusters(torch.as_tensor(code), count, none, torch.zeros(0, dtype=torch.float64))
    rows = Clustered(clusters, torch.ones((1, 1, 1), dtype=torch.float64))
    variance = torch.tensor([[[product.var()]]])
    one = torch.ones(1, dtype=torch.float64)
    value = torch.as_tensor(product)[None, :, None]
    log_p = rows.log_p(value, variance, one, one, 1 / 3)
    sums = pd.Series(product - product.mean()).groupby(code).sum().to_numpy()
    t = product.mean() / np.sqrt(count / (count - 1) * np.sum(sums**2)) * n
    assert float(log_p.exp()) == pytest.approx(stats.f.sf(t**2, 1, count - 1), rel=0.02)


@pytest.mark.parametrize(
    ("draw", "code"),
    [
        (copies, np.arange(1000) // 2),
        (lambda rng, n, d: series(rng, n, d, 0.9), np.arange(1000) // 47),
        (visits, np.arange(1000) // 10),
    ],
    ids=["copies", "series", "visits"],
)
def test_null_pairs_are_rejected_as_often_as_they_should(draw, code):
    """Of 6 draws with 28 pairs each; without clusters a quarter or more are rejected."""
    found, naive = [], []
    for seed in range(6):
        x = draw(np.random.default_rng(seed), 1000, 8)
        found.append(p_values(x, code))
        naive.append(p_values(x))
    assert np.mean(np.array(naive) < 0.05) > 0.2
    assert 0.005 < np.mean(np.array(found) < 0.05) < 0.09
    assert 0.3 < np.median(found) < 0.75


@pytest.mark.parametrize("sizes", [[10] * 30, [5, 1, 3, 3], [500] + [10] * 50])
def test_clusters_count_as_so_many_of_one_size(sizes):
    code = torch.as_tensor(np.repeat(np.arange(len(sizes)), sizes))
    clusters = Clusters(code, len(sizes), torch.zeros((1, 0)), torch.zeros(0))
    assert clusters.equal == pytest.approx(sum(sizes) ** 2 / sum(m**2 for m in sizes))
    assert clusters.equal <= len(sizes) + 1e-9


def test_one_large_cluster_does_not_make_tests_sure():
    """Of 6 draws with 28 pairs each, half of the rows in one cluster; by the number of clusters most were rejected."""
    sizes, found = [500] + [10] * 50, []
    code = np.repeat(np.arange(51), sizes)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = 0.95 * rng.normal(size=(51, 8))[code] + 0.3 * rng.normal(size=(1000, 8))
        found.append(p_values(x, code))
    assert np.mean(np.array(found) < 0.05) < 0.09


def test_given_a_set_and_of_levels_too():
    letters = np.array(list("abcd"))
    rejected = []
    for seed in range(4):
        x = copies(np.random.default_rng(seed), 1000, 7)
        table = pd.DataFrame(x)
        rejected.append(p_values(table, np.arange(1000) // 2, given=(5, 6)))
        coded = pd.DataFrame({f"v{k}": letters[np.digitize(x[:, k], [-1, 0, 1.5])] for k in range(7)})
        rejected.append(p_values(coded, np.arange(1000) // 2, given=(5, 6)))
    assert np.mean(np.concatenate(rejected) < 0.05) < 0.09


def test_the_variance_of_a_mean_over_few_clusters_has_the_interval_of_students_t():
    """The standard error of a mean of cluster means, equal in size, and its 95% interval."""
    rng = np.random.default_rng(2)
    code = np.repeat(np.arange(12), 5)
    value = 3 * rng.normal(size=12)[code] + rng.normal(size=60)
    value -= value.mean()
    clusters = Clusters(torch.as_tensor(code), 12, torch.zeros((1, 0)), torch.zeros(0))
    ratio = float(clusters.ratio(torch.as_tensor(value)[None]))
    means = value.reshape(12, 5).mean(axis=1)
    half_width = stats.t.ppf(0.975, 11) * means.std(ddof=1) / np.sqrt(12)
    assert stats.norm.ppf(0.975) * np.sqrt(ratio * np.mean(value**2) / 60) == pytest.approx(half_width)


def test_copies_say_as_much_as_their_originals():
    """The p-values of copied rows in clusters are those of the rows without copies, up to how they are computed."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(500, 6))
    x[:, 1:] += 0.15 * x[:, :1]
    once, twice = p_values(x), p_values(np.repeat(x, 2, axis=0), np.arange(1000) // 2)
    assert np.corrcoef(np.log(once), np.log(twice))[0, 1] > 0.97
    assert np.abs(np.log(once) - np.log(twice)).mean() < 0.35


def test_clusters_of_single_rows_change_little():
    x = np.random.default_rng(5).normal(size=(800, 6))
    x[:, 1] += 0.2 * x[:, 0]
    plain, single = p_values(x), p_values(x, np.arange(800))
    np.testing.assert_allclose(np.log(single), np.log(plain), rtol=0.15, atol=0.1)


def test_the_standard_error_of_a_strength_knows_of_clusters():
    """Copied rows have the standard error of the rows without copies."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(500, 2))
    x[:, 1] += 0.5 * x[:, 0]
    pair = torch.tensor([0]), torch.tensor([1]), torch.empty((1, 0), dtype=torch.int64)
    once = bound(x).pairs(*pair)
    twice = bound(np.repeat(x, 2, axis=0), np.arange(1000) // 2).pairs(*pair)
    assert float(twice.strength_error) == pytest.approx(float(once.strength_error), rel=0.05)
    assert float(twice.strength) == pytest.approx(float(once.strength), rel=0.02)
