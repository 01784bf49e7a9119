"""The part of a network that a page can hold: its strongest edges, their nodes, grids and matrix, as plain data."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.network.centrality import sums_at_nodes
from gpmnet.network.queries import communities
from gpmnet.network.report.apart import layout_apart
from gpmnet.network.report.columns import column_notes, extent
from gpmnet.network.report.positions import layout
from gpmnet.network.report.words import finding, label, listing
from gpmnet.network.resampling import figures_of
from gpmnet.network.shapes import untied, untied_grid
from gpmnet.network.text import short, without_power

if TYPE_CHECKING:
    from gpmnet.network.network import MarkovNetwork
    from gpmnet.network.shapes import Axis
    from gpmnet.table import Column

KINDS = ("continuous", "ordinal", "discrete", "unknown")
MOST_AT_ONCE = 300
"""Networks of more variables open on their communities."""
MOST_EDGES = 2000
MOST_NEAR = 1000
MOST_NODES = 3000
"""Networks of at most this many variables show all of them; larger ones those of the pairs shown."""
MOST_CELLS = 1_200_000
"""Grid points of all shapes together; the strongest pairs get theirs."""
MOST_IN_MATRIX = 150
MOST_TEXT = 1000
"""Names and notes longer than this are cut: they come from the data and may be books."""
MOST_EFFECTS = 4
"""Common effects of a pair that are named."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What the page holds: positions among the pairs (strongest first) and among the variables (increasing)."""

    pairs: NDArray[np.intp]
    nodes: NDArray[np.intp]
    is_all: bool


def weight_of(network: MarkovNetwork) -> NDArray[np.float64]:
    """Return what the pairs are ranked by: their strength, or Omega where a method has no strength; never NaN."""
    pairs = network.pairs
    return np.nan_to_num(np.where(np.isnan(pairs.strength), pairs.omega, pairs.strength), nan=0.0)


def choose(network: MarkovNetwork) -> Shown:
    """Choose the strongest edges, then the surest of the pairs that came close."""
    pairs, weight = network.pairs, weight_of(network)
    order = np.lexsort((np.arange(len(pairs)), -weight))
    edges = order[pairs.is_edge[order]]
    kept = edges[:MOST_EDGES]
    is_all = len(network.names) <= MOST_NODES
    near = order[~pairs.is_edge[order]]
    ends = np.union1d(pairs.first[kept], pairs.second[kept])
    if not is_all:
        near = near[np.isin(pairs.first[near], ends) & np.isin(pairs.second[near], ends)]
    surest = np.argsort(np.nan_to_num(pairs.q_value[near], nan=np.inf), kind="stable")[:MOST_NEAR]
    nodes = np.arange(len(network.names)) if is_all else ends
    return Shown(np.r_[kept, near[np.sort(surest)]], nodes, is_all and len(kept) == len(edges))


def node_data(network: MarkovNetwork, shown: Shown) -> dict[str, Any]:
    """Return the nodes column by column: name, kind, degree in the whole network, community and place."""
    pairs = network.pairs
    ends = np.r_[pairs.first[pairs.is_edge], pairs.second[pairs.is_edge]]
    degree = np.bincount(ends, minlength=len(network.names))[shown.nodes]
    first, second = _places(shown, pairs.first), _places(shown, pairs.second)
    edge = pairs.is_edge[shown.pairs]
    first, second = first[edge], second[edge]
    weight = weight_of(network)[shown.pairs][edge]
    group = _groups(network, shown)
    if len(shown.nodes) > MOST_AT_ONCE:
        where = layout_apart(group, first, second, weight)
    else:
        where = layout(len(shown.nodes), first, second, weight)
    names = [network.names[at] for at in shown.nodes]
    sums = _sums(network, shown, group)
    known = {column.name: column for column in network.facts.schema or ()}
    columns = [known.get(name) for name in names]
    return {
        "name": [name[:MOST_TEXT] for name in names],
        "kind": [_kind(network, at) for at in shown.nodes],
        "degree": degree.tolist(),
        "community": group.tolist(),
        **{name: np.round(values, 4).tolist() for name, values in sums.items()},
        "x": np.round(where[:, 0], 3).tolist(),
        "y": np.round(where[:, 1], 3).tolist(),
        "missing": [column.n_missing if column else 0 for column in columns],
        "why": [short(column.why, 300) if column else "" for column in columns],
        "range": [extent(column) if column else "" for column in columns],
        "notes": [short(_notes(network, name, known.get(name)), 300) for name in names],
    }


