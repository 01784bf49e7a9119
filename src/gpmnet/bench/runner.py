"""Run what is missing, one process per cell, and write a row for each: numbers or a reason."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import platform
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from gpmnet import __version__
from gpmnet.baselines import run_isolated
from gpmnet.bench.cell import Cell, Limits, measure
from gpmnet.bench.methods import METHODS, NOT_INSTALLED
from gpmnet.bench.rows import FOLDER, read_row, read_rows, write_row
from gpmnet.errors import InputError
from gpmnet.jobs.cluster import Caller

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "torch")  # and those that methods need
TOO_LARGE = ("timeout", "memory over", "MemoryError", "killed by signal 9")  # 9: the system ran out of memory
Series = tuple[str, ...]


class Watcher(Protocol):
    """Is told what happens; called from the threads that run cells."""

    def begin(self, total: int, due: int) -> None:
        """Say how many cells there are, and how many of them will run."""

    def started(self, cell: Cell) -> None:
        """Say that a cell begins."""

    def finished(self, cell: Cell, row: dict[str, Any] | None) -> None:
        """Say that a cell has its row (None: another run on the same folder is at work on it)."""


def run_cells(
    cells: Sequence[Cell],
    directory: Path,
    *,
    limits: Limits | None = None,
    jobs: int = 1,
    retry: bool = False,
    watcher: Watcher | None = None,
    caller: Caller | None = None,
) -> int:
    """Run every pending cell and write its row; return how many there were.

    Parameters
    ----------
    cells : sequence of Cell
    directory : Path
        Where rows are; created where needed. Several runs may share it: a cell runs in one of them.
    limits : Limits, optional
        Seconds and memory of each cell.
    jobs : int
        Cells at a time. More than one makes all of them slower: their seconds are not for publication.
    retry : bool
        Run cells again that failed or were skipped.
    watcher : Watcher, optional
        Is told about every cell.
    caller : Caller, optional
        Runs the cells on a cluster, `jobs` at a time; rows are written here.

    Notes
    -----
    Cells that have a row are not run again, but for those whose method was not installed and now is. Small d
    come first. Once a method ran out of time or memory at some d, larger d of the same simulator, kind, options
    and n are skipped with that as the reason, unless it was under smaller limits than these.
    """
    if jobs < 1:
        raise InputError(f"--jobs must be at least 1, got {jobs}")
    rows = read_rows(directory)
    due = [cell for cell in cells if _is_due(cell, rows.get(cell.key), retry)]
    due.sort(key=lambda cell: (cell.task.d, cell.task.n, cell.task.seed))
    again = {cell.key for cell in due}
    run = _Run(directory, limits or Limits(), jobs, retry, watcher, caller)
    for key, row in rows.items():
        if key not in again:
            run.remember(row)
    if watcher is not None:
        watcher.begin(len(cells), len(due))
    run.all(due)
    return len(due)


def _is_due(cell: Cell, row: dict[str, Any] | None, retry: bool) -> bool:
    if row is None:
        return True
    if row["status"] == "ok":
        return False
    return retry or (row["reason"].startswith(NOT_INSTALLED) and not cell.method.missing())


@dataclass
class _Run:
    """The state of one run: which series of growing d have met their limit, and the queue."""

    directory: Path
    limits: Limits
    jobs: int
    retry: bool
    watcher: Watcher | None
    caller: Caller | None
    limit_met: dict[Series, tuple[int, str]] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    errors: list[BaseException] = field(default_factory=list)

    def all(self, due: list[Cell]) -> None:
        """Run the cells in threads that only wait for processes, so that Ctrl-C reaches the main one."""
        queue = iter(due)
        workers = [threading.Thread(target=self._work, args=(queue,), daemon=True) for _ in range(self.jobs)]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                while worker.is_alive():
                    worker.join(0.2)
        except KeyboardInterrupt:
            self.stop.set()
            for process in multiprocessing.active_children():
                process.kill()
            for worker in workers:
                worker.join()
            raise
        if self.errors:
            raise self.errors[0]

    def _work(self, queue: Iterator[Cell]) -> None:
        try:
            while not self.stop.is_set():
                with self.lock:
                    cell = next(queue, None)
                if cell is None:
                    return
                self._one(cell)
        except BaseException as error:
            self.errors.append(error)
            self.stop.set()

    def _one(self, cell: Cell) -> None:
        with _claimed(self.directory, cell.key) as mine:
            row: dict[str, Any] | None = None
            if mine and _is_due(cell, read_row(self.directory, cell.key), self.retry):
                if self.watcher is not None:
                    self.watcher.started(cell)
                row = self._row(cell)
                if self.stop.is_set():  # its process was ended by us: that is not a result
                    return
                write_row(self.directory, row)
                self.remember(row)
        if self.watcher is not None:
            self.watcher.finished(cell, row)

    def _row(self, cell: Cell) -> dict[str, Any]:
        common = _common(cell, self.limits, self.jobs)
        reason = cell.method.missing() or self._too_large(common)
        if reason:
            return common | {"status": "skipped", "reason": reason}
        memory = int(self.limits.max_memory_gb * 1e9)
        asked = measure, (cell.task, cell.method, cell.options), self.limits.max_seconds, memory
        outcome = run_isolated(*asked) if self.caller is None else self.caller(run_isolated, *asked)
        common["peak_memory_mb"] = outcome.peak_memory / 1e6
        if outcome.value is None:
            return common | {"status": "failed", "reason": outcome.reason, "seconds": outcome.seconds}
        return common | outcome.value

    def remember(self, row: dict[str, Any]) -> None:
        """Note where a series met a limit that is at least today's."""
        series = _series(row)
        if not series or row["status"] != "failed" or not row["reason"].startswith(TOO_LARGE):
            return
        limits = self.limits
        if row["max_seconds"] < limits.max_seconds or row["max_memory_gb"] < limits.max_memory_gb:
            return
        with self.lock:
            known = self.limit_met.get(series)
            if known is None or row["d"] < known[0]:
                self.limit_met[series] = (row["d"], row["reason"])

    def _too_large(self, row: dict[str, Any]) -> str:
        with self.lock:
            smaller, reason = self.limit_met.get(_series(row), (row["d"], ""))
        return f"{reason} at d={smaller}" if smaller < row["d"] else ""


