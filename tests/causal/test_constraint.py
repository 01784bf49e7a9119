"""PC with tests that are never wrong, and with some that are."""

import numpy as np
import pandas as pd
import pytest

from gpmnet import MarkovNetwork, fit
from gpmnet.causal import CPDAG, Knowledge, PCOptions, pc
from gpmnet.causal.constraint import COLLIDERS, inside, search
from gpmnet.causal.skeleton import CanSeparate, Limits, pc_skeleton, sets_of_size
from gpmnet.directed.meek import is_acyclic, topological
from gpmnet.errors import InputError
from gpmnet.graphs import moralise
from gpmnet.table import load_table
from gpmnet.testing.ci import CITest


@pytest.mark.parametrize("rule", COLLIDERS)
@pytest.mark.parametrize("seed", range(25))
def test_inside_the_true_network_the_class_is_exact_for_fewer_tests(
    seed, rule, random_dag, oracle, names, nothing_known
):
    d = 9
    dag = random_dag(d, 1 + seed % 4, seed)
    options = PCOptions(colliders=rule)
    inner = search(oracle(dag), names(d), options, moralise(dag).toarray(), nothing_known(d))
    outer = search(oracle(dag), names(d), options, None, nothing_known(d))
    assert inner.graph == outer.graph == CPDAG.from_dag(dag, names(d))
    assert inner.contradictions == outer.contradictions == ()
    assert inner.n_evaluations < outer.n_evaluations


@pytest.mark.parametrize("degree", [2, 4, 6])
@pytest.mark.parametrize("seed", range(15))
def test_every_pair_that_can_be_separated_is_by_a_set_that_is_tried(seed, degree, random_dag, oracle):
    """By enumeration of all sets of neighbors, with what the search may have at its beginning and at its end."""
    dag = random_dag(8, degree, seed)
    skeleton, network = dag | dag.T, moralise(dag).toarray()
    for adjacent in (network, skeleton | (network & (np.random.default_rng(seed).random((8, 8)) < 0.5))):
        adjacent = adjacent | adjacent.T
        can = CanSeparate(network, adjacent, np.zeros_like(dag))
        near = [np.flatnonzero(row).tolist() for row in adjacent]
        for pair in [(i, j) for i, j in np.argwhere(np.triu(network & ~skeleton)).tolist()]:
            tried = [s for size in range(7) for s in sets_of_size(near, pair, size) if can(pair, s)]
            assert oracle(dag)([pair] * len(tried), tried).any()


def test_what_cannot_separate_is_not_tried():
    """x and y with a common neighbor c, and u behind x: u says nothing about y but through x, and c is the only effect."""
    x, y, c, u, v = range(5)
    network = np.zeros((5, 5), dtype=bool)
    for a, b in ((x, y), (x, c), (y, c), (x, u)):
        network[a, b] = network[b, a] = True
    nothing = np.zeros_like(network)
    can = CanSeparate(network, network, nothing)
    assert can((x, y), ())
    assert not can((x, y), (c,))
    assert not can((x, y), (u,))
    assert not can((x, u), ())  # no common neighbor: an arrow
    network[u, v] = network[v, u] = network[v, y] = network[y, v] = True  # now u reaches y another way
    can = CanSeparate(network, network, nothing)
    assert can((x, y), (u,))
    assert not can((x, y), (c, u))
    effects = nothing.copy()
    effects[x, c] = True  # c is known not to be an effect of x
    assert not CanSeparate(network, network, effects)((x, y), ())


@pytest.mark.parametrize("rule", COLLIDERS)
def test_a_network_saves_most_tests(rule, random_dag, oracle, names, nothing_known):
    d, inner, outer = 14, 0, 0
    for seed in range(8):
        dag = random_dag(d, 2.7, 100 + seed)
        options = PCOptions(colliders=rule)
        found = search(oracle(dag), names(d), options, moralise(dag).toarray(), nothing_known(d))
        assert found.graph == CPDAG.from_dag(dag, names(d))
        inner += found.n_evaluations
        plain = PCOptions(colliders="separator")
        outer += search(oracle(dag), names(d), plain, None, nothing_known(d)).n_evaluations
    assert 5 * inner < outer


