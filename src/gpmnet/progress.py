"""How long computations say where they are."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called now and then while something runs."""

    def __call__(self, phase: str, done: int, total: int, note: str = "") -> None:
        """Take the name of a phase, how much of it is done, of how much, and what else there is to say."""
        ...


def silent(phase: str, done: int, total: int, note: str = "") -> None:
    """Say nothing."""
