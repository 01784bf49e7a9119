"""A network as the plain dict that the templates and the page's script read; no HTML here."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpmnet.network.report.columns import ColumnFacts, column_facts, texts, twin_note
from gpmnet.network.report.parts import (
    KINDS,
    MOST_IN_MATRIX,
    Shown,
    choose,
    matrix_order,
    node_data,
    pair_data,
    shape_data,
    weight_of,
)
from gpmnet.network.report.words import label, listing, number, percent, probability
from gpmnet.network.text import counted, short

if TYPE_CHECKING:
    from gpmnet.network.network import MarkovNetwork

MOST_LISTED = 40
"""Longest list of columns in the notes; the rest is counted."""
STRONGEST = 5
TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".xlsx")


def summarise(network: MarkovNetwork) -> dict[str, Any]:
    """Return everything the report says, as plain data.

    Returns
    -------
    dict
        headline (facts in words), notes (warnings with their columns), level, nodes, pairs, shapes, matrix
        (order of the Omega heatmap), run (settings, versions, command).
    """
    columns = column_facts(network.about)
    shown = choose(network)
    nodes = node_data(network, shown, columns)
    twins = {
        frozenset((name, column.duplicate_of))
        for name, column in columns.items()
        if column.duplicate_of is not None
    }
    pairs = pair_data(network, shown, twins)
    return {
        "title": title_of(network.about),
        "headline": headline(network, shown, nodes, pairs),
        "notes": notes(network, columns),
        "level": level_of(network),
        "n_rows": network.n_rows,
        "n_edges": network.n_edges,
        "n_names": len(network.names),
        "nodes": nodes,
        "pairs": pairs,
        "shapes": shape_data(network, shown),
        "matrix": matrix_data(nodes),
        "run": run_data(network.about),
    }


def title_of(about: Mapping[str, Any]) -> str:
    """Return the name of the table: of a file its last part.

    >>> title_of({"source": "data/2024/plants.csv"}), title_of({"source": "tea/coffee survey"}), title_of({})
    ('plants.csv', 'tea/coffee survey', 'Markov network')
    """
    source = str(about.get("source") or "Markov network")
    if source.lower().endswith(TABLES):
        source = source.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return short(source, 120)


def level_of(network: MarkovNetwork) -> dict[str, Any] | None:
    """Return which figure chose the edges, and at what level; None where the network does not say."""
    if network.fdr is not None:
        return {"figure": "q_value", "letter": "q", "value": network.fdr}
    settings = network.about.get("settings")
    threshold = settings.get("threshold") if isinstance(settings, dict) else None
    if isinstance(threshold, int | float) and 0 < threshold < 1:
        return {"figure": "p_value", "letter": "p", "value": float(threshold)}
    return None


def headline(
    network: MarkovNetwork, shown: Shown, nodes: Mapping[str, Any], pairs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the findings in words."""
    kinds = Counter(network.kinds)
    of_kinds = [f"{kinds[kind]:,} {kind}" for kind in KINDS if kinds[kind]]
    rows = f"{counted(network.n_rows, 'row')} and " if network.n_rows is not None else ""
    size = f"{rows}{counted(len(network.names), 'variable')}"
    if of_kinds:
        size += f" ({listing(of_kinds)})"
    ends = np.r_[network.pairs.first[network.pairs.is_edge], network.pairs.second[network.pairs.is_edge]]
    alone = np.setdiff1d(np.arange(len(network.names)), ends)
    return {
        "size": f"{size}.",
        "edges": _edges_in_words(network),
        "tiles": [
            [f"{network.n_rows:,}" if network.n_rows is not None else "?", "rows"],
            [f"{len(network.names):,}", "variables"],
            [f"{network.n_edges:,}", "edges" if network.n_edges != 1 else "edge"],
            [f"{len(alone):,}", "without an edge"],
        ],
        "strongest": [strongest(nodes, pairs, at) for at in range(STRONGEST) if at < sum(pairs["edge"])],
        "alone": _alone_in_words([network.names[at] for at in alone[:MOST_LISTED]], len(alone)),
        "part": _part_in_words(network, shown),
    }


def _edges_in_words(network: MarkovNetwork) -> str:
    found = counted(network.n_edges, "edge") if network.n_edges else "No edge"
    level = level_of(network)
    if level is None:
        return f"{found}: the pairs of variables that depend on each other given all the others."
    at = f"a false-discovery rate of {percent(level['value'])}" if level["letter"] == "q" else ""
    at = at or f"p at most {number(level['value'])}, not corrected for the number of pairs"
    meaning = (
        ""
        if level["letter"] == "p"
        else f"; at most about {percent(level['value'])} of them are expected to be false"
    )
    if not network.n_edges:
        return f"No edge at {at}."
    return f"{found} at {at}{meaning}."


