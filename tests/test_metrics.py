"""Metrics against brute force, scikit-learn and networkx."""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score

from gpmnet import metrics
from gpmnet.errors import InputError


def symmetric(d, entries):
    array = np.zeros((d, d))
    array[np.triu_indices(d, 1)] = entries
    return array + array.T


def graphs(*entries):
    """Return a strategy of several symmetric arrays of one size, one per entry strategy."""

    def of_size(d):
        pairs = d * (d - 1) // 2
        lists = [st.lists(e, min_size=pairs, max_size=pairs) for e in entries]
        return st.tuples(*[listed.map(lambda values: symmetric(d, values)) for listed in lists])

    return st.integers(1, 7).flatmap(of_size)


two_graphs = graphs(st.booleans(), st.booleans())
# few distinct values, so that ties and zeros are common
graph_and_weights = graphs(st.booleans(), st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 2.0, 3.5]))


def upper(array):
    return array[np.triu_indices(len(array), 1)]


@settings(max_examples=80, deadline=None)
@given(two_graphs)
def test_counts_agree_with_brute_force_and_scikit_learn(pair):
    truth, estimate = pair
    t, e = upper(truth) != 0, upper(estimate) != 0
    measured = metrics.evaluate(truth, estimate)
    first, second = nx.from_numpy_array(truth), nx.from_numpy_array(estimate)
    assert measured["hamming"] == nx.symmetric_difference(first, second).number_of_edges()
    assert measured["hamming"] == metrics.hamming(truth, estimate) == (t != e).sum()
    assert measured["empty_hamming"] == measured["true_edges"] == t.sum()
    assert measured["empty_hamming"] == metrics.hamming(truth, np.zeros_like(truth))
    assert measured["edges"] == second.number_of_edges()
    if t.size:
        assert measured["precision"] == precision_score(t, e, zero_division=1.0)
        assert measured["recall"] == recall_score(t, e, zero_division=1.0)
        assert measured["f1"] == pytest.approx(f1_score(t, e, zero_division=1.0))
    assert measured["false_discovery_rate"] == pytest.approx(1 - measured["precision"])
    for name in ("precision", "recall", "f1", "false_discovery_rate"):
        assert getattr(metrics, name)(truth, estimate) == measured[name]


@settings(max_examples=60, deadline=None)
@given(two_graphs, st.sampled_from(["csr", "csc", "coo", "lil"]), st.randoms(use_true_random=False))
def test_sparse_dense_and_relabelled_graphs_measure_the_same(pair, form, random):
    truth, estimate = pair
    measured = metrics.evaluate(truth, estimate, weights=estimate)
    stored = [sparse.coo_array(array).asformat(form) for array in pair]
    order = list(range(len(truth)))
    random.shuffle(order)
    relabelled = [array[np.ix_(order, order)] for array in pair]
    for first, second in (
        stored,
        relabelled,
        (truth.astype(bool), stored[1]),
        (truth, sparse.csr_matrix(estimate)),
    ):
        again = metrics.evaluate(first, second, weights=second)
        assert again.keys() == measured.keys()
        for name, value in measured.items():
            assert again[name] == value or (math.isnan(value) and math.isnan(again[name]))


@settings(max_examples=60, deadline=None)
@given(graph_and_weights)
def test_average_precision_agrees_with_scikit_learn(pair):
    truth, weights = pair
    measured = metrics.average_precision(truth, weights)
    assert metrics.average_precision(sparse.csr_array(truth), sparse.csr_array(weights)) == pytest.approx(
        measured, nan_ok=True
    )
    if not truth.any():
        assert math.isnan(measured)
    else:
        assert measured == pytest.approx(average_precision_score(upper(truth) != 0, upper(weights)))


@settings(max_examples=50, deadline=None)
@given(two_graphs)
def test_distance(pair):
    truth, estimate = pair
    assert metrics.hamming(truth, estimate) == metrics.hamming(estimate, truth)
    assert metrics.precision(truth, estimate) == metrics.recall(estimate, truth)
    assert metrics.hamming(truth, truth) == 0
    assert metrics.f1(truth, truth) == 1.0
    if truth.any():
        assert metrics.average_precision(truth, truth) == 1.0


