"""`min_strength`: the hypothesis of a pair becomes "the strength is at most this"; and the note on dense networks."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from gpmnet import GPM, MarkovNetwork
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.local import LocalEngine
from gpmnet.errors import InputError
from gpmnet.network.density import density_note
from gpmnet.network.report.summary import summarise
from gpmnet.selection import Cutoff


def everything_depends(n, d=6, seed=0):
    """Strong edges along a chain, and weak ones between all others: what many real tables look like with many rows."""
    coupling = np.triu(np.full((d, d), 0.11), 1)
    at = np.arange(d - 1)
    coupling[at, at + 1] = 0.5
    spins = np.array(list(itertools.product([-1, 1], repeat=d)))
    p = np.exp(((spins @ coupling) * spins).sum(axis=1))
    drawn = np.random.default_rng(seed).choice(len(p), n, p=p / p.sum())
    return pd.DataFrame((spins[drawn] + 1) // 2, columns=[f"v{k}" for k in range(d)])


@pytest.fixture(scope="module")
def table():
    return everything_depends(4000)


@pytest.fixture(scope="module")
def plain(table):
    return GPM().fit(table).network_


@pytest.fixture(scope="module")
def strong(table):
    return GPM(min_strength=0.15).fit(table).network_


def test_zero_is_the_hypothesis_of_no_dependence(plain, table):
    again = GPM(min_strength=0).fit(table).network_
    for name in ("p_value", "q_value", "strength", "is_edge"):
        np.testing.assert_array_equal(getattr(plain.pairs, name), getattr(again.pairs, name))
    assert plain.cutoff == Cutoff(0.05)


def test_p_values_are_at_least_those_of_no_dependence(plain, strong):
    np.testing.assert_array_equal(plain.pairs.first, strong.pairs.first)
    assert (strong.pairs.p_value >= plain.pairs.p_value).all()
    assert (strong.pairs.q_value >= plain.pairs.q_value).all()
    np.testing.assert_array_equal(strong.pairs.strength, plain.pairs.strength)
    edges = strong.pairs.take(np.flatnonzero(strong.pairs.is_edge))
    assert (edges.strength_low > 0.13).all()


def test_only_the_strong_edges_are_left(plain, strong):
    chain = {frozenset((f"v{k}", f"v{k + 1}")) for k in range(5)}
    found = {frozenset(pair) for pair in strong.edges[["source", "target"]].to_numpy().tolist()}
    assert found == chain
    assert plain.n_edges > 10


def test_more_rows_do_not_fill_the_graph():
    few, many = (GPM(min_strength=0.15).fit(everything_depends(n, seed=1)).network_ for n in (500, 4000))
    assert few.n_edges <= many.n_edges == 5
    filled = [GPM().fit(everything_depends(n, seed=1)).network_.n_edges for n in (500, 4000)]
    assert filled[1] > filled[0]


def test_it_is_recorded_and_said(strong, tmp_path):
    assert strong.cutoff == Cutoff(0.05, "q", 0.15)
    assert strong.facts.settings["min_strength"] == 0.15
    assert repr(strong) == "MarkovNetwork(6 variables, 4,000 rows, 5 edges stronger than 0.15 at FDR 0.05)"
    assert "5 edges stronger than 0.15 at FDR 0.05" in strong._repr_html_()
    said = strong.explain("v0", "v1").text
    assert "95% interval 0." in said
    assert "for a strength of at most 0.15" in said
    assert "no edge stronger than 0.15" in strong.explain("v0", "v4").text
    strong.save(tmp_path)
    assert MarkovNetwork.load(tmp_path).cutoff == strong.cutoff
    assert strong.filter(q=0.001).cutoff == Cutoff(0.001, "q", 0.15)
    assert "stronger than 0.15" in summarise(strong)["headline"]["edges"]


def test_with_a_plain_threshold(table):
    network = GPM(threshold=0.01, min_strength=0.15).fit(table).network_
    assert network.cutoff == Cutoff(0.01, "p", 0.15)
    assert network.n_edges == 5


def test_it_is_a_parameter_like_the_others():
    model = clone(GPM(min_strength=0.2)).set_params(min_strength=0.1)
    assert model.get_params()["min_strength"] == 0.1


@pytest.mark.parametrize("wrong", [-0.1, 1, 1.5, float("nan"), "0.1", None, True])
def test_what_is_no_strength_is_refused(wrong, table):
    with pytest.raises(InputError, match="min_strength must be a number from 0 to below 1"):
        GPM(min_strength=wrong).fit(table)


def test_an_engine_without_errors_is_refused(table, monkeypatch):
    fit = LocalEngine.fit

    def without(self, problem):
        found = fit(self, problem)
        object.__setattr__(found, "strength_error", np.full_like(found.strength, np.nan))
        return found

    monkeypatch.setattr(LocalEngine, "fit", without)
    small = table.iloc[:300, :3]
    assert np.isnan(GPM().fit(small).network_.pairs.strength_low).all()
    with pytest.raises(InputError, match="standard errors"):
        GPM(min_strength=0.1).fit(small)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_deep_engine_takes_it_too(table):
    options = DeepOptions(steps=20, n_folds=2)
    small = table.iloc[:800, :4]
    weak, strong = (
        GPM("deep", options=options, min_strength=least).fit(small).network_ for least in (0.0, 0.15)
    )
    assert strong.cutoff.min_strength == 0.15
    assert (strong.pairs.p_value >= weak.pairs.p_value).all()
    assert strong.n_edges == 3


def test_required_pairs_stay(table):
    network = GPM(min_strength=0.15, require=[("v0", "v5")]).fit(table).network_
    assert "v5" in network.neighbors("v0")


def test_a_dense_network_says_so(plain, strong, table):
    weak = int((plain.edges["strength"] < 0.2).sum())
    assert plain.n_edges > 7
    (note,) = plain.facts.warnings
    assert note.startswith(f"{plain.n_edges} of the 15 pairs are edges, {weak} of them weaker than 0.2")
    assert "min_strength" in note
    assert strong.facts.warnings == ()
    assert note in plain._repr_html_()
    about = next(part for part in summarise(plain)["notes"] if part["title"] == "About the table")
    assert ["", note] in about["items"]


@pytest.mark.parametrize(
    ("d", "n_edges", "is_dense"), [(4, 6, False), (5, 5, False), (5, 6, True), (13, 78, True)]
)
def test_dense_is_more_than_half_of_the_pairs_of_five_variables_or_more(d, n_edges, is_dense):
    assert bool(density_note(d, np.full(n_edges, 0.1))) == is_dense


def test_a_dense_network_of_strong_edges_is_not_told_to_drop_them():
    (note,) = density_note(5, np.full(8, 0.4))
    assert "min_strength" not in note
    (note,) = density_note(5, np.r_[np.full(8, 0.4), 0.15], min_strength=0.2)
    assert "min_strength" not in note
