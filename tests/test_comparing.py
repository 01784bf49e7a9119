"""Two networks and their tables: the permutation test, its page, and centralities."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import gpmnet
from gpmnet import comparing
from gpmnet.errors import InputError
from gpmnet.estimator import GPM
from gpmnet.network import MarkovNetwork, Pairs
from gpmnet.network.compare import by_difference
from gpmnet.table import Table, load_table


def chain(n, seed, slope=1.0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = slope * a + rng.normal(size=n)
    sex = np.where(b + rng.normal(size=n) > 0, "f", "m")
    return pd.DataFrame({"a": a, "b": b, "sex": sex})


def by_correlation(plan, problems, rows):
    """A stand-in for a fit: the rank correlation of a and b, known in closed form and in microseconds."""
    encoded = problems[0].encoded
    r = np.corrcoef(encoded.take(np.flatnonzero(np.isin(encoded.rows, rows))).ranks[:, :2].T)[0, 1]
    return MarkovNetwork(encoded.names, Pairs.of([0], [1], strength=[abs(r)], sign=[np.sign(r)]))


def difference_test(tables, permutations, seed, groups=None):
    table = load_table(pd.concat(tables, ignore_index=True), groups=groups)
    return comparing.difference_test(table, len(tables[0]), GPM(), permutations, seed)


def test_p_values_are_shares_of_deals(monkeypatch):
    monkeypatch.setattr(comparing, "fit_rows", by_correlation)
    here, there = chain(40, 0), chain(30, 1, slope=0.3)
    test = difference_test((here, there), 59, seed=3)
    values = pd.concat([here, there])[["a", "b"]].to_numpy()

    def difference(rows):
        parts = values[rows[:40]], values[rows[40:]]
        return abs(np.subtract(*(spearmanr(part).statistic for part in parts)))

    rng = np.random.default_rng(3)
    observed = difference(np.arange(70))
    drawn = [difference(rng.permutation(70)) for _ in range(59)]
    expected = (1 + sum(value >= observed for value in drawn)) / 60
    assert test.total == pytest.approx(observed)
    assert test.p_value == expected == test.p_values["a", "b"]
    assert 1 / 60 < test.p_value < 1


def test_the_test_holds_its_rate(monkeypatch):
    monkeypatch.setattr(comparing, "fit_rows", by_correlation)
    found = [
        difference_test(
            (chain(25, 2 * seed)[["a", "b"]], chain(35, 2 * seed + 1)[["a", "b"]]), 19, seed
        ).p_value
        for seed in range(300)
    ]
    # Of 300 p-values, uniform over 1/20, ..., 1: 15 are 0.05 on average, and 27 or more in one of a thousand tries.
    assert np.count_nonzero(np.array(found) <= 0.05) < 27
    assert np.mean(found) == pytest.approx(0.525, abs=0.06)


def in_groups(n_groups, size, seed):
    """A chain of which every row is there several times, all but the same, and the number of each."""
    rng = np.random.default_rng(seed)
    frame = chain(n_groups, seed)[["a", "b"]].loc[np.repeat(np.arange(n_groups), size)].reset_index(drop=True)
    return frame + rng.normal(scale=1e-3, size=frame.shape), np.repeat(np.arange(n_groups), size)


def test_whole_groups_are_dealt_out_and_the_rate_holds(monkeypatch):
    monkeypatch.setattr(comparing, "fit_rows", by_correlation)
    found = {"groups": [], "rows": []}
    for seed in range(150):
        (here, one), (there, two) = in_groups(12, 6, 2 * seed), in_groups(15, 6, 2 * seed + 1)
        found["rows"].append(difference_test((here, there), 19, seed).p_value)
        found["groups"].append(difference_test((here, there), 19, seed, np.r_[one, two + 12]).p_value)
    # 7.5 of 150 on average, 17 or more in one of a thousand tries; dealt out row by row it is far more.
    rejected = {what: np.count_nonzero(np.array(values) <= 0.05) for what, values in found.items()}
    assert rejected["groups"] < 17
    assert rejected["rows"] > 40


def test_no_deal_cuts_a_group_and_the_table_is_encoded_once(monkeypatch):
    (here, one), (there, two) = in_groups(12, 5, 0), in_groups(20, 3, 1)
    codes = np.r_[one, two + 12]
    seen, encoded = [], []

    def record(plan, problems, rows):
        seen.append(rows)
        return by_correlation(plan, problems, rows)

    encode = Table.encode
    monkeypatch.setattr(Table, "encode", lambda *given: encoded.append(1) or encode(*given))
    monkeypatch.setattr(comparing, "fit_rows", record)
    test = difference_test((here, there), 8, 0, codes)
    assert len(encoded) == 1
    assert "permutations of the groups of rows" in test.text
    assert len(seen) == 2 * 9
    assert set(seen[0]) == set(range(60))
    for first, second in zip(seen[::2], seen[1::2], strict=True):
        own, other = set(codes[first]), set(codes[second])
        assert (len(own), len(other), own & other) == (12, 20, set())
    assert len({tuple(sorted(rows)) for rows in seen[::2]}) == 9


def test_groups_of_networks_are_asked_for(tmp_path):
    tables = []
    for seed in (0, 1):
        frame, person = in_groups(30, 4, seed)
        tables.append(frame.assign(person=person))
    networks = [gpmnet.fit(table, groups="person") for table in tables]
    with pytest.raises(InputError, match=r"rows in groups, by column 'person': say here too"):
        gpmnet.compare(*networks, tables=tables, permutations=1)
    found = gpmnet.compare(*networks, tables=tables, groups="person", permutations=1)
    assert "1 permutation of the groups of rows" in repr(found)
    loaded = [load_table(table, groups="person") for table in tables]
    again = gpmnet.compare(*networks, tables=loaded, permutations=1)
    assert again.test == found.test
    plain = [gpmnet.fit(table[["a", "b"]]) for table in tables]
    with pytest.raises(InputError, match="the other does not"):
        gpmnet.compare(*plain, tables=(loaded[0], tables[1][["a", "b"]]), permutations=1)


def test_a_category_of_one_table_alone_leaves_the_other_a_column_of_one_value():
    here, there = chain(60, 0), chain(60, 1).assign(sex="f")
    test = difference_test((here, there), 3, 0)
    assert test.permutations == 3
    assert ("b", "sex") in test.differences


def test_deals_in_which_no_two_columns_vary_have_no_edge():
    here = pd.DataFrame({"r": ["z"] * 3 + ["q"] * 57, "s": ["q"] * 57 + ["z"] * 3})
    networks = [GPM().fit(table, kinds=dict.fromkeys("rs", "discrete")).network_ for table in (here, here)]
    found = gpmnet.compare(*networks, tables=(here, here[::-1]), permutations=40, seed=0)
    assert found.test.p_value == 1.0


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


def with_gaps(frame, seed):
    return frame.mask(np.random.default_rng(seed).random(frame.shape) < 0.1)


@pytest.mark.parametrize("missing", ["available", "impute"])
def test_networks_of_tables_with_gaps_are_tested(missing):
    """Other tables of the same law are no surprise, those of another one are."""
    here, same, other = (
        with_gaps(chain(120, seed, slope)[["a", "b"]], seed)
        for seed, slope in ((0, 1.0), (1, 1.0), (2, -1.0))
    )
    networks = [gpmnet.fit(table, missing=missing) for table in (here, same, other)]
    p_values = [
        gpmnet.compare(networks[0], network, tables=(here, table), permutations=9).test.p_value
        for network, table in zip(networks[1:], (same, other), strict=True)
    ]
    assert p_values[0] > 0.2
    assert p_values[1] == 0.1


def test_gaps_go_with_their_rows(monkeypatch):
    """Rows that have nothing of the common columns are left out, and whoever deals sees the gaps of each row."""
    rng = np.random.default_rng(7)
    here = with_gaps(chain(150, 0), 0).assign(own=rng.normal(size=150))
    there = with_gaps(chain(150, 1), 1).assign(mine=rng.normal(size=150))
    here.loc[5, ["a", "b", "sex"]] = None
    networks = [gpmnet.fit(table, missing="available") for table in (here, there)]
    seen = []

    def record(plan, problems, rows):
        assert len(problems[0].others) == 4
        encoded = problems[0].encoded
        order = np.argsort(encoded.rows)
        seen.append((np.sort(rows), encoded.observed[order], encoded.names))
        return by_correlation(plan, problems, rows)

    monkeypatch.setattr(comparing, "fit_rows", record)
    gpmnet.compare(*networks, tables=(here, there), permutations=2)
    (first, observed, names), (second, *_) = seen[:2]
    both = pd.concat([here, there])[list(names)].dropna(how="all")
    assert np.array_equal(observed, both.notna().to_numpy())
    assert len(both) < 300
    n_here = len(here[list(names)].dropna(how="all"))
    assert first.tolist() == [*range(n_here)]
    assert second.tolist() == [*range(n_here, len(both))]
    assert all(len(rows) in (n_here, len(both) - n_here) for rows, *_ in seen)
