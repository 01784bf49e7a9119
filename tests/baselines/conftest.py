from dataclasses import dataclass

import numpy as np
import pytest


@dataclass(frozen=True)
class PlainTable:
    """The least that a baseline may rely on."""

    data: np.ndarray
    is_discrete: np.ndarray
    names: tuple[str, ...]

    @property
    def n_rows(self):
        return len(self.data)

    @property
    def n_levels(self):
        return np.where(self.is_discrete, self.data.max(axis=0) + 1, 0).astype(int)

    def values(self):
        return self.data.copy()


@pytest.fixture
def make_table():
    """Make a table of columns; `discrete` lists the positions of the discrete ones."""

    def _make(*columns, discrete=()):
        data = np.column_stack(columns).astype(float)
        kinds = np.isin(np.arange(data.shape[1]), discrete)
        return PlainTable(data, kinds, tuple(f"a column {i}" for i in range(data.shape[1])))

    return _make


@pytest.fixture
def butterfly(make_table):
    """Pairs (P, W P): no correlation anywhere, two edges for four variables."""

    def _butterfly(n_rows, seed, n_pairs=2):
        rng = np.random.default_rng(seed)
        p = rng.normal(size=(n_rows, n_pairs))
        q = p * rng.normal(size=(n_rows, n_pairs))
        truth = np.kron(np.eye(n_pairs), [[0, 1], [1, 0]]).astype(bool)
        return make_table(*np.stack([p, q], axis=2).reshape(n_rows, -1).T), truth

    return _butterfly


@pytest.fixture
def random_dag():
    """Draw a DAG on d nodes with shuffled labels, as an array: [i, j] for i -> j."""

    def _random_dag(n_nodes, density, seed):
        rng = np.random.default_rng(seed)
        ordered = np.triu(rng.random((n_nodes, n_nodes)) < density, 1)
        shuffle = rng.permutation(n_nodes)
        return ordered[np.ix_(shuffle, shuffle)]

    return _random_dag


@pytest.fixture
def separation_oracle():
    """Make a test of conditional independence that knows the DAG: p-value 1 where d-separated, else 0."""
    import networkx as nx

    def _oracle(dag):
        graph = nx.from_numpy_array(dag, create_using=nx.DiGraph)

        def p_value(i, j, given):
            return float(nx.is_d_separator(graph, {i}, {j}, set(given)))

        return p_value

    return _oracle
