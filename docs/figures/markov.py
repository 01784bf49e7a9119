"""Correlated is not joined: a common cause, a chain, and what a Markov network keeps."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

BLUE, GREY, ORANGE = "#0072B2", "#BBBBBB", "#D55E00"
PLACES = {"age": (0, 1.5), "shoe size": (-1.15, 0), "vocabulary": (1.15, 0), "essay": (2.6, -0.55)}
JOINED = [("age", "shoe size"), ("age", "vocabulary"), ("vocabulary", "essay")]


def draw(ax: Axes, pairs: list[tuple[str, str]], colour: str, title: str) -> None:
    """Draw the four variables with the given pairs joined."""
    for a, b in pairs:
        ax.plot(*zip(PLACES[a], PLACES[b], strict=True), color=colour, linewidth=3, zorder=1)
    for name, (x, y) in PLACES.items():
        ax.scatter(x, y, s=1700, color="white", edgecolor="black", linewidth=1.2, zorder=2)
        ax.text(x, y, name, ha="center", va="center", fontsize=7, zorder=3)
    ax.set(xlim=(-1.8, 3.3), ylim=(-1.2, 2.2), title=title)
    ax.set_aspect("equal")
    ax.set_axis_off()


rng = np.random.default_rng(0)
age = rng.uniform(6, 16, 400)
shoe = 25 + 1.1 * age + rng.normal(0, 1.3, 400)
words = 2 + 1.5 * age + rng.normal(0, 2.2, 400)

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.5), layout="constrained", width_ratios=[1, 1, 0.95])
names = list(PLACES)
draw(axes[0], [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]], GREY, "correlated")
draw(axes[1], JOINED, BLUE, "joined in the Markov network")
ax = axes[2]
ax.scatter(shoe, words, c=age, cmap="viridis", s=10, alpha=0.8)
for low, high in ((6.5, 7.5), (10.5, 11.5), (14.5, 15.5)):
    chosen = (age > low) & (age < high)
    slope, start = np.polyfit(shoe[chosen], words[chosen], 1)
    line = np.array([shoe[chosen].min(), shoe[chosen].max()])
    ax.plot(line, start + slope * line, color=ORANGE, linewidth=2.5)
    ax.annotate(
        f"aged {round((low + high) / 2)}",
        (line[1], start + slope * line[1]),
        xytext=(4, -3),
        textcoords="offset points",
        fontsize=8,
    )
ax.set(xlabel="shoe size", ylabel="vocabulary (thousand words)", title="at one age, nothing is left")
ax.set_xlim(right=shoe.max() + 1.5)
ax.spines[["top", "right"]].set_visible(False)
