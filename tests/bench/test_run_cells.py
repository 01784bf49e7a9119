import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from bench_fakes import (
    EatsMemory,
    Empty,
    Raises,
    Refuses,
    Sleeps,
    cell,
)

from gpmnet import metrics
from gpmnet.baselines import Glasso, Outcome
from gpmnet.bench import METHODS, Cell, Filters, Limits, load_rows, run_cells, select
from gpmnet.simulate import simulate
from gpmnet.table import load_table


class Watch:
    """Remembers what ran."""

    def __init__(self):
        self.ran, self.rows, self.counts = [], [], None

    def begin(self, total, due):
        self.counts = (total, due)

    def started(self, cell):
        self.ran.append((cell.method.name, cell.task.d, cell.task.seed))

    def finished(self, cell, row):
        self.rows.append(row)


@pytest.fixture
def inline(monkeypatch):
    """Run cells in this process: fast, for tests of what happens around them. `Sleeps` times out at once."""

    def run(function, args, max_seconds, max_memory_bytes):
        if args[1].build is Sleeps:
            return Outcome(None, f"timeout after {max_seconds:g} s", max_seconds, 0)
        try:
            return Outcome(function(*args), None, 0.0, 0)
        except Exception as error:
            return Outcome(None, str(error), 0.0, 0)

    monkeypatch.setattr("gpmnet.bench.runner.run_isolated", run)


def only_row(directory):
    rows = load_rows(directory)
    assert len(rows) == 1
    return rows.iloc[0]


def test_a_row_has_the_metrics_of_the_same_fit(tmp_path):
    cells, _ = select("fig2", Filters(("glasso",), d=(6,), n=(300,), seeds=1, kinds=("mixed",)))
    assert run_cells(cells, tmp_path) == 1
    row = only_row(tmp_path)

    drawn = simulate("random", d=6, n=300, seed=0, kind="mixed")
    table = load_table(drawn.frame(), kinds=dict(zip(drawn.names, drawn.kinds, strict=True)))
    model = Glasso().fit(table)
    truth, found = drawn.truth.toarray(), model.network_.adjacency
    assert row["hamming"] == metrics.hamming(truth, found) > 0
    assert row["empty_hamming"] == row["n_true"] == truth.sum() // 2 > 0
    assert row["n_edges"] == found.sum() // 2
    for name, function in (("precision", metrics.precision), ("recall", metrics.recall), ("f1", metrics.f1)):
        assert row[name] == pytest.approx(function(truth, found)), name
    assert row["fdr_realised"] == pytest.approx(metrics.false_discovery_rate(truth, found))
    assert row["average_precision"] == pytest.approx(metrics.average_precision(truth, model.weights_))
    assert (row["suite"], row["task"], row["simulator"], row["kind"]) == (
        "fig2",
        "random-mixed",
        "random",
        "mixed",
    )
    assert (row["d"], row["n"], row["seed"], row["status"], row["reason"]) == (6, 300, 0, "ok", "")
    assert json.loads(row["method_options"]) == METHODS["glasso"].options
    assert json.loads(row["versions"])["numpy"] == np.__version__
    assert 0 < row["seconds"] < 60
    assert 20 < row["peak_memory_mb"] < 4000


def test_seconds_are_those_of_the_fit_alone(tmp_path):
    began = time.perf_counter()
    run_cells([cell(Empty, pause=0.3)], tmp_path)
    assert 0.3 <= only_row(tmp_path)["seconds"] < time.perf_counter() - began - 0.1


@pytest.mark.parametrize(
    ("build", "limits", "status", "reason"),
    [
        (Raises, Limits(), "failed", "RuntimeError: two lines"),
        (Refuses, Limits(), "skipped", "not on such a table"),
        (EatsMemory, Limits(max_memory_gb=0.6), "failed", "memory over 0.6 GB"),
        (Sleeps, Limits(max_seconds=0.5), "failed", "timeout after 0.5 s"),
    ],
)
def test_what_goes_wrong_is_a_reason(tmp_path, build, limits, status, reason):
    run_cells([cell(build)], tmp_path, limits=limits)
    row = only_row(tmp_path)
    assert (row["status"], row["reason"]) == (status, reason)
    assert np.isnan(row["f1"])
    assert row["max_seconds"] == limits.max_seconds


def test_larger_d_are_skipped_after_a_timeout_unless_more_time_is_given(tmp_path, inline):
    cells = [cell(Sleeps, d) for d in (6, 4)] + [cell(Empty, 6)]
    watch = Watch()
    run_cells(cells, tmp_path, limits=Limits(max_seconds=0.5), watcher=watch)
    rows = load_rows(tmp_path).set_index(["method", "d"])
    assert tuple(rows.loc[("sleeps", 4), ["status", "reason"]]) == ("failed", "timeout after 0.5 s")
    assert tuple(rows.loc[("sleeps", 6), ["status", "reason"]]) == ("skipped", "timeout after 0.5 s at d=4")
    assert rows.loc[("empty", 6), "status"] == "ok", "another method is not concerned"
    assert watch.ran[0] == ("sleeps", 4, 0), "small d first"

    other_n = [cell(Sleeps, 6, n=60)]
    assert run_cells(other_n, tmp_path, limits=Limits(max_seconds=0.5)) == 1
    larger = [cell(Sleeps, 8)]
    assert run_cells(larger, tmp_path, limits=Limits(max_seconds=0.5)) == 1
    more_time = [cell(Sleeps, 10)]
    assert run_cells(more_time, tmp_path, limits=Limits(max_seconds=0.6)) == 1
    reasons = load_rows(tmp_path).set_index(["n", "d", "method"])["reason"]
    assert reasons[60, 6, "sleeps"] == "timeout after 0.5 s", "another n is not concerned"
    assert reasons[50, 8, "sleeps"] == "timeout after 0.5 s at d=4", "rows of an earlier run count"
    assert reasons[50, 10, "sleeps"] == "timeout after 0.6 s", (
        "it ran, with more time than the one at d=4 had"
    )