def _groups(network: MarkovNetwork, shown: Shown) -> NDArray[np.intp]:
    """Return the community of each node; where all edges are shown, those of `MarkovNetwork.communities`."""
    # In the order of the network's pairs, on which ties between communities depend.
    edges = network.pairs.take(np.sort(shown.pairs[network.pairs.is_edge[shown.pairs]]))
    ends = (np.searchsorted(shown.nodes, side).tolist() for side in (edges.first, edges.second))
    group = np.zeros(len(shown.nodes), dtype=np.intp)
    found = communities(len(shown.nodes), list(zip(*ends, strict=True)), edges.strength.tolist())
    for number, members in enumerate(found):
        group[list(members)] = number
    return group


def _sums(network: MarkovNetwork, shown: Shown, group: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
    """Return the centralities of the nodes shown: over all their edges, bridges over those shown."""
    edges = network.pairs.take(np.flatnonzero(network.pairs.is_edge))
    community = np.full(len(network.names), -1, dtype=np.intp)
    community[shown.nodes] = group
    if not shown.is_all:  # to what is not on the page no edge is a bridge
        at = shown.pairs[network.pairs.is_edge[shown.pairs]]
        bridge = sums_at_nodes(len(network.names), network.pairs.take(at), community.tolist())["bridge"]
        sums = sums_at_nodes(len(network.names), edges, community.tolist()) | {"bridge": bridge}
    else:
        sums = sums_at_nodes(len(network.names), edges, community.tolist())
    return {name: values[shown.nodes] for name, values in sums.items()}


def _notes(network: MarkovNetwork, name: str, column: Column | None) -> str:
    jointly = [finding.reason for finding in network.joint_findings if finding.variable == name]
    return "; ".join([*jointly, *([column_notes(column)] if column and column_notes(column) else [])])


def _kind(network: MarkovNetwork, at: int) -> str:
    kind = network.kinds[at] if network.kinds else "unknown"
    return kind if kind in KINDS else "unknown"


def _places(shown: Shown, ends: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.searchsorted(shown.nodes, ends[shown.pairs])


def pair_data(network: MarkovNetwork, shown: Shown) -> dict[str, Any]:
    """Return the pairs column by column; a and b are places among the nodes shown, unknown figures are null."""
    pairs = network.pairs
    data: dict[str, Any] = {
        "a": _places(shown, pairs.first).tolist(),
        "b": _places(shown, pairs.second).tolist(),
        "edge": pairs.is_edge[shown.pairs].astype(int).tolist(),
    }
    for name in figures_of(network):
        data[name] = [_rounded(value) for value in getattr(pairs, name)[shown.pairs].tolist()]
    data["says"] = [says(network, at) for at in shown.pairs.tolist()]
    if network.directions is not None:
        data["rests"] = [rests(network, at) for at in shown.pairs.tolist()]
    return data


def rests(network: MarkovNetwork, at: int) -> dict[str, Any] | None:
    """Return what a pair rests on in a directed graph, and which way its arrow goes; None for nothing.

    `on` says what it rests on for a table, `words` all of it as sentences.
    """
    a, b = (network.names[int(end[at])] for end in (network.pairs.first, network.pairs.second))
    if network.directions is None or network.directions.between(a, b) is None:
        return None
    said = network.directions.row(a, b)
    all_effects = [name[:MOST_TEXT] for name in said["common_effects"]]
    effects = listing([label(name, 40) for name in said["common_effects"][:MOST_EFFECTS]])
    more = len(said["common_effects"]) - MOST_EFFECTS
    effects += f" and {more} more" if more > 0 else ""
    words = {
        "->": f"In every directed graph of the class {label(a, 40)} stands before {label(b, 40)}.",
        "<-": f"In every directed graph of the class {label(b, 40)} stands before {label(a, 40)}.",
        "--": "An arrow joins them, whose direction the table leaves open.",
        "": f"No arrow joins them, only a common effect: {effects}.",
    }[said["direction"]]
    also = f" They also have a common effect: {effects}." if said["direction"] and effects else ""
    on = "co-parents" if said["kind"] == "co-parents" else "arc, also co-parents"
    return {
        "kind": said["kind"],
        "direction": said["direction"],
        "evidence": _rounded(said["evidence"]),
        "common_effects": all_effects,
        "on": f"{on} of {effects}" if effects else said["kind"],
        "words": words + also,
    }


def link_of(pairs: Mapping[str, Any], at: int) -> str:
    """Return what stands between the ends of a pair: an arrow where all graphs agree on it, dots between co-parents."""
    rests = pairs["rests"][at] if "rests" in pairs else None
    return {"->": "→", "<-": "←", "--": "—", "": "···"}[rests["direction"]] if rests else "—"


def says(network: MarkovNetwork, at: int) -> str:
    """Return what goes with what in a pair, as a sentence."""
    first, second = int(network.pairs.first[at]), int(network.pairs.second[at])
    a, b = network.names[first], network.names[second]
    if network.repeats(a, b):
        return "One column repeats the other, so they are joined without a test."
    if sentence := network.explain(a, b).direction:
        return f"Given the other variables, {sentence[0].lower()}{sentence[1:]}"
    kinds = (network.kinds[first], network.kinds[second]) if network.kinds else ("", "")
    return f"Given the other variables, {finding(kinds, _rounded(float(network.pairs.sign[at])))}."


def _rounded(value: float) -> float | None:
    return float(f"{value:.9g}") if np.isfinite(value) else None


def shape_data(network: MarkovNetwork, shown: Shown) -> dict[str, Any]:
    """Return the grids in 8 bits a point, with the axes of their variables.

    A grid is `scale / 127` times its signed bytes, row by row over (a, b).
    """
    if network.shapes is None:
        return {"axes": {}, "grids": {}}
    grids: dict[str, Any] = {}
    axes: dict[str, Any] = {}
    left = MOST_CELLS
    for place, at in enumerate(shown.pairs.tolist()):
        grid = network.shapes.of(at)
        if grid is None or grid.size > left or not np.isfinite(grid).all():
            continue
        left -= grid.size
        ends = int(network.pairs.first[at]), int(network.pairs.second[at])
        x, y = (network.shapes.axes[end] for end in ends)
        grids[str(place)] = quantised(untied_grid(x, y, grid)[2])
        for end in ends:
            node = str(int(np.searchsorted(shown.nodes, end)))
            if node not in axes:
                axes[node] = _axis(untied(network.shapes.axes[end])[0])
    return {"axes": axes, "grids": grids}


def quantised(grid: NDArray[np.floating[Any]]) -> dict[str, Any]:
    """Return a grid as its largest magnitude and signed bytes in base 64.

    >>> quantised(np.array([[2.0, -2.0], [0.0, 1.0]], dtype=np.float32))
    {'scale': 2.0, 'bytes': 'f4EAQA=='}
    """
    scale = float(np.abs(grid).max(initial=0.0))
    steps = np.round(grid / scale * 127) if scale else np.zeros_like(grid)
    packed = base64.b64encode(steps.astype(np.int8).tobytes()).decode("ascii")
    return {"scale": float(f"{scale:.4g}"), "bytes": packed}


def _axis(axis: Axis) -> dict[str, Any]:
    values = [float(f"{value:.6g}") for value in axis.values]
    # What the page can write itself; powers of ten look different there.
    labels = list(axis.labels)
    if values and [f"{value:.4g}" for value in values] == labels:
        if "e" not in "".join(labels):
            return {"values": values}
        labels = [without_power(label) for label in labels]
    return {"values": values, "labels": [label[:MOST_TEXT] for label in labels]}


def matrix_order(nodes: Mapping[str, Any]) -> list[int]:
    """Return the places of the nodes in the matrix: by community, inside by degree; at most `MOST_IN_MATRIX`."""
    places = [at for at, degree in enumerate(nodes["degree"]) if degree]
    places = sorted(places, key=lambda at: (-nodes["degree"][at], at))[:MOST_IN_MATRIX]
    return sorted(places, key=lambda at: (nodes["community"][at], -nodes["degree"][at], at))
