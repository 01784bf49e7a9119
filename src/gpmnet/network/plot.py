"""Pictures of a network with matplotlib; each function returns the Axes it drew on.

Shapes and dashes say once more what colours say. Names from the data are drawn as plain text, never as mathematics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError, quote
from gpmnet.network.colours import (
    BLANK,
    BLUE,
    GREY,
    KIND_COLOURS,
    PALE,
    PALETTE,
    RED,
    SEQUENTIAL,
    SIGN_COLOURS,
)
from gpmnet.network.draw import draw_labels, figure_axes, legend_below
from gpmnet.network.edge_lines import draw_edges
from gpmnet.network.matrix import DENSE_UP_TO
from gpmnet.network.network import MarkovNetwork
from gpmnet.network.queries import SEED
from gpmnet.network.report.parts import weight_of
from gpmnet.network.report.positions import layout
from gpmnet.network.text import SIGN_WORDS, at_cutoff, counted, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_VARIABLES = 400
"""A picture of more variables than this shows those of the strongest edges."""
MOST_LABELS = 60
_MARKERS = {"continuous": "o", "ordinal": "D", "discrete": "s"}
_FLOOR = 16
"""P- and q-values below 10 to the minus this are drawn here."""


def plot_network(
    network: MarkovNetwork,
    ax: Axes | None = None,
    *,
    color: str = "kind",
    labels: bool = True,
    title: str | None = None,
    seed: int = SEED,
) -> Axes:
    """Draw a network: the wider an edge the stronger, its colour and dashes the sign.

    Edges of a search over directed graphs end in an arrowhead where all graphs of the class agree on the direction, and are
    dotted where only a common effect joins their ends.

    Parameters
    ----------
    color : {"kind", "community"}
        What the colour of a node says.
    labels : bool
        Whether to name the variables, at most the `MOST_LABELS` with the most neighbors.
    seed : int
        Of the layout; the same network and seed give the same picture.
    """
    if color not in ("kind", "community"):
        raise InputError(f"color={quote(color)} is not kind or community")
    whole, network = network, _strongest_part(network)
    d, edges = len(network.names), network.pairs.take(np.flatnonzero(network.pairs.is_edge))
    where = layout(d, edges.first, edges.second, weight_of(network)[network.pairs.is_edge], seed) * [
        1.0,
        -1.0,
    ]
    side = float(np.clip(3.2 + 0.75 * np.sqrt(d), 5.0, 13.0))
    width, height = np.ptp(where, axis=0) + 1.0 if d else (1.0, 1.0)
    ax = figure_axes(ax, (side * float(np.clip(width / height, 0.9, 1.7)) + 0.6, side))
    ax.set_axis_off()
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(x=0.13, y=0.08)
    diameter = float(np.clip(26 - 1.6 * np.sqrt(d), 5.0, 18.0))
    handles = draw_edges(ax, where, network, edges, diameter / 2)
    handles += _draw_nodes(ax, where, network, color, diameter)
    ax.autoscale_view()
    legend_below(ax, handles)
    shown = "" if network is whole else f"; the {d:,} variables of the strongest edges are shown"
    ax.set_title(title if title is not None else _title(whole) + shown, parse_math=False)
    if labels:
        chosen = np.argsort([-len(network.neighbors(name)) for name in network.names], kind="stable")
        chosen = np.sort(chosen[:MOST_LABELS])
        away = _away(where, network)[chosen]
        texts = [short(network.names[at], 24) for at in chosen]
        draw_labels(ax, where, chosen, texts, diameter / 2, away)
    return ax


def _title(network: MarkovNetwork) -> str:
    size = f"{counted(len(network.names), 'variable')}, {counted(network.n_edges, 'edge')}"
    return f"{size}{at_cutoff(network.cutoff)}"


def _strongest_part(network: MarkovNetwork) -> MarkovNetwork:
    """Return the network, or where it is large the part of its strongest edges."""
    if len(network.names) <= MOST_VARIABLES:
        return network
    edges = network.pairs.take(np.flatnonzero(network.pairs.is_edge))
    order = np.argsort(-np.nan_to_num(edges.strength), kind="stable")
    kept: dict[int, None] = {}
    for a, b in zip(edges.first[order].tolist(), edges.second[order].tolist(), strict=True):
        if len(kept.keys() | {a, b}) > MOST_VARIABLES:
            break
        kept |= {a: None, b: None}
    return network.subgraph(network.names[at] for at in kept)


def _draw_nodes(
    ax: Axes, where: NDArray[np.float64], network: MarkovNetwork, color: str, diameter: float
) -> list[Any]:
    handles: list[Any] = []
    for label, colour, marker, rows in _groups(network, color):
        size = diameter**2 * {"D": 0.62, "s": 0.8}.get(marker, 1.0)  # equal areas for the eye
        x, y = where[rows].T
        drawn = ax.scatter(
            x, y, s=size, c=colour, marker=marker, edgecolors="white", linewidths=1.0, zorder=2
        )
        if label:
            drawn.set_label(label)
            handles.append(drawn)
    return handles


def _groups(network: MarkovNetwork, color: str) -> list[tuple[str, str, str, NDArray[np.intp]]]:
    """Return label, colour, marker and positions of the nodes that look alike."""
    d = len(network.names)
    if color == "community":
        groups = [group for group in network.communities() if len(group) > 1]
        grouped = {network.position(name) for group in groups for name in group}
        found = []
        for at, group in enumerate(groups):
            colour, marker = PALETTE[at % len(PALETTE)], "osDv^P"[at // len(PALETTE) % 6]
            rows = np.array([network.position(name) for name in group], dtype=np.intp)
            found.append((f"community {at + 1}" if len(groups) <= 8 else "", colour, marker, rows))
        alone = np.array([at for at in range(d) if at not in grouped], dtype=np.intp)
        return found + ([("alone", PALE, "o", alone)] if len(alone) else [])
    kinds = np.array(network.kinds or ("",) * d, dtype=object)
    found = [
        (kind, colour, _MARKERS[kind], np.flatnonzero(kinds == kind))
        for kind, colour in KIND_COLOURS.items()
        if (kinds == kind).any()
    ]
    other = np.flatnonzero(~np.isin(kinds.astype(str), list(KIND_COLOURS)))
    return found + ([("", KIND_COLOURS["continuous"], "o", other)] if len(other) else [])


def _away(where: NDArray[np.float64], network: MarkovNetwork) -> NDArray[np.float64]:
    """Return for each node the middle of the widest gap between its edges, where there is room for a label."""
    directions = np.tile([0.0, 1.0], (len(where), 1))
    for at, name in enumerate(network.names):
        near = [network.position(other) for other in network.neighbors(name)]
        if near:
            apart = where[near] - where[at]
            angle = np.sort(np.arctan2(apart[:, 1], apart[:, 0]))
            gap = np.diff(angle, append=angle[0] + 2 * np.pi)
            widest = int(np.argmax(gap))
            middle = angle[widest] + gap[widest] / 2
            directions[at] = np.cos(middle), np.sin(middle)
    return directions


def plot_omega(
    source: Any, ax: Axes | None = None, *, names: tuple[str, ...] | None = None, title: str = "Omega"
) -> Axes:
    """Draw Omega as a heatmap whose variables are ordered by community; the diagonal is left blank.

    Parameters
    ----------
    source : MarkovNetwork, fitted GPM, or (d, d) matrix
        Of a network the Omega of its edges.
    names : tuple of str, optional
        Names of the variables of a matrix.
    """
    network = getattr(source, "network_", source)
    if not isinstance(network, MarkovNetwork):
        matrix = np.array(source.toarray() if hasattr(source, "toarray") else source, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"Omega must be a square matrix; got shape {matrix.shape}")
        np.fill_diagonal(matrix, 0.0)
        called = names or tuple(f"x{at + 1}" for at in range(len(matrix)))
        network = MarkovNetwork.from_adjacency(called, matrix != 0, np.abs(matrix))
    if len(network.names) > DENSE_UP_TO:
        raise InputError(
            f"{len(network.names):,} variables are too many for a heatmap (at most {DENSE_UP_TO:,}); plot a subgraph"
        )
    edges = network.pairs.take(np.flatnonzero(network.pairs.is_edge))
    if len(edges) and np.isnan(edges.omega).all():
        raise InputError("this network has no Omega; it comes from a method without one")
    groups = network.communities()
    order = [network.position(name) for group in groups for name in group]
    place = np.argsort(order)
    image = np.zeros((len(order), len(order)))
    a, b = place[edges.first], place[edges.second]
    image[a, b] = image[b, a] = edges.omega
    return _draw_omega(ax, image, network, order, [len(group) for group in groups], title)


def _draw_omega(
    ax: Axes | None,
    image: NDArray[np.float64],
    network: MarkovNetwork,
    order: list[int],
    sizes: list[int],
    title: str,
) -> Axes:
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm
    from matplotlib.patches import Rectangle

    d = len(order)
    ax = figure_axes(
        ax, (float(np.clip(4.2 + 0.13 * d, 5.0, 11.0)), float(np.clip(3.6 + 0.12 * d, 4.4, 10.0)))
    )
    np.fill_diagonal(image, np.nan)
    scale = LinearSegmentedColormap.from_list("omega", SEQUENTIAL)
    colours = scale.with_extremes(bad=BLANK)
    top = max(float(np.nanmax(image, initial=0.0)), 1e-12)
    # Omega spans orders of magnitude; the square root keeps weak edges in sight.
    drawn = ax.imshow(image, cmap=colours, norm=PowerNorm(0.5, 0.0, top), interpolation="nearest")
    start = 0
    for size in sizes:
        if size > 1:
            corner = start - 0.5, start - 0.5
            ax.add_patch(Rectangle(corner, size, size, fill=False, edgecolor=RED, linewidth=1.0))
        start += size
    ax.figure.colorbar(drawn, ax=ax, label="Omega (square-root scale)", shrink=0.85)
    if d <= MOST_LABELS:
        texts = [short(network.names[at], 20) for at in order]
        font = 8 if d <= 30 else 6.5
        ax.set_xticks(range(d), texts, rotation=90, fontsize=font, parse_math=False)
        ax.set_yticks(range(d), texts, fontsize=font, parse_math=False)
    else:
        ax.set_xlabel("variables, by community")
    ax.tick_params(length=0)
    ax.set_title(title, parse_math=False)
    return ax


def plot_p_values(network: MarkovNetwork, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the p-values, on a log scale: edges, and the pairs that came close."""
    pairs = network.pairs
    height = _heights(pairs.p_value, "p-values")
    ax = figure_axes(ax, (6.0, 3.8))
    edge = pairs.is_edge
    ax.hist(
        [height[edge], height[~edge]],
        bins=np.linspace(0, _FLOOR, 33).tolist(),
        stacked=True,
        color=[BLUE, PALE],
        label=[counted(int(edge.sum()), "edge"), counted(int((~edge).sum()), "pair") + " that came close"],
    )
    ticks = range(0, _FLOOR + 1, 4)
    ax.set_xticks(list(ticks), [_power(at) for at in ticks])
    ax.set(xlabel="p-value", ylabel="pairs", xlim=(0, _FLOOR))
    ax.legend(frameon=False, loc="best")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_strength_q(network: MarkovNetwork, ax: Axes | None = None, *, labels: int = 6) -> Axes:
    """Draw strength against q-value; hollow points came close, and the line is the cutoff of the edges.

    Parameters
    ----------
    labels : int
        How many of the strongest edges are named.
    """
    pairs = network.pairs
    height = _heights(pairs.q_value, "q-values")
    ax = figure_axes(ax, (6.4, 4.4))
    sign = np.nan_to_num(pairs.sign)
    for value, colour in SIGN_COLOURS.items():
        rows = pairs.is_edge & (sign == value)
        if rows.any():
            name = SIGN_WORDS[value]
            ax.scatter(
                pairs.strength[rows], height[rows], s=28, c=colour, linewidths=0, alpha=0.85, label=name
            )
    if (~pairs.is_edge).any():
        ax.scatter(
            pairs.strength[~pairs.is_edge], height[~pairs.is_edge], s=22, facecolors="none",
            edgecolors=GREY, linewidths=0.8, label="no edge",
        )  # fmt: skip
    if network.fdr:
        at = -np.log10(network.fdr)
        ax.axhline(at, color="black", linewidth=0.8, linestyle=":")
        ax.annotate(
            f"q = {network.fdr:g}", (0, at), xycoords=("axes fraction", "data"), xytext=(3, 2),
            textcoords="offset points", fontsize=8,
        )  # fmt: skip
    ticks = range(0, _FLOOR + 1, 4)
    ax.set_yticks(list(ticks), [_power(at) for at in ticks])
    right = 1.25 * float(np.nanmax(pairs.strength, initial=0.1))  # room for the names
    ax.set(xlabel="strength", ylabel="q-value", ylim=(-0.5, _FLOOR + 2.5), xlim=(0, right))
    ax.spines[["top", "right"]].set_visible(False)
    legend_below(ax, None)
    strongest = [
        int(at) for at in np.argsort(-np.nan_to_num(pairs.strength), kind="stable") if pairs.is_edge[at]
    ]
    chosen = np.array(strongest[:labels], dtype=np.intp)
    texts = [
        f"{short(network.names[a], 18)} \N{EN DASH} {short(network.names[b], 18)}"
        for a, b in zip(pairs.first[chosen], pairs.second[chosen], strict=True)
    ]
    points = np.column_stack([np.nan_to_num(pairs.strength), height])
    draw_labels(ax, points, chosen, texts, 5.0, np.tile([1.0, 0.0], (len(chosen), 1)), fontsize=7.5)
    return ax


def _heights(values: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    if not len(values) or np.isnan(values).all():
        raise InputError(f"no pair of this network has {what} to draw")
    heights: NDArray[np.float64] = -np.log10(np.clip(np.nan_to_num(values, nan=1.0), 10.0**-_FLOOR, 1.0))
    return heights


def _power(at: int) -> str:
    below = "\N{LESS-THAN OR EQUAL TO} " if at == _FLOOR else ""
    return "1" if at == 0 else f"{below}1e-{at}"
