"""The class of a directed graph against all graphs that there are."""

import copy
import json
import pickle
from collections import defaultdict
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from gpmnet.directed import CPDAG
from gpmnet.directed.meek import close, colliders, extension, is_acyclic
from gpmnet.errors import InputError


def all_dags(d):
    """Yield every directed graph without cycles on d nodes; networkx says what a cycle is."""
    pairs = list(combinations(range(d), 2))
    for ways in product((0, 1, 2), repeat=len(pairs)):
        arrows = np.zeros((d, d), dtype=bool)
        for (a, b), way in zip(pairs, ways, strict=True):
            if way:
                arrows[(a, b) if way == 1 else (b, a)] = True
        if nx.is_directed_acyclic_graph(nx.from_numpy_array(arrows, create_using=nx.DiGraph)):
            yield arrows


def independences(arrows):
    """Return all statements of d-separation of two nodes given a set, by networkx."""
    graph, d = nx.from_numpy_array(arrows, create_using=nx.DiGraph), len(arrows)
    return frozenset(
        (a, b, given)
        for a, b in combinations(range(d), 2)
        for size in range(d - 1)
        for given in combinations(sorted(set(range(d)) - {a, b}), size)
        if nx.is_d_separator(graph, {a}, {b}, set(given))
    )


def union(graphs):
    """Return what graphs have in common: arrows that all have, and lines where they differ."""
    any_way = np.logical_or.reduce(graphs)
    undirected = any_way & any_way.T
    return any_way & ~undirected, undirected


def names(d):
    return [f"v{k}" for k in range(d)]


def test_four_nodes_by_their_independences():
    classes = defaultdict(list)
    for arrows in all_dags(4):
        classes[independences(arrows)].append(arrows)
    assert sum(len(graphs) for graphs in classes.values()) == 543  # OEIS A003024
    assert len(classes) == 185  # OEIS A007984
    for graphs in classes.values():
        expected = CPDAG(names(4), *union(graphs))
        assert all(CPDAG.from_dag(arrows, names(4)) == expected for arrows in graphs)


@pytest.mark.slow
def test_five_nodes_by_skeleton_and_colliders():
    classes = defaultdict(list)
    for arrows in all_dags(5):
        key = (arrows | arrows.T).tobytes(), frozenset(colliders(arrows))
        classes[key].append(arrows)
    assert sum(len(graphs) for graphs in classes.values()) == 29281
    assert len(classes) == 8782
    for graphs in classes.values():
        expected = CPDAG(names(5), *union(graphs))
        assert CPDAG.from_dag(graphs[0], names(5)) == expected
        assert CPDAG.from_dag(graphs[-1], names(5)) == expected


def random_dag(rng, d, share=0.4):
    order = rng.permutation(d)
    arrows = np.triu(rng.random((d, d)) < share, 1)
    return arrows[np.ix_(order, order)]


@pytest.mark.parametrize("seed", range(40))
def test_knowledge_orients_what_all_graphs_that_agree_with_it_share(seed):
    """Some reversible edges of a class of five are given the directions of one member."""
    rng = np.random.default_rng(seed)
    truth = random_dag(rng, 5, 0.7)
    graph = CPDAG.from_dag(truth, names(5))
    key = colliders(truth)
    members = [
        arrows for arrows in orientations(graph.skeleton) if is_acyclic(arrows) and colliders(arrows) == key
    ]
    known = graph.undirected & truth & (rng.random((5, 5)) < 0.4)
    agreeing = [arrows for arrows in members if (arrows & known).sum() == known.sum()]
    found = close(graph.directed | known, graph.undirected & ~known & ~known.T)
    for mine, theirs in zip(found, union(agreeing), strict=True):
        assert np.array_equal(mine, theirs)
    CPDAG(names(5), *found)  # is accepted


def orientations(skeleton):
    edges = np.argwhere(np.triu(skeleton)).tolist()
    for ways in product((False, True), repeat=len(edges)):
        arrows = np.zeros_like(skeleton)
        for (a, b), swap in zip(edges, ways, strict=True):
            arrows[(b, a) if swap else (a, b)] = True
        yield arrows


def test_an_extension_exists_exactly_where_one_does():
    """All ways to direct or not to direct the edges of random skeletons of four nodes, against enumeration."""
    rng = np.random.default_rng(1)
    seen = {True: 0, False: 0}
    for _ in range(150):
        skeleton = np.triu(rng.random((4, 4)) < 0.7, 1)
        skeleton |= skeleton.T
        some = np.triu(skeleton)
        flips = np.triu(rng.random((4, 4)) < 0.5, 1)
        some = np.where(flips | flips.T, some.T, some)
        directed = some & (rng.random((4, 4)) < 0.5)
        undirected = skeleton & ~directed & ~directed.T
        wanted = colliders(directed, skeleton)
        there = [
            arrows
            for arrows in orientations(skeleton)
            if is_acyclic(arrows) and not (directed & ~arrows).any() and colliders(arrows) == wanted
        ]
        found = extension(directed, undirected)
        assert (found is not None) == bool(there)
        assert found is None or any(np.array_equal(found, arrows) for arrows in there)
        seen[bool(there)] += 1
    assert min(seen.values()) > 10


