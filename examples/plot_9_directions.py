"""
Directions: from a CSV to a class of graphs
===========================================

Does the sprinkler make the grass wet, or wet grass the sprinkler? A Markov network does not say. Where two causes meet
in a common effect, though, the data do: rain and sprinkler are independent, and dependent once we know how wet the
grass is.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd

from gpmnet import GPM, ci_test
from gpmnet.causal import Knowledge, pc

rng = np.random.default_rng(1)
n = 800
season = rng.choice(["dry", "wet"], n)
rain = rng.gamma(2.0, np.where(season == "wet", 3.0, 1.0))
sprinkler = rng.random(n) < 0.5
water = np.sqrt(rain) + 1.5 * sprinkler + rng.normal(0, 0.4, n)
slips = rng.poisson(np.exp(0.5 * water - 1))
garden = pd.DataFrame(
    {
        "season": season,
        "rain": rain,
        "sprinkler": np.where(sprinkler, "on", "off"),
        "water": water,
        "slips": slips,
    }
)
path = Path(tempfile.mkdtemp()) / "garden.csv"
garden.to_csv(path, index=False)

# %%
# The network first. It joins rain and sprinkler: given the water on the grass, each tells the other.

model = GPM(fdr=0.05, random_state=0).fit(path)
print(model.network_.edges[["source", "target", "strength", "p_value"]].round(4).to_string())
for given in ([], ["water"]):
    found = ci_test("rain", "sprinkler", given, model.table_)
    print(f"rain and sprinkler given {given}: p = {found.p_value:.2g}, strength {found.strength:.2f}")

# %%
# PC asks, edge by edge of the network, whether some neighbors separate the two, and finds the common effect. The arrow from
# water to slips follows: the other way would make another common effect, with independences that the table does not
# have. The direction between season and rain is open, and stays open with any number of rows.

found = pc(model.table_, model.network_)
print(found.graph, "by", found.n_evaluations, "tests")
print("arrows:", found.graph.compelled)
print("either way:", found.graph.reversible)

# %%
# What we know decides it: nothing here acts on the season.

tiers = [["season"], ["rain", "sprinkler", "water", "slips"]]
known = pc(model.table_, model.network_, knowledge=Knowledge.from_names(model.table_.names, tiers=tiers))
print("with knowledge:", known.graph.compelled)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
places = {"season": (0, 1), "rain": (0, 0), "sprinkler": (1, 1), "water": (1, 0), "slips": (2, 0)}
for ax, (title, graph) in zip(
    axes, {"data alone": found.graph, "nothing acts on the season": known.graph}.items(), strict=True
):
    picture = graph.to_networkx()
    nx.draw_networkx_nodes(picture, places, ax=ax, node_color="#DDEEFF", node_size=2600)
    nx.draw_networkx_labels(picture, places, ax=ax, font_size=9)
    nx.draw_networkx_edges(picture, places, graph.compelled, ax=ax, node_size=2600, arrowsize=18)
    nx.draw_networkx_edges(picture, places, graph.reversible, ax=ax, arrows=False, style="--")
    ax.set_title(title)
    ax.margins(0.2)
    ax.axis("off")

# %%
# The arrows are causes only if no common cause is missing from the table, rows were not selected, and no two effects cancel
# out. That is not in the data.
