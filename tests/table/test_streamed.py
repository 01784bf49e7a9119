"""Tables that are read column by column and held in a file: the same table, and the same network."""

import datetime
import gzip
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gpmnet import GPM
from gpmnet.errors import InputError
from gpmnet.table import column_file, facts, load_table, space, streamed
from gpmnet.table.load import load_raw
from gpmnet.table.space import is_on_disk


@pytest.fixture
def on_disk(monkeypatch):
    """Make every table one that is too large for memory, sorted two columns at a time and read a few rows at a time."""

    def _on_disk(rows=97):
        monkeypatch.setattr(space, "IN_MEMORY_BYTES", 0)
        monkeypatch.setattr(space, "CELLS", 1000)
        monkeypatch.setattr(facts, "LONG_ROWS", 0)
        monkeypatch.setattr(streamed, "STREAMED_BYTES", 0)
        for module in (column_file, streamed):
            monkeypatch.setattr(module, "ROWS", 97)
        monkeypatch.setattr(streamed, "_CELLS", 0)
        monkeypatch.setattr(streamed, "_LEAST_ROWS", rows)

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
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), name


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


def test_long_whole_numbers_of_a_streamed_table_are_labels(tmp_path, on_disk):
    frame = everything().assign(code=lambda frame: 2**60 + np.arange(len(frame)) % 3)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=120)
    held = load_table(tmp_path / "t.parquet")
    assert held.schema["code"].levels == (str(2**60), str(2**60 + 1), str(2**60 + 2))
    on_disk()
    table = load_table(tmp_path / "t.parquet")
    assert is_on_disk(table.numbers)
    same_table(held, table)


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


def same_raw(one, other):
    for name in ("names", "notes", "dates", "ignored", "warnings"):
        assert getattr(one, name) == getattr(other, name), name
    assert np.array_equal(one.number_at, other.number_at)
    assert one.numbers.dtype == other.numbers.dtype
    assert np.array_equal(one.numbers, other.numbers, equal_nan=True)
    assert one.labelled.keys() == other.labelled.keys()
    for at, labels in one.labelled.items():
        there = other.labelled[at]
        assert np.array_equal(labels.codes, there.codes)
        assert (labels.labels, labels.origin, labels.ordered) == (there.labels, there.origin, there.ordered)


COLUMNS = {  # eight cells each, read three at a time
    "whole": ["1", "2", "3", "4", "5", "6", "7", "8"],
    "fraction late": ["1", "2", "3", "4", "5", "6", "7", "8.5"],
    "gap late": ["1", "2", "3", "4", "5", "6", "", "8"],
    "gaps for three": ["1", "2", "3", "", "", "", "7", "8"],
    "text late": ["1", "2.50", "3", "4", "5", "6", "7", "many"],
    "text, then gaps": ["u", " v", "v ", "", "", "", "u", "w"],
    "missing late": ["1.50", "2", "3", "4", "5", "6", "7", "NA"],
    "zero late": ["10", "2", "3", "4", "5", "6", "7", "08"],
    "zero late with a gap": ["10", "", "3", "4", "5", "6", "7", "08"],
    "truth": ["True", "False", "True", "true", "TRUE", "False", "False", "True"],
    "truth with gaps": ["True", "False", "True", "", "True", "False", "", "True"],
    "truth, then text": ["True", "False", "True", "yes", "no", "no", "no", "yes"],
    "truth, then numbers": ["True", "False", "True", "1", "0", "1", "0", "1"],
    "mark in text": ["NA", "b", "b", "c", "c", "b", "b", "c"],
    "spelled twice": ["1.1", "2.5", "1.1", "2.5", "1.10", "2.5", "1.1", "2.50"],
    "long": ["1", "9223372036854775808", "3", "4", "5", "6", "7", "8"],
    "long and negative": ["1", "9223372036854775808", "3", "-4", "5", "6", "7", "8"],
    "longer": ["1", "2", "3", "4", "5", "6", "7", "99999999999999999999999"],
    "codes": [str(2**60 + at % 2) for at in range(8)],
    "codes late, with gaps": ["1", "2", "", "1", "", str(-(2**60)), str(-(2**60) - 1), "2"],
    "date": ["2020-01-05", "2020-01-06", "2020-01-07", "", "2020-02-05", "2021-01-05", "2020-01-05", "x"],
    "grouped": ['"1,200"', "3", "4", "5", '"6,000"', "7", "8", "9"],
    "empty": [""] * 8,
    "quoted lines": ['"a\nb"', "c", "c", "c", '"a\nb"', "d", "d", "c"],
    "one third": ["0.3333333333333333", "1e-300", "3e5", "0.1", "0.2", "0.30000000000000004", "5", "7"],
}


def lines(columns, separator=","):
    names = [name.replace(",", "") for name in columns]
    rows = zip(*columns.values(), strict=True)
    return "".join(separator.join(row) + "\n" for row in (names, *rows))


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("name", [*COLUMNS, "all"])
def test_a_text_read_in_parts_is_the_same(tmp_path, on_disk, name, rows):
    chosen = COLUMNS if name == "all" else {name: COLUMNS[name], "last": [*"12345678"]}
    (tmp_path / "t.csv").write_text(lines(chosen | {"end": ["1.5", *"2345678"]}))
    held = load_raw(tmp_path / "t.csv", na=["7"])
    on_disk(rows)
    same_raw(held, load_raw(tmp_path / "t.csv", na=["7"]))


