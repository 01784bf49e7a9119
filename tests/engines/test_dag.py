"""The dag engine: directions, what edges rest on, what is known beforehand, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

from gpmnet import GPM, MarkovNetwork
from gpmnet.engines.dag import DagOptions
from gpmnet.errors import InputError
from gpmnet.simulate import simulate


@pytest.fixture(scope="module")
def table():
    """a -> c <- b, c -> e -> g; g has two levels."""
    rng = np.random.default_rng(0)
    a, b, e1, e2, e3 = rng.normal(size=(5, 1000))
    c = a + b + e1
    e = c + e2
    return pd.DataFrame({"a": a, "b": b, "c": c, "e": e, "g": np.where(e + e3 > 0, "yes", "no")})


@pytest.fixture(scope="module")
def model(table):
    return GPM(engine="dag").fit(table)


def rows(network):
    return {frozenset((row.source, row.target)): row for row in network.edges.itertuples()}


def test_the_network_is_the_moral_graph_and_says_what_edges_rest_on(model):
    assert model.dag_.compelled == (("a", "c"), ("b", "c"), ("c", "e"), ("e", "g"))
    found = rows(model.network_)
    assert set(found) == {frozenset(pair) for pair in ("ab", "ac", "bc", "ce", "eg")}
    assert found[frozenset("ab")].kind == "co-parents"
    assert found[frozenset("ab")].common_effects == ("c",)
    assert found[frozenset("ac")].kind == "arc"
    assert found[frozenset("ac")].direction == "->"
    assert all(row.evidence > 20 for row in found.values())
    assert all(row.p_value < 1e-6 and np.isnan(row.q_value) and row.omega > 0 for row in found.values())
    assert model.network_.cutoff is None
    assert any("fdr does not apply" in said for said in model.network_.facts.warnings)


def test_directions_are_saved_and_loaded(model, tmp_path):
    model.network_.save(tmp_path)
    again = MarkovNetwork.load(tmp_path)
    assert again.directions.graph == model.dag_
    pd.testing.assert_frame_equal(again.edges, model.network_.edges)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "graphml", "gexf", "json", "dot"])
def test_exports_say_the_kind(model, tmp_path, suffix):
    path = model.network_.export(tmp_path / f"edges.{suffix}")
    content = path.read_bytes()
    assert b"co-parents" in content
    if suffix == "csv":
        frame = pd.read_csv(path)
        effects = frame.set_index(["source", "target"])["common_effects"]
        assert effects["a", "b"] == '["c"]'
        assert frame["evidence"].min() > 20


def test_what_is_known_is_kept(table):
    model = GPM(engine="dag", arrows=[("g", "e")], tiers=[["c"], ["a"]], forbid=[("b", "g")]).fit(table)
    assert ("g", "e") in model.dag_.compelled
    assert "a" not in model.dag_.ancestors("c")
    assert ("c", "a") in model.dag_.compelled
    assert "g" not in model.network_.neighbors("b")
    required = GPM(engine="dag", require=[("a", "g")]).fit(table)
    assert "g" in required.network_.neighbors("a")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"arrows": [("a", "b"), ("b", "a")]}, "the known arrows make a cycle: 'a', 'b'"),
        ({"arrows": [("a", "b")], "tiers": [["b"], ["a"]]}, "'a' to 'b' is required, and forbidden"),
        ({"tiers": [["a", "nobody"]]}, "no variable 'nobody' for the tier"),
        ({"tiers": [["a"], ["a"]]}, "'a' is in the tiers twice"),
        ({"tiers": "ab"}, "tiers must be a list of lists of names"),
        ({"arrows": [("a", "nobody")]}, "no variable 'nobody'"),
        ({"threshold": 0.01}, "chosen by the score of a directed graph"),
        ({"min_strength": 0.1}, "chosen by the score of a directed graph"),
        ({"engine": "local", "tiers": [["a"]]}, "use engine='dag'"),
        ({"engine": "deep", "arrows": [("a", "b")]}, "use engine='dag'"),
    ],
)
def test_contradictions_and_unknown_names_are_refused(table, known, said):
    with pytest.raises(InputError, match=said):
        GPM(**({"engine": "dag"} | known)).fit(table)


def test_columns_in_another_order_give_the_same_network(table, model):
    again = GPM(engine="dag").fit(table[["g", "e", "c", "b", "a"]])
    assert set(again.dag_.compelled) == set(model.dag_.compelled)


def test_a_screen_says_who_may_be_a_parent(table, model):
    screened = GPM(engine="dag", options=DagOptions(screened_above=0)).fit(table)
    assert rows(screened.network_).keys() == rows(model.network_).keys()


def test_fill_in_can_be_dropped():
    """A ring of four is no directed graph's: one chord or two co-parents too many, which a test does not support."""
    rng = np.random.default_rng(1)
    precision = np.eye(4) * 1.5
    for at in range(4):
        precision[at, (at + 1) % 4] = precision[(at + 1) % 4, at] = 0.6
    ring = rng.multivariate_normal(np.zeros(4), np.linalg.inv(precision), 3000)
    everything = GPM(engine="dag").fit(ring).network_
    dropped = GPM(engine="dag", options=DagOptions(drop_fill_in=True)).fit(ring).network_
    assert everything.n_edges > 4
    assert set(rows(dropped)) == {frozenset((f"x{i + 1}", f"x{(i + 1) % 4 + 1}")) for i in range(4)}


@pytest.mark.parametrize("n", [12, 30])
def test_few_rows_are_enough_to_run(n):
    rng = np.random.default_rng(8)
    letters = np.array(["x", "y"])[rng.permutation(n) % 2]
    frame = pd.DataFrame({"a": letters, "b": rng.normal(size=n), "c": rng.normal(size=n)})
    kinds = {"a": "discrete", "b": "continuous", "c": "continuous"}
    assert GPM(engine="dag").fit(frame, kinds=kinds).dag_.d == 3


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_butterflies_are_found(kind):
    drawn = simulate("butterfly", d=10, n=1000, seed=3, kind=kind)
    kinds = dict(zip(drawn.names, drawn.kinds, strict=True))
    network = GPM(engine="dag").fit(drawn.frame(), kinds=kinds).network_
    assert np.array_equal(network.adjacency, drawn.truth.toarray())


def test_independent_columns_have_hardly_an_edge():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(400, 15))).rename(columns=str)
    for name in "345":
        frame[name] = rng.integers(0, 3, 400).astype(str)
    assert GPM(engine="dag").fit(frame).network_.n_edges <= 2
