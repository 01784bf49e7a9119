"""Ctrl-C: one line that says what was kept, and exit code 130."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

EXIT_CODE = 130
"""What a shell reports of a program that Ctrl-C ended."""


@dataclass
class _State:
    """Whether Ctrl-C was pressed, and what there is on the disk if it is."""

    requested: bool = False
    kept: str = ""


_state = _State()


@contextmanager
def stoppable() -> Iterator[None]:
    """Run the program; where Ctrl-C stops it, say so in one line and exit. A second Ctrl-C waits for nothing."""
    _state.requested, _state.kept = False, ""
    # Where the shell has it ignored (a job in the background), it stays so; other threads have no say.
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    except BaseException:  # an import that is interrupted may turn it into an error of its own
        if not _state.requested:
            raise
        _say()
        raise SystemExit(EXIT_CODE) from None
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def keeps(what: str) -> None:
    """Note what there will be on the disk if Ctrl-C is pressed from now on."""
    _state.kept = what


def keeps_also(what: str) -> None:
    """Note what there is besides."""
    _state.kept = f"{_state.kept}; {what}" if _state.kept else what


def check_stop() -> None:
    """Raise if Ctrl-C was pressed: a callback of another library may have swallowed what it raised."""
    if _state.requested:
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _state.requested:
        _say()
        os._exit(EXIT_CODE)
    _state.requested = True
    raise KeyboardInterrupt


def _say() -> None:
    text = f"gpmnet: stopped; {_state.kept}" if _state.kept else "gpmnet: stopped"
    print(text, file=sys.stderr, flush=True)
