"""The test of conditional independence by itself: how often it rejects twelve null laws, and its power, beside others.

    python benchmarks/ci.py -o FILE.csv [--draws 1000] [--n 100,400,1600] [--methods ours,fisher-z,chi-square,rcit,kci]
                            [--first-seed 0] [--laws "NAME;..."]

x and y are independent given the confounders of a law, which every test is told. For power y gets an effect of x: of
numbers 3 / sqrt(n) standard deviations of y for one of x, of categories y is x with that probability. One row a law,
number of rows, method and effect: the share of draws with a p-value of at most 0.05 and of at most 0.01, and seconds a
test. Rows that the file already holds are not made again. Chi-square is for categories only; KCI takes time cubic in n,
seconds a test at 1,600 rows.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from gpmnet import CITest
from gpmnet.baselines.ci_tests import kci_test, quiet, rcit_test
from gpmnet.simulate import simulate
from gpmnet.simulate.confounded import LAWS

NULL_LAWS = (
    "linear", "sum of four", "square", "sine", "shared scale", "maximum", "product", "threshold of four", "counts",
    "text of 8", "slope by level", "table of 3",
)  # fmt: skip
METHODS = ("ours", "fisher-z", "chi-square", "rcit", "kci")


def draw(law, n, seed, effect):
    """Return names, values, kinds of a draw, and the positions of the confounders."""
    drawn = simulate("confounded", d=len(LAWS[law].levels), n=n, seed=seed, law=law)
    values = drawn.values.copy()
    if effect:
        share = min(0.9, 3 / np.sqrt(n))
        x, y = values[:, 0], values[:, 1]
        if drawn.kinds[1] == "discrete":
            copied = np.random.default_rng([seed, 5]).random(n) < share
            values[:, 1] = np.where(copied, x, y)
        else:
            values[:, 1] = y + share * y.std() / x.std() * (x - x.mean())
    return drawn.names, values, drawn.kinds, tuple(range(2, len(drawn.names)))


def p_value(method, names, values, kinds, given, seed):
    """Return the p-value of x and y given the confounders."""
    if method == "ours":
        frame = pd.DataFrame(values, columns=list(names))
        for name, kind in zip(names, kinds, strict=True):
            if kind == "discrete":
                frame[name] = "v" + frame[name].astype(int).astype(str)
        test = CITest(frame, kinds=dict(zip(names, kinds, strict=True)))
        return test.test([("x", "y")], [names[at] for at in given])[0].p_value
    if method in ("kci", "rcit"):
        return (kci_test(values) if method == "kci" else rcit_test(values, seed))(0, 1, given)
    from causallearn.utils.cit import CIT

    with quiet():
        return float(CIT(values, "fisherz" if method == "fisher-z" else "chisq")(0, 1, list(given)))


def measured(law, n, method, effect, seeds):
    """Return one row."""
    began = time.perf_counter()
    found = [p_value(method, *draw(law, n, seed, effect), seed) for seed in seeds]
    seconds = (time.perf_counter() - began) / len(seeds)
    shares = {f"at_{rate:g}": float(np.mean(np.array(found) <= rate)) for rate in (0.05, 0.01)}
    return {
        "law": law,
        "n": n,
        "method": method,
        "effect": effect,
        "draws": len(seeds),
        **shares,
        "seconds": seconds,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--n", default="100,400,1600")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--laws", default=";".join(NULL_LAWS))
    given = parser.parse_args()
    rows = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
    done = {(row["law"], row["n"], row["method"], bool(row["effect"])) for row in rows}
    seeds = range(given.first_seed, given.first_seed + given.draws)
    for n in map(int, given.n.split(",")):
        for law in given.laws.split(";"):
            for method in given.methods.split(","):
                for effect in (False, True):
                    discrete = 0 not in LAWS[law].levels
                    if (law, n, method, effect) in done or (method == "chi-square" and not discrete):
                        continue
                    rows.append(measured(law, n, method, effect, seeds))
                    pd.DataFrame(rows).to_csv(given.out, index=False)
                    print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
