"""
Wine: a network of a mixed table
================================

178 wines of three cultivars, thirteen chemical measurements and the cultivar itself: numbers and a category in
one table. This is the table of ``gpmnet demo``.
"""

# %%
# Kinds are inferred, and the reason is kept. Nothing has to be scaled, coded or transformed first.

from sklearn.datasets import load_wine

from gpmnet import GPM

data = load_wine(as_frame=True)
wines = data.data.rename(columns={"od280/od315_of_diluted_wines": "od280_od315"})
wines["cultivar"] = data.target.map({0: "cultivar A", 1: "cultivar B", 2: "cultivar C"})

model = GPM(fdr=0.05, random_state=0).fit(wines)
net = model.network_
print(net)
print(net.edges.round(4).to_string())

# %%
# The picture. The wider a line the stronger the dependence, blue is positive, dashed orange negative, grey has no
# single sign: a category has no "more".

net.plot()

# %%
# What an edge looks like
# -----------------------
# ``explain`` shows the dependence of two variables given all the others: where the two values occur together more
# often (blue) or less often (orange) than they would if the pair were independent given the rest.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
for ax, pair in zip(axes, [("flavanoids", "total_phenols"), ("proline", "cultivar")], strict=True):
    why = net.explain(*pair)
    why.plot(ax)
    print(why.text)

# %%
# Correlated, but not joined
# --------------------------
# Of the pairs without an edge, take the one with the largest correlation that the network connects at all. What the two
# say about each other passes through others; ``path`` names a shortest way, and closing its inner nodes closes that way.

import networkx as nx

graph = net.to_networkx()
correlation = wines.drop(columns="cultivar").corr(method="spearman").abs()
open_pairs = [
    (a, b)
    for a in correlation
    for b in correlation
    if a < b and b not in graph[a] and nx.has_path(graph, a, b)
]
a, b = max(open_pairs, key=lambda pair: correlation.loc[pair])
way = net.path(a, b)
print(f"{a}, {b}: rank correlation {correlation.loc[a, b]:.2f}, path {' - '.join(way)}")
print("other paths, given the inner nodes:", net.path(a, b, given=way[1:-1]))
print("given all neighbors of one end:", net.path(a, b, given=net.neighbors(a)))

# %%
# How sure is it?
# ---------------
# Every edge has a q-value, and the pairs that came close are kept. Hollow points came close; the cutoff can be
# moved afterwards.

from gpmnet.network.plot import plot_strength_q

plot_strength_q(net)
print(net.filter(q=0.01))
print(net.filter(q=0.2))
