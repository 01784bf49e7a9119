"""`gpmnet compare`: two saved networks side by side."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpmnet.cli.options import AsJson
from gpmnet.cli.stop import keeps
from gpmnet.errors import InputError, quote

if TYPE_CHECKING:
    from gpmnet.network.compare import Comparison

_MOST = 40


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A folder that `gpmnet fit` wrote.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
    table_a: Annotated[
        Path | None,
        typer.Option(metavar="TABLE", help="The table of A: with that of B the difference is tested."),
    ] = None,
    table_b: Annotated[Path | None, typer.Option(metavar="TABLE", help="The table of B.")] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="A column of both tables: rows with the same value belong together."
        ),
    ] = None,
    block_rows: Annotated[
        int | None, typer.Option(help="For series: blocks of this many consecutive rows belong together.")
    ] = None,
    permutations: Annotated[
        int, typer.Option(help="Deals of the rows between the tables; each fits both again.")
    ] = 99,
    seed: Annotated[int, typer.Option(help="Seed of the deals.")] = 0,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write a page, such as c.html.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two networks: edges of both or one, differences of strength, and whether they could be chance."""
    from gpmnet.cli.bar import progress_bar
    from gpmnet.comparing import compare as compare_networks
    from gpmnet.network import MarkovNetwork
    from gpmnet.table.dependence import Block

    if (table_a is None) != (table_b is None):
        raise InputError("a test needs both tables: give --table-a and --table-b, or neither")
    if groups is not None and block_rows is not None:
        raise InputError("--groups and --block-rows both say which rows belong together; give one of them")
    if permutations < 1:
        raise InputError(f"--permutations must be at least 1; got {permutations}")
    networks = MarkovNetwork.load(first), MarkovNetwork.load(second)
    tables = None if table_a is None or table_b is None else (table_a, table_b)
    together = groups if block_rows is None else Block(block_rows)
    keeps("a test is not kept: nothing was written")
    with progress_bar() as progress:
        found = compare_networks(
            *networks, tables=tables, groups=together, permutations=permutations, seed=seed, progress=progress
        )
    names = str(first), str(second)
    if out is not None:
        found.report(out, names)
        keeps(f"{quote(out, 200)} is complete")
    if as_json:
        typer.echo(json.dumps({"here": names[0], "there": names[1], **found.to_dict()}, indent=1))
        return
    show(found, names)
    if out is not None:
        typer.echo(f"report: {out}")


def show(found: Comparison, names: tuple[str, str]) -> None:
    """Print the edges of either network, the largest differences first."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    from gpmnet.cli.show import console
    from gpmnet.network.compare import by_difference
    from gpmnet.network.text import counted, short, sign_mark

    out = console()
    out.print(Text(f"here: {short(names[0], 100)}; there: {short(names[1], 100)}"))
    out.print(Text(repr(found).removeprefix("Comparison(").removesuffix(")")))
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("edge", "in", "here", "there", "difference", *(() if found.test is None else ("p",))):
        table.add_column(heading, justify="left" if heading in ("edge", "in") else "right")
    rows = by_difference(found)
    for row in rows[:_MOST]:
        figures = [
            "" if math.isnan(strength) else f"{strength:.2f} {sign_mark(sign, minus='-') or ' '}"
            for strength, sign in zip(row.strengths, row.signs, strict=True)
        ]
        p = [] if found.test is None else ["" if math.isnan(row.p_value) else f"{row.p_value:.3g}"]
        ends = f"{short(row.edge[0], 40)} - {short(row.edge[1], 40)}"
        table.add_row(Text(ends), row.where, *figures, f"{row.difference:+.2f}", *p)
    out.print(table)
    if len(rows) > _MOST:
        out.print(
            Text(f"… and {counted(len(rows) - _MOST, 'edge')} with smaller differences; --json prints all")
        )
