"""What tasks are given: it travels once, and what a process makes of it stays there for the tasks that follow."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any


class Given:
    """Something that tasks are given, such as a table, and beside it what they made of it, such as functions of all columns.

    Only the thing itself travels, and the token by which it is known. What is made of it is large: there is one at a time,
    and it goes when the thing does.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> numbers = Given([1, 2])
    >>> numbers.made("total", sum), numbers.made("total", max)
    (3, 3)
    """

    def __init__(self, value: Any) -> None:
        self._arrived(value, secrets.token_hex(8))

    def _arrived(self, value: Any, token: str) -> None:
        self.value, self.token = value, token
        self._name, self._made = "", None
        self._making = threading.Lock()

    def __getstate__(self) -> tuple[Any, str]:
        return self.value, self.token

    def __setstate__(self, state: tuple[Any, str]) -> None:
        self._arrived(*state)

    def made(self, name: str, make: Callable[..., Any], *how: Any) -> Any:
        """Return ``make(value, *how)``, made the first time; `name` tells it from whatever else is made of the value."""
        with self._making:  # a worker may have several threads
            if self._name != name:
                self._name, self._made = "", None  # not two at a time
                self._made = make(self.value, *how)
                self._name = name
            return self._made


class Desk:
    """What a process was given, from one task to the next, with what was made of it.

    joblib brings it anew with every task, and Dask drops all copies of it but one while no task hangs on it: neither has a
    place in which a process could keep it. A process has one desk, `DESK`. What lies there stays until `forget`, until so
    much else was put there, or until the process ends: as joblib's do when they have had nothing to do for some minutes.
    """

    def __init__(self) -> None:
        self._held: dict[str, Given] = {}  # the last one that was asked for at the end
        self._lock = threading.Lock()  # a worker may have several threads

    def put(self, given: Given, most: int = 1) -> Given:
        """Return what is given as it first came, and hold at most so many."""
        with self._lock:
            first = self._held.pop(given.token, given)
            self._held[given.token] = first
            while len(self._held) > most:
                del self._held[next(iter(self._held))]
            return first

    def get(self, token: str) -> Given | None:
        """Return what has a token; None if it is not there."""
        with self._lock:
            found = self._held.pop(token, None)
            if found is not None:
                self._held[token] = found
            return found

    def forget(self, token: str) -> None:
        """Give the memory of what has a token back."""
        with self._lock:
            self._held.pop(token, None)


DESK = Desk()
