"""The bars of a command on stderr: a line a phase, with the time that is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpmnet.cli.stop import check_stop

if TYPE_CHECKING:
    from gpmnet.progress import Progress


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress]:
    """Show phase, share done and time left on stderr while the body runs; nothing if quiet, or where it is no terminal."""
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    words = rich.TextColumn("{task.description}", markup=False)
    columns = (
        words,
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(elapsed_when_finished=True),
    )
    hidden = quiet or not console.is_terminal
    with rich.Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        tasks: dict[str, Any] = {}
        reached: dict[str, int] = {}

        def update(phase: str, done: int, total: int, note: str = "") -> None:
            check_stop()
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase, total=total or None)
            elif done < reached[phase]:  # once more, as of another draw: its time is its own
                bar.reset(tasks[phase])
            reached[phase] = done
            text = f"{phase} ({note})" if note else phase
            bar.update(tasks[phase], completed=done, total=total or None, description=text)

        yield update
