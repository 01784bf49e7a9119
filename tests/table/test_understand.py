"""Long tables are understood column by column: the same kinds, and what their ranks add to the order of the rows."""

import numpy as np
import pytest
from tests.table.test_streamed import everything, same_encoding, same_table

from gpmnet.parallel import limited_threads
from gpmnet.table import facts, load_table
from gpmnet.table.order import add_columns


@pytest.fixture
def long(monkeypatch):
    """Make every table a long one."""
    return lambda: monkeypatch.setattr(facts, "LONG_ROWS", 0)


def hostile(n=600):
    """Columns that are ignored, repeated, wholly or nearly constant, and with gaps."""
    frame = everything(n)
    rng = np.random.default_rng(3)
    frame["constant"] = 3.0
    frame["nearly"] = np.r_[np.zeros(n - 2), 1.0, 2.0]
    frame["negative zero"] = np.where(rng.random(n) < 0.5, -0.0, 0.0) + rng.integers(0, 9, n) * 0.5
    frame["huge"] = rng.integers(0, 30, n) * 1e300
    frame["long again"] = frame["long"]
    frame["count again"] = frame["count"] * 2
    return frame


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("missing", ["error", "drop", "available"])
def test_a_long_table_is_understood_as_a_short_one(long, missing, threads):
    frame = hostile()
    if missing != "error":
        frame.loc[3:40, "a"] = np.nan
        frame["count"] = frame["count"].astype("Int64")
        frame.loc[90, "count"] = None
        frame["empty"] = np.nan
    short = load_table(frame, missing=missing)
    long()
    with limited_threads(threads):
        table = load_table(frame, missing=missing)
    same_table(short, table)
    assert short.sums is None
    assert (table.sums is None) == (missing == "available")  # there are gaps left
    if missing != "available":
        same_encoding(short.encode(2), table.encode(2))
        same_encoding(short.encode(2, 200), table.encode(2, 200))
        same_encoding(table.encode(2, 200), table.encode(2, 200))  # the sums are what they were


def test_the_sums_are_those_of_the_variables_ranks(long):
    long()
    table = load_table(hostile())
    assert {"a", "long", "count"} <= set(table.names)
    assert {"again", "count again", "long again", "id", "constant"}.isdisjoint(table.names)
    expected = np.zeros(table.n_rows, dtype=np.uint64)
    scored = [column.name for column in table.variables if column.encoding == "scores"]
    for name, values in zip(scored, table.numbers.T, strict=True):
        add_columns(expected, [name], np.unique(values, return_inverse=True)[1][:, None])
    np.testing.assert_array_equal(table.sums, expected)
