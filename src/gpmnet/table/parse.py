"""Text to values: which spellings are numbers, booleans, dates, or missing.

A column of text is read as numbers when all its values are, after an agreed set of spellings for "missing"
is set aside. Those spellings are ambiguous ("None" is a perfectly good category), hence two rules:

* an empty cell is always missing;
* a spelling such as `NA` is missing in a column of numbers or dates, and in a column of text only if it is
  already known to be the file's mark for a missing value because a column of numbers or dates uses it
  (a dash or a dot never is).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import quote

MISSING_SPELLINGS = frozenset(
    {"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "null", "NULL", "Null", "None", "none", "NONE"}
    | {"?", "-", ".", "missing", "Missing", "unknown", "Unknown", "#NULL!", "#VALUE!", "#DIV/0!", "NaT"}
)
# A dash or a dot for a gap among numbers says nothing about text, where it may be an answer ("+" and "-").
FILE_MARKS = MISSING_SPELLINGS - {"-", "."}

# Every pattern here can match a text in one way only: else the time to refuse one would grow with its length squared.
_PLAIN = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_INFINITE = r"[+-]?(?i:inf(?:inity)?)"
_GROUPED_BY_COMMA = r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?"
_NUMBER = re.compile(_PLAIN)
_WITH_POINT = re.compile(f"{_PLAIN}|{_INFINITE}|{_GROUPED_BY_COMMA}")
_WITH_COMMA = re.compile(
    rf"[+-]?(?:[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+|[0-9]+)(?:,[0-9]+)?(?:[eE][+-]?[0-9]+)?|{_INFINITE}"
)
_GAP = "[ '\N{RIGHT SINGLE QUOTATION MARK}\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]"
_GROUPED_BY_GAP = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(?:{_GAP}[0-9]{{3}})+(?![0-9])")
_LEADING_ZERO = re.compile(r"0[0-9]+")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_BOOLEANS = ({"no", "yes"}, {"false", "true"}, {"n", "y"}, {"f", "t"}, {"off", "on"})
_FALSE = {"no", "false", "n", "f", "off"}
_CURRENCY = re.compile(r"^([+-]?)[$€£¥]\s*|(?<!\s)\s*[$€£¥]$")
_MINUS = "\N{MINUS SIGN}"

# Beside ISO 8601; tried in this order, and a column must fit one format throughout.
_DAYS = (
    "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%m/%d/%y", "%d/%m/%y",
    "%b %d %Y", "%b %d, %Y", "%B %d %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_DATE_FORMATS = (*(day + time for day in _DAYS for time in _TIMES), "%Y-%m", "%b %Y", "%B %Y")
_EITHER_WAY = (("%m/%d", "%d/%m"), ("%d-%m", "%m-%d"))
_LOOKS_LIKE_DATE = re.compile(r"(?=.*[0-9])[0-9A-Za-z]{1,9}[-/. ,]+[0-9A-Za-z]{1,4}.*")
_EPOCH = datetime(1970, 1, 1)

FEW_NUMBERS = 20
"""Up to so many distinct ones numbers may be labels."""

EXACT = 2**53
"""Up to here every whole number is a float of its own; larger ones may be codes that only look like numbers."""

Reading = Literal["number", "boolean", "date", "text"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the distinct spellings of a column are.

    `values[i]` is the number, the truth value (0 or 1) or the days since 1970 of spelling i, None where it
    is missing; for text it is empty and `missing` says which spellings are. `decimal` is the decimal mark
    that the numbers show ("" if they can be read either way).
    """

    reading: Reading
    missing: tuple[bool, ...]
    values: tuple[float | None, ...] = ()
    notes: tuple[str, ...] = ()
    decimal: Literal["", "point", "comma"] = ""


class _Found(NamedTuple):
    """Values of the spellings that are not missing."""

    reading: Reading
    values: list[float]
    notes: tuple[str, ...]
    decimal: Literal["", "point", "comma"] = ""


