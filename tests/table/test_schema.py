import json

import pytest

from gpmnet.errors import InputError
from gpmnet.table import Column, Schema

COLUMNS = (
    Column("age", "continuous", "numbers", "scores", 3, 90, (), 1.5, 90.0, notes=("a note",)),
    Column("born", "continuous", "dates", "scores", 0, 70, (), -3000.0, 20.25, dates=True),
    Column("colour", "discrete", "text", "codes", 0, 2, ("red", "lone \ud800")),
    Column("farbe", "discrete", "text", "codes", 0, 2, ("rot", ""), duplicate_of="colour"),
    Column("id", "ignored", "as many values as rows"),
)
SCHEMA = Schema(COLUMNS, 1599, ("the name 'x' is repeated",))


def test_a_schema_is_the_same_after_json():
    back = Schema.from_dict(json.loads(json.dumps(SCHEMA.to_dict(), allow_nan=False)))
    assert back == SCHEMA
    assert back.duplicates == {"farbe": "colour"}
    assert [column.active for column in back] == [True, True, True, False, False]


def test_what_a_schema_does_not_say_has_its_default():
    back = Schema.from_dict({"n_rows": 5, "columns": [{"name": "a", "kind": "ordinal"}]})
    assert back == Schema((Column("a", "ordinal", ""),), 5)


def with_column(**changes):
    column = SCHEMA.to_dict()["columns"][0] | changes
    return SCHEMA.to_dict() | {"columns": [column]}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (3, "the schema"),
        ([], "the schema"),
        ({}, "the rows"),
        (SCHEMA.to_dict() | {"n_rows": -1}, "the rows"),
        (SCHEMA.to_dict() | {"n_rows": True}, "the rows"),
        (SCHEMA.to_dict() | {"columns": {"a": 1}}, "the columns"),
        (SCHEMA.to_dict() | {"columns": [1]}, "a column"),
        (SCHEMA.to_dict() | {"columns": SCHEMA.to_dict()["columns"] * 2}, "unique"),
        (SCHEMA.to_dict() | {"warnings": [["deep"]]}, "the warnings"),
        (with_column(name=2), "the name"),
        (with_column(kind=[]), "'age', kind"),
        (with_column(kind="other"), "'age', kind"),
        (with_column(encoding="other"), "encoding"),
        (with_column(why=5), "why"),
        (with_column(low="x"), "low"),
        (with_column(high=float("inf")), "high"),
        (with_column(high=10**400), "high"),
        (with_column(n_missing=1.5), "n_missing"),
        (with_column(levels="red"), "levels"),
        (with_column(levels=[1]), "levels"),
        (with_column(notes={"a": 1}), "notes"),
        (with_column(dates="yes"), "dates"),
        (with_column(duplicate_of="nobody"), "repeat"),
        (with_column(duplicate_of="age"), "repeat"),
        (with_column(name="two\nlines", kind=None), "kind"),
    ],
)
def test_a_damaged_schema_is_refused_in_one_line(data, words):
    with pytest.raises(InputError, match=words) as caught:
        Schema.from_dict(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
