import json

import numpy as np
import pandas as pd
import pytest

import gpmnet.cli.simulate as command
from gpmnet.simulate import simulate
from gpmnet.table import load_table


@pytest.fixture
def run(gpmnet):
    """Run `gpmnet simulate`: (exit code, stdout, stderr)."""
    return lambda *arguments: gpmnet("simulate", *arguments)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_hold_the_sample_and_its_graph(run, tmp_path):
    out = tmp_path / "new" / "sample"
    code, said, _ = run("butterfly", "--kind", "mixed", "--d", 6, "--n", 50, "--seed", 1, "-o", out)
    assert code == 0
    assert said == f"butterfly: 50 rows, 6 variables, 3 edges, seed 1: {out / 'data.csv'} and truth.csv\n"
    drawn = simulate("butterfly", d=6, n=50, seed=1, kind="mixed")
    assert sorted(contents(out)) == ["data.csv", "schema.csv", "simulation.json", "truth.csv"]
    assert np.allclose(pd.read_csv(out / "data.csv"), drawn.values, rtol=1e-14)
    assert pd.read_csv(out / "truth.csv").values.tolist() == drawn.edges().values.tolist()
    assert pd.read_csv(out / "schema.csv")["type"].tolist() == list(drawn.kinds)
    assert json.loads((out / "simulation.json").read_text())["seed"] == 1
    assert [path.name for path in out.parent.iterdir()] == ["sample"]


def test_the_same_seed_gives_the_same_bytes_and_options_matter(run, tmp_path):
    for name, more in (("a", ()), ("b", ()), ("c", ("--seed", 5)), ("d", ("--option", "smooth=true"))):
        assert run("butterfly", "--d", 4, "--n", 20, "-o", tmp_path / name, *more)[0] == 0
    a, b, c, d = (contents(tmp_path / name) for name in "abcd")
    assert a == b
    assert a["data.csv"] != c["data.csv"]
    assert a["data.csv"] != d["data.csv"]


def test_large_tables_are_parquet(run, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "PARQUET_ABOVE", 99)
    out = tmp_path / "large"
    code, said, _ = run("butterfly", "--kind", "mixed", "--d", 4, "--n", 25, "-o", out)
    assert code == 0
    assert "data.parquet" in said
    drawn = simulate("butterfly", d=4, n=25, kind="mixed")
    assert np.array_equal(pd.read_parquet(out / "data.parquet").to_numpy(), drawn.values)
    assert load_table(out / "data.parquet").names == drawn.names
    monkeypatch.setattr(command, "PARQUET_ABOVE", 100)
    assert "data.csv" in run("butterfly", "--kind", "mixed", "--d", 4, "--n", 25, "-o", tmp_path / "small")[1]


def test_a_folder_is_replaced_only_if_forced_and_strange_files_stay(run, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    assert run("butterfly", "--d", 4, "--n", 20, "-o", out)[0] == 0, "an empty folder is fine"
    before = contents(out)
    code, _, said = run("butterfly", "--d", 4, "--n", 20, "--seed", 1, "-o", out)
    assert (code, "is not empty; choose another folder, or give --force" in said) == (2, True)
    assert contents(out) == before
    (out / "mine.txt").write_text("keep")
    monkeypatch.setattr(command, "PARQUET_ABOVE", 10)
    assert run("butterfly", "--d", 4, "--n", 20, "--seed", 1, "-o", out, "--force")[0] == 0
    assert sorted(contents(out)) == ["data.parquet", "mine.txt", "schema.csv", "simulation.json", "truth.csv"]


def test_a_failure_leaves_nothing(run, tmp_path, monkeypatch):
    def break_off(drawn, path):
        path.write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(command, "PARQUET_ABOVE", 10)
    monkeypatch.setattr(command, "_write_parquet", break_off)
    code, _, said = run("butterfly", "--d", 4, "--n", 20, "-o", tmp_path / "out")
    assert (code, said) == (2, f"gpmnet: '{tmp_path / 'out'}' cannot be written: disk full\n")
    assert list(tmp_path.iterdir()) == []


def test_a_law_of_null_pairs_by_name(run, tmp_path):
    out = tmp_path / "out"
    code, said, _ = run("confounded", "--option", "law=text of 8", "--d", 4, "--n", 30, "-o", out)
    assert code == 0
    assert "30 rows, 4 variables, 2 edges" in said
    assert (out / "truth.csv").read_text() == "source,target\nx,z1\ny,z1\n"
    assert pd.read_csv(out / "schema.csv")["type"].tolist() == [
        "continuous",
        "continuous",
        "discrete",
        "continuous",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["moth"], "no simulator is called 'moth'; there are butterfly"),
        (["butterfly", "--kind", "odd"], "kind must be one of continuous, discrete, mixed, got 'odd'"),
        (["butterfly", "--d", "5"], "d must be a multiple of 2, got 5"),
        (["butterfly", "--option", "smooth"], "--option expects KEY=VALUE, got 'smooth'"),
        (["butterfly", "--option", "speed=3"], "butterfly has no option 'speed'"),
        (["confounded", "--option", "law=cube"], "confounded: law must be one of linear, sum of four"),
        (
            ["confounded", "--option", "law=sine", "--kind", "mixed"],
            "the law 'sine' is continuous, not mixed",
        ),
        (["butterfly", "--n", "0"], "n must be a whole number of at least 1"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(run, tmp_path, arguments, words):
    code, said, err = run(*arguments, "-o", tmp_path / "out")
    assert (code, said) == (2, "")
    assert words in err
    assert not (tmp_path / "out").exists()
