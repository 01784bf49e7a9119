from itertools import product

import networkx as nx
import numpy as np
import pytest

from gpmnet.baselines import HillClimb
from gpmnet.baselines.cond_gauss import local_bic
from gpmnet.graphs import moralise

pytest.importorskip("pgmpy")


def all_dags(n_nodes):
    pairs = [(i, j) for i in range(n_nodes) for j in range(i)]
    for choice in product((0, 1, 2), repeat=len(pairs)):
        dag = np.zeros((n_nodes, n_nodes), dtype=bool)
        for (i, j), direction in zip(pairs, choice, strict=True):
            dag[i, j], dag[j, i] = direction == 1, direction == 2
        if nx.is_directed_acyclic_graph(nx.from_numpy_array(dag, create_using=nx.DiGraph)):
            yield dag


def discrete_bic(codes, child, parents):
    levels = codes.max(axis=0) + 1
    configuration = np.zeros(len(codes), dtype=int)
    for parent in parents:
        configuration = configuration * levels[parent] + codes[:, parent]
    score = 0.0
    for value in np.unique(configuration):
        counts = np.bincount(codes[configuration == value, child])
        counts = counts[counts > 0]
        score += np.sum(counts * np.log(counts / counts.sum()))
    free = np.prod(levels[list(parents)], dtype=int) * (levels[child] - 1)
    return score - 0.5 * np.log(len(codes)) * free


def gaussian_bic(data, child, parents):
    design = np.column_stack([np.ones(len(data)), data[:, list(parents)]])
    residual = data[:, child] - design @ np.linalg.lstsq(design, data[:, child])[0]
    n = len(data)
    return -0.5 * n * np.log(np.mean(residual**2)) - 0.5 * np.log(n) * (len(parents) + 2)


def best_dag(data, local_score):
    def total(dag):
        return sum(local_score(data, j, np.flatnonzero(dag[:, j])) for j in range(len(dag)))

    return max(all_dags(data.shape[1]), key=total)


def discrete_collider(seed, n_rows=600):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n_rows), rng.integers(0, 3, n_rows)
    c = np.where(rng.random(n_rows) < 0.75, (a + (b > 0)) % 3, rng.integers(0, 3, n_rows))
    return np.column_stack([a, b, c])


@pytest.mark.parametrize("seed", range(3))
def test_discrete_bic_on_three_nodes_is_the_best_of_all_dags(seed, make_table):
    codes = discrete_collider(seed)
    adjacency, _ = HillClimb()._graph(make_table(*codes.T, discrete=range(3)))
    assert np.array_equal(adjacency, moralise(best_dag(codes, discrete_bic)).toarray())
    assert adjacency.any()


@pytest.mark.parametrize("strength", [0.0, 0.15, 1.0])
def test_gaussian_bic_on_three_nodes_is_the_best_of_all_dags(strength, make_table):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 300))
    data = np.column_stack([x, strength * x + y, strength * y + rng.normal(size=300)])
    adjacency, _ = HillClimb()._graph(make_table(*data.T))
    assert np.array_equal(adjacency, moralise(best_dag(data, gaussian_bic)).toarray())
    assert adjacency.any() == (strength > 0)


@pytest.mark.parametrize("parents", [(), (0,), (1,), (0, 1)])
def test_local_bic_is_pgmpys_for_discrete_and_for_gaussian_data(parents):
    import pandas as pd
    from pgmpy.structure_score import BIC, BICGauss

    codes = discrete_collider(1, 200)
    named = tuple("abc"[parent] for parent in parents)
    ours = local_bic(codes.astype(float), np.ones(3, dtype=bool), 2, parents)
    frame = pd.DataFrame(codes, columns=list("abc")).astype("category")
    assert ours == pytest.approx(BIC(frame).local_score("c", named))
    data = np.random.default_rng(0).normal(size=(50, 3)) @ np.array([[1, 0, 0.5], [0, 1, 2], [0, 0, 1]])
    ours = local_bic(data, np.zeros(3, dtype=bool), 2, parents)
    assert ours == pytest.approx(BICGauss(pd.DataFrame(data, columns=list("abc"))).local_score("c", named))


def test_local_bic_of_a_mixed_family_is_one_regression_per_configuration():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 40)
    x = rng.normal(size=80)
    y = np.where(group == 0, 2 * x, -x + 3 + rng.normal(size=80)) + rng.normal(size=80)
    values = np.column_stack([group, x, y]).astype(float)
    kinds = np.array([True, False, False])
    expected = sum(gaussian_bic(values[group == g][:, 1:], 1, (0,)) + 1.5 * np.log(40) for g in (0, 1))
    expected -= 40 * (np.log(2 * np.pi) + 1)
    assert local_bic(values, kinds, 2, (0, 1)) == pytest.approx(expected - 0.5 * np.log(80) * 6)
    assert local_bic(values, kinds, 0, (1,)) == -np.inf
    values[:, 0] = np.arange(80)
    assert local_bic(values, kinds, 2, (0, 1)) == -np.inf


def test_bdeu_marries_the_parents_of_a_collider(make_table):
    table = make_table(*discrete_collider(0, 2000).T, discrete=range(3))
    assert HillClimb(score="bdeu")._graph(table)[0].sum() == 6


@pytest.mark.parametrize("score", ["bic", "bic-andrews"])
def test_mixed_data(score, make_table):
    """A discrete cause shifts a continuous one, which shifts another; the fourth is alone."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 3, 800)
    x = 1.5 * a + rng.normal(size=800)
    y = x + rng.normal(size=800)
    adjacency, weights = HillClimb(score=score)._graph(
        make_table(a, x, y, rng.integers(0, 2, 800), discrete=[0, 3])
    )
    assert np.argwhere(np.triu(adjacency)).tolist() == [[0, 1], [1, 2]]
    assert weights is None


def test_at_most_so_many_parents(make_table):
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(3, 500))
    table = make_table(*causes, causes.sum(axis=0) + 0.5 * rng.normal(size=500))
    assert HillClimb()._dag(table).sum(axis=0).max() >= 2
    assert HillClimb(max_parents=1)._dag(table).sum(axis=0).max() == 1


def test_ties_do_not_depend_on_the_order_in_which_moves_are_listed(make_table, monkeypatch):
    """The library lists moves from a set of strings, in an order that changes from process to process."""
    from pgmpy.causal_discovery import HillClimbSearch

    # Counts that are symmetric in the two columns: both directions have exactly the same score.
    a, b = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [40, 5, 5, 40], axis=0).T
    shuffle = np.random.default_rng(0).permutation(90)
    table = make_table(a, b, a[shuffle], b[shuffle], discrete=range(4))
    listed = HillClimbSearch._legal_operations_dag
    first_moves = set()

    def dag(seed):
        def shuffled(self, *args, **kwargs):
            moves = list(listed(self, *args, **kwargs))
            moves = [moves[k] for k in np.random.default_rng(seed).permutation(len(moves))]
            first_moves.add(max(moves, key=lambda move: move[1])[0])
            return iter(moves)

        monkeypatch.setattr(HillClimbSearch, "_legal_operations_dag", shuffled)
        return HillClimb()._dag(table)

    assert len({dag(seed).tobytes() for seed in range(6)}) == 1
    assert len(first_moves) > 2  # the library itself would have gone different ways
