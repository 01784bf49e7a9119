"""Threads: no more than the user asked for, as many as the problem is worth, and nobody else's setting touched.

A fit computes with one OpenMP thread. What is large is cut into blocks that are computed side by side, in threads that
share nothing but their input and sleep when they have nothing to do. The other way, many OpenMP threads for each small
operation, has them wait for one another, spinning, after every one of thousands: on a machine whose cores are busy that
takes tens of times as long as one thread. The same holds of BLAS libraries with threads of their own, such as NumPy's.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from numbers import Integral
from typing import Any, TypeVar

from gpmnet.errors import InputError, quote

MOST_THREADS = 64
"""Where there are fewer processors than that, no more threads are started: OpenMP ends the process of who asks too many."""

Answer = TypeVar("Answer")

_threads: ContextVar[int] = ContextVar("threads", default=1)


def check_n_jobs(n_jobs: Any) -> int | None:
    """Return a number of threads, None where the user leaves it alone; -1 means all processors.

    >>> check_n_jobs(10**9) <= max(os.cpu_count() or 1, MOST_THREADS)
    True
    """
    if n_jobs is None:
        return None
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0 or n_jobs < -1:
        raise InputError(
            f"n_jobs must be a positive number of threads, -1 for all, or None; got {quote(n_jobs)}"
        )
    processors = os.cpu_count() or 1
    return min(int(n_jobs), max(processors, MOST_THREADS)) if n_jobs > 0 else processors


@contextmanager
def limited_threads(n_jobs: int | None) -> Iterator[None]:
    """Run the body with one OpenMP thread, and let `side_by_side` have `n_jobs`; None is what torch has.

    The limit is OpenMP's own, which belongs to the calling thread alone: fits in other threads keep theirs, and it is
    gone afterwards. `torch.set_num_threads` is never called: it changes the whole process, and on some builds even
    setting the number that is there already makes batched solves wrong from then on. BLAS libraries with threads of their
    own have a limit of the whole process: it is one while there is any such body, and afterwards what it was before.
    """
    current = _torch_threads()
    before = _threads.set(current if n_jobs is None else n_jobs)
    try:
        with _BLAS, _openmp(1):
            yield
    finally:
        _threads.reset(before)


@contextmanager
def all_threads() -> Iterator[None]:
    """Run the body of a fit with as many OpenMP threads as it may have: for few and large operations only."""
    with _openmp(_threads.get()):
        yield


class _OneBlasThread:
    """A context that any threads may enter, at once too: the first in sets the limit, the last out ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limit = _heard().limit(limits=1)

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _heard()
                self._limit.restore_original_limits()
                _heard()


_BLAS = _OneBlasThread()


def _heard() -> Any:
    """Return BLAS libraries with threads of their own, told to listen: threadpoolctl 3.8 has them hear one thread alone."""
    libraries = _libraries("threading_layer", "pthreads")
    for library in libraries.lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)
    return libraries


def side_by_side(function: Callable[[slice], Answer], count: int, worth: int) -> list[Answer]:
    """Return what a function says of the blocks of `count` things, in their order.

    Parameters
    ----------
    function : callable
        Takes a slice; must not depend on what it says of other blocks, nor change anything.
    worth : int
        How many threads the work is worth; it is one block, computed here, where that or the number that the fit may
        have is one.
    """
    blocks = max(1, min(_threads.get(), worth, count))
    if blocks == 1:
        return [function(slice(0, count))]
    edges = [count * at // blocks for at in range(blocks + 1)]
    with ThreadPoolExecutor(blocks, "gpmnet", _one_thread) as pool:
        # Each in a copy of the caller's context: what holds here, such as the size of blocks, holds there.
        parts = map(slice, edges[:-1], edges[1:])
        running = [pool.submit(copy_context().run, function, part) for part in parts]
        return [one.result() for one in running]


def _one_thread() -> None:
    """Limit a thread of the pool to itself, for as long as it lives."""
    _torch_threads()
    _libraries("user_api", "openmp").limit(limits=1)


def _torch_threads() -> int:
    """Return how many threads torch uses; asked for the first time in a thread it sets a number, over any limit before."""
    import torch

    return torch.get_num_threads()


@contextmanager
def _openmp(limit: int) -> Iterator[None]:
    with _libraries("user_api", "openmp").limit(limits=limit):
        yield


@cache
def _libraries(what: str, value: str) -> Any:
    """Return what sets the limits of some libraries; finding them takes longer than setting them."""
    import torch  # noqa: F401  # they bring the libraries that matter
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(**{what: value})
