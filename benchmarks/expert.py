"""Random Bayesian networks that resemble those which experts write down, for the benchmarks here.

Up to three parents a node, chosen among nodes nearby, not all adjacent; skewed tables (most rows give one level
nearly all of the mass); some deterministic nodes; in mixed networks regressions that change with the discrete
parents, and columns that are exactly zero unless a discrete parent says otherwise.
"""

import numpy as np

from gpmnet.graphs import from_parents, moralise
from gpmnet.simulate.base import Simulation
from gpmnet.simulate.tables import configuration, draw_codes, weakest_parent

WEAKEST = 0.01  # nats that each parent has about its child given the other parents, at least
WINDOW = 8  # parents come from this many nodes before


def expert_network(d, n, seed, kind="discrete", special=0.15):
    """Draw from a random expert network.

    Parameters
    ----------
    kind : {"discrete", "mixed"}
    special : float
        Share of the nodes with parents that are deterministic ("some parent is not as usual"), or, if
        continuous with a discrete parent, exactly 0 wherever that parent is 0.
    """
    for_law, for_sample = (np.random.default_rng([seed, part]) for part in (0, 1))
    discrete = np.ones(d, dtype=bool) if kind == "discrete" else for_law.random(d) < 0.5
    levels = np.where(discrete, for_law.choice([2, 3, 4], d, p=[0.5, 0.3, 0.2]), 0)
    values, parents = np.zeros((n, d)), []
    for node in range(d):
        parents.append(_parents(node, levels, for_law))
        chosen = values[:, parents[node]]
        of_parents = levels[parents[node]]
        odd = for_law.random() < special
        if levels[node]:
            values[:, node] = _discrete(chosen, of_parents, levels, node, odd, for_law, for_sample)
        else:
            values[:, node] = _continuous(chosen, of_parents, odd, for_law, for_sample)
    order = for_law.permutation(d)
    return Simulation(
        name="expert",
        names=tuple(f"x{i}" for i in range(1, d + 1)),
        values=values[:, order],
        kinds=tuple(np.where(discrete[order], "discrete", "continuous").tolist()),
        truth=moralise(from_parents(parents))[order][:, order],
        parameters={"kind": kind, "d": d, "n": n, "seed": seed},
    )


def _parents(node, levels, rng):
    """Draw the parents of a node; a discrete node has discrete ones only."""
    near = np.arange(max(0, node - WINDOW), node)
    if levels[node]:
        near = near[levels[near] > 0]
    return np.sort(rng.permutation(near)[: rng.choice([0, 1, 2, 3], p=[0.1, 0.45, 0.3, 0.15])])


def _discrete(chosen, of_parents, levels, node, odd, for_law, for_sample):
    if odd and len(of_parents) > 1:
        usual = [np.bincount(column.astype(int)).argmax() for column in chosen.T]
        values = (chosen != usual).any(axis=1).astype(float)
        if 0.02 < values.mean() < 0.98:
            levels[node] = 2
            return values
    table = _table(of_parents.tolist(), int(levels[node]), for_law)
    at = configuration(list(chosen.T), of_parents.tolist(), len(chosen))
    return draw_codes(table.reshape(-1, table.shape[-1])[at], for_sample)


def _table(of_parents, cardinality, rng):
    if not of_parents:
        row = rng.dirichlet(np.full(cardinality, 0.7))
        while row.min() < 0.02:
            row = rng.dirichlet(np.full(cardinality, 0.7))
        return row
    for _ in range(1000):
        rows = rng.dirichlet(np.ones(cardinality), size=tuple(of_parents))
        peak = np.eye(cardinality)[rng.integers(0, cardinality, tuple(of_parents))]
        sharp = rng.choice([0.0, 0.8, 0.95], tuple(of_parents), p=[0.3, 0.4, 0.3])[..., None]
        table = sharp * peak + (1 - sharp) * rows
        if weakest_parent(table) >= WEAKEST:
            break
    return table


def _continuous(chosen, of_parents, odd, for_law, for_sample):
    discrete = [at for at, count in enumerate(of_parents) if count]
    sizes = [int(of_parents[at]) for at in discrete]
    at = configuration([chosen[:, k] for k in discrete], sizes, len(chosen))
    count = int(np.prod(sizes, dtype=int))
    slopes = for_law.choice([-1, 1], (count, len(of_parents))) * for_law.uniform(
        0.2, 1.2, (count, len(of_parents))
    )
    slopes[:, discrete] = 0.0
    spread = np.where(chosen.std(axis=0) > 0, chosen.std(axis=0), 1.0)
    mean = (slopes[at] * (chosen - chosen.mean(axis=0)) / spread).sum(axis=1)
    values = (
        mean
        + for_law.normal(0, 1.2, count)[at]
        + for_law.uniform(0.5, 1.5, count)[at] * (for_sample.standard_normal(len(chosen)))
    )
    if odd and discrete:
        values = np.where(chosen[:, discrete[0]] == 0, 0.0, np.exp(values))
    return values
