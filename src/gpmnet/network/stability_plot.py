"""The picture of strength against stability: which edges would be seen again, and how strong they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpmnet.errors import InputError
from gpmnet.network.colours import GREY, PALETTE
from gpmnet.network.draw import figure_axes
from gpmnet.network.text import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpmnet.network.network import MarkovNetwork


def plot_stability(
    network: MarkovNetwork, ax: Axes | None = None, *, threshold: float = 0.9, labels: int = 8
) -> Axes:
    """Draw the strength of the pairs against their stability.

    Parameters
    ----------
    threshold : float
        Where a line is drawn.
    labels : int
        How many of the least stable edges are named.
    """
    if network.resampling is None:
        raise InputError("no half-samples were drawn; fit with stability=50 to have them")
    ax = figure_axes(ax, (6.0, 4.2))
    pairs = network.pairs
    known = ~np.isnan(pairs.stability) & ~np.isnan(pairs.strength)
    for is_edge, colour, name in ((False, GREY, "came close"), (True, PALETTE[0], "edge")):
        at = np.flatnonzero(known & (pairs.is_edge == is_edge))
        if len(at):
            ax.scatter(pairs.stability[at], pairs.strength[at], s=18, alpha=0.75, color=colour, label=name)
    ax.axvline(threshold, color=GREY, linewidth=0.8, linestyle="--")
    edges = np.flatnonzero(known & pairs.is_edge & (pairs.stability < threshold))
    for at in edges[np.argsort(pairs.stability[edges], kind="stable")][:labels]:
        a, b = (short(network.names[int(end[at])], 16) for end in (pairs.first, pairs.second))
        place = float(pairs.stability[at]), float(pairs.strength[at])
        ax.annotate(
            f"{a} - {b}", place, xytext=(4, 3), textcoords="offset points", fontsize=7, parse_math=False
        )
    ax.set_xlabel(f"stability: share of {2 * network.resampling.n_pairs} half-samples")
    ax.set_ylabel("strength in all rows")
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(bottom=0)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=9)
    return ax
