"""Real schedulers and workers, and what happens when they are killed: the same answers, nothing finished computed twice."""

import os
import signal
import socket
import subprocess
import sys
import threading

import job_tasks
import pytest
from job_tasks import broken, greedy, slow
from tests.jobs.test_run_tasks import opened, run, same, starts

from gpmnet.errors import ComputationError, InputError
from gpmnet.files import Shelf
from gpmnet.jobs import Where
from gpmnet.jobs import cluster as gpmnet_cluster


def held(path):
    """Return the number of the task whose result is in a file."""
    from safetensors import safe_open

    with safe_open(path, "numpy") as file:
        (number,) = {name.split("/")[0] for name in file.keys()}  # noqa: SIM118  # no mapping
    return int(number)


def expected(tmp_path, count):
    (tmp_path / "here").mkdir()
    return run(slow, (tmp_path / "here", 0.0), count, Where(), Shelf())


def test_one_and_three_workers_give_the_same_bytes(cluster, tmp_path):
    cluster.start_workers(1)
    one = run(slow, (tmp_path, 0.0), 8, Where(cluster=cluster.address), Shelf())
    cluster.start_workers(2)
    three = run(slow, (tmp_path, 0.05), 8, Where(workers=3, cluster=cluster.address), Shelf())
    assert same(one, three)
    assert same(one, expected(tmp_path, 8))
    assert starts(tmp_path) == dict.fromkeys(range(8), 2)
    for kind in (ValueError, OSError):  # an error of a task is no loss, and is raised as it is
        with pytest.raises(kind, match="two is wrong"):
            run(broken, kind, 4, Where(cluster=cluster.address), Shelf())


def test_a_killed_worker_costs_what_it_was_at_work_on(cluster, tmp_path, until):
    victim, other = cluster.start_workers(2)
    count = 16
    kept = opened(tmp_path / "kept")

    def kill():
        until(lambda: len(list(tmp_path.glob("kept/*.safetensors"))) >= 4)
        victim.send_signal(signal.SIGKILL)
        until(lambda: len(list(tmp_path.glob("kept/*.safetensors"))) >= 8)
        other.send_signal(signal.SIGKILL)  # the last one that has the data
        cluster.start_workers(1)

    killer = threading.Thread(target=kill)
    killer.start()
    found = run(slow, (tmp_path, 0.25), count, Where(workers=2, cluster=cluster.address), kept)
    killer.join()
    assert victim.wait() == -signal.SIGKILL
    assert same(found, expected(tmp_path, count))
    again = sum(starts(tmp_path).values()) - count
    assert 1 <= again <= 4  # of each the task it was computing, and one whose answer only it had


def test_a_restarted_scheduler_costs_what_was_in_flight(cluster, tmp_path, until):
    cluster.start_workers(2)
    count = 12
    kept = opened(tmp_path / "kept")
    finished = set()

    def restart():
        until(lambda: len(list(tmp_path.glob("kept/*.safetensors"))) >= 4)
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        finished.update(held(path) for path in tmp_path.glob("kept/*.safetensors"))
        cluster.start_scheduler()
        cluster.start_workers(
            2
        )  # those of before end with their scheduler, as whatever manages them would see

    keeper = threading.Thread(target=restart)
    keeper.start()
    found = run(slow, (tmp_path, 0.25), count, Where(workers=2, cluster=cluster.address), kept)
    keeper.join()
    assert same(found, expected(tmp_path, count))
    begun = starts(tmp_path)
    assert 4 <= len(finished) < count
    assert all(begun[number] == 1 for number in finished)


def test_a_killed_client_goes_on_from_what_is_kept(cluster, tmp_path, until):
    cluster.start_workers(2)
    count = 12
    paths = str(tmp_path / "kept"), str(tmp_path)
    command = [sys.executable, job_tasks.__file__, cluster.address, *paths, str(count), "0.25"]
    client = subprocess.Popen(command, env=cluster.environment)
    until(lambda: len(list(tmp_path.glob("kept/*.safetensors"))) >= 4)
    client.kill()
    client.wait()
    finished = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("kept/*.safetensors")}
    assert 4 <= len(finished) < count
    subprocess.run(command, env=cluster.environment, check=True)
    begun = starts(tmp_path)
    for name, written in finished.items():
        assert begun[held(tmp_path / "kept" / name)] == 1
        assert os.stat(tmp_path / "kept" / name).st_mtime_ns == written
    kept = opened(tmp_path / "kept")
    found = [{name: x.numpy() for name, x in kept.take(str(k)).items()} for k in range(count)]
    assert same(found, expected(tmp_path, count))


