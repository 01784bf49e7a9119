"""Files that are small and become large, or hold what a library behind the readers cannot."""

import gzip
import time
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpmnet.errors import InputError
from gpmnet.table import describe, load_table
from gpmnet.table.assemble import natural_order
from gpmnet.table.parse import parse_spellings


def refused(path, *words, **options):
    with pytest.raises(InputError) as caught:
        describe(path, **options)
    said = str(caught.value)
    assert all(word in said for word in words), said
    assert "\n" not in said


def test_compressed_text_is_not_unpacked_beyond_the_limit(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b\n")
        for _ in range(300):
            file.write(b"0.5,1.5\n" * 125_000)
    begun = time.perf_counter()
    refused(path, "unpacks to more than 0.25 GB", "max_gb (--max-gb)")
    assert time.perf_counter() - begun < 5
    small = tmp_path / "s.csv.gz"
    small.write_bytes(gzip.compress(b"a,b\n" + b"0.5,1.5\n2.5,0.5\n" * 1000))
    assert describe(small).n_rows == 2000
    refused(small, "more than 0.00 GB", max_gb=1e-7)


def test_rows_of_parquet_are_counted_before_they_are_read(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.repeat("x", 4_000_000), "b": pa.repeat(2.0, 4_000_000)}), path)
    refused(path, "unpacks to 0.29 GB (4,000,000 rows of 2 columns)", "--max-gb")
    pq.write_table(pa.table({"a": pa.repeat(1.0, 2_000_000), "b": pa.repeat(2.0, 2_000_000)}), path)
    refused(path, "unpacks to 0.03 GB", "--max-gb", max_gb=0.03)


def test_a_cell_in_a_far_corner_of_a_sheet(tmp_path):
    from openpyxl import Workbook

    book = Workbook()
    book.active["A1"] = "a"
    book.active["XFD1048576"] = 1
    other = book.create_sheet("fine")
    for row in [["a", "b"], *([float(k), k % 3] for k in range(30))]:
        other.append(row)
    book.save(tmp_path / "t.xlsx")
    refused(tmp_path / "t.xlsx", "cells as far as row 1,048,576 and column 16,384", "--max-gb")
    assert describe(tmp_path / "t.xlsx", sheet="fine").names == ("a", "b")


def test_a_workbook_that_is_a_bomb_itself(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/sharedStrings.xml", b" " * 20_000_000)
    refused(tmp_path / "t.xlsx", "unpacks to 0.02 GB (compressed parts)", max_gb=0.01)


@pytest.mark.parametrize("text", ["1234567," * 5_000_000, "1" * 40_000_000, "a;" * 250_000 + "\n1;2\n"])
def test_one_endless_line(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    begun = time.perf_counter()
    refused(tmp_path / "t.csv", "max_columns (--max-columns)")
    assert time.perf_counter() - begun < 5


def test_the_number_of_columns_has_a_limit_that_can_be_raised(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 30))).add_prefix("x")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.txt", index=False, sep=" ")
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    for name in ("t.csv", "t.txt", "t.parquet", "t.xlsx"):
        refused(tmp_path / name, "has 30 columns or more; the limit is 29", "--max-columns", max_columns=29)
        assert len(describe(tmp_path / name, max_columns=30)) == 30
    for bad in (
        {"max_columns": "many"},
        {"max_columns": 1},
        {"max_gb": 0},
        {"max_gb": "x"},
        {"max_gb": True},
    ):
        refused(tmp_path / "t.csv", next(iter(bad)), "must be", **bad)


def test_moments_out_of_range_and_repeated_names_in_parquet(tmp_path):
    rng = np.random.default_rng(0)
    numbers = [pa.array(rng.normal(size=30)) for _ in range(2)]
    pq.write_table(pa.table(numbers, names=["a", "a"]), tmp_path / "t.parquet")
    assert load_table(tmp_path / "t.parquet").names == ("a", "a_2")
    moments = pa.array([10**18] * 30, pa.timestamp("us"))
    pq.write_table(pa.table([moments, *numbers], names=["when", "a", "b"]), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "column 'when' holds a moment outside the years 1 to 9999")


