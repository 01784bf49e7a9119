"""What each family says about itself, checked on its own."""

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from gpmnet.simulate import simulate
from gpmnet.simulate.maps import MAPS
from gpmnet.simulate.null import MARGINALS
from gpmnet.simulate.sem import NOISES
from gpmnet.simulate.tables import random_table, weakest_parent

N = 20_000


def correlation_p(x, y):
    return stats.spearmanr(x, y).pvalue


@pytest.mark.parametrize("options", [{}, {"smooth": True}])
def test_butterfly_pairs_are_uncorrelated_but_dependent(options):
    values = simulate("butterfly", d=4, n=N, seed=1, **options).values
    p1, q1, p2, q2 = values.T
    assert correlation_p(p1, q1) > 1e-3
    assert correlation_p(np.abs(p1), np.abs(q1)) < 1e-100
    for one in (p1, q1):
        for other in (p2, q2):
            assert correlation_p(one, other) > 1e-3
            assert correlation_p(np.abs(one), np.abs(other)) > 1e-3
    w = q1 / (np.sqrt(p1**2 + 0.25) if options else p1)
    for column in (p1, p2, w):
        assert stats.kstest(column, "norm").pvalue > 1e-3


def test_butterfly_discrete_states(joint_mass):
    plain = joint_mass(simulate("butterfly", d=2, n=10, kind="discrete"))
    np.testing.assert_allclose(plain, np.array([[1, 1, 1], [0, 3, 0], [1, 1, 1]]) / 9)
    positive = joint_mass(simulate("butterfly", d=2, n=10, kind="discrete", positive=True))
    np.testing.assert_allclose(positive, 0.9 * plain + 0.1 / 9)


def test_butterfly_mixed_proportion_is_uniform():
    counts = [
        simulate("butterfly", d=10, n=1, seed=s, kind="mixed").kinds.count("discrete") // 2
        for s in range(400)
    ]
    assert stats.chisquare(np.bincount(counts, minlength=5)[1:5]).pvalue > 1e-3
    assert set(counts) == {1, 2, 3, 4}


@pytest.mark.parametrize("noise", NOISES)
def test_noise_has_unit_variance_and_its_density(noise):
    e = NOISES[noise].draw(N, np.random.default_rng(0))
    assert e.std() == pytest.approx(1.0, abs=0.03)
    grid = np.linspace(-12, 25, 200_001)
    density = np.exp(NOISES[noise].log_density(grid))
    below = np.cumsum(density) * (grid[1] - grid[0])
    assert below[-1] == pytest.approx(1.0, abs=1e-3)
    assert stats.kstest(e, lambda x: np.interp(x, grid, below)).pvalue > 1e-3
    assert (e > 0).all() == (noise != "gaussian")


def test_standardised_signals_have_twice_the_scale_of_the_noise():
    drawn = simulate("random", d=12, n=N, seed=3)
    parents = np.asarray(drawn.dag.sum(axis=0)).ravel()
    expected = np.where(parents > 0, np.sqrt(5), 1.0)
    np.testing.assert_allclose(drawn.values.std(axis=0), expected, rtol=0.1)
    naive = simulate("random", d=12, n=N, seed=3, naive=True)
    assert (naive.truth != drawn.truth).nnz == 0
    # raw inputs sit where the sigmoids are flat: some child is hardly more than its noise
    assert naive.values.std(axis=0)[parents > 0].min() < 1.1


def test_bins_are_flat_and_logits_are_not():
    """Without smooth, a discrete child knows only the bin of a continuous parent."""
    changed = {}
    for smooth in (False, True):
        drawn = simulate("random", d=12, n=300, seed=4, kind="mixed", smooth=smooth)
        arrows = zip(*drawn.dag.toarray().nonzero(), strict=True)
        i, j = next((i, j) for i, j in arrows if not drawn.levels[i] and drawn.levels[j])
        x, moved = drawn.values.copy(), drawn.values.copy()
        moved[:, i] += 1e-6
        y, moved_y = x.copy(), moved.copy()
        y[:, j] = moved_y[:, j] = (x[:, j] + 1) % drawn.levels[j]
        f = drawn.log_density
        changed[smooth] = np.abs((f(moved) - f(x)) - (f(moved_y) - f(y))) > 1e-9
    # only other discrete neighbors of the child could tell, and they do not look at this pair
    assert changed[False].mean() < 0.01
    assert changed[True].mean() > 0.9


