from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpmnet.errors import InputError
from gpmnet.network import Axis, MarkovNetwork, Pairs, Shapes
from gpmnet.selection import Cutoff

NAMES = tuple("abcdefgh")


def random_network(seed, names=NAMES):
    rng = np.random.default_rng(seed)
    d = len(names)
    first, second = np.triu_indices(d, 1)
    kept = rng.random(len(first)) < 0.6
    first, second = first[kept], second[kept]
    q = rng.random(len(first)) * 0.2
    return MarkovNetwork(
        names,
        Pairs.of(first, second, q <= 0.1, q_value=q, strength=rng.random(len(q)), sign=rng.choice([-1, 0, 1], len(q))),
        cutoff=Cutoff(0.1),
    )  # fmt: skip


@given(st.integers(0, 500), st.sets(st.sampled_from("bcdefg")))
def test_a_path_is_a_shortest_witness_and_absent_just_when_separated(seed, closed):
    net = random_network(seed)
    rest = net.to_networkx()
    rest.remove_nodes_from(closed)
    path = net.path("a", "h", given=sorted(closed))
    assert net.separates("a", "h", given=sorted(closed)) is (path is None)
    assert (path is not None) == nx.has_path(rest, "a", "h")
    if path is not None:
        assert path[0] == "a"
        assert path[-1] == "h"
        assert all(rest.has_edge(*step) for step in pairwise(path))
        assert len(path) == len(nx.shortest_path(rest, "a", "h"))


@given(st.integers(0, 500))
def test_blanket_degree_isolated_and_edges_of_agree_with_networkx(seed):
    net = random_network(seed)
    graph = net.to_networkx()
    assert net.degree == dict(graph.degree)
    assert net.isolated == tuple(nx.isolates(graph))
    for name in net.names:
        assert set(net.markov_blanket(name)) == set(graph[name])
        frame = net.edges_of(name)
        assert {*frame["source"], *frame["target"]} - {name} == set(graph[name])


def test_communities_are_a_partition_and_find_two_cliques():
    block = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)
    block[3, 4] = block[4, 3] = 1
    net = MarkovNetwork.from_adjacency(NAMES, block)
    assert net.communities() == (tuple("abcd"), tuple("efgh"))
    empty = MarkovNetwork.from_adjacency(NAMES, np.zeros((8, 8)))
    assert empty.communities() == tuple((name,) for name in NAMES)


@given(st.integers(0, 500), st.sets(st.sampled_from(NAMES)))
def test_subgraph_is_the_induced_graph(seed, chosen):
    net = random_network(seed)
    part = net.subgraph(chosen)
    assert part.names == tuple(name for name in NAMES if name in chosen)
    induced = net.to_networkx().subgraph(chosen)
    assert {frozenset(e) for e in part.to_networkx().edges} == {frozenset(e) for e in induced.edges}
    for a, b in induced.edges:
        assert part.to_networkx().edges[a, b] == induced.edges[a, b]


def test_subgraph_and_filter_keep_shapes_with_their_pairs(shaped):
    part = shaped.subgraph(["grade", "<colour>", "density"])
    for a, b in (("density", "<colour>"), ("<colour>", "grade")):
        np.testing.assert_array_equal(part.explain(a, b).values, shaped.explain(a, b).values)
        assert part.explain(a, b).x.labels == shaped.explain(a, b).x.labels
    strong = shaped.filter(strength=0.3)
    assert len(strong.pairs) == 2
    np.testing.assert_array_equal(
        strong.explain("density", "<colour>").values, shaped.explain("density", "<colour>").values
    )


@given(st.integers(0, 500), st.sampled_from([0.01, 0.05, 0.1, 0.15, 0.2]))
def test_filter_moves_the_cutoff_both_ways_and_back(seed, q):
    net = random_network(seed)
    moved = net.filter(q=q)
    np.testing.assert_array_equal(moved.pairs.is_edge, net.pairs.q_value <= q)
    assert moved.fdr == q
    assert net.fdr == 0.1
    np.testing.assert_array_equal(moved.filter(q=0.1).pairs.is_edge, net.pairs.is_edge)
    both = net.filter(q=q, strength=0.5)
    again = net.filter(strength=0.5).filter(q=q)
    assert both.edges.equals(again.edges)
    assert (both.pairs.strength >= 0.5).all()


