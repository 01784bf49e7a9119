import itertools
import json
import subprocess
import sys
import time

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from gpmnet import MarkovNetwork
from gpmnet.network.report import report_html


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
    assert "1 edge at FDR 0.05" in done.stdout
    assert "without an edge: sex" in done.stdout
    out = tmp_path / "out"
    assert sorted(p.name for p in out.iterdir()) == [
        "edges.csv",
        "network.graphml",
        "network.json",
        "omega.safetensors",
        "report.html",
        "run.json",
    ]
    edges = pd.read_csv(out / "edges.csv")
    assert edges[["source", "target"]].to_numpy().tolist() == [["a", "'=b,1"]]
    assert f"report: {out / 'report.html'}" in done.stdout
    network = MarkovNetwork.load(out)
    assert network.neighbors("a") == ("=b,1",)
    assert nx.read_graphml(out / "network.graphml").edges == nx.Graph([("a", "=b,1")]).edges
    about = json.loads((out / "run.json").read_text())
    assert about["settings"]["random_state"] == about["seed"] == 1
    assert about["settings"]["options"]["alpha_enter"] == 0.01
    assert about["versions"]["torch"]
    assert about["command"][0] == "fit"
    assert network.facts.to_dict() == about
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "1 edge at a false-discovery rate of 5%" in page
    assert page == report_html(network)


@pytest.mark.parametrize("engine", ["local", "dag"])
def test_how_many_rows_are_looked_at_can_be_said(table, tmp_path, engine):
    for most, said in (("200", "200 of 300 rows"), ("0", None)):
        out = tmp_path / f"{engine}{most}"
        done = gpmnet("fit", table, "-o", out, "--engine", engine, "--most-rows", most, "--no-report")
        assert done.returncode == 0, done.stderr
        notes = " ".join(MarkovNetwork.load(out).facts.warnings)
        assert (said in notes) if said else ("drawn at random" not in notes)


def test_fit_without_a_report(table, tmp_path):
    done = gpmnet("fit", table, "-o", tmp_path / "out", "--no-report", "--raw-csv")
    assert done.returncode == 0, done.stderr
    assert "report.html" not in done.stdout
    assert pd.read_csv(tmp_path / "out" / "edges.csv")["target"].tolist() == ["=b,1"]
    assert not (tmp_path / "out" / "report.html").exists()
    refused = gpmnet("fit", table, "-o", tmp_path / "other", "--no-report", "--open")
    assert (refused.returncode, refused.stderr) == (
        2,
        "gpmnet: --open needs the report; leave out --no-report\n",
    )
    assert not (tmp_path / "other").exists()


