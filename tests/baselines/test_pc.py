import numpy as np
import pytest

from gpmnet.baselines.pc import pc_moral, pc_skeleton
from gpmnet.graphs import moralise


@pytest.mark.parametrize("seed", range(15))
def test_with_a_test_that_is_never_wrong_skeleton_and_moral_graph_are_exact(
    seed, random_dag, separation_oracle
):
    dag = random_dag(7, 0.35, seed)
    skeleton, separators, _ = pc_skeleton(7, separation_oracle(dag), alpha=0.05)
    assert np.array_equal(skeleton, dag | dag.T)
    assert len(separators) == 21 - dag.sum()
    moral, weights = pc_moral(7, separation_oracle(dag), alpha=0.05)
    assert np.array_equal(moral, moralise(dag).toarray())
    assert np.array_equal(weights > 0, moral)


def test_conditioning_sets_are_no_larger_than_allowed(separation_oracle):
    diamond = np.zeros((4, 4), dtype=bool)
    diamond[0, [1, 2]] = diamond[[1, 2], 3] = True  # 0 and 3 are separated by both 1 and 2
    sizes = []

    def recorded(i, j, given):
        sizes.append(len(given))
        return separation_oracle(diamond)(i, j, given)

    skeleton, _, _ = pc_skeleton(4, recorded, 0.05, max_conditioning=1)
    assert max(sizes) == 1
    assert skeleton[0, 3]
    assert not pc_skeleton(4, separation_oracle(diamond), 0.05)[0][0, 3]


def test_the_skeleton_does_not_depend_on_the_order_of_the_columns(random_dag):
    """A noisy test whose answers belong to the variables, not to their positions."""
    rng = np.random.default_rng(3)
    pair = rng.random((6, 6)) ** 3
    pair = np.maximum(pair, pair.T)

    def noisy(i, j, given):
        return float(min(1.0, pair[i, j] * (1 + sum(pair[k, i] * pair[k, j] for k in given))))

    skeleton, _, _ = pc_skeleton(6, noisy, 0.1)
    order = rng.permutation(6)
    shuffled, _, _ = pc_skeleton(6, lambda i, j, s: noisy(order[i], order[j], tuple(order[list(s)])), 0.1)
    assert 0 < skeleton.sum() < 30
    assert np.array_equal(shuffled, skeleton[np.ix_(order, order)])


def test_an_edge_between_parents_is_as_sure_as_the_weaker_arrow():
    def collider(i, j, given):
        return {(0, 1): 0.8, (0, 2): 1e-6, (1, 2): 1e-3}[min(i, j), max(i, j)]

    moral, weights = pc_moral(3, collider, alpha=0.05)
    assert moral.sum() == 6
    assert weights[0, 1] == pytest.approx(3.0)
