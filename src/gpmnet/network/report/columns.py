"""What a reader is told of a column, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpmnet.network.text import short, without_power
from gpmnet.table.parse import date_text

if TYPE_CHECKING:
    from gpmnet.table import Column

_MOST_DAYS = 700_000.0
"""Days before or after 1970 that are shown as a date; what is beyond its calendar is shown as a number."""


def value_range(column: Column) -> str:
    """Return the least and the largest value of a column of numbers; nothing for categories.

    >>> from gpmnet.table import Column
    >>> value_range(Column("age", "continuous", "", low=1.0, high=90.0))
    '1 to 90'
    >>> value_range(Column("sales", "continuous", "", low=0.5, high=2_767_890_000.0))
    '0.5 to 2,767,890,000'
    """
    if column.low is None or column.high is None:
        return ""
    if column.dates and max(abs(column.low), abs(column.high)) < _MOST_DAYS:
        return f"{date_text(column.low)} to {date_text(column.high)}"
    return " to ".join(without_power(f"{value:.6g}", 15) for value in (column.low, column.high))


def extent(column: Column) -> str:
    """Return the levels of a column of categories, the range of one of numbers."""
    if not column.levels:
        return value_range(column)
    listed = ", ".join(short(level, 30) for level in column.levels[:6])
    return f"{len(column.levels)} levels: {listed}{', …' if len(column.levels) > 6 else ''}"


def twin_note(name: str, most: int = 60) -> str:
    """Say which column stands for a duplicate."""
    return f"says the same as {short(name, most)}, which stands for it"


def column_notes(column: Column, most: int = 60) -> str:
    """Return the notes on a column in one line, that of a duplicate first."""
    twin = [] if column.duplicate_of is None else [twin_note(column.duplicate_of, most)]
    return "; ".join([*twin, *column.notes])
