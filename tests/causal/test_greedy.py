"""Greedy search with the exact score of a law, inside its network and without."""

import numpy as np
import pandas as pd
import pytest

from gpmnet import MarkovNetwork
from gpmnet.causal import CPDAG, GaussianScore, Knowledge, ges
from gpmnet.causal.greedy import _State, search
from gpmnet.causal.scores import Cached
from gpmnet.directed.meek import topological
from gpmnet.errors import InputError
from gpmnet.graphs import moralise


def exact_score(dag, seed, n_rows=10**11):
    """The BIC of so many rows from the correlations that a linear Gaussian law along the graph has."""
    rng = np.random.default_rng(seed)
    weights = dag * rng.uniform(0.4, 1.2, dag.shape) * rng.choice([-1, 1], dag.shape)
    mix = np.linalg.inv(np.eye(len(dag)) - weights)
    covariance = mix.T @ mix
    scale = np.sqrt(covariance.diagonal())
    return GaussianScore(covariance / scale[:, None] / scale[None, :], n_rows)


@pytest.mark.parametrize("seed", range(25))
def test_inside_the_true_network_the_class_is_exact_for_fewer_scores(seed, random_dag, names, nothing_known):
    d = 9
    dag = random_dag(d, 1 + seed % 4, seed)
    score = exact_score(dag, seed)
    inner = search(score, names(d), moralise(dag).toarray(), nothing_known(d))
    outer = search(score, names(d), None, nothing_known(d))
    assert inner.graph == outer.graph == CPDAG.from_dag(dag, names(d))
    assert inner.n_evaluations <= outer.n_evaluations


def test_the_score_is_that_of_a_regression():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
    score = GaussianScore(np.corrcoef(values, rowvar=False), 60)
    centred = values - values.mean(axis=0)
    left = (
        centred[:, 2] - centred[:, [0, 3]] @ np.linalg.lstsq(centred[:, [0, 3]], centred[:, 2], rcond=None)[0]
    )
    expected = -30 * np.log(left.var() / centred[:, 2].var()) - np.log(60)
    assert score(2, (0, 3)) == pytest.approx(expected)
    assert score(2, ()) == 0


def test_naive_restriction_is_wrong_where_the_adaptive_one_is_right(names, nothing_known):
    """Over many graphs: with shields of colliders forbidden, some class inside the true network is missed."""
    missed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        dag = np.triu(rng.random((6, 6)) < 0.5, 1)
        score = exact_score(dag, seed)
        truth = CPDAG.from_dag(dag, names(6))
        moral = moralise(dag).toarray()
        state = _State(Cached(score), moral, nothing_known(6))

        def naive(state=state, allowed=moral):
            return (move for move in state.insertions() if allowed[move.x, move.y])

        for phase in (naive, state.deletions):
            while state.take_best(phase()):
                pass
        missed += CPDAG.from_dag(state.dag, names(6)) != truth
        assert search(score, names(6), moral, nothing_known(6)).graph == truth
    assert missed > 0


@pytest.mark.parametrize("seed", range(12))
def test_knowledge_is_honoured(seed, random_dag, names):
    d = 8
    dag = random_dag(d, 3, seed)
    name, order = names(d), np.empty(d, dtype=int)
    order[list(topological(dag))] = np.arange(d)
    tiers = [[name[k] for k in range(d) if order[k] < 4], [name[k] for k in range(d) if order[k] >= 4]]
    found = search(
        exact_score(dag, seed), name, moralise(dag).toarray(), Knowledge.from_names(name, tiers=tiers)
    )
    assert np.array_equal(found.graph.skeleton, dag | dag.T)
    assert not (found.graph.directed & ~dag).any()
    assert found.graph.directed[(order[:, None] < 4) & (order[None, :] >= 4) & dag].all()


def test_wrong_knowledge_is_honoured_too(names):
    """0 -> 2 <- 1 with the arrow 2 -> 0 required, and 1 - 2 forbidden both ways."""
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 2] = dag[1, 2] = True
    name = names(3)
    known = Knowledge.from_names(name, [("v2", "v0")], [("v1", "v2"), ("v2", "v1")])
    found = search(exact_score(dag, 0), name, None, known)
    assert found.graph.directed[2, 0]
    assert not found.graph.skeleton[1, 2]


def test_nothing_is_computed_twice():
    asked = []

    def score(child, parents):
        asked.append((child, parents))
        return 0.0

    cached = Cached(score)
    assert cached(0, {2, 1}) == cached(0, {1, 2}) == 0.0
    assert asked == [(0, (1, 2))]


@pytest.fixture
def chain():
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    b, c = a + rng.normal(size=300), rng.normal(size=300)
    return pd.DataFrame({"a": a, "b": b, "c": c, "e": np.sin(b) + c + 0.5 * rng.normal(size=300)})


@pytest.mark.parametrize("score", ["gaussian", "generalised"])
def test_on_a_table(chain, score):
    frame = chain if score == "gaussian" else chain.head(120)
    found = ges(frame, score=score)
    assert set(found.graph.compelled) == {("b", "e"), ("c", "e")}
    assert found.graph.reversible == (("a", "b"),)


def test_the_score_follows_the_kinds_unless_given(chain):
    assert ges(chain).graph == ges(chain, score="gaussian").graph
    mixed = chain.head(100).assign(f=np.where(chain["a"].head(100) > 0, "x", "y"))
    found = ges(
        mixed
    )  # whose score leads in a circle: f decides the sign of a, so a graph gains and loses an edge
    assert found.graph == ges(mixed, score="generalised").graph
    assert {"a", "f"} in [set(pair) for pair in (*found.graph.compelled, *found.graph.reversible)]


def test_a_score_that_leads_in_a_circle_ends(names, nothing_known):
    """The arrow into 1 pays, and so does taking the arrow into 0 away: members of one class with different scores."""
    scores = {(1, (0,)): 1.0, (0, (1,)): -1.0}
    found = search(lambda child, parents: scores.get((child, parents), 0.0), names(2), None, nothing_known(2))
    assert found.n_evaluations == 4


def test_an_edge_outside_the_network_is_not_looked_at(chain):
    empty = MarkovNetwork.from_adjacency(("a", "b", "c", "e"), np.zeros((4, 4)))
    found = ges(chain, empty)
    assert found.n_evaluations == 0
    assert not found.graph.skeleton.any()


def test_scores_that_do_not_fit_are_refused(chain):
    with pytest.raises(InputError, match="6,000 are more than 5,000"):
        ges(pd.concat([chain] * 20), score="generalised")
    with pytest.raises(InputError, match="'f' are categories"):
        ges(chain.assign(f=["x", "y"] * 150), score="gaussian")
    with pytest.raises(InputError, match="score='bic' is not one of gaussian, generalised"):
        ges(chain, score="bic")