def test_a_common_effect_of_two_that_the_network_does_not_join(oracle, names, nothing_known):
    collider = np.zeros((4, 4), dtype=bool)
    collider[[0, 1], 2] = collider[2, 3] = True
    network = collider | collider.T  # without the edge of 0 and 1
    found = search(oracle(collider), names(4), PCOptions(), network, nothing_known(4))
    assert found.graph == CPDAG.from_dag(collider, names(4))
    plain = search(oracle(collider), names(4), PCOptions(colliders="separator"), network, nothing_known(4))
    assert plain.graph.compelled == ()
    chain = np.zeros((3, 3), dtype=bool)
    chain[0, 1] = chain[1, 2] = True
    assert search(oracle(chain), names(3), PCOptions(), chain | chain.T, nothing_known(3)).n_evaluations == 1


@pytest.mark.parametrize("seed", range(10))
def test_inside_any_graph_that_contains_the_skeleton_it_is_exact(seed, random_dag, oracle):
    """The skeleton needs no more of the start graph than that."""
    rng = np.random.default_rng(seed)
    dag = random_dag(9, 3, seed)
    more = np.triu(rng.random((9, 9)) < 0.2, 1)
    found = pc_skeleton(
        oracle(dag), 0.5, Limits((dag | dag.T | more | more.T), np.zeros_like(dag), np.zeros_like(dag))
    )
    assert np.array_equal(found.adjacent, dag | dag.T)


@pytest.mark.parametrize("seed", range(20))
def test_knowledge_is_honoured_and_orients_more(seed, random_dag, oracle, names):
    d = 9
    rng = np.random.default_rng(seed)
    dag = random_dag(d, 3, seed)
    order = np.empty(d, dtype=int)
    order[list(topological(dag))] = np.arange(d)
    name = names(d)
    tiers = [[name[k] for k in range(d) if order[k] < 5], [name[k] for k in range(d) if order[k] >= 5]]
    arrows = np.argwhere(dag)
    required = [tuple(name[at] for at in arrows[rng.integers(len(arrows))])] if len(arrows) else []
    known = Knowledge.from_names(name, required, tiers=tiers)
    found = search(oracle(dag), name, PCOptions(), moralise(dag).toarray(), known)
    plain = CPDAG.from_dag(dag, name)
    assert np.array_equal(found.graph.skeleton, dag | dag.T)
    assert not (found.graph.directed & ~dag).any()
    assert not (plain.directed & ~found.graph.directed).any()
    for a, b in np.argwhere(found.graph.skeleton & (order[:, None] < 5) & (order[None, :] >= 5)):
        assert found.graph.directed[a, b]


def test_conditioning_sets_are_no_larger_than_allowed(oracle):
    diamond = np.zeros((4, 4), dtype=bool)
    diamond[0, [1, 2]] = diamond[[1, 2], 3] = True  # 0 and 3 are separated by both 1 and 2
    sizes = []

    def recorded(pairs, given):
        sizes.extend(map(len, given))
        return oracle(diamond)(pairs, given)

    assert pc_skeleton(recorded, 0.05, Limits.none(4, 1)).adjacent[0, 3]
    assert max(sizes) == 1
    assert not pc_skeleton(oracle(diamond), 0.05, Limits.none(4)).adjacent[0, 3]


def noisy_test(seed, d):
    """Make a test whose answers are wrong but belong to the variables, not to their positions."""
    pair = np.random.default_rng(seed).random((d, d)) ** 3
    pair = np.maximum(pair, pair.T)

    def p_values(pairs, given):
        return np.array(
            [
                min(1.0, pair[i, j] * (1 + sum(pair[k, i] * pair[k, j] for k in s)))
                for (i, j), s in zip(pairs, given, strict=True)
            ]
        )

    return p_values


