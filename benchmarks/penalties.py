"""The four penalties by themselves: pairs with a nonzero Omega after regularised score matching, no test deciding.

    python benchmarks/penalties.py -o docs/results/penalties_support.csv [--d 4,12,20] [--seeds 3] [--first-seed 1000]

The sparse pairwise family alone (energy "pairwise"), lambda by held-out loss along the path, Butterfly continuous,
n = 1000. The paper compares penalties this way: what is not exactly zero is an edge.
"""

import argparse

import numpy as np
import pandas as pd
import torch

from gpmnet import metrics
from gpmnet.engines.base import Problem
from gpmnet.engines.deep import DeepEngine
from gpmnet.penalties import PENALTIES
from gpmnet.simulate import simulate
from gpmnet.table import load_table


def row(penalty, d, seed):
    drawn = simulate("butterfly", kind="continuous", d=d, n=1000, seed=seed)
    problem = Problem(load_table(drawn.values, names=drawn.names).encode(0))
    found = DeepEngine(energy="pairwise", penalty=penalty).fit(problem)
    support = found.precision > 0
    np.fill_diagonal(support, False)
    truth = drawn.truth.toarray().astype(bool)
    score = metrics.evaluate(truth, support)
    upper = np.triu_indices(d, 1)
    order = np.argsort(-found.precision[upper], kind="stable")
    hits = truth[upper][order]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return {
        "penalty": penalty, "d": d, "n": 1000, "seed": seed, "lam": round(found.learned["lam"], 3),
        "hamming": score["hamming"], "true_edges": int(hits.sum()), "edges": int(support.sum() // 2),
        "average_precision": round(float(precision[hits].mean()), 4),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--d", default="4,12,20")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for d in map(int, options.d.split(",")):
        for penalty in PENALTIES:
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                rows.append(row(penalty, d, seed))
                print(rows[-1], flush=True)
                pd.DataFrame(rows).to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
