"""Pictures of a dependence: a heatmap, lines per category, bars per pair of categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpmnet.network.colours import DIVERGING, PALE, PALETTE
from gpmnet.network.draw import figure_axes
from gpmnet.network.shapes import Axis, untied_grid
from gpmnet.network.text import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpmnet.network.explain import Explanation

MEANING = "log density, against independence"
_MOST_LINES = 8
_MOST_BARS = 24
_LINE_STYLES = ("-", "--", "-.", ":")


def plot_shape(explanation: Explanation, ax: Axes | None = None) -> Axes:
    """Draw the shape of an explanation that has one."""
    ax = figure_axes(ax, (5.0, 3.8))
    draw = {"surface": _surface, "lines": _lines, "table": _table}[explanation.form]
    draw(explanation, ax)
    source, target = short(explanation.source, 30), short(explanation.target, 30)
    ax.set_title(f"{source} and {target}, given the rest", fontsize=10, parse_math=False)
    return ax


def _parts(explanation: Explanation) -> tuple[Axis, Axis, NDArray[np.float32]]:
    x, y, values = explanation.x, explanation.y, explanation.values
    if x is None or y is None or values is None:
        raise ValueError("an explanation without a shape cannot be drawn")
    return untied_grid(x, y, values)


def _surface(explanation: Explanation, ax: Axes) -> None:
    x, y, values = _parts(explanation)
    drawn = ax.pcolormesh(x.values, y.values, values.T, shading="nearest", **_colours(values))
    _numeric_ticks(ax.xaxis, x)
    _numeric_ticks(ax.yaxis, y)
    ax.set_xlabel(short(explanation.source, 40), parse_math=False)
    ax.set_ylabel(short(explanation.target, 40), parse_math=False)
    ax.figure.colorbar(drawn, ax=ax, label=MEANING)


def _colours(values: NDArray[np.float32]) -> dict[str, Any]:
    from matplotlib.colors import LinearSegmentedColormap

    most = float(np.abs(values).max(initial=1e-6))
    scale = LinearSegmentedColormap.from_list("signed", DIVERGING)
    return {"cmap": scale, "vmin": -most, "vmax": most}


def _numeric_ticks(axis: Any, grid: Axis) -> None:
    """Let numbers have round ticks; where the labels are no numbers (dates), take some of them."""
    if all(_is_number(label) for label in grid.labels):
        return
    chosen = np.unique(np.linspace(0, len(grid) - 1, min(5, len(grid))).round().astype(int))
    axis.set_ticks(
        [grid.values[at] for at in chosen], [short(grid.labels[at], 14) for at in chosen], parse_math=False
    )


def _is_number(label: str) -> bool:
    try:
        float(label.replace(",", ""))
    except ValueError:
        return False
    return True


def _lines(explanation: Explanation, ax: Axes) -> None:
    x, y, values = _parts(explanation)
    number, category, lines = (x, y, values.T) if x.is_numeric else (y, x, values)
    names = explanation.source, explanation.target
    number_name, category_name = names if x.is_numeric else names[::-1]
    clearest = np.argsort(-np.abs(lines).max(axis=1), kind="stable")[:_MOST_LINES]
    ax.axhline(0, color=PALE, linewidth=0.8)
    for place, at in enumerate(np.sort(clearest).tolist()):
        ax.plot(
            number.values, lines[at], color=PALETTE[place], linestyle=_LINE_STYLES[place % 4], linewidth=1.8,
            label=short(category.labels[at], 24),
        )  # fmt: skip
    _numeric_ticks(ax.xaxis, number)
    ax.set_xlabel(short(number_name, 40), parse_math=False)
    ax.set_ylabel(MEANING)
    ax.spines[["top", "right"]].set_visible(False)
    rest = len(category) - len(clearest)
    title = short(category_name, 24) + (f" ({rest} flatter not shown)" if rest else "")
    _legend(ax, title)


def _legend(ax: Axes, title: str) -> None:
    """Put a legend beside the Axes; categories come from the data and are plain text."""
    legend = ax.legend(
        frameon=False, fontsize=8, title=title, title_fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0)
    )
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)


def _table(explanation: Explanation, ax: Axes) -> None:
    x, y, values = _parts(explanation)
    if values.size > _MOST_BARS or len(y) > len(PALETTE):
        _table_map(explanation, ax)
        return
    width = 0.82 / len(y)
    for place, label in enumerate(y.labels):
        left = np.arange(len(x)) + (place - (len(y) - 1) / 2) * width
        ax.bar(left, values[:, place], width * 0.92, color=PALETTE[place], label=short(label, 24))
    ax.axhline(0, color="black", linewidth=0.8)
    _category_ticks(ax.xaxis, x)
    ax.set_xlabel(short(explanation.source, 40), parse_math=False)
    ax.set_ylabel(MEANING)
    ax.spines[["top", "right"]].set_visible(False)
    _legend(ax, short(explanation.target, 24))


def _table_map(explanation: Explanation, ax: Axes) -> None:
    """Draw a large table as a heatmap; bars would be too many."""
    x, y, values = _parts(explanation)
    drawn = ax.imshow(values.T, aspect="auto", origin="lower", **_colours(values))
    _category_ticks(ax.xaxis, x)
    _category_ticks(ax.yaxis, y)
    ax.set_xlabel(short(explanation.source, 40), parse_math=False)
    ax.set_ylabel(short(explanation.target, 40), parse_math=False)
    ax.figure.colorbar(drawn, ax=ax, label=MEANING)


def _category_ticks(axis: Any, grid: Axis) -> None:
    longest = max(map(len, grid.labels), default=0)
    turned = axis.axis_name == "x" and longest * len(grid) > 40
    texts = [short(label, 16) for label in grid.labels]
    step = -(-len(texts) // 40)
    axis.set_ticks(
        list(range(0, len(texts), step)),
        texts[::step],
        rotation=90 if turned else 0,
        fontsize=8,
        parse_math=False,
    )
