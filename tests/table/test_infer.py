import numpy as np
import pandas as pd
import pytest

from gpmnet.errors import InputError
from gpmnet.table import describe, load_table

RNG = np.random.default_rng(1)
N = 200
OTHER = RNG.normal(size=N)


def column(values, kinds=None, name="x"):
    frame = pd.DataFrame({name: values, "other": np.resize(OTHER, len(values)) + np.arange(len(values)) // N})
    return describe(frame, kinds=kinds)[name]


@pytest.mark.parametrize(
    ("values", "kind", "why"),
    [
        (RNG.normal(size=N), "continuous", "numbers with 200 distinct"),
        (RNG.integers(0, 5000, N), "continuous", "whole numbers"),
        (RNG.integers(0, 12, N), "ordinal", "whole numbers with 12"),
        (RNG.integers(0, 4, N), "discrete", "4 distinct numbers"),
        (RNG.choice([0.5, 1.5], N), "discrete", "2 distinct numbers"),
        (RNG.choice(["a", "b"], N), "discrete", "text with 2 levels"),
        (RNG.random(N) < 0.5, "discrete", "yes or no"),
        (np.full(N, 3.0), "ignored", "constant"),
        (np.full(N, np.nan), "ignored", "all values are missing"),
        (np.r_[np.zeros(N - 2), 1, 2], "ignored", "nearly constant: all but 2 rows"),
        (np.arange(N) + 17, "ignored", "a running counter"),
        ([f"user {i}" for i in range(N)], "ignored", "identifier or free text"),
        (["It was a very long day."] * 120 + ["We saw nothing at all."] * 80, "ignored", "sentences"),
        (np.repeat([f"level {i}" for i in range(60)], 4)[:N], "ignored", "too many levels: 50"),
    ],
)
def test_each_rule(values, kind, why):
    found = column(values)
    assert found.kind == kind
    assert why in found.why


def test_identifiers_by_name_need_many_values():
    many = RNG.permutation(10_000)[:N]
    assert column(many, name="patient_id").kind == "ignored"
    assert column(many, name="humid").kind == "continuous"
    assert column(RNG.integers(0, 4, N), name="id").kind == "discrete"


def test_rare_and_many_levels_are_pooled_and_said():
    values = ["common"] * 150 + ["usual"] * 44 + ["rare1"] * 3 + ["rare2"] * 3
    found = column(values)
    assert found.levels == ("common", "usual", "other")
    assert found.notes == ("2 levels (6 rows) pooled into 'other'",)
    big = np.concatenate(
        [np.repeat([f"big{i}" for i in range(19)], 40), np.repeat([f"small{i}" for i in range(30)], 8)]
    )
    assert len(column(big).levels) == 20
    taken = column(["other"] * 150 + ["b"] * 44 + ["c"] * 3 + ["d"] * 3)
    assert taken.levels == ("b", "other", "other (pooled)")


def test_pooled_codes_are_right():
    values = np.array(["common"] * 150 + ["usual"] * 44 + ["rare1"] * 3 + ["rare2"] * 3)
    order = RNG.permutation(N)
    table = load_table(pd.DataFrame({"x": values[order], "y": OTHER}))
    decoded = table.decode("x", table.codes[:, 0])
    expected = np.where(np.char.startswith(values[order], "rare"), "other", values[order])
    assert list(decoded) == list(expected)


def test_rare_ordered_levels_join_a_neighbor():
    levels = ["a", "b", "c", "d"]
    values = pd.Categorical(["a"] * 100 + ["b"] * 2 + ["c"] * 96 + ["d"] * 2, categories=levels, ordered=True)
    found = column(values)
    assert found.levels == ("a…b", "c…d")
    assert "joined to a neighbor" in found.notes[0]


def test_rare_numbers_join_a_neighbor_too():
    found = column(np.repeat([1, 2, 3, 4], [90, 3, 100, 7]))
    assert found.levels == ("1…2", "3", "4")
    assert found.notes == ("1 of 4 levels joined to a neighbor: too few rows",)
    small = column(np.repeat([1, 2, 3, 4], 6))  # room for two levels
    assert small.levels == ("1", "2…4")


def test_levels_that_are_all_rare_stay_and_are_counted():
    found = column(["a", "b", "c", "d", "e"] * 3)
    assert found.levels == ("a", "b", "c", "d", "e")
    assert found.notes == ("rare: fewer than 5 rows for each of the 5 levels",)
    assert column(["a"] * 8 + ["b"] * 4).notes == ("rare: fewer than 5 rows for 'b'",)


def test_few_dates_are_levels_and_many_have_a_range():
    few = column(pd.to_datetime(["2020-03-01 00:00", "2021-03-01 12:00"] * 100))
    assert (few.kind, few.why) == ("discrete", "2 distinct dates")
    assert few.levels == ("2020-03-01", "2021-03-01 12:00:00")
    many = column(pd.date_range("1970-01-02", periods=N))
    assert (many.kind, many.dates, many.low) == ("continuous", True, 1)


def test_index_is_an_identifier_only_as_the_whole_name():
    many = RNG.permutation(10_000)[:N]
    assert column(many, name="Air Quality Index").kind == "continuous"
    assert column(many, name="index").kind == "ignored"


def test_whole_numbers_beyond_exact_floats_are_noted():
    large = 2**60 + RNG.permutation(10_000)[:N]
    assert "16 digits" in column(large).notes[0]
    assert column(large // 2**20).notes == ()


def test_kinds_of_columns_whose_names_are_no_strings():
    frame = pd.DataFrame({0: RNG.integers(0, 12, N), 1: OTHER})
    assert describe(frame, kinds={0: "discrete"})["0"].kind == "discrete"


def test_kinds_can_be_overruled():
    whole = RNG.integers(0, 12, N)
    assert column(whole, {"x": "discrete"}).levels == tuple(str(i) for i in range(12))
    assert column(whole, {"x": "ignored"}).why == "you said so"
    assert column(np.arange(N), {"x": "continuous"}).kind == "continuous"
    assert column([f"user {i % 50}" for i in range(N)]).kind == "ignored"


@pytest.mark.parametrize(
    ("values", "kinds", "words"),
    [
        (OTHER, {"nope": "discrete"}, "the column 'nope', but the columns are 'x', 'other'"),
        (
            OTHER,
            {"x": "gaussian"},
            "'gaussian' of column 'x' is not one of continuous, ordinal, discrete, ignored",
        ),
        (["a", "b"] * 100, {"x": "continuous"}, "column 'x' holds text such as 'a'; it cannot be continuous"),
        (["1", "2", "12 kg", "3"] * 50, {"x": "continuous"}, "holds text such as '12 kg'"),
        (["a", "b"] * 100, {"x": "ordinal"}, "the order of its values is unknown"),
        (OTHER, ["discrete"], "kinds must be a dict"),
        (np.ones(N), {"x": "discrete"}, "column 'x' has 1 distinct value; it cannot be discrete"),
        (RNG.normal(size=N), {"x": "discrete"}, "too many to be discrete"),
    ],
)
def test_impossible_kinds_are_refused(values, kinds, words):
    with pytest.raises(InputError) as caught:
        column(values, kinds)
    assert words in str(caught.value)


def test_schema_speaks_json():
    schema = describe(pd.DataFrame({"a": OTHER, "b": ["x", "y"] * 100}))
    plain = schema.to_dict()
    assert plain["columns"][1]["levels"] == ["x", "y"]
    with pytest.raises(InputError, match="no column 'zzz'"):
        schema["zzz"]


def test_levels_are_told_apart_where_others_are_tested_given_them():
    rng = np.random.default_rng(0)
    text = [f"level {k}" for k in np.minimum(rng.geometric(0.1, 1000) - 1, 60)]
    table = load_table(pd.DataFrame({"text": text, "other": rng.normal(size=1000)}))
    fine, codes = table.fine_codes[:, 0], table.codes[:, 0]
    counts = pd.Series(text).value_counts()
    assert codes.max() + 1 == 20
    assert fine.max() == (counts > 1).sum()  # and one for those of a single row
    spelled = pd.DataFrame({"text": text, "fine": fine})
    assert (spelled.groupby("text")["fine"].nunique() == 1).all()
    assert (spelled[spelled["text"].map(counts) > 1].groupby("fine")["text"].nunique() == 1).all()
    plain = load_table(pd.DataFrame({"text": ["a", "b"] * 50, "other": rng.normal(size=100)}))
    assert np.shares_memory(plain.fine_codes, plain.codes)
