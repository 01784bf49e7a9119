import os
from collections import Counter

import joblib
import pytest
from job_tasks import broken, slow
from threadpoolctl import threadpool_info, threadpool_limits

from gpmnet.errors import InputError, ResumeWarning
from gpmnet.files import Shelf
from gpmnet.jobs import Given, Tasks, Where, Workplace, run_tasks
from gpmnet.jobs.given import Desk


def run(function, work, count, where, shelf):
    """Return the results of tasks in a workplace of their own."""
    with Workplace(where) as place:
        return run_tasks(Tasks(function, work=work), count, place, shelf)


def starts(folder):
    path = folder / "starts.txt"
    return (
        Counter(int(line.split()[0]) for line in path.read_text().splitlines())
        if path.exists()
        else Counter()
    )


def processes(folder):
    return {int(line.split()[1]) for line in (folder / "starts.txt").read_text().splitlines()}


def same(one, other):
    return [{name: part.tobytes() for name, part in result.items()} for result in one] == [
        {name: part.tobytes() for name, part in result.items()} for result in other
    ]


def test_answers_come_in_their_order_and_are_the_same_in_processes(tmp_path):
    here = run(slow, (tmp_path, 0.0), 6, Where(), Shelf())
    assert [int(result["number"][0]) for result in here] == [*range(6)]
    assert processes(tmp_path) == {os.getpid()}
    beside = run(slow, (tmp_path, 0.0), 6, Where(workers=2), Shelf())
    assert same(here, beside)
    assert len(processes(tmp_path)) > 1


def test_the_users_parallel_config_is_honoured(tmp_path):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        run(slow, (tmp_path, 0.0), 4, Where(), Shelf())
    assert os.getpid() not in processes(tmp_path)


def test_a_backend_that_gives_all_results_at_the_end_is_one_line(tmp_path):
    with (
        joblib.parallel_config(backend="multiprocessing", n_jobs=2),
        pytest.raises(InputError, match="set loky, threading or dask") as caught,
    ):
        run(slow, (tmp_path, 0.0), 4, Where(), Shelf())
    assert "\n" not in str(caught.value)


def opened(folder):
    shelf = Shelf(folder)
    shelf.open("key")
    return shelf


def test_what_is_kept_is_not_computed_again(tmp_path):
    first = run(slow, (tmp_path, 0.0), 3, Where(), opened(tmp_path / "kept"))
    more = run(slow, (tmp_path, 0.0), 5, Where(), opened(tmp_path / "kept"))
    assert same(first, more[:3])
    assert starts(tmp_path) == Counter(range(5))


def test_what_was_finished_before_an_error_is_kept(tmp_path):
    with pytest.raises(ValueError, match="two is wrong"):
        run(broken, ValueError, 5, Where(), opened(tmp_path / "kept"))
    again = opened(tmp_path / "kept")
    assert [again.take(str(number)) is not None for number in range(5)] == [True, True, False, False, False]


def test_a_damaged_result_is_computed_again_and_that_is_said(tmp_path):
    first = run(slow, (tmp_path, 0.0), 3, Where(), opened(tmp_path / "kept"))
    path = tmp_path / "kept" / "part-000002.safetensors"
    whole = bytearray(path.read_bytes())
    whole[-8] ^= 1
    path.write_bytes(bytes(whole))
    with pytest.warns(ResumeWarning, match="part-000002.*its digest differs"):
        shelf = opened(tmp_path / "kept")
    assert same(run(slow, (tmp_path, 0.0), 3, Where(), shelf), first)
    assert starts(tmp_path) == {0: 1, 1: 2, 2: 1}


def test_the_callers_threads_are_as_they_were(tmp_path):
    def limits():
        return {
            pool["filepath"]: pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
        }

    with threadpool_limits(2, user_api="blas"):
        before = limits()
        assert set(before.values()) == {2}
        with joblib.parallel_config(backend="threading", n_jobs=3):
            run(slow, (tmp_path, 0.05), 6, Where(), Shelf())
        assert limits() == before


def test_a_desk_holds_what_first_came_and_no_more_than_it_may():
    desk, things = Desk(), [Given(k) for k in range(3)]
    again = Given(0)
    again.__setstate__(things[0].__getstate__())  # as it arrives with another task
    assert desk.put(things[0]) is things[0]
    assert desk.put(again) is things[0]
    assert desk.put(things[1], most=2) is things[1]
    assert desk.get(things[0].token) is things[0]
    desk.put(things[2], most=2)
    assert [desk.get(thing.token) for thing in things] == [things[0], None, things[2]]  # the oldest had to go
    desk.forget(things[0].token)
    assert desk.get(things[0].token) is None
    assert desk.put(things[1]) is things[1]
    assert desk.get(things[2].token) is None


def test_one_thing_is_made_at_a_time_and_once():
    made = []

    def make(value, more):
        made.append(more)
        return value + more

    given = Given(1)
    assert [given.made(name, make, k) for name, k in (("a", 1), ("a", 2), ("b", 2), ("a", 3))] == [2, 2, 3, 4]
    assert made == [1, 2, 3]
