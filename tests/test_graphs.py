"""Graphs as sparse matrices, and moralisation."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from gpmnet.graphs import from_parents, moralise


def test_from_parents():
    graph = from_parents([np.array([], dtype=int), np.array([0]), np.array([0, 1])])
    assert graph.toarray().tolist() == [[False, True, True], [False, False, True], [False, False, False]]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 9).flatmap(lambda d: st.tuples(st.just(d), st.integers(0, 2 ** (d * (d - 1) // 2) - 1)))
)
def test_moralise_agrees_with_networkx(drawn):
    d, bits = drawn
    dense = np.zeros((d, d), dtype=bool)
    dense[np.triu_indices(d, 1)] = [bits >> k & 1 for k in range(d * (d - 1) // 2)]
    moral = moralise(csr_array(dense)).toarray()
    np.testing.assert_array_equal(moral, moralise(dense).toarray())
    expected = nx.to_numpy_array(
        nx.moral_graph(nx.from_numpy_array(dense, create_using=nx.DiGraph)), weight=None
    )
    np.testing.assert_array_equal(moral, expected > 0)
    assert moral.dtype == np.bool_


def test_undirected_edges_do_not_marry():
    chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    assert np.array_equal(moralise(np.zeros((3, 3), dtype=bool), chain).toarray(), chain)


@pytest.mark.parametrize("seed", range(20))
def test_cpdag_has_the_moral_graph_of_its_dag(seed):
    """The CPDAG by brute force: an arrow is directed if all DAGs with this skeleton and colliders have it."""
    rng = np.random.default_rng(seed)
    shuffle = rng.permutation(4)
    dag = np.triu(rng.random((4, 4)) < 0.6, 1)[np.ix_(shuffle, shuffle)]
    members = [other for other in all_orientations(dag) if equivalent(other, dag)]
    directed = np.logical_and.reduce(members)
    undirected = np.logical_or.reduce(members) & ~directed
    undirected &= undirected.T
    assert np.array_equal(moralise(directed, undirected).toarray(), moralise(dag).toarray())


def all_orientations(dag):
    edges = np.argwhere(np.triu(dag | dag.T))
    for code in range(2 ** len(edges)):
        other = np.zeros_like(dag)
        for bit, (i, j) in enumerate(edges):
            other[(i, j) if code >> bit & 1 else (j, i)] = True
        if nx.is_directed_acyclic_graph(nx.from_numpy_array(other, create_using=nx.DiGraph)):
            yield other


def equivalent(a, b):
    return colliders(a) == colliders(b)


def colliders(dag):
    adjacent = dag | dag.T
    d = len(dag)
    return {
        (i, j, c)
        for c in range(d)
        for i in range(d)
        for j in range(i)
        if dag[i, c] and dag[j, c] and not adjacent[i, j]
    }
