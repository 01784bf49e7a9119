"""Surfaces of edges against the Gaussian density, the log odds ratio, and Omega."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from gpmnet.columns.functions import GRID
from gpmnet.nodes.models import NodeFitter, NodeOptions, edge_omegas
from gpmnet.nodes.surfaces import SurfaceCollector

RNG = np.random.default_rng(0)


def surfaces(features, neighbors, pairs):
    collector = SurfaceCollector(np.array(pairs))
    edge_omegas(NodeFitter(features, NodeOptions()), neighbors, collector)
    return collector.surfaces()


def one(features, neighbors, pair=(0, 1)):
    return surfaces(features, neighbors, [pair])[0]


def test_the_grid():
    np.testing.assert_allclose(GRID, norm.ppf((np.arange(21) + 0.5) / 21))


def test_gaussian_shapes_are_products_of_scores(features_of):
    precision = np.array([[1.0, -0.4, 0.2], [-0.4, 1.2, 0.3], [0.2, 0.3, 1.0]])
    covariance = np.linalg.inv(precision)
    scale = np.sqrt(np.diag(covariance))
    f = features_of(RNG.multivariate_normal(np.zeros(3), covariance, size=20_000))
    pairs = np.array([[0, 1], [1, 2]])
    for (i, j), shape in zip(pairs, surfaces(f, [[1, 2], [0, 2], [0, 1]], pairs), strict=True):
        expected = -precision[i, j] * scale[i] * scale[j] * np.outer(GRID, GRID)
        assert shape.dtype == np.float32
        np.testing.assert_allclose(shape, expected, atol=0.06 * np.abs(expected).max())


def test_binary_shapes_are_log_odds_ratios(features_of):
    cells = RNG.choice(4, 20_000, p=[0.4, 0.1, 0.15, 0.35])
    a, b = cells // 2, cells % 2
    shape = one(features_of(pd.DataFrame({"a": a, "b": b})), [[1], [0]])
    counts = np.bincount(cells, minlength=4).reshape(2, 2)
    ratio = np.log(counts[0, 0] * counts[1, 1] / counts[0, 1] / counts[1, 0])
    expected = ratio * np.outer([-a.mean(), 1 - a.mean()], [-b.mean(), 1 - b.mean()])
    np.testing.assert_allclose(shape, expected, rtol=0.03)
    np.testing.assert_allclose([1 - a.mean(), a.mean()] @ shape, 0, atol=1e-6)


def test_mixed_shapes_have_the_slope_of_the_density(features_of):
    """b | a ~ N(a, 1): log density a b + ..., so the difference between levels is a line of slope sd(b) in z."""
    a = RNG.integers(0, 2, 20_000)
    b = a + RNG.normal(size=20_000)
    shape = one(features_of(pd.DataFrame({"a": a, "b": b})), [[1], [0]])
    assert shape.shape == (2, 21)
    slope = np.polyfit(GRID[3:-3], (shape[1] - shape[0])[3:-3], 1)[0]
    assert slope == pytest.approx(b.std(), rel=0.1)


def test_a_turned_pair_has_the_turned_shape(features_of):
    x = RNG.normal(size=(500, 3))
    x[:, 1] += np.abs(x[:, 0]) + x[:, 2]
    f, around = features_of(x), [[1], [0, 2], [1]]
    np.testing.assert_allclose(one(f, around), one(f, around, (1, 0)).T)


def test_mixed_differences_of_a_shape_are_about_omega(features_of):
    x = RNG.normal(size=(10_000, 2))
    x[:, 1] += np.tanh(2 * x[:, 0])
    f, around = features_of(x), [[1], [0]]
    omega = edge_omegas(NodeFitter(f, NodeOptions()), around).of(0, 1)
    step = np.diff(GRID)
    slopes = np.diff(np.diff(one(f, around), axis=0), axis=1) / np.outer(step, step)
    # over the rows, which are where the joint density of the two is: weight the cells by their counts
    counts = np.histogram2d(*f.scores[:, :2].numpy().T, bins=[GRID, GRID])[0]
    assert np.sqrt((counts * slopes**2).sum() / counts.sum()) == pytest.approx(omega, rel=0.15)
