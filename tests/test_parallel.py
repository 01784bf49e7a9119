"""Threads: what the user asked for inside a fit, and everybody's own setting outside it."""

import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from gpmnet import GPM
from gpmnet.engines.local import LocalOptions
from gpmnet.errors import InputError
from gpmnet.parallel import all_threads, check_n_jobs, limited_threads, side_by_side
from gpmnet.simulate import simulate

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


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_a_fit_has_one_thread_unless_it_asks_for_all_and_the_caller_has_its_own(n_jobs):
    before = torch.get_num_threads()
    with limited_threads(n_jobs):
        assert torch.get_num_threads() == 1
        with all_threads():
            assert torch.get_num_threads() == (n_jobs or before)
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_limits_of_two_threads_do_not_disturb_each_other():
    first_in, second_in, seen = threading.Event(), threading.Event(), {}

    def one():
        with limited_threads(3), all_threads():
            first_in.set()
            second_in.wait(10)
            seen["one"] = torch.get_num_threads()

    def two():
        first_in.wait(10)
        with limited_threads(2), all_threads():
            second_in.set()
            worker.join(10)
            seen["two"] = torch.get_num_threads()

    worker = threading.Thread(target=one)
    other = threading.Thread(target=two)
    worker.start()
    other.start()
    other.join(20)
    assert seen == {"one": 3, "two": 2}


def blas_threads():
    """Return the numbers of threads of BLAS libraries that have threads of their own."""
    return {pool["num_threads"] for pool in threadpool_info() if pool.get("threading_layer") == "pthreads"}


def test_blas_has_one_thread_in_a_fit_and_what_it_had_after_it():
    """With more it waits for itself, spinning: on a busy machine a product of matrices takes ten times as long."""
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with limited_threads(2):
            assert blas_threads() in ({1}, set())
            with limited_threads(None):
                assert blas_threads() in ({1}, set())
            assert blas_threads() in ({1}, set())
        assert blas_threads() == before


def test_the_limit_of_blas_lasts_as_long_as_any_of_overlapping_fits():
    first_in, second_in, first_out, seen = (*(threading.Event() for _ in range(3)), [])

    def one():
        with limited_threads(1):
            first_in.set()
            second_in.wait(10)
        first_out.set()

    def two():
        first_in.wait(10)
        with limited_threads(1):
            second_in.set()
            first_out.wait(10)
            seen.append(blas_threads())

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        threads = [threading.Thread(target=target) for target in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert blas_threads() == before
    assert seen in ([{1}], [set()])


def told(at):
    """Say what a block is, who computes it and with how many threads."""
    if at.start in BARRIERS:
        BARRIERS[at.start].wait(10)
    return list(range(10))[at], threading.current_thread().name, torch.get_num_threads()


BARRIERS: dict[int, threading.Barrier] = {}


def test_blocks_are_computed_at_the_same_time_in_order_and_with_one_thread_each(monkeypatch):
    together = threading.Barrier(3)  # opens only when three threads wait at it
    for start in (0, 3, 6):
        monkeypatch.setitem(BARRIERS, start, together)
    with limited_threads(3):
        parts = side_by_side(told, 10, worth=5)
    assert [part for part, _, _ in parts] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
    assert len({name for _, name, _ in parts}) == 3
    assert {n for _, _, n in parts} == {1}


@pytest.mark.parametrize(("n_jobs", "worth"), [(1, 5), (4, 1), (4, 0)])
def test_what_is_not_worth_it_stays_in_the_callers_thread(n_jobs, worth):
    with limited_threads(n_jobs):
        ((part, name, threads),) = side_by_side(told, 10, worth)
    assert (part, name, threads) == (list(range(10)), threading.current_thread().name, 1)


def test_outside_a_fit_nothing_is_split():
    assert len(side_by_side(told, 10, 5)) == 1


def test_an_error_in_a_block_is_raised():
    def wrong(at):
        if at.start:
            raise InputError("this block")
        return at

    with limited_threads(2), pytest.raises(InputError, match="this block"):
        side_by_side(wrong, 10, 5)


@pytest.mark.parametrize("all_pairs_up_to", [100, 0])
def test_the_number_of_threads_does_not_change_the_answer(monkeypatch, all_pairs_up_to):
    monkeypatch.setattr("gpmnet.testing.base._WORTH_A_THREAD", 1)
    drawn = simulate("random", kind="mixed", d=12, n=300, seed=1)
    options = LocalOptions(all_pairs_up_to=all_pairs_up_to)
    found = [GPM(n_jobs=n_jobs, options=options).fit(drawn.frame()).network_ for n_jobs in (1, 3)]
    one, three = (network.candidates for network in found)
    assert len(one)
    pd.testing.assert_frame_equal(one, three, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("wrong", [0, -2, 1.5, "all", True])
def test_a_wrong_number_is_refused(wrong):
    with pytest.raises(InputError, match="n_jobs must be"):
        check_n_jobs(wrong)


def test_numpy_numbers_are_numbers():
    assert check_n_jobs(np.int64(3)) == 3
    assert check_n_jobs(-1) >= 1


def test_the_program_lets_threads_wait_passively_and_a_users_choice_stands(tmp_path):
    """The setting counts only if it is there before torch brings OpenMP."""
    code = """
import os, sys
from gpmnet.cli import main
assert "torch" not in sys.modules
sys.argv = ["gpmnet", "--version"]
try:
    main()
except SystemExit:
    print(os.environ["OMP_WAIT_POLICY"], "torch" in sys.modules)
"""
    for given, expected in (({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")):
        env = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"} | given
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
        )
        assert done.stdout.splitlines()[-1] == f"{expected} False"


def test_importing_the_library_leaves_the_environment_alone():
    code = "import os; before = dict(os.environ); import gpmnet.estimator; assert dict(os.environ) == before"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_machine_that_asks_others_computes_with_one_thread():
    asked = [{}, {"n_jobs": 3}, {"workers": 2}, {"cluster": "tcp://127.0.0.1:9"}, {"workers": 2, "n_jobs": 3}]
    assert [GPM(**options).plan().threads for options in asked] == [None, 3, 1, 1, 3]
