"""Two networks and their tables: the permutation test, its page, and centralities."""

import json

import numpy as np
import pandas as pd
import pytest

import gpmnet
from gpmnet import comparing
from gpmnet.errors import InputError
from gpmnet.estimator import GPM
from gpmnet.network import MarkovNetwork, Pairs
from gpmnet.network.compare import by_difference


def chain(n, seed, slope=1.0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = slope * a + rng.normal(size=n)
    sex = np.where(b + rng.normal(size=n) > 0, "f", "m")
    return pd.DataFrame({"a": a, "b": b, "sex": sex})


def by_correlation(plan, table):
    """A stand-in for a fit: the correlation of a and b, known in closed form and in microseconds."""
    r = np.corrcoef(table.numbers.T)[0, 1]
    return MarkovNetwork(table.names, Pairs.of([0], [1], strength=[abs(r)], sign=[np.sign(r)]))


def test_p_values_are_shares_of_deals(monkeypatch):
    monkeypatch.setattr(comparing, "fit_edges", by_correlation)
    here, there = chain(40, 0), chain(30, 1, slope=0.3)
    kinds = {"a": "continuous", "b": "continuous", "sex": "discrete"}
    test = comparing.difference_test((here, there), kinds, GPM(), 59, seed=3)
    values = pd.concat([here, there])[["a", "b"]].to_numpy()

    def difference(rows):
        parts = values[rows[:40]], values[rows[40:]]
        return abs(np.subtract(*(np.corrcoef(part.T)[0, 1] for part in parts)))

    rng = np.random.default_rng(3)
    observed = difference(np.arange(70))
    drawn = [difference(rng.permutation(70)) for _ in range(59)]
    expected = (1 + sum(value >= observed for value in drawn)) / 60
    assert test.total == pytest.approx(observed)
    assert test.p_value == expected == test.p_values["a", "b"]
    assert 1 / 60 < test.p_value < 1


def test_the_test_holds_its_rate(monkeypatch):
    monkeypatch.setattr(comparing, "fit_edges", by_correlation)
    monkeypatch.setattr(comparing, "load_table", lambda frame, kinds: Numbers(frame))
    kinds = {"a": "continuous", "b": "continuous"}
    found = [
        comparing.difference_test(
            (chain(25, 2 * seed)[["a", "b"]], chain(35, 2 * seed + 1)[["a", "b"]]), kinds, GPM(), 19, seed
        ).p_value
        for seed in range(300)
    ]
    # Of 300 p-values, uniform over 1/20, ..., 1: 15 are 0.05 on average, and 27 or more in one of a thousand tries.
    assert np.count_nonzero(np.array(found) <= 0.05) < 27
    assert np.mean(found) == pytest.approx(0.525, abs=0.06)


class Numbers:
    """As much of a table as `by_correlation` asks for."""

    def __init__(self, frame):
        self.names = tuple(frame.columns)
        self.numbers = frame.to_numpy()


def test_a_real_difference_is_found_and_none_is_not():
    here, there, like = chain(150, 0), chain(150, 1, slope=-1.0), chain(150, 2)
    networks = {name: gpmnet.fit(table) for name, table in (("here", here), ("there", there), ("like", like))}
    found = gpmnet.compare(networks["here"], networks["there"], tables=(here, there), permutations=9)
    assert found.flipped == (("a", "b"),)
    assert found.test.p_value == 0.1 == found.test.p_values["a", "b"]
    assert "p = 0.1 by 9 permutations" in repr(found)
    same = gpmnet.compare(networks["here"], networks["like"], tables=(here, like), permutations=9)
    assert same.test.p_value > 0.1
    said = json.loads(json.dumps(found.to_dict()))
    assert said["test"]["permutations"] == 9
    assert {(row["source"], row["target"]) for row in said["edges"]} >= {("a", "b")}


def test_what_cannot_be_tested_is_refused():
    here = chain(150, 0)
    network = gpmnet.fit(here)
    with pytest.raises(InputError, match="permutations=0"):
        gpmnet.compare(network, network, tables=(here, here), permutations=0)
    with pytest.raises(InputError, match=r"does not belong to its network.*'sex'"):
        gpmnet.compare(network, network, tables=(here, here[["a", "b"]]), permutations=1)
    other = gpmnet.fit(here.assign(sex=np.arange(150) ** 1.5))
    with pytest.raises(InputError, match="'sex' for different kinds"):
        gpmnet.compare(network, other, tables=(here, here), permutations=1)


def test_rows_say_how_much_and_where():
    here = MarkovNetwork(tuple("abc"), Pairs.of([0, 1], [1, 2], strength=[0.5, 0.2], sign=[1, 0]))
    there = MarkovNetwork(tuple("abc"), Pairs.of([0, 0], [1, 2], strength=[0.4, 0.1], sign=[-1, 1]))
    rows = {row.edge: (row.where, round(row.difference, 9)) for row in by_difference(here.compare(there))}
    assert rows == {
        ("a", "b"): ("both, flipped", -0.9),
        ("b", "c"): ("here", -0.2),
        ("a", "c"): ("there", 0.1),
    }
    assert list(rows) == [("a", "b"), ("b", "c"), ("a", "c")]


def test_the_page_shows_names_as_text_and_runs_nothing(tmp_path):
    name = "<script>alert(1)</script>"
    net = MarkovNetwork((name, "b"), Pairs.of([0], [1], strength=[0.5], sign=[1]))
    page = net.compare(net).report(tmp_path / "c.html", (name, "two")).read_text(encoding="utf-8")
    assert "<script" not in page
    assert "default-src &#39;none&#39;" in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 3


def test_centrality_sums_the_edges():
    strength, sign = np.array([0.5, 0.25, 0.4, 0.3, 0.1]), np.array([1, -1, 0, 1, 1])
    pairs = Pairs.of([0, 0, 1, 3, 2], [1, 2, 2, 4, 3], strength=strength, sign=sign)
    network = MarkovNetwork(tuple("abcde"), pairs)
    frame = network.centrality().set_index("variable")
    weights = np.zeros((5, 5))
    weights[pairs.first, pairs.second] = weights[pairs.second, pairs.first] = strength
    signed = np.zeros((5, 5))
    signed[pairs.first, pairs.second] = signed[pairs.second, pairs.first] = strength * sign
    assert network.communities() == (("a", "b", "c"), ("d", "e"))
    np.testing.assert_allclose(frame.loc[list("abcde"), "strength"], weights.sum(axis=0))
    np.testing.assert_allclose(frame.loc[list("abcde"), "expected_influence"], signed.sum(axis=0))
    assert frame["bridge"].round(9).to_dict() == {"a": 0.0, "b": 0.0, "c": 0.1, "d": 0.1, "e": 0.0}
    assert frame.index[0] == "b"
    assert frame.loc["d", "community"] == 2
    assert frame["edges"].to_dict() == network.degree


def test_networks_of_tables_with_gaps_are_not_tested():
    here = chain(150, 0)
    here.loc[3, "a"] = np.nan
    network = gpmnet.fit(here, missing="available")
    with pytest.raises(InputError, match="a test needs complete rows"):
        gpmnet.compare(network, network, tables=(here, here), permutations=1)
