"""What the commands print to a terminal; names and levels come from the data and are shown as plain text."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from gpmnet.directed.directions import CAUSAL
from gpmnet.errors import quote_all
from gpmnet.network import MarkovNetwork
from gpmnet.network.report.columns import column_notes, value_range
from gpmnet.network.report.words import probability
from gpmnet.network.text import counted, interval_text, short, sign_mark
from gpmnet.table import Column, Schema
from gpmnet.table.schema import Kind

_MOST_WARNINGS = 5
_STYLE: dict[Kind, str] = {"continuous": "cyan", "ordinal": "blue", "discrete": "magenta", "ignored": "dim"}


def console() -> Console:
    """Return a console that uses colours only on a terminal, and is wide enough elsewhere."""
    width = shutil.get_terminal_size((160, 40)).columns
    out = Console(highlight=False, soft_wrap=False)
    return out if out.is_terminal else Console(highlight=False, width=max(width, 160), no_color=True)


def show_schema(schema: Schema, title: str, most: int | None) -> None:
    """Print a table of the columns, then what is worth knowing about the whole."""
    out = console()
    table = RichTable(
        box=box.SIMPLE_HEAD, title=Text(short(title, 100)), title_justify="left", pad_edge=False
    )
    for heading, justify in (("column", "left"), ("kind", "left"), ("why", "left")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    table.add_column("levels or range")
    table.add_column("missing", justify="right")
    table.add_column("notes")
    shown = schema.columns if most is None else schema.columns[:most]
    for column in shown:
        table.add_row(
            Text(short(column.name, 40)),
            Text(column.kind, style=_STYLE[column.kind]),
            Text(short(column.why, 80)),
            Text(short(levels_or_range(column), 60)),
            Text(f"{column.n_missing:,}" if column.n_missing else ""),
            Text(short(column_notes(column, 40), 120)),
        )
    out.print(table)
    if len(shown) < len(schema):
        out.print(
            Text(f"… and {counted(len(schema) - len(shown), 'more column')}; --all prints all, --json too")
        )
    counts = Counter(column.kind for column in schema)
    kinds = ", ".join(f"{counts[kind]:,} {kind}" for kind in _STYLE if counts[kind])
    out.print(Text(f"{counted(schema.n_rows, 'row')}, {counted(len(schema), 'column')}: {kinds}"))
    gaps = [column for column in schema.active if column.n_missing]
    if gaps:
        out.print(
            Text(
                f"{counted(len(gaps), 'active column')} {'has' if len(gaps) == 1 else 'have'} missing values"
            )
        )
    for warning in schema.warnings[:_MOST_WARNINGS]:
        out.print(Text(f"note: {short(warning, 400)}"))
    if len(schema.warnings) > _MOST_WARNINGS:
        out.print(
            Text(f"… and {counted(len(schema.warnings) - _MOST_WARNINGS, 'more note')}; --json prints all")
        )


def levels_or_range(column: Column) -> str:
    """Return the levels of a coded column, the range of a scored one."""
    return f"{len(column.levels)}: {', '.join(column.levels)}" if column.levels else value_range(column)


def _probability(value: float) -> str:
    return "" if math.isnan(value) else probability(value).removeprefix("= ")


def _why_left_out(column: Column) -> str:
    return "; ".join((column.why, *column.notes))


def _joined(row: Any) -> str:
    """Return what stands between the ends of an edge: an arrow where one is compelled, dots between co-parents."""
    if getattr(row, "kind", "") == "co-parents":
        return "..."
    return getattr(row, "direction", "").replace("--", "-") or "-"


def show_network(network: MarkovNetwork, schema: Schema, most: int = 20) -> None:
    """Print the strongest edges, and which variables have none."""
    out = console()
    edges = network.edges
    out.print(Text(repr(network)))
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    directed = network.directions is not None
    drawn = ("stability",) if network.resampling is not None else ()
    for heading in ("edge", "strength", "95% interval", "sign", "p", "evidence" if directed else "q", *drawn):
        table.add_column(heading, justify="left" if heading == "edge" else "right")
    differ = (edges["n_rows"].dropna() != network.n_rows).any()
    if differ:
        table.add_column("rows", justify="right")
    strongest = edges.sort_values("strength", ascending=False).head(most)
    for row in strongest.itertuples(index=False):
        table.add_row(
            Text(f"{short(str(row.source), 40)} {_joined(row)} {short(str(row.target), 40)}"),
            "" if math.isnan(float(row.strength)) else f"{row.strength:.2f}",  # type: ignore[arg-type]
            interval_text(float(row.strength_low), float(row.strength_high)),  # type: ignore[arg-type]
            sign_mark(float(row.sign), minus="-"),  # type: ignore[arg-type]
            _probability(float(row.p_value)),  # type: ignore[arg-type]
            f"{row.evidence:.0f}" if directed else _probability(float(row.q_value)),  # type: ignore[arg-type]
            *(f"{row.stability:.2f}" for _ in drawn),
            *([f"{row.n_rows:,.0f}"] if differ else []),
        )
    out.print(table)
    if len(edges) > most:
        out.print(Text(f"… and {counted(len(edges) - most, 'weaker edge')} in edges.csv"))
    joined = set(edges["source"]) | set(edges["target"])
    alone = [name for name in network.names if name not in joined]
    if alone:
        listed = ", ".join(short(name, 40) for name in alone[:10])
        rest = f" and {len(alone) - 10:,} more" if len(alone) > 10 else ""
        out.print(Text(f"without an edge: {listed}{rest}"))
    ignored = [column for column in schema if column.kind == "ignored"]
    for column in ignored[:_MOST_WARNINGS]:
        out.print(Text(f"left out: {short(column.name, 40)} ({short(_why_left_out(column), 160)})"))
    if len(ignored) > _MOST_WARNINGS:
        out.print(Text(f"… and {len(ignored) - _MOST_WARNINGS:,} more columns; gpmnet describe says why"))
    for finding in network.joint_findings[:_MOST_WARNINGS]:
        out.print(Text(short(finding.text, 300)))
    if len(network.joint_findings) > _MOST_WARNINGS:
        left_out = len(network.joint_findings) - _MOST_WARNINGS
        out.print(Text(f"… and {counted(left_out, 'more joint finding')} in network.json"))
    for group in network.groups[:_MOST_WARNINGS]:
        out.print(Text(f"near-copies: {quote_all(group)}"))
    if len(network.groups) > _MOST_WARNINGS:
        out.print(Text(f"… and {len(network.groups) - _MOST_WARNINGS:,} more such"))
    if network.directions is not None:
        out.print(Text(f"{network.directions.graph}; {CAUSAL}"))
    for warning in dict.fromkeys((*schema.warnings, *network.facts.warnings)):
        out.print(Text(f"note: {short(warning, 400)}"))


def network_summary(network: MarkovNetwork, schema: Schema) -> dict[str, Any]:
    """Return what `show_network` prints, as plain data for programs; unknown figures are None."""
    edges = network.edges.sort_values("strength", ascending=False, kind="stable")
    cutoff = network.cutoff
    return {
        "n_rows": network.n_rows,
        "n_variables": len(network.names),
        "n_edges": network.n_edges,
        "cutoff": None
        if cutoff is None
        else {"of": cutoff.of, "value": cutoff.value, "min_strength": cutoff.min_strength},
        "edges": [{name: _plain(value) for name, value in row.items()} for row in edges.to_dict("records")],
        "isolated": list(network.isolated),
        "communities": [list(group) for group in network.communities()],
        "joint_findings": [finding.to_dict() for finding in network.joint_findings],
        "groups": [list(group) for group in network.groups],
        "notes": list(dict.fromkeys((*schema.warnings, *network.facts.warnings))),
        "seconds": dict(network.facts.seconds),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    return list(value) if isinstance(value, tuple) else value
