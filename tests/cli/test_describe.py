import json
import os
import subprocess
import sys

import pandas as pd
import pytest


def gpmnet(*arguments, env=None):
    return subprocess.run(
        [sys.executable, "-m", "gpmnet", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | (env or {}),
    )


@pytest.fixture
def table(write):
    return write(
        "t.csv",
        "dose,<b>sex</b>,\x1b[31mred\n" + "".join(f"{i / 7},{'fm'[i % 2]},{i % 9}\n" for i in range(90)),
    )


def test_describe_prints_a_plain_table(table):
    done = gpmnet("describe", table)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "<b>sex</b>" in done.stdout
    assert "\x1b" not in done.stdout
    assert "90 rows, 3 columns: 1 continuous, 1 ordinal, 1 discrete" in done.stdout


def test_describe_speaks_json(table):
    plain = json.loads(gpmnet("describe", table, "--json", "--kinds", "dose=ignored").stdout)
    assert [column["kind"] for column in plain["columns"]] == ["ignored", "discrete", "ordinal"]
    assert plain["columns"][2]["name"] == "\x1b[31mred"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe", "nope.csv"], "no such file: 'nope.csv'"),
        (["describe", "{table}", "--kinds", "zip=discrete"], "the column 'zip'"),
        (["describe", "{table}", "--kinds", "dose"], "--kinds expects COL=KIND, got 'dose'"),
        (["describe", "{table}", "--kinds", "{not json"], "--kinds is not valid JSON"),
        (["describe", "{table}", "--separator", "ab"], "separator must be one ASCII character"),
        (["describe", "{table}", "--nonsense"], "No such option"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(table, arguments, words):
    done = gpmnet(*[a.replace("{table}", str(table)) for a in arguments])
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_kinds_with_commas_go_in_as_json(write):
    path = write("t.csv", '"a,b",c\n' + "".join(f"{i % 12},{i / 7}\n" for i in range(120)))
    done = gpmnet("describe", path, "--json", "--kinds", '{"a,b": "discrete"}')
    assert json.loads(done.stdout)["columns"][0]["kind"] == "discrete"


def test_version():
    assert gpmnet("--version").stdout.startswith("gpmnet 0.")


def test_names_outside_the_terminals_encoding_are_escaped(write):
    path = write("t.csv", "größe→,x\n" + "".join(f"{i / 7},{i % 9}\n" for i in range(90)))
    env = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = gpmnet("describe", path, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "gr\\xf6\\xdfe\\u2192" in done.stdout
    assert json.loads(gpmnet("describe", path, "--json", env=env).stdout)["columns"][0]["name"] == "größe→"


def test_ranges_of_dates_and_many_notes_are_printed_for_people(write):
    names = ",".join(["when", *["x"] * 9])
    rows = "".join(
        f"2020-01-{i + 1:02},{','.join(str(i * i % 29 + k) for k in range(9))}\n" for i in range(28)
    )
    done = gpmnet("describe", write("t.csv", f"{names}\n{rows}"))
    assert "2020-01-01 to 2020-01-28" in done.stdout
    assert done.stdout.count("is repeated") == 5
    assert "3 more notes" in done.stdout


def test_sheet_can_be_chosen(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        for name in ("first", "second"):
            frame = pd.DataFrame({f"{name} x": range(0, 90, 3), f"{name} y": [i * i for i in range(30)]})
            frame.to_excel(book, sheet_name=name, index=False)
    done = gpmnet("describe", tmp_path / "t.xlsx", "--json", "--sheet", "second")
    assert [column["name"] for column in json.loads(done.stdout)["columns"]] == ["second x", "second y"]
    missing = gpmnet("describe", tmp_path / "t.xlsx", "--sheet", "third")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "has no sheet 'third'; its sheets are 'first', 'second'" in missing.stderr
