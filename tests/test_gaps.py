"""Missing values from the table to the network, whatever the gaps are."""

import warnings

import numpy as np
import pandas as pd
import pytest

from gpmnet import GPM
from gpmnet.errors import GapWarning, InputError
from gpmnet.network import MarkovNetwork
from gpmnet.simulate import simulate
from gpmnet.table import AvailableRows, Impute, MissingLevel, describe, load_table

TWO = Impute(n_draws=2)
ALL_ROWS = ["available", TWO]


def chain(n=400, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    frame = pd.DataFrame({"a": a, "b": b, "c": b + rng.normal(size=n), "d": rng.normal(size=n)})
    frame["g"] = np.where(a + rng.normal(size=n) > 0, "x", "y")
    return frame


def gapped(share=0.1, seed=0):
    frame = chain(seed=seed)
    return frame.mask(np.random.default_rng(seed + 100).random(frame.shape) < share)


def edges(network):
    return {frozenset(pair) for pair in network.edges[["source", "target"]].to_numpy().tolist()}


TRUE = {frozenset("ab"), frozenset("bc"), frozenset("ag")}


@pytest.mark.parametrize("policy", ["drop", "available", "impute", "level"])
def test_a_table_without_gaps_is_fitted_as_ever(policy):
    usual = GPM().fit(chain())
    other = GPM(missing=policy).fit(chain())
    pd.testing.assert_frame_equal(usual.network_.candidates, other.network_.candidates)
    np.testing.assert_array_equal(usual.omega_, other.omega_)
    assert other.network_.facts.warnings == usual.network_.facts.warnings
    assert (usual.network_.edges["n_rows"] == 400).all()


@pytest.mark.parametrize("policy", [*ALL_ROWS, "level", "drop"])
def test_the_edges_are_found_and_say_on_how_many_rows_they_rest(policy, tmp_path):
    frame = gapped()
    network = GPM(missing=policy).fit(frame).network_
    assert edges(network) == TRUE
    assert np.isfinite(network.edges["omega"]).all()
    if policy in ALL_ROWS:
        both = frame[["a", "b"]].notna().all(axis=1).sum()
        rows = int(network.edges_of("a").set_index("target").loc["b", "n_rows"])
        assert rows == both if policy is TWO else rows <= both
        assert network.n_rows == 400
        assert "of 5 columns are missing" in network.facts.warnings[0]
        assert f"{rows} rows" in network.explain("a", "b").text
    network.save(tmp_path)
    again = MarkovNetwork.load(tmp_path)
    pd.testing.assert_frame_equal(again.edges, network.edges)
    page = network.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"n_rows"' in page


@pytest.mark.parametrize("policy", ALL_ROWS)
def test_neither_the_order_of_rows_nor_of_columns_matters(policy):
    frame = gapped()
    order = np.random.default_rng(1).permutation(len(frame))
    turned = frame.iloc[order][["g", "d", "c", "b", "a"]].reset_index(drop=True)
    one, other = (GPM(missing=policy).fit(x).network_ for x in (frame, turned))
    assert edges(one) == edges(other)
    for pair in edges(one):
        mine, theirs = (net.explain(*sorted(pair)) for net in (one, other))
        assert mine.p_value == pytest.approx(theirs.p_value, rel=1e-4)
        assert mine.n_rows == theirs.n_rows


@pytest.mark.parametrize("policy", [*ALL_ROWS, "level"])
def test_a_column_and_a_row_with_nothing_in_them(policy):
    frame = gapped().assign(nothing=np.nan)
    frame.loc[7] = None
    network = GPM(missing=policy).fit(frame).network_
    assert edges(network) == TRUE
    assert "nothing" not in network.names
    if policy in ALL_ROWS:
        assert network.n_rows == 399
        assert any("1 of 400 rows have no value at all" in note for note in network.facts.schema.warnings)


@pytest.mark.parametrize("policy", ALL_ROWS)
def test_a_column_with_one_value(policy):
    frame = gapped().assign(once=np.nan)
    frame.loc[3, "once"] = 5.0
    network = GPM(missing=policy).fit(frame).network_
    assert "once" not in network.names
    assert edges(network) == TRUE


@pytest.mark.parametrize("policy", ALL_ROWS)
def test_a_column_with_hardly_any_values_has_no_edge_and_is_named(policy):
    frame = chain()
    frame["few"] = np.where(np.arange(400) % 45 == 0, frame["a"], np.nan)  # nine values, and no more
    with pytest.warns(GapWarning, match="'a' and 'few'"):
        network = GPM(missing=policy).fit(frame).network_
    assert edges(network) == TRUE
    assert any("'a' and 'few'" in note for note in network.facts.warnings)


@pytest.mark.parametrize("policy", ALL_ROWS)
def test_a_pair_never_observed_together_is_not_tested(policy):
    frame = chain()
    frame.loc[:199, "a"] = np.nan
    frame.loc[200:, "b"] = np.nan
    with pytest.warns(GapWarning, match="fewer than 20 rows have both variables of a pair.*'a' and 'b'"):
        network = GPM(missing=policy).fit(frame).network_
    assert frozenset("ab") not in edges(network)
    at = network.pair_at("a", "b")
    assert at is None or network.pairs.p_value[at] >= 0.99
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        required = GPM(missing=policy, require=[("a", "b")]).fit(frame).network_
    figures = required.edges_of("a").set_index("target").loc["b"]
    assert figures["p_value"] >= 0.99
    assert figures["n_rows"] == 0


@pytest.mark.parametrize("policy", ALL_ROWS)
def test_duplicates_with_gaps(policy):
    frame = gapped()
    frame["twin"] = 2 * frame["a"]  # the same gaps: a duplicate
    frame["holes"] = frame["a"].where(np.random.default_rng(9).random(400) > 0.1)  # other gaps: a near-copy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = GPM(missing=policy).fit(frame).network_
    assert network.facts.schema.duplicates == {"twin": "a"}
    assert frozenset(("a", "twin")) in edges(network)
    joined = set(network.neighbors("a")) | set(network.neighbors("holes"))
    assert {"a", "holes"} <= joined


def test_missing_is_a_level_of_discrete_columns():
    rng = np.random.default_rng(0)
    frame = chain()
    secret = rng.random(400) < 0.3
    frame["answer"] = np.where(secret, None, np.where(rng.random(400) < 0.5, "yes", "no"))
    frame["code"] = np.where(rng.random(400) < 0.1, np.nan, rng.integers(0, 3, 400))
    frame["d"] = frame["d"] + 2 * secret  # what is missing tells something
    table = load_table(frame, missing="level")
    assert table.schema["answer"].levels == ("no", "yes", "missing")
    assert table.schema["code"].levels == ("0", "1", "2", "missing")
    assert table.n_rows == 400
    assert "2 columns got a level for what is missing: 'answer', 'code'" in table.schema.warnings
    assert frozenset(("answer", "d")) in edges(GPM(missing="level").fit(frame).network_)
    named = pd.DataFrame({"x": ["missing", "b", None, "b"] * 20, "y": rng.normal(size=80)})
    assert load_table(named, missing="level").schema["x"].levels == ("b", "missing", "missing (pooled)")


def test_an_ordered_column_with_such_a_level_is_ordered_no_more():
    frame = chain(60)
    grades = pd.Categorical(["low", "middle", "high"] * 20, ["low", "middle", "high"], ordered=True)
    frame["grade"] = pd.Series(grades).where(np.arange(60) > 8)
    column = load_table(frame, missing="level").schema["grade"]
    assert (column.kind, column.levels) == ("discrete", ("low", "middle", "high", "missing"))


def test_indicators_stand_beside_continuous_columns_on_request():
    frame = chain()
    lost = np.random.default_rng(4).random(400) < 0.2
    frame["d"] = frame["d"].where(~lost)
    frame["c"] = frame["c"] + 3 * lost
    assert load_table(frame, missing="level").n_rows == (~lost).sum()
    policy = MissingLevel(indicators=True)
    table = load_table(frame, missing=policy)
    assert table.n_rows == 400
    assert table.schema["d is missing"].levels == ("no", "yes")
    d = table.numbers[:, table.names.index("d")]
    assert np.isin(d, frame["d"].dropna()).all()
    order = np.random.default_rng(5).permutation(400)
    turned = load_table(frame.iloc[order].reset_index(drop=True), missing=policy)
    np.testing.assert_array_equal(turned.numbers[:, turned.names.index("d")], d[order])
    network = GPM(missing=policy).fit(frame).network_
    assert frozenset(("c", "d is missing")) in edges(network)
    assert frozenset(("d", "d is missing")) not in edges(network)


def titanic(n=891):
    rng = np.random.default_rng(0)
    sex, rank = rng.integers(0, 2, n), rng.integers(1, 4, n)
    frame = pd.DataFrame({"sex": np.where(sex, "f", "m"), "class": rank, "age": rng.gamma(6, 5, n)})
    frame["survived"] = rng.random(n) < 0.2 + 0.5 * sex - 0.05 * rank
    frame["deck"] = rng.choice(list("ABCDE"), n)
    frame.loc[rng.random(n) < 0.77, "deck"] = None
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    return frame


def test_the_error_and_describe_say_what_helps():
    frame = titanic()
    complete, without = len(frame.dropna()), len(frame.drop(columns="deck").dropna())
    words = f"{complete} of 891 rows are complete, without 'deck' {without}"
    with pytest.raises(InputError) as caught:
        load_table(frame)
    assert words in str(caught.value)
    assert '(leave it out: kind "ignored", --kinds NAME=ignored)' in str(caught.value)
    assert 'missing="available" (--missing available) and "impute" use all rows' in str(caught.value)
    assert str(caught.value).endswith('with 19% of the values missing rather "impute"')
    assert words in describe(frame).warnings[-1]
    few = frame.drop(columns="deck")
    with pytest.raises(InputError, match=r'with 5% of the values missing rather "available"$'):
        load_table(few)


def test_neighborhoods_are_what_all_draws_show():
    drawn = simulate("gaussian", d=10, n=600, seed=1)
    frame = drawn.frame()
    gapped = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.3)
    truth = drawn.truth.toarray()
    recall = {}
    for count in (1, 5):
        net = GPM(missing=AvailableRows(n_draws=count)).fit(gapped).network_
        found = net.adjacency.toarray() if hasattr(net.adjacency, "toarray") else np.asarray(net.adjacency)
        place = [net.names.index(name) for name in drawn.names]
        found = found[np.ix_(place, place)].astype(bool)
        recall[count] = (found & truth).sum() / truth.sum()
        assert (found & ~truth).sum() <= 2
        said = "what 5 completed tables agree on" if count == 5 else "in one completed table"
        assert said in net.facts.warnings[0]
        assert len(net.facts.warnings[0]) < 280  # the report cuts what is longer than 300
    assert recall[5] > recall[1] + 0.1


