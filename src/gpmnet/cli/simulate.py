"""`gpmnet simulate`: a sample whose true graph is known, as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpmnet.errors import InputError, quote

if TYPE_CHECKING:
    from gpmnet.simulate import Simulation

PARQUET_ABOVE = 5_000_000
"""Tables of more cells than this are written as Parquet: text would take minutes and gigabytes."""

FILES = ("data.csv", "data.parquet", "truth.csv", "schema.csv", "simulation.json")


def simulate(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A simulator; `gpmnet bench list` names them.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write.")],
    kind: Annotated[
        str | None, typer.Option(help="continuous, discrete or mixed; the simulator's first unless given.")
    ] = None,
    d: Annotated[int, typer.Option("--d", help="Variables.")] = 20,
    n: Annotated[int, typer.Option("--n", help="Rows.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same files.")] = 0,
    option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the simulator; repeatable.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty, replacing these files.")
    ] = False,
) -> None:
    """Draw a sample: data.csv (data.parquet above 5 million cells), truth.csv, schema.csv."""
    from gpmnet.network.text import counted
    from gpmnet.simulate import simulate as draw

    if out.exists() and not out.is_dir():
        raise InputError(f"{quote(out)} is a file; -o needs a folder")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise InputError(f"{quote(out)} is not empty; choose another folder, or give --force")
    drawn = draw(name, d=d, n=n, seed=seed, kind=kind, **parse_options(option))
    written = write_simulation(drawn, out)
    edges = drawn.truth.nnz // 2
    typer.echo(
        f"{name}: {counted(n, 'row')}, {counted(d, 'variable')}, {counted(edges, 'edge')}, seed {seed}: "
        f"{written} and truth.csv"
    )


def parse_options(given: list[str] | None) -> dict[str, Any]:
    """Return options from KEY=VALUE; values that are JSON (numbers, true, null) are read as such.

    >>> parse_options(["noise=gamma", "density=0.2", "smooth=true"])
    {'noise': 'gamma', 'density': 0.2, 'smooth': True}
    """
    options: dict[str, Any] = {}
    for text in given or []:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"--option expects KEY=VALUE, got {quote(text)}")
        try:
            options[key.strip().replace("-", "_")] = json.loads(value.strip())
        except json.JSONDecodeError:
            options[key.strip().replace("-", "_")] = value.strip()
    return options


def write_simulation(drawn: Simulation, out: Path) -> Path:
    """Write a simulation as files that are also a benchmark task; return the path of its table."""
    from gpmnet.files import whole_folder

    with whole_folder(out, FILES) as beside:
        table = _write_files(drawn, beside)
    return out / table


def _write_files(drawn: Simulation, folder: Path) -> str:
    import pandas as pd

    from gpmnet import __version__

    drawn.edges().to_csv(folder / "truth.csv", index=False)
    pd.DataFrame({"name": drawn.names, "type": drawn.kinds}).to_csv(folder / "schema.csv", index=False)
    made = {"simulator": drawn.name, "gpmnet": __version__, **drawn.parameters}
    (folder / "simulation.json").write_text(json.dumps(made, indent=1, default=str) + "\n", encoding="utf-8")
    if drawn.values.size <= PARQUET_ABOVE:
        drawn.frame().to_csv(folder / "data.csv", index=False)
        return "data.csv"
    _write_parquet(drawn, folder / "data.parquet")
    return "data.parquet"


def _write_parquet(drawn: Simulation, path: Path) -> None:
    """Write without looking for repeated values: with 100,000 columns that would take most of the time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [
        pa.array(column.astype(np.int16) if kind == "discrete" else column)
        for column, kind in zip(np.ascontiguousarray(drawn.values.T), drawn.kinds, strict=True)
    ]
    table = pa.Table.from_arrays(columns, names=list(drawn.names))
    pq.write_table(table, path, use_dictionary=False, compression="none")
