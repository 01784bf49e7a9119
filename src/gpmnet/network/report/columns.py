"""What a network says about the columns behind it; it may come from a file, so nothing about it is trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpmnet.network.text import short
from gpmnet.table.parse import date_text

_MOST_DAYS = 700_000.0
"""Days before or after 1970 that are shown as a date; what is beyond its calendar is shown as a number."""


@dataclass(frozen=True)
class ColumnFacts:
    """One column of the schema, as far as the report shows it; see `gpmnet.table.Column`."""

    kind: str
    why: str
    n_missing: int
    levels: tuple[str, ...]
    low: float | None
    high: float | None
    dates: bool
    duplicate_of: str | None
    notes: tuple[str, ...]

    @property
    def extent(self) -> str:
        """The levels of a coded column, the range of a scored one."""
        if self.levels:
            listed = ", ".join(short(level, 30) for level in self.levels[:6])
            return f"{len(self.levels)} levels: {listed}{', …' if len(self.levels) > 6 else ''}"
        if self.low is None or self.high is None:
            return ""
        if self.dates and max(abs(self.low), abs(self.high)) < _MOST_DAYS:
            return f"{date_text(self.low)} to {date_text(self.high)}"
        return f"{self.low:.6g} to {self.high:.6g}"

    @property
    def all_notes(self) -> str:
        """The notes in one line, that of a duplicate first."""
        twin = [] if self.duplicate_of is None else [twin_note(self.duplicate_of)]
        return "; ".join([*twin, *self.notes])


def twin_note(name: str) -> str:
    """Say which column stands for a duplicate."""
    return f"says the same as {short(name)}, which stands for it"


def column_facts(about: Mapping[str, Any]) -> dict[str, ColumnFacts]:
    """Return the facts of each column by its name; what is not of the right type is left out.

    >>> about = {"schema": {"columns": [{"name": "age", "kind": "continuous", "low": 1, "high": 90, "n_missing": "?"}]}}
    >>> facts = column_facts(about)["age"]
    >>> facts.extent, facts.n_missing
    ('1 to 90', 0)
    """
    schema = about.get("schema")
    listed = schema.get("columns") if isinstance(schema, dict) else None
    return {
        column["name"]: ColumnFacts(
            kind=_text(column.get("kind")),
            why=_text(column.get("why")),
            n_missing=int(_number(column.get("n_missing")) or 0),
            levels=texts(column.get("levels")),
            low=_number(column.get("low")),
            high=_number(column.get("high")),
            dates=column.get("dates") is True,
            duplicate_of=_text(column.get("duplicate_of")) or None,
            notes=texts(column.get("notes")),
        )
        for column in (listed if isinstance(listed, list) else [])
        if isinstance(column, dict) and isinstance(column.get("name"), str)
    }


def texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list; nothing if it is none."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None
