"""More rows than memory: seconds, peak memory and rows a second of a fit, beside pyarrow's bare read of the same file.

    python benchmarks/many_rows.py FOLDER --rows 10000000 --columns 50 --engine local [--dask 2]

The file is made once (40 of 50 columns are numbers, five are counts, five are text). pyarrow and the fit run in processes of
their own. With `--dask N` nothing is fitted: columns are sorted by N workers of a Dask cluster that is started for it, and
seconds and memory are those of the client, in whose process the scheduler runs. With `--write MACHINE` the rows go to
docs/results/many_rows.csv.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

GROUP = 500_000
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "many_rows.csv"
COLUMNS = [
    "step", "rows", "columns", "rows_looked_at", "edges", "seconds", "cpu_seconds", "rows_a_second", "peak_gb", "memory",
    "threads", "machine",
]  # fmt: skip


def make(path: Path, rows: int, columns: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    n_text = n_count = columns // 10
    n_number = columns - n_text - n_count
    writer = None
    for start in range(0, rows, GROUP):
        n = min(GROUP, rows - start)
        x = rng.normal(size=(n, columns))
        for k in range(1, columns):
            x[:, k] += 0.5 * x[:, k - 1]
        parts = {f"x{k}": x[:, k] for k in range(n_number)}
        parts |= {
            f"c{k}": np.floor(np.exp(0.5 * x[:, k])).astype(np.int32)
            for k in range(n_number, n_number + n_count)
        }
        labels = np.array(["low", "middle", "high"], dtype=object)
        parts |= {
            f"t{k}": labels[np.digitize(x[:, k], [-0.7, 0.7])] for k in range(n_number + n_count, columns)
        }
        table = pa.table(parts)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=GROUP)
    writer.close()


def peak_gb() -> float:
    """Return the largest resident memory of this process; mapped files count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e9
    raise RuntimeError("this system does not tell")


def tell(step: str, rows: int, columns: int, began: tuple[float, float], **more: object) -> None:
    """Print a row of the results."""
    seconds, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    row = {"step": step, "rows": rows, "columns": columns} | more
    row |= {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "rows_a_second": round(rows / seconds),
    }
    print(json.dumps(row | {"peak_gb": round(peak_gb(), 2)}), flush=True)


def bare(path: str) -> None:
    import pyarrow.parquet as pq

    began, rows = (time.perf_counter(), time.process_time()), 0
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            rows += file.read_row_group(group, use_threads=False).num_rows
        tell("pyarrow's bare read, by row groups", rows, len(file.schema_arrow), began, threads=1)


def fit(path: str, engine: str, most_rows: int, jobs: int, memory: str | None) -> None:
    from gpmnet import GPM
    from gpmnet.parallel import limited_threads
    from gpmnet.table import load_table

    model = GPM(engine, n_jobs=jobs, memory=memory, verbose=True).set_params(
        options__most_rows=most_rows or None
    )
    with limited_threads(jobs):  # as in a fit of a path
        began = time.perf_counter(), time.process_time()
        table = load_table(path, max_gb=1e4)
        n_looked_at = table.encode(0, most_rows or None).n_rows
    about = {"rows_looked_at": n_looked_at, "threads": jobs, "memory": memory}
    tell("load and encode", table.n_rows, len(table.names), began, **about)
    net = model.fit(table).network_
    tell(f"load, fit ({engine})", table.n_rows, len(table.names), began, **about, edges=net.n_edges)


def load(path: str, most_rows: int, workers: int) -> None:
    from distributed import LocalCluster

    from gpmnet.jobs import Where
    from gpmnet.table import load_table, spread_over

    with LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as cluster:
        began = time.perf_counter(), time.process_time()
        with spread_over(Where(workers, cluster.scheduler_address)):
            table = load_table(path, max_gb=1e4)
        encoded = table.encode(0, most_rows)
        about = {"rows_looked_at": encoded.n_rows, "threads": 1}
        tell(f"load and encode, {workers} Dask workers", table.n_rows, len(table.names), began, **about)


def write(rows: list[dict[str, object]], machine: str) -> None:
    """Put rows in place of those of the same steps with as many threads."""
    new = pd.DataFrame(rows).assign(machine=machine)
    together = pd.concat([pd.read_csv(RESULTS), new], ignore_index=True).reindex(columns=COLUMNS)
    same = ["step", "rows", "columns", "rows_looked_at", "threads"]
    together = together.drop_duplicates(same, keep="last").sort_values("seconds")
    for name in ("rows_looked_at", "edges"):
        together[name] = together[name].astype("Int64")
    together.dropna(axis=1, how="all").to_csv(RESULTS, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--most-rows", type=int, default=50_000, help="rows that are looked at, 0 for all")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--dask", type=int, metavar="N", help="load only, with so many workers")
    parser.add_argument("--memory", help="budget of the fit, such as 4GB")
    parser.add_argument("--write", metavar="MACHINE", help="put the rows into docs/results/many_rows.csv")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / f"{given.rows}x{given.columns}.parquet"
    if not path.exists():
        make(path, given.rows, given.columns)
    asked = (str(path), given.engine, given.most_rows, given.jobs, given.memory)
    rows = []
    second = ("load", (str(path), given.most_rows, given.dask)) if given.dask else ("fit", asked)
    for function, arguments in (("bare", (str(path),)), second):
        script = str(Path(__file__).resolve())
        call = f"runpy.run_path({script!r})[{function!r}](*{arguments!r})"
        code = f"import runpy\nif __name__ == '__main__': {call}"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as running:
            for line in running.stdout:
                print(line, end="", flush=True)
                rows.append(json.loads(line))
        if running.returncode:
            sys.exit(running.returncode)
    if given.write:
        write(rows, given.write)


if __name__ == "__main__":
    main()