def test_andrews_regressions():
    """In a cell of the discrete parents, least squares finds slopes, means and scales in their ranges."""
    found = 0
    for seed in range(6):
        drawn = simulate("random", d=8, n=N, seed=seed, kind="mixed")
        levels, dag = np.array(drawn.levels), drawn.dag.toarray()
        for node in np.flatnonzero(levels == 0):
            parents = np.flatnonzero(dag[:, node])
            discrete, continuous = parents[levels[parents] > 0], parents[levels[parents] == 0]
            rows = (drawn.values[:, discrete] == 0).all(axis=1)
            if rows.sum() < 1000:
                continue
            design = np.column_stack([np.ones(rows.sum()), drawn.values[np.ix_(rows, continuous)]])
            y = drawn.values[rows, node]
            coefficients, residual, *_ = np.linalg.lstsq(design, y, rcond=None)
            scale = np.sqrt(residual[0] / len(y))
            tolerance = 5 * scale * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
            assert abs(coefficients[0]) < 1 + tolerance[0]
            assert (np.abs(coefficients[1:]) > 0.05 - tolerance[1:]).all()
            assert (np.abs(coefficients[1:]) < 1.5 + tolerance[1:]).all()
            assert 0.9 < scale < 3.2
            assert stats.kstest((y - design @ coefficients) / scale, "norm").pvalue > 1e-4
            found += len(continuous)
    assert found > 5


@pytest.mark.parametrize("levels", [[], [2], [4, 3], [2, 2, 2, 2]])
def test_tables_have_no_idle_parent(levels):
    for seed in range(20):
        table = random_table(levels, 2, np.random.default_rng(seed))
        assert table.shape == (*levels, 2)
        np.testing.assert_allclose(table.sum(axis=-1), 1)
        assert weakest_parent(table) >= 0.05
        assert levels or table.min() >= 0.1


def test_weakest_parent_is_a_conditional_mutual_information():
    table = np.array([[[0.9, 0.1], [0.9, 0.1]], [[0.2, 0.8], [0.2, 0.8]]])  # the second parent is idle
    assert weakest_parent(table) == pytest.approx(0.0, abs=1e-12)
    joint = np.array([[0.45, 0.05], [0.1, 0.4]])
    expected = (joint * np.log(joint / joint.sum(0) / joint.sum(1)[:, None])).sum()
    assert weakest_parent(table[:, 0]) == pytest.approx(expected)


def test_cardinalities_and_types_are_uniform():
    drawn = simulate("random", d=600, n=1, seed=0, kind="mixed", max_clique=2)
    levels = np.array(drawn.levels)
    assert stats.binomtest(int((levels > 0).sum()), 600).pvalue > 1e-3
    assert stats.chisquare(np.bincount(levels[levels > 0])[2:]).pvalue > 1e-3
    assert set(levels) == {0, 2, 3, 4}


def test_chain_graphs():
    for name in ("gaussian", "nonparanormal", "copula-chain"):
        options = {} if name == "copula-chain" else {"structure": "chain"}
        truth = simulate(name, d=9, n=2, **options).truth
        assert set(nx.from_scipy_sparse_array(truth).edges) == {(i, i + 1) for i in range(8)}


def test_random_precision_is_well_conditioned_and_scales():
    drawn = simulate("gaussian", d=300, n=5, seed=1)
    eigenvalues = np.linalg.eigvalsh(drawn.precision.toarray())
    assert eigenvalues.min() > 0.1 - 1e-9
    partial = -drawn.precision.toarray()[drawn.truth.toarray()]
    assert np.abs(partial).min() > 0.02


@pytest.mark.parametrize("name", MAPS)
def test_monotone_maps(name):
    z = np.linspace(-4, 4, 801)
    x = MAPS[name].forward(z)
    assert (np.diff(x) > 0).all()
    np.testing.assert_allclose(MAPS[name].inverse(x), z, atol=1e-7)
    step = 1e-5
    slope = (MAPS[name].forward(z + step) - MAPS[name].forward(z - step)) / (2 * step)
    np.testing.assert_allclose(np.exp(MAPS[name].log_slope(z)), slope, rtol=1e-4)


