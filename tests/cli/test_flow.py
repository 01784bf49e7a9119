"""What a run prints, in which order mistakes are told, and comparisons."""

import json

import numpy as np
import pandas as pd
import pytest

from gpmnet import MarkovNetwork


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=120)
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(size=120), "c": rng.normal(size=120)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.fixture
def folder(table, gpmnet, tmp_path):
    code, out, _ = gpmnet("fit", table, "-o", tmp_path / "out", "--json", "--title", "My <table>")
    assert code == 0
    return tmp_path / "out", json.loads(out)


def test_json_is_all_that_is_printed(folder):
    out, said = folder
    network = MarkovNetwork.load(out)
    assert said["n_rows"] == 120
    assert said["n_edges"] == network.n_edges == 1
    edge = said["edges"][0]
    assert (edge["source"], edge["target"]) == ("a", "b")
    assert edge["strength"] == network.edges["strength"][0]
    assert said["isolated"] == ["c"]
    assert said["folder"] == str(out)
    assert "report.html" in said["files"]


def test_the_title_is_kept_and_can_be_changed(folder, gpmnet, tmp_path):
    out, _ = folder
    heading = '<h1 id="title">My &lt;table&gt; '
    assert heading in (out / "report.html").read_text(encoding="utf-8")
    assert gpmnet("report", out, "-o", tmp_path / "again.html")[0] == 0
    assert heading in (tmp_path / "again.html").read_text(encoding="utf-8")
    assert gpmnet("report", out, "-o", tmp_path / "other.html", "--title", "Other")[0] == 0
    assert '<h1 id="title">Other ' in (tmp_path / "other.html").read_text(encoding="utf-8")


def test_quiet_prints_nothing(table, gpmnet, tmp_path):
    assert gpmnet("fit", table, "-o", tmp_path / "out", "--quiet", "--no-report") == (0, "", "")
    code, _, error = gpmnet("fit", table, "-o", tmp_path / "out", "--quiet", "--json")
    assert code == 2
    assert "--quiet" in error


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fdr", "2"], "fdr"),
        (["--engine", "best"], "engine='best'"),
        (["--missing", "guess"], "missing='guess'"),
        (["--memory", "lots"], "memory"),
        (["--jobs", "0"], "n_jobs"),
        (["--forbid", "nowhere.csv"], "nowhere.csv"),
        (["--kinds", "a"], "COL=KIND"),
    ],
)
def test_options_are_checked_before_the_table_is_read(options, words, gpmnet, tmp_path):
    code, _, error = gpmnet("fit", tmp_path / "no such table.csv", "-o", tmp_path / "out", *options)
    assert code == 2
    assert words in error
    assert "no such table" not in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", [[], ["fit"], ["bench"], ["bench", "run"], ["compare"]])
def test_h_helps(command, gpmnet):
    assert gpmnet(*command, "-h") == gpmnet(*command, "--help")
    assert gpmnet(*command, "-h")[0] == 0


def test_two_folders_are_compared(folder, table, gpmnet, tmp_path):
    out, _ = folder
    code, said, _ = gpmnet("compare", out, out, "-o", tmp_path / "c.html")
    assert code == 0
    assert "1 common edge, 0 only here" in said
    assert "a - b" in said
    assert (tmp_path / "c.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    tables = ["--table-a", table, "--table-b", table, "--permutations", "2"]
    code, said, _ = gpmnet("compare", out, out, *tables, "--json")
    found = json.loads(said)
    assert found["test"] == {"total": pytest.approx(0, abs=1e-12), "p_value": 1.0, "permutations": 2}
    code, _, error = gpmnet("compare", out, out, *tables, "--groups", "nobody")
    assert (code, error.count("\n")) == (2, 1)
    assert "groups names the column 'nobody'" in error
    assert found["edges"][0]["p_value"] == 1.0
    code, _, error = gpmnet("compare", out, out, "--table-a", table)
    assert code == 2
    assert "both tables" in error
