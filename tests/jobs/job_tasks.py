"""A task for workers of any kind: it says when it starts, takes its time, and its answer depends on its number alone."""

import gc
import os
import time
from pathlib import Path

import numpy as np


def slow(given, work, number):
    folder, seconds = work
    with (Path(folder) / "starts.txt").open("a") as file:  # one write: lines of several processes do not mix
        file.write(f"{number} {os.getpid()}\n")
    time.sleep(seconds)
    rng = np.random.default_rng([7, number])
    matrix = rng.normal(size=(60, 60))
    return {"product": matrix @ matrix.T, "number": np.array([number])}


def broken(given, work, number):
    if number == 2:
        raise work("two is wrong")
    return {"number": np.array([number])}


def greedy(given, work, number):
    """Take so many bytes and keep them."""
    KEPT.append(np.ones(work, dtype=np.int8))
    time.sleep(0.5)
    return {"number": np.array([number])}


KEPT = []


class Noted:
    """Says where it arrives; of Dask alone, which brings it once, and not with every task."""

    def __init__(self, folder, numbers):
        self.folder, self.numbers = folder, numbers

    def __setstate__(self, state):
        self.__dict__.update(state)
        with (Path(self.folder) / "arrived.txt").open("a") as file:
            file.write(f"{os.getpid()}\n")


def alive(name):
    """Return how many objects of a class with some name this process has."""
    return sum(type(x).__name__ == name for x in gc.get_objects())


def prepared(noted, how):
    """Make what tasks of a crew use, and say so."""
    with (Path(noted.folder) / "prepared.txt").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return {"scale": how["scale"], "numbers": noted.numbers}


def scaled(base, work, number):
    import torch

    from gpmnet.memory import block_size

    sizes = torch.tensor([os.getpid(), block_size(64)])
    # A file that joblib put large arrays into: its number, 0 where there is none.
    file = getattr(base["numbers"], "filename", None)
    return {
        "value": torch.tensor(base["scale"] * work[number] + float(base["numbers"].sum())),
        "said": sizes,
        "file": torch.tensor(0 if file is None else os.stat(file).st_ino),
    }


def main(address, keep, folder, count, seconds):
    """Run tasks on a cluster and keep what is finished: a client that can be killed."""
    from gpmnet.files import Shelf
    from gpmnet.jobs import Tasks, Where, Workplace, run_tasks

    shelf = Shelf(Path(keep))
    shelf.open("key")
    tasks = Tasks(slow, work=(folder, float(seconds)))
    with Workplace(Where(cluster=address)) as place:
        run_tasks(tasks, int(count), place, shelf)


if __name__ == "__main__":
    import sys

    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import job_tasks  # by its name, which the workers know too

    job_tasks.main(*sys.argv[1:])
