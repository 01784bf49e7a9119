"""Text tables: what a file's first lines say about its format, and reading it in that format.

Separator, header and the like are found by splitting the first lines with the one splitter, `records`, that
also finds the line at fault when a file turns out to be ragged. `gpmnet.table.text_body` reads the rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from gpmnet.errors import InputError, quote
from gpmnet.table.files import find_encoding, open_text
from gpmnet.table.parse import may_be_codes, parse_spellings, shows_decimal_comma
from gpmnet.table.reading import Reading
from gpmnet.table.text_body import (
    EMPTY_LAST,
    LEADING_ZERO,
    SPACES,
    TextFormat,
    few_numbers,
    has_long_numbers,
    is_whole,
    leading_zeros,
    long_fields,
    read_body,
    records,
    same_numbers,
)

_SEPARATORS = ("\t", ";", "|", ",")
SAMPLE_LINES, _SAMPLE_CHARACTERS = 200, 1 << 18
_WITH_COMMA_INSIDE = re.compile(r"[+-]?[0-9.]*,[0-9.,]+")
_COUNTING_CELLS = 4
_COUNTING_BEHIND = 3  # the same behind words


@dataclass(frozen=True, slots=True)
class TextTable:
    """What was read, remarks on it and on columns by position, and whether the first column holds row names."""

    frame: pd.DataFrame
    remarks: tuple[str, ...]
    row_names: bool
    notes: dict[int, tuple[str, ...]]


def read_text(path: Path, form: TextFormat, options: Reading) -> TextTable:
    """Read a text table; variables in rows are left in rows, with their names in the first column."""
    with long_fields():
        frame = read_body(path, form)
        whole = _whole_columns(frame)
        long = _long_columns(frame, whole) if whole and has_long_numbers(path, form) else set()
        codes = leading_zeros(path, form, whole) | long
        numeric = all(dtype.kind in "iuf" for dtype in frame.dtypes.iloc[1:]) and not codes
        if options.transpose and not numeric:
            codes = set(range(form.width))  # every column of the file holds a value of each variable
        if codes:
            frame = read_body(path, replace(form, as_text=form.as_text | codes))
        notes = {} if options.transpose else same_numbers(path, form, _few_numbers(frame))
    remarks = form.remarks
    if not form.names[-1] and frame.shape[1] > 2 and frame.iloc[:, -1].isna().all():
        frame = frame.iloc[:, :-1]
        remarks += (EMPTY_LAST,)
    return TextTable(frame, remarks, form.row_names, notes)


def check_separator(given: str | None) -> str | None:
    """Return the separator, spelled out where a word for it was given."""
    separator = {"\\t": "\t", "tab": "\t", "space": SPACES, " ": SPACES}.get(given or "", given)
    if separator is None or separator == SPACES:
        return separator
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise InputError(f"separator must be one ASCII character, tab or space; got {quote(given)}")
    return separator


def find_format(path: Path, suffix: str, options: Reading) -> TextFormat:
    """Return how a text table is written, by its first lines."""
    with long_fields():
        return _find_format(path, suffix, options)


def _find_format(path: Path, suffix: str, options: Reading) -> TextFormat:
    encoding, remarks = find_encoding(path, options)
    comments, before, sample = _sample(path, encoding, options)
    given = check_separator(options.separator)
    _check_width(path, sample, given, options)
    separator = given or _find_separator(sample, suffix)
    numbered = list(records(sample, separator))
    if not numbered:
        raise InputError(f"{quote(path)} is empty")
    rows = [row for _, row in numbered]
    names, in_table = find_names(rows, comments, separator, options, remarks)
    body = rows[1:] if in_table else rows
    row_names = False
    if len(names) > 1 and body and all(len(row) == len(names) + 1 for row in body):
        row_names = any(row[-1].strip() for row in body)
        names = ["row", *names] if row_names else [*names, ""]
        if row_names:
            remarks.append("the header is one short: the first column was taken for row names")
    return TextFormat(
        encoding=encoding,
        separator=separator,
        skip=before + (numbered[0][0] if in_table else 0),
        names=names,
        as_text=_kept_as_text(body, len(names)) | ({0} if options.transpose else set()),
        row_names=row_names,
        remarks=tuple(remarks),
    )


def find_names(
    rows: list[list[str]], comments: list[str], separator: str, options: Reading, remarks: list[str]
) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the first row holds them; add remarks on the choice."""
    first = [cell.strip() for cell in rows[0]]
    guessed = _has_header(rows)
    header = guessed or options.transpose if options.header is None else options.header
    if not guessed and options.header is not False:
        names = _names_in_comment(comments, separator, len(first))
        if names:
            remarks.append("the names were taken from the line before the table that starts with #")
            return names, False
    if comments:
        remarks.append(f"{len(comments)} line{'s' * (len(comments) > 1)} starting with # passed over")
    start = ", ".join(first[:4]) + (", ..." if len(first) > 4 else "")
    if not header:
        if options.header is None:
            remarks.append(
                f"no header found: the columns are called x1, x2, ... and the first line, {quote(start)}, is a row; "
                "header=True (--header) takes it for names"
            )
        return [f"x{i + 1}" for i in range(len(first))], False
    numbers = [cell for cell in first if cell]
    unsure = not guessed or (numbers and parse_spellings(numbers).reading == "number")
    if options.header is None and unsure:
        remarks.append(f"the first line, {quote(start)}, was taken for names")
    return first, True


