"""Missing values at the command line."""

import json

import numpy as np
import pandas as pd


def titanic(n=500):
    rng = np.random.default_rng(0)
    sex, rank = rng.integers(0, 2, n), rng.integers(1, 4, n)
    frame = pd.DataFrame({"sex": np.where(sex, "f", "m"), "class": rank, "age": rng.gamma(6, 5, n)})
    frame["survived"] = np.where(rng.random(n) < 0.2 + 0.5 * sex - 0.05 * rank, "yes", "no")
    frame["deck"] = rng.choice(list("ABCDE"), n)
    frame.loc[rng.random(n) < 0.77, "deck"] = None
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    return frame


def test_what_helps_is_said_and_works(gpmnet, tmp_path):
    path, out = tmp_path / "titanic.csv", tmp_path / "out"
    titanic().to_csv(path, index=False)
    code, _, error = gpmnet("fit", path, "-o", out)
    assert code == 2
    assert "without 'deck'" in error
    assert "--missing available" in error
    assert error.count("\n") == 1
    assert "without 'deck'" in gpmnet("describe", path)[1]
    code, printed, _ = gpmnet("fit", path, "-o", out, "--missing", "available")
    assert code == 0
    assert "rows are complete" in printed
    found = pd.read_csv(out / "edges.csv")
    assert found["n_rows"].between(20, 500).all()
    assert {frozenset(pair) for pair in found[["source", "target"]].to_numpy().tolist()} == {
        frozenset(("sex", "survived"))
    }
    assert json.loads((out / "run.json").read_text())["settings"]["missing"] == "available"
    code, _, error = gpmnet("causal", out, path)
    assert code == 2
    assert "--engine dag --missing impute" in error


def test_a_policy_that_an_engine_cannot_follow_is_one_line(gpmnet, tmp_path):
    path = tmp_path / "titanic.csv"
    titanic().to_csv(path, index=False)
    code, _, error = gpmnet("fit", path, "-o", tmp_path / "out", "--engine", "deep", "--missing", "available")
    assert code == 2
    assert "--missing impute" in error
