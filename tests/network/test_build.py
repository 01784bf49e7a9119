"""From what an engine found to the network: columns that repeat others, axes, Omega, which edges are shown."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from gpmnet.columns.functions import GRID
from gpmnet.engines.base import Description, Found
from gpmnet.errors import InputError
from gpmnet.network import Facts, Origin, build, matrix
from gpmnet.network.build import Draft, build_network, edges_alone, shown_edges
from gpmnet.selection import Chosen, Cutoff
from gpmnet.table import load_table

N = 60
RNG = np.random.default_rng(0)
SIZE, DAY = RNG.normal(size=N), RNG.permutation(N)
GRADES = [f"g{at:02d}" for at in range(12)]
FRAME = pd.DataFrame(
    {
        "double": 2 * SIZE + 1,  # stands for "size", since it comes first
        "constant": 1,
        "colour": RNG.choice(["red", "white", "pink"], N),
        "size": SIZE,
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(DAY, "D"),
        "grade": pd.Categorical.from_codes(RNG.permutation(N) % 12, GRADES, ordered=True),
    }
)
FRAME.insert(0, "farbe", FRAME["colour"].map({"red": "rot", "white": "weiss", "pink": "rosa"}))
VARIABLES = ("farbe", "double", "day", "grade")
ENDS = np.array([[0, 1], [0, 2], [1, 3], [2, 3]])
SHOWN = np.array([0, 1, 3])


@dataclass(frozen=True, eq=False)
class Toy(Found):
    """Four pairs over four variables; the third only came close."""

    def describe(self, is_edge, shown):
        width = {0: 3, 1: len(GRID), 2: len(GRID), 3: len(GRID)}
        surfaces = [
            np.full((width[a], width[b]), at, dtype=np.float32) for at, (a, b) in enumerate(ENDS[shown])
        ]
        return Description(np.where(is_edge, [0.1, 0.2, np.nan, 0.4], np.nan), np.arange(1.0, 5.0), surfaces)


@pytest.fixture
def table():
    loaded = load_table(FRAME)
    assert loaded.names == VARIABLES
    assert loaded.schema.duplicates == {"colour": "farbe", "size": "double"}
    return loaded


@pytest.fixture
def found():
    log_p = np.log([1e-9, 1e-5, 0.1, 1e-3])
    strength, error = np.array([0.9, 0.5, 0.1, 0.3]), np.array([0.05, 0.1, 0.1, np.nan])
    sign = np.array([1.0, -1.0, 0.0, np.nan])
    return Toy(
        *ENDS.T, log_p, strength, error, np.zeros(4), sign, np.array([60.0, 50.0, 40.0, 30.0]), 3, (), {}
    )


@pytest.fixture
def chosen(found):
    p = np.exp(found.log_p)
    return Chosen(np.array([True, True, False, True]), p, 2 * p)


@pytest.fixture
def built(table, found, chosen):
    facts = Facts(table.schema, settings={"fdr": 0.05}, seed=3, origin=Origin("toy.csv"))
    described = found.describe(chosen.is_edge, SHOWN)
    return build_network(Draft(table, found, chosen, Cutoff(0.05)), described, SHOWN, facts)


def test_the_network_has_every_column_that_is_not_ignored(built, table):
    network, _ = built
    assert network.names == ("farbe", "double", "colour", "size", "day", "grade")
    assert network.kinds == ("discrete", "continuous", "discrete", "continuous", "continuous", "ordinal")
    assert (network.n_rows, network.cutoff, network.fdr) == (N, Cutoff(0.05), 0.05)
    assert network.facts == Facts(table.schema, {"fdr": 0.05}, 3, origin=Origin("toy.csv"))


def test_a_column_that_repeats_another_is_joined_to_it_alone(built):
    network, _ = built
    edges = {frozenset(ends) for ends in network.edges[["source", "target"]].to_numpy().tolist()}
    assert edges == {
        frozenset(ends)
        for ends in (
            ("farbe", "double"), ("farbe", "day"), ("day", "grade"), ("farbe", "colour"), ("double", "size")
        )
    }  # fmt: skip
    twin = network.explain("size", "double")
    assert (twin.strength, twin.p_value, twin.q_value, twin.sign) == (1.0, 0.0, 0.0, 0.0)
    assert np.isnan(twin.omega)
    assert "repeats the other" in twin.text
    near = network.explain("double", "grade")
    assert (near.is_edge, near.strength, near.form) == (False, 0.1, "none")


def test_figures_go_with_their_pairs(built, found, chosen):
    network, _ = built
    for at, (a, b) in enumerate(ENDS):
        pair = network.explain(VARIABLES[a], VARIABLES[b])
        assert pair.strength == found.strength[at]
        assert pair.n_rows == found.n_rows[at]
        assert (pair.p_value, pair.q_value) == (chosen.p_value[at], chosen.q_value[at])
        np.testing.assert_equal(pair.sign, found.sign[at])
        assert (pair.values is not None) == (at in SHOWN)
    for place, at in enumerate(SHOWN):
        pair = network.explain(VARIABLES[ENDS[at, 0]], VARIABLES[ENDS[at, 1]])
        assert (pair.values == place).all()


def test_axes_are_in_the_units_of_the_data(built, table):
    network, _ = built
    axes = {network.names[at]: axis for at, axis in network.shapes.axes.items()}
    assert set(axes) == set(VARIABLES)
    assert (axes["farbe"].values, axes["farbe"].labels) == ((), table.schema["farbe"].levels)
    shares = FRAME["farbe"].value_counts() / N
    assert axes["farbe"].shares == tuple(shares[label] for label in axes["farbe"].labels)
    assert axes["day"].labels[::10] == ("2020-01-02", "2020-01-31", "2020-02-28")
    assert axes["day"].values == tuple(table.decode("day", GRID))
    assert axes["double"].labels == tuple(f"{value:.4g}" for value in table.decode("double", GRID))
    assert axes["grade"].values == ()  # the labels of a long ordered category have no scale
    assert (axes["grade"].labels[0], axes["grade"].labels[-1]) == (GRADES[0], GRADES[-1])


def test_omega_is_symmetric_and_a_twin_has_the_diagonal_of_its_column(built):
    network, omega = built
    expected = np.diag([1.0, 2.0, 1.0, 2.0, 3.0, 4.0])
    for a, b, value in ((0, 1, 0.1), (0, 4, 0.2), (4, 5, 0.4), (0, 2, np.nan), (1, 3, np.nan)):
        expected[a, b] = expected[b, a] = value
    np.testing.assert_array_equal(omega, expected)
    np.testing.assert_array_equal((omega != 0) & ~np.eye(6, dtype=bool), network.adjacency)


def test_large_networks_are_sparse_and_have_no_shapes(monkeypatch, table, found, chosen, built):
    monkeypatch.setattr(matrix, "DENSE_UP_TO", 3)
    shown = shown_edges(len(VARIABLES), chosen, found.strength)
    assert shown.tolist() == []
    described = found.describe(chosen.is_edge, shown)
    draft = Draft(table, found, chosen, Cutoff(0.01, "p"))
    network, omega = build_network(draft, described, shown, Facts(table.schema))
    assert isinstance(omega, csr_array)
    np.testing.assert_array_equal(omega.toarray(), built[1])
    assert isinstance(network.adjacency, csr_array)
    assert len(network.shapes) == 0
    assert network.fdr is None
    assert network.facts == Facts(table.schema)


def test_the_strongest_edges_are_shown_the_surest_of_equals(monkeypatch):
    chosen = Chosen(
        np.array([True, True, True, False, True]), np.array([0.03, 0.02, 0.5, 0.0, 0.01]), np.zeros(5)
    )
    strength = np.array([0.3, 0.3, 0.9, 1.0, 0.3])
    assert shown_edges(9, chosen, strength).tolist() == [0, 1, 2, 4]
    monkeypatch.setattr(build, "MOST_SHAPES", 2)
    assert shown_edges(9, chosen, strength).tolist() == [2, 4]


def test_a_table_without_twins_or_edges(found):
    table = load_table(FRAME[["farbe", "double", "day", "grade"]])
    none = Chosen(np.zeros(4, dtype=bool), np.exp(found.log_p), np.ones(4))
    shown = shown_edges(4, none, found.strength)
    described = found.describe(none.is_edge, shown)
    network, omega = build_network(Draft(table, found, none, None), described, shown, Facts())
    assert (network.n_edges, len(network.pairs), network.cutoff) == (0, 4, None)
    np.testing.assert_array_equal(omega, np.diag([1.0, 2.0, 3.0, 4.0]))


def test_correlations_are_computed_once_for_the_edges_alone_and_the_network(
    monkeypatch, table, found, chosen
):
    asked = []
    plain = build.rank_correlations
    monkeypatch.setattr(build, "rank_correlations", lambda *given: asked.append(1) or plain(*given))
    draft = Draft(table, found, chosen, Cutoff(0.05))
    before = edges_alone(draft, Facts())
    network, _ = build_network(draft, found.describe(chosen.is_edge, SHOWN), SHOWN, Facts())
    assert asked == [1]
    np.testing.assert_array_equal(before.pairs.marginal, network.pairs.marginal)
    assert np.isfinite(network.pairs.marginal).any()


def test_surfaces_must_fit_the_edges_shown(table, found, chosen):
    described = found.describe(chosen.is_edge, SHOWN)
    with pytest.raises(InputError, match="one grid a pair"):
        build_network(Draft(table, found, chosen, Cutoff(0.05)), described, SHOWN[:2], Facts())
