import numpy as np
import pytest

from gpmnet.baselines.iamb import iamb, markov_blanket
from gpmnet.graphs import moralise


@pytest.mark.parametrize("rule", ["and", "or"])
@pytest.mark.parametrize("seed", range(15))
def test_with_a_test_that_is_never_wrong_the_graph_is_exact(seed, rule, random_dag, separation_oracle):
    dag = random_dag(8, 0.25, seed)
    adjacency, weights = iamb(8, separation_oracle(dag), alpha=0.05, rule=rule)
    assert np.array_equal(adjacency, moralise(dag).toarray())
    assert np.array_equal(weights > 0, adjacency)


def test_shrinking_removes_what_growing_let_in():
    # In the chain 0 - 1 - 2 the far end enters first where its p-value is smaller.
    def chain(i, j, given):
        if {i, j} == {0, 2}:
            return 1.0 if 1 in given else 0.001
        return 0.01

    calls = []

    def recorded(i, j, given):
        calls.append((i, j, given))
        return chain(i, j, given)

    blanket, p_values = markov_blanket(3, 0, recorded, alpha=0.05)
    assert (0, 1, (2,)) in calls  # 2 was in the blanket once
    assert blanket == {1}
    assert p_values[2] == 1.0
    assert p_values[1] == 0.01


def test_and_or_differ_where_the_blankets_disagree():
    def one_sided(i, j, given):
        return 0.001 if (i, j) == (0, 1) else 0.5

    both, weak = iamb(3, one_sided, rule="and")
    either, strong = iamb(3, one_sided, rule="or")
    assert both.sum() == 0
    assert np.argwhere(np.triu(either)).tolist() == [[0, 1]]
    assert strong[0, 1] == pytest.approx(3.0)
    assert weak[0, 1] == pytest.approx(-np.log10(0.5))


def test_an_impossible_p_value_of_zero_has_a_finite_weight():
    _, weights = iamb(2, lambda i, j, given: 0.0)
    assert np.isfinite(weights).all()
    assert weights[0, 1] == 300
