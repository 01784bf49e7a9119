"""How long computations say where they are."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol, TextIO

_LIVE = 0.2  # seconds between two looks of a line that is written over
_PLAIN = 30.0  # between two lines of a phase where none can be


class Progress(Protocol):
    """Called now and then while something runs."""

    def __call__(self, phase: str, done: int, total: int, note: str = "") -> None:
        """Take the name of a phase, how much of it is done, of how much (0: not known), and what else there is to say."""
        ...


def silent(phase: str, done: int, total: int, note: str = "") -> None:
    """Say nothing."""


class Spoken:
    """Says phase by phase what is done, how long that took and how long the rest will take at this rate.

    On a terminal and in a notebook one line a phase is written over as it goes on; elsewhere, as in a log, a line is
    written when a phase ends, and every half a minute.

    Parameters
    ----------
    stream : text stream, optional
        Where to; stderr unless said otherwise.
    clock : callable
        Seconds.

    Examples
    --------
    >>> import sys
    >>> clock = iter([0.0, 30.0, 120.0]).__next__
    >>> said = Spoken(sys.stdout, clock)
    >>> said("search", 0, 40), said("search", 10, 40), said("search", 40, 40)
    search 10/40, 30 s, about 90 s to go
    search 40/40, 2 min
    (None, None, None)
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.clock = clock
        self.live = self.stream.isatty() or "ipykernel" in sys.modules
        self.phase, self.first, self.done, self.total, self.ended = "", 0, 0, 0, False
        self.begun = self.told = 0.0
        self.open = 0  # letters of a line that is not at its end

    def __call__(self, phase: str, done: int, total: int, note: str = "") -> None:
        """Say where a phase is, unless it was said a moment ago."""
        now = self.clock()
        if phase != self.phase or done < self.done or self.total not in (0, total):
            self._end_line()
            self.phase, self.first, self.begun = phase, done, now
            self.told = now if not self.live else now - _LIVE
            self.ended = False
        self.done, self.total = done, total
        ended, self.ended = 0 < total <= done and not self.ended, 0 < total <= done
        if ended or (not self.ended and now - self.told >= (_LIVE if self.live else _PLAIN)):
            self.told = now
            self._write(self._sentence(now - self.begun, note), ended)

    def _sentence(self, elapsed: float, note: str) -> str:
        what = f"{self.phase} ({note})" if note else self.phase
        if self.total > 1:
            what += f" {self.done:,}/{self.total:,}"
        elif not self.total:
            what += f" {self.done:,}"
        new = self.done - self.first  # what was there already when it began took no time
        left = f", about {duration(elapsed / new * (self.total - self.done))} to go" if new > 0 else ""
        return f"{what}, {duration(elapsed)}{left if self.done < self.total else ''}"

    def _write(self, text: str, ended: bool) -> None:
        if self.live:
            self.stream.write(f"\r{text:<{self.open}}")
            self.open = len(text)
        else:
            self.stream.write(f"{text}\n")
        if ended:
            self._end_line()
        self.stream.flush()

    def _end_line(self) -> None:
        if self.open:
            self.stream.write("\n")
        self.open = 0


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> [duration(value) for value in (0.04, 7.26, 90.0, 600.0, 9000.0)]
    ['0.0 s', '7.3 s', '90 s', '10 min', '2.5 h']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
