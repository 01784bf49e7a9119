"""A network as the plain dict that the templates and the page's script read; no HTML here."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpmnet.directed.directions import CAUSAL
from gpmnet.network.facts import value_text
from gpmnet.network.joint import joint_notes
from gpmnet.network.report.columns import twin_note
from gpmnet.network.report.parts import (
    KINDS,
    MOST_AT_ONCE,
    MOST_IN_MATRIX,
    Shown,
    choose,
    link_of,
    matrix_order,
    node_data,
    pair_data,
    shape_data,
    weight_of,
)
from gpmnet.network.report.words import (
    interval_words,
    label,
    listing,
    number,
    percent,
    probability,
    strength_words,
)
from gpmnet.network.text import counted, short

if TYPE_CHECKING:
    from gpmnet.network.facts import Facts, Origin
    from gpmnet.network.network import MarkovNetwork
    from gpmnet.selection import Cutoff

MOST_LISTED = 40
"""Longest list of columns in the notes; the rest is counted."""
STRONGEST = 5
MOST_NAMED = 5
"""Variables that a hint names."""
TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".xlsx")


def summarise(network: MarkovNetwork, title: str = "") -> dict[str, Any]:
    """Return everything the report says, as plain data; without a title that of the fit is its heading.

    Returns
    -------
    dict
        headline (facts in words), notes (warnings with their columns), cutoff, nodes, pairs, shapes, matrix
        (order of the Omega heatmap), run (settings, versions, command).
    """
    shown = choose(network)
    nodes = node_data(network, shown)
    pairs = pair_data(network, shown)
    return {
        "title": short(title, 120) if title else title_of(network.facts.origin),
        "headline": headline(network, shown, nodes, pairs),
        "notes": notes(network.facts, joint_notes(network)),
        "cutoff": cutoff_data(network.cutoff),
        "n_rows": network.n_rows,
        "n_edges": network.n_edges,
        "n_names": len(network.names),
        "most_at_once": MOST_AT_ONCE,
        "nodes": nodes,
        "pairs": pairs,
        "shapes": shape_data(network, shown),
        "matrix": matrix_data(nodes),
        "run": run_data(network.facts),
        "stability": "" if network.resampling is None else f"{network.resampling.text}.",
        "causal": "" if network.directions is None else f"{CAUSAL[0].upper()}{CAUSAL[1:]}.",
    }


def title_of(origin: Origin | None) -> str:
    """Return the title that the fit was given, or the name of the table: of a file its last part.

    >>> from gpmnet.network import Origin
    >>> title_of(Origin("data/2024/plants.csv")), title_of(Origin("tea/coffee survey")), title_of(None)
    ('plants.csv', 'tea/coffee survey', 'Markov network')
    """
    if origin is not None and origin.title:
        return short(origin.title, 120)
    source = (origin and origin.source) or "Markov network"
    if source.lower().endswith(TABLES):
        source = source.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return short(source, 120)


def cutoff_data(cutoff: Cutoff | None) -> dict[str, Any] | None:
    """Return which figure chose the edges, up to where, above which strength; None where the network does not say."""
    if cutoff is None:
        return None
    return {
        "figure": f"{cutoff.of}_value",
        "letter": cutoff.of,
        "value": cutoff.value,
        "min_strength": cutoff.min_strength,
    }


def headline(
    network: MarkovNetwork, shown: Shown, nodes: Mapping[str, Any], pairs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the findings in words."""
    kinds = Counter(network.kinds)
    of_kinds = [f"{kinds[kind]:,} {kind}" for kind in KINDS if kinds[kind]]
    rows = f"{counted(network.n_rows, 'row')} and " if network.n_rows is not None else ""
    only = f"{network.kinds[0]} " if of_kinds and len(kinds) == 1 else ""
    size = f"{rows}{counted(len(network.names), f'{only}variable')}"
    if of_kinds and not only:
        size += f" ({listing(of_kinds)})"
    ends = np.r_[network.pairs.first[network.pairs.is_edge], network.pairs.second[network.pairs.is_edge]]
    alone = np.setdiff1d(np.arange(len(network.names)), ends)
    jointly = {finding.variable for finding in network.joint_findings}
    return {
        "size": f"{size}.",
        "edges": _edges_in_words(network),
        "strongest": [strongest(nodes, pairs, at) for at in _found(network, shown)[:STRONGEST]],
        "n_alone": len(alone),
        "jointly": _jointly_in_words([network.names[at] for at in alone if network.names[at] in jointly]),
        "alone": _alone_in_words([network.names[at] for at in alone[:MOST_LISTED]], len(alone), jointly),
        "part": _part_in_words(network, shown),
    }


def _found(network: MarkovNetwork, shown: Shown) -> list[int]:
    """Return the places of the edges that were found, the strongest first: a column and its repetition are no finding."""
    names, pairs = network.names, network.pairs
    ends = zip(pairs.first[shown.pairs].tolist(), pairs.second[shown.pairs].tolist(), strict=True)
    return [
        place
        for place, ((a, b), edge) in enumerate(zip(ends, pairs.is_edge[shown.pairs], strict=True))
        if edge and not network.repeats(names[a], names[b])
    ]


