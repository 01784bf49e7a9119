"""Columns of any source to one `RawTable`: text is parsed here, all columns of it together.

One column can show what another leaves open: how the file spells "missing", and which of point and comma is
its decimal mark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import quote
from gpmnet.table.parse import FILE_MARKS, Parsed, parse_spellings
from gpmnet.table.raw import Labelled, RawTable, check_finite
from gpmnet.table.space import is_on_disk, release, side_by_side


@dataclass(frozen=True, slots=True)
class Text:
    """A column of text by its distinct, stripped spellings; code -1 is missing."""

    codes: NDArray[np.int32]
    spellings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dates:
    """A column of moments, in days since 1970."""

    numbers: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Unusable:
    """A column whose values are neither numbers nor labels, with the reason."""

    labels: Labelled
    why: str


_WHOLE = re.compile(r"-?[0-9]+")
_TURNED = str.maketrans("0123456789", "9876543210")

AnyColumn = Labelled | NDArray[np.float64] | Dates | Text | Unusable


def assemble(
    names: tuple[str, ...],
    numbers: NDArray[np.floating],
    number_at: NDArray[np.intp],
    columns: Mapping[int, AnyColumn],
    na: frozenset[str],
    warnings: Sequence[str],
) -> RawTable:
    """Put numbers with numbers and labels with labels, parsed and without what `na` declares missing.

    Parameters
    ----------
    names : tuple of str
    numbers : ndarray of shape (n, k)
        The columns that are numeric already; never written to.
    number_at : ndarray of shape (k,)
        Their positions among the names.
    columns : dict
        All other columns by position.
    na : frozenset of str
        Spellings that mean "missing" in every column.
    warnings : sequence of str
    """
    parsed = _parse_texts({at: c for at, c in columns.items() if isinstance(c, Text)}, na, names)
    labelled: dict[int, Labelled] = {}
    extra: dict[int, NDArray[np.float64]] = {}
    dates: set[int] = set()
    ignored: dict[int, str] = {}
    for at, column in columns.items():
        value = _finish_text(column, parsed[at]) if isinstance(column, Text) else column
        if isinstance(value, Unusable):
            ignored[at] = value.why
            value = value.labels
        if isinstance(value, Labelled):
            labelled[at] = _without_labels(value, na)
        elif isinstance(value, Dates):
            dates.add(at)
            extra[at] = value.numbers
        else:
            extra[at] = value
    if extra:
        of_given = {int(position): k for k, position in enumerate(number_at)}
        number_at = np.sort(np.concatenate([number_at, np.array(list(extra), dtype=np.intp)]))
        given = numbers
        parts = (extra[at] if at in extra else given[:, of_given[at]] for at in number_at.tolist())
        numbers = side_by_side(parts, len(given), len(number_at), np.float64)
    numbers = _without_numbers(numbers, na, ~np.isin(number_at, list(dates)))
    check_finite(numbers, lambda at: names[number_at[at]])
    notes = {at: found.notes for at, found in parsed.items() if found.notes}
    return RawTable(names, numbers, number_at, labelled, notes, frozenset(dates), ignored, tuple(warnings))


def _without_numbers(
    numbers: NDArray[np.floating], na: frozenset[str], where: NDArray[np.bool_]
) -> NDArray[np.floating]:
    """Make the numbers that `na` spells missing in the columns `where`; an array in memory is left alone."""
    for spelling in na:
        try:
            wanted = numbers.dtype.type(spelling)
        except ValueError:  # the spelling is no number
            continue
        if is_on_disk(numbers):  # it is nobody else's
            for at in np.flatnonzero(where):
                numbers[numbers[:, at] == wanted, at] = np.nan
                release(numbers)
            continue
        gone = (numbers == wanted) & where
        if gone.any():
            numbers = np.where(gone, np.nan, numbers).astype(numbers.dtype, copy=False)
    return numbers


def _without_labels(column: Labelled, na: frozenset[str]) -> Labelled:
    gone = [at for at, label in enumerate(column.labels) if label in na]
    if not gone:
        return column
    codes = np.where(np.isin(column.codes, gone), -1, column.codes).astype(np.int32)
    return replace(column, codes=codes).used()


def _parse_texts(texts: dict[int, Text], na: frozenset[str], names: Sequence[str]) -> dict[int, Parsed]:
    """Parse all columns of text: numbers and dates first, since they show how the file spells things."""
    parsed = {at: parse_spellings(text.spellings, given=na) for at, text in texts.items()}
    shown = {found.decimal for found in parsed.values()}
    if "comma" in shown and "point" not in shown:
        parsed = {at: parse_spellings(text.spellings, given=na, comma=True) for at, text in texts.items()}
    marks: dict[str, str] = {}
    for at, text in texts.items():
        if parsed[at].reading in ("number", "date"):
            for mark in FILE_MARKS.intersection(text.spellings) - na:
                marks.setdefault(mark, names[at])
    for at, text in texts.items():
        used = sorted(marks.keys() & set(text.spellings))
        if used and parsed[at].reading in ("text", "boolean"):
            again = parse_spellings(text.spellings, frozenset(marks), na)
            said = tuple(
                f"{mark!r} taken for missing, as in column {quote(marks[mark], 30)}" for mark in used
            )
            parsed[at] = replace(again, notes=(*said, *again.notes))
    return parsed


def _finish_text(text: Text, parsed: Parsed) -> Labelled | NDArray[np.float64] | Dates:
    if parsed.reading in ("number", "date"):
        lookup = np.array([np.nan if v is None else v for v in parsed.values] + [np.nan])
        return lookup[text.codes] if parsed.reading == "number" else Dates(lookup[text.codes])
    if parsed.reading == "boolean":
        labels = [_spelled(text.spellings, parsed, truth) for truth in (0.0, 1.0)]
        codes_of = [-1 if v is None else int(v) for v in parsed.values]
    else:
        labels = natural_order(
            [s for s, gone in zip(text.spellings, parsed.missing, strict=True) if not gone]
        )
        at = {label: i for i, label in enumerate(labels)}
        codes_of = [-1 if gone else at[s] for s, gone in zip(text.spellings, parsed.missing, strict=True)]
    codes = np.array([*codes_of, -1], dtype=np.int32)[text.codes]
    column = Labelled(codes, tuple(labels), "text" if parsed.reading == "text" else "boolean")
    return column.used()


def _spelled(spellings: tuple[str, ...], parsed: Parsed, truth: float) -> str:
    """Return the file's own word for a truth value; True and False are spelled as Python does."""
    for spelling, value in zip(spellings, parsed.values, strict=True):
        if value == truth:
            lowered = spelling.lower()
            return lowered.capitalize() if lowered in ("true", "false") else spelling
    return str(bool(truth))


def natural_order(labels: Sequence[str]) -> list[str]:
    """Sort labels, by value if all are whole numbers ("10" after "9").

    >>> natural_order(["10", "9", "1"])
    ['1', '9', '10']
    """
    if all(_WHOLE.fullmatch(label) for label in labels):
        return sorted(labels, key=lambda label: (_value(label), label))
    return sorted(labels)


def _value(label: str) -> tuple[int, int, str]:
    """Return what whole numbers are sorted by, however long: sign, number of digits, and digits (all turned if negative)."""
    digits = label.lstrip("-").lstrip("0")
    if not label.startswith("-") or not digits:
        return (0, len(digits), digits)
    return (-1, -len(digits), digits.translate(_TURNED))
