"""Fits that are killed go on to the same bytes, of every engine; what they keep belongs to one table and one command."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from gpmnet.engines import local
from gpmnet.engines.local import LocalFound
from gpmnet.simulate import simulate

# A fit of seconds that writes as often as it can.
EAGER = """
import sys
from gpmnet.cli import main
from gpmnet.files import Shelf, shelf
shelf.EVERY, shelf._SHARE = 0.0, 1e9
plain = Shelf.open
Shelf.open = lambda *given: print("begun", flush=True) or plain(*given)
sys.argv[0] = "gpmnet"
main()
"""
ENGINES = {
    "local": (),
    "screened": (),
    "dag": ("--engine", "dag"),
    "pairwise": ("--engine", "deep", "--energy", "pairwise"),
    "deep": ("--engine", "deep"),
}
QUICK = ("local", "screened", "dag", "pairwise")


@pytest.fixture
def tables(tmp_path):
    """Return what writes a table of mixed kinds, or one with so many columns that not every pair is a candidate."""

    def written(engine):
        if engine == "screened":
            drawn = simulate("random", kind="continuous", d=104, n=150, seed=1)
        elif engine in ("pairwise", "deep"):
            drawn = simulate("random", kind="mixed", d=5, n=150, seed=1)
        else:
            drawn = simulate("random", kind="mixed", d=6, n=300, seed=1)
        frame = drawn.frame()
        if engine == "local":  # near-copies, which are tested as groups
            noise = np.random.default_rng(0).normal(size=(2, len(frame))) * 1e-3
            for name, more in zip(("copy 1", "copy 2"), noise, strict=True):
                frame[name] = frame.select_dtypes("number").iloc[:, 0] + more
        frame.to_csv(tmp_path / f"{engine}.csv", index=False)
        return tmp_path / f"{engine}.csv"

    return written


def started(*arguments):
    """Return a running fit, and the moment at which it began to fit."""
    process = subprocess.Popen(
        [sys.executable, "-c", EAGER, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.stdout.readline() == "begun\n", process.communicate()
    return process, time.monotonic()


def finished(process):
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


def result(folder):
    """Return the files of a result without the times, and without the digest of the file that holds them."""
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    run = json.loads(found.pop("run.json"))
    network = json.loads(found.pop("network.json"))
    assert run == network["facts"]
    del network["digest"]
    for name in ("seconds", "started"):
        assert network["facts"].pop(name, None) or network["facts"]["origin"].pop(name)
        pattern = rf"<dt>{name}</dt><dd>[^<]*</dd>".encode()
        found["report.html"], times = re.subn(pattern, b"", found["report.html"])
        assert times == 1
    return found | {"network": network}


def was_killed(moment, command):
    """Start a fit and kill it some seconds after it began; return whether it still ran."""
    process, _ = started(*command)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL)
    return process.returncode != 0


def kills(engine, table, folder, counts, seed=0):
    """Compare an undisturbed fit with ones that were killed; return how many were killed before they were done.

    `counts` has a number for each fit: how often it is killed before it may finish.
    """
    out = folder / "out"
    command = ("fit", table, "-o", out, "--resume", *ENGINES[engine])
    process, begun = started(*command)
    finished(process)
    whole = time.monotonic() - begun
    expected = result(out)
    rng, done = np.random.default_rng(seed), 0
    for count in counts:
        shutil.rmtree(out)
        done += sum(was_killed(rng.uniform(0.0, 1.0 / count) * whole, command) for _ in range(count))
        assert finished(started(*command)[0]) == ""
        assert result(out) == expected
        assert {*os.listdir(folder)} == {table.name, "out"}
    return done


@pytest.mark.parametrize("engine", QUICK)
def test_a_killed_fit_goes_on_to_the_same_bytes(engine, tables, tmp_path):
    assert kills(engine, tables(engine), tmp_path, [2]) >= 1


@pytest.mark.slow
@pytest.mark.skipif("GPMNET_KILLS" not in os.environ, reason="minutes; set GPMNET_KILLS=20 to run it")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_fit_that_is_killed_many_times_goes_on_to_the_same_bytes(engine, tables, tmp_path):
    count = int(os.environ["GPMNET_KILLS"])
    assert kills(engine, tables(engine), tmp_path, [1] * count, seed=1) >= count // 2


@pytest.fixture
def eager(monkeypatch):
    """Write at once, in this process."""
    monkeypatch.setattr("gpmnet.files.shelf.EVERY", 0.0)
    monkeypatch.setattr("gpmnet.files.shelf._SHARE", 1e9)


@pytest.fixture
def small(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    pd.DataFrame({"a": a, "b": a + rng.normal(size=200), "c": rng.normal(size=200)}).to_csv(
        tmp_path / "t.csv", index=False
    )
    return tmp_path / "t.csv"


def interrupted(gpmnet, monkeypatch, *command):
    """Run the program until Omega is to be computed, and stop it there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with monkeypatch.context() as patched:
            patched.setattr(LocalFound, "describe", lambda *_: os.kill(os.getpid(), signal.SIGINT))
            return gpmnet(*command)
    finally:
        signal.signal(signal.SIGINT, before)