def test_hostile_names_reach_the_terminal_as_text(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    hostile = {
        "\x1b[31mred": a,
        "[bold]b[/bold]": a + rng.normal(size=200),
        "two\nlines": rng.normal(size=200),
    }
    pd.DataFrame(hostile).to_csv(tmp_path / "t.csv", index=False)
    done = gpmnet("fit", tmp_path / "t.csv", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "\\x1b[31mred - [bold]b[/bold]" in done.stdout
    assert "without an edge: two\\nlines" in done.stdout
    assert "\x1b" not in done.stdout


def test_near_copies_are_named_and_what_depends_on_them_jointly(tmp_path):
    rng = np.random.default_rng(0)
    base = rng.normal(size=400)
    frame = pd.DataFrame({f"copy\n{k}": base + 0.25 * rng.normal(size=400) for k in range(5)})
    frame["effect"] = base + 1.5 * rng.normal(size=400)
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = gpmnet("fit", tmp_path / "t.csv", "-o", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert "without an edge: effect" in done.stdout
    assert "'effect': no single column, but jointly p " in done.stdout
    assert any(line.startswith("near-copies: 'copy\\n") for line in done.stdout.splitlines())
    network = MarkovNetwork.load(tmp_path / "out")
    assert [(finding.variable, len(finding.group)) for finding in network.joint_findings] == [("effect", 5)]


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
        (["--device", "cpu:zz"], "device='cpu:zz' is not cpu or cuda"),
        (["--energy", "mlp"], "--energy needs --engine deep"),
        (["--objective", "mixed"], "--objective needs --engine deep"),
        (["--penalty", "scad"], "--penalty needs --engine deep"),
        (["--engine", "deep", "--most-rows", "200"], "--most-rows needs --engine local or dag"),
        (["--most-rows", "-3"], "most_rows must be a whole number of at least 100"),
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


SLOW = """
import time
from gpmnet.cli import main
from gpmnet.engines.local import LocalFound

LocalFound.describe = lambda *_: time.sleep(600)
main()
"""


def test_a_fit_that_is_killed_while_omega_is_computed_leaves_the_edges(table, tmp_path):
    out = tmp_path / "out"
    assert gpmnet("fit", table, "-o", out, "--fdr", 0.01).returncode == 0
    whole = pd.read_csv(out / "edges.csv")
    (out / "mine.txt").write_text("kept")
    running = subprocess.Popen([sys.executable, "-c", SLOW, "fit", str(table), "-o", str(out)])
    end = time.monotonic() + 120
    # The report of the run before is gone once the new edges are there: old and new files never stand side by side.
    while (out / "report.html").exists() and running.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    assert running.poll() is None
    running.kill()
    running.wait()
    assert sorted(p.name for p in out.iterdir()) == [
        "edges.csv",
        "mine.txt",
        "network.graphml",
        "network.json",
        "omega.safetensors",
        "run.json",
    ]
    edges = pd.read_csv(out / "edges.csv")
    assert edges["omega"].isna().all()
    pd.testing.assert_frame_equal(edges.drop(columns="omega"), whole.drop(columns="omega"))
    network = MarkovNetwork.load(out)
    assert network.cutoff.value == 0.05
    assert network.neighbors("a") == ("=b,1",)
    assert gpmnet("report", out).returncode == 0
    assert "Omega and the shapes of the edges are not there yet" in (out / "report.html").read_text("utf-8")
    assert gpmnet("fit", table, "-o", out).returncode == 0
    assert pd.read_csv(out / "edges.csv")["omega"].notna().all()
    assert "not there yet" not in (out / "report.html").read_text("utf-8")


def test_an_omega_that_fails_leaves_the_edges(table, tmp_path):
    broken = SLOW.replace("time.sleep(600)", "[][0]")
    command = [sys.executable, "-c", broken, "fit", str(table), "-o", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "IndexError" in done.stderr
    assert pd.read_csv(tmp_path / "out" / "edges.csv")["omega"].isna().all()


def test_least_strength_and_the_note_on_dense_networks(tmp_path):
    rng = np.random.default_rng(0)
    spins = np.array(list(itertools.product([-1, 1], repeat=5)))
    p = np.exp(0.1 * spins.sum(axis=1) ** 2 + 0.5 * spins[:, 0] * spins[:, 1])
    frame = pd.DataFrame(spins[rng.choice(len(p), 3000, p=p / p.sum())] > 0, columns=list("abcde"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    dense = gpmnet("fit", tmp_path / "t.csv", "-o", tmp_path / "dense")
    assert dense.returncode == 0, dense.stderr
    assert "note: 10 of the 10 pairs are edges, " in dense.stdout
    assert "95% interval" in dense.stdout
    page = (tmp_path / "dense" / "report.html").read_text(encoding="utf-8")
    assert "10 of the 10 pairs are edges" in page
    done = gpmnet("fit", tmp_path / "t.csv", "-o", tmp_path / "out", "--min-strength", 0.3)
    assert done.returncode == 0, done.stderr
    assert "1 edge stronger than 0.3 at FDR 0.05" in done.stdout
    assert "note:" not in done.stdout
    edges = pd.read_csv(tmp_path / "out" / "edges.csv")
    assert edges[["source", "target"]].to_numpy().tolist() == [["a", "b"]]
    row = edges.iloc[0]
    assert 0.3 < row["strength_low"] < row["strength"] < row["strength_high"] < 1
    graph = nx.read_graphml(tmp_path / "out" / "network.graphml")
    assert graph.edges["a", "b"]["strength_low"] == row["strength_low"]
    assert MarkovNetwork.load(tmp_path / "out").cutoff.min_strength == 0.3
    about = json.loads((tmp_path / "out" / "run.json").read_text())
    assert about["settings"]["min_strength"] == 0.3
    assert "1 edge stronger than 0.3" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    wrong = gpmnet("fit", tmp_path / "t.csv", "-o", tmp_path / "no", "--min-strength", 1.5)
    assert wrong.returncode == 2
    assert "min_strength must be a number from 0 to below 1; got '1.5'" in wrong.stderr
    assert not (tmp_path / "no").exists()


def test_directions_come_from_files_and_go_into_the_edges(table, tmp_path):
    (tmp_path / "tiers.csv").write_text("sex\na\n")
    (tmp_path / "bad.csv").write_text("sex,nobody\n")
    done = gpmnet(
        "fit",
        table,
        "-o",
        tmp_path / "out",
        "--engine",
        "dag",
        "--tiers",
        tmp_path / "tiers.csv",
        "--no-report",
    )
    assert done.returncode == 0
    header = (tmp_path / "out" / "edges.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header.endswith("kind,direction,evidence,common_effects")
    for arguments, said in (
        (("--engine", "dag", "--tiers", tmp_path / "bad.csv"), "no variable 'nobody' for the tier"),
        (("--tiers", tmp_path / "tiers.csv"), "--tiers needs --engine dag"),
        (("--drop-fill-in",), "--drop-fill-in needs --engine dag"),
    ):
        refused = gpmnet("fit", table, "-o", tmp_path / "no", *arguments)
        assert refused.returncode == 2
        assert said in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1
