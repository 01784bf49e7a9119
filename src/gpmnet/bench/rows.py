"""Rows on disk: one small Parquet file per finished cell.

A row is written beside its place and moved there, so a run that is killed leaves whole rows only, and two
runs that share a folder never write the same file half each.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpmnet.errors import InputError, quote
from gpmnet.files import whole_file

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FOLDER = "rows"
TEXT = (
    "key", "suite", "task", "simulator", "kind", "options", "method", "method_options", "status", "reason",
    "versions", "python", "started",
)  # fmt: skip
WHOLE = ("d", "n", "seed", "jobs", "cpu_count", "hamming", "empty_hamming", "n_edges", "n_true", "n_visible",
         "n_evaluations")  # fmt: skip
REAL = (
    "fdr", "precision", "recall", "f1", "fdr_realised", "average_precision", "recall_visible", "f1_visible",
    "f1_skeleton", "f1_arrows",
    "seconds", "peak_memory_mb", "max_seconds", "max_memory_gb",
)  # fmt: skip
LISTS = ("p_values",)


def _schema() -> pa.Schema:
    import pyarrow as pa

    kinds = [(TEXT, pa.string()), (WHOLE, pa.int64()), (REAL, pa.float64()), (LISTS, pa.list_(pa.float64()))]
    return pa.schema([(name, kind) for names, kind in kinds for name in names])


def write_row(directory: Path, row: dict[str, Any]) -> None:
    """Write the row of a cell, replacing an earlier one; what a row does not have is null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    unknown = row.keys() - {*TEXT, *WHOLE, *REAL, *LISTS}
    if unknown:
        raise ValueError(f"a row has no column {sorted(unknown)}")
    with whole_file(directory / FOLDER / f"{row['key']}.parquet") as beside:
        pq.write_table(pa.Table.from_pylist([row], schema=_schema()), beside, use_dictionary=False)


def read_row(directory: Path, key: str) -> dict[str, Any] | None:
    """Return the row of a cell, None where it has none yet."""
    import pyarrow.parquet as pq

    path = directory / FOLDER / f"{key}.parquet"
    try:
        with pq.ParquetFile(path) as file:  # several times as fast as read_table for one row
            row: dict[str, Any] = file.read(use_threads=False).to_pylist()[0]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"{path.name} in {quote(directory)} is not a row of a benchmark: {error}") from error
    return row


def read_rows(directory: Path) -> dict[str, dict[str, Any]]:
    """Return all rows of a folder by the key of their cell."""
    keys = sorted(path.stem for path in (directory / FOLDER).glob("*.parquet"))
    return {key: row for key in keys if (row := read_row(directory, key)) is not None}


def load_rows(directory: str | Path) -> pd.DataFrame:
    """Return all rows of a folder, in the order of suite, task, size, method and seed.

    Raises
    ------
    InputError
        There are no rows in it.
    """
    import pandas as pd

    directory = Path(directory)
    rows = read_rows(directory)
    if not rows:
        raise InputError(f"{quote(directory)} has no rows; make some with: gpmnet bench run NAME -o DIR")
    frame = pd.DataFrame(list(rows.values()), columns=[*TEXT, *WHOLE, *REAL, *LISTS])
    frame = frame.astype(dict.fromkeys(WHOLE, "Int64") | dict.fromkeys(REAL, float))
    order = ["suite", "simulator", "options", "kind", "n", "d", "task", "method", "seed"]
    return frame.sort_values(order, kind="stable", ignore_index=True)
