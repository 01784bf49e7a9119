import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.pandas import column, data_frames, range_indexes

from gpmnet.errors import InputError
from gpmnet.table import describe, load_table
from gpmnet.table.raw import unique_names


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    n = 120
    return pd.DataFrame(
        {
            "height": rng.normal(170, 10, n),
            "visits": rng.poisson(4, n),
            "stage": rng.choice(["I", "II", "III"], n),
            "smoker": rng.random(n) < 0.3,
            "tied": np.round(rng.normal(size=n), 1),
            "code": rng.integers(1, 4, n),
            "born": pd.Timestamp("1970-01-01") + pd.to_timedelta(rng.integers(0, 9999, n), unit="D"),
        }
    )


def forms(frame, folder):
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    return {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "polars lazy": pl.from_pandas(frame).lazy(),
        "pyarrow": pa.Table.from_pandas(frame),
        "numpy": frame.astype(object).to_numpy(),
        "csv": folder / "t.csv",
        "parquet": folder / "t.parquet",
    }


def test_all_forms_of_a_table_give_one_schema_and_one_encoding(frame, tmp_path):
    tables = {}
    for form, source in forms(frame, tmp_path).items():
        tables[form] = load_table(source, names=list(frame.columns) if form == "numpy" else None)
    expected = tables["pandas"]
    assert [c.kind for c in expected.variables] == [
        "continuous", "ordinal", "discrete", "discrete", "continuous", "discrete", "continuous",
    ]  # fmt: skip
    strip = [
        (c.name, c.kind, c.why, c.encoding, c.levels, c.n_distinct, c.low, c.high) for c in expected.schema
    ]
    for form, table in tables.items():
        found = [
            (c.name, c.kind, c.why, c.encoding, c.levels, c.n_distinct, c.low, c.high) for c in table.schema
        ]
        assert found == strip, form
        ours, theirs = expected.encode(seed=5), table.encode(seed=5)
        np.testing.assert_array_equal(ours.scores, theirs.scores, err_msg=form)
        np.testing.assert_array_equal(ours.codes, theirs.codes, err_msg=form)


def test_gaps_are_the_same_in_all_forms(frame, tmp_path):
    frame = frame.astype({"visits": "Int64"})
    for at, name in enumerate(frame.columns.drop("smoker")):
        frame.loc[at * 3 : at * 3 + 1, name] = pd.NA
    frame["stage"] = frame["stage"].astype(object).where(frame["stage"].notna(), None)
    schemas = {}
    for form, source in forms(frame, tmp_path).items():
        schemas[form] = describe(source, names=list(frame.columns) if form == "numpy" else None)
    counts = [c.n_missing for c in schemas["pandas"]]
    assert counts == [2, 2, 2, 0, 2, 2, 2]
    for form, schema in schemas.items():
        assert [(c.n_missing, c.kind, c.levels) for c in schema] == [
            (c.n_missing, c.kind, c.levels) for c in schemas["pandas"]
        ], form


def test_the_table_cannot_be_changed(frame):
    table = load_table(frame)
    with pytest.raises(ValueError, match="read-only"):
        table.numbers[0, 0] = 1
    with pytest.raises(AttributeError):
        table.codes = None


def test_ordered_categories_keep_their_order():
    values = ["low", "high", "mid"] * 10
    ordered = pd.Categorical(values, categories=["low", "mid", "high", "never"], ordered=True)
    plain = pd.Categorical(values, categories=["low", "mid", "high", "never"])
    schema = describe(pd.DataFrame({"a": ordered, "b": plain, "c": np.arange(30) / 7}))
    assert (schema["a"].kind, schema["a"].levels) == ("ordinal", ("low", "mid", "high"))
    assert (schema["b"].kind, schema["b"].levels) == ("discrete", ("high", "low", "mid"))


