import numpy as np
import pandas as pd
import pytest

from gpmnet.errors import InputError
from gpmnet.table import load_table


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
    assert "2 columns with missing values: 'd', 'a'" in str(caught.value)
    assert "90 complete rows of 100" in str(caught.value)


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


def test_nothing_left(gapped):
    gapped.loc[5:, "a"] = np.nan
    gapped.loc[:1, "a"] = [1.0, 2.0]
    gapped.loc[0, "d"] = None
    with pytest.raises(InputError, match="only 1 rows of 100 are complete; 'a' alone lacks 98"):
        load_table(gapped, missing="drop")


def test_unknown_policy(gapped):
    with pytest.raises(InputError, match="missing='guess' is not one of drop, error"):
        load_table(gapped, missing="guess")
