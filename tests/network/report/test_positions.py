from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from gpmnet.network.report.apart import layout_apart, pushed_apart
from gpmnet.network.report.positions import layout, least_stress


def lay(graph, seed=0):
    ends = np.array(sorted(graph.edges), dtype=np.intp).reshape(-1, 2)
    return layout(len(graph), ends[:, 0], ends[:, 1], seed=seed)


def stress(where, steps):
    apart = np.linalg.norm(where[:, None] - where[None], axis=2)
    upper = np.triu_indices(len(where), 1)
    return float((((apart - steps) / np.where(steps, steps, 1)) ** 2)[upper].mean())


@pytest.mark.parametrize("n", [3, 8, 31])
def test_a_path_becomes_a_straight_line_of_unit_steps(n):
    where = lay(nx.path_graph(n))
    np.testing.assert_allclose(np.linalg.norm(np.diff(where, axis=0), axis=1), 1, atol=0.02)
    assert np.ptp(where[:, 0]) > 0.95 * (n - 1)


def test_stress_is_as_low_as_that_of_an_independent_solver():
    graph = nx.random_labeled_tree(60, seed=1)
    steps = np.array(nx.floyd_warshall_numpy(graph))
    placed = nx.kamada_kawai_layout(graph)
    theirs = np.array([placed[node] for node in graph])
    apart = np.linalg.norm(theirs[:, None] - theirs[None], axis=2)
    weight = 1 / np.maximum(steps, 1) ** 2
    theirs *= (weight * apart * steps).sum() / (weight * apart**2).sum()
    assert stress(least_stress(steps, np.random.default_rng(0)), steps) < 1.15 * stress(theirs, steps)


def test_large_components_lose_little_by_playing_some_rounds_only(monkeypatch):
    steps = np.array(nx.floyd_warshall_numpy(nx.random_labeled_tree(400, seed=1)))
    some = stress(least_stress(steps, np.random.default_rng(0)), steps)
    monkeypatch.setattr("gpmnet.network.report.positions.MOST_ROUNDS", 1000)
    assert some < 1.2 * stress(least_stress(steps, np.random.default_rng(0)), steps)


def test_the_same_seed_gives_the_same_places_and_another_gives_others():
    graph = nx.gnm_random_graph(40, 60, seed=2)
    np.testing.assert_array_equal(lay(graph), lay(graph))
    assert not np.allclose(lay(graph), lay(graph, seed=1))


def test_components_and_single_nodes_do_not_overlap():
    graph = nx.disjoint_union_all([nx.cycle_graph(12), nx.path_graph(4), nx.path_graph(2), nx.empty_graph(7)])
    where = lay(graph)
    parts = [sorted(part) for part in nx.connected_components(graph)]
    boxes = [(where[part].min(axis=0) - 0.2, where[part].max(axis=0) + 0.2) for part in parts]
    for at, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:at]:
            assert (high < other_low).any() or (other_high < low).any()
    assert where[parts[-1], 1].min() > where[parts[0], 1].max()


def test_nothing_and_nobody_joined_are_fine():
    assert lay(nx.empty_graph(0)).shape == (0, 2)
    assert len(np.unique(lay(nx.empty_graph(9)), axis=0)) == 9


def test_strong_pairs_stand_close_and_communities_apart_in_a_complete_graph():
    group = np.arange(12) // 4
    first, second = np.triu_indices(12, 1)
    inside = group[first] == group[second]
    where = layout(12, first, second, np.where(inside, 0.6, 0.05))
    apart = np.linalg.norm(where[first] - where[second], axis=1)
    assert apart[inside].max() < apart[~inside].min()


def test_weights_without_any_weight_are_as_none():
    first, second = np.array([0, 1]), np.array([1, 2])
    np.testing.assert_array_equal(layout(3, first, second, np.zeros(2)), layout(3, first, second))


def circles(where, group):
    """Return the centre and radius of the circle around the box of each group."""
    found = []
    for label in np.unique(group):
        own = where[group == label]
        centre = (own.min(axis=0) + own.max(axis=0)) / 2
        found.append((centre, np.linalg.norm(own - centre, axis=1).max()))
    return found


@pytest.mark.parametrize("between", [0.0, 0.002, 0.05])
def test_communities_of_a_large_network_stand_in_discs_that_do_not_meet(between):
    sizes = [60, 40, 25, 3, 2, 2]
    graph = nx.random_partition_graph(sizes, 0.6, between, seed=4)
    graph.add_nodes_from(range(len(graph), len(graph) + 9))
    group = np.r_[np.repeat(np.arange(6), sizes), 6 + np.arange(9)]
    ends = np.array(sorted(graph.edges), dtype=np.intp)
    where = layout_apart(group, ends[:, 0], ends[:, 1], np.ones(len(ends)))
    joined = np.isin(np.arange(len(graph)), ends)
    found = circles(where[joined], group[joined])
    for (one, r), (other, s) in combinations(found, 2):
        assert np.linalg.norm(one - other) > r + s
    alone = where[~joined]
    assert len(np.unique(alone.round(6), axis=0)) == len(alone) >= 9
    assert alone[:, 1].min() > where[joined, 1].max()


def test_communities_that_heavy_edges_join_are_close():
    group = np.repeat(np.arange(3), 20)
    first = np.r_[np.arange(60)[np.arange(60) % 20 != 19], 5, 25]
    second = np.r_[np.arange(60)[np.arange(60) % 20 != 19] + 1, 25, 45]
    where = layout_apart(group, first, second, np.r_[np.ones(57), 9.0, 1.0])
    (a, _), (b, _), (c, _) = circles(where, group)
    assert np.linalg.norm(a - b) < np.linalg.norm(b - c)


def test_pushing_changes_nothing_where_discs_do_not_meet():
    centre = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 5.0]])
    np.testing.assert_array_equal(pushed_apart(centre, np.array([1.0, 2.0, 1.0])), centre)
    same = pushed_apart(np.array([[0.0, 0.0], [1e-3, 0.0]]), np.array([1.0, 1.0]))
    assert np.linalg.norm(same[0] - same[1]) >= 2 - 1e-6
