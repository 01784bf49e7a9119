"""Pictures of result rows for docs/results.md: small SVG files that `results.py write` makes anew."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from gpmnet.bench.report import draw
from gpmnet.bench.style import BLUE, GREEN, GREY, ORANGE, RED
from intervals import summary as coverage

COLOURS = (RED, BLUE, GREEN, ORANGE, GREY)
MARKS = "os^Dv"


def pictures(name, rows):
    """Return the pictures of rows, by their file names without an ending; none where a table says it best."""
    if "p_values" in rows or ("status" in rows and "method" in rows):
        nothing = "n_true" in rows and not rows["n_true"].any() and not rows["n_edges"].any()
        return {} if nothing else of_suites(name, rows)
    if "state" in rows:
        return {name: speed(rows)}
    if "fit_seconds" in rows and "axis" not in rows:
        return {name: seconds(rows)}
    if "effect" in rows:
        return {name: shares(rows)}
    if "way" in rows and "policy" in rows and "f1" in rows:
        return {name: lost(rows)}
    if "pairs_of" in rows:
        return {name: covered(rows)}
    if "penalty" in rows:
        return {name: lines(rows, "penalty", "d", "hamming", "variables", "Hamming distance")}
    return {}


def of_suites(name, rows):
    """Return what `gpmnet bench plot` draws of such rows, one picture for each nominal rate."""
    rows = rows.assign(reason=rows["reason"].fillna(""), simulator=rows["simulator"].fillna(""))
    lists = np.nan
    if "p_values" in rows:
        lists = rows["p_values"].map(lambda text: [float(p) for p in text.split()], na_action="ignore")
    rows = rows.assign(p_values=lists)
    rates = sorted(rows["fdr"].dropna().unique()) if "fdr" in rows else []
    if len(rates) < 2:
        return dict(list(draw(name, rows.assign(fdr=rows.get("fdr", np.nan))).items())[:1])
    found = {}
    for rate in rates:
        part = rows[rows["fdr"].isna() | (rows["fdr"] == rate)]
        found |= {f"{name}-{rate:g}": figure for figure in draw(f"{name}, FDR {rate:g}", part).values()}
    return found


def axes_of(figure, x, y, panels=1):
    """Return plain axes side by side with their labels."""
    found = figure.subplots(1, panels, squeeze=False, sharey=True)[0]
    for axes in found:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(True, color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel(x)
    found[0].set_ylabel(y)
    return found


def lines(rows, of, x, y, *labels):
    """Draw means against something, a line a group."""
    figure = Figure(figsize=(6.5, 3.2), layout="constrained")
    axes = axes_of(figure, *labels)[0]
    for at, (group, part) in enumerate(rows.groupby(of, sort=False)):
        mean = part.groupby(x)[y].mean()
        axes.plot(mean.index, mean, marker=MARKS[at % 5], color=COLOURS[at % 5], label=str(group))
    axes.legend(frameon=False)
    return figure


def seconds(rows):
    """Draw the time of a fit against the variables, on two log axes."""
    figure = lines(rows, "device", "d", "fit_seconds", "variables", "seconds of a fit")
    figure.axes[0].set(xscale="log", yscale="log")
    return figure


def speed(rows):
    """Draw the CPU seconds of fits before and now, a pair of bars a table."""
    figure = Figure(figsize=(6.5, 0.8 + 0.45 * rows["table"].nunique()), layout="constrained")
    axes = axes_of(figure, "CPU seconds of a fit", "")[0]
    tables, states = list(dict.fromkeys(rows["table"])), list(dict.fromkeys(rows["state"]))
    for k, state in enumerate(states):
        fit = rows[rows["state"] == state].set_index("table")["fit"].reindex(tables)
        at = np.arange(len(tables)) + 0.8 * ((k + 0.5) / len(states) - 0.5)
        axes.barh(at, fit, 0.8 / len(states), color=(GREY, RED)[k % 2], label=state)
    axes.set_yticks(range(len(tables)), tables)
    axes.invert_yaxis()
    axes.legend(frameon=False)
    return figure


def shares(rows):
    """Draw the shares of rejected null pairs by law, a panel a number of rows; dashes are the nominal rate."""
    null, sizes = rows[~rows["effect"]], sorted(rows["n"].unique())
    laws = list(dict.fromkeys(null["law"]))
    figure = Figure(figsize=(2 + 2.4 * len(sizes), 1.2 + 0.3 * len(laws)), layout="constrained")
    for axes, n in zip(axes_of(figure, "share rejected", "", len(sizes)), sizes, strict=True):
        for at, (method, part) in enumerate(null[null["n"] == n].groupby("method", sort=False)):
            share = part.set_index("law")["at_0.05"].reindex(laws)
            axes.plot(share, range(len(laws)), MARKS[at % 5], color=COLOURS[at % 5], label=method)
        axes.axvline(0.05, color=GREY, ls=(0, (4, 3)), lw=1)
        axes.set_title(f"null pairs, n = {n:,}", fontsize=10)
    figure.axes[0].set_yticks(range(len(laws)), laws)
    figure.axes[0].invert_yaxis()
    figure.axes[-1].legend(frameon=False)
    return figure


def with_loss(rows):
    """Return the rows of tables with gaps, and how much less F1 they have than the complete ones."""
    whole = rows[rows["share"] == 0].set_index(["task", "seed"])["f1"]
    cells = rows[(rows["share"] > 0) & (rows["status"] == "ok")]
    at = pd.MultiIndex.from_frame(cells[["task", "seed"]])
    return cells.assign(lost=whole.reindex(at).to_numpy() - cells["f1"])


def lost(rows):
    """Draw the F1 that gaps cost, a panel a way in which cells are missing, a line a policy."""
    cells = with_loss(rows)
    ways = sorted(cells["way"].unique())
    figure = Figure(figsize=(1.5 + 3.2 * len(ways), 3.2), layout="constrained")
    panels = axes_of(figure, "share of cells missing", "F1 lost (mean over tables)", len(ways))
    for axes, way in zip(panels, ways, strict=True):
        for at, (policy, part) in enumerate(cells[cells["way"] == way].groupby("policy")):
            mean = part.groupby("share")["lost"].mean()
            axes.plot(mean.index, mean, marker=MARKS[at % 5], color=COLOURS[at % 5], label=policy)
        axes.set_title(way, fontsize=10)
    panels[-1].legend(frameon=False)
    return figure


def covered(rows):
    """Draw the share of 95% intervals that hold the true strength, by law, way and number of rows."""
    found = coverage(rows).reset_index()
    laws = list(dict.fromkeys(found["pairs_of"]))
    figure = Figure(figsize=(7, 1.2 + 0.4 * len(laws)), layout="constrained")
    axes = axes_of(figure, "share of 95% intervals that hold the true strength", "")[0]
    for at, ((neighbors, n), part) in enumerate(found.groupby(["neighbors", "n"], sort=False)):
        y = part["pairs_of"].map(laws.index)
        look = {"color": COLOURS[at % 3], "label": f"{neighbors}, n = {n:,}"}
        axes.plot(part["coverage"], y, MARKS[(at // 3) % 5], alpha=0.85, **look)
    axes.axvline(0.95, color=GREY, ls=(0, (4, 3)), lw=1)
    axes.set_yticks(range(len(laws)), laws)
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def save(figures, folder):
    """Write figures as SVG whose bytes depend on the rows alone; return their file names."""
    names = []
    # Letters stay letters: files are small, and the words can be searched for.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gpmnet", "font.family": "sans-serif"}):
        for name, figure in figures.items():
            names.append(f"{name}.svg")
            figure.savefig(Path(folder) / names[-1], format="svg", metadata={"Date": None})
    return names