def _series(row: dict[str, Any]) -> Series:
    """Return what cells of growing d have in common; empty for tables, which do not grow."""
    parts = ("simulator", "kind", "n", "options", "method", "method_options")
    return tuple(str(row[part]) for part in parts) if row["simulator"] else ()


def _common(cell: Cell, limits: Limits, jobs: int) -> dict[str, Any]:
    task = cell.task
    return {
        "key": cell.key,
        "suite": cell.suite,
        "task": task.name,
        "simulator": task.simulator,
        "kind": task.kind,
        "d": task.d,
        "n": task.n,
        "seed": task.seed,
        "options": json.dumps(task.options, sort_keys=True),
        "method": cell.method.name,
        "method_options": json.dumps(cell.options, sort_keys=True),
        "fdr": cell.options.get("fdr"),
        "versions": versions(),
        "python": platform.python_version(),
        "cpu_count": os.cpu_count(),
        "jobs": jobs,
        "max_seconds": limits.max_seconds,
        "max_memory_gb": limits.max_memory_gb,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def versions() -> str:
    """Return the versions of this package and of those that do the work, as JSON."""
    found = {"gpmnet": __version__}
    needed = sorted({method.package for method in METHODS.values()} - {"", *PACKAGES}, key=str.lower)
    for package in (*PACKAGES, *needed):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return json.dumps(found)


@contextlib.contextmanager
def _claimed(directory: Path, key: str) -> Iterator[bool]:
    """Hold a cell while it runs; False where another run holds it. The system frees it if this one dies."""
    if sys.platform == "win32":
        yield True
        return
    import fcntl

    folder = directory / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.claim"
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)
