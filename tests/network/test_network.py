import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from gpmnet.errors import InputError
from gpmnet.network import DENSE_UP_TO, MarkovNetwork, Pairs
from gpmnet.selection import Cutoff


def random_graph(seed, d=8, density=0.3):
    upper = np.triu(np.random.default_rng(seed).random((d, d)) < density, 1)
    return upper | upper.T


@given(st.integers(0, 1000))
def test_adjacency_neighbors_and_separation_agree_with_networkx(seed):
    adjacency = random_graph(seed)
    names = tuple("abcdefgh")
    net = MarkovNetwork.from_adjacency(names, adjacency)
    np.testing.assert_array_equal(net.adjacency, adjacency)
    graph = nx.from_numpy_array(adjacency)
    assert net.n_edges == graph.number_of_edges()
    assert set(net.to_networkx().edges) == {(names[a], names[b]) for a, b in graph.edges}
    for node in graph:
        assert net.neighbors(names[node]) == tuple(names[b] for b in sorted(graph[node]))
    rest = graph.subgraph(set(graph) - {2, 3})
    assert net.separates("a", "h", given=["c", "d"]) == (not nx.has_path(rest, 0, 7))


def test_sparse_above_the_documented_size():
    d = DENSE_UP_TO + 1
    matrix = csr_array((np.ones(2, dtype=bool), ([0, 7], [7, 0])), shape=(d, d))
    net = MarkovNetwork.from_adjacency(tuple(map(str, range(d))), matrix)
    assert net.adjacency.format == "csr"
    assert net.neighbors("7") == ("0",)


def test_edges_are_sorted_and_candidates_kept():
    pairs = Pairs.of(
        [0, 0, 1],
        [1, 2, 2],
        [True, False, True],
        p_value=[0.01, 0.2, 0.001],
        strength=[0.3, 0.1, 0.2],
        sign=[1, 0, -1],
    )
    net = MarkovNetwork(("a", "b", "c"), pairs, kinds=("continuous",) * 3, n_rows=99, cutoff=Cutoff(0.05))
    assert net.edges[["source", "target"]].to_numpy().tolist() == [["b", "c"], ["a", "b"]]
    assert net.candidates["is_edge"].tolist() == [True, True, False]
    assert net.to_networkx().edges["a", "b"] == {"strength": 0.3, "sign": 1.0, "p_value": 0.01}
    assert repr(net) == "MarkovNetwork(3 variables, 99 rows, 2 edges at FDR 0.05)"
    with pytest.raises(ValueError, match="read-only"):
        net.pairs.p_value[0] = 0


@pytest.mark.parametrize(
    "adjacency",
    [np.eye(3), np.triu(np.ones((3, 3)), 1), np.zeros((2, 2))],
    ids=["loop", "one-sided", "shape"],
)
def test_adjacency_must_be_one(adjacency):
    with pytest.raises(InputError):
        MarkovNetwork.from_adjacency(("a", "b", "c"), adjacency)


def test_unknown_names_and_impossible_questions():
    net = MarkovNetwork.from_adjacency(("a", "b", "c"), random_graph(0, 3))
    with pytest.raises(InputError, match="no variable 'z'"):
        net.neighbors("z")
    with pytest.raises(InputError, match="different variables"):
        net.separates("a", "b", given=["a"])


@pytest.mark.parametrize(
    "given", [[[0, 1], [1]], None, 5, "ab", [[0, 1, 0], [1, 0, 0]], np.zeros((2, 2, 2))], ids=str
)
def test_what_is_no_square_matrix_is_refused(given):
    with pytest.raises(InputError, match="the adjacency matrix") as caught:
        MarkovNetwork.from_adjacency(("a", "b"), given)
    assert "\n" not in str(caught.value)
    if given is not None:
        with pytest.raises(InputError, match="the matrix of weights"):
            MarkovNetwork.from_adjacency(("a", "b"), [[0, 1], [1, 0]], weights=given)


def test_weights_may_be_lists():
    net = MarkovNetwork.from_adjacency(("a", "b"), [[0, 1], [1, 0]], weights=[[0, 3], [3, 0]])
    assert net.edges["omega"].tolist() == [3.0]
