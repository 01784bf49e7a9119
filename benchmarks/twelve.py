"""Twelve variables, n = 1000: the local engine beside GraphicalLassoCV in one run, as CSV.

python benchmarks/twelve.py [--draws 8] [--threads 2]
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
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # GraphicalLassoCV says that it does not converge
    print("draw,threads,gpm_seconds,graphical_lasso_cv_seconds,ratio")
    with threadpoolctl.threadpool_limits(options.threads):
        for seed in range(options.draws + 1):
            values = simulate("butterfly", kind="continuous", d=12, n=1000, seed=seed).values
            ours = seconds(GPM(fdr=0.01, n_jobs=options.threads).fit, values)
            theirs = seconds(GraphicalLassoCV().fit, values)
            if seed:  # the first draw warms up both
                print(f"{seed},{options.threads},{ours:.4f},{theirs:.4f},{ours / theirs:.2f}", flush=True)


if __name__ == "__main__":
    main()
