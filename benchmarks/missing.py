"""Missing values: how much F1 do the policies lose, does the FDR hold, and are null pairs rejected as often as they should?

    python benchmarks/missing.py graphs -o FILE.csv [--tables DIR] [--tasks NAME,...] [--shares 0.05,0.1,0.3] [--seeds 2]
    python benchmarks/missing.py null -o FILE.csv [--draws 200]

Both with `--jobs N` for N processes, and `--seconds S` to begin nothing new after so long.

`graphs`: simulated networks, and tables with a known graph (`--tables`: a folder of folders, as `gpmnet bench` reads them),
from which a share of the cells is removed: `at random`, or `depending`: each cell with a probability that grows in
proportion to the rank of another column, which itself is complete; half of the columns lose cells that way, with twice the
share. One row a table, seed, share, way and policy, with F1 and realised FDR at 0.05 beside those of the complete table. A
seed decides which cells are lost, and draws the simulated tables.

`null`: x and y depend on a confounder s alone; five columns of which all may have gaps. One row a law, share, way and
policy: the share of draws in which x and y given s have p up to 0.05, 0.01 and 0.002.

Rows that the file already holds are not repeated.
"""

import argparse
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed

from gpmnet import GPM
from gpmnet.bench.folder import find_tables
from gpmnet.bench.task import SimulatedTask
from gpmnet.columns.features import build_features
from gpmnet.columns.functions import feature_functions
from gpmnet.engines.pooled import pooled_log_p
from gpmnet.errors import InputError
from gpmnet.imputing import complete_tables
from gpmnet.metrics import evaluate
from gpmnet.table import load_table
from gpmnet.testing.available import bound
from gpmnet.testing.design import Designs
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.double_residual import DoubleResidual

WAYS = ("at random", "depending")
POLICIES = ("drop", "available", "impute", "level")
SIMULATED = [
    ("gaussian", "continuous", 12),
    ("butterfly", "continuous", 12),
    ("random", "mixed", 12),
    ("dag", "discrete", 12),
]
TABLES = (
    "bn_asia",
    "bn_sachs",
    "bn_child",
    "bn_alarm",
    "gbn_ecoli70",
    "clg_healthcare",
    "clg_healthinsurance",
)
ROWS, SEED = 1000, 2000
LAWS = ("linear", "sine", "scale", "discrete")


