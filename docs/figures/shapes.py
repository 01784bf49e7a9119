"""Four kinds of dependence that all are edges."""

import matplotlib.pyplot as plt
import numpy as np

BLUE = "#0072B2"
rng = np.random.default_rng(1)
n = 500
x = rng.normal(size=n)
group = rng.integers(0, 3, n)
panels = {
    "straight": (x, 0.8 * x + 0.6 * rng.normal(size=n)),
    "bent": (x, x**2 + 0.4 * rng.normal(size=n)),
    "only the spread": (x, x * rng.normal(size=n)),
    "a category": (
        group + 0.12 * rng.normal(size=n),
        np.array([0.0, 1.8, 0.4])[group] + 0.5 * rng.normal(size=n),
    ),
}
figure, axes = plt.subplots(1, 4, figsize=(10.5, 2.8), layout="constrained")
for ax, (title, (a, b)) in zip(axes, panels.items(), strict=True):
    ax.scatter(a, b, s=7, alpha=0.5, color=BLUE, linewidths=0)
    ax.set(title=title, xticks=[], yticks=[])
    ax.spines[["top", "right"]].set_visible(False)
