"""Files to `RawTable`: text tables of any common separator and encoding, Parquet, Excel."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import numpy as np
import pandas as pd

from gpmnet.errors import InputError, MissingExtraError, quote
from gpmnet.table.frames import from_array, from_frame
from gpmnet.table.parse import parse_spellings
from gpmnet.table.raw import RawTable

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", "")
SUFFIXES = (*TEXT_SUFFIXES[:-1], ".parquet", ".pq", ".xlsx")
_SEPARATORS = (",", ";", "\t", "|")
_SPACES = r"\s+"
_SAMPLE_LINES, _SAMPLE_BYTES = 200, 1 << 18
_LEADING_ZERO = re.compile(r"\s*0[0-9]+\s*")
# From pandas 3 on the default reads every number to the last bit, and naming the precision is deprecated.
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
csv.field_size_limit(1 << 24)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a text table is written."""

    encoding: str
    separator: str
    header: bool
    names: list[str] | None
    width: int
    labels_at: tuple[int, ...]  # columns of digits that are codes (a leading zero), not numbers
    warnings: tuple[str, ...]


def read_raw(
    path: str | Path,
    *,
    na: frozenset[str] = frozenset(),
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    transpose: bool = False,
    sheet: str | int = 0,
) -> RawTable:
    """Read a table from a file.

    Parameters
    ----------
    path : path
        `.csv`, `.tsv`, `.txt` and the like (also with `.gz`), `.parquet`, `.xlsx`.
    na : frozenset of str
        Spellings that mean "missing" in every column, beside the empty cell.
    separator, encoding, header : optional
        Found from the file's first lines unless given.
    transpose : bool
        The file has one variable a row, its name in the first column (gene expression tables).
    sheet : str or int
        Sheet of an Excel file.
    """
    path = Path(path)
    suffix = _check_file(path)
    if suffix in (".parquet", ".pq"):
        frame, remarks = _read_parquet(path)
    elif suffix == ".xlsx":
        frame, remarks = _read_excel(path, sheet, header)
    else:
        layout = _layout(path, suffix, separator, encoding, header)
        frame, remarks = _read_text(path, layout), layout.warnings
    if transpose:
        return _transposed(frame, na)
    return from_frame(frame, na, remarks)


def _check_file(path: Path) -> str:
    """Return the suffix that tells the format, or raise if there is no such file or format."""
    if path.is_dir():
        raise InputError(f"{quote(path)} is a folder; give a file")
    inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    suffix = inner.suffix.lower()
    if not path.exists():
        hint = "" if suffix in SUFFIXES else f", and no table format is called {quote(path)}"
        raise InputError(f"no such file: {quote(path)}{hint}")
    if suffix not in SUFFIXES and suffix != "":
        raise InputError(
            f"unknown format {quote(suffix)} of {quote(path)}; known are {' '.join(SUFFIXES)} (.gz too)"
        )
    if path.stat().st_size == 0:
        raise InputError(f"{quote(path)} is empty")
    return suffix


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def _open_text(path: Path, encoding: str) -> TextIO:
    return io.TextIOWrapper(_open(path), encoding=encoding, newline="")


def _layout(
    path: Path, suffix: str, separator: str | None, encoding: str | None, header: bool | None
) -> _Layout:
    remarks: list[str] = []
    if encoding is None:
        encoding = _find_encoding(path)
        if encoding == "cp1252":
            remarks.append("the file is not UTF-8; it was read as Windows-1252")
    else:
        _check_encoding(path, encoding)
    sample = _sample(path, encoding)
    separator = separator or _find_separator(sample, suffix)
    rows = [row for row in _rows(iter(sample), separator) if row]
    if not rows:
        raise InputError(f"{quote(path)} is empty")
    header = _has_header(rows) if header is None else header
    body = rows[1:] if header else rows
    names = rows[0] if header else None
    width = len(rows[0])
    if header and names is not None and body and all(len(row) == width + 1 for row in body):
        names, width = (
            ["row", *names],
            width + 1,
        )  # the first column holds row names and has no header of its own
        remarks.append("the header is one short: the first column was taken for row names")
    codes = tuple(
        at for at in range(width) if any(len(row) > at and _LEADING_ZERO.fullmatch(row[at]) for row in body)
    )
    return _Layout(encoding, separator, header, names, width, codes, tuple(remarks))


