"""Fits with half-samples by the command line: the same files wherever they were computed, and after a kill."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

FILES = ("edges.csv", "network.graphml", "omega.safetensors")


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    n = 200
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "a": a,
            "b": b,
            "c": np.exp(b + 2 * rng.normal(size=n)),
            "g": rng.choice(list("uvw"), n),
            "e": rng.normal(size=n),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def fit(table, out, *options, threads=1):
    command = [
        sys.executable,
        "-m",
        "gpmnet",
        "fit",
        table,
        "-o",
        out,
        "--stability",
        4,
        "--no-report",
        *options,
    ]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    return subprocess.Popen(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def done(process):
    out, error = process.communicate()
    assert process.returncode == 0, error
    return out


def answer(folder):
    """Return the files as bytes, and network.json without what differs between any two runs."""
    whole = json.loads((folder / "network.json").read_text())
    del whole["digest"], whole["facts"]["seconds"], whole["facts"]["command"], whole["facts"]["started"]
    return [(folder / name).read_bytes() for name in FILES], whole


def test_files_are_the_same_serially_in_processes_and_on_clusters(table, tmp_path, cluster):
    cluster.start_workers(1)
    said = done(fit(table, tmp_path / "serial"))
    assert "stability" in said
    done(fit(table, tmp_path / "loky", "--workers", 2))
    done(fit(table, tmp_path / "one", "--cluster", cluster.address))
    cluster.start_workers(2)
    done(fit(table, tmp_path / "three", "--cluster", cluster.address, "--workers", 3))
    serial = answer(tmp_path / "serial")
    assert answer(tmp_path / "loky") == serial
    assert answer(tmp_path / "one") == serial
    assert answer(tmp_path / "three") == serial
    edges = pd.read_csv(tmp_path / "serial" / "edges.csv")
    assert edges["stability"].between(0, 1).all()
    assert edges["stability"].max() == 1
    assert not list(tmp_path.glob("*.resume"))  # what was kept has done its work


def test_a_killed_fit_goes_on_where_it_was(table, tmp_path, until):
    done(fit(table, tmp_path / "whole"))
    killed = fit(table, tmp_path / "out")
    keep = tmp_path / "out.resume"
    until(lambda: len(list(keep.glob("*.safetensors"))) >= 2)
    killed.kill()
    killed.wait()
    before = {path: path.stat().st_mtime_ns for path in keep.glob("*.safetensors")}
    assert 2 <= len(before) < 8
    seen = {}

    def watch():  # files are removed at the end: look at them while they are there
        until(lambda: len(list(keep.glob("*.safetensors"))) >= len(before) + 1)
        seen.update({path: path.stat().st_mtime_ns for path in before})

    watcher = threading.Thread(target=watch)
    watcher.start()
    done(fit(table, tmp_path / "out", "--resume"))
    watcher.join()
    assert seen == before
    assert answer(tmp_path / "out") == answer(tmp_path / "whole")


@pytest.fixture
def wide(tmp_path):
    """A table of both kinds, screened in more than one panel, its nodes searched in more than one group."""
    rng = np.random.default_rng(1)
    n, d = 150, 600
    x = rng.normal(size=(n, d))
    x[:, 1::2] += x[:, ::2]
    x[:, 2::6] += x[:, :-2:6] ** 2
    frame = pd.DataFrame(x).add_prefix("x")
    for at in range(0, d, 4):
        frame[f"x{at}"] = np.where(frame[f"x{at}"] > 0.3, "u", "v")
    frame.to_csv(tmp_path / "wide.csv", index=False)
    return tmp_path / "wide.csv"


def test_one_fit_is_the_same_wherever_its_tasks_are_done(wide, tmp_path, cluster):
    def fitted(name, *options, threads=3):  # those that this process may have: it does not use them
        out = tmp_path / name
        done(fit(wide, out, "--stability", "0", *options, threads=threads))
        return answer(out)

    here = fitted("here", threads=1)
    cluster.start_workers(1)
    assert fitted("one process", "--workers", 1) == here
    assert fitted("loky", "--workers", 2) == here
    assert fitted("one", "--cluster", cluster.address) == here
    cluster.start_workers(2)
    assert fitted("three", "--cluster", cluster.address, "--workers", 3) == here
    assert len(pd.read_csv(tmp_path / "here" / "edges.csv")) > 30


@pytest.mark.parametrize("options", [(), ("--decide", "omega", "--energy", "pairwise")])
def test_a_deep_fit_is_the_same_wherever_its_models_are_fitted(table, tmp_path, cluster, options):
    frame = pd.read_csv(table)[["a", "b", "g"]].head(60)
    frame.to_csv(table, index=False)

    def fitted(name, *more, threads=2):
        out = tmp_path / name
        done(fit(table, out, "--stability", "0", "--engine", "deep", *options, *more, threads=threads))
        return answer(out)

    here = fitted("here", threads=1)
    cluster.start_workers(1)
    assert fitted("loky", "--workers", 2) == here
    assert fitted("one", "--cluster", cluster.address) == here
    cluster.start_workers(2)
    assert fitted("three", "--cluster", cluster.address, "--workers", 3) == here
