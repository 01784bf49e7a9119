"""What the first lines of a text table say about its layout; each case was once read wrongly."""

import csv

import numpy as np
import pandas as pd
import pytest

from gpmnet.errors import InputError
from gpmnet.table import describe, load_table
from gpmnet.table.text import records

RNG = np.random.default_rng(4)
VALUES = RNG.normal(size=(40, 2)).round(3)
PAIRS = "".join(f"{a},{b}\n" for a, b in VALUES)


@pytest.mark.parametrize(("header", "names"), [("a,b", ("a", "b")), ("a,b,", ("a", "b"))])
def test_a_separator_at_the_end_of_every_line_is_no_column(write, header, names):
    table = load_table(write("t.csv", f"{header}\n" + PAIRS.replace("\n", ",\n")))
    assert table.schema.names == names
    np.testing.assert_array_equal(table.values(), VALUES)
    assert "ends with a separator" in table.schema.warnings[0]


@pytest.mark.parametrize("before", ["# made by me\n", "   \n", "\n# a, comment, in parts\n\t\n#\n"])
def test_comments_and_blank_lines_before_the_table_are_passed_over(write, before):
    table = load_table(write("t.csv", before + "a,b\n" + PAIRS))
    assert table.names == ("a", "b")
    np.testing.assert_array_equal(table.values(), VALUES)
    assert len(table.schema.warnings) == ("#" in before)


def test_blank_lines_inside_are_passed_over_and_counted_for_errors(write):
    lines = ["a,b,c", "1,2,", "   ", "", "4,5,6"]
    assert describe(write("t.csv", "\n".join(lines))).n_rows == 2
    with pytest.raises(InputError, match="line 6: 2 fields where 3"):
        describe(write("t.csv", "\n".join([*lines, "7,8"])))


@pytest.mark.parametrize("separator", [",", " "])
def test_names_in_a_comment_as_numpy_writes_them(tmp_path, separator):
    np.savetxt(tmp_path / "t.txt", VALUES, delimiter=separator, header=f"a{separator}b")
    table = load_table(tmp_path / "t.txt")
    assert table.names == ("a", "b")
    np.testing.assert_array_equal(table.values(), VALUES)


def test_a_title_on_its_own_is_an_error_not_a_header(write):
    with pytest.raises(InputError, match="line 2: 2 fields where 1"):
        describe(write("t.csv", "title\na,b\n" + PAIRS))


@pytest.mark.parametrize("width", [2, 3, 5])
def test_the_header_of_a_frame_without_names(write, width):
    frame = pd.DataFrame(RNG.normal(size=(30, width)))
    expected = tuple(str(i) for i in range(width))
    for text, names in (
        (frame.to_csv(), ("column_1", *expected)),
        (frame.to_csv(index=False), expected),
    ):
        schema = describe(write("t.csv", text))
        assert (schema.names, schema.n_rows) == (names, 30)
        assert "was taken for names" in schema.warnings[0]
    assert schema.names == expected


@pytest.mark.parametrize("first", ["0,1", "1,2"])
def test_a_first_row_that_counts_is_a_row(write, first):
    rows = "".join(f"{a},{b}\n" for a, b in RNG.integers(0, 9, (30, 2)))
    schema = describe(write("t.csv", f"{first}\n{rows}"))
    assert (schema.names, schema.n_rows) == (("x1", "x2"), 31)
    (said,) = schema.warnings
    assert said.startswith("no header found: the columns are called x1, x2, ... and the first line, '")
    assert describe(write("t.csv", f"{first}\n{rows}"), header=False).warnings == ()


def test_a_header_of_years_one_short(write):
    rows = "".join(f"g{i} {a} {b}\n" for i, (a, b) in enumerate(VALUES))
    assert describe(write("t.txt", "2001 2002\n" + rows)).names == ("row", "2001", "2002")


def test_row_names_are_ignored_whatever_they_look_like(write):
    rows = "".join(f"{i % 3} {a} {b}\n" for i, (a, b) in enumerate(VALUES))
    schema = describe(write("t.txt", "a b\n" + rows))
    assert (schema["row"].kind, schema["row"].why) == ("ignored", "row names")
    assert describe(write("t.txt", "a b\n" + rows), kinds={"row": "discrete"})["row"].kind == "discrete"


def test_what_write_table_of_r_writes(write):
    rows = "".join(f'"{i}" {a} "group {i % 2}" {b}\n' for i, (a, b) in enumerate(VALUES, start=1))
    table = load_table(write("t.txt", '"x" "the group" "y"\n' + rows))
    assert table.schema.names == ("row", "x", "the group", "y")
    assert table.schema["the group"].levels == ("group 0", "group 1")
    np.testing.assert_array_equal(table.numbers, VALUES)


