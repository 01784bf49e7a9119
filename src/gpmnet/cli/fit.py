"""`gpmnet fit` and `gpmnet demo`: from a table to a folder of results."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpmnet.cli.bar import progress_bar
from gpmnet.cli.options import AsJson, OpenReport, Quiet, RawCsv, Reading, TablePath, Title, reads_table
from gpmnet.cli.report import open_page
from gpmnet.cli.stop import keeps, keeps_also
from gpmnet.cli.together import check_together, help_train
from gpmnet.errors import CollinearWarning, GapWarning, InputError, quote

if TYPE_CHECKING:
    from gpmnet.network import MarkovNetwork
    from gpmnet.table import Block, Table

FILES = ("edges.csv", "network.graphml", "network.json", "omega.safetensors", "report.html", "run.json")

OutDir = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder of the results.")]
Fdr = Annotated[float, typer.Option(help="False-discovery rate of the edges.")]
Device = Annotated[str, typer.Option(help="cpu or cuda.")]
Seed = Annotated[
    int, typer.Option(help="Seed of Omega and of the deep engine; local edges do not depend on it.")
]


@reads_table
def fit(
    table: TablePath,
    out: OutDir,
    reading: Reading,
    fdr: Fdr = 0.05,
    threshold: Annotated[
        float | None, typer.Option(help="Plain p-value threshold instead of a false-discovery rate.")
    ] = None,
    min_strength: Annotated[
        float, typer.Option(help="Edges must be stronger than this; p- and q-values are for that question.")
    ] = 0.0,
    engine: Annotated[
        str,
        typer.Option(
            help="local (tests, any size), dag (search over directed graphs, up to about a thousand), deep (one joint "
            "model, up to a few hundred), paper (that model and its Omega as published), or kernels (the same, mended)."
        ),
    ] = "local",
    device: Device = "cpu",
    seed: Seed = 0,
    missing: Annotated[
        str,
        typer.Option(
            help="error, drop rows with missing values, impute (several draws, all engines), available (each test on the "
            "rows it needs; local engine), or level (missing is a category)."
        ),
    ] = "error",
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows with the same value here belong together and may depend on each other; the column is no variable.",
        ),
    ] = None,
    block_rows: Annotated[
        int | None,
        typer.Option(metavar="N", help="The rows are a series: blocks of so many belong together."),
    ] = None,
    forbid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV with two columns: pairs that are never edges.")
    ] = None,
    require: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV with two columns: pairs that always are.")
    ] = None,
    arrows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Dag engine: CSV with two columns, cause and effect, that are known."
        ),
    ] = None,
    tiers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Dag engine: CSV, a line a group of columns, earliest first: nothing is an effect of a later group.",
        ),
    ] = None,
    drop_fill_in: Annotated[
        bool,
        typer.Option(
            help="Dag engine: leave out edges without support by a test; for data of no directed graph."
        ),
    ] = False,
    most_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Local and dag engine: rows of a long table that are looked at, drawn at random; 50,000 unless told, 0 for "
            "all. Time grows with them; memory too, but not that of the dag engine.",
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads at most; -1 for all.")] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory at most, such as 4GB: smaller blocks, or a refusal."),
    ] = None,
    energy: Annotated[
        str | None, typer.Option(help="Deep engine: mlp, deep_kernel, kernel_pairs or pairwise.")
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="Deep engine: mixed, noisy, published, sliced or sliced_plain.")
    ] = None,
    penalty: Annotated[str | None, typer.Option(help="Deep engine: scad, mcp, adaptive or l1.")] = None,
    base: Annotated[
        str | None, typer.Option(help="Deep engine: pairwise, own or normal, what is learned on top of.")
    ] = None,
    decide: Annotated[
        str | None,
        typer.Option(help="Deep engine: test, or omega: edges are the support of Omega, without tests."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from where a stopped run of the same command was.")
    ] = False,
    stability: Annotated[
        int,
        typer.Option(metavar="B", help="Look for the edges again in B pairs of half-samples; 50 is plenty."),
    ] = 0,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Processes for tasks and half-samples; of a cluster, workers to wait for."
        ),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="tcp://...", help="Do tasks and half-samples on this Dask cluster.")
    ] = None,
    with_report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html; `gpmnet report DIR` can later.")
    ] = True,
    title: Title = "",
    raw_csv: RawCsv = False,
    open_report: OpenReport = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Learn the Markov network of a table: edges, an interactive report, and all that repeats the run."""
    from gpmnet.table import Block

    if groups is not None and block_rows is not None:
        raise InputError("--groups and --block-rows both say which rows belong together; give one of them")
    if open_report and not with_report:
        raise InputError("--open needs the report; leave out --no-report")
    if quiet and as_json:
        raise InputError("--quiet prints nothing, --json a summary: give one of them")
    parts = {"energy": energy, "objective": objective, "penalty": penalty, "decide": decide}
    _check_needs(engine, ("deep", "paper", "kernels"), parts | {"base": base})
    _check_needs(engine, ("dag",), {"arrows": arrows, "tiers": tiers, "drop-fill-in": drop_fill_in or None})
    _check_needs(engine, ("local", "dag"), {"most-rows": most_rows})
    settings = {
        "engine": engine,
        "fdr": fdr,
        "threshold": threshold,
        "min_strength": min_strength,
        "missing": missing,
        "device": device,
        "n_jobs": jobs,
        "memory": memory,
        "random_state": seed,
        "forbid": read_pairs(forbid),
        "require": read_pairs(require),
        "arrows": read_pairs(arrows),
        "tiers": read_tiers(tiers),
        "stability": stability,
        "workers": workers,
        "cluster": cluster,
    } | parts
    if base is not None:
        settings["options__base"] = base
    if drop_fill_in:
        settings["options__drop_fill_in"] = True
    if most_rows is not None:
        settings["options__most_rows"] = most_rows or None
    together = groups if block_rows is None else Block(block_rows)
    check_together(engine, stability, resume, workers is not None or cluster is not None)
    with progress_bar(quiet) as progress:
        progress("read", 0, 1)
        loaded = _load(table, settings, reading, together)
        progress("read", 1, 1)
    results = Results(with_report, open_report, raw_csv, title, quiet, as_json)
    from gpmnet.jobs.team import joined

    with joined() as others:
        if others.rank:
            help_train(loaded, settings)
        else:
            run(loaded, out, settings, str(table), results, resume)


