"""Text to values: which spellings are numbers, booleans, dates, or missing.

A column of text is read as numbers when all its values are, after an agreed set of spellings for "missing"
is set aside. Those spellings are ambiguous ("None" is a perfectly good category), hence two rules:

* an empty cell is always missing;
* a spelling such as `NA` is missing in a column of numbers or dates, and in a column of text only if it is
  already known to be the file's mark for a missing value because a column of numbers or dates uses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

MISSING_SPELLINGS = frozenset(
    {"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "null", "NULL", "Null", "None", "none", "NONE"}
    | {"?", "-", ".", "missing", "Missing", "unknown", "Unknown", "#NULL!", "#VALUE!", "#DIV/0!", "NaT"}
)

_PLAIN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+),[0-9]+")
_LEADING_ZERO = re.compile(r"0[0-9]+")
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_BOOLEANS = ({"no", "yes"}, {"false", "true"}, {"n", "y"}, {"f", "t"}, {"off", "on"})
_FALSE = {"no", "false", "n", "f", "off"}
_CURRENCY = "$€£¥"
_MINUS = "\N{MINUS SIGN}"
_SIGNS = "+-" + _MINUS

# Tried in this order; a column must fit one format throughout.
_DATE_FORMATS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y",
    "%b %d %Y", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%m/%d/%y", "%Y-%m", "%b %Y",
)  # fmt: skip
_LOOKS_LIKE_DATE = re.compile(r"(?=.*[0-9])[0-9A-Za-z]{1,9}[-/. ,]+[0-9A-Za-z]{1,4}.*")
_EPOCH = datetime(1970, 1, 1)

Reading = Literal["number", "boolean", "date", "text"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the distinct spellings of a column are.

    `values[i]` is the number, the truth value (0 or 1) or the days since 1970 of spelling i, None where it
    is missing; for text it is empty and `missing` says which spellings are.
    """

    reading: Reading
    missing: tuple[bool, ...]
    values: tuple[float | None, ...] = ()
    notes: tuple[str, ...] = ()


def parse_spellings(
    spellings: Sequence[str], marks: frozenset[str] = frozenset(), given: frozenset[str] = frozenset()
) -> Parsed:
    """Decide what a column is from its distinct spellings (stripped of surrounding space).

    Parameters
    ----------
    spellings : sequence of str
        The distinct values as text.
    marks : frozenset of str
        Spellings known to mean "missing" in this file; they count in columns of text and booleans too.
    given : frozenset of str
        Spellings that the user declared missing; they count everywhere.

    Examples
    --------
    >>> parse_spellings(["1,200", "35", "NA"]).values
    (1200.0, 35.0, None)
    >>> parse_spellings(["None", "Some"]).missing
    (False, False)
    """
    likely = tuple(s == "" or s in given or s in MISSING_SPELLINGS for s in spellings)
    present = [s for s, gone in zip(spellings, likely, strict=True) if not gone]
    if present:
        for reading, parser in _PARSERS:
            found = parser(present)
            if found is not None:
                numbers, notes = found
                supply = iter(numbers)
                values = tuple(None if gone else next(supply) for gone in likely)
                return Parsed(reading, likely, values, notes)
    missing = tuple(s == "" or s in given or s in marks for s in spellings)
    present = [s for s, gone in zip(spellings, missing, strict=True) if not gone]
    truth = _booleans(present)
    if truth is not None:
        supply = iter(truth)
        return Parsed("boolean", missing, tuple(None if gone else next(supply) for gone in missing))
    return Parsed("text", missing, notes=_text_notes(present))


def date_number(value: datetime) -> float:
    """Return days since 1970-01-01 (a date with a time zone is taken at its UTC moment)."""
    if value.tzinfo is not None:
        value = (value - value.utcoffset()).replace(tzinfo=None)  # type: ignore[operator]
    return (value - _EPOCH).total_seconds() / 86_400.0


def _numbers(present: list[str]) -> tuple[list[float], tuple[str, ...]] | None:
    cleaned, notes = present, []
    if all(s.endswith("%") for s in present):
        cleaned = [s[:-1].rstrip() for s in present]
        notes.append("percent signs removed")
    elif any(s.lstrip(_SIGNS)[:1] in _CURRENCY for s in present if s.lstrip(_SIGNS)):
        cleaned = [re.sub(f"[{_CURRENCY}]\\s*", "", s, count=1) for s in present]
        notes.append("currency signs removed")
    cleaned = [s.replace(_MINUS, "-") for s in cleaned]
    if any(_LEADING_ZERO.fullmatch(s) for s in cleaned):
        return None  # 00501 is a code, not the number 501
    if all(_PLAIN.fullmatch(s) or _INFINITE.fullmatch(s) for s in cleaned):
        return [float(s) for s in cleaned], tuple(notes)
    if all(_THOUSANDS.fullmatch(s) or _PLAIN.fullmatch(s) for s in cleaned):
        return [float(s.replace(",", "")) for s in cleaned], (*notes, "thousands separators removed")
    if all(_DECIMAL_COMMA.fullmatch(s) or _PLAIN.fullmatch(s) for s in cleaned):
        numbers = [float(s.replace(".", "").replace(",", ".") if "," in s else s) for s in cleaned]
        return numbers, (*notes, "decimal commas")
    return None


def _dates(present: list[str]) -> tuple[list[float], tuple[str, ...]] | None:
    if not all(_LOOKS_LIKE_DATE.fullmatch(s) for s in present):
        return None
    for pattern in _DATE_FORMATS:
        try:
            moments = [datetime.strptime(s, pattern) for s in present]
        except ValueError:
            continue
        return [date_number(moment) for moment in moments], (f"dates read as {pattern}",)
    return None


def _booleans(present: list[str]) -> list[float] | None:
    lowered = [s.lower() for s in present]
    if not lowered or not any(set(lowered) <= pair for pair in _BOOLEANS):
        return None
    return [0.0 if s in _FALSE else 1.0 for s in lowered]


def _text_notes(present: list[str]) -> tuple[str, ...]:
    notes = []
    kept = sorted(s for s in present if s in MISSING_SPELLINGS)
    if kept:
        listed = ", ".join(repr(s) for s in kept)
        notes.append(f"{listed} kept as a category (declare it missing with na={','.join(kept)})")
    numeric = [bool(_PLAIN.fullmatch(s)) for s in present]
    if len(present) >= 10 and sum(numeric) >= 0.8 * len(present):
        odd = present[numeric.index(False)] if not all(numeric) else None
        if odd is not None:
            notes.append(f"nearly all values are numbers; {odd!r:.40} is not")
    return tuple(notes)


_PARSERS: tuple[tuple[Reading, Callable[[list[str]], tuple[list[float], tuple[str, ...]] | None]], ...] = (
    ("number", _numbers),
    ("date", _dates),
)
