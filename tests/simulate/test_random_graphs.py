"""Random decomposable graphs."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpmnet.errors import InputError
from gpmnet.graphs import moralise
from gpmnet.simulate import simulate
from gpmnet.simulate.decomposable import perfect_dag


def directed(adjacency):
    return nx.from_scipy_sparse_array(adjacency, create_using=nx.DiGraph)


def same_edges(first, second):
    return {frozenset(e) for e in first.edges} == {frozenset(e) for e in second.edges}


@settings(max_examples=60, deadline=None)
@given(
    d=st.integers(2, 25),
    density=st.none() | st.floats(0, 1),
    max_clique=st.none() | st.integers(1, 8),
    seed=st.integers(0, 2**32),
)
def test_perfect_dag(d, density, max_clique, seed):
    rng = np.random.default_rng(seed)
    if density is not None and max_clique is not None:
        m = min(max_clique, d) - 1
        if round(density * d * (d - 1) / 2) > m * d - m * (m + 1) // 2:  # more than an m-tree has
            with pytest.raises(InputError, match="raise max_clique"):
                perfect_dag(d, rng, density=density, max_clique=max_clique)
            return
    dag = perfect_dag(d, rng, density=density, max_clique=max_clique)
    adjacency = dag.adjacency()
    graph = directed(adjacency)
    assert nx.is_directed_acyclic_graph(graph)
    place = np.argsort(dag.order)
    assert all(place[i] < place[j] for i, j in graph.edges)
    skeleton = graph.to_undirected()
    assert nx.is_chordal(skeleton)
    assert same_edges(nx.moral_graph(graph), skeleton)
    assert same_edges(nx.from_scipy_sparse_array(moralise(adjacency)), skeleton)
    if density is not None:
        assert adjacency.nnz == round(density * d * (d - 1) / 2)
    if max_clique is not None:
        assert max(len(clique) for clique in nx.find_cliques(skeleton)) <= max_clique


@pytest.mark.parametrize(("d", "edges"), [(2, 0), (4, 3), (6, 8), (10, 14), (20, 27), (100, 135)])
def test_default_number_of_edges(d, edges):
    counts = {perfect_dag(d, np.random.default_rng(seed)).adjacency().nnz for seed in range(5)}
    assert counts == {edges}


def test_every_pair_of_labels_can_be_an_edge():
    total = sum(
        perfect_dag(5, np.random.default_rng(seed)).adjacency().toarray().astype(int) for seed in range(400)
    )
    off = ~np.eye(5, dtype=bool)
    # 5 edges among 20 ordered pairs: each has probability 1/4, standard deviation 8.7 in 400 draws
    assert np.abs(total[off] - 100).max() < 40


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_the_truth_is_the_moral_graph_of_the_dag(kind):
    drawn = simulate("random", d=15, n=5, seed=2, kind=kind)
    graph = directed(drawn.dag)
    truth = nx.from_scipy_sparse_array(drawn.truth)
    assert nx.is_chordal(truth)
    assert same_edges(nx.moral_graph(graph), truth)
    assert same_edges(graph.to_undirected(), truth)


@pytest.mark.parametrize("seed", range(5))
def test_a_random_dag_has_so_many_arrows_and_its_colliders_are_married(seed):
    drawn = simulate("dag", d=20, n=5, seed=seed)
    graph = directed(drawn.dag)
    assert nx.is_directed_acyclic_graph(graph)
    assert graph.number_of_edges() == 27
    assert max(count for _, count in graph.in_degree()) <= 3
    assert same_edges(nx.moral_graph(graph), nx.from_scipy_sparse_array(drawn.truth))
    assert drawn.truth.sum() / 2 > 27


def test_a_dag_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="raise max_parents"):
        simulate("dag", d=10, n=5, density=0.9)
