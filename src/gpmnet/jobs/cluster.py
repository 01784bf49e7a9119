"""Tasks on a Dask cluster: what a lost worker, scheduler or connection took with it is asked for again.

Dask schedules. Here is only what it leaves to its user: data that were scattered, and tasks that hang on them, are gone with
the last worker that held them, and with the scheduler. What has come back has come back: only the rest is sent again.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from gpmnet.errors import ComputationError, InputError, MissingExtraError, one_line, quote

Answer = TypeVar("Answer")

CONNECT_SECONDS = 20.0
PATIENCE_SECONDS = 300.0
"""How long a cluster that was there once may be away, without a single result, until a run gives up."""


class _LostError(Exception):
    """Some tasks were lost with what held them."""


def cluster_results(
    address: str,
    function: Callable[[Any, int], Answer],
    shared: Any,
    numbers: Sequence[int],
    workers: int | None = None,
) -> Iterator[Answer]:
    """Yield what a function says of some numbers, as the workers of a cluster answer.

    Parameters
    ----------
    address : str
        Of the scheduler, as in ``tcp://10.0.0.1:8786``.
    shared : object
        First argument of every call; scattered to all workers once.
    workers : int, optional
        How many to wait for before the first task is sent.
    """
    left = dict.fromkeys(numbers)
    first, deadline = True, 0.0
    while left:
        try:
            with _quiet(), _connected(address, first, workers) as client:
                first, deadline = False, time.monotonic() + PATIENCE_SECONDS
                for number, answer in _round(client, function, shared, list(left)):
                    del left[number]
                    deadline = time.monotonic() + PATIENCE_SECONDS
                    yield answer
        except _LostError as lost:
            if time.monotonic() > deadline:
                raise ComputationError(
                    f"the cluster at {quote(address)} was lost and did not come back: {one_line(lost)}"
                ) from lost
            time.sleep(0.5)


class Caller:
    """Calls functions on a cluster, one call from each of several threads; a call that is lost is made again.

    Parameters
    ----------
    address : str
        Of the scheduler.
    workers : int, optional
        How many workers to wait for.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
        self.address = address
        self._lock = threading.Lock()
        with _quiet():
            self._client = _connected(address, True, workers)

    def __call__(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Return what a worker makes of a function of an importable module."""
        from distributed import CancelledError

        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            client = self._client
            try:
                answer: Answer = client.submit(function, *arguments, pure=False).result()
                return answer
            except (CancelledError, OSError, TimeoutError, _LostError) as error:
                if time.monotonic() > deadline:
                    raise ComputationError(
                        f"the cluster at {quote(self.address)} was lost and did not come back: {one_line(error)}"
                    ) from error
                self._again(client)

    def _again(self, lost: Any) -> None:
        """Connect once more, unless another thread has."""
        with self._lock, _quiet():
            if self._client is not lost:
                return
            lost.close(timeout=1)
            with contextlib.suppress(_LostError):
                self._client = _connected(self.address, False, None)

    def close(self) -> None:
        """End the connection; calls that are still out are not made again."""
        self._client.close(timeout=2)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's client from printing what it makes of a lost scheduler: that is dealt with here."""
    try:
        import distributed  # noqa: F401  # sets its loggers up, now or over our setting
    except ImportError as error:
        raise MissingExtraError("Dask distributed", "cluster") from error
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _connected(address: str, first: bool, workers: int | None) -> Any:
    """Return a client of a cluster that has workers; raise for good the first time, as `_LostError` later."""
    try:
        return _client(address, (workers or 1) if first else 1)
    # An address may be no address, or ask for a library or a certificate that is not there.
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError, ImportError) as error:
        said = one_line(error)
    # Only the traceback had hold of a client that failed while it was made, and that is gone. It is ended here: at the
    # end of the program it would wait for a loop that is no more, and say so in many lines.
    gc.collect()
    if not first:
        raise _LostError(said)
    raise InputError(
        f"no Dask scheduler with workers answers at {quote(address)} ({said}); "
        "start one with: dask scheduler, and: dask worker ADDRESS --nthreads 1"
    )


def _client(address: str, workers: int) -> Any:
    from distributed import Client

    client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    try:
        client.wait_for_workers(workers, timeout=CONNECT_SECONDS)
    except BaseException:
        client.close(timeout=1)
        raise
    return client


def _round(
    client: Any, function: Callable[[Any, int], Answer], shared: Any, numbers: list[int]
) -> Iterator[tuple[int, Answer]]:
    """Send tasks once, and yield numbers with answers; raise `_LostError` at the end if some were lost."""
    from distributed import CancelledError, KilledWorker, as_completed

    try:
        (data,) = client.scatter([shared], broadcast=True, hash=False, timeout=CONNECT_SECONDS)
        sent = {client.submit(function, data, number, pure=False): number for number in numbers}
        lost = 0
        for future in as_completed(list(sent), loop=client.loop, raise_errors=False):
            if future.status == "error":
                error = future.exception()
                if isinstance(error, KilledWorker):
                    raise ComputationError(
                        f"workers were killed again and again at one task ({one_line(error)}); they may need more memory"
                    )
                raise error
            if future.status != "finished":
                lost += 1
                continue
            yield sent[future], future.result(timeout=CONNECT_SECONDS)
            future.release()  # or the worker would hold every answer to the end
    except (CancelledError, OSError, TimeoutError) as error:
        raise _LostError(str(error) or type(error).__name__) from error
    if lost:
        raise _LostError(f"{lost} tasks")
