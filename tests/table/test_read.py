import gzip
import io
import os
import re
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpmnet.errors import InputError
from gpmnet.table import describe, load_table

ROWS = "".join(f"{i * 0.37:.2f},{'red' if i % 3 else 'blue'},{i % 7}\n" for i in range(40))
CSV = "size,colour,score\n" + ROWS
DAMAGED_GZIP = gzip.compress(CSV.encode() * 50, mtime=0)[:40] + b"\xff" * 60
with zipfile.ZipFile(BUFFER := io.BytesIO(), "w") as archive:
    archive.writestr("[Content_Types].xml", "<no xml")
NO_EXCEL = BUFFER.getvalue()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
def test_separators_are_found(write, separator):
    schema = describe(write("t.txt", CSV.replace(",", separator)))
    assert schema.names == ("size", "colour", "score")
    assert schema.n_rows == 40
    assert [c.kind for c in schema] == ["continuous", "discrete", "ordinal"]


def test_separator_and_header_can_be_said(write):
    path = write("t.csv", CSV.replace(",", ";"))
    assert len(describe(path, separator=";")) == 3
    assert describe(path, header=False)["x1"].n_distinct == 41


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_found(write, encoding):
    schema = describe(write("t.csv", CSV.replace("red", "naïve").replace("size", "größe"), encoding))
    assert schema.names[0] == "größe"
    assert schema["colour"].levels == ("blue", "naïve")


def test_a_byte_order_mark_is_no_part_of_a_name(write):
    assert describe(write("t.csv", CSV, "utf-8-sig"), encoding="utf-8").names[0] == "size"


def test_quoted_fields_with_separators_newlines_and_quotes(write):
    lines = ['"a, b","two\nlines","say ""hi"""'] + [f'{i},"x,{i % 2}","p\nq{i % 3}"' for i in range(30)]
    schema = describe(write("t.csv", "\n".join(lines)))
    assert schema.names == ("a, b", "two\nlines", 'say "hi"')
    assert schema["two\nlines"].levels == ("x,0", "x,1")


def test_gzip_and_tsv(write):
    path = write("t.tsv.gz", gzip.compress(CSV.replace(",", "\t").encode()))
    assert len(describe(path)) == 3


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (ROWS, ("x1", "x2", "x3")),
        ("0,1,2\n" + ROWS, ("0", "1", "2")),
        (CSV, ("size", "colour", "score")),
        ("gene,2001,2002\n" + "".join(f"g{i},{i / 7},{i / 3}\n" for i in range(9)), None),
    ],
)
def test_header_or_not(write, text, names):
    found = describe(write("t.csv", text)).names
    # numbers on top of numbers, with no text to tell: the first line is a row
    assert found == (names or ("x1", "x2", "x3"))


def test_a_table_of_words_has_a_header(write):
    assert describe(write("t.csv", "a,b\n" + "x,y\nz,y\nx,w\n" * 9)).names == ("a", "b")


def test_header_one_short_means_row_names(write):
    schema = describe(write("t.txt", "a b\n" + "".join(f"r{i} {i / 3} {i % 2}\n" for i in range(30))))
    assert schema.names == ("row", "a", "b")
    assert schema["row"].kind == "ignored"


def test_leading_zeros_are_codes_not_numbers(write):
    text = "zip,x\n" + "".join(f"0{1000 + i % 3},{i / 7}\n" for i in range(30))
    assert describe(write("t.csv", text))["zip"].levels == ("01000", "01001", "01002")


def test_na_in_numbers_tells_what_na_in_text_means(write):
    with_marks = "sex,x\n" + "NA,1.5\n" + "m,NA\nf,2.25\n" * 20
    without = "sex,x\n" + "NA,1.5\n" * 9 + "m,3\nf,2.25\n" * 20
    assert describe(write("a.csv", with_marks))["sex"].n_missing == 1
    kept = describe(write("b.csv", without))["sex"]
    assert kept.levels == ("NA", "f", "m")
    assert "kept as a category" in kept.notes[0]
    assert describe(write("c.csv", without), na=["NA"])["sex"].n_missing == 9


def test_blank_cells_are_missing_and_none_beside_them_is_a_category(write):
    column = describe(write("t.csv", "mood,x\n" + "None,1.5\n,2.5\nSome,3.5\n" * 12))["mood"]
    assert column.levels == ("None", "Some")
    assert column.n_missing == 12


def test_numbers_round_trip_exactly(write):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(200), "b": rng.standard_normal(200) * 1e-300})
    np.testing.assert_array_equal(
        load_table(write("t.csv", frame.to_csv(index=False))).values(), frame.to_numpy()
    )


def test_transpose(write):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((4, 30))
    wide = pd.DataFrame(values, index=["g1", "g2", "g,3", "g2"], columns=[f"s{i}" for i in range(30)])
    table = load_table(write("genes.csv", wide.to_csv()), transpose=True)
    assert table.names == ("g1", "g2", "g,3", "g2_2")
    np.testing.assert_array_equal(table.values(), values.T)
    assert "repeated" in table.schema.warnings[0]


def test_excel(tmp_path):
    frame = pd.DataFrame(
        {"x": np.arange(30) / 7, "when": pd.date_range("2020-01-01", periods=30), "c": list("abc") * 10}
    )
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    schema = describe(tmp_path / "t.xlsx")
    assert [c.kind for c in schema] == ["continuous", "continuous", "discrete"]
    assert "dates" in schema["when"].why


