import networkx as nx
import numpy as np
import pytest

from gpmnet.baselines.graphs import moralise


@pytest.mark.parametrize("seed", range(20))
def test_moral_graph_of_a_dag_is_that_of_networkx(seed, random_dag):
    dag = random_dag(7, 0.35, seed)
    expected = nx.moral_graph(nx.from_numpy_array(dag, create_using=nx.DiGraph))
    assert np.array_equal(moralise(dag), nx.to_numpy_array(expected, nodelist=range(7)) > 0)


def test_undirected_edges_do_not_marry():
    chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    assert np.array_equal(moralise(np.zeros((3, 3), dtype=bool), chain), chain)


@pytest.mark.parametrize("seed", range(20))
def test_cpdag_has_the_moral_graph_of_its_dag(seed, random_dag):
    """The CPDAG by brute force: an arrow is directed if all DAGs with this skeleton and colliders have it."""
    dag = random_dag(4, 0.6, seed)
    members = [other for other in all_orientations(dag) if equivalent(other, dag)]
    directed = np.logical_and.reduce(members)
    undirected = np.logical_or.reduce(members) & ~directed
    undirected &= undirected.T
    assert np.array_equal(moralise(directed, undirected), moralise(dag))


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
