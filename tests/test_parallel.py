"""Threads: what the user asked for inside a fit, and everybody's own setting outside it."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import torch

from gpmnet.errors import InputError
from gpmnet.parallel import check_n_jobs, limited_threads

SOLVE = """
import numpy as np, torch
from gpmnet import GPM

def residual():
    draw = torch.Generator().manual_seed(0)
    a = torch.randn((8, 200, 200), generator=draw, dtype=torch.float64) + 20 * torch.eye(200, dtype=torch.float64)
    b = torch.randn((8, 200, 3), generator=draw, dtype=torch.float64)
    return float((a @ torch.linalg.solve(a, b) - b).abs().max())

threads = torch.get_num_threads()
before = residual()
GPM(n_jobs={n_jobs}).fit(np.random.default_rng(0).normal(size=(100, 3)))
assert torch.get_num_threads() == threads
print(before, residual())
"""


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_a_fit_leaves_the_callers_torch_as_it_was(n_jobs):
    """On some builds any call of torch.set_num_threads makes batched solves wrong from then on."""
    code = SOLVE.format(n_jobs=n_jobs)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = map(float, done.stdout.split())
    assert before < 1e-10
    assert after < 1e-10


def test_the_limit_holds_inside_and_is_gone_outside():
    before = torch.get_num_threads()
    with limited_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
    with limited_threads(None):
        assert torch.get_num_threads() == before


def test_limits_of_two_threads_do_not_disturb_each_other():
    first_in, second_in, seen = threading.Event(), threading.Event(), {}

    def one():
        with limited_threads(1):
            first_in.set()
            second_in.wait(10)
            seen["one"] = torch.get_num_threads()

    def two():
        first_in.wait(10)
        with limited_threads(2):
            second_in.set()
            worker.join(10)
            seen["two"] = torch.get_num_threads()

    worker = threading.Thread(target=one)
    other = threading.Thread(target=two)
    worker.start()
    other.start()
    other.join(20)
    assert seen == {"one": 1, "two": 2}


@pytest.mark.parametrize("wrong", [0, -2, 1.5, "all", True])
def test_a_wrong_number_is_refused(wrong):
    with pytest.raises(InputError, match="n_jobs must be"):
        check_n_jobs(wrong)


def test_numpy_numbers_are_numbers():
    assert check_n_jobs(np.int64(3)) == 3
    assert check_n_jobs(-1) >= 1
