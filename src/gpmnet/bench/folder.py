"""Tasks from folders: a table, the edges of its true graph, and what else is known about it.

A folder is a task for every ``data*.csv`` or ``data*.parquet`` in it (where both have the same name, the
Parquet file is read), with

- ``truth.csv`` or ``edges.csv``: columns source and target, by variable name;
- ``edges_detail.csv``, optional: source, target and cmi_given_rest_nats; true edges with 0 there cannot be
  seen by a test given all the rest, and recall and F1 are also reported without them;
- ``schema.csv``, optional: columns name and type, which overrule the inferred kinds.

All columns of the table are nodes of the truth. Rows with missing values are left out, for every method
alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpmnet.bench.task import Problem, Task
from gpmnet.errors import InputError, quote
from gpmnet.graphs import undirected
from gpmnet.table import describe, load_table

if TYPE_CHECKING:
    import pandas as pd

    from gpmnet.graphs import Graph

TRUTH_FILES = ("truth.csv", "edges.csv")
DETAIL_FILE, SCHEMA_FILE = "edges_detail.csv", "schema.csv"
VISIBILITY = "cmi_given_rest_nats"
KIND_OF_TYPE = {
    "continuous": "continuous", "gaussian": "continuous", "ordinal": "ordinal", "poisson": "ordinal",
    "count": "ordinal", "discrete": "discrete", "categorical": "discrete",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TableTask(Task):
    """A table in a folder with its true graph.

    Attributes
    ----------
    path : Path
        The table; the other files are beside it.
    digest : str
        Of the contents of all files read: a changed table is another task, a moved folder is not.
    """

    path: Path
    digest: str

    def problem(self) -> Problem:
        """Read the table and its truth."""
        folder = self.path.parent
        table = load_table(self.path, kinds=_kinds(folder), missing="drop")
        names = table.schema.names
        truth = _graph(_truth_file(folder), _edges(_truth_file(folder)), names)
        return Problem(table, names, truth, _hidden(folder, names))

    def definition(self) -> dict[str, Any]:
        """Return what makes this task this one."""
        return super().definition() | {"table": self.name, "digest": self.digest}


def find_tables(root: Path) -> tuple[list[TableTask], list[str]]:
    """Return the tasks of a folder, or of the folders in it, and why others are none.

    Raises
    ------
    InputError
        There is no such folder, no task in it, or a truth that does not belong to its table.
    """
    if not root.is_dir():
        raise InputError(f"no such folder: {quote(root)}")
    folders = [root] if _tables_in(root) else sorted(path for path in root.iterdir() if path.is_dir())
    tasks: list[TableTask] = []
    remarks: list[str] = []
    for folder in folders:
        tables = _tables_in(folder)
        if not tables:
            continue
        if not _truth_file(folder).is_file():
            remarks.append(f"{folder.name} has no {' or '.join(TRUTH_FILES)}: left out")
            continue
        tasks += [_task(table) for table in tables]
    if not tasks:
        raise InputError(
            f"{quote(root)} holds no task: a task is a folder with data.csv or data.parquet, and truth.csv "
            "or edges.csv"
        )
    return tasks, remarks


def _task(path: Path) -> TableTask:
    folder = path.parent
    schema = describe(path, kinds=_kinds(folder))
    _graph(_truth_file(folder), _edges(_truth_file(folder)), schema.names)
    kinds = {"discrete" if column.encoding == "codes" else "continuous" for column in schema.active}
    part = path.stem.removeprefix("data").strip("_-. ")
    beside = (_truth_file(folder), folder / DETAIL_FILE, folder / SCHEMA_FILE)
    return TableTask(
        name=f"{folder.resolve().name}/{part}" if part else folder.resolve().name,
        simulator="",
        kind="mixed" if len(kinds) > 1 else next(iter(kinds), "continuous"),
        d=len(schema),
        n=schema.n_rows,
        seed=0,
        path=path,
        digest=_digest(path, *beside),
    )


def _tables_in(folder: Path) -> list[Path]:
    found = {path.stem: path for path in sorted(folder.glob("data*.csv"))}
    found |= {path.stem: path for path in sorted(folder.glob("data*.parquet"))}
    return [found[stem] for stem in sorted(found)]


def _truth_file(folder: Path) -> Path:
    return next((folder / name for name in TRUTH_FILES if (folder / name).is_file()), folder / TRUTH_FILES[0])


def _read(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """Read a small text table as it is written: a variable may be called NA."""
    import pandas as pd

    frame = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True)
    absent = [column for column in columns if column not in frame.columns]
    if absent:
        raise InputError(
            f"{quote(path)} has no column {', '.join(absent)}; it has {', '.join(frame.columns)}"
        )
    return frame


def _edges(path: Path) -> list[tuple[str, str]]:
    frame = _read(path, ("source", "target"))
    return list(zip(frame["source"], frame["target"], strict=True))


def _graph(path: Path, edges: Iterable[tuple[str, str]], names: tuple[str, ...]) -> Graph:
    position = {name: at for at, name in enumerate(names)}
    pairs: set[tuple[int, int]] = set()
    for edge in edges:
        for name in edge:
            if name not in position:
                raise InputError(f"{quote(path)} names {quote(name)}, which is no column of the table")
        first, second = sorted((position[edge[0]], position[edge[1]]))
        if first == second:
            raise InputError(f"{quote(path)} joins {quote(edge[0])} with itself")
        pairs.add((first, second))
    ends = np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2)
    return undirected(len(names), ends[:, 0], ends[:, 1])


def _hidden(folder: Path, names: tuple[str, ...]) -> Graph | None:
    """Return the true edges with no information given the rest, None where that is not known."""
    path = folder / DETAIL_FILE
    if not path.is_file():
        return None
    frame = _read(path, ("source", "target"))
    if VISIBILITY not in frame.columns:
        return None
    unseen = frame[frame[VISIBILITY].astype(float) <= 0]
    return _graph(path, zip(unseen["source"], unseen["target"], strict=True), names)


def _kinds(folder: Path) -> dict[str, str]:
    path = folder / SCHEMA_FILE
    if not path.is_file():
        return {}
    frame = _read(path, ("name", "type"))
    for kind in frame["type"]:
        if kind not in KIND_OF_TYPE:
            raise InputError(f"{quote(path)} has the type {quote(kind)}; known are {', '.join(KIND_OF_TYPE)}")
    return {name: KIND_OF_TYPE[kind] for name, kind in zip(frame["name"], frame["type"], strict=True)}


def _digest(*paths: Path) -> str:
    total = hashlib.sha256()
    for path in paths:
        if path.is_file():
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:16]
