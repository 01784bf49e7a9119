"""Tasks of one fit: the same answers here and elsewhere; what they use is sent once a fit, and made once by each process."""

import os
import time

import numpy as np
import pytest
from job_tasks import Noted, alive, prepared, scaled

from gpmnet.files import Shelf
from gpmnet.jobs import Given, Where, Workplace
from gpmnet.jobs.crew import Crew
from gpmnet.jobs.given import DESK
from gpmnet.memory import smaller_blocks

WORK = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0]
TWICE = [2 * value for value in WORK]


def crew(folder, place, shelf=None, size=4):
    noted = Noted(folder, np.zeros(size))
    how = {"scale": 2.0}
    return Crew(how | {"numbers": noted.numbers}, prepared, noted, how, place, shelf or Shelf())


def answers(found):
    return [float(said["value"]) for said in found], {int(said["said"][0]) for said in found}


def lines(path):
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_tasks_here_use_what_is_here(tmp_path):
    for where in (Where(), Where(workers=1)):
        with Workplace(where) as place:
            values, processes = answers([*crew(tmp_path, place).each(scaled, WORK, 6, "phase")])
        assert values == TWICE
        assert processes == {os.getpid()}
    assert not (tmp_path / "prepared.txt").exists()
    assert not DESK._held  # nothing of it stays in this process


def test_processes_make_it_once_for_all_phases_of_one_file(tmp_path):
    with Workplace(Where(workers=2)) as place:
        others = crew(tmp_path, place, size=1 << 18)  # large enough for joblib to put it into a file
        first = [*others.each(scaled, WORK, 6, "one phase")]
        values, processes = answers(first)
        assert values == TWICE
        assert os.getpid() not in processes
        with smaller_blocks(3):
            second = [*others.each(scaled, WORK[::-1], 6, "another phase")]
    assert answers(second)[0] == TWICE[::-1]
    assert {int(said["said"][1]) for said in second} == {8}  # blocks are halved there as they are here
    made = lines(tmp_path / "prepared.txt")
    assert len(made) == len(set(made)) <= 2
    assert set(made) == processes | answers(second)[1]
    (file,) = {int(said["file"]) for said in first + second}
    assert file


def test_joblib_sends_what_is_given_by_one_file_while_a_workplace_is_open(tmp_path):
    with Workplace(Where(workers=2)) as place:
        noted, total = Noted(tmp_path, np.ones(1 << 18)), float(1 << 18)
        first, second = (  # as of one fit that makes two things of a table
            [*Crew(None, prepared, noted, {"scale": scale}, place).each(scaled, WORK, 6, "phase")]
            for scale in (2.0, 3.0)
        )
    assert answers(first)[0] == [2 * value + total for value in WORK]
    assert answers(second)[0] == [3 * value + total for value in WORK]
    assert len({int(said["file"]) for said in first + second}) == 1


def test_a_cluster_gets_it_once_a_worker_and_forgets_it_in_the_end(cluster, tmp_path, until):
    from distributed import Client

    cluster.start_workers(2)
    with Workplace(Where(workers=2, cluster=cluster.address)) as place:
        others, processes = crew(tmp_path, place), set()
        with Client(cluster.address, set_as_default=False) as client:
            for phase in range(3):
                values, some = answers([*others.each(scaled, WORK, 6, f"phase {phase}")])
                assert values == TWICE
                processes |= some
                if phase == 0:
                    time.sleep(3)  # Dask drops what no task hangs on, all but one copy, every two seconds
                if phase == 1:
                    cluster.start_workers(1)
                    until(lambda: len(client.nthreads()) == 3)
            # What a task was sent is gone a moment after it.
            until(lambda: set(client.run(alive, Given.__name__).values()) == {1})
    arrived, made = (lines(tmp_path / name) for name in ("arrived.txt", "prepared.txt"))
    assert len(arrived) == len(set(arrived)) == 3  # the one that came later, too
    assert len(made) == len(set(made))
    assert set(made) == processes <= set(arrived)
    with Client(cluster.address, set_as_default=False) as client:
        until(lambda: set(client.run(alive, Given.__name__).values()) == {0})


@pytest.mark.parametrize("lost", ["workers", "scheduler"])
def test_what_was_sent_is_sent_again_after_a_loss_between_phases(cluster, tmp_path, lost):
    cluster.start_workers(2)
    with Workplace(Where(workers=2, cluster=cluster.address)) as place:
        others = crew(tmp_path, place)
        first = [*others.each(scaled, WORK, 6, "phase")]
        cluster.stop_workers()
        if lost == "scheduler":
            cluster.scheduler.kill()
            cluster.scheduler.wait()
            cluster.start_scheduler()
        (new,) = cluster.start_workers(1)
        second = [*others.each(scaled, WORK, 6, "another phase")]
    assert answers(first)[0] == answers(second)[0] == TWICE
    assert answers(second)[1] == {new.pid}
    assert lines(tmp_path / "arrived.txt").count(new.pid) == 1


def test_what_came_from_elsewhere_is_kept(tmp_path):
    def opened():
        shelf = Shelf(tmp_path / "kept")
        shelf.open("key")
        return shelf

    with Workplace(Where(workers=1)) as place:
        first = crew(tmp_path, place, opened())
        assert answers([*first.each(scaled, WORK, 4, "phase")])[0] == [6.0, 2.0, 8.0, 2.0]
        # Of four tasks nothing is computed again, so that other work does not show.
        again = crew(tmp_path, place, opened())
        assert answers([*again.each(scaled, [0.0] * 6, 6, "phase")])[0] == [6.0, 2.0, 8.0, 2.0, 0.0, 0.0]
        apart = crew(tmp_path, place, opened())
        assert answers([*apart.each(scaled, [0.0] * 4, 4, "phase", "other things")])[0] == [0.0] * 4


@pytest.mark.parametrize("where", [Where(), Where(workers=1), Where(workers=2)])
def test_no_tasks_are_no_answers(tmp_path, where):
    with Workplace(where) as place:
        assert [*crew(tmp_path, place).each(scaled, WORK, 0, "phase")] == []
