"""
Breast cancer: which measurements speak of the diagnosis themselves?
====================================================================

Ten measurements of cell nuclei in 569 biopsies, and the diagnosis. Nearly all of them are associated with the
diagnosis; the network says which still are once the others are known.
"""

import numpy as np
from scipy.stats import false_discovery_control, kruskal
from sklearn.datasets import load_breast_cancer

from gpmnet import GPM

data = load_breast_cancer(as_frame=True)
means = [name for name in data.data.columns if name.startswith("mean")]
cells = data.data[means].rename(columns=lambda name: name.removeprefix("mean "))
cells["diagnosis"] = data.target.map({0: "malignant", 1: "benign"})

# %%
# One at a time, nearly all measurements differ between benign and malignant biopsies.

groups = cells.groupby("diagnosis")
p_values = np.array(
    [kruskal(*(group[name] for _, group in groups)).pvalue for name in cells.columns.drop("diagnosis")]
)
print(f"{np.sum(false_discovery_control(p_values) <= 0.05)} of {len(p_values)} at FDR 0.05")

# %%
# Given all the others, few do. Radius, perimeter and area are nearly functions of each other, so each of them
# makes the other two almost superfluous: the fit names them as near-copies, and `merged_groups` shows them as one node.

model = GPM(fdr=0.05, random_state=0).fit(cells)
net = model.network_
print(net)
print("Markov blanket of the diagnosis:", net.markov_blanket("diagnosis"))
print(net.edges_of("diagnosis").round(4).to_string())
net.plot()

# %%
# The clearest of them: the lines are the interaction in the log density with all the rest held fixed. Above zero a
# diagnosis occurs more often with that value than it would if the two were independent given the rest.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
clearest = net.edges_of("diagnosis").iloc[0]
why = net.explain(clearest["source"], clearest["target"])
why.plot(ax)
print(why.text)

# %%
# The generalised precision matrix Omega, ordered by community: blocks are groups of variables that hang together.

from gpmnet.network.plot import plot_omega

plot_omega(model)
