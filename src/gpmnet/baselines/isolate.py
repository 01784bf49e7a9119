"""Run a function in its own process, with a limit on its time and on its memory.

A fit that hangs, eats the memory or crashes its interpreter ends as a reason, not as the end of a benchmark.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

import psutil

T = TypeVar("T")

POLL_SECONDS = 0.05
STARTUP_SECONDS = 120.0
GRACE_SECONDS = 2.0


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What became of a function: its value, or the reason why there is none.

    Attributes
    ----------
    value : object or None
        What the function returned; None where it failed.
    reason : str or None
        None where it returned, otherwise one line such as "timeout after 200 s", "memory over 4.0 GB",
        "ValueError: ..." or "killed by signal 9".
    seconds : float
        Wall-clock time of the function itself; without starting the process and importing its module.
    peak_memory : int
        Largest resident memory of the process and its children, in bytes.
    """

    value: T | None
    reason: str | None
    seconds: float
    peak_memory: int


def run_isolated(
    function: Callable[..., T],
    args: tuple[Any, ...] = (),
    max_seconds: float | None = None,
    max_memory_bytes: int | None = None,
) -> Outcome[T]:
    """Call a function in a new process and wait for it, no longer and with no more memory than allowed.

    Parameters
    ----------
    function : callable
        A name of an importable module; arguments and value must be picklable.
    args : tuple
    max_seconds : float, optional
        Wall-clock limit of the call; the process and all its descendants are ended when it has passed.
    max_memory_bytes : int, optional
        Limit of the resident memory of the process and its descendants together, sampled every 0.05 s (an
        address-space limit would also count the memory that torch reserves and never touches).

    Returns
    -------
    Outcome
        Whatever happens: errors of the function, and a process that dies, are reasons.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, function, args))
    process.start()
    sender.close()
    watch = _Watch(process, receiver, max_seconds, max_memory_bytes)
    try:
        return watch.until_done()
    finally:
        _end(process)
        receiver.close()


class _Watch:
    """The parent's side: listen to the process, and look at the clock and at its memory."""

    def __init__(
        self, process: BaseProcess, receiver: Connection, max_seconds: float | None, max_memory: int | None
    ) -> None:
        self.process = process
        self.receiver = receiver
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.began = time.perf_counter()
        self.started = False
        self.peak = 0

    def until_done(self) -> Outcome[Any]:
        while True:
            wait([self.receiver, self.process.sentinel], timeout=POLL_SECONDS)
            self.peak = max(self.peak, _tree_memory(self.process.pid))
            message = self._message()
            if message is not None and message[0] == "started":
                self.started, self.began = True, time.perf_counter()
            elif message is not None:
                _, value, reason, seconds, own_peak = message
                return Outcome(value, reason, seconds, max(self.peak, own_peak))
            elif not self.process.is_alive() and not self._poll():
                return self._failed(_death(self.process))
            reason = self._over_limit()
            if reason is not None:
                return self._failed(reason)

    def _failed(self, reason: str) -> Outcome[Any]:
        seconds = time.perf_counter() - self.began if self.started else 0.0
        return Outcome(None, reason, seconds, self.peak)

    def _poll(self) -> bool:
        try:
            return self.receiver.poll()
        except OSError:
            return False

    def _message(self) -> tuple[Any, ...] | None:
        try:
            return tuple(self.receiver.recv()) if self._poll() else None
        except (EOFError, OSError):
            # The process died with its pipe open or half a message sent: give the system time to say how.
            self.process.join(GRACE_SECONDS)
            return ("failed", None, _death(self.process), time.perf_counter() - self.began, self.peak)

    def _over_limit(self) -> str | None:
        if self.max_memory is not None and self.peak > self.max_memory:
            return f"memory over {self.max_memory / 1e9:.1f} GB"
        elapsed = time.perf_counter() - self.began
        if not self.started and elapsed > STARTUP_SECONDS:
            return f"the process did not start in {STARTUP_SECONDS:.0f} s"
        if self.started and self.max_seconds is not None and elapsed > self.max_seconds:
            return f"timeout after {self.max_seconds:g} s"
        return None


def _child(sender: Connection, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Call the function and send what became of it: (kind, value, reason, seconds, peak memory)."""
    if hasattr(os, "setsid"):
        os.setsid()  # own process group: whatever it starts can be ended with it
    threading.Thread(target=_die_with_parent, daemon=True).start()
    sender.send(("started",))
    began = time.perf_counter()
    value: Any = None
    reason: str | None = None
    try:
        value = function(*args)
    except BaseException as error:
        reason = _describe(error)
    seconds = time.perf_counter() - began
    try:
        sender.send(("done", value, reason, seconds, _own_peak()))
    except Exception as error:
        sender.send(
            ("done", None, f"the value cannot be sent back: {_describe(error)}", seconds, _own_peak())
        )


def _describe(error: BaseException) -> str:
    """Return "Type: message" on one line of reasonable length."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def _die_with_parent() -> None:
    """End the process group when the parent is gone, however it went (it may have been killed)."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    wait([parent.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(os.getpgid(0), signal.SIGKILL)
    os._exit(1)


def _own_peak() -> int:
    """Return the peak resident memory of this process where the system tells (Linux), else 0.

    Not `getrusage`: after a spawn its maximum includes the memory of the parent.
    """
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def _descendants(pid: int | None) -> list[psutil.Process]:
    """Return the processes that a process has started, and theirs, as far as they are still there."""
    with contextlib.suppress(psutil.Error):
        if pid is not None:
            return psutil.Process(pid).children(recursive=True)
    return []


def _tree_memory(pid: int | None) -> int:
    """Return the resident memory of a process and its descendants, in bytes."""
    total = 0
    with contextlib.suppress(psutil.Error):
        if pid is not None:
            total = psutil.Process(pid).memory_info().rss
    for process in _descendants(pid):
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def _death(process: BaseProcess) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        return f"killed by signal {-code}"
    return f"the process ended without an answer (exit code {code})"


def _end(process: BaseProcess) -> None:
    """End a process and its descendants: ask first, then kill; nothing survives this."""
    descendants = _descendants(process.pid)
    process.join(POLL_SECONDS)
    process.terminate()
    for member in descendants:
        with contextlib.suppress(psutil.Error):
            member.terminate()
    # The process itself is joined, not left to psutil, which would take its exit code away.
    process.join(GRACE_SECONDS)
    process.kill()
    for member in psutil.wait_procs(descendants, timeout=GRACE_SECONDS)[1]:
        with contextlib.suppress(psutil.Error):
            member.kill()
    if process.pid is not None and hasattr(os, "killpg"):
        # Descendants whose own parent has ended are no longer in the tree but still in the group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.join()
    if (
        process.exitcode is not None
    ):  # else something else reaped it, and closing would say that it still runs
        process.close()
