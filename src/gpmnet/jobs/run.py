"""Tasks of one kind, one after the other, in processes of this machine (joblib), or on a cluster (Dask).

A task is a number: whatever it draws at random it draws from its own seed, it computes with one thread, and its result goes
by that number. Nothing therefore depends on where tasks run, on how many run at a time, or on which ends first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpmnet.files import Shelf
from gpmnet.parallel import limited_threads
from gpmnet.progress import Progress, silent

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


def run_tasks(
    function: Callable[[Any, int], Arrays],
    shared: Any,
    count: int,
    where: Where,
    shelf: Shelf,
    progress: Progress = silent,
    phase: str = "tasks",
) -> list[Arrays]:
    """Return what a function says of 0, ..., count - 1.

    Parameters
    ----------
    function : callable
        Takes the shared data and a number; of an importable module if it is to run elsewhere.
    shared : object
        Sent to each process or worker once.
    shelf : Shelf
        Every result is kept there as it comes; what a stopped run had put there is not computed again.
    """
    import torch

    found = {
        number: _arrays(there) for number in range(count) if (there := shelf.take(str(number))) is not None
    }
    left = [number for number in range(count) if number not in found]
    progress(phase, len(found), count)
    with (
        one_thread()
    ):  # around all of them: tasks in threads of one process restore each other's limits, not the caller's
        for number, result in _results(function, shared, left, where):
            held = {name: torch.from_numpy(np.ascontiguousarray(part)) for name, part in result.items()}
            shelf.keep(str(number), held, at_once=True)
            found[number] = result
            progress(phase, len(found), count)
    return [found[number] for number in range(count)]


def _arrays(tensors: Mapping[str, Any]) -> Arrays:
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def _results(
    function: Callable[[Any, int], Arrays], shared: Any, numbers: Sequence[int], where: Where
) -> Iterator[tuple[int, Arrays]]:
    """Yield numbers and results as they come."""
    if not numbers:
        return
    if where.cluster is not None:
        from gpmnet.jobs.cluster import cluster_results

        yield from cluster_results(where.cluster, task_there, (function, shared), numbers, where.workers)
        return
    from joblib import Parallel, delayed

    # A result is handed on, and kept, when it is there: not when those before it are.
    parallel = Parallel(n_jobs=where.workers, return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(one_task)((function, shared), number) for number in numbers)


def one_task(given: tuple[Callable[[Any, int], Arrays], Any], number: int) -> tuple[int, Arrays]:
    """Return a number and what a function says of it, computed with one thread."""
    function, shared = given
    with one_thread():
        return number, function(shared, number)


def task_there(given: tuple[Callable[[Any, int], Arrays], Any], number: int) -> tuple[int, Arrays]:
    """Return the same on a worker, whose limits stay: it may be at work on other tasks of ours when this one ends."""
    import torch  # noqa: F401
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")
    return one_task(given, number)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the body with one thread, of BLAS too: with more, sums are made in another order and differ in the last bit."""
    import torch  # noqa: F401  # loads the libraries that are to be limited
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"), limited_threads(1):
        yield