def counted(monkeypatch):
    calls = []
    plain = local.tested
    monkeypatch.setattr(local, "tested", lambda *given: calls.append(0) or plain(*given))
    return calls


def test_a_stop_says_how_to_go_on_and_only_resume_does(small, tmp_path, gpmnet, monkeypatch, eager):
    out, tests = tmp_path / "out", counted(monkeypatch)
    command = ("fit", small, "-o", out)
    code, _, said = interrupted(gpmnet, monkeypatch, *command)
    assert (code, said) == (
        130,
        f"gpmnet: stopped; '{out}' holds the edges, without Omega and shapes; "
        "the same command with --resume goes on from there\n",
    )
    assert (tmp_path / "out.resume").is_dir()
    done = len(tests)
    code, _, said = gpmnet(*command, "--resume")
    assert (code, said) == (0, "")
    assert len(tests) == done > 0
    assert sorted(os.listdir(tmp_path)) == ["out", "t.csv"]
    interrupted(gpmnet, monkeypatch, *command)
    before = len(tests)
    code, _, said = gpmnet(*command)  # without --resume everything is computed, and nobody is surprised
    assert (code, said) == (0, "")
    assert len(tests) > before
    assert sorted(os.listdir(tmp_path)) == ["out", "t.csv"]


@pytest.mark.filterwarnings("default::gpmnet.errors.ResumeWarning")
@pytest.mark.parametrize("change", ["table", "setting", "version"])
def test_another_table_or_setting_starts_anew_and_says_so(
    small, tmp_path, gpmnet, monkeypatch, eager, change
):
    out, tests = tmp_path / "out", counted(monkeypatch)
    interrupted(gpmnet, monkeypatch, "fit", small, "-o", out)
    before, more = len(tests), ()
    if change == "table":
        small.write_text(small.read_text().replace("0.1257302210933933", "0.1257302210933934"))
    elif change == "setting":
        more = ("--fdr", 0.1)
    else:
        monkeypatch.setattr("gpmnet.planning.__version__", "another")
    code, _, said = gpmnet("fit", small, "-o", out, "--resume", *more)
    assert code == 0
    assert said == (
        f"gpmnet: note: '{out}.resume' holds work of another table, other settings or another version: it is removed, "
        "and the fit starts anew\n"
    )
    assert len(tests) > before
    assert sorted(os.listdir(tmp_path)) == ["out", "t.csv"]


def test_a_name_as_long_as_the_system_allows(tables, tmp_path):
    out = tmp_path / ("x" * 255)
    finished(started("fit", tables("dag"), "-o", out)[0])  # an eager one: it keeps things beside that folder
    assert "report.html" in os.listdir(out)
    assert sorted(os.listdir(tmp_path)) == ["dag.csv", out.name]
