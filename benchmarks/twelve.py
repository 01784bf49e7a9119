"""Twelve variables, n = 1000: an engine beside GraphicalLassoCV in one run, as CSV.

python benchmarks/twelve.py [--engine local] [--draws 8] [--threads 2]
"""

import argparse
import time
import warnings

import threadpoolctl
from sklearn.covariance import GraphicalLassoCV

from gpmnet import GPM
from gpmnet.simulate import simulate


def seconds(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", default="local")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # GraphicalLassoCV says that it does not converge
    print("engine,draw,threads,gpm_seconds,graphical_lasso_cv_seconds,ratio")
    with threadpoolctl.threadpool_limits(options.threads):
        for seed in range(options.draws + 1):
            values = simulate("butterfly", kind="continuous", d=12, n=1000, seed=seed).values
            ours = seconds(GPM(options.engine, fdr=0.01, n_jobs=options.threads).fit, values)
            theirs = seconds(GraphicalLassoCV().fit, values)
            if seed:  # the first draw warms up both
                row = [
                    options.engine,
                    seed,
                    options.threads,
                    f"{ours:.4f}",
                    f"{theirs:.4f}",
                    f"{ours / theirs:.2f}",
                ]
                print(*row, sep=",", flush=True)


if __name__ == "__main__":
    main()
