"""A task for workers of any kind: it says when it starts, takes its time, and its answer depends on its number alone."""

import os
import time
from pathlib import Path

import numpy as np


def slow(shared, number):
    folder, seconds = shared
    with (Path(folder) / "starts.txt").open("a") as file:  # one write: lines of several processes do not mix
        file.write(f"{number} {os.getpid()}\n")
    time.sleep(seconds)
    rng = np.random.default_rng([7, number])
    matrix = rng.normal(size=(60, 60))
    return {"product": matrix @ matrix.T, "number": np.array([number])}


def broken(shared, number):
    if number == 2:
        raise ValueError("two is wrong")
    return {"number": np.array([number])}


def prepared(folder):
    """Make what tasks of a crew use, and say so."""
    with (Path(folder) / "prepared.txt").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return {"scale": 2.0}


def scaled(base, work, number):
    import torch

    from gpmnet.memory import block_size

    sizes = torch.tensor([os.getpid(), block_size(64)])
    return {"value": torch.tensor(base["scale"] * work[number]), "said": sizes}


def main(address, keep, folder, count, seconds):
    """Run tasks on a cluster and keep what is finished: a client that can be killed."""
    from gpmnet.files import Shelf
    from gpmnet.jobs import Where, run_tasks

    shelf = Shelf(Path(keep))
    shelf.open("key")
    run_tasks(slow, (folder, float(seconds)), int(count), Where(cluster=address), shelf)


if __name__ == "__main__":
    import sys

    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import job_tasks  # by its name, which the workers know too

    job_tasks.main(*sys.argv[1:])
