"""Null pairs behind confounding of many shapes: how often is x -- y rejected where z alone joins them?

    python benchmarks/honest.py -o FILE.csv [--n 300,1000] [--draws 100] [--jobs 2] [--laws "NAME;..."]
    python benchmarks/honest.py --summary FILE.csv

Each table has x, y, the confounders and a column of noise; x = f(z) + noise and y = g(z) + noise, so x and y are
independent given z. One row per draw with the pair's p-value, 1 where it never came close; draws that the file
already holds are not repeated.
"""

import argparse
import multiprocessing
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import pandas as pd

KEY = ["law", "n", "seed"]
RATES = (0.05, 0.01)


def shifted(f, g, noise):
    """Return a law x = f(z) + noise, y = g(z) + noise, of one or more normal confounders."""

    def draw(rng, z):
        return f(*z) + noise * rng.normal(size=z[0].shape), g(*z) + noise * rng.normal(size=z[0].shape)

    return draw


def scaled(f):
    """Return a law of two variables that share a scale and no mean."""
    return lambda rng, z: tuple(f(*z) * rng.normal(size=z[0].shape) for _ in range(2))


def by_code(levels):
    """Return a law whose means are arbitrary values of a code, drawn anew in every table."""

    def draw(rng, z):
        means = rng.normal(size=(2, levels))
        return tuple(m[z[0].astype(int)] + 0.5 * rng.normal(size=z[0].shape) for m in means)

    return draw


def both(f, noise=0.5):
    return shifted(f, f, noise)


NORMAL = "normal"
# By name: how z is drawn, how many of them, and the law.
LAWS = {
    "linear": (NORMAL, 1, both(lambda z: z, 1.0)),
    "sum of four": (NORMAL, 4, both(lambda *z: sum(z), 1.0)),
    "square": (NORMAL, 1, both(lambda z: z**2)),
    "sine": (NORMAL, 1, both(lambda z: np.sin(3 * z))),
    "sine, cosine": (NORMAL, 1, shifted(lambda z: np.sin(3 * z), lambda z: np.cos(3 * z), 0.3)),
    "fast sine": (NORMAL, 1, both(lambda z: np.sin(6 * z))),
    "step": (NORMAL, 1, both(lambda z: 1.0 * (z > 0.5), 0.3)),
    "tied sine": ("ties", 1, both(lambda z: np.sin(3 * z))),
    "whole numbers": ("codes 8", 1, by_code(8)),
    "text of 8": ("text 8", 1, by_code(8)),
    "text of 30": ("text 30", 1, by_code(30)),
    "shared scale": (NORMAL, 1, scaled(lambda z: np.exp(np.sin(3 * z)))),
    "large shared scale": (NORMAL, 1, scaled(lambda z: np.exp(2 * np.sin(3 * z)))),
    "maximum": (NORMAL, 2, both(np.maximum)),
    "product": (NORMAL, 2, both(lambda a, b: a * b, 0.3)),
    "product of three": (NORMAL, 3, both(lambda a, b, c: a * b * c)),
    "threshold of four": (NORMAL, 4, both(lambda *z: np.tanh(sum(z)), 0.3)),
    "sine of a sum": (NORMAL, 2, both(lambda a, b: np.sin(2 * (a + b)))),
    "sign times": (NORMAL, 2, both(lambda a, b: np.sign(a) * b)),
}


def table(law, n, seed):
    """Return one draw as a data frame with columns x, y, z1, ..., free."""
    kind, count, draw = LAWS[law]
    rng = np.random.default_rng([seed, n, list(LAWS).index(law)])
    z = [rng.normal(size=n) for _ in range(count)]
    shown = z
    if kind == "ties":
        z = shown = [np.round(2 * column) / 2 for column in z]
    elif kind != NORMAL:
        z = [rng.integers(0, int(kind.split()[1]), n).astype(float)]
        shown = z if kind.startswith("codes") else [np.array([f"level {v:.0f}" for v in z[0]])]
    x, y = draw(rng, z)
    columns = {"x": x, "y": y} | {f"z{k + 1}": column for k, column in enumerate(shown)}
    return pd.DataFrame(columns | {"free": rng.normal(size=n)})


def row(law, n, seed):
    """Return the p-value of the null pair in one draw."""
    from gpmnet import GPM

    warnings.simplefilter("ignore")
    start = time.perf_counter()
    net = GPM(n_jobs=1).fit(table(law, n, seed)).network_
    at = net.pair_at("x", "y")
    p = 1.0 if at is None else float(net.pairs.p_value[at])
    return {"law": law, "n": n, "seed": seed, "p_value": p, "seconds": round(time.perf_counter() - start, 3)}


def summary(rows):
    """Return the share of draws in which the null pair is rejected, by law, number of rows and size of the test."""
    shares = {f"n={n}, {rate:g}": part[part["p_value"] <= rate].groupby("law").size() / part.groupby("law").size()
              for n, part in rows.groupby("n") for rate in RATES}  # fmt: skip
    found = pd.DataFrame(shares).fillna(0.0).round(3)
    draws = rows.groupby(["law", "n"]).size().groupby("law").min().rename("draws")
    return pd.concat([draws, found], axis=1).reindex([law for law in LAWS if law in found.index])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--n", default="300,1000")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--laws", default=";".join(LAWS))
    parser.add_argument("--summary", type=Path)
    options = parser.parse_args()
    if options.summary:
        print(summary(pd.read_csv(options.summary)).to_string())
        return
    if options.output is None:
        parser.error("say where the rows go with -o, or which rows to sum up with --summary")
    old = pd.read_csv(options.output) if options.output.exists() else pd.DataFrame(columns=KEY)
    done = set(old[KEY].itertuples(index=False, name=None))
    names = [law for law in LAWS if law in options.laws.split(";")]
    tasks = [
        (law, int(n), seed) for n in options.n.split(",") for law in names for seed in range(options.draws)
    ]
    tasks = [task for task in tasks if task not in done]
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(row, *task) for task in tasks]
        rows = []
        for count, future in enumerate(as_completed(futures), 1):
            rows.append(future.result())
            if len(rows) == 100 or count == len(futures):
                fresh = not options.output.exists()
                pd.DataFrame(rows).to_csv(options.output, mode="a", header=fresh, index=False)
                rows = []
                print(f"{count} of {len(futures)} draws", end="\r", file=sys.stderr, flush=True)
    print(summary(pd.read_csv(options.output)).to_string())


if __name__ == "__main__":
    main()