def test_spaces_after_separators(write):
    table = load_table(write("t.csv", 'a, "b, c", d\n' + "".join(f'{a}, {b}, "x, y"\n' for a, b in VALUES)))
    assert table.schema.names == ("a", "b, c", "d")
    np.testing.assert_array_equal(table.numbers, VALUES)


@pytest.mark.parametrize("header", ["", "a;b;c\n"])
def test_decimal_commas_do_not_separate(write, header):
    text = "".join(f"{a};{b};{'uv'[i % 2]}\n".replace(".", ",") for i, (a, b) in enumerate(VALUES))
    table = load_table(write("t.csv", header + text))
    np.testing.assert_array_equal(table.numbers, VALUES)
    assert table.schema.columns[2].levels == ("u", "v")


def test_one_column_settles_the_decimal_mark_of_the_file(write):
    rows = "".join(f"{i * 0.5:.1f};{1 + i * 0.125:.3f};{1 + i}.500\n" for i in range(30))
    rows = "\n".join(
        ";".join(c if at == 2 else c.replace(".", ",") for at, c in enumerate(row.split(";")))
        for row in rows.splitlines()
    )
    schema = describe(write("t.csv", "a;b;c\n" + rows))
    assert [c.high for c in schema] == [14.5, 4.625, 30500]
    plain = describe(write("t.csv", "b,c\n" + "".join(f'"{1 + i},{i:03}",{1 + i}.500\n' for i in range(30))))
    assert [c.high for c in plain] == [30029, 30.5]


def test_leading_zeros_far_from_the_start(write):
    lines = [f"{10_000 + i % 7},{i / 7}" for i in range(400)]
    lines[350] = "00501,3.5"
    lines[360] = ",3.75"
    column = describe(write("t.csv", "zip,x\n" + "\n".join(lines)))["zip"]
    assert column.kind == "discrete"
    assert column.n_distinct == 8
    assert column.n_missing == 1


def test_marks_of_numbers_spread_to_text_and_say_so_but_not_dashes(write):
    rows = ["-,1.5,+,NA", "2.5,NA,-,m"] + [f"{i / 7},{i / 3},{'+-'[i % 2]},{'fm'[i % 2]}" for i in range(40)]
    schema = describe(write("t.csv", "x,y,rhesus,sex\n" + "\n".join(rows)))
    assert schema["rhesus"].levels == ("+", "-")
    assert (schema["x"].n_missing, schema["sex"].n_missing) == (1, 1)
    assert schema["sex"].notes == ("'NA' taken for missing, as in column 'y'",)


def test_variables_in_rows_have_names_of_text(write):
    rows = [f"{name},{','.join(map(str, RNG.normal(size=12).round(3)))}" for name in ("7", "", "08", "NA")]
    schema = describe(
        write("t.csv", "gene," + ",".join(map(str, range(12))) + "\n" + "\n".join(rows)), transpose=True
    )
    assert schema.names == ("7", "column_2", "08", "NA")
    assert schema.n_rows == 12


def test_variables_in_rows_have_a_header_unless_told(write):
    rows = "".join(f"{i},{','.join(map(str, RNG.normal(size=12).round(3)))}\n" for i in (5, 3, 9))
    schema = describe(write("t.csv", rows), transpose=True)
    assert schema.names == ("3", "9")
    assert "was taken for names" in schema.warnings[0]
    assert describe(write("t.csv", rows), transpose=True, header=False).names == ("5", "3", "9")


def test_codes_among_variables_in_rows(write):
    text = "v,s1,s2,s3,s4,s5,s6\nzip,00501,10001,00501,10001,10001,00501\nx,1,2,4,8,16,32\n"
    schema = describe(write("t.csv", text), transpose=True)
    assert schema["zip"].levels == ("00501", "10001")
    assert schema["x"].high == 32


@pytest.mark.parametrize("separator", ["ab", "", '"', "\n", "§"])
def test_impossible_separators_are_refused(write, separator):
    with pytest.raises(InputError, match="separator must be one ASCII character"):
        describe(write("t.csv", "a,b\n" + PAIRS), separator=separator)


def test_separators_have_names(write):
    for name, character in (("tab", "\t"), ("space", " "), (" ", " ")):
        path = write("t.csv", f"a,b\n{PAIRS}".replace(",", character))
        assert describe(path, separator=name).names == ("a", "b")


def test_the_limit_of_the_csv_module_is_given_back(write):
    before = csv.field_size_limit(1000)
    try:
        describe(write("t.csv", "a,b,c\n" + f"{'x' * 2000},1,2\n" * 3))
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(before)


def test_records_pass_over_blank_lines():
    assert list(records(["a b\n", "  \n", '"c d"\te\n'], r"\s+")) == [(1, ["a", "b"]), (3, ["c d", "e"])]
