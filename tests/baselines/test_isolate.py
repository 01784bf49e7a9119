"""Every way a function in its own process can end."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from gpmnet.baselines import run_isolated

MB = 1_000_000


def double(array):
    return 2 * array


def fail(message):
    raise ValueError(message)


def sleep(seconds):
    time.sleep(seconds)
    return os.getpid()


def ignore_terminate_and_sleep(pid_file):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    write_pid(pid_file, os.getpid())
    time.sleep(60)


def start_child_and_sleep(pid_file, orphan):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    write_pid(pid_file, child.pid)
    if not orphan:
        time.sleep(60)


def allocate(n_bytes, seconds):
    block = np.ones(n_bytes, dtype=np.uint8)
    time.sleep(seconds)
    return int(block[-1])


def leave(code):
    os._exit(code)


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def call_sys_exit():
    sys.exit(3)


def not_picklable():
    return lambda: None


def write_pid(pid_file, pid):
    with open(pid_file + ".new", "w") as out:
        out.write(str(pid))
    os.replace(pid_file + ".new", pid_file)


def gone(pid, within=5.0):
    """Whether a process has ended (a zombie nobody waits for has)."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def test_a_value_comes_back_with_its_cost():
    outcome = run_isolated(double, (np.arange(3.0),))
    assert outcome.reason is None
    assert outcome.value.tolist() == [0.0, 2.0, 4.0]
    assert 0 <= outcome.seconds < 5
    assert 5 * MB < outcome.peak_memory < 1000 * MB


def test_a_large_value_comes_back_whole():
    array = np.random.default_rng(0).normal(size=1_000_000)
    assert np.array_equal(run_isolated(double, (array,)).value, 2 * array)


def test_the_time_is_that_of_the_function():
    outcome = run_isolated(sleep, (0.3,), max_seconds=20)
    assert outcome.value != os.getpid()
    assert 0.3 <= outcome.seconds < 2.0


def test_an_error_is_a_reason_on_one_line():
    outcome = run_isolated(fail, ("two\n  lines",))
    assert (outcome.value, outcome.reason) == (None, "ValueError: two lines")


def test_a_timeout():
    began = time.perf_counter()
    outcome = run_isolated(sleep, (60,), max_seconds=0.5)
    assert outcome.reason == "timeout after 0.5 s"
    assert outcome.value is None
    assert 0.5 <= outcome.seconds < 5
    assert time.perf_counter() - began < 30


def test_a_process_that_ignores_being_asked_is_killed(tmp_path):
    pid_file = str(tmp_path / "pid")
    outcome = run_isolated(ignore_terminate_and_sleep, (pid_file,), max_seconds=1)
    assert outcome.reason == "timeout after 1 s"
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("orphan", [False, True], ids=["timeout", "returned"])
def test_its_children_end_with_it(tmp_path, orphan):
    outcome = run_isolated(start_child_and_sleep, (str(tmp_path / "pid"), orphan), max_seconds=2)
    assert (outcome.reason is None) == orphan
    assert gone(int((tmp_path / "pid").read_text()))


def test_too_much_memory():
    outcome = run_isolated(allocate, (400 * MB, 60), max_seconds=60, max_memory_bytes=300 * MB)
    assert outcome.reason == "memory over 0.3 GB"
    assert outcome.seconds < 30
    assert outcome.peak_memory > 300 * MB


def test_a_peak_between_two_looks_is_reported():
    small, large = (run_isolated(allocate, (size * MB, 0)).peak_memory for size in (1, 300))
    assert 250 * MB < large - small < 350 * MB


@pytest.mark.parametrize(
    ("function", "args", "reason"),
    [
        (kill_self, (), "killed by signal 9"),
        (leave, (7,), "the process ended without an answer (exit code 7)"),
        (leave, (0,), "the process ended without an answer (exit code 0)"),
        (call_sys_exit, (), "SystemExit: 3"),
    ],
)
def test_a_process_that_goes_away(function, args, reason):
    outcome = run_isolated(function, args, max_seconds=60)
    assert (outcome.value, outcome.reason) == (None, reason)


def test_a_value_that_cannot_travel_is_a_reason():
    outcome = run_isolated(not_picklable)
    assert outcome.reason.startswith("the value cannot be sent back: ")


def test_when_the_caller_is_killed_nothing_is_left_running(tmp_path):
    pid_file = tmp_path / "pid"
    code = (
        f"import sys; sys.path[:0] = {[os.path.dirname(__file__), *sys.path]!r}\n"
        "import test_isolate\n"
        "if __name__ == '__main__':\n"
        f"    test_isolate.run_isolated(test_isolate.ignore_terminate_and_sleep, ({str(pid_file)!r},))\n"
    )
    script = tmp_path / "caller.py"
    script.write_text(code)
    caller = subprocess.Popen([sys.executable, str(script)])
    deadline = time.monotonic() + 60
    while not pid_file.exists():
        assert time.monotonic() < deadline
        assert caller.poll() is None
        time.sleep(0.05)
    caller.kill()
    caller.wait()
    assert gone(int(pid_file.read_text()))
