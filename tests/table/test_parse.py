import pytest

from gpmnet.table.parse import parse_spellings


@pytest.mark.parametrize(
    ("spellings", "values"),
    [
        (["1", "-2.5", "3e2", "+.5"], (1, -2.5, 300, 0.5)),
        (["1,234", "12", "1,234,567.5"], (1234, 12, 1234567.5)),
        (["3,14", "1.234,5"], (3.14, 1234.5)),
        (["0,125", "12", "1,500"], (0.125, 12, 1.5)),
        (["1.234,50", "2.500"], (1234.5, 2500)),
        (["1.234.567", "12.345"], (1234567, 12345)),
        (["1 234", "1'234,5", "7"], (1234, 1234.5, 7)),
        (["12\N{NO-BREAK SPACE}345", "7.5"], (12345, 7.5)),
        (["12%", "3.5 %"], (12, 3.5)),
        (["12%", "0"], (12, 0)),
        (["$1,200", "$5", "-$3"], (1200, 5, -3)),
        (["3,50 €", "12,00 €"], (3.5, 12)),
        (["\N{MINUS SIGN}4", "2"], (-4, 2)),
        (["1", "", "NA", "?"], (1, None, None, None)),
    ],
)
def test_numbers_in_many_spellings(spellings, values):
    parsed = parse_spellings(spellings)
    assert parsed.reading == "number"
    assert parsed.values == values


@pytest.mark.parametrize(
    "spellings",
    [
        ["2009_10", "2011_12"],
        ["00501", "10001"],
        ["1,23,4"],
        ["1.2.3"],
        ["5-12", "<5"],
        ["12%", "5"],
        ["3,14", "2.5"],
        ["612 345 678", "655 123 456"],
    ],
)
def test_what_is_no_number(spellings):
    assert parse_spellings(spellings).reading == "text"


def test_an_infinite_number_is_read_as_one_so_that_it_can_be_refused():
    assert parse_spellings(["inf", "1"]).values == (float("inf"), 1)


@pytest.mark.parametrize(
    ("spellings", "first"),
    [
        (["1970-01-02", "1971-01-01"], 1),
        (["Jan 03 1970", "Aug 07 1998"], 2),
        (["13/01/1970", "01/02/1970"], 12),
        (["01/13/1970", "02/01/1970"], 12),
        (["1970-01-01T12:00:00", "1970-01-02T00:00:00"], 0.5),
        (["1970-01-01T02:00:00+0200", "1970-01-02T00:00:00+0000"], 0),
        (["1970-01-02T12:00Z", "1970-01-02"], 1.5),
        (["1/31/1970 12:00", "2/1/1970 0:30"], 30.5),
        (["01/31/1970 06:00 PM", "02/01/1970 09:30 AM"], 30.75),
        (["2 January 1970", "13 March 1970"], 1),
    ],
)
def test_dates_become_days(spellings, first):
    parsed = parse_spellings(spellings)
    assert parsed.reading == "date"
    assert parsed.values[0] == first


def test_booleans_in_their_spellings():
    assert parse_spellings(["Yes", "no", "YES"]).values == (1, 0, 1)
    assert parse_spellings(["t", "f"]).reading == "boolean"
    assert parse_spellings(["yes", "false"]).reading == "text"


def test_none_is_a_category_in_text_unless_known_to_mean_missing():
    spellings = ["None", "Mild", "Severe"]
    kept = parse_spellings(spellings)
    assert kept.missing == (False, False, False)
    assert "'None' kept as a category" in kept.notes[0]
    assert parse_spellings(spellings, marks=frozenset({"None"})).missing == (True, False, False)
    assert parse_spellings(spellings, given=frozenset({"None"})).missing == (True, False, False)


def test_a_nearly_numeric_column_says_what_spoils_it():
    parsed = parse_spellings([str(i) for i in range(20)] + ["12 kg"])
    assert parsed.reading == "text"
    assert "'12 kg' is not" in parsed.notes[0]


def test_a_date_that_can_be_read_two_ways_says_so():
    assert parse_spellings(["01/02/2020", "03/04/2020"]).notes == (
        "dates read as %m/%d/%Y, though %d/%m/%Y fits too",
    )
    assert parse_spellings(["01/13/2020", "03/04/2020"]).notes == ("dates read as %m/%d/%Y",)


def test_the_decimal_mark_is_shown_or_told():
    assert parse_spellings(["3,14"]).decimal == "comma"
    assert parse_spellings(["3.14"]).decimal == "point"
    ambiguous = ["1,500", "12"]
    assert parse_spellings(ambiguous).decimal == ""
    assert parse_spellings(ambiguous).values == (1500, 12)
    assert parse_spellings(ambiguous, comma=True).values == (1.5, 12)