def test_copula_chain_marginals_and_dependence():
    values = simulate("copula-chain", d=6, n=N, seed=1, rho=0.5).values
    laws = ["expon", "laplace", "uniform", "gumbel_r", "cauchy", "expon"]
    for column, law in zip(values.T, laws, strict=True):
        assert stats.kstest(column, law).pvalue > 1e-3
    scores = stats.norm.ppf(stats.rankdata(values, axis=0) / (N + 1))
    lag = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    np.testing.assert_allclose(np.corrcoef(scores.T), 0.5**lag, atol=5 / np.sqrt(N))


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
@pytest.mark.parametrize("d", [3, 5])
def test_parity_shows_only_in_all_variables_together(kind, d):
    drawn = simulate("parity", d=d, n=N, seed=1, kind=kind)
    assert drawn.truth.nnz == d * (d - 1)
    signs = 1 - 2 * drawn.values if kind == "discrete" else np.sign(drawn.values)
    assert signs.prod(axis=1).mean() == pytest.approx(0.8 if kind == "discrete" else 1.0, abs=0.02)
    for leave_out in range(d):
        assert abs(np.delete(signs, leave_out, axis=1).prod(axis=1).mean()) < 4 / np.sqrt(N)
    if kind == "continuous":
        assert all(stats.kstest(column, "norm").pvalue > 1e-3 for column in drawn.values.T)


def test_product_is_seen_in_variances_only():
    x1, x2, x3 = simulate("product", d=3, n=N, seed=1).values.T
    for a, b in ((x1, x2), (x1, x3), (x2, x3)):
        assert correlation_p(a, b) > 1e-3
    assert correlation_p(x1**2, x3**2) < 1e-50
    assert correlation_p(x1**2, x2**2) > 1e-3
    assert stats.kstest((x3 - x1 * x2) / 0.5, "norm").pvalue > 1e-3


def test_null_marginals():
    mixture = stats.norm(-3).cdf, stats.norm(3).cdf
    cdf = {
        "normal": stats.norm.cdf,
        "uniform": stats.uniform.cdf,
        "exponential": stats.expon.cdf,
        "lognormal": stats.lognorm(1.5).cdf,
        "student-t2": stats.t(2).cdf,
        "cauchy": stats.cauchy.cdf,
        "two humps": lambda x: (mixture[0](x) + mixture[1](x)) / 2,
    }
    for name, marginal in MARGINALS.items():
        x = marginal(np.random.default_rng(3), (N, 1)).ravel()
        if name in cdf:
            assert stats.kstest(x, cdf[name]).pvalue > 1e-3
        elif name == "half zeros":
            assert (x == 0).mean() == pytest.approx(0.5, abs=0.02)
            assert stats.kstest(x[x > 0], "expon").pvalue > 1e-3
        elif name == "rounded":
            assert (2 * x == np.round(2 * x)).all()
            assert len(set(x)) < 25
        else:
            assert stats.kstest(x + np.random.default_rng(4).random(N), _jittered_poisson).pvalue > 1e-3


def _jittered_poisson(x):
    whole = np.floor(x)
    return stats.poisson(3).cdf(whole - 1) + (x - whole) * stats.poisson(3).pmf(whole)


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_null_columns_are_independent(kind):
    """Rank correlations, also of the distances from the middle, are those of independent columns."""
    drawn = simulate("null", d=60, n=2000, seed=1, kind=kind)
    assert drawn.truth.nnz == 0
    assert sum(drawn.parameters["marginals"].values()) == 60
    ranks = stats.rankdata(drawn.values, axis=0)
    for shown in (ranks, np.abs(ranks - 1000.5)):
        keep = shown.std(axis=0) > 0
        z = np.corrcoef(shown[:, keep].T)[np.triu_indices(keep.sum(), 1)] * np.sqrt(2000)
        assert np.abs(z).max() < 4.8
        assert stats.kstest(z, "norm").pvalue > 1e-3
