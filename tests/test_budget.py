"""A budget of memory: smaller blocks with the same answer, or a refusal in one line; and GPUs that have too little."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet import GPM
from gpmnet.engines.local import LocalEngine
from gpmnet.errors import InputError, OutOfMemoryError
from gpmnet.memory import MOST_HALVINGS, available_bytes, block_size, check_memory, smaller_blocks
from gpmnet.parallel import limited_threads, side_by_side
from gpmnet.simulate import simulate

# The functions of these columns and their moments take 600 MB where there is enough memory.
MEASURED = """
import json, resource, sys
import numpy as np, psutil
from gpmnet import GPM
from gpmnet.errors import InputError

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 120))
X[:, 1::2] += X[:, ::2]
memory, address_space = json.loads(sys.argv[1])
before = psutil.Process().memory_info()
if address_space is not None:
    resource.setrlimit(resource.RLIMIT_AS, (before.vms + address_space,) * 2)
try:
    edges = GPM(memory=memory, n_jobs=1).fit(X).network_.edges
    said = sorted(zip(edges["source"], edges["target"]))
except InputError as error:
    said = str(error)
# Not ru_maxrss, which begins at what the process that started this one had.
peak = 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([said, before.rss, peak]))
"""


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc here")


def measured(memory=None, address_space=None):
    """Fit in a process of its own; return its edges or its refusal, and the memory before and at most."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, json.dumps([memory, address_space])],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    return json.loads(done.stdout)


@needs_proc
@pytest.mark.slow
def test_a_budget_and_a_limit_are_kept_with_the_same_edges():
    edges, before, peak = measured()
    assert len(edges) >= 60
    budget = before + 350_000_000
    assert peak > budget  # there is something to save
    found, _, peak = measured(memory=budget)
    assert found == edges
    assert peak < budget
    found, before, peak = measured(address_space=450_000_000)
    assert found == edges
    assert peak < before + 450_000_000


@needs_proc
@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"memory": "450MB"}, "of memory=0.45 GB are left; about 0 of these 120 variables would fit"),
        ({"address_space": 150_000_000}, "GB are free; about 0 of these 120 variables would fit"),
    ],
)
def test_what_fits_in_no_blocks_is_refused_in_one_line(limits, words):
    said, before, peak = measured(**limits)
    assert said.startswith("this needs about 0.")
    assert said.endswith(words)
    assert peak < before + 50_000_000  # nothing was begun


def test_the_program_has_the_option(gpmnet_fit):
    code, _, said = gpmnet_fit("--memory", "1MB")
    assert code == 2
    assert "of memory=0.00 GB are left" in said
    code, _, said = gpmnet_fit("--memory", "much")
    assert (code, said) == (
        2,
        "gpmnet: memory must be a size such as '4GB', a number of bytes, or None; got 'much'\n",
    )
    assert gpmnet_fit("--memory", "100 GB")[0] == 0


@pytest.fixture
def gpmnet_fit(gpmnet, tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc")).to_csv(tmp_path / "t.csv", index=False)
    return lambda *arguments: gpmnet("fit", tmp_path / "t.csv", "-o", tmp_path / "out", *arguments)


@pytest.mark.parametrize("wrong", ["", "GB", "4", "4 XB", "-1GB", "0GB", 0, -5, 1.5, True, [1]])
def test_a_size_that_is_none_is_refused(wrong):
    with pytest.raises(InputError, match="memory must be a size such as '4GB'"):
        check_memory(wrong)


def test_sizes():
    sizes = ["1B", "2kb", "3 MB", "1.5GiB", " 1TB ", np.int64(7), None]
    assert [check_memory(size) for size in sizes] == [1, 2000, 3_000_000, 3 << 29, 10**12, 7, None]


def test_a_budget_counts_what_the_process_holds_already(monkeypatch):
    import psutil

    held = psutil.Process().memory_info().rss
    assert available_bytes("cpu", held + 10**9) == pytest.approx(10**9, abs=5e7)
    assert available_bytes("cpu", 1000) == 0
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (5000, 9000))
    assert [available_bytes("cuda", budget) for budget in (None, 3000, 7000)] == [5000, 3000, 5000]


def test_blocks_are_smaller_in_every_thread():
    with limited_threads(3), smaller_blocks(2):
        assert side_by_side(lambda at: block_size(1000), 9, worth=3) == [250] * 3
        with smaller_blocks(30):
            assert block_size(1000) == 1
    assert block_size(1000) == 1000


@pytest.mark.parametrize(
    ("engine", "kind"),
    [("local", "mixed"), ("screened", "mixed"), ("dag", "discrete"), ("deep", "continuous")],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_smallest_blocks_give_the_same_answer(monkeypatch, engine, kind):
    frame = simulate("random", kind=kind, d=6, n=250, seed=3).frame()
    model = GPM("local" if engine == "screened" else engine)
    if engine == "screened":
        model.set_params(options__all_pairs_up_to=2)
    if engine == "deep":
        model.set_params(options__steps=4, options__lam=2.0)
    plain = model.fit(frame).network_
    monkeypatch.setattr("gpmnet.fitting.blocks_that_fit", lambda *_: MOST_HALVINGS)
    small = model.fit(frame).network_
    assert plain.n_edges
    pd.testing.assert_frame_equal(plain.candidates, small.candidates, rtol=1e-4, atol=1e-5)


class FakeGpu:
    """A GPU on which fits run out of memory until blocks are small enough."""

    def __init__(self, monkeypatch, most):
        plain = LocalEngine.fit
        self.tried = tried = []

        def fit(engine, problem):
            tried.append((problem.device, block_size(64)))
            if problem.device == "cuda" and block_size(64) > most:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
            return plain(engine, problem)  # on the CPU: the table is small

        monkeypatch.setattr(LocalEngine, "fit", fit)
        monkeypatch.setattr("gpmnet.estimator.check_device", lambda device: None)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (80 << 30, 80 << 30))


@pytest.mark.parametrize(
    ("most", "tried", "said"),
    [
        (64, [("cuda", 64)], ()),
        (
            16,
            [("cuda", 64), ("cuda", 16)],
            ("the GPU had too little memory: computed in blocks of 1/4 of the size",),
        ),
        (
            0,
            [("cuda", 64), ("cuda", 16), ("cuda", 4), ("cuda", 1), ("cpu", 64)],
            ("the GPU had too little memory, in small blocks too: computed on the CPU",),
        ),
    ],
)
def test_a_gpu_with_too_little_memory_has_smaller_blocks_and_then_the_cpu(monkeypatch, most, tried, said):
    frame = simulate("random", kind="discrete", d=4, n=100, seed=1).frame()
    expected = GPM().fit(frame).network_.candidates
    gpu = FakeGpu(monkeypatch, most)
    network = GPM(device="cuda").fit(frame).network_
    assert gpu.tried == tried
    assert network.facts.warnings[: len(said)] == said
    assert len([note for note in network.facts.warnings if "GPU" in note]) == len(said)
    pd.testing.assert_frame_equal(network.candidates, expected, rtol=1e-6)


def test_a_cpu_that_is_refused_memory_is_not_asked_again(monkeypatch):
    tried = []

    def fit(engine, problem):
        tried.append(problem.device)
        raise MemoryError

    monkeypatch.setattr(LocalEngine, "fit", fit)
    with pytest.raises(OutOfMemoryError, match="the system refused"):
        GPM().fit(np.random.default_rng(0).normal(size=(50, 3)))
    assert tried == ["cpu"]
