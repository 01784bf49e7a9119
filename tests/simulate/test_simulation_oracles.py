"""Does the sample come from the declared density, and is the declared graph that of the density?"""

import numpy as np
import pytest
from scipy import special, stats

CANDIDATES = 24


def interaction(log_density, x, y, i, j):
    """Return L(xi,xj) + L(yi,yj) and L(yi,xj) + L(xi,yj), the other coordinates being those of x.

    The two are equal for all x and y if and only if i and j are independent given the rest.
    """
    corners = []
    for from_y in ((), (i, j), (i,), (j,)):
        z = x.copy()
        z[:, list(from_y)] = y[:, list(from_y)]
        corners.append(log_density(z))
    return corners[0] + corners[1], corners[2] + corners[3]


def test_the_graph_is_that_of_the_density(case_with_density):
    drawn = case_with_density(n=600)
    x, y = drawn.values[:300], drawn.values[300:]
    truth = drawn.truth.toarray()
    for i, j in zip(*np.triu_indices(len(truth), 1), strict=True):
        same, crossed = interaction(drawn.log_density, x, y, i, j)
        assert not np.isnan(same).any()
        differs = ~np.isclose(same, crossed, rtol=1e-9, atol=1e-8)
        if truth[i, j]:
            assert differs.mean() > 0.01, f"edge {i}-{j} makes no difference"
        else:
            assert not differs.any(), f"{i}-{j} is declared no edge"


def conditional_ranks(drawn, rows, rng):
    """Return u[r, i], the randomised rank of rows[r, i] under the declared law of column i given the others.

    A discrete coordinate is compared with all its levels. A continuous one is hidden among candidates c from
    a known density q: given the set of all of them, each is the real one with probability proportional to
    p(c) / q(c), so that the rank is exactly uniform if the rows come from p, without numerical integration.
    """
    m, d = rows.shape
    u = np.empty((m, d))
    for i, level in enumerate(drawn.levels):
        middle, spread = np.median(rows[:, i]), np.subtract(*np.percentile(rows[:, i], [75, 25]))
        if level:
            options = np.tile(np.arange(level, dtype=float), (m, 1))
            log_q = np.zeros_like(options)
        else:
            proposed = middle + spread * rng.standard_cauchy((m, CANDIDATES))
            options = np.column_stack([rows[:, i], proposed])
            log_q = stats.cauchy.logpdf(options, middle, spread)
        z = np.repeat(rows, options.shape[1], axis=0)
        z[:, i] = options.ravel()
        with np.errstate(invalid="ignore", over="ignore"):
            log_weight = drawn.log_density(z).reshape(options.shape) - log_q
        top = log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight - np.where(np.isfinite(top), top, 0.0))
        real = rows[:, [i]]
        below = (weight * (options < real)).sum(axis=1)
        ties = (weight * (options == real)).sum(axis=1)
        total = weight.sum(axis=1)
        # a row that is impossible under the law has no rank; it counts as the most extreme one
        u[:, i] = np.where(ties > 0, (below + rng.random(m) * ties) / np.where(total > 0, total, 1), 0.0)
    return u


def two_sample_p(ranks, high):
    """Return the asymptotic Kolmogorov-Smirnov p-value of each column, rows in `high` against the others."""
    steps = np.where(high, 1 / high.sum(), -1 / (~high).sum())
    gap = np.abs(steps[np.argsort(ranks, axis=0)].cumsum(axis=0)).max(axis=0)
    return special.kolmogorov(gap * np.sqrt(high.sum() * (~high).sum() / len(high)))


def smallest_p(drawn, rows, seed=0):
    """Return the least p-value, times their number, of uniformity of the ranks, overall and in halves."""
    u = conditional_ranks(drawn, rows, np.random.default_rng(seed))
    p_values = [stats.kstest(column, "uniform").pvalue for column in u.T]
    for j in range(rows.shape[1]):
        # ranks see a shift, their distances from 1/2 a change of scale
        ranks = np.delete(np.hstack([u, np.abs(u - 0.5)]), [j, j + rows.shape[1]], axis=1)
        centred = rows[:, j] - np.median(rows[:, j])
        for high in (centred > 0, np.abs(centred) > np.median(np.abs(centred))):
            if 20 < high.sum() < len(rows) - 20:
                p_values.extend(two_sample_p(ranks, high))
    return min(p_values) * len(p_values)


def test_two_sample_p_agrees_with_scipy():
    rng = np.random.default_rng(0)
    ranks, high = rng.random((300, 3)) ** [1.0, 1.2, 2.0], rng.random(300) < 0.4
    ranks[high] **= 1.2
    expected = [stats.ks_2samp(column[high], column[~high]).statistic for column in ranks.T]
    expected = special.kolmogorov(np.array(expected) * np.sqrt(high.sum() * (~high).sum() / 300))
    np.testing.assert_allclose(two_sample_p(ranks, high), expected)


def test_the_sample_follows_the_density(case_with_density):
    drawn = case_with_density(n=500, seed=5)
    assert smallest_p(drawn, drawn.values) > 1e-3


def test_the_test_above_notices_a_sample_without_the_dependence(dependent_case):
    drawn = dependent_case(n=500, seed=5)
    rng = np.random.default_rng(1)
    independent = np.column_stack([rng.permutation(column) for column in drawn.values.T])
    assert smallest_p(drawn, independent) < 1e-6


def conditional_information(joint, i, j):
    """Return I(x_i; x_j | rest) of a full mass table, in nats."""
    without_i, without_j = joint.sum(axis=i, keepdims=True), joint.sum(axis=j, keepdims=True)
    rest = joint.sum(axis=(i, j), keepdims=True)
    full = np.broadcast_to(joint, joint.shape)
    some = joint > 0
    ratio = full * rest / np.where(without_i * without_j > 0, without_i * without_j, 1)
    return (joint[some] * np.log(ratio[some])).sum()


@pytest.mark.parametrize("seed", range(3))
def test_enumeration_gives_the_graph(discrete_case, joint_mass, seed):
    drawn = discrete_case(seed=seed)
    joint = joint_mass(drawn)
    assert joint.shape == drawn.levels
    assert joint.sum() == pytest.approx(1.0, abs=1e-12)
    truth = drawn.truth.toarray()
    for i, j in zip(*np.triu_indices(len(truth), 1), strict=True):
        information = conditional_information(joint, i, j)
        assert information > 1e-4 if truth[i, j] else abs(information) < 1e-12


def test_enumeration_gives_the_frequencies(discrete_case, joint_mass):
    n = 20_000
    drawn = discrete_case(n=n, seed=2)
    expected = n * joint_mass(drawn).ravel()
    cells = np.ravel_multi_index(tuple(drawn.values.T.astype(int)), drawn.levels)
    observed = np.bincount(cells, minlength=expected.size).astype(float)
    assert observed[expected == 0].sum() == 0
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0
    assert stats.chisquare(observed[kept], expected[kept]).pvalue > 1e-3


def test_gaussian_precision_and_covariance(gaussian_case):
    n = 20_000
    drawn = gaussian_case(n=n, seed=4)
    precision = drawn.precision.toarray()
    off = ~np.eye(len(precision), dtype=bool)
    np.testing.assert_array_equal((precision != 0) & off, drawn.truth.toarray())
    covariance = np.linalg.inv(precision)
    error = np.cov(drawn.values.T) - covariance
    spread = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / n)
    assert np.abs(error / spread).max() < 4.5
    expected = stats.multivariate_normal(cov=covariance).logpdf(drawn.values[:50])
    np.testing.assert_allclose(drawn.log_density(drawn.values[:50]), expected, rtol=1e-10)
