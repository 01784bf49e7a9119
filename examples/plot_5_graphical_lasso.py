"""
Beside GraphicalLassoCV: Gaussian data, and a butterfly
=======================================================

The graphical lasso is the usual tool for a network of numbers. It assumes a Gaussian law: only linear dependence
exists for it. Here are both methods on data where that is true, and on data where it is not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.covariance import GraphicalLassoCV

from gpmnet import GPM, MarkovNetwork, metrics
from gpmnet.simulate import simulate


def both(drawn):
    """Fit both methods to one sample."""
    scaled = (drawn.values - drawn.values.mean(axis=0)) / drawn.values.std(axis=0)
    precision = GraphicalLassoCV().fit(scaled).precision_
    graph = (precision != 0) & ~np.eye(len(precision), dtype=bool)
    lasso = MarkovNetwork.from_adjacency(drawn.names, graph)
    return {"gpmnet": GPM(fdr=0.05, random_state=0).fit(drawn.frame()).network_, "GraphicalLassoCV": lasso}


samples = {
    "Gaussian chain": simulate("gaussian", d=12, n=1000, seed=1, structure="chain"),
    "butterfly pairs": simulate("butterfly", d=12, n=1000, seed=1),
}
fits = {name: both(drawn) for name, drawn in samples.items()}

# %%
# The two samples. In a butterfly pair y is x times an independent number: not correlated, and yet the size of one
# tells the size of the other.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (name, drawn) in zip(axes, samples.items(), strict=True):
    a, b = drawn.edges().iloc[0]
    x, y = drawn.frame()[a], drawn.frame()[b]
    ax.scatter(x, y, s=6, alpha=0.5, color="#0072B2", linewidths=0)
    ax.set(title=f"{name}: correlation {np.corrcoef(x, y)[0, 1]:.2f}", xlabel=a, ylabel=b)
    ax.spines[["top", "right"]].set_visible(False)

# %%
# Edges found: black where they are true, orange where they are false, dotted where a true one was missed.


def draw(ax, drawn, network, title):
    """Draw a network around a circle, true edges and mistakes apart."""
    angle = np.linspace(0, 2 * np.pi, len(drawn.names), endpoint=False)
    at = np.column_stack([np.sin(angle), np.cos(angle)])
    truth = drawn.truth.toarray()
    for i, j in zip(*np.nonzero(np.triu(truth | network.adjacency)), strict=True):
        found = network.adjacency[i, j]
        colour = "black" if truth[i, j] else "#D55E00"
        ax.plot(
            *at[[i, j]].T,
            color=colour,
            linestyle="-" if found else ":",
            linewidth=1.8 if truth[i, j] else 1,
            zorder=1,
        )
    ax.scatter(*at.T, s=190, color="#56B4E9", zorder=2)
    for name, place in zip(drawn.names, at, strict=True):
        ax.text(*place, name, ha="center", va="center", fontsize=7, zorder=3)
    score = metrics.evaluate(truth, network.adjacency)
    ax.set_title(f"{title}\nprecision {score['precision']:.2f}, recall {score['recall']:.2f}", fontsize=10)
    ax.set_aspect("equal")
    ax.set_axis_off()


figure, axes = plt.subplots(2, 2, figsize=(8.4, 8.8), layout="constrained")
for row, (name, drawn) in zip(axes, samples.items(), strict=True):
    for ax, (method, network) in zip(row, fits[name].items(), strict=True):
        draw(ax, drawn, network, f"{name}: {method}")

# %%
# On Gaussian data the lasso with cross-validation finds every edge and adds others: cross-validation picks the
# penalty that predicts best, which is smaller than the one that selects best. On butterflies it has nothing to go
# by, and what it does return is noise. gpmnet pays little for making no assumption: one sample each is shown here, many
# in the benchmark results.
