"""Tasks of one fit: the same answers here and elsewhere, and what they use made once by each process."""

import os

import pytest
from job_tasks import prepared, scaled

from gpmnet.files import Shelf
from gpmnet.jobs import Where
from gpmnet.jobs.crew import Crew
from gpmnet.memory import smaller_blocks

WORK = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0]


def crew(folder, where, shelf=None):
    return Crew({"scale": 2.0}, prepared, folder, where, shelf or Shelf())


def answers(found):
    return [float(said["value"]) for said in found], {int(said["said"][0]) for said in found}


def test_tasks_here_use_what_is_here(tmp_path):
    for where in (Where(), Where(workers=1)):
        values, processes = answers([*crew(tmp_path, where).each(scaled, WORK, 6, "phase")])
        assert values == [2 * value for value in WORK]
        assert processes == {os.getpid()}
    assert not (tmp_path / "prepared.txt").exists()


def test_tasks_elsewhere_make_it_once_a_process_for_all_phases(tmp_path):
    others = crew(tmp_path, Where(workers=2))
    values, processes = answers([*others.each(scaled, WORK, 6, "one phase")])
    assert values == [2 * value for value in WORK]
    assert os.getpid() not in processes
    with smaller_blocks(3):
        found = [*others.each(scaled, WORK[::-1], 6, "another phase")]
    assert answers(found)[0] == [2 * value for value in WORK[::-1]]
    assert {int(said["said"][1]) for said in found} == {8}  # blocks are halved there as they are here
    made = [int(line) for line in (tmp_path / "prepared.txt").read_text().split()]
    assert len(made) == len(set(made)) <= 2
    assert set(made) == processes | answers(found)[1]


def test_what_came_from_elsewhere_is_kept(tmp_path):
    def opened():
        shelf = Shelf(tmp_path / "kept")
        shelf.open("key")
        return shelf

    first = crew(tmp_path, Where(workers=1), opened())
    assert answers([*first.each(scaled, WORK, 4, "phase")])[0] == [6.0, 2.0, 8.0, 2.0]
    # Of four tasks nothing is computed again, so that other work does not show.
    again = crew(tmp_path, Where(workers=1), opened())
    assert answers([*again.each(scaled, [0.0] * 6, 6, "phase")])[0] == [6.0, 2.0, 8.0, 2.0, 0.0, 0.0]


@pytest.mark.parametrize("where", [Where(), Where(workers=1), Where(workers=2)])
def test_no_tasks_are_no_answers(tmp_path, where):
    assert [*crew(tmp_path, where).each(scaled, WORK, 0, "phase")] == []
