import os
from collections import Counter

import joblib
import numpy as np
import pytest
from job_tasks import broken, slow
from threadpoolctl import threadpool_info, threadpool_limits

from gpmnet.errors import InputError
from gpmnet.jobs import Kept, Where, forget, run_tasks


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
    here = run_tasks(slow, (tmp_path, 0.0), 6, Where(), Kept())
    assert [int(result["number"][0]) for result in here] == [*range(6)]
    assert processes(tmp_path) == {os.getpid()}
    beside = run_tasks(slow, (tmp_path, 0.0), 6, Where(workers=2), Kept())
    assert same(here, beside)
    assert len(processes(tmp_path)) > 1


def test_the_users_parallel_config_is_honoured(tmp_path):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        run_tasks(slow, (tmp_path, 0.0), 4, Where(), Kept())
    assert os.getpid() not in processes(tmp_path)


def test_what_is_kept_is_not_computed_again(tmp_path):
    kept = Kept(tmp_path / "kept" / "key")
    first = run_tasks(slow, (tmp_path, 0.0), 3, Where(), kept)
    more = run_tasks(slow, (tmp_path, 0.0), 5, Where(), kept)
    assert same(first, more[:3])
    assert starts(tmp_path) == Counter(range(5))
    forget(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_what_was_finished_before_an_error_is_kept(tmp_path):
    kept = Kept(tmp_path / "kept" / "key")
    with pytest.raises(ValueError, match="two is wrong"):
        run_tasks(broken, None, 5, Where(), kept)
    assert [kept.load(number) is not None for number in range(5)] == [True, True, False, False, False]


def test_a_changed_byte_of_a_result_is_noticed(tmp_path):
    kept = Kept(tmp_path)
    kept.save(0, {"ends": np.arange(6).reshape(3, 2)})
    whole = bytearray(kept.path(0).read_bytes())
    whole[-8] ^= 1
    kept.path(0).write_bytes(bytes(whole))
    with pytest.raises(InputError, match="its digest differs"):
        kept.load(0)


def test_a_damaged_result_is_named(tmp_path):
    kept = Kept(tmp_path)
    kept.save(1, {"a": np.ones(3)})
    kept.path(1).write_bytes(b"nonsense")
    with pytest.raises(InputError, match=r"000001\.safetensors.* cannot be read: .*remove it"):
        run_tasks(slow, (tmp_path, 0.0), 2, Where(), kept)


def test_forgetting_leaves_what_is_not_ours(tmp_path):
    Kept(tmp_path / "key").save(0, {"a": np.ones(1)})
    (tmp_path / "key" / "notes.txt").write_text("mine")
    forget(tmp_path)
    assert [path.name for path in (tmp_path / "key").iterdir()] == ["notes.txt"]
    forget(tmp_path / "never made")


def test_the_callers_threads_are_as_they_were(tmp_path):
    def limits():
        return {
            pool["filepath"]: pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
        }

    with threadpool_limits(2, user_api="blas"):
        before = limits()
        assert set(before.values()) == {2}
        with joblib.parallel_config(backend="threading", n_jobs=3):
            run_tasks(slow, (tmp_path, 0.05), 6, Where(), Kept())
        assert limits() == before