def test_conventions_for_empty_graphs():
    empty, one = np.zeros((3, 3)), symmetric(3, [1, 0, 0])
    nothing_found = metrics.evaluate(one, empty, weights=empty)
    assert nothing_found["precision"] == 1.0
    assert nothing_found["false_discovery_rate"] == 0.0
    assert nothing_found["recall"] == nothing_found["f1"] == 0.0
    assert nothing_found["average_precision"] == pytest.approx(1 / 3)  # all pairs tie
    nothing_to_find = metrics.evaluate(empty, one, weights=one)
    assert nothing_to_find["precision"] == nothing_to_find["f1"] == 0.0
    assert nothing_to_find["recall"] == nothing_to_find["false_discovery_rate"] == 1.0
    assert math.isnan(nothing_to_find["average_precision"])
    both = metrics.evaluate(empty, empty)
    assert both["hamming"] == 0
    assert both["precision"] == both["recall"] == both["f1"] == 1.0
    assert "average_precision" not in both


def edges(graph):
    return metrics.evaluate(graph, graph)["edges"]


def test_diagonal_and_stored_zeros_do_not_count():
    truth = symmetric(3, [1, 0, 0]) + np.eye(3)
    assert edges(truth) == 1
    zeros = sparse.coo_array((np.zeros(2), ([0, 1], [1, 0])), shape=(3, 3))
    assert edges(zeros) == 0
    assert metrics.average_precision(truth, zeros) == pytest.approx(1 / 3)


def test_duplicate_entries_are_one_edge_and_inputs_stay_as_they_are():
    twice = sparse.coo_array((np.ones(4), ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    assert edges(twice) == 1
    assert twice.nnz == 4


def test_infinite_weights_rank_first():
    truth = symmetric(3, [1, 0, 0])
    assert metrics.average_precision(truth, symmetric(3, [np.inf, 5, 1])) == 1.0


def test_a_hundred_thousand_nodes_stay_sparse():
    d = 100_000
    at = np.arange(0, d, 2)
    rows, columns = np.concatenate([at, at + 1]), np.concatenate([at + 1, at])
    truth = sparse.csr_array((np.ones(d, dtype=bool), (rows, columns)), shape=(d, d))
    strength = np.concatenate([np.arange(1, d // 2 + 1)] * 2) / d
    weights = sparse.csr_array((strength, (rows, columns)), shape=(d, d))
    estimate = weights > 0.25
    measured = metrics.evaluate(truth, estimate, weights)
    assert measured["true_edges"] == d // 2
    assert measured["hamming"] == d // 4
    assert measured["precision"] == 1.0
    assert measured["recall"] == 0.5
    assert measured["average_precision"] == 1.0


@pytest.mark.parametrize(
    ("truth", "estimate", "said"),
    [
        (np.zeros((2, 3)), np.zeros((2, 2)), "truth must be a square array, got shape (2, 3)"),
        (np.zeros(3), np.zeros((2, 2)), "truth must be a square array"),
        (np.zeros((2, 2)), np.zeros((3, 3)), "truth has 2 nodes and estimate has 3"),
        (np.zeros((2, 2)), [[0, 1], [0, 0]], "estimate must be symmetric"),
        (np.zeros((2, 2)), [[0, 1], [2, 0]], "estimate must be symmetric"),
        (np.zeros((2, 2)), [[0, np.nan], [np.nan, 0]], "estimate has nan entries"),
        (np.zeros((2, 2)), [["a", "b"], ["c", "d"]], "estimate must hold numbers or booleans"),
        (sparse.csr_array((2, 2)), sparse.csr_array(np.triu(np.ones((2, 2)))), "estimate must be symmetric"),
    ],
)
def test_bad_arrays_are_refused(truth, estimate, said):
    with pytest.raises(InputError) as refused:
        metrics.hamming(truth, estimate)
    assert said in str(refused.value)


def test_weights_are_checked_too():
    with pytest.raises(InputError, match="truth has 2 nodes and weights has 3"):
        metrics.average_precision(np.zeros((2, 2)), np.zeros((3, 3)))
    with pytest.raises(InputError, match="weights has nan"):
        metrics.average_precision(np.zeros((2, 2)), [[0, np.nan], [np.nan, 0]])