@pytest.mark.parametrize("rule", COLLIDERS)
@pytest.mark.parametrize("seed", range(15))
def test_whatever_tests_answer_the_result_is_a_class_of_graphs(seed, rule, names, nothing_known):
    """CPDAG refuses what is none; the contradictions are named."""
    found = search(
        noisy_test(seed, 8), names(8), PCOptions(alpha=0.1, colliders=rule), None, nothing_known(8)
    )
    assert is_acyclic(found.graph.dag())
    assert 0 < found.graph.skeleton.sum() < 56


def test_some_noise_makes_contradictions(names, nothing_known):
    told = [
        search(noisy_test(seed, 8), names(8), PCOptions(alpha=0.1), None, nothing_known(8)).contradictions
        for seed in range(15)
    ]
    assert any(told)


def test_the_skeleton_does_not_depend_on_the_order_of_the_columns():
    test, order = noisy_test(3, 6), np.random.default_rng(1).permutation(6)

    def turned(pairs, given):
        return test([tuple(order[list(pair)]) for pair in pairs], [tuple(order[list(s)]) for s in given])

    plain, shuffled = (pc_skeleton(p_values, 0.1, Limits.none(6)).adjacent for p_values in (test, turned))
    assert 0 < plain.sum() < 30
    assert np.array_equal(shuffled, plain[np.ix_(order, order)])


@pytest.fixture(scope="module")
def wet():
    rng = np.random.default_rng(5)
    n = 800
    rain = rng.random(n) < 0.4
    sprinkler = rng.normal(size=n)
    wet = 1.5 * rain + np.abs(sprinkler) + 0.5 * rng.normal(size=n)
    grip = -wet + 0.7 * rng.normal(size=n)
    frame = {"rain": np.where(rain, "yes", "no"), "sprinkler": sprinkler, "wet": wet, "grip": grip}
    return CITest(frame)


def test_a_mixed_table_with_a_curved_effect(wet):
    network = fit(wet.table)
    found = pc(wet, network)
    assert found.graph.compelled == (("rain", "wet"), ("sprinkler", "wet"), ("wet", "grip"))
    assert found.n_evaluations < pc(wet).n_evaluations
    assert pc(wet.table, network).graph == found.graph


def test_knowledge_on_data(wet):
    found = pc(wet, knowledge=Knowledge.from_names(wet.names, forbidden=[("rain", "wet"), ("wet", "rain")]))
    assert not found.graph.skeleton[wet.names.index("rain"), wet.names.index("wet")]


def test_a_network_of_other_variables_is_refused(wet):
    with pytest.raises(InputError, match="no variable 'sprinkler'"):
        pc(wet, MarkovNetwork.from_adjacency(("rain", "wet", "grip"), np.zeros((3, 3))))


def test_names_of_the_network_in_another_order():
    adjacency = np.zeros((3, 3), dtype=bool)
    adjacency[0, 1] = adjacency[1, 0] = True
    network = MarkovNetwork.from_adjacency(("c", "a", "b"), adjacency)
    assert np.argwhere(inside(network, ("a", "b", "c"))).tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize(
    ("names", "more", "message"),
    [
        (("wet", "rain", "sprinkler", "grip"), {}, "with the names of the table"),
        (None, {"joined": [(0, 1)]}, "for the search over orders"),
        (None, {"apart": [(0, 1)]}, "for the search over orders"),
    ],
)
def test_knowledge_that_does_not_fit_is_refused(wet, names, more, message):
    with pytest.raises(InputError, match=message):
        pc(wet, knowledge=Knowledge(names or wet.names, **more))


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"alpha": 2}, {"most_given": -1}, {"colliders": "best"}])
def test_options_that_are_wrong_are_refused(wrong):
    with pytest.raises(InputError, match="PCOptions"):
        PCOptions(**wrong)


def test_columns_that_are_no_variables_are_left_out():
    rng = np.random.default_rng(0)
    table = load_table(pd.DataFrame({"a": [1] * 50, "b": rng.normal(size=50), "c": rng.normal(size=50)}))
    assert pc(table).graph.names == ("b", "c")
