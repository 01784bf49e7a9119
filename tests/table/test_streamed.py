"""Tables that are read column by column and held in a file: the same table, and the same network."""

import datetime
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gpmnet import GPM
from gpmnet.errors import InputError
from gpmnet.table import load_table, space, streamed
from gpmnet.table.space import is_on_disk


@pytest.fixture
def on_disk(monkeypatch):
    """Make every table one that is too large for memory, sorted two columns at a time and read a few rows at a time."""

    def _on_disk():
        monkeypatch.setattr(space, "IN_MEMORY_BYTES", 0)
        monkeypatch.setattr(space, "CELLS", 1000)
        monkeypatch.setattr(streamed, "STREAMED_BYTES", 0)
        monkeypatch.setattr(streamed, "_ROWS", 97)

    return _on_disk


def everything(n=500):
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "a": a,
            "b": a + rng.normal(size=n),
            "count": rng.poisson(30, n),
            "few": rng.integers(0, 3, n),
            "text": rng.choice(["u", "v ", " w", "v"], n),
            "number as text": [f"{value:.3f}" for value in rng.normal(size=n)],
            "flag": rng.random(n) < 0.4,
            "day": [datetime.date(2020, 1, 1) + datetime.timedelta(int(k)) for k in rng.integers(0, 900, n)],
            "half zero": np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)),
            "small": rng.normal(size=n).astype(np.float32),
            "id": np.arange(n),
        }
    )
    frame["again"] = frame["b"] * 2
    frame["grade"] = pd.Categorical(rng.choice(list("xyz"), n), list("zyx"), ordered=True)
    frame["long"] = pd.Categorical(rng.choice(list("abcdefgh"), n), list("abcdefgh"), ordered=True)
    return frame


def same_table(one, other):
    assert one.schema == other.schema
    for name in ("numbers", "codes", "fine_codes"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.dtype == b.dtype
        assert np.array_equal(a, b), name


def same_encoding(one, other):
    assert one.names == other.names
    for name in one.__slots__[1:]:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_a_streamed_table_is_the_same(tmp_path, on_disk, missing):
    frame = everything()
    if missing == "drop":
        frame.loc[3:20, "a"] = np.nan
        frame.loc[30:33, "text"] = None
        frame["count"] = frame["count"].astype("Int64")
        frame.loc[40, "count"] = pd.NA
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=120)
    held = load_table(path, missing=missing, na=["30"]) if missing == "drop" else load_table(path)
    on_disk()
    table = load_table(path, missing=missing, na=["30"]) if missing == "drop" else load_table(path)
    assert is_on_disk(table.numbers)
    assert not is_on_disk(held.numbers)
    same_table(held, table)
    same_encoding(held.encode(1), table.encode(1))


def test_a_sample_is_what_would_be_taken_of_all_rows(on_disk):
    table = load_table(everything())
    n = table.n_rows
    rows = np.sort(np.random.default_rng(5).choice(n, 130, replace=False))
    expected = table.encode(5).take(rows)
    same_encoding(expected, table.encode(5, 130))
    on_disk()
    same_encoding(expected, table.encode(5, 130))
    same_encoding(table.encode(5), table.encode(5, n))


def test_floats_of_32_bits_stay_so(tmp_path, on_disk):
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32), columns=list("abc")
    )
    frame.to_parquet(tmp_path / "t.parquet")
    held = load_table(tmp_path / "t.parquet")
    on_disk()
    table = load_table(tmp_path / "t.parquet")
    same_table(held, table)
    assert table.numbers.dtype == np.float32


def test_files_whose_columns_cannot_be_asked_for_one_by_one_are_read_whole(tmp_path, on_disk):
    import pyarrow as pa
    import pyarrow.parquet as pq

    x = np.random.default_rng(0).normal(size=(100, 3))
    pq.write_table(
        pa.table([pa.array(column) for column in x.T], names=["a", "b", "a"]), tmp_path / "t.parquet"
    )
    on_disk()
    assert load_table(tmp_path / "t.parquet").names == ("a", "b", "a_2")


def test_an_infinite_value_is_named(tmp_path, on_disk):
    frame = everything()
    frame.loc[7, "b"] = np.inf
    frame.to_parquet(tmp_path / "t.parquet")
    on_disk()
    with pytest.raises(InputError, match="column 'b' holds inf in row 8"):
        load_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("engine", ["local", "dag"])
def test_the_network_is_the_same(tmp_path, on_disk, engine):
    everything(900).to_parquet(tmp_path / "t.parquet")
    inner = "options__most_rows" if engine == "local" else "options__local__most_rows"
    model = GPM(engine).set_params(**{inner: 300})
    held = model.fit(tmp_path / "t.parquet").network_
    on_disk()
    streamed_one = model.fit(tmp_path / "t.parquet").network_
    assert held.candidates.equals(streamed_one.candidates)
    assert held.n_edges >= 1
    assert [axis.values for axis in held.shapes.axes.values()] == [
        axis.values for axis in streamed_one.shapes.axes.values()
    ]


def test_no_room_on_the_disk_is_one_line(monkeypatch):
    monkeypatch.setattr(space, "IN_MEMORY_BYTES", 0)

    def full(*given, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(space.tempfile, "TemporaryFile", full)
    with pytest.raises(InputError, match="set TMPDIR to a folder on a larger disk"):
        space.column_space(10, 2, np.float64)


def test_pages_of_both_files_are_given_back(monkeypatch):
    """What is copied from one file on the disk to another is held by neither."""
    monkeypatch.setattr(space, "IN_MEMORY_BYTES", 0)
    n, k = 1 << 20, 16
    first = space.side_by_side((np.full(n, float(at)) for at in range(k)), n, k, np.float64)
    before = resident_file_bytes()
    second = space.side_by_side((first[:, at] for at in range(k)), n, k, np.float64)
    assert resident_file_bytes() - before < 4 * 8 * n  # of the 2 * 16 columns a few
    assert np.array_equal(second[5], np.arange(k, dtype=float))


def resident_file_bytes():
    """Return how much of this process's memory is pages of files."""
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("this system does not say")
    lines = status.read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(("RssFile", "RssShmem")))


def test_a_table_on_the_disk_is_never_held_whole(tmp_path, monkeypatch):
    n, k = 100_000, 40
    pd.DataFrame(np.random.default_rng(0).normal(size=(n, k))).add_prefix("x").to_parquet(
        tmp_path / "t.parquet"
    )
    monkeypatch.setattr(space, "IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(space, "CELLS", 2 * n)
    monkeypatch.setattr(streamed, "STREAMED_BYTES", 0)
    tracemalloc.start()
    try:
        load_table(tmp_path / "t.parquet").encode(0, 1000)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 8 * n * k / 2