def _find_encoding(path: Path) -> str:
    with _open_checked(path) as file:
        start = file.read(4)
    if start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding in ("utf-8", "cp1252"):
        if _decodes(path, encoding):
            return encoding
    raise InputError(f"{quote(path)} is not text in UTF-8 or Windows-1252; say its encoding")


def _open_checked(path: Path) -> BinaryIO:
    file = _open(path)
    try:
        file.read(1)
        file.seek(0)
    except (OSError, EOFError) as error:
        file.close()
        raise InputError(f"{quote(path)} cannot be read: {error}") from error
    return file


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with _open(path) as file:
        try:
            while chunk := file.read(1 << 20):
                if b"\0" in chunk:
                    raise InputError(f"{quote(path)} holds NUL bytes: it is not a text table")
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        except (OSError, EOFError) as error:
            raise InputError(f"{quote(path)} cannot be read: {error}") from error
    return True


def _check_encoding(path: Path, encoding: str) -> None:
    try:
        with _open_text(path, encoding) as file:
            while file.read(1 << 20):
                pass
    except LookupError as error:
        raise InputError(f"unknown encoding {quote(encoding)}") from error
    except (UnicodeError, OSError, EOFError) as error:
        raise InputError(f"{quote(path)} is not text in {encoding}: {error}") from error


def _sample(path: Path, encoding: str) -> list[str]:
    """Return the first lines: a few hundred, fewer if they are very long, three at least."""
    lines: list[str] = []
    size = 0
    with _open_text(path, encoding) as file:
        for line in file:
            lines.append(line)
            size += len(line)
            if len(lines) >= _SAMPLE_LINES or (size >= _SAMPLE_BYTES and len(lines) >= 3):
                break
    return lines


def _rows(lines: Iterator[str], separator: str) -> Iterator[list[str]]:
    if separator == _SPACES:
        return (line.split() for line in lines)
    try:
        return iter(list(csv.reader(lines, delimiter=separator)))
    except csv.Error as error:
        raise InputError(f"the table cannot be split at {separator!r}: {error}") from error


def _find_separator(sample: list[str], suffix: str) -> str:
    """Return the separator that splits the most lines into the same number of two or more fields."""
    best, best_score = ",", (0.0, 0)
    preferred = "\t" if suffix in (".tsv", ".tab") else ","
    for separator in sorted(_SEPARATORS, key=lambda s: s != preferred):
        try:
            widths = [len(row) for row in csv.reader(iter(sample), delimiter=separator) if row]
        except csv.Error:
            continue
        usual = max(set(widths), key=widths.count, default=0)
        score = (widths.count(usual) / len(widths), usual) if usual > 1 else (0.0, 0)
        if score > best_score:
            best, best_score = separator, score
    if best_score[1] == 0:
        widths = [len(line.split()) for line in sample if line.strip()]
        if widths and min(widths) > 1 and len(set(widths[1:])) <= 1:
            return _SPACES
    return best


def _has_header(rows: list[list[str]]) -> bool:
    """Decide whether the first row names the columns.

    It does not if some cell of it is a number on top of a column of numbers, unless all its cells count
    0, 1, 2, ... or a text cell stands on top of a column of numbers.
    """
    first, body = rows[0], rows[1:]
    if first in ([str(i + k) for i in range(len(first))] for k in (0, 1)) or not body:
        return True
    evidence = False
    for at, cell in enumerate(first):
        below = [row[at].strip() for row in body if len(row) > at]
        if parse_spellings(below).reading != "number" or not any(below):
            continue
        if parse_spellings([cell.strip()]).reading != "number":
            if cell.strip():
                return True
        else:
            evidence = True
    return not evidence