def _load(path: Path, settings: dict[str, Any], reading: Reading, groups: str | Block | None) -> Table:
    """Return the table, once everything else that was asked is known to be right: a large one takes minutes to read."""
    from gpmnet.estimator import GPM
    from gpmnet.jobs import Workplace
    from gpmnet.parallel import check_n_jobs, limited_threads
    from gpmnet.table import load_table, spread_over

    how = reading.arguments()
    where = GPM().set_params(**settings).check().plan().where
    with Workplace(where) as place:
        place.check()
    with limited_threads(check_n_jobs(settings["n_jobs"])), spread_over(where):
        return load_table(path, missing=settings["missing"], groups=groups, **how)


def _check_needs(engine: str, needed: tuple[str, ...], given: dict[str, Any]) -> None:
    """Raise if an option of some engines was given to another; of an engine that there is not the estimator speaks."""
    from gpmnet.engines import ENGINES

    for name, value in given.items():
        if value is not None and engine in ENGINES and engine not in needed:
            raise InputError(f"--{name} needs --engine {' or '.join(needed)}")


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder of the results.")] = Path(
        "gpmnet-demo"
    ),
    open_report: OpenReport = False,
) -> None:
    """Fit a real mixed table that comes with scikit-learn; nothing is downloaded."""
    from gpmnet.cli.demo import demo_table
    from gpmnet.cli.show import show_schema
    from gpmnet.table import load_table

    name, frame = demo_table()
    table = load_table(frame)
    show_schema(table.schema, title=name, most=None)
    run(table, out, {"fdr": 0.05, "random_state": 0}, name, Results(open_report=open_report))


@dataclass(frozen=True)
class Results:
    """What becomes of a network.

    Attributes
    ----------
    with_report, open_report : bool
        Whether there is a report, and whether it is opened.
    raw_csv : bool
        Names in CSV files as they are.
    title : str
        Heading of the report.
    quiet, as_json : bool
        Print nothing, or one JSON object, in place of a table for people.
    """

    with_report: bool = True
    open_report: bool = False
    raw_csv: bool = False
    title: str = ""
    quiet: bool = False
    as_json: bool = False


