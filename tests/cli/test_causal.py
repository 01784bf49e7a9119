"""From a folder and its table to a class of directed graphs."""

import csv

import numpy as np
import pandas as pd
import pytest

from gpmnet.causal import CPDAG


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 600
    smoker = rng.random(n) < 0.4
    age = rng.normal(50, 10, n)
    lung = 1.2 * smoker + 0.08 * age + rng.normal(0, 0.6, n)
    cough = np.tanh(lung - 5) + rng.normal(0, 0.4, n)
    return pd.DataFrame(
        {"smoker": np.where(smoker, "yes", "no"), "age, years": age, "lung\t": lung, "cough": cough}
    )


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, frame):
    """A folder with table.csv and what `gpmnet fit` wrote."""
    from gpmnet import GPM

    folder = tmp_path_factory.mktemp("fitted")
    frame.to_csv(folder / "table.csv", index=False)
    GPM().fit(str(folder / "table.csv")).network_.save(folder / "out")
    return folder


def arcs(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_pc_writes_and_says_what_it_found(gpmnet, fitted, tmp_path):
    code, out, err = gpmnet("causal", fitted / "out", fitted / "table.csv", "-o", tmp_path / "new")
    assert (code, err) == (0, "")
    lung = "lung\t" if "lung\t" in out else "lung"
    expected = [["smoker", lung], ["age, years", lung], [lung, "cough"]]
    found = arcs(tmp_path / "new" / "arcs_pc.csv")
    assert found[0] == ["from", "to", "kind"]
    assert [row[:2] for row in found[1:]] == expected
    assert {row[2] for row in found[1:]} == {"compelled"}
    graph = CPDAG.load(tmp_path / "new" / "cpdag_pc.json")
    assert [list(arc) for arc in graph.compelled] == expected
    assert "smoker -> lung" in out
    assert "a cause only if" in out
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["arcs_pc.csv", "cpdag_pc.json"]


def test_knowledge_comes_from_files(gpmnet, fitted, tmp_path):
    (tmp_path / "tiers.csv").write_text('smoker,cough\n"age, years"\n', encoding="utf-8")
    (tmp_path / "forbid.csv").write_text("from,to\nsmoker,lung\nlung,smoker\n", encoding="utf-8")
    code, _, err = gpmnet(
        "causal", fitted / "out", fitted / "table.csv", "--forbid", tmp_path / "forbid.csv", "-o", tmp_path / "new",
        "--tiers", tmp_path / "tiers.csv",
    )  # fmt: skip
    assert (code, err) == (0, "")
    found = {tuple(row[:2]) for row in arcs(tmp_path / "new" / "arcs_pc.csv")[1:]}
    assert not {("smoker", "lung"), ("lung", "smoker"), ("age, years", "cough")} & found


def test_ges_takes_the_score_that_fits_the_columns(gpmnet, tmp_path, frame):
    numbers = frame[["age, years", "lung\t", "cough"]].assign(noise=np.random.default_rng(1).normal(size=600))
    numbers.to_csv(tmp_path / "table.csv", index=False)
    assert gpmnet("fit", tmp_path / "table.csv", "-o", tmp_path / "out", "--no-report")[0] == 0
    code, out, err = gpmnet("causal", tmp_path / "out", tmp_path / "table.csv", "--method", "ges")
    assert (code, err) == (0, "")
    assert "2 reversible" in out
    assert {"cpdag_ges.json", "arcs_ges.csv", "network.json"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }


def test_boss_takes_any_kinds_of_columns(gpmnet, fitted, tmp_path):
    (tmp_path / "tiers.csv").write_text('smoker,"age, years"\ncough\n', encoding="utf-8")
    code, out, err = gpmnet(
        "causal", fitted / "out", fitted / "table.csv", "--method", "boss", "-o", tmp_path / "new",
        "--tiers", tmp_path / "tiers.csv",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "smoker -> lung" in out
    assert arcs(tmp_path / "new" / "arcs_boss.csv")[1:] == [
        ["smoker", "lung", "compelled"], ["age, years", "lung", "compelled"], ["lung", "cough", "compelled"],
    ]  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["arcs_boss.csv", "cpdag_boss.json"]


def refused(answer):
    code, out, err = answer
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    return err


def test_bad_input_is_one_line(gpmnet, fitted, tmp_path):
    good = fitted / "out", fitted / "table.csv"
    (tmp_path / "cycle.csv").write_text("smoker,cough\ncough,smoker\n")
    (tmp_path / "tiers.csv").write_text("smoker,nobody\n")
    (tmp_path / "one.csv").write_text("smoker\n")
    assert "--method must be one of pc, ges, boss" in refused(gpmnet("causal", *good, "--method", "fci"))
    assert "--alpha needs --method pc" in refused(
        gpmnet("causal", *good, "--method", "ges", "--alpha", "0.1")
    )
    assert "--score needs --method ges" in refused(gpmnet("causal", *good, "--score", "gaussian"))
    assert "alpha must be a number in (0, 1)" in refused(gpmnet("causal", *good, "--alpha", "2"))
    assert "'smoker' are categories" in refused(
        gpmnet("causal", *good, "--method", "ges", "--score", "gaussian")
    )
    assert "make a cycle" in refused(gpmnet("causal", *good, "--require", tmp_path / "cycle.csv"))
    assert "no variable 'nobody' for the tier" in refused(
        gpmnet("causal", *good, "--tiers", tmp_path / "tiers.csv")
    )
    assert "two names are expected" in refused(gpmnet("causal", *good, "--forbid", tmp_path / "one.csv"))
    (tmp_path / "three.csv").write_text("rain,wet,slip\n")
    assert "two names are expected" in refused(gpmnet("causal", *good, "--forbid", tmp_path / "three.csv"))
    (tmp_path / "none.csv").write_text("source,target\n")
    assert "has no pairs" in refused(gpmnet("causal", *good, "--forbid", tmp_path / "none.csv"))
    assert "holds no saved network" in refused(gpmnet("causal", tmp_path, fitted / "table.csv"))
    assert "no such file" in refused(gpmnet("causal", fitted / "out", tmp_path / "nothing.csv"))


def test_methods_do_not_replace_each_other(gpmnet, fitted, tmp_path):
    for method in ("pc", "boss", "pc"):
        code, out, _ = gpmnet(
            "causal", fitted / "out", fitted / "table.csv", "--method", method, "-o", tmp_path
        )
        assert code == 0
        assert f"(cpdag_{method}.json, arcs_{method}.csv)" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "arcs_boss.csv", "arcs_pc.csv", "cpdag_boss.json", "cpdag_pc.json",
    ]  # fmt: skip


def test_another_table_is_refused(gpmnet, fitted, tmp_path, frame):
    frame.rename(columns={"cough": "sneeze"}).to_csv(tmp_path / "other.csv", index=False)
    said = refused(gpmnet("causal", fitted / "out", tmp_path / "other.csv"))
    assert "does not belong to the network: it has no column 'cough'" in said
    assert "kinds" not in said
    frame.assign(more=np.random.default_rng(0).normal(size=len(frame))).to_csv(
        tmp_path / "more.csv", index=False
    )
    said = refused(gpmnet("causal", fitted / "out", tmp_path / "more.csv"))
    assert "does not belong to the network, which has no variable 'more'" in said
    said = refused(gpmnet("causal", fitted / "out", fitted / "table.csv", "--kinds", "nobody=discrete"))
    assert "kinds names the column 'nobody'" in said
