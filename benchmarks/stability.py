"""Is stability what it seems, and what does it cost?

    python benchmarks/stability.py calibrate [--jobs 2]   # docs/results/stability.csv and .png: false edges by stability
    python benchmarks/stability.py speed FOLDER [--d 100 --n 1000 --pairs 50] [--record]   # 1 and 2 processes, Dask, one fit

Calibration: simulated tables with a known graph, edges at a generous rate so that some are false, and of each edge the share
of half-samples that have it. A row is a table, an engine and a range of stability: how many edges, how many are false, and
how many low pairs the bound allows from that stability on. Networks are drawn from simulators on which nothing of this was
chosen (seeds from 1000 on); hard laws are those behind whose confounders the engines' p-values are known to be wrong.

Speed: the same fit in every way, each in a process of its own that may use as many cores as the way has processes, no more,
and has started whatever it needs before the clock does. `busy` says how much of these cores the half-samples (or the one
thread of a fit) got: below 0.9 something else ran beside them, and their seconds say nothing. `--record` writes the rows to
docs/results/stability_speed.csv.
"""

import argparse
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parents[1] / "docs" / "results"
FDR, PAIRS, SEEDS = 0.2, 25, range(1000, 1004)
NETWORKS = (
    ("gaussian", "continuous", 12, 300),
    ("nonparanormal", "continuous", 12, 300),
    ("butterfly", "continuous", 12, 300),
    ("butterfly", "mixed", 12, 300),
    ("random", "continuous", 12, 300),
    ("random", "discrete", 12, 300),
    ("random", "mixed", 12, 300),
    ("dag", "continuous", 12, 300),
    ("dag", "mixed", 12, 300),
    ("gaussian-grid", "continuous", 16, 300),
    ("ising", "discrete", 16, 300),
    ("random", "continuous", 12, 1000),
    ("random", "mixed", 12, 1000),
    ("null", "mixed", 20, 300),
)
HARD = tuple(
    (law, None, 8, 300)
    for law in (
        "step of a sum",
        "product of three",
        "sum of three squares",
        "maximum of four",
        "sign times",
        "table of 15",
    )
)  # of the simulator confounded
EDGES = np.round(np.arange(0.0, 1.01, 0.1), 1)
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def calibrate(jobs: int) -> None:
    import joblib

    cells = [
        (laws, *task, seed, engine)
        for seed in SEEDS
        for laws, tasks in (("networks", NETWORKS), ("hard laws", HARD))
        for task in tasks
        for engine in ("local", "dag")
    ]
    work = joblib.Parallel(n_jobs=jobs, return_as="generator")
    rows = []
    for done, (cell, found) in enumerate(
        zip(cells, work(joblib.delayed(calibrated)(*c) for c in cells), strict=True), 1
    ):
        rows += found
        print(f"{done} of {len(cells)}", *cell, flush=True)
        pd.DataFrame(rows).to_csv(RESULTS / "stability.csv", index=False)  # what is done is not lost
    draw()


