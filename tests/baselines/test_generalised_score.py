import numpy as np
import pytest

from gpmnet.baselines import GesGs
from gpmnet.baselines.ges_gs import orientations
from gpmnet.causal.generalised_score import (
    GeneralisedScore,
    centred,
    feature_map,
    gaussian_kernel,
    median_distance,
)


def kernel_of(column):
    return gaussian_kernel(column, median_distance(column))


def dual_score(values, child, parents, folds, ridge=0.01, noise=0.01):
    """The same score in the authors' form: n x n kernel matrices only, no feature vectors.

    R S^-1 R' and det S are written out with the matrix inversion and determinant lemmas.
    """
    n = len(values)
    centre = np.eye(n) - 1 / n
    kx = centre @ kernel_of(values[:, child]) @ centre
    kp = np.ones((n, n))
    for parent in parents:
        kp = kp * kernel_of(values[:, parent])
    kp = centre @ kp @ centre
    total = 0.0
    for fold in range(folds):
        test = np.arange(fold * (n // folds), n if fold == folds - 1 else (fold + 1) * (n // folds))
        train = np.delete(np.arange(n), test)
        n1 = len(train)
        inverse = np.linalg.inv(kp[np.ix_(train, train)] + n1 * ridge * np.eye(n1))
        weight = n1 * ridge**2 / noise
        inner = np.eye(n1) + weight * inverse @ kx[np.ix_(train, train)] @ inverse
        smooth = kp[np.ix_(test, train)] @ inverse
        # Inner products of the test residuals with each other and with the training features.
        cross = kx[np.ix_(test, train)] - smooth @ kx[np.ix_(train, train)]
        own = kx[np.ix_(test, test)] - smooth @ kx[np.ix_(train, test)] - cross @ smooth.T
        middle = inverse @ np.linalg.inv(inner) @ inverse
        fit = np.trace(own - weight * cross @ middle @ cross.T) / noise
        total += len(test) * np.linalg.slogdet(inner)[1] / 2 + fit
    return -total / (2 * folds)


@pytest.fixture
def quadratic():
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(2, 120))
    return np.column_stack([x, x**2 + 0.3 * rng.normal(size=120), other])


def test_score_differences_are_those_of_the_dual_form(quadratic):
    """The two forms differ by the log-determinant of noise I only, the same constant for all parents."""
    gaps = [
        GeneralisedScore(quadratic, folds=4)(1, parents) - dual_score(quadratic, 1, parents, folds=4)
        for parents in ([], [0], [2], [0, 2])
    ]
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-6)


def test_a_true_parent_raises_the_score_and_a_stranger_does_not(quadratic):
    alone, cause, stranger = (GeneralisedScore(quadratic)(1, parents) for parents in ([], [0], [2]))
    assert cause > alone > stranger


def test_features_have_the_kernel_as_inner_products(quadratic):
    kernel = centred(kernel_of(quadratic[:, 0]))
    features = feature_map(kernel)
    assert features.shape[1] < 60
    np.testing.assert_allclose(features @ features.T, kernel, atol=1e-7)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-7)


def test_end_marks_of_causal_learn():
    """0 -> 1 and 1 - 2, in the library's own graph object."""
    pytest.importorskip("causallearn")
    from causallearn.graph.Edge import Edge
    from causallearn.graph.Endpoint import Endpoint
    from causallearn.graph.GeneralGraph import GeneralGraph
    from causallearn.graph.GraphNode import GraphNode

    nodes = [GraphNode(name) for name in "abc"]
    graph = GeneralGraph(nodes)
    graph.add_edge(Edge(nodes[0], nodes[1], Endpoint.TAIL, Endpoint.ARROW))
    graph.add_edge(Edge(nodes[1], nodes[2], Endpoint.TAIL, Endpoint.TAIL))
    directed, undirected = orientations(graph.graph)
    assert np.argwhere(directed).tolist() == [[0, 1]]
    assert np.argwhere(undirected).tolist() == [[1, 2], [2, 1]]


def test_gs_finds_butterfly_and_puts_the_library_back(butterfly):
    library = pytest.importorskip("causallearn.search.ScoreBased.GES")
    theirs = library.local_score_cv_general
    table, truth = butterfly(200, 0)
    adjacency, weights = GesGs(folds=5)._graph(table)
    assert np.array_equal(adjacency, truth)
    assert weights is None
    assert library.local_score_cv_general is theirs


def test_gs_marries_the_parents_of_a_nonlinear_collider(make_table):
    pytest.importorskip("causallearn")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 150))
    adjacency, _ = GesGs(folds=3)._graph(make_table(x, y, np.tanh(2 * x) + y**2 + 0.2 * rng.normal(size=150)))
    assert adjacency.sum() == 6
