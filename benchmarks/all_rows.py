"""What more rows do to the dag engine: edges, false and missed ones, of 5,000, 50,000 and all rows of long tables.

    python benchmarks/all_rows.py [--jobs 2] [--rows 500000]     # docs/results/all_rows.csv

Simulated networks of ten variables, seeds from 1000 on. `flag` is a table with a level that one row in 10,000 has, and whose
rows have another mean of one variable: its only edge.
"""

import argparse
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "all_rows.csv"
LAWS = (
    ("gaussian", "continuous"),
    ("nonparanormal", "continuous"),
    ("dag", "discrete"),
    ("dag", "mixed"),
    ("dag", "continuous"),
    ("random", "discrete"),
    ("random", "mixed"),
    ("random", "continuous"),
    ("flag", "mixed"),
)
LOOKED_AT = (5000, 50_000, None)


def flagged(n: int, seed: int) -> tuple[pd.DataFrame, set[frozenset[str]]]:
    rng = np.random.default_rng(seed)
    flag = rng.random(n) < 1e-4
    frame = pd.DataFrame(rng.normal(size=(n, 9))).add_prefix("x")
    frame["x0"] += flag
    return frame.assign(flag=np.where(flag, "yes", "no")), {frozenset(("x0", "flag"))}


def cell(simulator: str, kind: str, n: int, seed: int) -> list[dict[str, object]]:
    """Return the rows of one table."""
    from gpmnet import GPM
    from gpmnet.simulate import simulate
    from gpmnet.table import load_table

    if simulator == "flag":
        frame, truth = flagged(n, seed)
        table = load_table(frame)
    else:
        drawn = simulate(simulator, d=10, n=n, seed=seed, kind=kind)
        edges = drawn.edges()
        truth = {frozenset(pair) for pair in zip(edges.source, edges.target, strict=True)}
        table = load_table(drawn.frame(), kinds=dict(zip(drawn.names, drawn.kinds, strict=True)))
    rows = []
    for most in LOOKED_AT:
        begun = time.perf_counter()
        model = GPM("dag", n_jobs=1).set_params(options__most_rows=most, options__local__most_rows=2000)
        edges = model.fit(table).network_.edges
        found = {frozenset(pair) for pair in zip(edges.source, edges.target, strict=True)}
        counts = {"edges": len(found), "false": len(found - truth), "missed": len(truth - found)}
        about = {"simulator": simulator, "kind": kind, "rows": n, "seed": seed, "looked_at": most or n}
        rows.append(about | counts | {"seconds": round(time.perf_counter() - begun, 1)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    cells = [(*law, given.rows, seed) for law in LAWS for seed in range(1000, 1000 + given.seeds)]
    rows = []
    for found in joblib.Parallel(given.jobs, return_as="generator")(joblib.delayed(cell)(*c) for c in cells):
        rows += found
        print(found, flush=True)
        pd.DataFrame(rows).to_csv(RESULTS, index=False)  # what is done is not lost


if __name__ == "__main__":
    main()
