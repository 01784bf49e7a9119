"""Files to `RawTable`: text tables of any common separator and encoding, Parquet, Excel."""

from __future__ import annotations

import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gpmnet.errors import InputError, MissingExtraError, one_line, quote, quote_all
from gpmnet.table import streamed
from gpmnet.table.column_file import ColumnFile
from gpmnet.table.files import check_file
from gpmnet.table.frames import from_array, from_frame
from gpmnet.table.parse import EXACT
from gpmnet.table.raw import RawTable
from gpmnet.table.reading import Reading
from gpmnet.table.text import SAMPLE_LINES, check_separator, find_format, find_names, read_text

_NUMBER_BYTES, _CELL_BYTES = 8, 64
_PLACE = re.compile(rb"""\br=["']([A-Z]{0,7})([0-9]{1,10})["']""")
_LONGEST_TAG = 200


def read_raw(path: str | Path, *, na: frozenset[str] = frozenset(), **options: Any) -> RawTable:
    """Read a table from a file.

    Parameters
    ----------
    path : path
        `.csv`, `.tsv`, `.txt` and the like (also with `.gz`), `.parquet`, `.xlsx`.
    na : frozenset of str
        Spellings that mean "missing" in every column, beside the empty cell.
    **options
        Fields of `gpmnet.table.reading.Reading`.
    """
    path, reading = Path(path), Reading(**options)
    check_separator(reading.separator)
    suffix = check_file(path)
    if reading.sheet is not None and suffix != ".xlsx":
        raise InputError(f"sheet is for .xlsx files only, not for {quote(path)}")
    row_names, notes = False, {}
    if suffix in (".parquet", ".pq"):
        found = _read_parquet(path, reading, na)
        if isinstance(found, RawTable):
            return found
        frame, remarks = found
    elif suffix == ".xlsx":
        frame, remarks = _read_excel(path, reading)
    else:
        form = find_format(path, suffix, reading)
        if streamed.is_long_text(path) and not reading.transpose:
            return streamed.from_text(path, form, na)
        table = read_text(path, form, reading)
        frame, remarks, row_names, notes = table.frame, table.remarks, table.row_names, table.notes
    if reading.transpose:
        return _transposed(frame, na, remarks)
    raw = from_frame(frame, na, remarks)
    ignored = raw.ignored | {0: "row names"} if row_names else raw.ignored
    return replace(raw, ignored=ignored, notes=notes | raw.notes)