@pytest.mark.parametrize("of", ["q", "p"])
def test_required_edges_survive_a_stricter_cutoff(of):
    pairs = Pairs.of([0, 1], [1, 2], [True, True], p_value=[0.8, 0.01], q_value=[0.9, 0.03])
    net = MarkovNetwork(("a", "b", "c"), pairs, cutoff=Cutoff(0.05, of))
    moved = net.filter(q=0.01)
    assert moved.neighbors("b") == ("a",)
    assert moved.cutoff == Cutoff(0.01)


@pytest.mark.parametrize("options", [{"q": 2}, {"q": float("nan")}, {"strength": -1}, {"strength": 0.1}])
def test_filter_refuses_what_it_cannot_do(options):
    net = MarkovNetwork(("a", "b"), Pairs.of([0], [1], q_value=[0.1]))
    with pytest.raises(InputError):
        net.filter(**options)


@given(st.integers(0, 300), st.integers(0, 300))
def test_comparison_counts_as_sets_do(seed, other):
    here, there = random_network(seed), random_network(other, tuple("hgfedcbz"))
    found = here.compare(there)
    both = set("bcdefgh")
    mine, theirs = (
        {frozenset(e) for e in net.to_networkx().edges if set(e) <= both} for net in (here, there)
    )
    assert {frozenset(e) for e in found.common} == mine & theirs
    assert found.hamming == len(mine ^ theirs)
    assert found.jaccard == (len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0)
    assert (found.names_only_here, found.names_only_there) == (("a",), ("z",))
    assert found.n_left_out == here.n_edges + there.n_edges - len(mine) - len(theirs)
    graphs = here.to_networkx(), there.to_networkx()
    for edge in found.common:
        signs = [graph.edges[edge]["sign"] for graph in graphs]
        assert (edge in found.flipped) == (sorted(signs) == [-1, 1])
    frame = found.to_frame()
    assert len(frame) == len(mine | theirs)
    assert frame["here"].sum() == len(mine)
    assert "'a'" in repr(found)


def test_html_shows_hostile_names_as_text(hostile, shaped):
    page = hostile.subgraph(hostile.names[:3])._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    page = hostile._repr_html_()
    assert "The 10 strongest edges" in page
    assert "<colour>" not in shaped._repr_html_()
    page = hostile.compare(hostile.filter(q=0.0))._repr_html_()
    assert "<script>" not in page
    assert "only here" in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"names": ("a", "a", "b", "c")}, "differ"),
        ({"names": ("a", "b")}, "does not have"),
        ({"kinds": ("continuous",)}, "1 kinds"),
    ],
)
def test_a_network_checks_its_parts(shaped, change, words):
    with pytest.raises(InputError, match=words):
        replace(shaped, **({"kinds": ()} | change))


def test_shapes_must_fit():
    axis, grid = Axis((), ("a", "b")), np.zeros((2, 2))
    pairs = Pairs.of([0], [1])
    for shapes in (
        lambda: Shapes({0: axis, 1: axis}, np.array([1]), (grid,)),
        lambda: Shapes({0: axis}, np.array([0]), (grid,)),
        lambda: Shapes({0: axis, 1: axis}, np.array([0]), (np.zeros((2, 3)),)),
        lambda: Shapes({0: axis, 1: axis}, np.array([0]), (np.full((2, 2), np.nan),)),
        lambda: Shapes({0: axis, 1: axis}, np.array([0, 0]), (grid, grid)),
        lambda: Shapes({0: Axis((2.0, 1.0), ("2", "1"))}, np.array([0]), (grid,)),
    ):
        with pytest.raises(InputError):
            MarkovNetwork(("x", "y"), pairs, shapes=shapes())
