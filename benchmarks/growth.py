"""Seconds of the local engine against the number of variables and of rows, with the accuracy beside them.

    python benchmarks/growth.py -o docs/results/growth.csv [--threads 2] [--d 250,500] [--n 1000,3000]
    python benchmarks/growth.py --plot docs/results/growth.csv      # docs/results/growth.png, and the slopes

The d axis is the continuous Butterfly with 1,000 rows (fdr 0.001), the n axis random graphs of 20 continuous or mixed
variables (fdr 0.05). Each point runs in a process of its own; one that does not fit or is killed leaves a row with a
reason. Points that the file already holds are not repeated.
"""

import argparse
import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pandas as pd

KEY = ["axis", "kind", "d", "n"]
MEASURES = {"test_seconds": "search and tests", "fit_seconds": "whole fit"}


def measure(simulator, kind, d, n, fdr, threads, seed):
    """Return the measured part of one row."""
    import torch

    from gpmnet import GPM, metrics
    from gpmnet.errors import InputError
    from gpmnet.simulate import simulate
    from gpmnet.table import load_table

    torch.set_num_threads(threads)
    drawn = simulate(simulator, kind=kind, d=d, n=n, seed=seed)
    kinds = dict(zip(drawn.names, drawn.kinds, strict=True)) if kind == "mixed" else None
    table = load_table(
        drawn.frame() if kinds else drawn.values, kinds=kinds, names=None if kinds else drawn.names
    )
    start = time.perf_counter()
    try:
        model = GPM(fdr=fdr, n_jobs=threads).fit(table)
    except InputError as error:
        return {"status": "refused", "reason": str(error)}
    seconds = time.perf_counter() - start
    found = metrics.evaluate(drawn.truth, model.network_.adjacency)
    return {
        "status": "ok",
        "test_seconds": round(model.timings_["test"], 3),
        "fit_seconds": round(seconds, 3),
        **{name: found[name] for name in ("hamming", "true_edges", "precision", "recall", "f1")},
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def apart(arguments):
    """Return what `measure` says in a process of its own, or why it said nothing."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(measure, *arguments).result()
        except BrokenProcessPool:
            return {"status": "killed", "reason": "the process was ended, as a rule for want of memory"}


def slope(size, seconds):
    """Return the least-squares slope of log seconds against log size.

    >>> slope([10, 100, 1000], [2.0, 20.0, 200.0])
    1.0
    """
    return round(float(np.polyfit(np.log(size), np.log(seconds), 1)[0]), 3)


def slopes(rows):
    """Return one line for each curve: from where to where, and its log-log slopes."""
    lines = []
    good = rows[rows["status"] == "ok"]
    for (axis, kind), part in good.groupby(["axis", "kind"]):
        if part[axis].nunique() > 1:
            named = {f"slope, {label}": slope(part[axis], part[name]) for name, label in MEASURES.items()}
            lines.append(
                {"axis": axis, "kind": kind, "from": part[axis].min(), "to": part[axis].max()} | named
            )
    return pd.DataFrame(lines)


def plot(rows, path):
    """Draw seconds against d and against n on logarithmic axes."""
    from matplotlib.figure import Figure

    good = rows[rows["status"] == "ok"]
    figure = Figure(figsize=(9, 3.8), coordinates="constrained")
    for axes, axis in zip(figure.subplots(1, 2), ("d", "n"), strict=True):
        for kind, part in good[good["axis"] == axis].groupby("kind"):
            part = part.sort_values(axis)
            for name, (marker, line) in zip(MEASURES, (("o", "-"), ("s", ":")), strict=True):
                text = f"{kind}, {MEASURES[name]}"
                if len(part) > 1:
                    text += f": slope {slope(part[axis], part[name]):.2f}"
                axes.loglog(part[axis], part[name], marker=marker, linestyle=line, label=text, markersize=4)
        axes.set_xlabel({"d": "variables d (n = 1000)", "n": "rows n (d = 20)"}[axis])
        axes.set_ylabel(f"seconds, {', '.join(map(str, sorted(good['threads'].unique())))} threads")
        axes.legend(fontsize=7)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def points(options):
    """Return (axis, simulator, kind, d, n, fdr) of every point."""
    found = [("d", "butterfly", "continuous", d, 1000, 0.001) for d in options.d]
    return found + [("n", "random", kind, 20, n, 0.05) for n in options.n for kind in ("continuous", "mixed")]


def numbers(text):
    return [int(part) for part in text.split(",") if part]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--plot", type=Path, help="rows to plot, beside themselves")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--d", type=numbers, default=[250, 500, 1000, 2000, 5000, 10_000])
    parser.add_argument("--n", type=numbers, default=[1000, 3000, 10_000, 30_000, 100_000])
    options = parser.parse_args()
    if options.output is not None:
        old = pd.read_csv(options.output) if options.output.exists() else pd.DataFrame(columns=KEY)
        done = set(old[KEY].itertuples(index=False, name=None))
        rows = old.to_dict("records")
        for axis, simulator, kind, d, n, fdr in points(options):
            if (axis, kind, d, n) in done:
                continue
            row = {"axis": axis, "simulator": simulator, "kind": kind, "d": d, "n": n, "fdr": fdr}
            row |= {"seed": options.seed, "threads": options.threads}
            row |= apart((simulator, kind, d, n, fdr, options.threads, options.seed))
            print(row, flush=True)
            rows.append(row)
            pd.DataFrame(rows).to_csv(options.output, index=False)
    source = options.plot or options.output
    if source is None:
        parser.error("say where the rows go with -o, or which rows to plot with --plot")
    rows = pd.read_csv(source)
    plot(rows, source.with_suffix(".png"))
    print(slopes(rows).to_string(index=False))


if __name__ == "__main__":
    main()
