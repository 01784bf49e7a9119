"""Threads: as many as the user asked for, and nobody else's setting touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from gpmnet.errors import InputError, quote


def check_n_jobs(n_jobs: Any) -> int | None:
    """Return a number of threads, None where the user leaves it alone; -1 means all processors."""
    if n_jobs is None:
        return None
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0 or n_jobs < -1:
        raise InputError(
            f"n_jobs must be a positive number of threads, -1 for all, or None; got {quote(n_jobs)}"
        )
    return int(n_jobs) if n_jobs > 0 else os.cpu_count() or 1


@contextmanager
def limited_threads(n_jobs: int | None) -> Iterator[None]:
    """Run the body with some number of threads, or leave everything as it is for None.

    The limit is OpenMP's own, which belongs to the calling thread alone: fits in other threads keep theirs, and it is
    gone afterwards. `torch.set_num_threads` is never called: it changes the whole process, and on some builds even
    setting the number that is there already makes batched solves wrong from then on.
    """
    if n_jobs is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=n_jobs, user_api="openmp"):
        yield