def test_a_contradiction_stays_open_whatever_the_order():
    """0 -> 1 - 2 <- 3, with 0 - 2 and 1 - 3 not adjacent: both directions of 1 - 2 follow."""
    directed, undirected = np.zeros((2, 4, 4), dtype=bool)
    directed[0, 1] = directed[3, 2] = undirected[1, 2] = undirected[2, 1] = True
    arrows, lines = close(directed, undirected)
    assert np.array_equal(arrows, directed)
    assert np.array_equal(lines, undirected)
    assert extension(directed, undirected) is None


def test_columns_in_another_order():
    rng = np.random.default_rng(3)
    arrows = random_dag(rng, 12, 0.3)
    order = rng.permutation(12)
    mine = CPDAG.from_dag(arrows, names(12))
    other = CPDAG.from_dag(arrows[np.ix_(order, order)], [names(12)[at] for at in order])
    assert set(mine.compelled) == set(other.compelled)
    assert {frozenset(edge) for edge in mine.reversible} == {frozenset(edge) for edge in other.reversible}


@pytest.fixture
def collider():
    """a -> c <- b, c -> e, and f - g."""
    arrows = np.zeros((6, 6), dtype=bool)
    arrows[0, 2] = arrows[1, 2] = arrows[2, 3] = arrows[4, 5] = True
    return CPDAG.from_dag(arrows, ["a", "b", "c", "e", "f", "g"])


def test_questions(collider):
    assert repr(collider) == "CPDAG(6 variables, 3 compelled, 1 reversible)"
    assert collider.compelled == (("a", "c"), ("b", "c"), ("c", "e"))
    assert collider.reversible == (("f", "g"),)
    assert collider.parents("c") == ("a", "b")
    assert collider.children("c") == ("e",)
    assert collider.siblings("f") == ("g",)
    assert collider.ancestors("e") == ("a", "b", "c")
    assert collider.descendants("a") == ("c", "e")
    assert collider.ancestors("f") == ()
    moral = collider.moral().toarray()
    assert moral[0, 1]
    assert moral.sum() == 2 * 5
    with pytest.raises(InputError, match="no variable is called 'x'"):
        collider.parents("x")


def test_a_member_of_the_class(collider):
    assert CPDAG.from_dag(collider.dag(), collider.names) == collider


def test_networkx(collider):
    graph = collider.to_networkx()
    assert list(graph) == list(collider.names)
    assert graph["a"]["c"]["kind"] == "compelled"
    assert not graph.has_edge("c", "a")
    assert graph["f"]["g"]["kind"] == graph["g"]["f"]["kind"] == "reversible"


def test_it_cannot_be_changed(collider):
    for graph in (collider, copy.deepcopy(collider), pickle.loads(pickle.dumps(collider))):  # noqa: S301
        assert graph == collider
        assert hash(graph) == hash(collider)
        with pytest.raises(ValueError, match="read-only"):
            graph.directed[0, 1] = True
    assert collider != CPDAG.from_dag(np.zeros((6, 6), dtype=bool), collider.names)
    assert collider != "a graph"


def test_saved_and_loaded_with_hostile_names(tmp_path, collider):
    hostile = ["\u202e", "a,b\n", '"', "NaN", "🦆", "-->"]
    graph = CPDAG(hostile, collider.directed, collider.undirected)
    graph.save(tmp_path / "cpdag.json")
    assert CPDAG.load(tmp_path / "cpdag.json") == graph


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a gpmnet CPDAG"),
        ({"version": 9}, "format '9'"),
        ({"names": "abc"}, "names: a list is expected"),
        ({"names": ["a", "b", "c", "e", "f", "f"]}, "share a name: 'f'"),
        ({"compelled": [[0, 9]]}, "no pair of variables"),
        ({"compelled": [[0, 2, 3]]}, "no pair of variables"),
        ({"compelled": [[0, 2], [0, 2]]}, "there twice"),
        ({"compelled": [[0, True]]}, "whole number"),
        ({"compelled": [[0, 0]]}, "joins a variable with itself"),
        ({"compelled": [[4, 5]]}, "joined by two edges"),
        ({"compelled": [[0, 1], [1, 2], [2, 0]]}, "cycle"),
        ({"compelled": [[0, 1]], "reversible": [[1, 2]]}, "from 'b' to 'c' follows"),
        ({"compelled": [], "reversible": [[0, 1], [1, 2], [2, 3], [0, 3]]}, "no directed graph"),
    ],
)
def test_damaged_files_are_refused_in_one_line(tmp_path, collider, change, message):
    path = tmp_path / "cpdag.json"
    path.write_text(json.dumps(collider.to_dict() | change))
    with pytest.raises(InputError, match=message) as raised:
        CPDAG.load(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_what_is_no_json_is_refused(tmp_path, text):
    (tmp_path / "cpdag.json").write_text(text)
    with pytest.raises(InputError, match="no valid JSON"):
        CPDAG.load(tmp_path / "cpdag.json")
    with pytest.raises(InputError, match="cannot be read"):
        CPDAG.load(tmp_path / "missing.json")


def test_matrices_that_fit_nothing_are_refused():
    with pytest.raises(InputError, match=r"shape \(2, 2\); 3 names"):
        CPDAG.from_dag(np.zeros((2, 2)), names(3))
    with pytest.raises(InputError, match="true and false"):
        CPDAG.from_dag(np.full((2, 2), 0.5), names(2))
    with pytest.raises(InputError, match="the directed graph has a cycle"):
        CPDAG.from_dag(np.array([[0, 1], [1, 0]]), names(2))
    with pytest.raises(InputError, match="not symmetric"):
        CPDAG(names(2), np.zeros((2, 2)), np.array([[0, 1], [0, 0]]))