def run(
    table: Table, out: Path, settings: dict[str, Any], source: str, results: Results, resume: bool = False
) -> None:
    """Fit a loaded table, write the results, and print what was found.

    The edges are written as soon as they are chosen, in place of what the folder held of a run before; then, once Omega is
    there, all files. Each time they appear whole or not at all. What a long fit has finished is beside the folder until all
    files are there; with `resume` the fit goes on from what a stopped one has left.

    `settings` are parameters of `GPM`, those of its parts by nested names.
    """
    from sklearn.exceptions import ConvergenceWarning

    from gpmnet.cli.show import network_summary, show_network
    from gpmnet.estimator import GPM
    from gpmnet.files import Shelf, claimed, whole_folder
    from gpmnet.jobs.team import is_started_together
    from gpmnet.network import Origin

    begun = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime())
    model = GPM().set_params(**settings)
    origin = Origin(source, tuple(sys.argv[1:]), begun, results.title)

    def write(network: MarkovNetwork, with_report: bool = False) -> None:
        with whole_folder(out, FILES) as beside:
            write_results(network, beside, with_report, results.raw_csv)
        keeps(f"{quote(out, 200)} holds the edges, without Omega and shapes")

    keeps(
        f"what {quote(out, 200)} held before is still there" if os.path.exists(out) else "nothing was written"
    )
    with claimed(out):
        with progress_bar(results.quiet) as progress, warnings.catch_warnings():
            # They are said with the network, and in the report.
            for said in (ConvergenceWarning, CollinearWarning, GapWarning):
                warnings.simplefilter("ignore", said)
            shelf = Shelf(None if is_started_together() else kept_beside(out))
            if not resume:
                shelf.remove()
            try:
                model.fit(table, progress=progress, origin=origin, on_edges=write, resume=shelf)
            except KeyboardInterrupt:
                if shelf.has_files:
                    keeps_also("the same command with --resume goes on from there")
                raise
            network = model.network_
            progress("write", 0, 1)
            write(network, results.with_report)
        shelf.remove()
        keeps(f"the results in {quote(out, 200)} are complete")
    written = [name for name in FILES if results.with_report or name != "report.html"]
    if results.as_json:
        typer.echo(
            json.dumps(
                network_summary(network, table.schema) | {"folder": str(out), "files": written}, indent=1
            )
        )
    elif not results.quiet:
        show_network(network, table.schema)
        typer.echo(f"results: {out}{os.sep} ({', '.join(written)})")
        if results.with_report:
            typer.echo(f"report: {out / 'report.html'}")
    if results.open_report:
        open_page(out / "report.html")


def kept_beside(out: Path) -> Path:
    """Return the folder of what a fit has finished: beside that of its results, or in it where nothing can be beside."""
    from gpmnet.files.leftovers import beside_name

    out = out.resolve()
    inside = out.is_dir() and (os.path.ismount(out) or not os.access(out.parent, os.W_OK | os.X_OK))
    return out / ".resume" if inside else out.parent / beside_name(out.name, ".resume")


def write_results(network: MarkovNetwork, folder: Path, with_report: bool, raw_csv: bool = False) -> None:
    """Write all files of a result into a folder that exists."""
    from gpmnet.network.store import write_network

    network.export(folder / "edges.csv", spreadsheet_safe=not raw_csv)
    network.export(folder / "network.graphml")
    write_network(network, folder)
    if with_report:
        network.report(folder / "report.html")
    facts = json.dumps(network.facts.to_dict(), indent=1)
    (folder / "run.json").write_text(facts + "\n", encoding="utf-8")


def read_pairs(path: Path | None) -> list[tuple[str, str]] | None:
    """Return pairs of names from a CSV file with two columns; a first line "source,target" or "from,to" is a header."""
    if path is None:
        return None
    rows = read_rows(path)
    headers = (["source", "target"], ["from", "to"], ["cause", "effect"])
    if rows and [cell.strip().lower() for cell in rows[0][:2]] in headers:
        rows = rows[1:]
    if not rows:
        raise InputError(
            f"{quote(path)} has no pairs; leave the option out, or give one pair of names a line"
        )
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise InputError(
                f"{quote(path)}, row {number}: two names are expected, got {quote(','.join(row))}"
            )
    return [(row[0].strip(), row[1].strip()) for row in rows]


def read_tiers(path: Path | None) -> list[list[str]] | None:
    """Return groups of names from a CSV file, a line a group, the earliest first."""
    if path is None:
        return None
    return [[cell.strip() for cell in row if cell.strip()] for row in read_rows(path)]


def read_rows(path: Path) -> list[list[str]]:
    """Return the cells of a CSV file, empty lines left out."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{quote(path)} cannot be read: {error}") from error
