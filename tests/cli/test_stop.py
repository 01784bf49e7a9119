"""What the program says when the user or the system stops it."""

import os
import resource
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

from gpmnet import MarkovNetwork


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(size=200), "c": rng.normal(size=200)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def listen():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def started(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen,
    )


def stopped(process):
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    return said


SLEEP_IN = """
import sys, time
from gpmnet.cli import main
from gpmnet.engines.local import {kind}

def sleep(*_):
    try:
        print("ready", flush=True)
        time.sleep(600)
    except KeyboardInterrupt:
        {then}

{kind}.{name} = sleep
main()
"""


@pytest.mark.parametrize(
    ("kind", "name", "kept"),
    [
        ("LocalEngine", "fit", "nothing was written"),
        ("LocalFound", "describe", "'{out}' holds the edges, without Omega and shapes"),
    ],
)
def test_ctrl_c_says_in_one_line_what_was_kept(table, tmp_path, kind, name, kept):
    out = tmp_path / "out"
    running = started(SLEEP_IN.format(kind=kind, name=name, then="raise"), "fit", table, "-o", out)
    assert running.stdout.readline() == "ready\n"
    assert stopped(running) == f"gpmnet: stopped; {kept.format(out=out)}\n"
    assert out.exists() == ("edges" in kept)
    if out.exists():
        assert MarkovNetwork.load(out).n_edges == 1
    assert [p for p in os.listdir(tmp_path) if p.startswith(".")] == []


def test_ctrl_c_that_a_callback_swallowed_is_not_forgotten(table, tmp_path):
    code = SLEEP_IN.format(kind="LocalEngine", name="fit", then="_[1].progress('screen', 0, 1)")
    running = started(code, "fit", table, "-o", tmp_path / "out")
    assert running.stdout.readline() == "ready\n"
    assert stopped(running) == "gpmnet: stopped; nothing was written\n"


STARTING = """
import sys, time
class Slow:
    def find_spec(self, name, *_):
        if name == "{module}":
            print("ready", flush=True)
            try:
                time.sleep(600)
            except KeyboardInterrupt:
                raise ImportError("broken by an interrupt")
sys.meta_path.insert(0, Slow())
from gpmnet.cli import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "pandas"])
def test_ctrl_c_while_the_program_starts(table, tmp_path, module):
    running = started(STARTING.format(module=module), "fit", table, "-o", tmp_path / "out")
    assert running.stdout.readline() == "ready\n"
    assert stopped(running) == "gpmnet: stopped\n"


def test_a_second_ctrl_c_waits_for_nothing(table, tmp_path):
    code = SLEEP_IN.format(kind="LocalEngine", name="fit", then="print('on', flush=True); time.sleep(600)")
    running = started(code, "fit", table, "-o", tmp_path / "out")
    assert running.stdout.readline() == "ready\n"
    running.send_signal(signal.SIGINT)
    assert running.stdout.readline() == "on\n"
    assert stopped(running) == "gpmnet: stopped; nothing was written\n"


def run(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "gpmnet", *map(str, arguments)], capture_output=True, text=True, **more
    )


def test_a_folder_that_cannot_be_written_is_told_before_the_fit(table, gpmnet, monkeypatch):
    from gpmnet.engines.local import LocalEngine

    monkeypatch.setattr(LocalEngine, "fit", lambda *_: pytest.fail("it was fitted"))
    code, _, said = gpmnet("fit", table, "-o", "/proc/out")
    assert (code, said) == (2, "gpmnet: '/proc/out' cannot be written: No such file or directory\n")


def test_a_limit_on_files_is_one_line_and_the_old_result_stays(table, tmp_path):
    assert run("fit", table, "-o", tmp_path / "out").returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (2000, 2000))
    done = run("fit", table, "-o", tmp_path / "out", "--fdr", 0.2, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (
        2,
        f"gpmnet: '{tmp_path / 'out'}' cannot be written: File too large\n",
    )
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert sorted(os.listdir(tmp_path)) == ["out", "t.csv"]


def test_bench_on_a_disk_that_cannot_be_written_is_one_line():
    done = run("bench", "run", "fig1", "-o", "/proc/out", "--methods", "glasso")
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "/proc/out" in done.stderr


def test_memory_that_torch_is_refused_is_one_line(table, gpmnet, monkeypatch, tmp_path):
    import torch

    from gpmnet.engines.local import LocalEngine

    monkeypatch.setattr(LocalEngine, "fit", lambda *_: torch.empty(1 << 50))
    code, _, said = gpmnet("fit", table, "-o", tmp_path / "out")
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("gpmnet: the system refused 4503599627370496 bytes; take fewer columns or rows")


def test_a_computation_that_breaks_down_is_one_line(table, gpmnet, monkeypatch, tmp_path):
    from gpmnet.engines.local import LocalEngine
    from gpmnet.errors import ComputationError

    def fail(*_):
        raise ComputationError("sums in single precision are wrong\nby far")

    monkeypatch.setattr(LocalEngine, "fit", fail)
    code, _, said = gpmnet("fit", table, "-o", tmp_path / "out")
    assert (code, said) == (1, "gpmnet: sums in single precision are wrong by far\n")
    assert not (tmp_path / "out").exists()


def test_a_working_folder_that_is_gone_is_one_line(table, tmp_path):
    (tmp_path / "gone").mkdir()
    done = run(
        "fit", table, "-o", tmp_path / "out", cwd=tmp_path / "gone", preexec_fn=(tmp_path / "gone").rmdir
    )
    assert (done.returncode, done.stderr) == (
        2,
        "gpmnet: the folder in which it was started is gone; enter another one\n",
    )


def test_of_two_fits_into_one_fresh_folder_one_wins_and_the_other_is_told(table, tmp_path):
    out = tmp_path / "out"
    first = started(SLEEP_IN.format(kind="LocalEngine", name="fit", then="raise"), "fit", table, "-o", out)
    assert first.stdout.readline() == "ready\n"
    done = run("fit", table, "-o", out)
    assert (done.returncode, done.stderr) == (
        2,
        f"gpmnet: another run is writing to '{out}'; wait for it to end, or give another folder\n",
    )
    stopped(first)
    assert run("fit", table, "-o", out).returncode == 0
