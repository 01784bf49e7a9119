"""The search: with an oracle it returns the exact class; what is known beforehand is kept."""

import itertools

import networkx as nx
import numpy as np
import pytest

from gpmnet.directed.cpdag import CPDAG
from gpmnet.directed.directions import Directions, moral_edges
from gpmnet.directed.knowledge import Knowledge
from gpmnet.directed.order import OrderSearch
from gpmnet.directed.score import FamilyScore
from gpmnet.errors import InputError


class Oracle(FamilyScore):
    """The exact Gaussian score of a law: minus half the log of what parents leave, times many rows, less a price."""

    def __init__(self, arrows, seed=0, rows=1e6):
        rng = np.random.default_rng(seed)
        self.d, self.rows = len(arrows), rows
        weights = arrows * rng.uniform(0.5, 1.0, arrows.shape) * rng.choice([-1, 1], arrows.shape)
        root = np.linalg.inv(np.eye(self.d) - weights)
        self.covariance = root.T @ root

    def left(self, child, parents):
        cov, at = self.covariance, list(parents)
        return cov[child, child] - cov[child, at] @ np.linalg.solve(cov[np.ix_(at, at)], cov[at, child])

    def score(self, child, parents):
        gain = -0.5 * self.rows * np.log(self.left(child, parents) / self.covariance[child, child])
        return gain - len(parents)


def random_dag(d, rng, share=0.35):
    arrows = np.triu(rng.random((d, d)) < share, 1)
    order = rng.permutation(d)
    return arrows[np.ix_(order, order)]


def as_matrix(parents):
    found = np.zeros((len(parents),) * 2, dtype=bool)
    for child, of_child in enumerate(parents):
        found[list(of_child), child] = True
    return found


@pytest.mark.parametrize("seed", range(8))
def test_an_exact_score_gives_the_exact_class(seed):
    arrows = random_dag(8, np.random.default_rng(seed))
    names = [f"x{i}" for i in range(8)]
    found = OrderSearch(Oracle(arrows, seed))(seed, starts=3)
    assert CPDAG.from_dag(as_matrix(found.parents), names) == CPDAG.from_dag(arrows, names)


def test_the_score_of_an_order_is_the_sum_of_its_families_and_parents_come_before():
    score = Oracle(random_dag(7, np.random.default_rng(3)))
    search = OrderSearch(score)
    for order in itertools.islice(itertools.permutations(range(7)), 0, 5040, 700):
        found = search.graph(order)
        total = sum(score.score(child, parents) for child, parents in enumerate(found.parents))
        assert found.score == pytest.approx(total)
        place = {v: at for at, v in enumerate(order)}
        assert all(place[p] < place[c] for c, parents in enumerate(found.parents) for p in parents)


def test_moves_are_worth_what_they_say():
    """After the search no single move improves the score, by brute force."""
    score = Oracle(random_dag(6, np.random.default_rng(5)))
    search = OrderSearch(score)
    found = search(0, starts=1)
    for variable in range(6):
        rest = [v for v in found.order if v != variable]
        for at in range(6):
            assert search.graph([*rest[:at], variable, *rest[at:]]).score <= found.score + 1e-6


def test_the_same_seed_gives_the_same_graph():
    score = Oracle(random_dag(9, np.random.default_rng(6)), rows=300)
    assert OrderSearch(score)(4, 3) == OrderSearch(score)(4, 3)


def test_what_is_known_is_kept():
    chain = np.zeros((4, 4), dtype=bool)
    chain[0, 1] = chain[1, 2] = chain[2, 3] = True
    known = Knowledge("abcd", arrows=[(1, 0)], joined=[(0, 3)], apart=[(2, 3)], tiers=[None, 1, 0, None])
    found = as_matrix(OrderSearch(Oracle(chain), known)(0).parents)
    assert found[1, 0]
    assert found[2, 1]  # the earlier tier is the cause
    assert found[0, 3] or found[3, 0]
    assert not found[2, 3]
    assert not found[3, 2]
    assert not (found[2] & found[3]).any()  # nor joined by a common effect


def test_a_later_tier_is_no_ancestor_either():
    """Variable 1, of the later tier, must not act on 0 over 2, which is in no tier."""
    arrows = np.zeros((3, 3), dtype=bool)
    arrows[1, 2] = arrows[2, 0] = True
    known = Knowledge("abc", tiers=[0, 1, None])
    graph = nx.from_numpy_array(
        as_matrix(OrderSearch(Oracle(arrows), known)(0).parents).astype(int), create_using=nx.DiGraph
    )
    assert 1 not in nx.ancestors(graph, 0)


def test_candidates_and_the_number_of_parents_are_limits():
    score = Oracle(np.triu(np.ones((6, 6), dtype=bool), 1))
    found = OrderSearch(score, candidates=[np.array([0, 1])] * 6, most_parents=1)(0)
    assert all(len(parents) <= 1 and set(parents) <= {0, 1} for parents in found.parents)


def test_evidence_of_a_collider():
    arrows = np.zeros((4, 4), dtype=bool)
    arrows[0, 2] = arrows[1, 2] = arrows[2, 3] = True
    score = Oracle(arrows)
    edges = {(e.first, e.second): e for e in moral_edges(score, ((), (), (0, 1), (2,)))}
    assert set(edges) == {(0, 1), (0, 2), (1, 2), (2, 3)}
    lost = {p: score.score(2, (0, 1)) - score.score(2, (1 - p,)) for p in (0, 1)}
    assert edges[0, 2].evidence == pytest.approx(lost[0])
    assert edges[0, 1].kind == "co-parents"
    assert edges[0, 1].effects == (2,)
    assert edges[0, 1].evidence == pytest.approx(min(lost.values()))


def test_directions_survive_json_and_damage_is_refused():
    arrows = np.zeros((3, 3), dtype=bool)
    arrows[0, 2] = arrows[1, 2] = True
    graph = CPDAG.from_dag(arrows, ["a", "b", "c"])
    directions = Directions(graph, moral_edges(Oracle(arrows), ((), (), (0, 1))))
    again = Directions.from_dict(directions.to_dict())
    assert again.edges == directions.edges
    assert again.graph == graph
    assert again.row("c", "a")["direction"] == "<-"
    assert again.row("a", "b") | {"evidence": 0} == {
        "kind": "co-parents",
        "direction": "",
        "evidence": 0,
        "common_effects": ("c",),
    }
    for edge in (
        [0, 1, "x", 1.0, []],
        [1, 0, "arc", 1.0, []],
        [0, 9, "arc", 1.0, []],
        [0, 1, "arc", 1.0, [7]],
    ):
        with pytest.raises(InputError):
            Directions.from_dict(directions.to_dict() | {"edges": [edge]})