def strongest(nodes: Mapping[str, Any], pairs: Mapping[str, Any], at: int) -> dict[str, Any]:
    """Return one of the strongest edges in words; the pairs are ordered by strength."""
    strength, q = pairs["strength"][at], pairs["q_value"][at]
    figures = [] if strength is None else [f"strength {number(strength)}"]
    figures += [] if q is None else [f"q {probability(q)}"]
    return {
        "pair": at,
        "source": label(nodes["name"][pairs["a"][at]]),
        "target": label(nodes["name"][pairs["b"][at]]),
        "says": pairs["says"][at],
        "figures": ", ".join(figures),
    }


def _alone_in_words(names: list[str], n: int) -> str:
    if not n:
        return ""
    listed = [label(name, 40) for name in names]
    rest = n - len(listed)
    return listing([*listed, f"{rest:,} more"] if rest else listed)


def _part_in_words(network: MarkovNetwork, shown: Shown) -> str:
    if shown.is_all:
        return ""
    n_edges = int(np.count_nonzero(network.pairs.is_edge[shown.pairs]))
    least = float(weight_of(network)[shown.pairs][:n_edges].min(initial=np.inf))
    return (
        f"The network is too large for one page: it shows the {n_edges:,} strongest of "
        f"{counted(network.n_edges, 'edge')} (strength {number(least)} and more) and "
        f"{len(shown.nodes):,} of {counted(len(network.names), 'variable')}. edges.csv lists every edge."
    )


def notes(network: MarkovNetwork, columns: Mapping[str, ColumnFacts]) -> list[dict[str, Any]]:
    """Return what a reader should know about the table: one item a kind of note, with the columns it concerns."""
    schema = network.about.get("schema")
    warnings = texts(schema.get("warnings")) if isinstance(schema, dict) else ()
    warnings += tuple(text for text in texts(network.about.get("warnings")) if text not in warnings)
    found: dict[str, list[tuple[str | None, str]]] = {
        "About the table": [(None, warning) for warning in warnings],
        "Ignored columns": [],
        "Columns that repeat another": [],
        "Missing values": [],
        "Changed or worth knowing": [],
    }
    for name, column in columns.items():
        if column.kind == "ignored":
            found["Ignored columns"].append((name, column.why))
            continue
        if column.duplicate_of is not None:
            found["Columns that repeat another"].append((name, twin_note(column.duplicate_of)))
        if column.n_missing:
            found["Missing values"].append((name, f"{counted(column.n_missing, 'row')} without a value"))
        found["Changed or worth knowing"] += [(name, note) for note in column.notes]
    return [
        {
            "title": title,
            "n": len(items),
            "items": [
                [label(name, 80) if name is not None else "", short(text, 300)]
                for name, text in items[:MOST_LISTED]
            ],
            "more": max(0, len(items) - MOST_LISTED),
        }
        for title, items in found.items()
        if items
    ]


def matrix_data(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the order of the Omega heatmap, and how many variables it leaves out."""
    order = matrix_order(nodes)
    n = sum(1 for degree in nodes["degree"] if degree)
    return {"order": order, "left_out": n - len(order), "most": MOST_IN_MATRIX}


def run_data(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings, versions and the command, each as text that can be shown."""
    labels = {"source": "table", "seed": "seed", "started": "started", "python": "Python"}
    facts = [
        [label, short(str(about[key]), 500)] for key, label in labels.items() if about.get(key) is not None
    ]
    seconds = ", ".join(f"{name} {value}" for name, value in _items(about.get("seconds")))
    return {
        "facts": [*facts, ["seconds", seconds]] if seconds else facts,
        "settings": _items(about.get("settings")),
        "versions": _items(about.get("versions")),
        "command": command_text(about.get("command")),
    }


def _items(value: Any) -> list[list[str]]:
    """Return the items of a mapping as texts; nothing if it is none."""
    if not isinstance(value, dict):
        return []
    return [
        [short(str(name)), "none" if item is None else short(str(item), 300)] for name, item in value.items()
    ]


def command_text(command: Any) -> str:
    """Return the command line that repeats a run, quoted for a shell; empty where there was none.

    >>> command_text(["fit", "my table.csv", "-o", "out"])
    "gpmnet fit 'my table.csv' -o out"
    """
    words = texts(command)
    return shlex.join(["gpmnet", *words]) if words else ""
