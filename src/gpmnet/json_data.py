"""Plain data that came from a file: each piece is checked for its type before it is used, and named if it is wrong."""

from __future__ import annotations

import sys
from typing import Any

from gpmnet.errors import InputError, quote


def as_table(value: Any, what: str) -> dict[str, Any]:
    """Return a JSON object, or raise saying what should have been one.

    >>> as_table({"a": 1}, "the facts")
    {'a': 1}
    """
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{what}: a table of facts is expected, not {quote(value)}")
    return value


def as_list(value: Any, what: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise InputError(f"{what}: a list is expected, not {quote(value)}")
    return value


def as_text(value: Any, what: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise InputError(f"{what}: a text is expected, not {quote(value)}")
    return value


def as_texts(value: Any, what: str) -> tuple[str, ...]:
    """Return a list of texts as a tuple."""
    return tuple(as_text(item, what) for item in as_list(value, what))


def as_number(value: Any, what: str) -> float:
    """Return a finite number.

    >>> as_number(3, "the range")
    3.0
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:  # also for whole numbers that no float can hold
        raise InputError(f"{what}: a number is expected, not {quote(value)}")
    return float(value)


def as_count(value: Any, what: str) -> int:
    """Return a whole number from 0 on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InputError(f"{what}: a whole number from 0 on is expected, not {quote(value)}")
    return value


def as_flag(value: Any, what: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise InputError(f"{what}: true or false is expected, not {quote(value)}")
    return value
