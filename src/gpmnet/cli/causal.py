"""`gpmnet causal`: directions inside a saved network."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpmnet.cli.bar import progress_bar
from gpmnet.cli.fit import read_pairs, read_tiers
from gpmnet.cli.options import RawCsv, Reading, TablePath, reads_table
from gpmnet.errors import InputError, UnknownColumnError, quote, quote_all

if TYPE_CHECKING:
    from gpmnet.causal import CPDAG, Discovery, Knowledge
    from gpmnet.network import MarkovNetwork
    from gpmnet.table import Table

METHODS = ("pc", "ges", "boss")
_MOST = 20
MEANING = (
    "an arrow is in every directed graph with these independences. It is a cause only if no common cause of two "
    "columns is missing, rows were not selected by what is in them, and no two effects cancel out; nothing is said "
    "about the size of an effect"
)


@reads_table
def causal(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `gpmnet fit` wrote.")],
    table: TablePath,
    reading: Reading,
    method: Annotated[
        str, typer.Option(help="pc (tests), ges (a score) or boss (a score, over orders).")
    ] = "pc",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Folder of the results; DIR unless given."),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="PC: sets with at least this p-value separate a pair; 0.05 unless given."),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            help="GES: gaussian, or generalised for any kinds of columns, up to some hundred rows; by kinds unless given."
        ),
    ] = None,
    require: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV with two columns, from and to: arrows that are there."),
    ] = None,
    forbid: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV with two columns, from and to: arrows that are not."),
    ] = None,
    tiers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV, a line a group of columns, earliest first: no effect is in an earlier line than a cause.",
        ),
    ] = None,
    raw_csv: RawCsv = False,
) -> None:
    """Find directions inside a saved network: the class of directed graphs that fit the table it was learned from."""
    from gpmnet.network import MarkovNetwork

    if method not in METHODS:
        raise InputError(f"--method must be one of {', '.join(METHODS)}; got {quote(method)}")
    for option, value, needs in (("--alpha", alpha, "pc"), ("--score", score, "ges")):
        if value is not None and method != needs:
            raise InputError(f"{option} needs --method {needs}")
    network = MarkovNetwork.load(folder)
    loaded = _table(table, network, reading)
    knowledge = _knowledge(loaded, require, forbid, tiers)
    found = _search(method, loaded, network, {"alpha": alpha, "score": score}, knowledge)
    out = folder if out is None else out
    names = write(found.graph, out, method, raw_csv)
    _show(found, network, names[1])
    typer.echo(f"results: {out}{os.sep} ({', '.join(names)})")


def write(graph: CPDAG, out: Path, method: str, raw_csv: bool = False) -> tuple[str, str]:
    """Write the class and its arrows into a folder, whole or not at all, and return the names of the files.

    The method is in the names: what another method found stays beside it.
    """
    from gpmnet.files import whole_folder
    from gpmnet.network.escape import spreadsheet_text

    text = str if raw_csv else spreadsheet_text
    names = f"cpdag_{method}.json", f"arcs_{method}.csv"
    with whole_folder(out, names) as beside:
        graph.save(beside / names[0])
        with (beside / names[1]).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["from", "to", "kind"])
            for kind, pairs in (("compelled", graph.compelled), ("reversible", graph.reversible)):
                writer.writerows([(text(one), text(other), kind) for one, other in pairs])
    return names


def _table(path: Path, network: MarkovNetwork, reading: Reading) -> Table:
    """Return the table, its columns taken for what the network took them for."""
    from gpmnet.table import MISSING, load_table

    given = reading.arguments()
    schema = network.facts.schema
    kinds: dict[str, str] = {} if schema is None else {column.name: column.kind for column in schema}
    missing = network.facts.settings.get("missing", "error")
    policy = missing if isinstance(missing, str) else "error"
    if policy in MISSING and MISSING[policy].filling is not None:
        raise InputError(
            f"the network was learned with missing={quote(policy)}, and a search for directions needs complete rows; learn "
            "it with --missing drop, or its directions with --engine dag --missing impute"
        )
    try:
        return load_table(path, missing=policy, **given | {"kinds": kinds | given["kinds"]})
    except UnknownColumnError as error:
        lacking = [name for name in error.columns if name in kinds]
        if not lacking:  # it was --kinds that named a column of no table
            raise
        raise InputError(
            f"{quote(path)} does not belong to the network: it has no column {quote_all(lacking)}; "
            "give the table that the network was learned from"
        ) from error


def _knowledge(table: Table, require: Path | None, forbid: Path | None, tiers: Path | None) -> Knowledge:
    from gpmnet.causal import Knowledge

    arrows, forbidden = (read_pairs(path) or () for path in (require, forbid))
    return Knowledge.from_names(
        table.names, arrows, forbidden, read_tiers(tiers) or (), table.schema.duplicates
    )


def _search(
    method: str, table: Table, network: MarkovNetwork, given: dict[str, Any], knowledge: Knowledge
) -> Discovery:
    from gpmnet.causal import PCOptions, boss, ges, pc

    with progress_bar() as progress:
        if method == "pc":
            options = PCOptions() if given["alpha"] is None else PCOptions(alpha=given["alpha"])
            return pc(table, network, options=options, knowledge=knowledge, progress=progress)
        if method == "boss":
            return boss(table, network, knowledge=knowledge, progress=progress)
        return ges(table, network, score=given["score"], knowledge=knowledge, progress=progress)


def _show(found: Discovery, network: MarkovNetwork, all_in: str) -> None:
    """Print the arrows, the open edges, and what may be said of them; `all_in` is the file that has them all."""
    from gpmnet.network.text import counted, short

    graph = found.graph
    lines = [f"{short(a, 40)} -> {short(b, 40)}" for a, b in graph.compelled]
    lines += [f"{short(a, 40)} - {short(b, 40)} (either way)" for a, b in graph.reversible]
    typer.echo(repr(graph))
    for line in lines[:_MOST]:
        typer.echo(f"  {line}")
    if len(lines) > _MOST:
        typer.echo(f"  … and {len(lines) - _MOST:,} more in {all_in}")
    if found.contradictions:
        count = counted(len(found.contradictions), "collider")
        typer.echo(f"note: {count} on which tests contradict each other; the surest answers were kept")
    left_out = [name for name in network.names if name not in graph.names]
    if left_out:
        typer.echo(f"note: {counted(len(left_out), 'column')} left out, for repeating another")
    typer.echo(f"note: {MEANING}")
