"""Is stability what it seems, and what does it cost?

    python benchmarks/stability.py calibrate    # docs/results/stability.csv and .png: false edges by their stability
    python benchmarks/stability.py speed FOLDER [--d 100 --n 1000 --pairs 50]   # beside one fit: 1 and 2 processes, and Dask

Calibration: simulated tables with a known graph, edges at a generous rate so that some are false, and of each edge the share
of half-samples that have it. A row is a table, an engine and a range of stability: how many edges, and how many are false.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parents[1] / "docs" / "results"
FDR, PAIRS, SEEDS = 0.2, 8, 2
TASKS = (
    ("gaussian", "continuous", 8, 240),
    ("nonparanormal", "continuous", 8, 240),
    ("butterfly", "mixed", 8, 240),
    ("dag", "mixed", 8, 240),
    ("random", "discrete", 8, 240),
)
EDGES = np.round(np.arange(0.0, 1.01, 0.1), 1)
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def calibrate() -> None:
    from gpmnet import GPM
    from gpmnet.simulate import simulate
    from gpmnet.table import load_table

    rows = []
    for simulator, kind, d, n in TASKS:
        for seed in range(SEEDS):
            drawn = simulate(simulator, d=d, n=n, seed=seed, kind=kind)
            table = load_table(drawn.frame(), kinds=dict(zip(drawn.names, drawn.kinds, strict=True)))
            truth, place = drawn.truth.toarray(), {name: at for at, name in enumerate(drawn.names)}
            for engine in ("local", "dag"):
                options = {"fdr": FDR} if engine == "local" else {}
                net = GPM(engine, stability=PAIRS, random_state=seed, n_jobs=1, **options).fit(table).network_
                edges = net.edges
                ends = zip(edges.source, edges.target, strict=True)
                false = np.array([not truth[place[a], place[b]] for a, b in ends], dtype=bool)
                at = np.minimum(np.searchsorted(EDGES, edges.stability + 1e-9, side="right") - 1, 10)
                for k, low in enumerate(EDGES.tolist()):
                    common = {
                        "simulator": simulator,
                        "kind": kind,
                        "d": d,
                        "n": n,
                        "seed": seed,
                        "engine": engine,
                    }
                    counts = {"edges": int((at == k).sum()), "false": int(false[at == k].sum())}
                    rows.append(common | {"fdr": FDR, "n_pairs": PAIRS, "stability": low} | counts)
            print(simulator, kind, seed, flush=True)
    pd.DataFrame(rows).to_csv(RESULTS / "stability.csv", index=False)
    draw()


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return, by engine and threshold, how many edges are at least that stable, and how many of them are false."""
    found = []
    for engine, some in rows.groupby("engine", sort=False):
        true = (some.edges - some.false).sum()
        for low in THRESHOLDS:
            stable = some[some.stability >= low - 1e-9]
            n, false = int(stable.edges.sum()), int(stable.false.sum())
            share = false / n if n else float("nan")
            row = {
                "engine": engine,
                "stability at least": low,
                "edges": n,
                "false": false,
                "share false": round(share, 3),
            }
            found.append(row | {"of the true edges": round((n - false) / true, 3)})
    return pd.DataFrame(found)


def draw() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = pd.read_csv(RESULTS / "stability.csv")
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for engine, some in rows.groupby("engine", sort=False):
        by = some.groupby("stability")[["edges", "false"]].sum()
        by = by[by.edges > 0]
        ax.plot(by.index, by.false / by.edges, marker="o", label=f"{engine}: share false in that range")
        for x, row in by.iterrows():
            ax.annotate(
                str(int(row.edges)),
                (x, row.false / row.edges),
                xytext=(3, 4),
                textcoords="offset points",
                fontsize=7,
            )
    ax.set_xlabel("stability, from this on (numbers: edges)")
    ax.set_ylabel("share of false edges")
    ax.legend(frameon=False)
    figure.savefig(RESULTS / "stability.png", dpi=110)


def speed(folder: Path, d: int, n: int, pairs: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    from gpmnet.simulate import simulate

    simulate("butterfly", d=d, n=n, seed=0).frame().to_parquet(folder / "table.parquet")
    ways = [
        ("one fit", {}),
        ("1 process", {"workers": 1}),
        ("2 processes", {"workers": 2}),
        ("Dask, 2 workers", {"cluster": None}),
    ]
    for name, options in ways:
        given = {} if name == "one fit" else {"stability": pairs, **options}
        print(
            json.dumps(
                {"what": name, "d": d, "n": n, "pairs": given.get("stability", 0), **_timed(folder, given)}
            ),
            flush=True,
        )


def _timed(folder: Path, given: dict) -> dict:
    """Return the seconds of a fit, in a process of its own; with a scheduler and two workers for a cluster."""
    started = []
    try:
        if "cluster" in given:
            given = given | {"cluster": "tcp://127.0.0.1:18799", "workers": 2}
            dask = [sys.executable, "-m"]
            started.append(
                subprocess.Popen(
                    [
                        *dask,
                        "distributed.cli.dask_scheduler",
                        "--host",
                        "127.0.0.1",
                        "--port",
                        "18799",
                        "--no-dashboard",
                    ],
                    stderr=subprocess.DEVNULL,
                )
            )
            worker = [
                *dask,
                "distributed.cli.dask_worker",
                given["cluster"],
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
            ]
            started += [subprocess.Popen(worker, stderr=subprocess.DEVNULL) for _ in range(2)]
            time.sleep(10)
        code = (
            "import json, time; from gpmnet import GPM; from gpmnet.table import load_table;"
            f"table = load_table({str(folder / 'table.parquet')!r}); GPM(n_jobs=1).fit(table.values()[:100, :5]);"
            f"began = time.perf_counter(); model = GPM(n_jobs=1, **{given!r}).fit(table);"
            "print(json.dumps({'seconds': round(time.perf_counter() - began, 2), 'edges': model.network_.n_edges,"
            " 'stability_s': round(model.timings_.get('stability', 0), 2)}))"
        )
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return json.loads(done.stdout.splitlines()[-1])
    finally:
        for process in started:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["calibrate", "draw", "speed"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--d", type=int, default=100)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=50)
    given = parser.parse_args()
    if given.what == "speed":
        speed(given.folder, given.d, given.n, given.pairs)
    else:
        {"calibrate": calibrate, "draw": draw}[given.what]()


if __name__ == "__main__":
    main()
