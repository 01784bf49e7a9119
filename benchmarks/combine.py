"""Which p-value of a pair to report: one search, then the pairs that came close tested in every way.

    python benchmarks/combine.py -o FILE.csv [--jobs 15] [--quick] [--tuning]
    python benchmarks/combine.py --summary FILE.csv

One row per (simulator, kind, n, seed, rule, fdr); draws that the file already holds are not repeated. `--tuning`
takes the seeds from 300 on, which may be used to choose settings; otherwise they start at 400.
"""

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from expert import expert_network
from gpmnet import metrics
from gpmnet.engines.base import Problem
from gpmnet.engines.local import LocalEngine
from gpmnet.nodes.score_test import ScoreTest
from gpmnet.selection import log_benjamini_hochberg
from gpmnet.selection.pair_rule import Limits, ends, union
from gpmnet.selection.two_ended import TwoEnded
from gpmnet.simulate import simulate
from gpmnet.table import load_table
from gpmnet.testing.base import packed
from gpmnet.testing.p_values import cauchy_combination, log_chi2_sf
from gpmnet.testing.residuals import Residuals

RATES = (0.05, 0.01)
KEY = ["simulator", "kind", "n", "seed"]


@dataclass(frozen=True)
class Case:
    """A law to draw from, and how many draws it gets."""

    simulator: str
    kind: str
    n: int
    draws: int
    quick: int
    options: dict = field(default_factory=dict)


CASES = [
    *(Case("random", kind, 1000, 10, 2) for kind in ("continuous", "discrete", "mixed")),
    *(Case("random", kind, 10_000, 5, 0) for kind in ("continuous", "discrete", "mixed")),
    *(Case("expert", kind, 1000, 10, 3) for kind in ("discrete", "mixed")),
    *(Case("expert", kind, 10_000, 5, 0) for kind in ("discrete", "mixed")),
    *(Case("butterfly", kind, 1000, 5, 1) for kind in ("continuous", "discrete", "mixed")),
    Case("gaussian", "continuous", 1000, 5, 1, {"structure": "chain"}),
    Case("nonparanormal", "continuous", 1000, 5, 1),
]


def draw(case, seed):
    if case.simulator == "expert":
        return expert_network(20, case.n, seed, case.kind)
    options = case.options | ({"kind": case.kind} if case.simulator in ("random", "butterfly") else {})
    return simulate(case.simulator, d=20, n=case.n, seed=seed, **options)


def joint(designs, first, second, a, b, log_a, log_b):
    r"""Return log p-values of the sum of both directions' evidence, with its correlation.

    The products of residuals given N(i) and given N(j) have cross-correlation C of shape (q, q); the two chi-square
    statistics then have correlation r = |C|_F^2 / q, and so, nearly, do X_a = -2 log p_a and X_b. The sum has
    mean 4 and variance 8 + 8 r, hence X / (1 + r) ~ chi-square on 4 / (1 + r) degrees (Brown 1975):
    p itself where both sets are the same, Fisher's combination where the products share nothing.
    """
    shared = torch.zeros(len(first), dtype=torch.float64)
    for at in range(len(first)):
        pair = slice(at, at + 1)
        one, two = (designs.regress(_packed(sets[pair])) for sets in (a, b))
        blocks = []
        for node in (first[pair], second[pair]):
            x, y = (Residuals.of(designs.features, r, node).whitened()[0] for r in (one, two))
            blocks.append((x.T @ y / len(x)).square().sum() / x.shape[1])
        shared[at] = blocks[0] * blocks[1]
    return log_chi2_sf(-2 * (log_a + log_b) / (1 + shared), 4 / (1 + shared))


def _packed(sets):
    return sets[:, sets[0] >= 0]


