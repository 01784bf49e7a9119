"""
Parity: what only three variables show together
===============================================

Two switches at the ends of a corridor and a lamp: each switch turns the lamp over. Alone, neither switch says
anything about the lamp; together they determine it. All three are joined, since given the third each tells the
other, and yet no pair of them is dependent by itself.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from gpmnet import GPM
from gpmnet.engines.deep_options import DeepOptions

rng = np.random.default_rng(0)
n = 400
switch_1, switch_2 = rng.integers(0, 2, size=(2, n))
lamp = (switch_1 ^ switch_2) ^ (rng.random(n) < 0.1)  # one in ten rows was written down wrong
power = 40 * lamp + rng.normal(20, 12, n)
warmth = rng.normal(21, 2, n)
corridor = pd.DataFrame(
    {
        "switch_1": np.where(switch_1, "up", "down"),
        "switch_2": np.where(switch_2, "up", "down"),
        "lamp": np.where(lamp, "on", "off"),
        "power": power,
        "warmth": warmth,
    }
)
print(pd.crosstab(corridor["switch_1"], corridor["lamp"]))
print(pd.crosstab([corridor["switch_1"], corridor["switch_2"]], corridor["lamp"]))

# %%
# The local engine finds the neighbors of a variable one at a time; a triple without any pairwise trace gives that search
# nothing to start from, so it also looks at all products of two other variables. Of four or five that only act together
# it would find nothing. The deep engine fits one model to all variables at once, sees combinations of any number, and takes
# longer for it (here with fewer training steps than usual, which is enough for five variables; a warning says that training
# was not at its end).

engines = {
    "local": GPM("local", fdr=0.01, random_state=0),
    "deep": GPM("deep", fdr=0.01, random_state=0, options=DeepOptions(steps=300, patience=100)),
}
networks = {}
for name, model in engines.items():
    start = time.perf_counter()
    networks[name] = model.fit(corridor).network_
    print(f"{name}: {time.perf_counter() - start:.1f} s, {networks[name]}")

figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
for ax, (name, network) in zip(axes, networks.items(), strict=True):
    network.plot(ax, title=f"{name} engine")

# %%
# Omega is the root of the mean *squared* interaction, so what changes its sign with a third variable does not
# average out. The shape of an edge does: switch 1 and the lamp go together when switch 2 is down and apart when it is up,
# which leaves little on average. Look at the triple, not at one edge of it.

print(networks["deep"].edges.round(3).to_string())

lit = pd.crosstab(corridor["switch_1"], corridor["switch_2"], values=corridor["lamp"] == "on", aggfunc="mean")
figure, ax = plt.subplots(figsize=(5, 3.8), layout="constrained")
for at, colour in (("down", "#0072B2"), ("up", "#D55E00")):
    ax.plot(lit.columns, lit.loc[at], marker="o", color=colour, label=f"switch 1 {at}")
ax.plot(
    lit.columns,
    (corridor["lamp"] == "on").groupby(corridor["switch_2"]).mean(),
    color="#888888",
    linestyle=":",
    label="both",
)
ax.set(xlabel="switch 2", ylabel="share of rows with the lamp on", ylim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
