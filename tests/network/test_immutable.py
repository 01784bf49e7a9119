"""A network cannot be changed: not through its parts, not through what it was made of, not in a copy."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gpmnet.network import Axis, Facts, MarkovNetwork, Pairs, Shapes, matrix
from gpmnet.network.pairs import DTYPES
from gpmnet.selection import Cutoff


@pytest.fixture
def copies(shaped, tmp_path):
    """The network itself, used before it was copied, and every copy of it there is."""
    shaped.adjacency, shaped.edges, shaped.neighbors("grade")
    shaped.save(tmp_path / "saved")
    return {
        "itself": shaped,
        "pickled": pickle.loads(pickle.dumps(shaped)),  # noqa: S301
        "twice": pickle.loads(pickle.dumps(copy.deepcopy(shaped), protocol=2)),  # noqa: S301
        "deep": copy.deepcopy(shaped),
        "shallow": copy.copy(shaped),
        "loaded": MarkovNetwork.load(tmp_path / "saved"),
        "replaced": replace(shaped, cutoff=Cutoff(0.1)),
        "part": shaped.subgraph(shaped.names[:3]),
        "filtered": shaped.filter(q=0.5, strength=0.2),
    }


def arrays(network):
    yield from ((name, getattr(network.pairs, name)) for name in DTYPES)
    yield "adjacency", network.adjacency
    yield "shape pair", network.shapes.pair
    yield from (("grid", grid) for grid in network.shapes.values)


def test_no_array_can_be_written_or_unlocked(copies):
    for which, network in copies.items():
        for name, array in arrays(network):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True
            assert array.size, (which, name)


def test_nothing_else_can_be_written(copies):
    for network in copies.values():
        assert isinstance(network.names, tuple)
        assert isinstance(network.kinds, tuple)
        with pytest.raises(TypeError):
            network.shapes.axes[0] = Axis((), ("x",))
        with pytest.raises(TypeError):
            network.facts.settings["fdr"] = 1
        for owner, field in (
            (network, "names"), (network, "cutoff"), (network.cutoff, "value"), (network.pairs, "first"),
            (network.shapes, "axes"), (network.shapes.axes[0], "labels"), (network.facts, "seed"),
        ):  # fmt: skip
            with pytest.raises(FrozenInstanceError):
                setattr(owner, field, None)
        with pytest.raises(AttributeError):
            network.adjacency = None


def test_copies_say_the_same(copies, shaped):
    for which in ("pickled", "twice", "deep", "shallow", "loaded"):
        found = copies[which]
        assert (found.names, found.kinds, found.cutoff, found.facts) == (
            shaped.names, shaped.kinds, shaped.cutoff, shaped.facts,
        )  # fmt: skip
        assert found.edges.equals(shaped.edges)
        np.testing.assert_array_equal(found.adjacency, shaped.adjacency)
        assert found.explain("density", "alcohol").text == shaped.explain("density", "alcohol").text


def test_what_it_was_made_of_may_change():
    names, kinds = ["a", "b", "c"], ["continuous"] * 3
    given = {name: np.array([0, 1], dtype=dtype) for name, dtype in DTYPES.items()} | {
        "second": np.array([1, 2])
    }
    grid, at, axes = np.zeros((2, 2), dtype=np.float32), np.array([0]), {0: Axis((), "ab"), 1: Axis((), "cd")}
    network = MarkovNetwork(names, Pairs(**given), kinds, shapes=Shapes(axes, at, (grid,)), facts=Facts())
    before = pickle.dumps(network)
    names[0], kinds[0] = "z", "discrete"
    for array in given.values():
        array[:] = 1
    grid += 1
    at += 5
    axes.clear()
    assert pickle.dumps(network) == before
    adjacency = np.array([[False, True], [True, False]])
    network = MarkovNetwork.from_adjacency(("a", "b"), adjacency, weights=np.ones((2, 2)))
    adjacency[:] = False
    assert network.adjacency.tolist() == [[False, True], [True, False]]


def test_frames_of_edges_belong_to_the_caller(shaped):
    frame = shaped.edges
    frame["strength"] = 0.0
    frame.loc[0, "source"] = "other"
    assert shaped.edges.loc[0, "source"] == "density"
    assert shaped.edges["strength"].min() > 0


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_a_sparse_matrix_cannot_be_written_but_can_be_used(monkeypatch, shaped):
    dense = shaped.adjacency
    monkeypatch.setattr(matrix, "DENSE_UP_TO", 3)
    for network in (replace(shaped), pickle.loads(pickle.dumps(shaped)), copy.deepcopy(shaped)):  # noqa: S301
        found = network.adjacency
        assert isinstance(found, csr_array)
        for part in (found.data, found.indices, found.indptr):
            with pytest.raises(ValueError, match="read-only"):
                part[0] = 0
            with pytest.raises(ValueError, match="WRITEABLE"):
                part.flags.writeable = True
        for at in ((0, 1), (1, 3)):
            with pytest.raises(ValueError, match="read-only"):
                found[at] = False
        found.data = np.zeros_like(found.data)  # his own matrix, not the network's
        np.testing.assert_array_equal(network.adjacency.toarray(), dense)
        assert (network.adjacency @ np.ones(4)).tolist() == dense.sum(axis=1).tolist()
        assert connected_components(network.adjacency)[0] == 1
        network.adjacency.sort_indices()
        assert network.adjacency.sum(axis=0).tolist() == dense.sum(axis=0).tolist()
