"""Does a change of the code leave the answers alone? Fit the same tables before and after it, and compare.

    python benchmarks/equivalence.py record before.npz [--only "NAME;..."]   # with the code as it was
    python benchmarks/equivalence.py record after.npz                        # with the code as it is
    python benchmarks/equivalence.py compare before.npz after.npz

`compare` prints one line a table: the edges that differ, and the largest differences of log p-values (relative to
their size), strengths, signs and Omega. It exits with 1 where edges differ, a difference is more than rounding, or a table
is in one record only. Names of tables contain commas: `--only` is split at semicolons. Tables of ../shared/data are added
where that folder is.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from gpmnet import GPM
from gpmnet.simulate import simulate

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
FIGURES = ("p_value", "strength", "sign", "omega")
ROUNDING = 1e-5


def drawn(name, **options):
    """Return a function that draws a table of a simulator."""

    def make():
        sample = simulate(name, **options)
        frame = pd.DataFrame(sample.values, columns=list(sample.names))
        return frame, dict(zip(sample.names, sample.kinds, strict=True))

    return make


def tied():
    """Return counts, a zero-inflated, a rounded and a skewed column around a common cause, and two categories."""
    rng = np.random.default_rng(7)
    cause = rng.normal(size=600)
    frame = pd.DataFrame(
        {
            "cause": cause,
            "count": rng.poisson(np.exp(0.7 * cause + 1)).astype(float),
            "mostly zero": np.where(rng.random(600) < 0.7, 0.0, rng.exponential(size=600) + (cause > 0)),
            "rounded": np.round(2 * cause + rng.normal(size=600)) / 2,
            "skewed": np.exp(cause + 0.5 * rng.normal(size=600)),
            "group": np.array(["a", "b", "c"])[
                1 * (cause + rng.normal(size=600) > 0) + (rng.random(600) < 0.3)
            ],
            "answer": np.where(rng.random(600) < 0.5, "yes", "no"),
        }
    )
    return frame, {}


def demo():
    """Return the table of `gpmnet demo`."""
    from gpmnet.cli.demo import demo_table

    return demo_table()[1], {}


def shared(name):
    """Return a function that reads a table of the shared folder."""
    return lambda: (pd.read_csv(SHARED / name / "data_1000.csv", keep_default_na=False), {})


def cases():
    """Return the fits by name: a function that makes a table with its kinds, and the parameters of `GPM`."""
    found = {
        f"butterfly {kind} d=10": (drawn("butterfly", kind=kind, d=10, n=1000, seed=3), {})
        for kind in ("continuous", "discrete", "mixed")
    }
    found |= {
        f"random {kind} d=20": (drawn("random", kind=kind, d=20, n=1000, seed=3), {})
        for kind in ("continuous", "discrete", "mixed")
    }
    found |= {
        "butterfly d=4 n=150": (drawn("butterfly", kind="continuous", d=4, n=150, seed=3), {}),
        "gaussian chain d=30": (
            drawn("gaussian", d=30, n=500, seed=3, structure="chain"),
            {"threshold": 0.01},
        ),
        "gaussian random d=30": (drawn("gaussian", d=30, n=500, seed=3, structure="random"), {}),
        "nonparanormal d=20": (drawn("nonparanormal", d=20, n=1000, seed=3), {}),
        "copula chain d=12": (drawn("copula-chain", d=12, n=600, seed=3), {}),
        "product d=12": (drawn("product", d=12, n=1000, seed=3), {}),
        "null d=120": (drawn("null", d=120, n=400, seed=3), {}),
        "random mixed d=15, smooth": (drawn("random", kind="mixed", d=15, n=800, seed=3, smooth=True), {}),
        "butterfly continuous d=300": (drawn("butterfly", kind="continuous", d=300, n=400, seed=3), {}),
        "butterfly mixed d=200": (drawn("butterfly", kind="mixed", d=200, n=500, seed=3), {}),
        "random continuous d=150": (drawn("random", kind="continuous", d=150, n=500, seed=3), {}),
        "ties": (tied, {}),
        "ties, forbidden and required": (
            tied,
            {"forbid": [("cause", "skewed")], "require": [("answer", "group"), ("answer", "rounded")]},
        ),
        "demo": (demo, {}),
        "deep butterfly d=4": (drawn("butterfly", kind="continuous", d=4, n=400, seed=3), {"engine": "deep"}),
        "deep butterfly mixed d=4": (
            drawn("butterfly", kind="mixed", d=4, n=300, seed=3),
            {"engine": "deep"},
        ),
        "deep parity d=3": (drawn("parity", kind="discrete", d=3, n=1000, seed=3), {"engine": "deep"}),
        "deep random mixed d=6, l1": (
            drawn("random", kind="mixed", d=6, n=400, seed=3),
            {"engine": "deep", "penalty": "l1", "energy": "pairwise"},
        ),
        "deep gaussian d=6, adaptive, sliced": (
            drawn("gaussian", d=6, n=300, seed=3, structure="chain"),
            {"engine": "deep", "penalty": "adaptive", "objective": "sliced"},
        ),
        "deep kernel butterfly d=4": (
            drawn("butterfly", kind="continuous", d=4, n=300, seed=3),
            {"engine": "deep", "energy": "deep_kernel"},
        ),
        "deep ties": (tied, {"engine": "deep"}),
    }
    names = ("bn_asia", "bn_child", "gbn_ecoli70", "clg_healthcare", "clg_healthinsurance")
    return found | {name: (shared(name), {}) for name in names if (SHARED / name).is_dir()}


def record(path, only):
    """Fit the tables and keep every candidate pair with its figures, and Omega's diagonal."""
    kept = {}
    for name, (make, parameters) in cases().items():
        if only and name not in only:
            continue
        frame, kinds = make()
        start = time.perf_counter()
        model = GPM(**parameters).fit(frame, kinds=kinds)
        pairs = model.network_.candidates
        ends = pairs["source"].astype(str) + " -- " + pairs["target"].astype(str)
        kept[f"{name}/pair"] = np.array(ends, dtype=str)
        kept[f"{name}/is_edge"] = pairs["is_edge"].to_numpy()
        kept |= {f"{name}/{figure}": pairs[figure].to_numpy() for figure in FIGURES}
        kept[f"{name}/diagonal"] = model.omega_.diagonal()
        print(f"{name}: {pairs['is_edge'].sum()} edges, {time.perf_counter() - start:.1f} s", flush=True)
    np.savez_compressed(path, **kept)