@pytest.mark.parametrize(
    "text",
    [
        "a;b;c\n1,5;2;u\n2,5;3;v\n3;4;u\n4,25;5;v\n",  # a comma for a decimal point
        "a,b,c\nr1,1,2,3\nr2,2,3,4\nr3,5,5,6\n",  # row names
        "a,b,c,\n1,2,3,\n2,3,4,\n5,5,6,\n",  # a separator at the ends of lines
        "# made\na b  c\n1 2 3\n\n2 3  4\n5 5 u\n",  # spaces, comments and blank lines
        "1,2\n3,4\n5,6.5\n",  # no names
        "a,a,\n1,2,\n2,3,4\n3,4,5\n",  # names twice, and one missing
    ],
)
def test_formats_of_texts_read_in_parts_are_the_same(tmp_path, on_disk, text):
    (tmp_path / "t.txt").write_text(text)
    with gzip.open(tmp_path / "t.txt.gz", "wt") as file:
        file.write(text)
    held = load_raw(tmp_path / "t.txt")
    on_disk(2)
    same_raw(held, load_raw(tmp_path / "t.txt"))
    same_raw(held, load_raw(tmp_path / "t.txt.gz"))


def test_wrong_lines_of_a_text_read_in_parts_are_named(tmp_path, on_disk):
    on_disk(2)
    for wrong in ("9", "9,10,11", "9,"):
        rows = [*(f"{k},{k + 1}" for k in range(7)), wrong, "20,30"]
        (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
        if wrong == "9,":
            assert np.isnan(load_raw(tmp_path / "t.csv").numbers).sum() == 1
            continue
        with pytest.raises(InputError, match=r"line 9: [13] fields where 2 are expected"):
            load_raw(tmp_path / "t.csv")


def test_a_text_read_in_parts_is_never_held_whole(tmp_path, monkeypatch):
    n, k = 40_000, 30
    drawn = np.random.default_rng(0).normal(size=(n, k))
    pd.DataFrame(drawn).add_prefix("x").to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(space, "IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(streamed, "STREAMED_BYTES", 0)
    monkeypatch.setattr(streamed, "_CELLS", 1 << 16)
    tracemalloc.start()
    try:
        raw = load_raw(tmp_path / "t.csv")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(raw.numbers, drawn)
    assert most < 8 * n * k / 2


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


@pytest.mark.parametrize("form", ["t.parquet", "t.csv"])
@pytest.mark.parametrize(("engine", "most"), [("local", 300), ("dag", 300), ("dag", None)])
def test_the_network_is_the_same(tmp_path, on_disk, engine, most, form):
    frame = everything(900)
    frame.to_parquet(tmp_path / form) if form == "t.parquet" else frame.to_csv(tmp_path / form, index=False)
    model = GPM(engine).set_params(options__most_rows=most)
    held = model.fit(tmp_path / form).network_
    on_disk()
    streamed_one = model.fit(tmp_path / form).network_
    assert held.candidates.equals(streamed_one.candidates)
    assert held.n_edges >= 1
    assert [axis.values for axis in held.shapes.axes.values()] == [
        axis.values for axis in streamed_one.shapes.axes.values()
    ]


@pytest.mark.parametrize("engine", ["local", "dag"])
def test_what_is_on_the_disk_travels_to_other_processes(tmp_path, on_disk, engine):
    """All rows of a table: ranks are then on the disk as well, in a file that has no name."""
    everything(300)[["a", "b", "count", "text"]].to_parquet(tmp_path / "t.parquet")
    on_disk()
    model = GPM(engine, stability=2, n_jobs=1).set_params(options__most_rows=None)
    assert is_on_disk(load_table(tmp_path / "t.parquet").encode().ranks)
    here = model.fit(tmp_path / "t.parquet").network_
    beside = model.set_params(workers=2).fit(tmp_path / "t.parquet").network_
    assert here.candidates.equals(beside.candidates)
    assert here.edges.stability.max() > 0


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


PEAK = """
import sys
from pathlib import Path
from gpmnet.table import load_table, space, streamed
space.IN_MEMORY_BYTES = streamed.STREAMED_BYTES = 0
load_table(sys.argv[1]).encode(0, 1000)
lines = Path("/proc/self/status").read_text().splitlines()
print(next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")))
"""


def test_resident_memory_is_that_of_a_few_columns(tmp_path):
    """Pages of mapped files included. It grows with rows as these columns do, and not with the number of columns."""
    resident_file_bytes()  # skips where the system does not say

    def peak(n, k):
        path = tmp_path / f"{n}x{k}.parquet"
        drawn = np.random.default_rng(0).normal(size=(n, k)).astype(np.float32).astype(np.float64)
        pd.DataFrame(drawn).add_prefix("x").to_parquet(path, row_group_size=1 << 16)
        done = subprocess.run([sys.executable, "-c", PEAK, path], check=True, capture_output=True, text=True)
        return int(done.stdout)

    n, few, many = 400_000, 6, 24
    short, wide, long = peak(n, few), peak(n, many), peak(2 * n, many)
    assert wide - short < 8 * n * (many - few) / 3  # a third of the columns that were added
    assert long - wide < 8 * n * many / 2  # half of the rows that were added
