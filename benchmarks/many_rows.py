"""More rows than memory: seconds, peak memory and rows a second of a fit, beside pyarrow's bare read of the same file.

    python benchmarks/many_rows.py FOLDER --rows 10000000 --columns 50 --engine local

The file is made once (40 of 50 columns are numbers, five are counts, five are text). Each step runs in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

GROUP = 500_000


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


def peak_mb() -> float:
    """Return the largest resident memory of this process; mapped files count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1e3
    raise RuntimeError("this system does not tell")


def bare(path: str) -> None:
    import pyarrow.parquet as pq

    began, rows = time.perf_counter(), 0
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            rows += file.read_row_group(group, use_threads=False).num_rows
    print(
        json.dumps(
            {
                "what": "pyarrow read",
                "rows": rows,
                "seconds": time.perf_counter() - began,
                "peak_mb": peak_mb(),
            }
        )
    )


def fit(path: str, engine: str, most_rows: int) -> None:
    from gpmnet import GPM
    from gpmnet.table import load_table

    began = time.perf_counter()
    table = load_table(path, max_gb=1e4)
    loaded = time.perf_counter() - began
    inner = "options__most_rows" if engine == "local" else "options__local__most_rows"
    model = GPM(engine, n_jobs=1).set_params(**{inner: most_rows})
    began = time.perf_counter()
    encoded = table.encode(0, most_rows)
    encoding = time.perf_counter() - began
    before = peak_mb()
    row = {
        "what": "load and encode",
        "rows": table.n_rows,
        "columns": len(table.names),
        "most_rows": encoded.n_rows,
    }
    row |= {"load_s": loaded, "encode_s": encoding, "peak_mb": before}
    print(json.dumps(row | {"rows_a_second": table.n_rows / (loaded + encoding)}), flush=True)
    began = time.perf_counter()
    net = model.fit(table).network_
    row = {"what": engine, "rows": table.n_rows, "columns": len(table.names), "most_rows": encoded.n_rows}
    row |= {
        "load_s": loaded,
        "encode_s": encoding,
        "fit_s": time.perf_counter() - began,
        "edges": net.n_edges,
    }
    print(json.dumps(row | {"peak_mb_encoded": before, "peak_mb": peak_mb()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--most-rows", type=int, default=50_000)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / f"{given.rows}x{given.columns}.parquet"
    if not path.exists():
        make(path, given.rows, given.columns)
    calls = (f"bare({str(path)!r})", f"fit({str(path)!r}, {given.engine!r}, {given.most_rows})")
    for call in calls:
        code = f"import runpy; g = runpy.run_path({str(Path(__file__).resolve())!r}); eval({call!r}, g)"
        subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main()