def p_values(found):
    """Return the log p-values of the pairs that came close, by rule.

    smaller: given the smaller of both ends' sets (of two equally small ones the larger p); fitting: given the union, or
    the smaller set where the union has too many members or cells; or: 2 min p of both ends' sets; and: max p; cauchy,
    joint: their combinations; engine: what the engine reports; score test: that of both node models given the union.
    """
    test, first, second = found.test, found.first, found.second
    a, b = ends(found.members, first, second)
    both = packed(union(a, b))
    one, two, united = (test.pairs(first, second, packed(sets)).log_p for sets in (a, b, both))
    size_a, size_b = (a >= 0).sum(dim=1), (b >= 0).sum(dim=1)
    least = torch.where(size_a == size_b, torch.maximum(one, two), torch.where(size_a < size_b, one, two))
    most = found.limits.most_members
    fits = test.designs.few_cells(both) & ((both >= 0).sum(dim=1) <= most)
    log_p = {
        "union": united,
        "smaller": least,
        "fitting": torch.where(fits, united, least),
        "or": (torch.minimum(one, two) + np.log(2)).clamp(max=0),
        "and": torch.maximum(one, two),
        "cauchy": cauchy_combination(torch.stack([one, two], dim=-1)),
        "joint": joint(test.designs, first, second, a, b, one, two),
        "engine": TwoEnded()(test, found.members, first, second, Limits(most_members=most)).log_p,
    }
    log_p["score test"] = ScoreTest().log_p(test.designs.features, first, second, both)
    return log_p


def rows_of(case, seed):
    """Return the rows of one draw."""
    torch.set_num_threads(1)
    drawn = draw(case, seed)
    frame = drawn.frame()
    varies = {name for name in drawn.names if frame[name].nunique() > 1}
    kinds = {name: kind for name, kind in zip(drawn.names, drawn.kinds, strict=True) if name in varies}
    table = load_table(frame, kinds=kinds)
    start = time.perf_counter()
    found = LocalEngine().search(Problem(table.encode(0)))
    position = {name: at for at, name in enumerate(drawn.names)}
    at = np.array([position[name] for name in table.names])
    d = len(drawn.names)
    first, second = at[found.first.numpy()], at[found.second.numpy()]
    rows = []
    for rule, log_p in p_values(found).items():
        q = np.exp(log_benjamini_hochberg(log_p.numpy(), len(at) * (len(at) - 1) // 2))
        for fdr in RATES:
            estimate = np.zeros((d, d), dtype=bool)
            estimate[first[q <= fdr], second[q <= fdr]] = True
            measured = metrics.evaluate(drawn.truth, estimate | estimate.T)
            right = round(measured["recall"] * measured["true_edges"])
            rows.append(
                {"simulator": case.simulator, "kind": case.kind, "d": d, "n": case.n, "seed": seed, "rule": rule,
                 "fdr": fdr, **measured, "false": measured["edges"] - right,
                 "missed": measured["true_edges"] - right, "seconds": round(time.perf_counter() - start, 2)}
            )  # fmt: skip
    return rows


def summary(rows):
    """Return mean Hamming distance, false and missed edges and F1 by law, FDR and rule."""
    by = ["fdr", "simulator", "kind", "n", "rule"]
    return rows.groupby(by).agg(
        draws=("seed", "nunique"),
        true=("true_edges", "mean"),
        hamming=("hamming", "mean"),
        false=("false", "mean"),
        missed=("missed", "mean"),
        precision=("precision", "mean"),
        recall=("recall", "mean"),
        f1=("f1", "mean"),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="n = 1000 only and few draws")
    parser.add_argument("--tuning", action="store_true", help="seeds from 300 on instead of 400")
    parser.add_argument("--only", default="", help="simulators, by comma")
    parser.add_argument("--n", type=int, help="this many rows only")
    parser.add_argument("--summary", type=Path)
    options = parser.parse_args()
    if options.summary:
        print(summary(pd.read_csv(options.summary)).round(3).to_string())
        return
    if options.output is None:
        parser.error("say where the rows go with -o, or which rows to sum up with --summary")
    old = pd.read_csv(options.output) if options.output.exists() else pd.DataFrame(columns=KEY)
    done = set(old[KEY].itertuples(index=False, name=None))
    begin = 300 if options.tuning else 400
    tasks = [
        (case, begin + k)
        for case in CASES
        if not options.only or case.simulator in options.only.split(",")
        if options.n in (None, case.n)
        for k in range(case.quick if options.quick else case.draws)
        if (case.simulator, case.kind, case.n, begin + k) not in done
    ]
    tasks.sort(key=lambda task: -task[0].n)  # the long ones first
    fresh = not len(old)
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(rows_of, *task) for task in tasks]
        for count, future in enumerate(as_completed(futures), 1):
            rows = pd.DataFrame(future.result())
            rows.to_csv(options.output, mode="a", header=fresh, index=False)
            fresh = False
            print(f"{count} of {len(futures)} draws", end="\r", file=sys.stderr, flush=True)
    print(summary(pd.read_csv(options.output)).round(3).to_string())


if __name__ == "__main__":
    main()
