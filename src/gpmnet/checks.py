"""Options that are wrong are refused where they are made, by the name of their field."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from gpmnet.errors import InputError, quote, with_article


def word_of(owner: object) -> str:
    """Return what users call a part: the word that chooses it where it has one, else its class."""
    word = getattr(type(owner), "name", None)
    return word if isinstance(word, str) else type(owner).__name__


def check_number(
    owner: object,
    field: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    integer: bool = False,
    open_low: bool = False,
    open_high: bool = False,
) -> None:
    """Raise unless a field of an options object is a number in [low, high], without the ends that are open."""
    value = getattr(owner, field)
    is_number = type(value) is not bool and isinstance(value, Integral if integer else Real)
    number = float(value) if is_number else math.nan
    if (low < number if open_low else low <= number) and (number < high if open_high else number <= high):
        return
    what = "a whole number" if integer else "a number"
    if math.isfinite(high):
        bounds = f" in {'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    elif math.isfinite(low):
        bounds = f" above {low:g}" if open_low else f" of at least {low:g}"
    else:
        bounds = ""
    raise InputError(f"{word_of(owner)}: {field} must be {what}{bounds}; got {quote(value)}")


def check_choice(owner: object, field: str, choices: tuple[str, ...]) -> None:
    """Raise unless a field of an options object is one of some words."""
    value = getattr(owner, field)
    if value not in choices:
        raise InputError(f"{word_of(owner)}: {field} must be one of {', '.join(choices)}; got {quote(value)}")


def check_type(owner: object, field: str, kind: type) -> None:
    """Raise unless a field of an options object is of a type."""
    value = getattr(owner, field)
    if not isinstance(value, kind):
        wanted, got = (with_article(name) for name in (kind.__name__, type(value).__name__))
        raise InputError(f"{word_of(owner)}: {field} must be {wanted}; got {got}")


def check_ridges(owner: object, field: str) -> None:
    """Raise unless a field of an options object is a tuple of one positive number or more."""
    value = getattr(owner, field)
    good = isinstance(value, tuple) and len(value) > 0
    if not good or not all(isinstance(v, Real) and 0 < float(v) < math.inf for v in value):
        raise InputError(f"{word_of(owner)}: {field} must be a tuple of positive numbers; got {quote(value)}")


def as_path(value: Any, what: str) -> Path:
    """Return what must be a path: a text, or an object that stands for one.

    >>> as_path("results", "the folder").name
    'results'
    """
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{what} must be a path; got {quote(value)} ({type(value).__name__})")
    return Path(value)
