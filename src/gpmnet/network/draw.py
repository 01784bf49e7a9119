"""What the pictures share: figures, labels, legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.network.colours import GREY
from gpmnet.network.labels import place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text


def figure_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the Axes, or those of a new figure of a size in inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def legend_below(ax: Axes, handles: list[Any] | None) -> None:
    """Put the legend under the Axes, as wide as they are."""
    chosen = ax.get_legend_handles_labels()[0] if handles is None else handles
    if not chosen:
        return
    inches = ax.get_window_extent().width / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    columns = max(2, int(inches / 1.35))  # a wider legend would make the layout shrink the Axes
    ax.legend(
        handles=chosen, loc="upper center", bbox_to_anchor=(0.5, -0.02 if handles is not None else -0.14),
        ncols=min(len(chosen), columns), frameon=False, fontsize=9, markerscale=0.8,
    )  # fmt: skip


def draw_labels(
    ax: Axes,
    points: NDArray[np.float64],
    chosen: NDArray[np.intp],
    texts: Sequence[str],
    radius: float,
    towards: NDArray[np.float64],
    fontsize: float | None = None,
) -> None:
    """Write a text at each chosen point, none on another; one that had to move far is joined by a thin line.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        In the units of the data.
    radius : float
        Of a point, in printer's points.
    towards : ndarray of shape (len(chosen), 2)
        Where labels go first.
    """
    figure = ax.get_figure(root=True)
    if not len(chosen) or figure is None:
        return
    figure.draw_without_rendering()  # settles the layout, on which pixels depend
    font = fontsize or float(np.interp(len(chosen), [20, 60], [9.0, 7.0]))
    style: dict[str, Any] = {"fontsize": font, "ha": "center", "va": "center", "zorder": 4}
    drawn = [
        ax.text(points[at, 0], points[at, 1], text, parse_math=False, **style)
        for at, text in zip(chosen, texts, strict=True)
    ]
    boxes = [text.get_window_extent() for text in drawn]
    size = np.array([[box.width, box.height] for box in boxes]) + 2.0
    anchor = ax.transData.transform(points[chosen])
    pixels = radius * figure.dpi / 72
    window = ax.get_window_extent()
    low, high = np.array([4.0, window.y0]), np.array([figure.bbox.width - 4.0, window.y1])
    centre = place_labels(anchor, size, pixels, towards, low, high, ax.transData.transform(points))
    for text, at, box, middle in zip(drawn, anchor, size, centre, strict=True):
        _move_label(ax, text, middle)
        nearest = np.clip(at, middle - box / 2, middle + box / 2)
        if np.linalg.norm(nearest - at) > 2.5 * pixels + 4:
            _join(ax, at, nearest)


def _move_label(ax: Axes, text: Text, centre: NDArray[np.float64]) -> None:
    """Move a text to a place in pixels, with a white edge so that it can be read on lines."""
    from matplotlib.patheffects import withStroke

    text.set_in_layout(False)  # or the layout would move once more
    text.set_position(tuple(ax.transData.inverted().transform(centre)))
    text.set_path_effects([withStroke(linewidth=2.2, foreground="white")])


def _join(ax: Axes, start: NDArray[np.float64], end: NDArray[np.float64]) -> None:
    """Draw a thin line between two places in pixels."""
    x, y = ax.transData.inverted().transform(np.stack([start, end])).T
    ax.plot(x, y, color=GREY, linewidth=0.5, zorder=3, scalex=False, scaley=False)