def _kept_as_text(body: list[list[str]], width: int) -> frozenset[int]:
    """Return the columns that pandas must not turn into numbers: 00501 is a code, and 2.500 may be 2500."""
    if any("," in cell and shows_decimal_comma(cell.strip()) for row in body for cell in row):
        return frozenset(range(width))
    return frozenset(
        at for row in body for at, cell in enumerate(row[:width]) if LEADING_ZERO.fullmatch(cell)
    )


def _check_width(path: Path, sample: list[str], separator: str | None, options: Reading) -> None:
    """Raise if the first line has too many columns, before it is split."""
    first = sample[0] if sample else ""
    found = _SEPARATORS if separator is None else (separator,)
    count = max(first.count(one) for one in found) if separator != SPACES else 0
    options.check_columns(path, count + 1 if count else len(first.split()))


def _sample(path: Path, encoding: str, options: Reading) -> tuple[list[str], int, list[str]]:
    """Return the comments before the table, the number of lines before it, and its first lines.

    These are a few hundred, fewer if they are very long, three at least.
    """
    comments: list[str] = []
    lines: list[str] = []
    before = size = 0
    with open_text(path, encoding) as file:
        for line in iter(lambda: file.readline(options.longest_line), ""):
            if len(line) >= options.longest_line:
                raise InputError(
                    f"{quote(path)} has a line of {options.longest_line:,} characters or more; if it is a table all the "
                    "same, raise the limit with max_columns (--max-columns)"
                )
            if not lines and (not line.strip() or line.lstrip().startswith("#")):
                comments += [line.strip()] if line.strip() else []
                before += 1
                continue
            lines.append(line)
            size += len(line)
            if len(lines) >= SAMPLE_LINES or (size >= _SAMPLE_CHARACTERS and len(lines) >= 3):
                break
    return comments, before, lines


def _find_separator(sample: list[str], suffix: str) -> str:
    """Return the separator that splits the most lines into the same number of two or more fields.

    Among equals it is the one whose fields hold no other separator, a comma inside a number excepted.
    """
    best, best_score = ",", (0.0, 0.0, 0)
    preferred = "\t" if suffix in (".tsv", ".tab") else ","
    for separator in sorted(_SEPARATORS, key=lambda s: s != preferred):
        try:
            rows = [row for _, row in records(sample, separator)]
        except InputError:
            continue
        usual, consistency = _usual_width(rows)
        if usual < 2:
            continue
        others = [s for s in _SEPARATORS if s != separator]
        cells = [cell for row in rows for cell in row]
        mixed = sum(
            any(s in cell for s in others) and not _WITH_COMMA_INSIDE.fullmatch(cell.strip())
            for cell in cells
        )
        score = (consistency, -mixed / len(cells), usual)
        if score > best_score:
            best, best_score = separator, score
    if best_score[0] == 0:
        widths = [len(row) for _, row in records(sample, SPACES)]
        if widths and min(widths) > 1 and len(set(widths[1:])) <= 1:
            return SPACES
    return best


