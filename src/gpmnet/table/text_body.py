"""The rows of a text table whose format is known: pandas reads them, all at once or some at a time.

What pandas loses of a number's spelling is looked for in the text itself.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpmnet.errors import InputError, one_line, quote
from gpmnet.table.files import open_text
from gpmnet.table.parse import FEW_NUMBERS, same_number

SPACES = r"\s+"
LEADING_ZERO = re.compile(r"\s*0[0-9]+\s*")
EMPTY_LAST = "every line ends with a separator; the empty last column was left out"
# The same anywhere in a file; begins with a literal because that is ten times as fast to look for.
_LEADING_ZERO_WITHIN = re.compile(r"0[0-9](?<=[^0-9A-Za-z.+-]0[0-9])")
_LONG_WITHIN = re.compile(r"[1-9][0-9]{15}(?<=[^0-9.][0-9]{16})")
_TRAILING_ZERO_WITHIN = re.compile(r"[.0-9]0(?![0-9])")
_FIELD_LIMIT = 1 << 24
# From pandas 3 on the default reads every number to the last bit, and naming the precision is deprecated.
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a text table is written."""

    encoding: str
    separator: str
    skip: int  # lines before the first row of values
    names: list[str]
    as_text: frozenset[int]  # columns that pandas must not turn into numbers
    row_names: bool
    remarks: tuple[str, ...]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names)


@contextmanager
def long_fields() -> Iterator[None]:
    """Let fields be long in the body; the limit is one of the process, hence given back."""
    limit = csv.field_size_limit(_FIELD_LIMIT)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def records(lines: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row with the number of its last line; blank lines are passed over."""
    spaces = separator == SPACES
    if spaces:
        lines = (line.strip().replace("\t", " ") + "\n" for line in lines)
    reader = csv.reader(lines, delimiter=" " if spaces else separator, skipinitialspace=True)
    try:
        for row in reader:
            if len(row) > 1 or any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"the table cannot be split at {separator!r}: {one_line(error)}") from error


def read_body(path: Path, form: TextFormat) -> pd.DataFrame:
    """Return all rows."""
    with _opened(path, form) as file:
        try:
            frame: pd.DataFrame = _parsed(file, form, None)
        except pd.errors.EmptyDataError:
            frame = pd.DataFrame(columns=range(form.width))
    if len(frame) and frame.iloc[:, -1].isna().any():  # an empty last cell, or a line that ends too early?
        raise_ragged(path, form)
    frame.columns = pd.Index(form.names, dtype=object)
    return frame


def read_parts(path: Path, form: TextFormat, n_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows, so many at a time, their columns named by position; pandas infers the types of each part by itself."""
    with _opened(path, form) as file, _parsed(file, form, n_rows) as parts:
        yield from parts


@contextmanager
def _opened(path: Path, form: TextFormat) -> Iterator[TextIO]:
    """Open a text where its rows begin; what pandas then makes of a wrong one is said in our words."""
    with warnings.catch_warnings(), open_text(path, form.encoding) as file:
        warnings.simplefilter("error", pd.errors.ParserWarning)
        for _ in islice(file, form.skip):
            pass
        try:
            yield file
        except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
            raise_ragged(path, form)
            raise InputError(f"{quote(path)} cannot be read as a table: {one_line(error)}") from error


def _parsed(file: TextIO, form: TextFormat, n_rows: int | None) -> Any:
    """Return the rows, or a reader of so many at a time."""
    return pd.read_csv(
        file,
        sep=form.separator,
        header=None,
        names=list(range(form.width)),
        dtype=dict.fromkeys(form.as_text, str),
        keep_default_na=False,
        na_values=[""],
        low_memory=False,
        skipinitialspace=True,
        **_EXACT,
        index_col=False,
        on_bad_lines="error",
        chunksize=n_rows,
    )


def _body(path: Path, form: TextFormat) -> Iterator[tuple[int, list[str]]]:
    with open_text(path, form.encoding) as file:
        for line, row in records(islice(file, form.skip, None), form.separator):
            yield line + form.skip, row


def raise_ragged(path: Path, form: TextFormat) -> None:
    """Raise for the first line with too few or too many fields, if there is one."""
    for line, row in _body(path, form):
        if len(row) != form.width:
            raise InputError(
                f"{quote(path)}, line {line}: {len(row)} fields where {form.width} are expected; "
                "quote fields that hold the separator, or mend the line"
            )


def leading_zeros(path: Path, form: TextFormat, whole: Sequence[int]) -> set[int]:
    """Return which of the columns that were read as whole numbers have a value that is spelled with a leading zero."""
    suspects = [at for at in whole if at not in form.as_text]
    if not suspects or not _holds(path, form.encoding, _LEADING_ZERO_WITHIN):
        return set()
    found: set[int] = set()
    for _, row in _body(path, form):
        found.update(at for at in suspects if at < len(row) and LEADING_ZERO.fullmatch(row[at]))
    return found


def has_long_numbers(path: Path, form: TextFormat) -> bool:
    """Whether a text may hold whole numbers of so many digits that they are not told apart as numbers."""
    return _holds(path, form.encoding, _LONG_WITHIN)


def few_numbers(n_rows: int) -> int:
    """Return up to how many distinct numbers of so many rows may be labels, whose spellings matter."""
    return min(FEW_NUMBERS, n_rows // 3)


def same_numbers(path: Path, form: TextFormat, few: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return notes on those columns of few numbers with several spellings of one of them, by position."""
    if not few or not _holds(path, form.encoding, _TRAILING_ZERO_WITHIN):
        return {}
    spelled: dict[int, set[str]] = {at: set() for at in few}
    for _, cells in _body(path, form):
        for at in few:
            spelled[at].add(cells[at].strip())
    numbers = {at: sorted(spelling for spelling in its if spelling) for at, its in spelled.items()}
    found = {at: same_number(its, [float(spelling) for spelling in its]) for at, its in numbers.items()}
    return {at: tuple(notes) for at, notes in found.items() if notes}


def is_whole(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which columns have whole numbers and gaps only."""
    whole: NDArray[np.bool_] = np.all((values == np.floor(values)) | np.isnan(values), axis=0)
    return whole


def _holds(path: Path, encoding: str, pattern: re.Pattern[str]) -> bool:
    """Whether something stands anywhere in the file, which is quick to rule out; it may be 17 characters long."""
    end = "\n"
    with open_text(path, encoding) as file:
        while chunk := file.read(1 << 20):
            if pattern.search(end + chunk):
                return True
            end = chunk[-16:]
    return False