def asked_of_some(n=800, seed=0):
    """Return men and women, two answers that only women gave, and a measure in which they differ."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    first = np.where(sex == 0, rng.normal(size=n), np.nan)
    frame = pd.DataFrame({"first": first, "second": first + rng.normal(size=n)})
    frame["level"] = 1.5 * sex + np.where(sex == 0, first, 0.0) + rng.normal(size=n)
    frame["other"] = frame["level"] + rng.normal(size=n)
    return frame.assign(sex=np.where(sex, "man", "woman"))


def test_what_was_asked_of_women_only_does_not_hide_what_men_differ_in():
    with pytest.warns(
        GapWarning, match="one of them has one value there.*'first' and 'sex'; 'second' and 'sex'"
    ):
        network = GPM(missing="available", require=[("first", "sex")]).fit(asked_of_some()).network_
    # Given `first` there are no men: it can be no part of the set that the difference is tested given.
    assert frozenset(("level", "sex")) in edges(network)
    assert network.explain("level", "sex").n_rows == 800
    assert frozenset(("first", "second")) in edges(network)
    assert frozenset(("other", "sex")) not in edges(network)


def test_tests_on_few_rows_are_told():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(800, 5)), columns=list("abcde"))
    frame["sum"] = frame.sum(axis=1) + 0.5 * rng.normal(size=800)
    lost = rng.random(frame.shape) < 0.4
    network = GPM(missing=AvailableRows(n_draws=1)).fit(frame.mask(lost)).network_
    assert any("half of the tests use less than" in note for note in network.facts.warnings)
    network = GPM(missing="available").fit(gapped(0.05)).network_
    assert not any("half of the tests" in note for note in network.facts.warnings)


def test_copies_of_rows_with_gaps_count_once_where_groups_say_so():
    frame = gapped(0.2)
    twice = pd.concat([frame, frame], ignore_index=True)
    for policy in ALL_ROWS:
        table = load_table(twice, missing=policy, groups=np.tile(np.arange(len(frame)), 2))
        network = GPM().fit(table).network_
        assert edges(network) == TRUE
        assert any("400 groups" in note for note in network.facts.warnings)
