import json
import subprocess
import sys

import pytest


def gpmnet(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "gpmnet", *map(str, arguments)], capture_output=True, text=True
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
        (["describe", "{table}", "--separator", "ab"], "--separator must be one character"),
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


def test_version_and_demo():
    assert gpmnet("--version").stdout.startswith("gpmnet 0.")
    demo = gpmnet("demo")
    assert demo.returncode == 0
    assert "13 continuous, 1 discrete" in demo.stdout