def calibrated(
    laws: str, name: str, kind: str | None, d: int, n: int, seed: int, engine: str
) -> list[dict[str, object]]:
    """Return the edges of one table by their stability."""
    from gpmnet import GPM
    from gpmnet.simulate import simulate
    from gpmnet.simulate.confounded import Confounded
    from gpmnet.table import load_table

    hard = laws == "hard laws"
    drawn = Confounded(name).draw(d, n, seed) if hard else simulate(name, d=d, n=n, seed=seed, kind=kind)
    table = load_table(drawn.frame(), kinds=dict(zip(drawn.names, drawn.kinds, strict=True)))
    truth, place = drawn.truth.toarray(), {name: at for at, name in enumerate(drawn.names)}
    options = {"fdr": FDR} if engine == "local" else {}
    net = GPM(engine, stability=PAIRS, random_state=seed, n_jobs=1, **options).fit(table).network_
    edges = net.edges
    ends = zip(edges.source, edges.target, strict=True)
    false = np.array([not truth[place[a], place[b]] for a, b in ends], dtype=bool)
    at = np.minimum(np.searchsorted(EDGES, edges.stability + 1e-9, side="right") - 1, 10)
    about = {
        "laws": laws,
        "simulator": name,
        "kind": kind or drawn.parameters["kind"],
        "d": d,
        "n": n,
        "seed": seed,
    }
    about |= {"engine": engine, "fdr": FDR, "n_pairs": PAIRS}
    rows = []
    for k, low in enumerate(EDGES.tolist()):
        counts = {"edges": int((at == k).sum()), "false": int(false[at == k].sum())}
        bound = net.resampling.expected_low(low)
        rows.append(
            about | {"stability": low} | counts | {"bound": round(bound, 3) if np.isfinite(bound) else None}
        )
    return rows


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return, by engine and threshold, how many edges are at least that stable, and how many of them are false."""
    found = []
    for (laws, engine), some in rows.groupby(["laws", "engine"], sort=False):
        true = (some.edges - some.false).sum()
        for low in THRESHOLDS:
            stable = some[some.stability >= low - 1e-9]
            n, false = int(stable.edges.sum()), int(stable.false.sum())
            share = false / n if n else float("nan")
            allowed = some[np.isclose(some.stability, low)].bound
            row = {
                "laws": laws,
                "engine": engine,
                "stability at least": low,
                "edges": n,
                "false": false,
                "share false": round(share, 3),
                "of the true edges": round((n - false) / true, 3),
            }
            found.append(row | {"bound": "" if allowed.isna().any() else round(float(allowed.sum()), 1)})
    return pd.DataFrame(found)


def draw() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = pd.read_csv(RESULTS / "stability.csv")
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for ax, (laws, of_laws) in zip(axes, rows.groupby("laws", sort=False), strict=True):
        for engine, some in of_laws.groupby("engine", sort=False):
            by = some.groupby("stability")[["edges", "false"]].sum()
            by = by[by.edges > 0]
            ax.plot(by.index, by.false / by.edges, marker="o", label=engine)
            for x, row in by.iterrows():
                about = {"xytext": (3, 4), "textcoords": "offset points", "fontsize": 7}
                ax.annotate(str(int(row.edges)), (x, row.false / row.edges), **about)
        ax.set(title=laws, xlabel="stability, from this to the next (numbers: edges)", ylim=(-0.04, 1.04))
    axes[0].set_ylabel("share of false edges")
    axes[0].legend(frameon=False)
    figure.savefig(RESULTS / "stability.png", dpi=110)


WAYS = (  # name, cores, parameters of GPM
    ("one fit, 1 thread", 1, {"n_jobs": 1}),
    ("one fit, 2 threads", 2, {"n_jobs": 2}),
    ("half-samples, 1 process", 1, {"n_jobs": 1, "workers": 1}),
    ("half-samples, 2 processes (loky)", 2, {"n_jobs": 1, "workers": 2}),
    ("half-samples, 2 workers (Dask)", 2, {"n_jobs": 1, "workers": 2, "cluster": ""}),
)


def speed(folder: Path, d: int, n: int, pairs: int, record: bool) -> None:
    from gpmnet.simulate import simulate

    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("two cores are needed")
    folder.mkdir(parents=True, exist_ok=True)
    simulate("butterfly", d=d, n=n, seed=0).frame().to_parquet(folder / "table.parquet")
    rows = []
    for name, count, options in WAYS:
        given = options | ({"stability": pairs} if "workers" in options else {})
        found = _timed(folder / "table.parquet", given, cores[:count])
        row = {"what": name, "d": d, "n": n, "pairs": given.get("stability", 0), "cores": count, **found}
        rows.append(row)
        print(json.dumps(row), flush=True)
    halves = [row for row in rows if row["pairs"]]
    if len({row["answer"] for row in halves}) > 1:
        sys.exit("the ways differ in their edges")
    frame = pd.DataFrame(rows).drop(columns="answer")
    frame.to_csv((RESULTS if record else folder) / "stability_speed.csv", index=False)
    print(cost(frame).to_string(index=False))


def cost(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the figures that half-samples are held to, from the rows of `speed`."""
    seconds = dict(zip(rows.what, rows.half_s.where(rows.pairs > 0, rows.seconds), strict=True))
    one, two, alone, loky, dask = (seconds[name] for name, *_ in WAYS)
    pairs, tasks = int(rows.pairs.max()), 2 * int(rows.pairs.max())
    beside = 2 * loky / tasks
    found = [
        (
            f"50 pairs in 2 processes (timed: {pairs}), in fits with 1 thread",
            50 / pairs * loky / one,
            "at most 60",
        ),
        (
            f"50 pairs in 2 processes (timed: {pairs}), in fits with 2 threads",
            50 / pairs * loky / two,
            "at most 60",
        ),
        ("2 processes against 1: times as fast", alone / loky, "at least 1.7"),
        (f"Dask against loky, tasks of {beside:.1f} s: times as long", dask / loky, "at most 1.15"),
    ]
    return pd.DataFrame(
        [(what, round(x, 2), goal) for what, x, goal in found], columns=["what", "ratio", "goal"]
    )


