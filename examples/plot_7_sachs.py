"""
Proteins in single cells
========================

Eleven phosphorylated proteins and phospholipids measured in 853 single cells (Sachs and others 2005). The data are
not part of this package: set ``GPMNET_SACHS`` to a CSV with one column a protein, and this example joins the gallery.
"""

import os

import matplotlib.pyplot as plt
import pandas as pd

from gpmnet import GPM

cells = pd.read_csv(os.environ["GPMNET_SACHS"])
net = GPM(fdr=0.05, random_state=0).fit(cells).network_
print(net)
print(net.edges.round(4).to_string())
net.plot(color="community")

# %%
# Edges that biologists expect: Raf-Mek, PIP2-PIP3-PLCg, Erk-Akt-PKA, PKC-P38-JNK. An undirected edge says that two proteins
# stay dependent given the other nine; it does not say which acts on which.

strongest = net.edges.sort_values("strength", ascending=False).head(4)
figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
for ax, (a, b) in zip(axes.flat, strongest[["source", "target"]].to_numpy(), strict=True):
    net.explain(a, b).plot(ax)
