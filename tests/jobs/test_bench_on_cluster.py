"""Benchmark cells on the workers of a real cluster: the same rows, and a second run has nothing left to do."""

import subprocess
import sys

from gpmnet.bench.rows import load_rows

SAME = ["task", "method", "seed", "status", "f1", "precision", "recall", "n_edges", "n_true"]


def bench(out, *options):
    command = [sys.executable, "-m", "gpmnet", "bench", "run", "fig1", "-o", out, "--methods", "partial-corr",
               "--d", "4", "--n", "500", "--seeds", "3", "--kinds", "continuous", *options]  # fmt: skip
    return subprocess.run([*map(str, command)], capture_output=True, text=True)


def test_rows_are_those_of_a_run_here_and_none_is_made_twice(cluster, tmp_path):
    here = bench(tmp_path / "here")
    assert here.returncode == 0, here.stderr
    cluster.start_workers(2)
    there = bench(tmp_path / "there", "--cluster", cluster.address, "--workers", 2)
    assert there.returncode == 0, there.stderr
    one, other = (load_rows(tmp_path / name)[SAME] for name in ("here", "there"))
    assert len(one) == 3
    assert one.equals(other)
    assert "0 run now" in bench(tmp_path / "there", "--cluster", cluster.address).stdout


def test_workers_without_a_cluster_are_refused(tmp_path):
    done = bench(tmp_path / "out", "--workers", 2)
    assert done.returncode == 2
    assert "--jobs" in done.stderr