def _usual_width(rows: list[list[str]]) -> tuple[int, float]:
    widths = [len(row) for row in rows]
    usual = max(set(widths), key=widths.count, default=0)
    return usual, widths.count(usual) / max(len(widths), 1)


def _has_header(rows: list[list[str]]) -> bool:
    """Decide whether the first row names the columns.

    It does if it is one field short, or if its first cell is empty above what looks like row names. Else it
    does not if some cell of it is a number on top of a column of numbers, unless a text cell stands on top
    of a column of numbers, or its cells count (0, 1, 2, ... or 2019, 2020, ...) in a way that no row of values would; behind
    a few words (country, 2001, 2005, ...) years that rise are enough.
    """
    first, body = [cell.strip() for cell in rows[0]], rows[1:]
    if not body or (len(first) > 1 and all(len(row) == len(first) + 1 for row in body)):
        return True
    columns = [[row[at].strip() for row in body if len(row) > at] for at in range(len(first))]
    if not first[0] and all(columns[0]) and len(set(columns[0])) == len(body):
        return True
    if _counts(first):
        return len(first) >= _COUNTING_CELLS or not all(any(map(str.isdecimal, below)) for below in columns)
    if _names_and_years(first) and not any(first[0] in below for below in columns[:1]):
        return not any(_names_and_years([cell.strip() for cell in row]) for row in body)
    evidence = False
    for cell, below in zip(first, columns, strict=True):
        if parse_spellings(below).reading != "number" or not any(below):
            continue
        if parse_spellings([cell]).reading != "number":
            if cell:
                return True
        else:
            evidence = True
    return not evidence


def _counts(cells: Sequence[str]) -> bool:
    start = int(cells[0]) if re.fullmatch("[0-9]{1,9}", cells[0]) else -1
    return start >= 0 and list(cells) == [str(start + i) for i in range(len(cells))]


def _names_and_years(cells: Sequence[str]) -> bool:
    """Whether cells are words and then whole numbers, three at least, that count or are years that rise."""
    words = next((at for at, cell in enumerate(cells) if cell.isdecimal()), len(cells))
    rest = cells[words:]
    if not words or len(rest) < _COUNTING_BEHIND or not all(cells[:words]):
        return False
    years = all(re.fullmatch("1[5-9][0-9]{2}|2[01][0-9]{2}", cell) for cell in rest)
    return _counts(rest) or (years and all(a < b for a, b in pairwise(rest)))


def _names_in_comment(comments: list[str], separator: str, width: int) -> list[str]:
    """Return the names in the last comment, if it has as many as there are columns (as NumPy writes it)."""
    for line in (comments[-1].lstrip("#"), comments[-1]) if comments else ():
        for _, row in records([line], separator):
            if len(row) == width:
                return [row[0].strip() or "#", *(name.strip() for name in row[1:])]
    return []


def _few_numbers(frame: pd.DataFrame) -> list[int]:
    """Return the columns of a few distinct numbers, not all of them whole."""
    floats = [at for at, dtype in enumerate(frame.dtypes) if dtype.kind == "f"]
    most = few_numbers(len(frame))
    start = np.sort(frame.iloc[:1000, floats].to_numpy(), axis=0)
    likely = np.count_nonzero(np.diff(start, axis=0) > 0, axis=0) < most
    return [at for at, may in zip(floats, likely, strict=True) if may and frame.iloc[:, at].nunique() <= most]


def _long_columns(frame: pd.DataFrame, whole: list[int]) -> set[int]:
    """Return those of the columns of whole numbers that may be codes of many digits."""
    found = may_be_codes(frame.iloc[:, whole].to_numpy(dtype=np.float64))
    return {whole[k] for k in found}


def _whole_columns(frame: pd.DataFrame) -> list[int]:
    """Return the columns of whole numbers; with gaps they are floats to pandas."""
    kinds = [dtype.kind for dtype in frame.dtypes]
    floats = [at for at, kind in enumerate(kinds) if kind == "f"]
    likely = is_whole(frame.iloc[:100, floats].to_numpy())  # a column at a time is slow, and few get that far
    gapped = [
        at
        for at, whole in zip(floats, likely, strict=True)
        if whole and is_whole(frame.iloc[:, [at]].to_numpy())
    ]
    return [at for at, kind in enumerate(kinds) if kind in "iu"] + gapped