def test_long_ordered_categories_become_scores_and_decode():
    labels = [f"grade {i}" for i in range(8)]
    rng = np.random.default_rng(0)
    values = pd.Categorical(rng.choice(labels, 200), categories=labels[::-1], ordered=True)
    table = load_table(pd.DataFrame({"g": values, "x": rng.normal(size=200)}))
    assert table.schema["g"].encoding == "scores"
    encoded = table.encode()
    assert list(table.decode("g", encoded.scores[:, 0])) == list(values[encoded.rows])


def test_names_survive_or_are_made_unique():
    names = ["a", "a", "", None, 7, "<script>", "x\ny", 'q"q', ("t", 1)]
    rng = np.random.default_rng(0)
    schema = describe(
        pd.DataFrame(rng.normal(size=(30, 9)), columns=pd.Index(names, dtype=object, tupleize_cols=False))
    )
    assert schema.names == ("a", "a_2", "column_3", "column_4", "7", "<script>", "x\ny", 'q"q', "('t', 1)")
    assert len(schema.warnings) == 3
    repeated = pa.table([pa.array(rng.normal(size=9)), pa.array(rng.normal(size=9))], names=["v", "v"])
    assert describe(repeated).names == ("v", "v_2")


def test_objects_that_are_numbers_dates_or_booleans():
    n = 12
    frame = pd.DataFrame(
        {
            "decimal": [Decimal(i) / 7 for i in range(n)],
            "day": [dt.date(2020, 1, i + 1) for i in range(n)],
            "delay": [dt.timedelta(hours=i * i) for i in range(n)],
            "flag": pd.Series([True, None, False] * 4, dtype=object),
            "mixed": pd.Series([1, "2", 3.5] * 4, dtype=object),
        }
    )
    schema = describe(frame)
    assert [c.kind for c in schema] == ["continuous", "continuous", "continuous", "discrete", "discrete"]
    assert "12 dates" in schema["day"].why
    assert schema["flag"].n_missing == 4
    assert schema["mixed"].levels == ("1", "2", "3.5")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (np.zeros(5), "two dimensions"),
        (np.zeros((5, 2), dtype=complex), "Complex data"),
        (np.zeros((5, 1)), "1 column"),
        (np.zeros((1, 3)), "1 row"),
        (42, "cannot read a table from int"),
        ([[1, 2], [3]], "not of equal length"),
        (pd.DataFrame({"a": [[1], [2]], "b": [1, 2]}), "'a': values of type list"),
        (pd.DataFrame({"a": [1.0, 2, 3], "b": [1, 1, 1]}), "fewer than two usable columns"),
        (pd.DataFrame({"a": [1.0, -np.inf, 3], "b": [1, 2, 3]}), "column 'a' holds -inf in row 2"),
    ],
)
def test_bad_sources(source, words):
    with pytest.raises(InputError, match=words):
        load_table(source)


def test_columns_of_lists_bytes_and_the_like_are_ignored_with_that_reason():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["x", "y"])
    frame["tags"] = [[i % 3] if i else None for i in range(30)]
    frame["raw"] = [b"a", b"b", b"c"] * 10
    frame["struct"] = [{"k": i % 2} for i in range(30)]
    for source in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        schema = describe(source)
        assert [schema[name].kind for name in ("tags", "raw", "struct")] == ["ignored"] * 3
        assert schema["tags"].why == "values of type list"
        assert (schema["tags"].n_missing, schema["tags"].n_distinct) == (1, 3)
        assert schema["raw"].why == "values of type bytes"
        assert load_table(source).names == ("x", "y")


def test_masks_are_gaps():
    values = np.ma.masked_less(np.random.default_rng(0).normal(size=(40, 2)), 0)
    assert [c.n_missing for c in describe(values)] == values.mask.sum(axis=0).tolist()
    words = np.ma.array(np.resize(["a", "b"], (20, 2)), mask=np.resize([True, False, False], (20, 2)))
    assert describe(words)["x1"].n_missing == words.mask[:, 0].sum()