@pytest.mark.parametrize("address", ["file:///etc", "tcp://", "tcp://127.0.0.1:x", "tls://127.0.0.1:9"])
def test_what_is_no_address_is_one_line_to_the_end_of_the_program(tmp_path, address):
    code = "import sys; from gpmnet.jobs.cluster import Caller; Caller(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, address], capture_output=True, text=True, timeout=60)
    lines = done.stderr.splitlines()
    assert f"no Dask scheduler with workers answers at '{address}'" in lines[-1]
    assert done.stderr.count("Traceback") == 1  # that of the error itself: nothing comes after it


def test_no_cluster_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(gpmnet_cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(
        InputError, match=r"no Dask scheduler with workers answers at 'tcp://127.0.0.1:9'"
    ) as caught:
        run(slow, (tmp_path, 0.0), 2, Where(cluster="tcp://127.0.0.1:9"), Shelf())
    assert "\n" not in str(caught.value)


def test_a_cluster_that_is_not_there_is_noticed_before_a_table_is_read(monkeypatch, tmp_path, gpmnet):
    monkeypatch.setattr(gpmnet_cluster, "CONNECT_SECONDS", 0.5)
    monkeypatch.setattr("gpmnet.table.load_table", lambda *_, **__: pytest.fail("it was read"))
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    code, _, said = gpmnet(
        "fit", tmp_path / "t.csv", "-o", tmp_path / "out", "--cluster", "tcp://127.0.0.1:9"
    )
    assert code == 2
    assert "no Dask scheduler with workers answers at 'tcp://127.0.0.1:9'" in said
    assert not (tmp_path / "out").exists()


def test_what_takes_connections_and_says_nothing_is_one_line(monkeypatch):
    monkeypatch.setattr(gpmnet_cluster, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match=f"answers at '{address}' .*does not answer as one") as caught:
            run(slow, None, 2, Where(cluster=address), Shelf())
    assert "\n" not in str(caught.value)


BARE = """
import sys
class Bare:
    def find_spec(self, name, *more):
        if name.partition(".")[0] == "gpmnet":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Bare())
from distributed.cli.dask_worker import main
main()
"""


def test_workers_without_the_package_are_one_line(cluster, tmp_path):
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", "/tmp"]
    command = [sys.executable, "-c", BARE, cluster.address, *options]
    cluster.workers.append(
        subprocess.Popen(command, env=cluster.environment, stdout=cluster.log, stderr=cluster.log)
    )
    with pytest.raises(ComputationError, match="a worker lacks gpmnet") as caught:
        run(slow, (tmp_path, 0.0), 4, Where(cluster=cluster.address), Shelf())
    assert "\n" not in str(caught.value)


def test_workers_that_all_pause_for_want_of_memory_are_one_line(monkeypatch, cluster, tmp_path):
    for name, seconds in (("_LOOK_SECONDS", 0.2), ("PATIENCE_SECONDS", 3.0)):
        monkeypatch.setattr(gpmnet_cluster, name, seconds)
    cluster.start_workers(1, "--memory-limit", "2GB")  # of which it goes on up to 80%
    with pytest.raises(ComputationError, match="every worker of the cluster has paused") as caught:
        run(greedy, 1_800_000_000, 20, Where(cluster=cluster.address), Shelf())
    assert "\n" not in str(caught.value)


def test_one_that_goes_on_is_waited_for(monkeypatch, cluster, tmp_path):
    for name, seconds in (("_LOOK_SECONDS", 0.1), ("PATIENCE_SECONDS", 0.3)):
        monkeypatch.setattr(gpmnet_cluster, name, seconds)
    cluster.start_workers(1)
    found = run(slow, (tmp_path, 1.5), 2, Where(cluster=cluster.address), Shelf())
    assert same(found, expected(tmp_path, 2))