def with_gaps(frame, share, way, rng):
    """Return a frame with a share of its cells removed."""
    n, d = frame.shape
    if way == "at random":
        return frame.mask(rng.random((n, d)) < share)
    lost = np.zeros((n, d), dtype=bool)
    columns = rng.permutation(d)
    for k, at in enumerate(columns[: d // 2]):
        cause = frame.iloc[:, columns[d // 2 + k]]
        codes = cause if pd.api.types.is_numeric_dtype(cause) else pd.factorize(cause, sort=True)[0]
        rank = pd.Series(codes).rank(pct=True).to_numpy()
        lost[:, at] = rng.random(n) < np.clip(4 * share * (rank - rank.mean() + 0.5), 0, 0.95)
    return frame.mask(lost)


def problems(folder, wanted, seeds):
    """Yield names, seeds and tasks."""
    for simulator, kind, d in SIMULATED:
        if not wanted or simulator in wanted:
            name = f"{simulator}, {kind}, d = {d}"
            for seed in seeds:
                yield (
                    name,
                    seed,
                    SimulatedTask(name=name, simulator=simulator, kind=kind, d=d, n=ROWS, seed=seed),
                )
    for task in find_tables(folder)[0] if folder else []:
        if task.path.parent.name in (wanted or TABLES) and task.n == ROWS:
            for seed in seeds:
                yield task.path.parent.name, seed, task


def frame_of(table):
    """Return a complete table as a frame, with its kinds."""
    columns = {}
    for name in table.names:
        column, at = table.schema[name], table.names.index(name)
        values = table.values()[:, at]
        columns[name] = (
            np.array(column.levels, dtype=object)[values.astype(int)] if table.is_discrete[at] else values
        )
    return pd.DataFrame(columns), {c.name: c.kind for c in table.variables}


def score(problem, frame, kinds, policy):
    """Return the measures of one fit."""
    begun = time.perf_counter()
    try:
        network = GPM(missing=policy).fit(frame, kinds=kinds).network_
    except InputError as error:
        return {"status": "refused", "reason": str(error)}
    seconds = time.perf_counter() - begun
    graph = np.zeros((len(problem.names),) * 2, dtype=bool)
    place = {name: at for at, name in enumerate(problem.names)}
    for a, b in zip(network.edges["source"], network.edges["target"], strict=True):
        graph[place[a], place[b]] = graph[place[b], place[a]] = True
    found = evaluate(problem.truth, graph)
    rows = float(network.edges["n_rows"].mean()) if network.n_edges else np.nan
    names = ("f1", "precision", "recall")
    return {
        "status": "ok",
        **{name: found[name] for name in names if name in found},
        "mean_rows": rows,
        "seconds": seconds,
    }


def graph_cell(task, row):
    """Return the row of one fit with its measures; nothing where a policy has nothing to say."""
    problem = task.problem()
    if row["policy"] == "level" and not problem.table.is_discrete.all():
        return None
    frame, kinds = frame_of(problem.table)
    rng = np.random.default_rng(
        [row["seed"], round(1000 * row["share"]), WAYS.index(row["way"]) if row["share"] else 0]
    )
    gapped = with_gaps(frame, row["share"], row["way"], rng) if row["share"] else frame
    return {
        "task": row["task"],
        "d": frame.shape[1],
        "n": len(frame),
        **row,
        **score(problem, gapped, kinds, row["policy"]),
    }


def graphs(out, given):
    shares = [float(share) for share in given.shares.split(",")]
    wanted, seeds = [t for t in given.tasks.split(",") if t], range(SEED, SEED + given.seeds)
    settings = [(0.0, "complete", "error")]
    settings += [(share, way, policy) for share in shares for way in WAYS for policy in POLICIES]
    cells = []
    for share, way, policy in settings:
        for name, seed, task in problems(given.tables, wanted, seeds):
            row = {"task": name, "seed": seed, "share": share, "way": way, "policy": policy}
            if not known(out, row):
                cells.append(partial(graph_cell, task, row))
    run(out, cells, given)


def null_draw(law, n, rng):
    """Return columns x and y that depend on s alone, and two more beside them."""
    s, e = rng.normal(size=n), rng.normal(size=(2, n))
    if law == "discrete":
        s = rng.integers(0, 3, n)
        x, y = (rng.random((2, n)) < np.array([0.2, 0.5, 0.8])[s]).astype(float)
        return pd.DataFrame(
            {"x": x, "y": y, "s": s.astype(float), "w": np.where(rng.random(n) < 0.7, x, 1 - x)}
        )
    shape = {
        "linear": lambda e: s + e,
        "sine": lambda e: np.sin(2 * s) + e / 2,
        "scale": lambda e: np.exp(s / 1.5) * e,
    }
    x, y = (shape[law](one) for one in e)
    return pd.DataFrame({"x": x, "y": y, "s": s, "w": x + rng.normal(size=n), "v": s + rng.normal(size=n)})


def log_p_of(table):
    """Return the log p-value of x and y given s in a complete or completed table, as the local engine tests them."""
    encoded, family = table.encode(), feature_functions(3)
    features = build_features(encoded, family, "cpu", torch.float64)
    test = bound(DoubleResidual(), Designs(features, DesignOptions()).tabulated(), encoded, family)
    x, y, s = (torch.tensor([table.names.index(name)]) for name in "xys")
    return float(test.pairs(x, y, s[:, None]).log_p)


def null_cell(row, draws):
    """Return the rows of one law, share and way, one a policy."""
    rng = np.random.default_rng([SEED, LAWS.index(row["law"]), round(1000 * row["share"])])
    found = {"complete": [], "available": [], "impute": []}
    for number in range(draws):
        frame = null_draw(row["law"], row["n"], rng)
        gapped = with_gaps(frame, row["share"], row["way"], rng)
        found["complete"].append(log_p_of(load_table(frame)))
        for policy in ("available", "impute"):
            draws_of = complete_tables(load_table(gapped, missing=policy), number)
            each = np.array([[log_p_of(drawn)] for drawn in draws_of[: 1 if policy == "available" else None]])
            found[policy].append(float(pooled_log_p(each)[0]))
    rates = (0.05, 0.01, 0.002)
    return [
        row
        | {"policy": policy, "draws": draws}
        | {f"at_{rate:g}": float((np.exp(p) <= rate).mean()) for rate in rates}
        for policy, p in found.items()
    ]


def null(out, given, n=500):
    cells = []
    for law in LAWS:
        for share, way in [(0.1, "at random"), (0.3, "at random"), (0.15, "depending")]:
            row = {"law": law, "n": n, "share": share, "way": way}
            if not known(out, row | {"policy": "impute"}):
                cells.append(partial(null_cell, row, given.draws))
    run(out, cells, given)


def run(out, cells, given):
    """Compute cells, each with one thread, and add their rows to the file as they come."""
    ends = time.time() + given.seconds
    parallel = Parallel(n_jobs=given.jobs, return_as="generator_unordered", batch_size=1)
    for found in parallel(delayed(in_time)(cell, ends) for cell in cells):
        for row in found if isinstance(found, list) else [found]:
            if row is not None:
                keep(out, row)


def in_time(cell, ends):
    """Return what a cell says, in one thread; nothing if it is too late to begin."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    return cell() if time.time() < ends else None


def known(out, row):
    if not out.exists():
        return False
    rows = pd.read_csv(out)
    return bool(np.logical_and.reduce([rows[name] == value for name, value in row.items()]).any())


def keep(out, row):
    """Add a row to the file."""
    old = [pd.read_csv(out)] if out.exists() else []
    pd.concat([*old, pd.DataFrame([row])], ignore_index=True).to_csv(out, index=False)
    print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["graphs", "null"])
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--tasks", default="")
    parser.add_argument("--shares", default="0.05,0.1,0.3")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    given = parser.parse_args()
    (null if given.what == "null" else graphs)(given.out, given)


if __name__ == "__main__":
    main()
