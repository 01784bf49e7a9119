import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from gpmnet import MarkovNetwork


def gpmnet(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "gpmnet", *map(str, arguments)], capture_output=True, text=True, cwd=cwd
    )


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    frame = pd.DataFrame({"a": a, "=b,1": a + rng.normal(size=300), "sex": rng.choice(["f", "m"], 300)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_fit_writes_everything_and_says_what_it_found(table, tmp_path):
    done = gpmnet("fit", table, "-o", tmp_path / "out", "--seed", 1)
    assert done.returncode == 0, done.stderr
    assert "1 edges at FDR 0.05" in done.stdout
    assert "without an edge: sex" in done.stdout
    out = tmp_path / "out"
    assert sorted(p.name for p in out.iterdir()) == [
        "edges.csv",
        "network.json",
        "omega.safetensors",
        "run.json",
    ]
    edges = pd.read_csv(out / "edges.csv")
    assert edges[["source", "target"]].to_numpy().tolist() == [["a", "=b,1"]]
    assert MarkovNetwork.load(out).neighbors("a") == ("=b,1",)
    about = json.loads((out / "run.json").read_text())
    assert about["settings"]["random_state"] == 1
    assert about["versions"]["torch"]


def test_forbidden_and_required_pairs_come_from_files(table, tmp_path):
    (tmp_path / "no.csv").write_text('source,target\na,"=b,1"\n')
    (tmp_path / "yes.csv").write_text("a,sex\n")
    done = gpmnet(
        "fit",
        table,
        "-o",
        tmp_path / "out",
        "--forbid",
        tmp_path / "no.csv",
        "--require",
        tmp_path / "yes.csv",
    )
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(tmp_path / "out" / "edges.csv")[["source", "target"]].to_numpy().tolist() == [
        ["a", "sex"]
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--fdr", "7"], "fdr must be between 0 and 1"),
        (["--engine", "magic"], "engine='magic'"),
        (["--forbid", "nope.csv"], "'nope.csv' cannot be read"),
        (["--missing", "guess"], "missing='guess'"),
        (["--device", "cuda"], "no CUDA device"),
    ],
)
def test_mistakes_leave_nothing_behind(table, tmp_path, arguments, words):
    if "cuda" in arguments:
        torch = pytest.importorskip("torch")
        if torch.cuda.is_available():
            pytest.skip("there is a CUDA device")
    before = sorted(p.name for p in tmp_path.iterdir())
    done = gpmnet("fit", table, "-o", tmp_path / "out", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_demo_fits_a_table_and_writes_where_told(tmp_path):
    done = gpmnet("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "13 continuous, 1 discrete" in done.stdout
    assert "flavanoids" in pd.read_csv(tmp_path / "gpmnet-demo" / "edges.csv").to_csv()
