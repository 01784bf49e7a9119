"""`gpmnet report`: the report of a saved network, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpmnet.cli.options import OpenReport, Title


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `gpmnet fit` wrote.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="The page; DIR/report.html unless given."),
    ] = None,
    merge_groups: Annotated[
        bool, typer.Option("--merge-groups", help="Show each group of near-copies as one node.")
    ] = False,
    title: Title = "",
    open_report: OpenReport = False,
) -> None:
    """Make the interactive report of a saved network again, from the folder alone."""
    from gpmnet.network import MarkovNetwork

    network = MarkovNetwork.load(folder)
    network = network.merged_groups() if merge_groups else network
    path = network.report(out or folder / "report.html", title=title)
    typer.echo(f"report: {path}")
    if open_report:
        open_page(path)


def open_page(path: Path) -> None:
    """Show a page in the browser, or say that there is none."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        typer.echo("no browser could be opened here; open the file yourself", err=True)
