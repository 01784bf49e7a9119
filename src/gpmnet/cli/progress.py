"""Progress of a benchmark on stderr: a bar on a terminal, a line per cell elsewhere."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as TimeLeftColumn

if TYPE_CHECKING:
    from gpmnet.bench import Cell


class CellProgress:
    """Watches `gpmnet.bench.run_cells`; see `gpmnet.bench.runner.Watcher`."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)
        self.lock = threading.Lock()
        self.running: list[str] = []
        self.done = self.total = 0
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeLeftColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def begin(self, total: int, due: int) -> None:
        """Show the bar; cells that have a row already count as done."""
        self.done, self.total = total - due, total
        self.task = self.bar.add_task("starting", total=total, completed=total - due)

    def started(self, cell: Cell) -> None:
        """Show what is running."""
        with self.lock:
            self.running.append(_label(cell))
            self.bar.update(self.task, description=" | ".join(self.running))

    def finished(self, cell: Cell, row: dict[str, Any] | None) -> None:
        """Count a cell, and say what came of it where there is no bar."""
        with self.lock:
            self.done += 1
            if _label(cell) in self.running:
                self.running.remove(_label(cell))
            self.bar.update(self.task, advance=1, description=" | ".join(self.running) or "done")
            if not self.console.is_terminal:
                line = f"[{self.done}/{self.total}] {_label(cell)}: {_what(row)}"
                print(line, file=self.console.file, flush=True)


def _label(cell: Cell) -> str:
    task = cell.task
    return f"{task.name} d={task.d} n={task.n} seed={task.seed} {cell.method.name}"


def _what(row: dict[str, Any] | None) -> str:
    if row is None:
        return "left to another run on this folder"
    if row["status"] != "ok":
        return f"{row['status']}: {row['reason']}"
    if row.get("p_values") is not None:
        p_values = row["p_values"]
        return f"{sum(p <= 0.05 for p in p_values)} of {len(p_values)} p-values up to 0.05, {row['seconds']:.2f} s each"
    return (
        f"Hamming {row['hamming']} (empty {row['empty_hamming']}), F1 {row['f1']:.2f}, {row['seconds']:.2f} s"
    )