def test_moments_and_bytes_in_arrays():
    when = np.datetime64("1970-01-01", "ns") + np.arange(60).reshape(30, 2) ** 2 * np.timedelta64(1, "D")
    when[3, 0] = "NaT"
    schema = describe(when)
    assert (schema["x1"].high, schema["x1"].n_missing, schema["x1"].dates) == (58**2, 1, True)
    assert describe(np.resize(np.array([b"gr\xc3\xbcn", b"rot"]), (20, 2)).T.reshape(20, 2))["x1"].levels == (
        "grün",
        "rot",
    )


def test_lists_may_mix_numbers_gaps_and_text():
    rows = [[i * 0.5, "ab"[i % 2]] for i in range(20)]
    rows[3] = [float("nan"), None]
    rows[4][1] = float("nan")
    schema = describe(rows)
    assert (schema["x1"].kind, schema["x1"].n_missing) == ("continuous", 1)
    assert (schema["x2"].levels, schema["x2"].n_missing) == (("a", "b"), 2)


def test_record_batches(frame):
    batch = pa.RecordBatch.from_pandas(frame)
    assert describe(batch).columns == describe(pa.Table.from_pandas(frame)).columns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_table_shares_no_memory_with_its_source(dtype):
    values = np.random.default_rng(0).normal(size=(30, 3)).astype(dtype)
    for source in (values, pd.DataFrame(values, copy=False)):
        table = load_table(source)
        assert not np.shares_memory(table.numbers, values)
        assert table.numbers.dtype == dtype


@pytest.mark.parametrize(
    ("options", "words"),
    [({"names": ["a"]}, "names: only for arrays"), ({"header": True}, "header: only for files")],
)
def test_options_that_mean_nothing_for_a_frame_are_refused(frame, options, words):
    with pytest.raises(InputError, match=words):
        describe(frame, **options)


def test_a_table_loads_as_itself_but_takes_no_options(frame):
    table = load_table(frame)
    assert load_table(table) is table
    with pytest.raises(InputError, match="when the table is first loaded"):
        load_table(table, kinds={"stage": "ignored"})


def test_many_repeated_names_are_made_unique_quickly():
    names, warnings = unique_names(["x"] * 20_000)
    assert len(set(names)) == 20_000
    assert (names[-1], len(warnings)) == ("x_20000", 19_999)


def test_names_must_match_the_array():
    with pytest.raises(InputError, match="3 names were given for 2 columns"):
        load_table(np.random.default_rng(0).normal(size=(9, 2)), names=["a", "b", "c"])


def check_one_line(error):
    assert "\n" not in str(error)


cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.datetimes(),
    st.sampled_from(["NA", "1,5", "12%", "yes", "2020-01-01", "None"]),
)


@given(
    data_frames(
        columns=[
            column("a", elements=st.floats(), dtype=np.float64),
            column("b", elements=st.integers(-(2**62), 2**62), dtype=np.int64),
            column("c", elements=cells, dtype=object),
            column("d", elements=st.text(max_size=3), dtype=object),
        ],
        index=range_indexes(max_size=30),
    )
)
def test_any_frame_loads_or_raises_our_error(frame):
    try:
        table = load_table(frame, missing="drop")
    except InputError as refused:
        check_one_line(refused)
        return
    encoded = table.encode()
    assert np.isfinite(encoded.scores).all()
    assert (encoded.codes >= 0).all()
    assert (encoded.codes < encoded.n_levels).all()
    assert len(table.names) == encoded.scores.shape[1] + encoded.codes.shape[1]


@given(st.lists(st.lists(cells, min_size=3, max_size=3), min_size=2, max_size=25))
def test_any_array_of_objects_loads_or_raises_our_error(rows):
    array = np.empty((len(rows), 3), dtype=object)
    for at, row in enumerate(rows):
        array[at] = row
    try:
        describe(array)
    except InputError as refused:
        check_one_line(refused)


@given(st.binary(max_size=400))
def test_any_bytes_load_or_raise_our_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "t.csv"
    path.write_bytes(content)
    try:
        describe(path)
    except InputError as refused:
        check_one_line(refused)
