"""The lines of a picture of a network: width is strength, colour and dashes the sign; arrows of directed graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.network.colours import GREY, SIGN_COLOURS
from gpmnet.network.text import SIGN_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpmnet.network.network import MarkovNetwork
    from gpmnet.network.pairs import Pairs

_DASHES: dict[float, Any] = {1.0: "-", -1.0: (0, (4, 2)), 0.0: "-"}
_DOTS = (0, (0.1, 1.8))
_OPACITY = 0.75
_WAYS = {"->": "direction known", "--": "direction open", "": "causes of a common effect"}
"""What lines of directed graphs say, by direction; "<-" looks as "->" does."""


def draw_edges(
    ax: Axes, where: NDArray[np.float64], network: MarkovNetwork, edges: Pairs, radius: float
) -> list[Any]:
    """Draw the edges of a network, and return what a legend says of them.

    An edge that all directed graphs of a class agree on ends in an arrowhead, one between two causes of a common effect
    that no arrow joins is dotted.

    Parameters
    ----------
    where : ndarray of shape (d, 2)
        Positions of the variables.
    edges : Pairs
        The edges among the pairs of the network.
    radius : float
        Of a node, in printer's points, at which arrows end.
    """
    width = 0.7 + 5.5 * np.where(np.isnan(edges.strength), 0.3, np.clip(edges.strength, 0, 1))
    way = _directions(network, edges)
    sign = np.nan_to_num(edges.sign)
    handles: list[Any] = []
    for value, colour in SIGN_COLOURS.items():
        rows = np.flatnonzero(sign == value)
        if not len(rows):
            continue
        ends = np.stack([where[edges.first], where[edges.second]], axis=1)
        for dashes, chosen in ((_DASHES[value], ["--"]), (_DOTS, [""])):
            _draw_lines(ax, ends, width, rows[np.isin(way[rows], chosen)], colour, dashes)
        for arrow, order in (("->", slice(None)), ("<-", slice(None, None, -1))):
            for at in rows[way[rows] == arrow].tolist():
                _draw_arrow(ax, ends[at, order], float(width[at]), colour, _DASHES[value], radius)
        known = SIGN_WORDS[value] if not np.isnan(edges.sign[rows]).all() else "edge"
        handles.append(_handle(colour, _DASHES[value], known))
    return handles + ([] if network.directions is None else _way_handles(set(way.tolist())))


def _directions(network: MarkovNetwork, edges: Pairs) -> NDArray[np.str_]:
    """Return the direction of each edge: "->", "<-", "--" where it is open or there is none, "" of co-parents."""
    if network.directions is None:
        return np.full(len(edges), "--")
    ends = zip(edges.first.tolist(), edges.second.tolist(), strict=True)
    said = [network.directions.row(network.names[a], network.names[b]) for a, b in ends]
    # Pairs that a search joined in no way, such as duplicates, have no kind: a plain line.
    return np.array([row["direction"] if row["kind"] else "--" for row in said], dtype=np.str_)


def _draw_lines(
    ax: Axes,
    ends: NDArray[np.float64],
    width: NDArray[np.float64],
    rows: NDArray[np.intp],
    colour: str,
    dashes: Any,
) -> None:
    from matplotlib.collections import LineCollection

    if not len(rows):
        return
    drawn = LineCollection(
        list(ends[rows]), colors=colour, linestyles=[dashes], linewidths=width[rows].tolist(),
        alpha=_OPACITY, zorder=1,
    )  # fmt: skip
    drawn.set_capstyle("round" if dashes == _DOTS else "butt")
    ax.add_collection(drawn)


def _draw_arrow(
    ax: Axes, ends: NDArray[np.float64], width: float, colour: str, dashes: Any, radius: float
) -> None:
    """Draw a shaft and, in a piece of its own so that wide lines do not blunt it, a head that touches the node."""
    from matplotlib.patches import FancyArrowPatch

    length = 7.0 + 1.2 * width
    look: dict[str, Any] = {
        "color": colour,
        "alpha": _OPACITY,
        "zorder": 1,
        "mutation_scale": 1.0,
        "shrinkA": 0,
    }
    start, end = (tuple(point) for point in ends.tolist())
    shaft = FancyArrowPatch(
        start, end, arrowstyle="-", shrinkB=radius + length - 1.0, linewidth=width, linestyle=dashes, **look
    )
    shaft.set_capstyle("butt")
    head = f"-|>,head_length={length},head_width={length / 2}"
    tip = FancyArrowPatch(start, end, arrowstyle=head, shrinkB=radius, linewidth=0, **look)
    ax.update_datalim(ends)
    for patch in (shaft, tip):
        ax.add_patch(patch)


def _handle(colour: str, dashes: Any, label: str, **look: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, linestyle=dashes, linewidth=2.5, label=label, **look)


def _way_handles(ways: set[str]) -> list[Any]:
    """Return what a legend says of arrows and dots, as far as they are drawn."""
    looks: dict[str, tuple[Any, dict[str, Any]]] = {
        "->": ("-", {"marker": ">", "markersize": 8, "markevery": [1]}),
        "--": ("-", {}),
        "": (_DOTS, {"dash_capstyle": "round"}),
    }
    shown = {"->" if way == "<-" else way for way in ways}
    return [
        _handle(GREY, looks[way][0], words, **looks[way][1]) for way, words in _WAYS.items() if way in shown
    ]