def test_excel_that_starts_further_down_and_has_sheets(tmp_path):
    frame = pd.DataFrame({"x": np.arange(30) / 7, "c": list("abc") * 10})
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        frame.to_excel(book, sheet_name="data", index=False, startrow=3, startcol=1)
        frame.to_excel(book, sheet_name="more", index=False)
    schema = describe(tmp_path / "t.xlsx")
    assert schema.names == ("x", "c")
    assert schema.n_rows == 30
    assert schema.warnings == ("sheet 'data' was read; there are others: 'more'",)
    assert describe(tmp_path / "t.xlsx", sheet=1).columns == schema.columns
    with pytest.raises(InputError, match="has no sheet '2'"):
        describe(tmp_path / "t.xlsx", sheet=2)


@pytest.mark.parametrize(
    "text", [ROWS.partition("\n")[2], "0,1,2\n" + ROWS, CSV, "a,b\n" + "x,y\nz,y\nx,w\n" * 9]
)
@pytest.mark.parametrize("header", [None, True, False])
def test_excel_has_a_header_where_a_text_has_one(tmp_path, write, text, header):
    path = write("t.csv", text)
    cells = [line.split(",") for line in text.splitlines()]
    numbers = [
        [pd.to_numeric(cell) if re.fullmatch("[0-9.]+", cell) else cell for cell in row] for row in cells
    ]
    pd.DataFrame(numbers, dtype=object).to_excel(tmp_path / "t.xlsx", index=False, header=False)
    one, other = (describe(file, header=header) for file in (path, tmp_path / "t.xlsx"))
    assert one.names == other.names
    assert one.n_rows == other.n_rows
    assert one.warnings == other.warnings


def test_an_empty_sheet_is_named_with_the_others(tmp_path):
    frame = pd.DataFrame({"x": np.arange(30) / 7, "c": list("abc") * 10})
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame().to_excel(book, sheet_name="none", index=False)
        frame.to_excel(book, sheet_name="data", index=False)
    with pytest.raises(InputError, match=r"is empty in sheet 'none'; other sheets are 'data'$"):
        describe(tmp_path / "t.xlsx")
    assert describe(tmp_path / "t.xlsx", sheet="data").n_rows == 30


def test_sheets_are_for_excel_only(write):
    with pytest.raises(InputError, match=r"sheet is for \.xlsx files only"):
        describe(write("t.csv", CSV), sheet="a")


def test_transposed_parquet_keeps_whole_numbers_as_names(tmp_path):
    wide = pa.table({"id": [7, None, 9], **{f"s{i}": [i * 0.5, i % 3 + 0.25, i * i + 0.5] for i in range(9)}})
    pq.write_table(wide, tmp_path / "t.parquet")
    assert describe(tmp_path / "t.parquet", transpose=True).names == ("7", "column_2", "9")


def test_parquet_leaves_the_pandas_index_out(tmp_path):
    frame = pd.DataFrame({"x": np.arange(9) / 7, "y": np.arange(9) * 0.5}, index=list("abcdefghi"))
    frame.to_parquet(tmp_path / "t.parquet")
    schema = describe(tmp_path / "t.parquet")
    assert schema.names == ("x", "y")
    assert "index" in schema.warnings[0]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n\n", "is empty"),
        ("t.csv", b"a,b\n", "0 rows"),
        ("t.csv", b"a\n1\n2\n3\n", "1 column"),
        ("t.csv", b"a,b\n1,2\n3,4,5\n6,7\n", "line 3: 3 fields where 2"),
        ("t.csv", b"a,b,c\n1,2,3\n4,5\n6,7,8\n", "line 3: 2 fields where 3"),
        ("t.csv", b'a,b,c\n1,"x\ny",3\n4,5\n', "line 4: 2 fields where 3"),
        ("t.csv", b"a,b\n\x81\x8d,2\n3,4\n", "not text in UTF-8 or Windows-1252"),
        ("t.csv", b"a,b\n1,\x00\n", "NUL bytes"),
        ("t.csv", b"\xef\xbb\xbfa,b\n1,\xff\n", "starts as utf-8"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16") + b"\0", "starts as utf-16"),
        ("t.csv.gz", b"not gzip at all", "cannot be read"),
        ("t.csv.gz", DAMAGED_GZIP, "cannot be read"),
        ("t.parquet.gz", b"whatever", "only text files are read compressed"),
        ("t.parquet", b"not parquet at all", "not a readable Parquet"),
        ("t.xlsx", b"not excel at all", "not a readable Excel"),
        ("t.xlsx", b"PK\x03\x04 but damaged", "not a readable Excel"),
        ("t.xlsx", NO_EXCEL, "not a readable Excel"),
        ("t.docx", b"whatever", "unknown format '.docx'"),
        ("t.csv", b"a,b\n1,2\n3,inf\n5,6\n", "column 'b' holds inf in row 2"),
    ],
)
def test_bad_files_are_refused_in_one_line(write, name, content, words):
    with pytest.raises(InputError) as caught:
        load_table(write(name, content))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ragged_line_far_from_the_start(write):
    lines = ["a,b"] + ["1.5,2"] * 5000 + ["1.5,2,3"] + ["1,2"] * 5
    with pytest.raises(InputError, match="line 5002: 3 fields"):
        load_table(write("t.csv", "\n".join(lines)))


def test_no_such_file_and_folder(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_table(tmp_path / "nope.csv")
    with pytest.raises(InputError, match="no table format"):
        load_table("parkay")
    with pytest.raises(InputError, match="is a folder"):
        load_table(tmp_path)
    with pytest.raises(InputError, match="cannot be opened: File name too long"):
        load_table("a" * 300 + ".csv")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no ordinary file"):
        load_table(tmp_path / "pipe")
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    with pytest.raises(InputError, match="unknown encoding"):
        load_table(path, encoding="klingon")
