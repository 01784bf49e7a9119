from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from gpmnet.errors import InputError
from gpmnet.table import MISSING, Admitted, DropRows, MissingPolicy, describe, load_table


@pytest.fixture
def gapped():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 3)), columns=["a", "b", "c"])
    frame["d"] = np.array(["u", "v"], dtype=object)[rng.integers(0, 2, 100)]
    frame.loc[:4, "a"] = np.nan
    frame.loc[3:9, "d"] = None
    return frame


def test_gaps_are_an_error_that_names_columns_and_choices(gapped):
    with pytest.raises(InputError) as caught:
        load_table(gapped)
    assert "2 columns with missing values (NaN): 'd', 'a'" in str(caught.value)
    assert "90 of 100 rows are complete" in str(caught.value)
    assert '(--missing available) and "impute" use all rows, "drop" the complete ones' in str(caught.value)


def test_drop_keeps_complete_rows_and_says_so(gapped):
    table = load_table(gapped, missing="drop")
    assert table.n_rows == 90
    np.testing.assert_array_equal(table.numbers, gapped.loc[10:, ["a", "b", "c"]])
    assert "90 of 100 rows kept" in table.schema.warnings[-1]


def test_ignored_columns_may_have_gaps(gapped):
    table = load_table(gapped, kinds={"a": "ignored", "d": "ignored"})
    assert table.n_rows == 100
    assert table.schema["a"].why == "you said so"


def test_drop_may_leave_a_column_constant(gapped):
    gapped["e"] = np.where(np.arange(100) < 10, np.arange(100), 1.0)
    table = load_table(gapped, missing="drop")
    assert table.schema["e"].why == "constant"
    assert "e" not in table.names


def test_drop_keeps_the_kinds_that_describe_announces(gapped):
    gapped["count"] = np.random.default_rng(1).permutation(np.arange(100) % 12)
    gapped.loc[20:, "a"] = np.nan  # too few rows are left to see that the count is one
    assert describe(gapped)["count"].kind == "ordinal"
    kept = load_table(gapped, missing="drop").schema["count"]
    assert kept.kind == "ordinal"
    assert kept.why == "whole numbers with 12 distinct values, before rows were dropped"


def test_nothing_left(gapped):
    gapped.loc[5:, "a"] = np.nan
    gapped.loc[:1, "a"] = [1.0, 2.0]
    gapped.loc[0, "d"] = None
    with pytest.raises(InputError, match="only 1 rows of 100 are complete; 'a' alone lacks 98"):
        load_table(gapped, missing="drop")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, object])
def test_declared_numbers_are_missing_however_they_arrive(write, dtype):
    values = np.column_stack([np.resize([-99, 1, 2, 5], 40), np.arange(40) ** 2]).astype(dtype)
    assert [c.n_missing for c in describe(values, na=["-99"])] == [10, 0]
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in values)
    assert describe(write("t.csv", text), na="-99")["a"].n_missing == 10
    assert values[0, 0] == -99  # the caller's array is not written to


def test_declared_labels_are_missing_however_they_arrive():
    words = np.resize(["Unknown", "low", "high"], 60)
    frame = pd.DataFrame({"text": words, "x": np.arange(60) ** 2})
    frame["cat"] = pd.Categorical(words)
    frame["ordered"] = pd.Categorical(words, ["low", "Unknown", "high"], ordered=True)
    schema = describe(frame, na=["Unknown"])
    assert [schema[name].n_missing for name in ("text", "cat", "ordered")] == [20, 20, 20]
    assert schema["ordered"].levels == ("low", "high")


def test_declared_numbers_are_no_days():
    frame = pd.DataFrame({"when": pd.date_range("1970-01-01", periods=30), "x": np.arange(30) ** 2})
    schema = describe(frame, na=["0"])
    assert (schema["when"].n_missing, schema["x"].n_missing) == (0, 1)


@pytest.mark.parametrize("given", ["guess", 3, DropRows])
def test_unknown_policy(gapped, given):
    with pytest.raises(
        InputError,
        match=r"^missing=.* is not one of error, drop, impute, available, level, nor a MissingPolicy",
    ):
        load_table(gapped, missing=given)


def test_a_policy_is_a_part(gapped):
    np.testing.assert_array_equal(
        load_table(gapped, missing=DropRows()).numbers, load_table(gapped, missing="drop").numbers
    )
    with pytest.raises(InputError, match="only 90 rows of 100 are complete"):
        load_table(gapped, missing=MISSING["drop"].with_params(least=91))
    with pytest.raises(InputError, match="DropRows: least must be a whole number of at least 2; got '0'"):
        DropRows(least=0)


def test_another_policy_needs_no_more_than_the_rows_it_keeps(gapped):
    @dataclass(frozen=True)
    class LastRows(MissingPolicy):
        count: int = 20

        def admit(self, raw, schema):
            return Admitted(raw.take(np.arange(raw.n_rows - self.count, raw.n_rows)))

    table = load_table(gapped, missing=LastRows())
    np.testing.assert_array_equal(table.numbers, gapped.loc[80:, ["a", "b", "c"]])
