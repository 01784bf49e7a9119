"""Intervals of strength: how often do they hold the true strength, and is "at most this" refuted too often?

    python benchmarks/intervals.py -o FILE.csv [--networks 6] [--jobs 2] [--laws "NAME;..."]
    python benchmarks/intervals.py --summary FILE.csv

The true edges of random networks of six variables, tested given the true neighbors of both ends, and as the local engine
finds them: neighbors are searched for, and pairs that do not come close have no interval. The true strength is
|partial correlation| for Gaussian networks; for binary ones |phi| given the true neighbors, from the exact table of all
states; else the same statistic given the true neighbors, the mean of two tables of 100,000 rows.

Two rows a table, one for each way: how many true edges there are, how many were tested, how many intervals hold the truth
or lie above or below it, and how many true edges are refuted at p = .05, .01 and .001 if min_strength is exactly the true
strength. Networks that the file already holds are not repeated.
"""

import argparse
import itertools
import multiprocessing
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import pandas as pd

D = 6
ROWS = (300, 1000, 10000)
DRAWS = dict.fromkeys(("binary", "discrete"), (40, 20, 15))  # of the same network
SLOW_DRAWS = (40, 20, 3)
LARGE, TABLES = 100_000, 2
LAWS = ("Gaussian", "binary", "discrete", "mixed", "nonlinear")
MEASURED = ("discrete", "mixed", "nonlinear")
RATES = (0.05, 0.01, 0.001)


def draws_of(law):
    """Return (rows of a table, number of tables) for one network of a law."""
    return list(zip(ROWS, DRAWS.get(law, SLOW_DRAWS), strict=True))


def neighbors_of_both(truth, i, j):
    """Return the true neighbors of either end of a pair."""
    return sorted({*np.flatnonzero(truth[i]).tolist(), *np.flatnonzero(truth[j]).tolist()} - {i, j})


def ising(seed):
    """Return states (64, 6), their probabilities and the graph of a binary network with random couplings."""
    rng = np.random.default_rng([seed, 77])
    first, second = np.triu_indices(D, 1)
    chosen = rng.choice(len(first), 8, replace=False)
    weight = np.zeros((D, D))
    weight[first[chosen], second[chosen]] = rng.choice([-1, 1], 8) * rng.uniform(0.2, 0.7, 8)
    states = np.array(list(itertools.product([0, 1], repeat=D)))
    spins = 2 * states - 1
    log_p = ((spins @ weight) * spins).sum(axis=1) + spins @ rng.uniform(-0.4, 0.4, D)
    p = np.exp(log_p - log_p.max())
    return states, p / p.sum(), (weight + weight.T) != 0


def phi(states, p, pair, given):
    """Return |phi| of two binary variables given others, from the exact table of all states."""
    cell = states[:, given] @ 2 ** np.arange(len(given))
    mass = np.bincount(cell, p)
    u, v = (states[:, at] - (np.bincount(cell, p * states[:, at]) / mass)[cell] for at in pair)
    return float(abs((p * u * v).sum()) / np.sqrt((p * u * u).sum() * (p * v * v).sum()))


def network(law, seed):
    """Return a large sample (m, 6) of one network, kinds by name, the graph, and true strengths by pair."""
    from gpmnet.simulate import simulate

    m = max(n * count for n, count in draws_of(law)) + (LARGE * TABLES if law in MEASURED else 0)
    if law == "binary":
        states, p, truth = ising(seed)
        values = states[np.random.default_rng([seed, 78]).choice(len(p), m, p=p)]
        kinds = {f"x{k + 1}": "discrete" for k in range(D)}
    else:
        name, kind = {"Gaussian": ("gaussian", "continuous"), "nonlinear": ("random", "continuous")}.get(
            law, ("random", law)
        )
        drawn = simulate(name, kind=kind, d=D, n=m, seed=seed)
        values, truth, kinds = (
            drawn.values,
            drawn.truth.toarray(),
            dict(zip(drawn.names, drawn.kinds, strict=True)),
        )
    edges = [(int(i), int(j)) for i, j in np.argwhere(np.triu(truth))]
    if law == "Gaussian":
        q = drawn.precision.toarray()
        strengths = {(i, j): abs(q[i, j]) / np.sqrt(q[i, i] * q[j, j]) for i, j in edges}
    elif law == "binary":
        strengths = {e: phi(states, p, e, neighbors_of_both(truth, *e)) for e in edges}
    else:
        strengths = measured(values[-LARGE * TABLES :], kinds, truth, edges)
    return values, kinds, truth, strengths


def frame(values, kinds):
    return pd.DataFrame(values, columns=list(kinds))


def given_truth(values, kinds, truth, edges):
    """Return the tests of edges given the true neighbors of both ends, one a pair."""
    import torch

    from gpmnet.columns.features import build_features
    from gpmnet.engines.local import LocalOptions
    from gpmnet.table import load_table
    from gpmnet.testing.base import BoundTest
    from gpmnet.testing.design import Designs

    options = LocalOptions()
    table = load_table(frame(values, kinds), kinds=kinds)
    if list(table.names) != list(kinds):
        raise ValueError("a column repeats another")
    encoded = table.encode(0)
    features = build_features(encoded, options.functions, "cpu", torch.float64)
    test = BoundTest(options.test, Designs(features, options.design))
    sets = [torch.tensor([neighbors_of_both(truth, i, j)]).long() for i, j in edges]
    ends = [(torch.tensor([i]), torch.tensor([j])) for i, j in edges]
    return [test.pairs(*pair, given) for pair, given in zip(ends, sets, strict=True)]


