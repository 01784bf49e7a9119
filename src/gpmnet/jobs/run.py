"""Tasks of one kind, one after the other, in processes of this machine (joblib), or on a cluster (Dask).

A task is a number: whatever it draws at random it draws from its own seed, it computes with one thread, and its result goes
by that number. Nothing therefore depends on where tasks run, on how many run at a time, or on which ends first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, one_line
from gpmnet.files import Shelf
from gpmnet.jobs.given import DESK, Given
from gpmnet.parallel import limited_threads
from gpmnet.progress import Progress, silent

if TYPE_CHECKING:
    from gpmnet.jobs.cluster import Connection

Arrays: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Where:
    """Where tasks run.

    Attributes
    ----------
    workers : int or None
        Processes of this machine; None is joblib's own choice: that of `joblib.parallel_config`, or one. Of a cluster the
        number of workers to wait for.
    cluster : str or None
        Address of the scheduler of a Dask cluster.
    """

    workers: int | None = None
    cluster: str | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Whether it names workers or a cluster."""
        return self.workers is not None or self.cluster is not None


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks of one kind.

    Attributes
    ----------
    function : callable
        Takes the two things that follow, the first as a `Given`, and a number; of an importable module if it is to run
        elsewhere.
    given : object
        Travels once for all kinds of tasks that are given the same object while a workplace is open.
    work : object
        Travels once for these tasks.
    """

    function: Callable[[Given, Any, int], Arrays]
    given: Any = None
    work: Any = None


class Workplace:
    """Where tasks are done, while it is open: processes and connections are kept, and what is there already stays there.

    Nothing is started before there is a task.

    Parameters
    ----------
    where : Where, optional
        Here, unless given.
    """

    def __init__(self, where: Where | None = None) -> None:
        self.where = Where() if where is None else where
        self._open = ExitStack()
        self._given: Given | None = None
        self._parallel: Any = None
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._given is not None:
            DESK.forget(self._given.token)  # joblib may have done tasks in this process
        self._given = self._parallel = self._connection = None
        self._open.close()

    def check(self) -> None:
        """Raise unless there is the cluster that it names: what would be made for its tasks may take long."""
        if self.where.cluster is not None:
            self._connected(self.where.cluster).check()

    def given(self, value: Any) -> Given:
        """Return what stands for a value that travels once, the same for the same value as long as no other one comes."""
        if self._given is None or self._given.value is not value:
            self._given = Given(value)
        return self._given

    def results(self, tasks: Tasks, numbers: Sequence[int]) -> Iterator[tuple[int, Arrays]]:
        """Yield numbers and results as they come."""
        if not numbers:
            return
        given = self.given(tasks.given)
        asked = tasks.function, tasks.work
        if self.where.cluster is not None:
            yield from self._connected(self.where.cluster).results(one_task, given, asked, numbers)
            return
        from joblib import delayed

        yield from self._processes()(delayed(task_beside)(given, asked, number) for number in numbers)

    def _connected(self, address: str) -> Connection:
        from gpmnet.jobs.cluster import Connection

        if self._connection is None:
            self._connection = self._open.enter_context(Connection(address, self.where.workers))
        return self._connection

    def _processes(self) -> Any:
        from joblib import Parallel

        if self._parallel is None:
            # A result is handed on, and kept, when it is there: not when those before it are. What is given lies, if it is
            # large, in a file that joblib keeps until the end.
            try:
                parallel = Parallel(n_jobs=self.where.workers, return_as="generator_unordered", batch_size=1)
            except ValueError as error:
                raise InputError(
                    f"joblib's backend does not hand results on as they come ({one_line(error)}); "
                    "set loky, threading or dask in joblib.parallel_config"
                ) from error
            self._parallel = self._open.enter_context(parallel)
        return self._parallel


def run_tasks(
    tasks: Tasks,
    count: int,
    place: Workplace,
    shelf: Shelf,
    progress: Progress = silent,
    phase: str = "tasks",
) -> list[Arrays]:
    """Return the results of the tasks 0, ..., count - 1.

    Parameters
    ----------
    shelf : Shelf
        Every result is kept there as it comes; what a stopped run had put there is not computed again.
    """
    import torch

    found = {
        number: _arrays(there) for number in range(count) if (there := shelf.take(str(number))) is not None
    }
    left = [number for number in range(count) if number not in found]
    progress(phase, len(found), count)
    with warnings.catch_warnings():
        # joblib renews a process whose memory has grown, and goes on; nothing is lost that a user could see to.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        for number, result in place.results(tasks, left):
            held = {name: torch.from_numpy(np.asarray(part, order="C")) for name, part in result.items()}
            shelf.keep(str(number), held, at_once=True)
            found[number] = result
            progress(phase, len(found), count)
    return [found[number] for number in range(count)]


def _arrays(tensors: Mapping[str, Any]) -> Arrays:
    return {name: tensor.numpy() for name, tensor in tensors.items()}


Asked: TypeAlias = tuple[Callable[[Given, Any, int], Arrays], Any]


def task_beside(given: Given, asked: Asked, number: int) -> tuple[int, Arrays]:
    """Return a number and the result of its task, in a process to which joblib brings what is given with every task."""
    return one_task(DESK.put(given), asked, number)


def one_task(given: Given, asked: Asked, number: int) -> tuple[int, Arrays]:
    """Return a number and the result of its task, computed with one thread: with more, sums are made in another order."""
    function, work = asked
    with limited_threads(1):
        return number, function(given, work, number)
