"""Files to `RawTable`: text tables of any common separator and encoding, Parquet, Excel."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gpmnet.errors import InputError, MissingExtraError, one_line, quote, quote_all
from gpmnet.table.files import check_file
from gpmnet.table.frames import from_array, from_frame
from gpmnet.table.raw import RawTable
from gpmnet.table.text import Options, check_separator, read_text


def read_raw(
    path: str | Path,
    *,
    na: frozenset[str] = frozenset(),
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    transpose: bool = False,
    sheet: str | int | None = None,
) -> RawTable:
    """Read a table from a file.

    Parameters
    ----------
    path : path
        `.csv`, `.tsv`, `.txt` and the like (also with `.gz`), `.parquet`, `.xlsx`.
    na : frozenset of str
        Spellings that mean "missing" in every column, beside the empty cell.
    separator : str, optional
        One character, "tab" or "space".
    encoding, header : optional
        As the separator, found from the file's first lines unless given.
    transpose : bool
        The file has one variable a row, its name in the first column (gene expression tables).
    sheet : str or int, optional
        Sheet of an Excel file, by name or by position from 0; the first unless given.
    """
    path = Path(path)
    options = Options(check_separator(separator), encoding, header, transpose)
    suffix = check_file(path)
    if sheet is not None and suffix != ".xlsx":
        raise InputError(f"sheet is for .xlsx files only, not for {quote(path)}")
    row_names = False
    if suffix in (".parquet", ".pq"):
        frame, remarks = _read_parquet(path)
    elif suffix == ".xlsx":
        frame, remarks = _read_excel(path, sheet, header)
    else:
        table = read_text(path, suffix, options)
        frame, remarks, row_names = table.frame, table.remarks, table.row_names
    if transpose:
        return _transposed(frame, na, remarks)
    raw = from_frame(frame, na, remarks)
    return replace(raw, ignored=raw.ignored | {0: "row names"}) if row_names else raw


def _read_parquet(path: Path) -> tuple[Any, tuple[str, ...]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{quote(path)} is not a readable Parquet file: {one_line(error)}") from error
    index = [name for name in table.column_names if re.fullmatch(r"__index_level_\d+__", name)]
    remarks = ("the row index that pandas stored in the file was left out",) if index else ()
    return table.drop_columns(index) if index else table, remarks


def _read_excel(
    path: Path, sheet: str | int | None, header: bool | None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise MissingExtraError("openpyxl, which reads .xlsx files,", "excel") from None
    try:
        with pd.ExcelFile(path, engine="openpyxl") as book:
            sheets = [str(name) for name in book.sheet_names]
            chosen = _choose_sheet(path, sheets, sheet)
            cells = pd.read_excel(
                book, sheet_name=chosen, header=None, dtype=object, keep_default_na=False, na_values=[""]
            )
    except InputError:
        raise
    except Exception as error:  # whatever the parsers of zip and XML raise on a damaged file
        raise InputError(f"{quote(path)} is not a readable Excel file: {one_line(error)}") from error
    others = tuple(name for name in sheets if name != chosen)
    remarks: tuple[str, ...] = ()
    if others and sheet is None:
        remarks = (f"sheet {quote(chosen)} was read; there are others: {quote_all(others)}",)
    cells = cells.dropna(axis=0, how="all").dropna(axis=1, how="all").reset_index(drop=True)
    if cells.empty:
        raise InputError(f"{quote(path)} is empty")
    if header is False:
        cells.columns = pd.Index([f"x{i + 1}" for i in range(cells.shape[1])])
        return cells, remarks
    names = [None if pd.isna(name) else name for name in cells.iloc[0]]
    body = cells.iloc[1:].reset_index(drop=True)
    body.columns = pd.Index(names, dtype=object)
    return body, remarks


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
    numeric = all(dtype.kind in "iuf" for dtype in cells.dtypes)
    values = cells.to_numpy(dtype=np.float64 if numeric else object)
    return from_array(np.ascontiguousarray(values.T), names, na, remarks)
