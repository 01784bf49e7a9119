"""`gpmnet fit` and `gpmnet demo`: from a table to a folder of results."""

from __future__ import annotations

import csv
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpmnet import __version__
from gpmnet.cli.options import (
    Header,
    Kinds,
    Na,
    Separator,
    Sheet,
    TablePath,
    TextEncoding,
    Transpose,
    parse_kinds,
    parse_list,
)
from gpmnet.errors import InputError, quote

if TYPE_CHECKING:
    from gpmnet.estimator import GPM, Progress

FILES = ("edges.csv", "network.json", "omega.safetensors", "run.json")

OutDir = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder of the results.")]
Fdr = Annotated[float, typer.Option(help="False-discovery rate of the edges.")]
Device = Annotated[str, typer.Option(help="cpu or cuda.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same network.")]


def fit(
    table: TablePath,
    out: OutDir,
    fdr: Fdr = 0.05,
    threshold: Annotated[
        float | None, typer.Option(help="Plain p-value threshold instead of a false-discovery rate.")
    ] = None,
    engine: Annotated[str, typer.Option(help="local.")] = "local",
    device: Device = "cpu",
    seed: Seed = 0,
    missing: Annotated[str, typer.Option(help="error, or drop rows with missing values.")] = "error",
    forbid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV with two columns: pairs that are never edges.")
    ] = None,
    require: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV with two columns: pairs that always are.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads.")] = None,
    kinds: Kinds = None,
    na: Na = "",
    transpose: Transpose = False,
    separator: Separator = None,
    encoding: TextEncoding = None,
    header: Header = None,
    sheet: Sheet = None,
) -> None:
    """Learn the Markov network of a table; write edges.csv, network.json, omega.safetensors and run.json."""
    from gpmnet.table import load_table

    loaded = load_table(
        table,
        kinds=parse_kinds(kinds),
        missing=missing,
        na=parse_list(na),
        transpose=transpose,
        separator=separator,
        encoding=encoding,
        header=header,
        sheet=sheet,
    )
    settings = {
        "engine": engine,
        "fdr": fdr,
        "threshold": threshold,
        "device": device,
        "n_jobs": jobs,
        "random_state": seed,
        "forbid": read_pairs(forbid),
        "require": read_pairs(require),
    }
    run(loaded, out, settings, str(table))


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder of the results.")] = Path(
        "gpmnet-demo"
    ),
) -> None:
    """Fit a real mixed table that comes with scikit-learn; nothing is downloaded."""
    from gpmnet.cli.demo import demo_table
    from gpmnet.cli.show import show_schema
    from gpmnet.table import load_table

    name, frame = demo_table()
    table = load_table(frame)
    show_schema(table.schema, title=name, most=None)
    run(table, out, {"fdr": 0.05, "random_state": 0}, name)


def run(table: Any, out: Path, settings: dict[str, Any], source: str) -> None:
    """Fit a loaded table, write the results whole or not at all, and print what was found."""
    from gpmnet.cli.show import show_network
    from gpmnet.estimator import GPM
    from gpmnet.files import whole_folder
    from gpmnet.network.store import write_network

    if out.exists() and not out.is_dir():
        raise InputError(f"{quote(out)} is a file; -o needs a folder")
    begun = time.time()
    with progress_bar() as progress:
        model = GPM(**settings).fit(table, progress=progress)
    with whole_folder(out, FILES) as beside:
        model.network_.edges.to_csv(beside / "edges.csv", index=False)
        write_network(model.network_, beside)
        about = about_run(model, settings, source, begun)
        (beside / "run.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    show_network(model.network_, table.schema)
    typer.echo(f"results: {out}{os.sep} ({', '.join(FILES)})")


def about_run(model: GPM, settings: dict[str, Any], source: str, begun: float) -> dict[str, Any]:
    """Return what is needed to repeat a run, and how long it took."""
    return {
        "gpmnet": __version__,
        "source": source,
        "settings": settings,
        "schema": model.table_.schema.to_dict(),
        "versions": {name: version(name) for name in ("numpy", "scipy", "torch", "pandas", "scikit-learn")},
        "python": platform.python_version(),
        "command": sys.argv[1:],
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(begun)),
        "seconds": {phase: round(value, 3) for phase, value in model.timings_.items()},
    }


def read_pairs(path: Path | None) -> list[tuple[str, str]] | None:
    """Return pairs of names from a CSV file with two columns; a first line "source,target" is a header."""
    if path is None:
        return None
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{quote(path)} cannot be read: {error}") from error
    if rows and [cell.strip().lower() for cell in rows[0][:2]] == ["source", "target"]:
        rows = rows[1:]
    for number, row in enumerate(rows, start=1):
        if len(row) < 2:
            raise InputError(
                f"{quote(path)}, row {number}: two names are expected, got {quote(','.join(row))}"
            )
    return [(row[0].strip(), row[1].strip()) for row in rows]


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show phase, share done and time left on stderr while the body runs; nothing where it is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, Any] = {}

        def update(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase, total=total)
            bar.update(tasks[phase], completed=done, total=total)

        yield update