def differences(before, after, name):
    """Return how much the two differ, by figure; infinity where one has a pair that the other has not."""
    old, new = (
        pd.Series(np.arange(len(x[f"{name}/pair"])), index=x[f"{name}/pair"]) for x in (before, after)
    )
    common = old.index.intersection(new.index)
    found = {"pairs": len(old) + len(new) - 2 * len(common)}
    edges = [set(x[f"{name}/pair"][x[f"{name}/is_edge"]]) for x in (before, after)]
    found["edges"] = len(edges[0] ^ edges[1])
    for figure in FIGURES:
        a, b = (x[f"{name}/{figure}"][at[common]] for x, at in ((before, old), (after, new)))
        if figure == "p_value":
            a, b = (np.log(np.maximum(x, 1e-300)) for x in (a, b))
        gap = np.abs(a - b) / np.maximum(1, np.abs(a))
        gap[np.isnan(a) & np.isnan(b)] = 0
        found[figure] = float(np.nan_to_num(gap, nan=np.inf).max(initial=0))
    a, b = (x[f"{name}/diagonal"] for x in (before, after))
    found["diagonal"] = float(np.nanmax(np.abs(a - b), initial=0))
    return found


def compare(one, other):
    """Print the differences of two records; return whether they are rounding."""
    with np.load(one) as before, np.load(other) as after:
        before, after = dict(before), dict(after)
    names, new = ([key.removesuffix("/pair") for key in x if key.endswith("/pair")] for x in (before, after))
    alike = set(new) <= set(names)
    print(f"{'table':40s} pairs edges " + " ".join(f"{figure:>9s}" for figure in (*FIGURES, "diagonal")))
    for name in [name for name in new if name not in names]:
        print(f"{name:40s} not in {one}")
    for name in names:
        if f"{name}/pair" not in after:
            print(f"{name:40s} not in {other}")
            alike = False
            continue
        found = differences(before, after, name)
        same = (
            not found["pairs"]
            and not found["edges"]
            and max(found[f] for f in (*FIGURES, "diagonal")) < ROUNDING
        )
        alike &= same
        figures = " ".join(f"{found[figure]:9.1e}" for figure in (*FIGURES, "diagonal"))
        print(f"{name:40s} {found['pairs']:5d} {found['edges']:5d} {figures} {'' if same else 'DIFFERENT'}")
    return alike


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--only", default="", help="names of tables, with semicolons between them")
    options = parser.parse_args()
    if options.action == "record":
        record(options.files[0], {name for name in options.only.split(";") if name})
    else:
        sys.exit(0 if compare(*options.files) else 1)


if __name__ == "__main__":
    main()
