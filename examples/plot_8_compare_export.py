"""
Save, export, compare
=====================

A network is a value: it can be kept exactly, handed to other programs, and set beside another one.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd

from gpmnet import GPM, MarkovNetwork

# %%
# Two groups of patients in whom most, but not all, depends on each other in the same way.

rng = np.random.default_rng(3)


def patients(n, treated):
    """Draw a table; treatment breaks one link and turns the sign of another."""
    noise = {name: rng.normal(size=n) for name in ("age", "pressure", "weight", "sugar", "insulin", "sleep")}
    age = noise["age"]
    weight = 0.5 * age + noise["weight"]
    pressure = (0.0 if treated else 0.7) * weight + 0.4 * age + noise["pressure"]
    sugar = 0.7 * weight + noise["sugar"]
    insulin = (-0.6 if treated else 0.6) * sugar + noise["insulin"]
    sleep = -0.5 * pressure + noise["sleep"]
    return pd.DataFrame(
        {
            "age": age,
            "weight": weight,
            "pressure": pressure,
            "sugar": sugar,
            "insulin": insulin,
            "sleep": sleep,
        }
    )


control = GPM(random_state=0).fit(patients(800, treated=False)).network_
treated = GPM(random_state=0).fit(patients(800, treated=True)).network_

figure, axes = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained")
control.plot(axes[0], title="control")
treated.plot(axes[1], title="treated")

# %%
# What they share and where they differ. An edge in one network alone does not prove a difference: it may have just
# missed the cutoff in the other, which the strengths tell.

difference = control.compare(treated)
print(difference)
table = difference.to_frame()
print(table.round(3).to_string())

# %%
# Strength with its sign, one point an edge: those on the diagonal agree.

figure, ax = plt.subplots(figsize=(5.6, 5.2), layout="constrained")
x = np.nan_to_num((table["sign_here"] * table["strength_here"]).to_numpy())
y = np.nan_to_num((table["sign_there"] * table["strength_there"]).to_numpy())
ax.axline((0, 0), slope=1, color="#BBBBBB", linewidth=1)
ax.axhline(0, color="#DDDDDD", linewidth=0.8, zorder=0)
ax.axvline(0, color="#DDDDDD", linewidth=0.8, zorder=0)
same = (table["here"] & table["there"]).to_numpy() & (x * y > 0)
for chosen, colour, label in (
    (same, "#0072B2", "in both, same sign"),
    (~same, "#D55E00", "in one, or turned"),
):
    ax.scatter(x[chosen], y[chosen], s=50, color=colour, label=label)
for i, (a, b) in enumerate(table[["source", "target"]].to_numpy()):
    ax.annotate(f"{a}, {b}", (x[i], y[i]), xytext=(6, 4), textcoords="offset points", fontsize=8)
ax.set(
    xlabel="signed strength, control",
    ylabel="signed strength, treated",
    xlim=(-0.75, 0.75),
    ylim=(-0.75, 0.75),
)
ax.legend(frameon=False, loc="upper left")

# %%
# Saved and read back, the network is the same to the last bit. Nothing is pickled: the files are JSON and
# safetensors, and reading one runs nothing.

with tempfile.TemporaryDirectory() as folder:
    control.save(Path(folder) / "control")
    again = MarkovNetwork.load(Path(folder) / "control")
    print(again, again.compare(control).hamming)
    for suffix in ("graphml", "gexf", "json", "csv", "parquet", "dot", "npz"):
        path = control.export(Path(folder) / f"control.{suffix}")
        print(f"{path.name:16} {path.stat().st_size:6,} bytes")
    graph = nx.read_graphml(Path(folder) / "control.graphml")
    print(graph.edges["age", "weight"])

# %%
# In memory, ``to_networkx`` gives all of networkx.

print(nx.betweenness_centrality(control.to_networkx()))
