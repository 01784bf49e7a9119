"""Encode 1,000 rows x 100,000 columns, beside `scipy.stats.rankdata` + `norm.ppf`, as a ratio in one run.

python benchmarks/encode.py [--rows 1000] [--columns 100000]
"""

import argparse
import time

import numpy as np
from scipy.stats import norm, rankdata

from gpmnet.table import load_table, normal_scores
from gpmnet.table.encode import ranks_and_ties


def seconds(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def our_scores(values, names):
    return normal_scores(ranks_and_ties(values, names)[0])


def scipy_scores(values):
    return norm.ppf((rankdata(values, axis=0) - 0.5) / len(values)).astype(np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=100_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    values = rng.standard_normal((options.rows, options.columns), dtype=np.float32)
    tied = np.round(values[:, : options.columns // 10], 1)
    names = tuple(f"x{i}" for i in range(options.columns))

    print(f"{options.rows:,} rows x {options.columns:,} columns of float32")
    ours, scores = seconds(our_scores, values, names)
    theirs, expected = seconds(scipy_scores, values)
    untied = [len(np.unique(values[:, i])) == options.rows for i in range(20)]
    difference = np.abs(scores - expected)[:, :20][:, untied].max()
    print(f"  normal_scores                 {ours:7.2f} s")
    print(f"  scipy rankdata + norm.ppf     {theirs:7.2f} s   ratio {ours / theirs:.2f}")
    print(f"  largest difference, columns without ties: {difference:.1e}")
    with_ties, _ = seconds(our_scores, tied, names)
    print(f"  normal_scores, {tied.shape[1]:,} columns full of ties {with_ties:7.2f} s")
    loading, table = seconds(load_table, values)
    print(f"  load_table (kinds, duplicates) {loading:6.2f} s   {table!r}")


if __name__ == "__main__":
    main()