def _read_parquet(path: Path, reading: Reading, na: frozenset[str]) -> tuple[Any, tuple[str, ...]] | RawTable:
    """Return the table of a file with remarks; of a large file its raw form, which is read column by column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        seen = ColumnFile.of(path)
        with pq.ParquetFile(path) as file:
            # By column and not by name: names may be repeated.
            reading.check_columns(path, len(file.schema_arrow))
            width = sum(
                _NUMBER_BYTES if _is_number(kind) else _CELL_BYTES for kind in file.schema_arrow.types
            )
            rows = file.metadata.num_rows
            reading.check_bytes(path, rows * width, f"{rows:,} rows of {len(file.schema_arrow):,} columns")
            listed = enumerate(file.schema_arrow.names)
            kept = [at for at, name in listed if not re.fullmatch(r"__index_level_\d+__", name)]
            remarks: tuple[str, ...] = ()
            if len(kept) < len(file.schema_arrow):
                remarks = ("the row index that pandas stored in the file was left out",)
            is_large = rows * width > streamed.STREAMED_BYTES and not reading.transpose
            if is_large and streamed.can_stream(file, kept):
                return streamed.from_parquet(seen, file, kept, na, remarks)
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{quote(path)} is not a readable Parquet file: {one_line(error)}") from error
    return table.select(kept), remarks


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _read_excel(path: Path, reading: Reading) -> tuple[pd.DataFrame, tuple[str, ...]]:
    sheet = reading.sheet
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise MissingExtraError("openpyxl, which reads .xlsx files,", "excel") from None
    try:
        _check_zip(path, reading)
        with pd.ExcelFile(path, engine="openpyxl") as book:
            sheets = [str(name) for name in book.sheet_names]
            chosen = _choose_sheet(path, sheets, sheet)
            _check_extent(path, getattr(book.book[chosen], "_worksheet_path", None), reading)
            cells = pd.read_excel(
                book, sheet_name=chosen, header=None, dtype=object, keep_default_na=False, na_values=[""]
            )
    except InputError:
        raise
    except Exception as error:  # whatever the parsers of zip and XML raise on a damaged file
        raise InputError(f"{quote(path)} is not a readable Excel file: {one_line(error)}") from error
    others = tuple(name for name in sheets if name != chosen)
    remarks: list[str] = []
    if others and sheet is None:
        remarks.append(f"sheet {quote(chosen)} was read; there are others: {quote_all(others)}")
    cells = cells.dropna(axis=0, how="all").dropna(axis=1, how="all").reset_index(drop=True)
    if cells.empty:
        where = f"; other sheets are {quote_all(others)}" if others else ""
        raise InputError(f"{quote(path)} is empty{f' in sheet {quote(chosen)}' if others else ''}{where}")
    return _named(cells, reading, remarks), tuple(remarks)


def _named(cells: pd.DataFrame, reading: Reading, remarks: list[str]) -> pd.DataFrame:
    """Return the cells of a sheet with the names of its columns, which are in its first row or not, as in a text."""
    start = cells.iloc[:SAMPLE_LINES]
    spelled = [["" if pd.isna(cell) else str(cell) for cell in row] for row in start.itertuples(index=False)]
    names, in_table = find_names(spelled, [], "", reading, remarks)
    if not in_table:
        cells.columns = pd.Index(names)
        return cells
    body = cells.iloc[1:].reset_index(drop=True)
    body.columns = pd.Index([None if pd.isna(name) else name for name in cells.iloc[0]], dtype=object)
    return body


def _check_zip(path: Path, reading: Reading) -> None:
    """Raise if the parts of a workbook unpack to too much; what their headers say is all that is ever unpacked."""
    with zipfile.ZipFile(path) as parts:
        reading.check_bytes(path, sum(part.file_size for part in parts.infolist()), "compressed parts")


def _check_extent(path: Path, inside: str | None, reading: Reading) -> None:
    """Raise if the cells of a sheet stand so far apart that the rectangle around them is too large.

    Parameters
    ----------
    inside : str or None
        Where the sheet is in the file; all sheets are looked at if the library does not say.
    """
    last_row = last_column = 0
    with zipfile.ZipFile(path) as parts:
        sheets = [
            name for name in parts.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")
        ]
        for name in [inside] if inside in parts.namelist() else sheets:
            with parts.open(str(name)) as file:
                end = b""
                while chunk := file.read(1 << 20):
                    for letters, digits in _PLACE.findall(end + chunk):
                        last_row = max(last_row, int(digits))
                        last_column = max(last_column, _column_number(letters))
                    end = chunk[-_LONGEST_TAG:]
    reading.check_columns(path, last_column)
    reading.check_bytes(
        path,
        last_row * last_column * _CELL_BYTES,
        f"cells as far as row {last_row:,} and column {last_column:,}",
    )


def _column_number(letters: bytes) -> int:
    """Return the number of a column by its letters.

    >>> _column_number(b"XFD")
    16384
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _choose_sheet(path: Path, sheets: list[str], sheet: str | int | None) -> str:
    if sheet in sheets:
        return str(sheet)
    if isinstance(sheet, str) or not 0 <= (sheet or 0) < len(sheets):
        raise InputError(f"{quote(path)} has no sheet {quote(sheet)}; its sheets are {quote_all(sheets)}")
    return sheets[sheet or 0]


def _transposed(frame: Any, na: frozenset[str], remarks: tuple[str, ...]) -> RawTable:
    """Turn a table with one variable a row, its name in the first column, on its side."""
    if isinstance(frame, pd.DataFrame):
        wide, names = frame, [None if pd.isna(name) else name for name in frame.iloc[:, 0]]
    else:
        wide, names = frame.to_pandas(), frame.column(0).to_pylist()  # where gaps leave whole numbers whole
    cells = wide.iloc[:, 1:]
    # Whole numbers that floats would not tell apart stay what they are.
    long = any(
        dtype.kind in "iu" and (cells.iloc[:, at].abs() >= EXACT).any()
        for at, dtype in enumerate(cells.dtypes)
    )
    numeric = all(dtype.kind in "iuf" for dtype in cells.dtypes) and not long
    values = cells.to_numpy(dtype=np.float64 if numeric else object)
    return from_array(np.ascontiguousarray(values.T), names, na, remarks)
