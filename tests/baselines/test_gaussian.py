import numpy as np
import pytest
from scipy import stats

from gpmnet.baselines import Glasso, GlassoEbic, Nonparanormal, NonparanormalEbic, PartialCorrelations
from gpmnet.baselines.glasso import constrained_mle, cv_precision, ebic_precision, partial_correlations, solve
from gpmnet.baselines.nonparanormal import tied_normal_scores
from gpmnet.baselines.partial_corr import partial_correlation_tests


@pytest.fixture
def chain():
    """A Gaussian chain 0 - 1 - ... - 5 with partial correlations of 0.45."""
    precision = np.eye(6) - 0.45 * (np.eye(6, k=1) + np.eye(6, k=-1))
    truth = precision != 0
    np.fill_diagonal(truth, False)
    data = np.random.default_rng(0).multivariate_normal(np.zeros(6), np.linalg.inv(precision), size=2000)
    return data, truth, precision


def test_partial_correlation_tests_are_those_of_regression(chain):
    """The t-test of x_j in the least-squares regression of x_i on all others, by hand."""
    data = chain[0][:40]
    partial, p_values = partial_correlation_tests(data)
    n, d = data.shape
    for i in range(d):
        others = [k for k in range(d) if k != i]
        design = np.column_stack([np.ones(n), data[:, others]])
        beta, residual, _, _ = np.linalg.lstsq(design, data[:, i])
        sigma2 = residual[0] / (n - d)
        t = beta / np.sqrt(sigma2 * np.diag(np.linalg.inv(design.T @ design)))
        expected = 2 * stats.t.sf(np.abs(t[1:]), n - d)
        np.testing.assert_allclose(p_values[i, others], expected, rtol=1e-8)
        assert np.array_equal(np.sign(partial[i, others]), np.sign(t[1:]))


def test_two_variables_are_tested_as_pearson_does():
    data = np.random.default_rng(1).normal(size=(30, 2))
    expected = stats.pearsonr(data[:, 0], data[:, 1])
    partial, p_values = partial_correlation_tests(data)
    assert partial[0, 1] == pytest.approx(expected.statistic)
    assert p_values[0, 1] == pytest.approx(expected.pvalue)


def test_partial_correlations_find_the_chain_and_control_false_discoveries(chain, make_table):
    data, truth, _ = chain
    adjacency, weights = PartialCorrelations(fdr=0.001)._graph(make_table(*data.T))
    assert np.array_equal(adjacency, truth)
    assert weights[truth] == pytest.approx(0.45, abs=0.06)
    noise = np.random.default_rng(2).normal(size=(200, 30))
    assert PartialCorrelations(fdr=0.05)._graph(make_table(*noise.T))[0].sum() <= 2


def test_columns_that_are_functions_of_others_are_an_error(make_table):
    x = np.random.default_rng(0).normal(size=(100, 2))
    with pytest.raises(RuntimeError, match="singular"):
        PartialCorrelations()._graph(make_table(*x.T, x[:, 0] + x[:, 1]))


def test_partial_correlations_of_the_true_precision(chain):
    _, truth, precision = chain
    np.testing.assert_allclose(partial_correlations(precision), np.where(truth, 0.45, 0.0), atol=1e-12)


@pytest.mark.parametrize("method", [GlassoEbic(), NonparanormalEbic()], ids=lambda m: m.name)
def test_ebic_recovers_the_chain_exactly(method, chain, make_table):
    data, truth, _ = chain
    adjacency, weights = method._graph(make_table(*data.T))
    assert np.array_equal(adjacency, truth)
    assert np.array_equal(weights > 0, truth)


@pytest.mark.parametrize("method", [Glasso(), Nonparanormal()], ids=lambda m: m.name)
def test_cross_validation_keeps_the_chain_and_ranks_it_first(method, chain, make_table):
    data, truth, _ = chain
    adjacency, weights = method._graph(make_table(*data.T))
    assert adjacency[truth].all()
    assert weights[truth].min() > weights[~truth].max()