def measured(values, kinds, truth, edges):
    """Return the strengths given the true neighbors in large tables, their means by pair."""
    tests = [given_truth(part, kinds, truth, edges) for part in np.split(values, TABLES)]
    return {e: float(np.mean([part[at].strength.item() for part in tests])) for at, e in enumerate(edges)}


def as_found(values, kinds, strengths):
    """Return what the engine says of those true edges that it tests: targets, log p-values, strengths, errors, excess."""
    from gpmnet.engines.base import Problem
    from gpmnet.engines.local import LocalEngine
    from gpmnet.table import load_table

    table = load_table(frame(values, kinds), kinds=kinds)
    found = LocalEngine().fit(Problem(table.encode(0)))
    place = [list(kinds).index(name) for name in table.names]  # a column that repeats another is not there
    ends = zip(found.first, found.second, strict=True)
    at = {tuple(sorted((place[i], place[j]))): k for k, (i, j) in enumerate(ends)}
    known = [(target, at[edge]) for edge, target in strengths.items() if edge in at]
    k = np.array([k for _, k in known], dtype=int)
    figures = (found.log_p, found.strength, found.strength_error, found.strength_excess)
    return np.array([t for t, _ in known]), *(x[k] for x in figures)


def as_given(values, kinds, truth, strengths):
    """Return the same of all true edges, given the true neighbors."""
    tests = given_truth(values, kinds, truth, list(strengths))
    names = ("log_p", "strength", "strength_error", "strength_excess")
    figures = (np.array([getattr(test, name).item() for test in tests]) for name in names)
    return np.array([*strengths.values()]), *figures


def counts(n_edges, target, log_p, *strength):
    """Return how many intervals hold their target, and how many targets are refuted as the least strength."""
    from gpmnet.testing.strength import interval, log_p_at_most

    low, high = interval(*strength)
    weak = [float(log_p_at_most(t, *(x[[k]] for x in strength))[0]) for k, t in enumerate(target)]
    log_p = np.maximum(log_p, weak)
    none = not len(target)
    return {
        "edges": n_edges,
        "tested": len(target),
        "held": int(((low <= target) & (target <= high)).sum()),
        "above": int((low > target).sum()),
        "below": int((high < target).sum()),
        "width": np.nan if none else round(float((high - low).mean()), 5),
        "bias": np.nan if none else round(float((strength[0] - target).mean()), 5),
        **{f"refuted_{rate:g}": int((log_p <= np.log(rate)).sum()) for rate in RATES},
    }


def rows_of(law, seed):
    """Return the rows of all tables of one network."""
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    values, kinds, truth, strengths = network(law, seed)
    rows = []
    for n, count in draws_of(law):
        for draw in range(count):
            part = values[draw * n : (draw + 1) * n]
            ways = {
                "true": as_given(part, kinds, truth, strengths),
                "found": as_found(part, kinds, strengths),
            }
            for way, figures in ways.items():
                said = counts(len(strengths), *figures)
                rows.append({"pairs_of": law, "n": n, "neighbors": way, "seed": seed, "draw": draw, **said})
    return rows


def summary(rows):
    """Return coverage and rates by law and number of rows, over all intervals of all networks."""
    by = rows.groupby(["pairs_of", "neighbors", "n"], sort=False)
    sums, means = by.sum(numeric_only=True), by[["width", "bias"]].mean()
    shares = {
        "intervals": sums["tested"],
        "tested": sums["tested"] / sums["edges"],
        "coverage": sums["held"] / sums["tested"],
        "too high": sums["above"] / sums["tested"],
        "too low": sums["below"] / sums["tested"],
        "width": means["width"],
        "bias": means["bias"],
        **{f"refuted at {rate:g}": sums[f"refuted_{rate:g}"] / sums["edges"] for rate in RATES},
    }
    cells = itertools.product(LAWS, ("true", "found"), ROWS)
    order = [cell for cell in cells if cell in sums.index]
    return pd.DataFrame(shares).round(3).reindex(order)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--networks", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--laws", default=";".join(LAWS))
    parser.add_argument("--summary", type=Path)
    options = parser.parse_args()
    if options.summary:
        print(summary(pd.read_csv(options.summary)).to_string())
        return
    if options.output is None:
        parser.error("say where the rows go with -o, or which rows to sum up with --summary")
    done = set()
    if options.output.exists():
        old = pd.read_csv(options.output)
        done = set(old[["pairs_of", "seed"]].itertuples(index=False, name=None))
    laws = [law for law in LAWS if law in options.laws.split(";")]
    tasks = [(law, seed) for seed in range(options.networks) for law in laws if (law, seed) not in done]
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(rows_of, *task) for task in tasks]
        for count, future in enumerate(as_completed(futures), 1):
            fresh = not options.output.exists()
            pd.DataFrame(future.result()).to_csv(options.output, mode="a", header=fresh, index=False)
            print(f"{count} of {len(futures)} networks", end="\r", file=sys.stderr, flush=True)
    print(summary(pd.read_csv(options.output)).to_string())


if __name__ == "__main__":
    main()
