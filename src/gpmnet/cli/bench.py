"""`gpmnet bench`: what there is, run it, draw it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpmnet.cli.stop import keeps
from gpmnet.errors import InputError, quote

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from gpmnet.jobs.cluster import Caller

bench_app = typer.Typer(
    name="bench",
    help="Measure methods on tasks whose true graph is known.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

OutDir = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder of the rows.")]


@bench_app.command("list")
def list_() -> None:
    """Print suites, methods and simulators, and what is missing for those that cannot run here."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    from gpmnet.bench import METHODS, SUITES
    from gpmnet.cli.show import console
    from gpmnet.simulate import SIMULATORS

    def show(title: str, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        table = RichTable(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
        for heading in headings:
            table.add_column(heading)
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        out.print(table)

    out = console()
    suites = [(name, suite.summary, f"{suite.fdr:g}") for name, suite in SUITES.items()]
    show("suites (gpmnet bench run NAME -o DIR)", ("suite", "what it measures", "FDR"), suites)
    methods = [(m.name, m.summary, m.missing() or "ready") for m in METHODS.values()]
    show("methods (--methods A,B)", ("method", "what it is", "here"), methods)
    simulators = [(name, ", ".join(s.kinds), s.summary) for name, s in SIMULATORS.items()]
    show("simulators (gpmnet simulate NAME -o DIR)", ("simulator", "kinds", "what it draws"), simulators)


@bench_app.command()
def run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A suite, or a folder with tables.")],
    out: OutDir,
    methods: Annotated[str, typer.Option(metavar="A,B", help="Methods; the suite's unless given.")] = "",
    d: Annotated[str, typer.Option("--d", metavar="4,6", help="Numbers of variables.")] = "",
    n: Annotated[str, typer.Option("--n", metavar="500", help="Numbers of rows.")] = "",
    seeds: Annotated[int | None, typer.Option(metavar="K", help="How many draws of each task.")] = None,
    first_seed: Annotated[int, typer.Option(metavar="K", help="Seed of the first draw.")] = 0,
    kinds: Annotated[str, typer.Option(metavar="A,B", help="continuous, discrete, mixed.")] = "",
    tasks: Annotated[str, typer.Option(metavar="PATTERNS", help="Only these, for example 'bn_*'.")] = "",
    fdr: Annotated[float | None, typer.Option(help="False-discovery rate of methods that have one.")] = None,
    tables: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the suite tables.")] = None,
    max_seconds: Annotated[float, typer.Option(help="Limit of one cell, drawing its data included.")] = 600.0,
    max_memory_gb: Annotated[float, typer.Option(help="Limit of one cell.")] = 8.0,
    jobs: Annotated[int, typer.Option(help="Cells at a time; more than 1 blurs their seconds.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(metavar="tcp://...", help="Run cells on the workers of this Dask cluster.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Of a cluster: workers to wait for, and cells at a time.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed and skipped cells again.")] = False,
) -> None:
    """Run every cell of a suite that has no row yet: the same command after a kill completes it."""
    from gpmnet.bench import Filters, Limits, run_cells, select
    from gpmnet.cli.options import parse_list
    from gpmnet.cli.progress import CellProgress
    from gpmnet.files import check_writable

    filters = Filters(
        methods=tuple(parse_list(methods)),
        d=parse_numbers("--d", d),
        n=parse_numbers("--n", n),
        seeds=seeds,
        first_seed=first_seed,
        kinds=tuple(parse_list(kinds)),
        tasks=tuple(parse_list(tasks)),
        fdr=fdr,
    )
    limits = Limits(max_seconds, max_memory_gb)
    check_writable(out)
    cells, remarks = select(name, filters, tables)
    for remark in remarks:
        typer.echo(f"note: {remark}", err=True)
    keeps(f"finished cells have their rows in {quote(out, 200)}; the same command goes on from there")
    with CellProgress() as progress, _caller(cluster, workers) as caller:
        at_a_time = jobs if caller is None else workers or 1
        options: dict[str, Any] = {
            "limits": limits,
            "jobs": at_a_time,
            "retry": retry,
            "watcher": progress,
            "caller": caller,
        }
        ran = run_cells(cells, out, **options)
    typer.echo(_closing(len(cells), ran, _states(out, {cell.key for cell in cells}), out))


@contextmanager
def _caller(cluster: str | None, workers: int | None) -> Iterator[Caller | None]:
    """Yield what calls functions on a cluster; None where there is none."""
    from gpmnet.parameters import where_of

    where_of(workers, cluster)
    if cluster is None:
        if workers is not None:
            raise InputError("--workers is for a cluster; --jobs runs several cells at a time here")
        yield None
        return
    from gpmnet.jobs.cluster import Caller

    caller = Caller(cluster, workers)
    try:
        yield caller
    finally:
        caller.close()


@bench_app.command()
def plot(directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the rows.")]) -> None:
    """Draw the figures and write summary.md, from the rows alone."""
    from gpmnet.bench import write_report

    for path in write_report(directory):
        typer.echo(str(path))


def parse_numbers(option: str, text: str) -> tuple[int, ...]:
    """Return the whole numbers of a list.

    >>> parse_numbers("--d", "4, 6")
    (4, 6)
    """
    from gpmnet.cli.options import parse_list

    try:
        return tuple(int(part) for part in parse_list(text))
    except ValueError as error:
        raise InputError(f"{option} expects whole numbers such as 4,6; got {quote(text)}") from error


def _states(out: Path, keys: set[str]) -> Counter[str]:
    from collections import Counter

    from gpmnet.bench.rows import read_rows

    return Counter(row["status"] for key, row in read_rows(out).items() if key in keys)


def _closing(total: int, ran: int, states: Counter[str], out: Path) -> str:
    counts = ", ".join(f"{states[state]} {state}" for state in ("ok", "skipped", "failed") if states[state])
    again = "; --retry runs those without numbers again" if states["skipped"] + states["failed"] else ""
    return f"{total} cells, {ran} run now: {counts}{again}. Draw them with: gpmnet bench plot {out}"