def _timed(table: Path, given: dict, cores: list[int]) -> dict:
    """Return what a fit took, in a process of its own; with a scheduler and workers of their own for a cluster."""
    environment = os.environ | {"OMP_NUM_THREADS": str(given["n_jobs"])}

    def begun(*arguments: str, **options) -> subprocess.Popen:
        command = ["taskset", "-c", ",".join(map(str, cores)), sys.executable, *arguments]
        return subprocess.Popen(command, env=environment, text=True, **options)

    started = []
    try:
        if "cluster" in given:
            with closing(socket.socket()) as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            given = given | {"cluster": f"tcp://127.0.0.1:{port}"}
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            place = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
            started.append(begun("-m", "distributed.cli.dask_scheduler", *place, **quiet))
            worker = (given["cluster"], "--nthreads", "1", "--no-nanny", "--no-dashboard")
            started += [
                begun("-m", "distributed.cli.dask_worker", *worker, **quiet) for _ in range(given["workers"])
            ]
        asked = json.dumps({"given": given, "others": [process.pid for process in started]})
        fit = begun(__file__, "fit", str(table), "--asked", asked, stdout=subprocess.PIPE)
        said, _ = fit.communicate()
        if fit.returncode:
            sys.exit(fit.returncode)
        return json.loads(said.splitlines()[-1])
    finally:
        for process in started:
            process.kill()
            process.wait()


def fit(path: Path, given: dict, others: list[int]) -> None:
    """Fit a table, and print what it took once everything had been started."""
    import psutil

    from gpmnet import GPM
    from gpmnet.table import load_table

    table = load_table(path)
    began = time.perf_counter()
    first = given | ({"stability": 8} if "stability" in given else {})
    GPM(**first).fit(table.values()[:100, :5])
    start = time.perf_counter() - began

    def cpu() -> float:
        here = psutil.Process()
        all_ = [here, *here.children(recursive=True), *map(psutil.Process, others)]
        return sum(sum(process.cpu_times()[:2]) for process in all_)

    half = [(0.0, 0.0)]  # CPU seconds and the time when half-samples begin, and when they end

    def progress(phase: str, done: int, total: int, note: str = "") -> None:
        if phase == "half-samples" and done in (0, total):
            half.append((cpu(), time.perf_counter()))

    before, began = cpu(), time.perf_counter()
    model = GPM(**given).fit(table, progress=progress)
    seconds, used = time.perf_counter() - began, cpu() - before
    (cpu_0, time_0), (cpu_1, time_1) = (
        half[-2:] if len(half) > 1 else ((before, began), (before + used, began + seconds))
    )
    share = (cpu_1 - cpu_0) / (time_1 - time_0) / given.get("workers", 1)
    edges = model.network_.candidates.to_csv(index=False)
    row = {"seconds": round(seconds, 2), "half_s": round(model.timings_.get("stability", 0.0), 2)}
    row |= {"cpu_s": round(used, 2), "start_s": round(start, 2), "edges": model.network_.n_edges}
    row |= {"busy": round(share, 2) if given["n_jobs"] == 1 else None}
    print(json.dumps(row | {"answer": hashlib.sha256(edges.encode()).hexdigest()}))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["calibrate", "draw", "speed", "fit"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--d", type=int, default=100)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2, help="tables beside each other, of calibrate")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--asked", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.what == "speed":
        speed(given.folder, given.d, given.n, given.pairs, given.record)
    elif given.what == "fit":  # by `speed`, which starts it
        fit(given.folder, **json.loads(given.asked))
    elif given.what == "calibrate":
        calibrate(given.jobs)
    else:
        draw()


if __name__ == "__main__":
    main()
