"""Fit Butterfly networks of growing size: seconds beside the bare matrix product, F1, and peak memory.

    python benchmarks/scale.py --d 1000,10000 [--n 1000] [--device cuda] [--fdr 0.001] [--seeds 1] [--first-seed 0] [--omega]
        [--without-product]

With `--omega` the edges are those of the pairwise family's Omega alone, and fdr means nothing.
The bare product is (dK x n)(n x dK) in single precision (tf32 on a GPU), timed in the same run.
"""

import argparse
import resource
import sys
import time

import numpy as np
import torch

from gpmnet import metrics
from gpmnet.engines.local import LocalOptions
from gpmnet.estimator import GPM
from gpmnet.simulate import simulate
from gpmnet.table import load_table


def bare_product(d, n, k, device):
    """Return the seconds of the product of all features with all features, in panels."""
    torch.backends.cuda.matmul.allow_tf32 = True
    left = torch.randn((d * k, n), device=device)
    step = 1536 if device == "cpu" else 12288
    torch.cuda.synchronize() if device != "cpu" else None
    start = time.perf_counter()
    for a in left.split(step):
        for b in left.split(step):
            a @ b.T
    torch.cuda.synchronize() if device != "cpu" else None
    return time.perf_counter() - start


def timed_fit(table, options):
    """Return the fitted model, when each phase last reported, and the seconds of the fit."""
    last, begun = {}, time.perf_counter()
    engine = (
        {"engine": "deep", "decide": "omega", "energy": "pairwise"} if options.omega else {"fdr": options.fdr}
    )
    model = GPM(device=options.device, **engine)
    model.fit(table, progress=lambda phase, *_: last.update({phase: round(time.perf_counter() - begun, 2)}))
    return model, last, time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--d", default="1000")
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--fdr", type=float, default=0.001)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--omega", action="store_true")
    parser.add_argument("--without-product", action="store_true")
    options = parser.parse_args()
    print(
        "device,d,n,seed,fdr,load_seconds,fit_seconds,bare_product_seconds,ratio,f1,false,missed,peak_host_gb,peak_device_gb"
    )
    for d in map(int, options.d.split(",")):
        size = d, options.n, len(LocalOptions().functions)
        bare = np.nan if options.without_product else bare_product(*size, options.device)
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            drawn = simulate("butterfly", kind="continuous", d=d, n=options.n, seed=seed, dtype="float32")
            start = time.perf_counter()
            table = load_table(drawn.values, names=drawn.names)
            load = time.perf_counter() - start
            if options.device != "cpu":
                torch.cuda.reset_peak_memory_stats()
            model, last, fit = timed_fit(table, options)
            found = metrics.evaluate(drawn.truth, model.network_.adjacency)
            false = found["edges"] - round(found["precision"] * found["edges"])
            missed = found["true_edges"] - round(found["recall"] * found["true_edges"])
            host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            device = torch.cuda.max_memory_allocated() / 1e9 if options.device != "cpu" else np.nan
            print(
                f"{options.device},{d},{options.n},{seed},{options.fdr},{load:.2f},{fit:.2f},{bare:.3f},{fit / bare:.2f},"
                f"{found['f1']:.5f},{false},{missed},{host:.2f},{device:.2f}",
                flush=True,
            )
            print(f"# seconds at which each phase last reported: {last}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
