"""Tasks on a Dask cluster: what a lost worker, scheduler or connection took with it is asked for again.

Dask schedules. Here is only what it leaves to its user: data that were scattered, and tasks that hang on them, are gone with
the last worker that held them, and with the scheduler. What has come back has come back: only the rest is sent again.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from gpmnet.errors import ComputationError, InputError, MissingExtraError, one_line, quote
from gpmnet.jobs.given import DESK, Given

Answer = TypeVar("Answer")

CONNECT_SECONDS = 20.0
PATIENCE_SECONDS = 300.0
"""How long a cluster that was there once may be away, from a loss without a single result since, until a run gives up."""
_LOOK_SECONDS = 10.0  # between looks at workers that give no result
_TICK = 0.01
_PAUSE = 0.5  # seconds in which a worker that lacks something does not ask for the next task
_FITS = 4  # that may share a cluster before workers' desks are too small for them


class _LostError(Exception):
    """Some tasks were lost with what held them."""


class Connection:
    """A connection to a Dask cluster, for tasks of one kind after the other; what they are given is sent once for all.

    It is made for the first task, and again where a loss took something with it that is still needed.

    Parameters
    ----------
    address : str
        Of the scheduler, as in ``tcp://10.0.0.1:8786``.
    workers : int, optional
        How many to wait for before the first task is sent.
    """

    def __init__(self, address: str, workers: int | None = None) -> None:
        self.address, self.workers = address, workers
        self._first = True
        self._open = ExitStack()
        self._client: Any = None
        self._there: tuple[Given, Any] | None = None  # what was given last, and what Dask calls it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._forget()
        self._close()

    def check(self) -> None:
        """Raise unless there is such a cluster with workers."""
        self._connected()

    def results(
        self, function: Callable[[Given, Any, int], Answer], given: Given, work: Any, numbers: Sequence[int]
    ) -> Iterator[Answer]:
        """Yield what a function says of some numbers, as the workers answer.

        Parameters
        ----------
        given : Given
            First argument of every call. A worker keeps it until tasks of this connection are given something else.
        work : object
            Second argument; workers have it while these tasks last.
        """
        left = dict.fromkeys(numbers)
        deadline = math.inf
        while left:
            try:
                for number, answer in self._round(function, given, work, list(left)):
                    del left[number]
                    deadline = math.inf
                    yield answer
            except _LostError as lost:
                self._close()
                now = time.monotonic()
                if now > deadline:
                    raise ComputationError(
                        f"the cluster at {quote(self.address)} was lost and did not come back: {one_line(lost)}"
                    ) from lost
                deadline = min(deadline, now + PATIENCE_SECONDS)
                time.sleep(0.5)

    def _round(
        self, function: Callable[[Given, Any, int], Answer], given: Given, work: Any, numbers: list[int]
    ) -> Iterator[tuple[int, Answer]]:
        """Send tasks once, and yield numbers with answers; raise `_LostError` at the end if some were lost."""
        from distributed import CancelledError, KilledWorker, as_completed

        lost, failed = 0, None
        try:
            client = self._connected()
            there = self._give(given)
            data = _scattered(client, work, broadcast=True)

            def submitted(number: int) -> Any:
                return client.submit(_called, function, given.token, data, number, pure=False)

            sent = {submitted(number): number for number in numbers}
            coming = as_completed(list(sent), loop=client.loop, raise_errors=False)
            for future in _done(client, coming):
                number = sent.pop(future)
                if future.status == "error":
                    failed = future.exception()
                    break
                if future.status != "finished":
                    lost += 1
                    continue
                answer = future.result(timeout=CONNECT_SECONDS)
                future.release()  # or the worker would hold every answer to the end
                if isinstance(answer, _Absent):
                    self._put(there, answer.worker)
                    again = submitted(number)
                    sent[again] = number
                    coming.add(again)
                    continue
                yield number, answer
        except (KilledWorker, ImportError) as error:  # of those that were to get what is given
            failed = error
        except (CancelledError, OSError, TimeoutError) as error:
            raise _LostError(str(error) or type(error).__name__) from error
        if isinstance(failed, KilledWorker):
            raise ComputationError(
                f"workers were killed again and again at one task ({one_line(failed)}); they may need more memory"
            )
        if isinstance(failed, ModuleNotFoundError) and (failed.name or "").split(".")[0] == "gpmnet":
            raise ComputationError(
                f"a worker lacks gpmnet ({one_line(failed)}); every machine of the cluster needs the same versions"
            )
        if failed is not None:
            raise failed  # not in there: an OSError of a task is no loss
        if lost:
            raise _LostError(f"{lost} tasks")

    def _connected(self) -> Any:
        if self._client is None:
            self._open.enter_context(_quiet())
            self._client = client = _connected(self.address, self._first, self.workers)
            self._open.callback(client.close, timeout=2)
            self._first = False
        return self._client

    def _close(self) -> None:
        self._client = self._there = None
        self._open.close()

    def _give(self, given: Given) -> Any:
        """Put a thing on the desks of all workers, unless it is there already; return what Dask calls it."""
        if self._there is not None and self._there[0] is given:
            return self._there[1]
        self._forget()
        there = _scattered(self._client, given)
        self._there = given, there
        self._put(there, *self._client.nthreads())
        return there

    def _put(self, there: Any, *workers: str) -> None:
        """Put what tasks are given on the desks of some workers, each of which gets it from another one that has it."""
        from distributed import as_completed

        submit = self._client.submit
        # One that is gone by now must not be waited for; what comes later is what others wait for.
        how: dict[str, Any] = {"pure": False, "allow_other_workers": True, "priority": 1}
        sent = [submit(_put, there, workers=[worker], **how) for worker in workers]
        for done in _done(self._client, as_completed(sent, loop=self._client.loop, raise_errors=False)):
            done.result()

    def _forget(self) -> None:
        if self._there is not None:
            with contextlib.suppress(OSError, TimeoutError):  # workers that are gone have forgotten
                self._client.run(_forget, self._there[0].token, on_error="ignore")
        self._there = None


def _done(client: Any, coming: Any) -> Iterator[Any]:
    """Yield futures as they are done; raise if for long enough no worker goes on, since all are short of memory."""
    looked = waited = time.monotonic()
    while not coming.is_empty():
        if coming.has_ready():
            yield next(coming)
            waited = time.monotonic()
            continue
        time.sleep(_TICK)
        now = time.monotonic()
        if now - looked > _LOOK_SECONDS:
            looked = now
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
            if not workers or any(worker["status"] != "paused" for worker in workers):
                waited = now
        if now - waited > PATIENCE_SECONDS:
            raise ComputationError(
                "every worker of the cluster has paused, since its memory is all but full; they need more memory"
            )


@dataclass(frozen=True)
class _Absent:
    """What a worker says that came later and has nothing on its desk; its address."""

    worker: str


def _called(
    function: Callable[[Given, Any, int], Answer], token: str, work: Any, number: int
) -> Answer | _Absent:
    """Return what a function says of a number, on a worker that has what is given."""
    from distributed import get_worker

    given = DESK.get(token)
    if given is None:
        time.sleep(_PAUSE)
        return _Absent(get_worker().address)
    return function(given, work, number)


def _put(given: Given) -> None:
    DESK.put(given, _FITS)


def _forget(token: str) -> None:
    DESK.forget(token)


def _scattered(client: Any, value: Any, broadcast: bool = False) -> Any:
    try:
        (data,) = client.scatter([value], broadcast=broadcast, hash=False, timeout=CONNECT_SECONDS)
    except Exception as error:
        # An error of a worker comes from the scheduler as words.
        if type(error) is Exception and str(error).startswith("ModuleNotFoundError"):
            raise ModuleNotFoundError(str(error), name="gpmnet") from error
        raise
    return data


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
    from distributed.utils import wait_for

    class Impatient(Client):  # type: ignore[misc]  # Dask has no types
        async def _start(self, *arguments: Any, **named: Any) -> None:
            # Whatever took the connection may be no scheduler: Dask waits for its greeting without end.
            try:
                await wait_for(super()._start(*arguments, **named), 2 * CONNECT_SECONDS)
            except TimeoutError as error:
                raise TimeoutError(str(error) or "what listens there does not answer as one") from error

    client = Impatient(address, timeout=CONNECT_SECONDS, set_as_default=False)
    try:
        client.wait_for_workers(workers, timeout=CONNECT_SECONDS)
    except BaseException:
        client.close(timeout=1)
        raise
    return client