def _jointly_in_words(names: list[str]) -> str:
    if not names:
        return ""
    rest = len(names) - MOST_NAMED
    listed = [label(name, 40) for name in names[:MOST_NAMED]] + ([f"{rest:,} more"] if rest > 0 else [])
    one = len(names) == 1
    return (
        f"{listing(listed)} {'has' if one else 'have'} no edge in the picture, but {'depends' if one else 'depend'} on "
        "columns that say nearly the same as each other, taken together: see Worth knowing."
    )


def _edges_in_words(network: MarkovNetwork) -> str:
    found = counted(network.n_edges, "edge") if network.n_edges else "No edge"
    cutoff = network.cutoff
    if cutoff is None:
        return f"{found}: the pairs of variables that depend on each other given all the others."
    at, meaning = f"p at most {number(cutoff.value)}, not corrected for the number of pairs", ""
    if cutoff.of == "q":
        at = f"a false-discovery rate of {percent(cutoff.value)}"
        wrong = "weaker" if cutoff.min_strength else "false"
        meaning = f"; at most about {percent(cutoff.value)} of them are expected to be {wrong}"
    stronger = f" stronger than {number(cutoff.min_strength)}" if cutoff.min_strength else ""
    if not network.n_edges:
        return f"No edge{stronger} at {at}."
    return f"{found}{stronger} at {at}{meaning}."


def strongest(nodes: Mapping[str, Any], pairs: Mapping[str, Any], at: int) -> dict[str, Any]:
    """Return one of the strongest edges in words; the pairs are ordered by strength."""
    strength, q = pairs["strength"][at], pairs["q_value"][at]
    within = interval_words(pairs["strength_low"][at], pairs["strength_high"][at])
    figures = (
        [] if strength is None else [f"strength {strength_words(strength)}{f' ({within})' if within else ''}"]
    )
    figures += [] if q is None else [f"q {probability(q)}"]
    return {
        "pair": at,
        "source": label(nodes["name"][pairs["a"][at]]),
        "target": label(nodes["name"][pairs["b"][at]]),
        "link": link_of(pairs, at),
        "says": pairs["says"][at],
        "figures": ", ".join(figures),
    }


def _alone_in_words(names: list[str], n: int, jointly: set[str]) -> str:
    if not n:
        return ""
    listed = [label(name, 40) + (" (jointly it has one)" if name in jointly else "") for name in names]
    rest = n - len(listed)
    return listing([*listed, f"{rest:,} more"] if rest else listed)


def _part_in_words(network: MarkovNetwork, shown: Shown) -> str:
    if shown.is_all:
        return ""
    n_edges = int(np.count_nonzero(network.pairs.is_edge[shown.pairs]))
    least = float(weight_of(network)[shown.pairs][:n_edges].min(initial=np.inf))
    n_nodes = (
        f"all {len(shown.nodes):,}" if len(shown.nodes) == len(network.names) else f"{len(shown.nodes):,} of"
    )
    of_all = "variables" if n_nodes.startswith("all") else counted(len(network.names), "variable")
    return (
        f"The network is too large for one page: it shows the {n_edges:,} strongest of "
        f"{counted(network.n_edges, 'edge')} (strength {number(least)} and more) and "
        f"{n_nodes} {of_all}. edges.csv lists every edge."
    )


def notes(facts: Facts, first: Mapping[str, Sequence[tuple[str, str]]] | None = None) -> list[dict[str, Any]]:
    """Return what a reader should know about the table: one item a kind of note, with the columns it concerns.

    `first` are notes that come before all others, by their titles.
    """
    warnings = facts.schema.warnings if facts.schema is not None else ()
    warnings += tuple(text for text in facts.warnings if text not in warnings)
    found: dict[str, list[tuple[str | None, str]]] = {
        **{title: list(items) for title, items in (first or {}).items()},
        "About the table": [(None, warning) for warning in warnings],
        "Ignored columns": [],
        "Columns that repeat another": [],
        "Missing values": [],
        "Changed or worth knowing": [],
    }
    for column in facts.schema or ():
        name = column.name
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


def run_data(facts: Facts) -> dict[str, Any]:
    """Return settings, versions and the command, each as text that can be shown."""
    origin = facts.origin
    known = {
        "table": origin.source if origin else "",
        "seed": "" if facts.seed is None else str(facts.seed),
        "started": origin.started if origin else "",
        "Python": facts.python,
        "seconds": ", ".join(f"{short(name)} {value}" for name, value in facts.seconds.items()),
    }
    return {
        "facts": [[what, short(text, 500)] for what, text in known.items() if text],
        "settings": [[short(name), short(value_text(value), 300)] for name, value in facts.settings.items()],
        "versions": [[short(name), short(text, 300)] for name, text in facts.versions.items()],
        "command": command_text(origin.command if origin else ()),
    }


def command_text(command: Sequence[str]) -> str:
    """Return the command line that repeats a run, quoted for a shell; empty where there was none.

    >>> command_text(["fit", "my table.csv", "-o", "out"])
    "gpmnet fit 'my table.csv' -o out"
    """
    return shlex.join(["gpmnet", *command]) if command else ""