def test_labels_that_look_like_whole_numbers_of_any_length():
    labels = ["--4", "5", "-", ""]
    assert natural_order(labels) == sorted(labels)
    long = "1" + "0" * 5000
    shuffled = ["7", long, "-3", "-" + long, "-12", "0", "-0", "10", "007", "-99"]
    assert natural_order(shuffled) == ["-" + long, "-99", "-12", "-3", "-0", "0", "007", "7", "10", long]
    rng = np.random.default_rng(0)
    some = [str(k) for k in rng.integers(-2000, 2000, 300)]
    assert [int(label) for label in natural_order(some)] == sorted(map(int, some))
    frame = pd.DataFrame({"a": ["--4", "5", "x"] * 20, "b": [1.5, 2.5, 3.5] * 20})
    assert describe(frame)["a"].levels == ("--4", "5", "x")


CODES = [1234567890123456700 + 10 * (at % 5) for at in range(60)]  # one and the same number as floats


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("form", ["pandas", "object", "polars", "array", "csv", "parquet", "transposed"])
def test_codes_of_so_many_digits_that_floats_merge_them_are_labels(tmp_path, form, gap):
    codes = [None if gap and at == 7 else code for at, code in enumerate(CODES)]
    frame = pd.DataFrame({"a": np.arange(60) ** 2, "code": pd.array(codes, dtype="Int64")})
    found = frame
    if form == "object":
        found = frame.astype({"code": object})
    elif form == "polars":
        found = pl.from_pandas(frame)
    elif form == "array":
        found = frame.to_numpy(dtype=object if gap else np.int64)
    elif form in ("csv", "transposed"):
        found = tmp_path / "t.csv"
        if form == "csv":
            frame.to_csv(found, index=False)
        else:
            frame.T.to_csv(found)
    elif form == "parquet":
        found = tmp_path / "t.parquet"
        frame.to_parquet(found)
    schema = describe(found, transpose=form == "transposed") if form == "transposed" else describe(found)
    column = list(schema)[1]
    assert column.levels == tuple(map(str, sorted(set(CODES))))
    assert column.notes == ("whole numbers too long to be told apart as numbers: kept as labels",)
    assert column.n_missing == gap


def test_moments_in_nanoseconds_stay_numbers(tmp_path):
    moments = 1_700_000_000_000_000_000 + np.random.default_rng(0).integers(0, 10**4, 500)
    assert len(np.unique(moments)) > len(np.unique(moments.astype(float))) > 20
    frame = pd.DataFrame({"a": np.arange(500) ** 2, "at": moments})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for found in (frame, frame.to_numpy(), tmp_path / "t.csv"):
        assert list(describe(found))[1].kind == "continuous"


@pytest.mark.parametrize(
    "cell",
    [
        "1" * 100_000 + "x",
        "1." + "1" * 100_000 + "x",
        "1" + " " * 100_000 + "x",
        "$" * 100_000,
        ",1" * 50_000,
    ],
)
def test_long_cells_take_time_in_proportion_to_their_length(cell):
    begun = time.perf_counter()
    assert parse_spellings([cell, "5"]).reading == "text"
    assert time.perf_counter() - begun < 1


def test_spellings_of_one_number_among_few_are_named(tmp_path):
    note = "'1.1' and '1.10' are one number; labels that differ need a letter, as in v1.10"
    frame = pd.DataFrame({"v": ["1.1", "1.10", "1.2"] * 20, "x": [f"{k / 7:.3f}" for k in range(60)]})
    assert describe(frame)["v"].notes[0] == note
    frame.to_csv(tmp_path / "t.csv", index=False)
    schema = describe(tmp_path / "t.csv")
    assert schema["v"].notes[0] == note
    assert schema["x"].notes == ()
    frame.assign(v=["1.10", "1.20", "1.00"] * 20).to_csv(tmp_path / "t.csv", index=False)
    assert describe(tmp_path / "t.csv")["v"].notes == (), "one spelling each"


def test_numbers_that_raise_when_they_are_looked_at():
    odd = [Decimal("sNaN"), Decimal(5), Decimal("NaN"), Decimal("1.5")] * 10
    schema = describe(pd.DataFrame({"a": odd, "b": range(40)}))
    assert schema["a"].n_missing == 20
    with pytest.raises(InputError, match="column 'a' holds a value that cannot be spelled"):
        describe(pd.DataFrame({"a": [10**5000, "x"] * 20, "b": range(40)}))
