import networkx as nx
import numpy as np
import pytest

from gpmnet.causal import Knowledge


@pytest.fixture
def names():
    def _names(d):
        return tuple(f"v{k}" for k in range(d))

    return _names


@pytest.fixture
def nothing_known(names):
    def _known(d):
        return Knowledge(names(d))

    return _known


@pytest.fixture
def random_dag():
    """Draw a DAG on d nodes with shuffled labels, as an array: [i, j] for i -> j."""

    def _random_dag(d, degree, seed):
        rng = np.random.default_rng(seed)
        ordered = np.triu(rng.random((d, d)) < degree / (d - 1), 1)
        shuffle = rng.permutation(d)
        return ordered[np.ix_(shuffle, shuffle)]

    return _random_dag


@pytest.fixture
def oracle():
    """Make tests of conditional independence that know the DAG: p-value 1 where d-separated, else 0."""

    def _oracle(dag):
        graph = nx.from_numpy_array(dag, create_using=nx.DiGraph)

        def p_values(pairs, given):
            return np.array(
                [
                    float(nx.is_d_separator(graph, {i}, {j}, set(s)))
                    for (i, j), s in zip(pairs, given, strict=True)
                ]
            )

        return p_values

    return _oracle