def _read_text(path: Path, layout: _Layout) -> pd.DataFrame:
    with warnings.catch_warnings(), _open_text(path, layout.encoding) as file:
        warnings.simplefilter("error", pd.errors.ParserWarning)
        if layout.header:
            _skip_header(file, layout.separator)
        try:
            frame: pd.DataFrame = pd.read_csv(
                file,
                sep=layout.separator,
                header=None,
                names=list(range(layout.width)),
                dtype=dict.fromkeys(layout.labels_at, str),
                keep_default_na=False,
                na_values=[""],
                low_memory=False,
                **_EXACT,
                index_col=False,
                on_bad_lines="error",
            )
        except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
            _raise_ragged(path, layout)
            raise InputError(f"{quote(path)} cannot be read as a table: {error}") from error
        except pd.errors.EmptyDataError:
            frame = pd.DataFrame(columns=range(layout.width))
    if len(frame) and frame.iloc[:, -1].isna().any():  # an empty last cell, or a line that ends too early?
        _raise_ragged(path, layout)
    frame.columns = pd.Index(layout.names or [f"x{i + 1}" for i in range(layout.width)], dtype=object)
    return frame


def _skip_header(file: TextIO, separator: str) -> None:
    rows = csv.reader(file, delimiter=separator) if separator != _SPACES else (line.split() for line in file)
    while not next(rows):  # blank lines before the header
        pass


def _raise_ragged(path: Path, layout: _Layout) -> None:
    """Raise for the first line with too few or too many fields, if there is one."""
    with _open_text(path, layout.encoding) as file:
        if layout.separator == _SPACES:
            widths = ((number, len(line.split())) for number, line in enumerate(file, start=1))
        else:
            reader = csv.reader(file, delimiter=layout.separator)
            widths = ((reader.line_num, len(row)) for row in reader)
        widths = ((line, width) for line, width in widths if width)
        if layout.header:
            next(widths)
        for line, width in widths:
            if width != layout.width:
                raise InputError(
                    f"{quote(path)}, line {line}: {width} fields where {layout.width} are expected; "
                    "quote fields that hold the separator, or mend the line"
                )


def _read_parquet(path: Path) -> tuple[object, tuple[str, ...]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{quote(path)} is not a readable Parquet file: {error}") from error
    index = [name for name in table.column_names if re.fullmatch(r"__index_level_\d+__", name)]
    remarks = ("the row index that pandas stored in the file was left out",) if index else ()
    return table.drop_columns(index) if index else table, remarks


def _read_excel(path: Path, sheet: str | int, header: bool | None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise MissingExtraError("openpyxl, which reads .xlsx files,", "excel") from None
    try:
        cells = pd.read_excel(
            path, sheet_name=sheet, header=None, dtype=object, keep_default_na=False, na_values=[""]
        )
    except (ValueError, KeyError, OSError) as error:
        raise InputError(f"{quote(path)} is not a readable Excel file: {error}") from error
    if cells.empty:
        raise InputError(f"{quote(path)} is empty")
    if header is False:
        cells.columns = pd.Index([f"x{i + 1}" for i in range(cells.shape[1])])
        return cells, ()
    names = [None if pd.isna(name) else name for name in cells.iloc[0]]
    body = cells.iloc[1:].reset_index(drop=True)
    body.columns = pd.Index(names, dtype=object)
    return body, ()


def _transposed(frame: object, na: frozenset[str]) -> RawTable:
    """Turn a table with one variable a row, its name in the first column, on its side."""
    wide = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()  # type: ignore[attr-defined]
    names = wide.iloc[:, 0].tolist()
    cells = wide.iloc[:, 1:]
    numeric = all(dtype.kind in "iuf" for dtype in cells.dtypes)
    values = cells.to_numpy(dtype=np.float64 if numeric else object)
    return from_array(np.ascontiguousarray(values.T), names, na)