def parse_spellings(
    spellings: Sequence[str],
    marks: frozenset[str] = frozenset(),
    given: frozenset[str] = frozenset(),
    comma: bool = False,
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
    comma : bool
        Where the decimal mark could be either (1,500 or 2.500), take it for a comma.

    Examples
    --------
    >>> parse_spellings(["1,200", "35", "NA"]).values
    (1200.0, 35.0, None)
    >>> parse_spellings(["None", "Some"]).missing
    (False, False)
    """
    likely = tuple(s == "" or s in given or s in MISSING_SPELLINGS for s in spellings)
    present = [s for s, gone in zip(spellings, likely, strict=True) if not gone]
    found = (_numbers(present, comma) or _dates(present)) if present else None
    if found is not None:
        supply = iter(found.values)
        values = tuple(None if gone else next(supply) for gone in likely)
        return Parsed(found.reading, likely, values, found.notes, found.decimal)
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


def date_text(days: float) -> str:
    """Spell days since 1970 as a date, with the time where there is one.

    >>> date_text(18262.0), date_text(18262.4375)
    ('2020-01-01', '2020-01-01 10:30:00')
    """
    moment = _EPOCH + timedelta(seconds=round(days * 86_400.0, 3))
    return moment.isoformat(sep=" ").removesuffix(" 00:00:00")


def shows_decimal_comma(cell: str) -> bool:
    """Whether a cell is a number only if the comma is its decimal mark.

    >>> [shows_decimal_comma(cell) for cell in ("3,14", "1.234,5", "0,125", "1,234", "1.5", "a,b")]
    [True, True, True, False, False, False]
    """
    return bool(_WITH_COMMA.fullmatch(cell)) and not _WITH_POINT.fullmatch(cell)


def _numbers(present: list[str], comma: bool) -> _Found | None:
    cleaned, notes = _without_signs([s.replace(_MINUS, "-") for s in present])
    if any(_LEADING_ZERO.fullmatch(s) for s in cleaned):
        return None  # 00501 is a code, not the number 501
    with_point = all(_WITH_POINT.fullmatch(s) for s in cleaned)
    with_comma = all(_WITH_COMMA.fullmatch(s) for s in cleaned)
    if not with_point and not with_comma:
        return None
    grouping, mark = (".", ",") if with_comma and (comma or not with_point) else (",", ".")
    if mark == "," and any(mark in s for s in cleaned):
        notes.append("decimal commas")
    if any(grouping in s for s in cleaned):
        notes.append("thousands separators removed")
    values = [float(s.replace(grouping, "").replace(mark, ".")) for s in cleaned]
    if _are_codes(cleaned, values):
        return None
    notes += same_number(cleaned, values)
    shown: Literal["", "point", "comma"] = ""
    if with_point != with_comma:
        shown = "point" if with_point else "comma"
    return _Found("number", values, tuple(dict.fromkeys(notes)), shown)


def _are_codes(spellings: Sequence[str], values: Sequence[float]) -> bool:
    """Whether whole numbers are a few numbers only because they are too long to be told apart as such.

    Of many numbers nothing is lost that matters: neighbors among moments in nanoseconds become ties.

    >>> _are_codes(["9007199254740992", "9007199254740993"], [2.0**53, 2.0**53])
    True
    """
    distinct = set(values)
    if len(distinct) > FEW_NUMBERS or not any(abs(value) >= EXACT for value in distinct):
        return False
    return all(map(_WHOLE.fullmatch, spellings)) and len(distinct) < len(
        {s.removeprefix("+") for s in spellings}
    )


def may_be_codes(numbers: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return which columns of whole numbers have so few and so long ones that their spellings have to be seen.

    >>> may_be_codes(np.array([[1.0, 2.0**60, 2.0**60], [2.0, 2.0**60, np.nan]]))
    array([1, 2])
    """
    if not numbers.size:
        return np.empty(0, dtype=np.intp)
    largest = np.fmax(np.fmax.reduce(numbers, axis=0), -np.fmin.reduce(numbers, axis=0))
    long = np.flatnonzero(largest >= EXACT)
    return np.array([at for at in long if _are_few(numbers[:, at])], dtype=np.intp)


def _are_few(numbers: NDArray[np.floating]) -> bool:
    distinct = (np.unique(some[~np.isnan(some)]) for some in (numbers[:1000], numbers))
    return all(len(found) <= FEW_NUMBERS for found in distinct)


def same_number(spellings: Sequence[str], values: Sequence[float]) -> list[str]:
    """Return a note if few numbers have several spellings: 1.1 and 1.10 may be versions, or sections of a book.

    >>> same_number(["1.1", "1.10", "2"], [1.1, 1.1, 2.0])
    ["'1.1' and '1.10' are one number; labels that differ need a letter, as in v1.10"]
    """
    seen: dict[float, str] = {}
    for spelling, value in zip(spellings, values, strict=True):
        first = seen.setdefault(value, spelling)
        if first != spelling and len(set(values)) <= FEW_NUMBERS:
            one, other = (quote(s, 30) for s in sorted((first, spelling), key=lambda s: (len(s), s)))
            return [
                f"{one} and {other} are one number; labels that differ need a letter, as in v{other[1:-1]}"
            ]
        if len(seen) > FEW_NUMBERS:
            return []
    return []


def _without_signs(present: list[str]) -> tuple[list[str], list[str]]:
    """Remove percent and currency signs, and spaces or apostrophes that group thousands."""
    notes = []
    # 0 is the same number with and without a percent sign; any other bare number beside 12% may be a share.
    if any(s.endswith("%") for s in present) and all(s.endswith("%") or not s.strip("0.,") for s in present):
        present = [s.removesuffix("%").rstrip() for s in present]
        notes.append("percent signs removed")
    elif any(_CURRENCY.search(s) for s in present):
        present = [_CURRENCY.sub(r"\1", s) for s in present]
        notes.append("currency signs removed")
    one_length = len({len(s) for s in present}) == 1  # as of telephone numbers
    if not one_length and any(_GROUPED_BY_GAP.match(s) for s in present):
        present = [re.sub(_GAP, "", s) if _GROUPED_BY_GAP.match(s) else s for s in present]
        notes.append("thousands separators removed")
    return present, notes


def _dates(present: list[str]) -> _Found | None:
    if not all(_LOOKS_LIKE_DATE.fullmatch(s) for s in present):
        return None
    for pattern in ("", *_DATE_FORMATS):
        days = _days(present, pattern)
        if days is None:
            continue
        note = f"dates read as {pattern or 'year-month-day'}"
        for one, other in _EITHER_WAY:
            if one in pattern and _days(present, pattern.replace(one, other)) is not None:
                note += f", though {pattern.replace(one, other)} fits too"
        return _Found("date", days, (note,))
    return None


def _days(present: list[str], pattern: str) -> list[float] | None:
    """Read dates in one format (ISO 8601 if it is empty); None if some value does not fit."""
    try:
        if not pattern:
            return [date_number(datetime.fromisoformat(s)) for s in present]
        return [date_number(datetime.strptime(s, pattern)) for s in present]
    except (ValueError, OverflowError):
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
    numeric = [bool(_NUMBER.fullmatch(s)) for s in present]
    if all(numeric) and _are_codes(present, [float(s) for s in present]):
        notes.append("whole numbers too long to be told apart as numbers: kept as labels")
    if len(present) >= 10 and sum(numeric) >= 0.8 * len(present):
        odd = present[numeric.index(False)] if not all(numeric) else None
        if odd is not None:
            notes.append(f"nearly all values are numbers; {odd!r:.40} is not")
    return tuple(notes)