def test_finished_cells_do_not_run_again_but_failed_ones_can(tmp_path, inline):
    log = tmp_path / "log"
    cells = [cell(Raises), cell(Empty, log=str(log))]
    first, again, retry = Watch(), Watch(), Watch()
    assert run_cells(cells, tmp_path, watcher=first) == 2
    assert run_cells(cells, tmp_path, watcher=again) == 0
    assert run_cells(cells, tmp_path, watcher=retry, retry=True) == 1
    assert (first.counts, again.counts, retry.counts) == ((2, 2), (2, 0), (2, 1))
    assert retry.ran == [("raises", 4, 0)]
    assert log.read_text().splitlines() == ["4 0"]
    assert len(load_rows(tmp_path)) == 2


def test_what_was_not_installed_runs_once_it_is(tmp_path, monkeypatch, inline):
    with monkeypatch.context() as without:
        without.setattr("gpmnet.bench.methods.find_spec", lambda name: None)
        assert run_cells([cell(Empty)], tmp_path) == 1
        row = only_row(tmp_path)
        assert row["status"] == "skipped"
        assert row["reason"] == "not installed: bench-fakes; run: pip install 'gpmnet[baselines]'"
        assert run_cells([cell(Empty)], tmp_path) == 0
    assert run_cells([cell(Empty)], tmp_path) == 1
    assert only_row(tmp_path)["status"] == "ok"


def test_the_key_is_the_definition():
    base = cell(Empty, pause=0.1)
    assert base.key == cell(Empty, pause=0.1).key
    assert base.key != Cell("other", base.task, base.method, base.options).key
    others = [
        cell(Empty),
        cell(Empty, seed=1, pause=0.1),
        cell(Empty, d=6, pause=0.1),
        cell(Raises, pause=0.1),
    ]
    assert len({base.key, *(other.key for other in others)}) == 5


def test_jobs_run_all_cells_once_and_at_the_same_time(tmp_path, inline):
    log = tmp_path / "log"
    began = time.perf_counter()
    assert run_cells([cell(Empty, seed=s, pause=0.5, log=str(log)) for s in range(6)], tmp_path, jobs=3) == 6
    assert time.perf_counter() - began < 6 * 0.5
    assert sorted(log.read_text().splitlines()) == [f"4 {seed}" for seed in range(6)]
    assert load_rows(tmp_path)["seed"].tolist() == list(range(6))


def test_a_kill_loses_and_doubles_nothing(tmp_path):
    out, log, gate = tmp_path / "out", tmp_path / "log", tmp_path / "gate"
    here = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {here!r}); import bench_fakes; bench_fakes.main()"
    command = [sys.executable, "-c", code, "bench", "run", "fig1", "--methods", "gated", "--d", "4"]
    command += ["--seeds", "4", "--kinds", "continuous", "-o", str(out)]
    environment = os.environ | {"FAKE_LOG": str(log), "FAKE_GATE": str(gate)}
    run = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (log.exists() and "4 2" in log.read_text()):  # until it is inside the third fit
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.wait()
    before = {path.name: path.stat().st_mtime_ns for path in (out / "rows").glob("*.parquet")}
    assert len(before) == 2

    gate.touch()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "4 cells, 2 run now: 4 ok" in done.stdout
    rows = load_rows(out)
    assert rows["seed"].tolist() == [0, 1, 2, 3]
    assert rows["key"].is_unique
    after = {path.name: path.stat().st_mtime_ns for path in (out / "rows").glob("*.parquet")}
    assert {name: after[name] for name in before} == before, "finished rows were not written again"
    fits = Counter(log.read_text().splitlines())
    assert fits == {"4 0": 1, "4 1": 1, "4 2": 2, "4 3": 1}, "only the killed fit ran twice"
    assert not list((out / "rows").glob("*.part"))


def test_two_runs_share_a_folder(tmp_path):
    """While one run is at a cell, another leaves it alone and does the rest."""
    log, gate = tmp_path / "log", tmp_path / "gate"
    cells = [cell(Empty, seed=s, log=str(log), gate=str(gate)) for s in (2, 3)]
    first = threading.Thread(target=run_cells, args=(cells[:1], tmp_path))
    first.start()
    deadline = time.monotonic() + 60
    while not log.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    second = Watch()
    run_cells(cells, tmp_path, watcher=second, limits=Limits(max_seconds=20))
    gate.touch()
    first.join()
    assert second.ran == [("empty", 4, 3)]
    assert second.rows[0] is None, "seed 2 belonged to the other run"
    assert log.read_text().splitlines() == ["4 2", "4 3"]
    assert sorted(load_rows(tmp_path)["seed"]) == [2, 3]
