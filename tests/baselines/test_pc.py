import numpy as np
import pytest

from gpmnet.baselines.pc import pc_moral
from gpmnet.graphs import moralise


@pytest.mark.parametrize("seed", range(15))
def test_with_a_test_that_is_never_wrong_the_moral_graph_is_exact(seed, random_dag, separation_oracle):
    dag = random_dag(7, 0.35, seed)
    moral, weights = pc_moral(7, separation_oracle(dag), alpha=0.05)
    assert np.array_equal(moral, moralise(dag).toarray())
    assert np.array_equal(weights > 0, moral)


def test_an_edge_between_parents_is_as_sure_as_the_weaker_arrow():
    def collider(i, j, given):
        return {(0, 1): 0.8, (0, 2): 1e-6, (1, 2): 1e-3}[min(i, j), max(i, j)]

    moral, weights = pc_moral(3, collider, alpha=0.05)
    assert moral.sum() == 6
    assert weights[0, 1] == pytest.approx(3.0)