def test_the_solution_is_optimal(chain):
    """Stationarity of log det K - tr(S K) - penalty |K|_1 off the diagonal (its gradient is K^-1 - S)."""
    covariance = np.corrcoef(chain[0][:300].T)
    precision = solve(covariance, 0.1, 500)
    tolerance = 5e-3  # the solver stops at a small dual gap, not at a small gradient
    gradient = np.linalg.inv(precision) - covariance
    off = ~np.eye(6, dtype=bool)
    active = off & (np.abs(precision) > 1e-10)
    assert active.sum() < off.sum()
    np.testing.assert_allclose(gradient[active], 0.1 * np.sign(precision[active]), atol=tolerance)
    assert np.abs(gradient[off]).max() < 0.1 + tolerance


@pytest.mark.parametrize("seed", range(5))
def test_the_maximum_likelihood_of_a_graph_has_its_zeros_and_matches_the_covariance_elsewhere(seed, chain):
    covariance = np.corrcoef(chain[0][:50].T)
    upper = np.triu(np.random.default_rng(seed).random((6, 6)) < 0.4, 1)
    support = upper | upper.T | np.eye(6, dtype=bool)
    precision = constrained_mle(covariance, support)
    assert not precision[~support].any()
    assert (~support).any()
    np.testing.assert_allclose(np.linalg.inv(precision)[support], covariance[support], atol=1e-6)


def test_ebic_is_the_minimum_over_the_path_and_gamma_makes_it_sparser(chain):
    data = (chain[0] - chain[0].mean(axis=0)) / chain[0].std(axis=0)
    data = data[:150]
    edges = [
        np.count_nonzero(np.triu(ebic_precision(data, gamma, 200), 1)) for gamma in (0.0, 0.5, 5.0, 50.0)
    ]
    assert edges == sorted(edges, reverse=True)
    assert edges[0] > edges[-1] == 0


def test_the_cross_validated_penalty_is_that_of_scikit_learn(chain):
    from sklearn.covariance import GraphicalLassoCV

    data = (chain[0][:200] - chain[0][:200].mean(axis=0)) / chain[0][:200].std(axis=0)
    expected = GraphicalLassoCV(max_iter=200).fit(data).precision_
    np.testing.assert_allclose(cv_precision(data, 200), expected, atol=1e-3)


def test_a_solver_that_gives_up_says_so(chain):
    with pytest.raises(RuntimeError, match=r"did not converge at penalty 0\.001 in 1 iterations"):
        solve(np.corrcoef(chain[0].T), 0.001, 1)


@pytest.mark.parametrize("method", [Nonparanormal(), NonparanormalEbic()], ids=lambda m: m.name)
def test_npn_does_not_change_under_increasing_maps(method, chain, make_table):
    data = chain[0][:300]
    maps = [np.exp, np.cbrt, np.arctan, lambda x: x**3, lambda x: 5 * x - 2, lambda x: np.expm1(2 * x)]
    mapped = [f(column) for f, column in zip(maps, data.T, strict=True)]
    _, plain = method._graph(make_table(*data.T))
    _, bent = method._graph(make_table(*mapped))
    assert plain.any()
    np.testing.assert_array_equal(plain, bent)


def test_glasso_does_change_under_increasing_maps(chain, make_table):
    data = chain[0][:300]
    assert not np.allclose(
        Glasso()._graph(make_table(*data.T))[1], Glasso()._graph(make_table(*np.exp(2 * data.T)))[1]
    )


def test_tied_normal_scores_keep_ties_and_have_unit_variance():
    codes = np.random.default_rng(0).integers(0, 3, size=(100, 1)).astype(float)
    scores = tied_normal_scores(codes)
    assert len(np.unique(scores)) == 3
    assert np.all(np.diff(np.unique(scores[np.argsort(codes[:, 0])])) > 0)
    assert scores.std() == pytest.approx(1.0)
    assert scores.mean() == pytest.approx(0.0, abs=1e-12)
