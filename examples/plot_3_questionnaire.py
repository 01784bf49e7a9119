"""
A questionnaire: ordinal answers, and an item that goes with both ends
======================================================================

Nine items answered on a scale from 1 to 7 by 1,500 people, simulated here so that the true network is known: two
chains of items that touch at sleep, and one item, arousal, that goes with *both* extremes of mood. A correlation
does not see it, and a network with one number per edge could not describe it.
"""

import numpy as np
import pandas as pd

from gpmnet import GPM, metrics

rng = np.random.default_rng(0)
n = 1500


def answer(latent):
    """Return answers 1 to 7, as seven equal slices of a bell curve would give them."""
    return pd.cut(
        (latent - latent.mean()) / latent.std(),
        [-np.inf, -1.5, -0.9, -0.3, 0.3, 0.9, 1.5, np.inf],
        labels=range(1, 8),
    ).astype(int)


def noise():
    return rng.normal(size=n)


mood = answer(noise())
energy = answer(0.7 * mood + noise())
interest = answer(0.7 * energy + noise())
sleep = answer(0.6 * energy + noise())
worry = answer(-0.8 * sleep + noise())
tension = answer(0.8 * worry + noise())
headache = answer(0.7 * tension + noise())
arousal = answer(0.8 * (mood - 4) ** 2 / 2 + noise())  # high at both ends of mood
height = answer(noise())  # has nothing to do with anything
people = pd.DataFrame(
    {
        "mood": mood, "energy": energy, "interest": interest, "sleep": sleep, "worry": worry,
        "tension": tension, "headache": headache, "arousal": arousal, "height": height,
    }
)  # fmt: skip
truth = [
    ("mood", "energy"), ("energy", "interest"), ("energy", "sleep"), ("sleep", "worry"), ("worry", "tension"),
    ("tension", "headache"), ("mood", "arousal"),
]  # fmt: skip

# %%
# Whole numbers with few values are taken for ordinal answers.

model = GPM(fdr=0.05, random_state=0).fit(people)
net = model.network_
print({column.name: column.kind for column in model.table_.schema})
net.plot()

# %%
# Against the truth.

true_graph = np.zeros(net.adjacency.shape, dtype=bool)
for a, b in truth:
    true_graph[net.position(a), net.position(b)] = true_graph[net.position(b), net.position(a)] = True
print(metrics.evaluate(true_graph, net.adjacency))
print(
    "Spearman correlation of mood and arousal:",
    round(people["mood"].corr(people["arousal"], method="spearman"), 3),
)

# %%
# The shapes say how: energy rises with mood, arousal is high at both ends of it.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
for ax, other in zip(axes, ("energy", "arousal"), strict=True):
    why = net.explain("mood", other)
    why.plot(ax)
    print(why.text)
