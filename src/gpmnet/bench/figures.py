"""The figures: rows in, a matplotlib figure out. Nothing is computed here but means and ranges over seeds."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from gpmnet.bench.rejections import most, rejections
from gpmnet.bench.style import BLACK, GREY, Look, looks
from gpmnet.bench.summary import groups, title_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MEASURE_NAMES = {"hamming": "Hamming distance", "seconds": "seconds", "f1": "F1"}
SMALL = 8


def against_d(suite: str, rows: pd.DataFrame, measure: str) -> Figure:
    """Draw a measure against the number of variables, a panel per simulator, n and kind.

    Lines are means over seeds, bars go from the smallest to the largest; seconds are drawn on two log axes
    with a cross where a method ran out of time.
    """
    facets = groups(rows, "simulator options n")
    kinds = [kind for kind in ("continuous", "discrete", "mixed") if (rows["kind"] == kind).any()]
    styles = looks(rows["method"])
    figure = Figure(figsize=(1.9 + 3.5 * len(kinds), 1.2 + 3.4 * len(facets)), layout="constrained")
    panels = figure.subplots(len(facets), len(kinds), squeeze=False, sharex=False)
    for line, ((simulator, options, n), group) in zip(panels, facets, strict=True):
        for axes, kind in zip(line, kinds, strict=True):
            part = group[group["kind"] == kind]
            if part.empty:
                axes.set_axis_off()
                continue
            axes.set_title(title_of(simulator, options, n, kind), fontsize=10)
            _panel(axes, part, measure, styles)
        line[0].set_ylabel(MEASURE_NAMES[measure])
    _legend(figure, rows, styles, measure=measure)
    _heading(figure, suite, rows)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, measure: str, styles: dict[str, Look]) -> None:
    good = rows[rows["status"] == "ok"]
    logarithmic = measure == "seconds"
    sizes = np.sort(rows["d"].unique().astype(float))
    step = np.diff(sizes).min() if len(sizes) > 1 else 1.0
    for at, (method, look) in enumerate(styles.items()):
        by_d = good[good["method"] == method].groupby("d")[measure]
        d = np.array(list(by_d.groups), dtype=float)
        # Many methods have the same small whole numbers: beside each other all can be seen.
        x = d if logarithmic else d + 0.4 * step * ((at + 0.5) / len(styles) - 0.5)
        low, mean, high = (np.asarray(v, dtype=float) for v in (by_d.min(), by_d.mean(), by_d.max()))
        axes.errorbar(
            x, mean, yerr=(mean - low, high - mean), color=look.colour, marker=look.marker, ls=look.line,
            markersize=5.5, linewidth=1.3, elinewidth=1.0, zorder=3, alpha=0.9, mec="white", mew=0.4,
        )  # fmt: skip
        if logarithmic:
            late = rows[(rows["method"] == method) & rows["reason"].str.startswith("timeout")]
            late = late[late["status"] == "failed"]
            axes.plot(late["d"].astype(float), late["seconds"], "x", color=look.colour, markersize=8, mew=2)
    if measure == "hamming":
        empty = good.groupby("d")["empty_hamming"].mean()
        axes.plot(empty.index.astype(float), empty.astype(float), color=BLACK, ls=(0, (4, 3)), lw=1, zorder=1)
    _axes(axes, sizes, measure)
    axes.set_xlabel("variables" + _gaps(rows, styles), fontsize=SMALL)


def _axes(axes: Axes, sizes: Any, measure: str) -> None:
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if measure == "seconds":
        axes.set_yscale("log")
    if measure == "seconds" or sizes[-1] > 50 * sizes[0]:
        axes.set_xscale("log")
        even = np.geomspace(sizes[0], sizes[-1], 6)
        shown = sizes[np.unique(np.abs(np.log(sizes[:, None] / even)).argmin(axis=0))]
        axes.xaxis.set_major_locator(FixedLocator(shown))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    elif len(sizes) <= 12:
        axes.set_xticks(sizes)
    if measure == "hamming":
        axes.set_ylim(bottom=-0.3)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    if measure == "f1":
        axes.set_ylim(-0.03, 1.03)


def _gaps(rows: pd.DataFrame, styles: dict[str, Look], width: int = 66) -> str:
    """Return a note on methods without numbers: where, and the first reason."""
    notes = []
    for method, look in styles.items():
        of_method = rows[rows["method"] == method]
        absent = of_method[of_method["status"] != "ok"]
        if absent.empty:
            continue
        sizes = sorted(set(absent["d"]) - set(of_method.loc[of_method["status"] == "ok", "d"]))
        where = (
            "" if len(sizes) == of_method["d"].nunique() else f" from d = {sizes[0]}" if sizes else " (some)"
        )
        notes.append(f"no numbers for {look.label}{where}: {absent['reason'].iloc[0]}")
    return "".join("\n" + textwrap.fill(note, width, max_lines=2, placeholder=" …") for note in notes)


def seconds_by_method(suite: str, rows: pd.DataFrame) -> Figure:
    """Draw the time of each method as a bar on a log axis, fastest first; open bars ran out of time."""
    styles = looks(rows["method"])
    figure = Figure(figsize=(7.5, 1.4 + 0.36 * len(styles)), layout="constrained")
    axes = figure.subplots()
    entries = [_time_entry(rows[rows["method"] == method], look) for method, look in styles.items()]
    entries.sort(key=lambda entry: entry[0])
    for at, (seconds, text, look, finished) in enumerate(entries):
        if np.isfinite(seconds):
            face = look.colour if finished else "none"
            axes.barh(
                at, seconds, color=face, edgecolor=look.colour, hatch="" if finished else "///", height=0.7
            )
        axes.annotate(
            text, (seconds if np.isfinite(seconds) else 0, at), xytext=(5, 0), textcoords="offset points",
            va="center", fontsize=SMALL, annotation_clip=False,
            xycoords="data" if np.isfinite(seconds) else ("axes fraction", "data"),
        )  # fmt: skip
    axes.set_yticks(range(len(entries)), [entry[2].label for entry in entries])
    axes.set_ylim(len(entries) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.margins(x=0.25)
    axes.set_xlabel("seconds of one fit, mean over seeds (hatched: ended at the limit)")
    axes.set_title(_one_task(rows), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    _heading(figure, suite, rows)
    return figure


def _one_task(rows: pd.DataFrame) -> str:
    """Name the tasks of a figure that has one panel for all."""
    found = groups(rows, "simulator options n kind d")
    return "; ".join(f"{title_of(*key)}, d = {d:,}" for (*key, d), _ in found)


def _time_entry(rows: pd.DataFrame, look: Look) -> tuple[float, str, Look, bool]:
    """Return (seconds, what to write beside the bar, look, whether it finished)."""
    good = rows[rows["status"] == "ok"]
    if not good.empty:
        mean = float(good["seconds"].mean())
        hamming = f"Hamming {float(good['hamming'].mean()):.1f}"
        return mean, f"{mean:,.3g} s, {hamming}", look, True
    reason = str(rows["reason"].iloc[0])
    late = rows["reason"].str.startswith("timeout") & (rows["status"] == "failed")
    if late.any():
        limit = float(rows.loc[late, "seconds"].mean())
        return limit, f"more than {limit:,.3g} s", look, False
    return float("inf"), reason, look, False


def f1_by_table(suite: str, rows: pd.DataFrame) -> Figure:
    """Draw the F1 of every method on every table, a line of markers per table."""
    styles = looks(rows["method"])
    tables = sorted(rows["task"].unique())
    figure = Figure(figsize=(8.5, 1.6 + 0.42 * len(tables)), layout="constrained")
    axes = figure.subplots()
    good = rows[rows["status"] == "ok"]
    for at, (method, look) in enumerate(styles.items()):
        own = good[good["method"] == method].groupby("task")["f1"].mean()
        y = np.array([tables.index(table) for table in own.index]) + 0.6 * ((at + 0.5) / len(styles) - 0.5)
        axes.plot(own, y, look.marker, color=look.colour, markersize=7, alpha=0.9, mec="white", mew=0.5)
    sizes = rows.drop_duplicates("task").set_index("task")
    names = [f"{table}  (d = {sizes.d[table]}, n = {sizes.n[table]:,})" for table in tables]
    axes.set_yticks(range(len(tables)), names, fontsize=SMALL)
    for at in range(len(tables)):
        if at % 2 == 0:
            axes.axhspan(at - 0.5, at + 0.5, color="#f3f3f3", zorder=0)
    axes.set_ylim(len(tables) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("F1 (all true edges)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.grid(True, color="#cccccc", linewidth=0.6)
    _legend(figure, rows, styles, lines=False)
    _heading(figure, suite, rows)
    return figure


def hamming_by_task(suite: str, rows: pd.DataFrame) -> Figure:
    """Draw the Hamming distance of every method on every simulator of one size; dots are seeds."""
    parts = [(title_of(*key), part) for key, part in groups(rows, "simulator options n kind")]
    return _strips(
        suite,
        rows,
        parts,
        "hamming",
        "Hamming distance (dots: seeds; bar and number: mean; dashes: empty graph)",
    )


def false_edges(suite: str, rows: pd.DataFrame) -> Figure:
    """Draw the number of edges found where there are none; dots are seeds."""
    parts = [
        (f"{title_of(*key)}, d = {d:,}", part)
        for (*key, d), part in groups(rows, "simulator options n kind d")
    ]
    return _strips(suite, rows, parts, "n_edges", "false edges (dots: seeds; bar and number: mean)")


def _strips(
    suite: str, rows: pd.DataFrame, parts: list[tuple[str, pd.DataFrame]], measure: str, name: str
) -> Figure:
    styles, beside = looks(rows["method"]), ("axes fraction", "data")
    figure = Figure(figsize=(7.5, 1.2 + len(parts) * (0.6 + 0.3 * len(styles))), layout="constrained")
    for axes, (title, part) in zip(figure.subplots(len(parts), squeeze=False)[:, 0], parts, strict=True):
        for at, (method, look) in enumerate(styles.items()):
            own = part[part["method"] == method]
            values = own.loc[own["status"] == "ok", measure].astype(float).to_numpy()
            if len(values):
                shift = 0.25 * (np.arange(len(values)) / max(1, len(values) - 1) - 0.5)
                axes.plot(values, at + shift, look.marker, color=look.colour, markersize=5, alpha=0.8)
                axes.plot([values.mean()] * 2, [at - 0.35, at + 0.35], color=look.colour, lw=2.5)
                axes.annotate(
                    f"{values.mean():.1f}", (1.01, at), xycoords=beside, fontsize=SMALL, va="center"
                )
            else:
                reason = str(own["reason"].iloc[0]) if len(own) else "not run"
                axes.annotate(
                    reason, (0.01, at), xycoords=("axes fraction", "data"), fontsize=SMALL, va="center"
                )
        if measure == "hamming":
            empty = part["empty_hamming"].dropna().astype(float)
            axes.axvline(empty.mean(), color=BLACK, ls=(0, (4, 3)), lw=1, zorder=1)
        axes.set_yticks(range(len(styles)), [look.label for look in styles.values()], fontsize=SMALL)
        axes.set_ylim(len(styles) - 0.5, -0.5)
        axes.set_xlim(left=-0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(True, color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    figure.supxlabel(name, fontsize=9)
    _heading(figure, suite, rows)
    return figure


def rejected(suite: str, rows: pd.DataFrame, rate: float) -> Figure:
    """Draw the share of rejected null pairs of every method and law, a panel per n; ticks are what is honest."""
    found = rejections(rows)
    styles, tasks, sizes = looks(rows["method"]), sorted(rows["task"].unique()), sorted(rows["n"].unique())
    notes = {n: _gaps(rows[rows["n"] == n].assign(d=0), styles, 50) for n in sizes}
    longest = max(note.count("\n") for note in notes.values())
    figure = Figure(
        figsize=(max(7.5, 2.4 + 3.2 * len(sizes)), 2.8 + 0.15 * longest + 0.24 * len(tasks)),
        layout="constrained",
    )
    panels = figure.subplots(1, len(sizes), squeeze=False, sharey=True)[0]
    for axes, n in zip(panels, sizes, strict=True):
        for at, (method, look) in enumerate(styles.items()):
            own = found[(found["n"] == n) & (found["method"] == method)]
            if own.empty:  # nothing that is not clipped has no place, and the layout would give up
                continue
            y = np.array([tasks.index(task) for task in own["task"]]) + 0.6 * ((at + 0.5) / len(styles) - 0.5)
            axes.plot(
                own[rate], y, look.marker, color=look.colour, markersize=5, alpha=0.9, mec="white", mew=0.4,
                clip_on=False,
            )  # fmt: skip
        for at, task in enumerate(tasks):
            if most(task, rate) < 1:
                axes.plot([most(task, rate)] * 2, [at - 0.5, at + 0.5], color=BLACK, lw=1.2, zorder=1)
            if at % 2 == 0:
                axes.axhspan(at - 0.5, at + 0.5, color="#f3f3f3", zorder=0)
        axes.axvline(rate, color=GREY, ls=(0, (4, 3)), lw=1)
        # The square root leaves room for the small shares that matter, and shows 0.
        axes.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.05, 0.2, 0.5, 1], ["0", ".05", ".2", ".5", "1"], fontsize=SMALL)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_title(f"n = {n:,}", fontsize=10)
        axes.set_xlabel("share rejected" + notes[n], fontsize=SMALL)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(tasks)), tasks, fontsize=SMALL)
    panels[0].set_ylim(len(tasks) - 0.5, -0.5)
    _legend(figure, rows, styles, lines=False)
    draws = ", ".join(f"{count}" for count in sorted(found["draws"].unique()))
    title = (
        f"{suite}: null pairs with p at most {rate:g} (dashes), {draws} draws; ticks: the most that is honest"
    )
    figure.suptitle(textwrap.fill(title, int(figure.get_figwidth() * 11)), fontsize=11)
    return figure


def _legend(
    figure: Figure, rows: pd.DataFrame, styles: dict[str, Look], lines: bool = True, measure: str = ""
) -> None:
    """Name what is drawn, below the panels; methods without any number are named in the notes instead."""
    drawn = set(rows.loc[rows["status"] == "ok", "method"])
    handles = [
        Line2D([], [], color=k.colour, marker=k.marker, ls=k.line if lines else "", label=k.label)
        for method, k in styles.items()
        if method in drawn
    ]
    if measure == "hamming":
        handles.append(Line2D([], [], color=BLACK, ls=(0, (4, 3)), lw=1, label="empty graph"))
    if measure == "seconds" and rows["reason"].str.startswith("timeout").any():
        handles.append(Line2D([], [], color=GREY, marker="x", ls="", mew=2, label="ran out of time"))
    columns = max(2, int(figure.get_figwidth() / 1.7))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


def _heading(figure: Figure, suite: str, rows: pd.DataFrame) -> None:
    seeds = int(rows.groupby("task")["seed"].nunique().max())
    rates = ", ".join(f"{fdr:g}" for fdr in sorted(rows["fdr"].dropna().unique()))
    parts = [suite]
    if (rows["simulator"] != "").any():
        parts.append(f"mean and range of {seeds} seeds" if seeds > 1 else "one seed")
    if rates:
        parts.append(f"FDR {rates} where a method has one")
    width = int(figure.get_figwidth() * 11)
    figure.suptitle(textwrap.fill("; ".join(parts), width), fontsize=11)
