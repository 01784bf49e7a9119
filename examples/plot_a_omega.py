"""
The paper's estimator: a graph read from Omega
==============================================

No test decides here. One joint model is fitted by penalised score matching, and its generalised precision matrix,
Omega, is the graph: a pair is joined where its entry is not zero.
"""

import matplotlib.pyplot as plt
import numpy as np

from gpmnet import GPM
from gpmnet.simulate import simulate

# %%
# Butterflies: five pairs p, q = w p with independent p and w. Each q is uncorrelated with its p, and their mean
# dependence is nil; only the spread of q follows p. The Gaussian precision matrix is diagonal.

drawn = simulate("butterfly", d=10, n=1000, seed=3)
table = drawn.frame()
print(table.corr().round(2).iloc[:4, :4])

# %%
# ``decide="omega"`` fits the model to halves of the rows, twice. A pair is an edge if its interaction is not penalised
# away in any half and two halves agree on it. There are no p-values then, and the network says so.

model = GPM("deep", decide="omega", energy="pairwise", random_state=0).fit(table)
print(model.network_)
print(model.network_.facts.warnings[-1])

# %%
# Omega beside the truth. Entries of the model that all rows gave are shown as they are, also those of pairs that are no
# edges: the penalty has made nearly all of them exactly zero.

names = list(model.network_.names)
truth = drawn.truth.toarray() != 0
figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
gaussian = np.abs(np.linalg.inv(np.corrcoef(table.to_numpy().T)))
pictures = {
    "Gaussian precision, absolute": gaussian,
    "Omega": model.omega_,
    "truth": truth + np.eye(len(names)),
}
for ax, (title, matrix) in zip(axes, pictures.items(), strict=True):
    ax.imshow(matrix / matrix.max(), cmap="Blues", vmin=0, vmax=1)
    ax.set(title=title, xticks=range(len(names)), yticks=range(len(names)))
    ax.set_xticklabels(names, rotation=90)
    ax.set_yticklabels(names)

# %%
# ``GPM("paper")`` is the same with every part as published: a deep kernel family on a normal base measure, the published
# objective, SCAD, Adam. It is slower, and its objective has no minimum for an energy that flexible; see
# `the deep engine <../deep.html#edges-by-omega-alone>`_.
