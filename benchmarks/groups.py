"""Rows that depend on each other: are null pairs rejected as often as they should when groups say so?

    python benchmarks/groups.py -o FILE.csv [--draws 200] [--cases NAME,...] [--seed 9000]

Four columns that are independent of each other, given z where there is one, in rows that are copies, visits of persons (half
of the variance is the person's) or series of memory 0.9. One row a case: the share of pairs with p up to 0.05 and 0.01 by
the local engine's own test, its standard error over the draws, and the share that a test of single rows would reject. And
how often the 95% interval of a strength has the true one, 0.4, in it, of continuous pairs with nothing given. Rows of cases
that the file already holds are replaced.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from gpmnet import GPM
from gpmnet.engines.local_tasks import prepared
from gpmnet.table import load_table
from gpmnet.table.dependence import Block
from gpmnet.testing.strength import interval

COLUMNS = list("abcd")
RATES, STRENGTH = (0.05, 0.01), 0.4
ALONE = "rows alone, p<=0.05"
SAID = (
    "Four columns that are independent of each other, given z where there is one; rows are copies, visits of persons "
    "(half of the variance is the person's) or series (correlation 0.9 with the row before). Shares of pairs with p up to a "
    "rate, with `groups=` of the rows, and their standard errors; `rows alone`: without; `covered`: how often the 95% "
    "interval of a strength holds the true one. Made by `python benchmarks/groups.py`."
)


def visits(rng, sizes, shared=0.5):
    """Return four columns whose variance has a share that is the same in all rows of a group, and the groups."""
    code = np.repeat(np.arange(len(sizes)), sizes)
    own = rng.normal(size=(len(sizes), 4))[code]
    return np.sqrt(shared) * own + np.sqrt(1 - shared) * rng.normal(size=own.shape), code


def series(rng, n, d=4, memory=0.9):
    """Return stationary series of first order."""
    x = np.empty((n, d))
    x[0] = rng.normal(size=d)
    for row in range(1, n):
        x[row] = memory * x[row - 1] + np.sqrt(1 - memory**2) * rng.normal(size=d)
    return x


def levels(drawn, cuts=(-1, 0, 1.5)):
    """Return drawn columns as letters, by where their values lie, and the groups."""
    return np.array(list("uvwx"))[np.digitize(drawn[0], cuts)], drawn[1]


def behind(rng, sizes, curve=np.asarray, inside=0.0):
    """Return visits that depend on z too, of whose variance a share is inside of groups."""
    x, code = visits(rng, sizes)
    z = np.sqrt(1 - inside) * rng.normal(size=len(sizes))[code] + np.sqrt(inside) * rng.normal(size=len(code))
    return np.column_stack([x + curve(z)[:, None], z]), code


def series_behind(rng, n):
    """Return series that depend on another one, z."""
    x = series(rng, n, 5)
    return np.column_stack([x[:, :4] + x[:, 4:], x[:, 4]])


def bent(z):
    """Return a curve."""
    return np.sin(2 * z)


CASES = {
    "copies, every row twice": lambda rng: visits(rng, [2] * 500, shared=1.0),
    "100 groups of 10": lambda rng: visits(rng, [10] * 100),
    "30 groups of 20": lambda rng: visits(rng, [20] * 30),
    "15 groups of 20": lambda rng: visits(rng, [20] * 15),
    "10 groups of 20": lambda rng: visits(rng, [20] * 10),
    "40 groups of 1 to 50": lambda rng: visits(rng, rng.integers(1, 51, size=40)),
    "40 groups of 1 to 50, more alike": lambda rng: visits(rng, rng.integers(1, 51, size=40), shared=0.75),
    "one group of 300 and 70 of 10": lambda rng: visits(rng, [300] + [10] * 70),
    "one group of 500 and 50 of 10": lambda rng: visits(rng, [500] + [10] * 50),
    "copies, four levels": lambda rng: levels(visits(rng, [2] * 500, shared=1.0)),
    "50 groups of 20, four levels": lambda rng: levels(visits(rng, [20] * 50)),
    "15 groups of 20, two levels": lambda rng: levels(visits(rng, [20] * 15), [0.5]),
    "series, blocks of 20": lambda rng: (series(rng, 1000), Block(20)),
    "series, blocks of 48": lambda rng: (series(rng, 1000), Block(48)),
    "series, blocks of 100": lambda rng: (series(rng, 2000), Block(100)),
    "series, blocks of 48, four levels": lambda rng: levels((series(rng, 1000), Block(48))),
    "given a series, blocks of 48": lambda rng: (series_behind(rng, 1000), Block(48)),
    "given z of each row, 50 groups of 20": lambda rng: behind(rng, [20] * 50, inside=0.5),
    "given sin 2z of each row, 50 groups of 20": lambda rng: behind(rng, [20] * 50, bent, inside=0.5),
    "given z of each row, 15 groups of 20": lambda rng: behind(rng, [20] * 15, inside=0.5),
    "given z of the group, 200 groups of 5": lambda rng: behind(rng, [5] * 200),
    "given z of the group, 50 groups of 20": lambda rng: behind(rng, [20] * 50),
    "given sin 2z of the group, 50 groups of 20": lambda rng: behind(rng, [20] * 50, bent),
    "given z of the group, 15 groups of 20": lambda rng: behind(rng, [20] * 15),
}


def bound(table):
    """Return the test of the local engine on a table."""
    plan = GPM().plan()
    return prepared((plan.engine.options, plan.problem(table)[0])).test


def covers(values, groups):
    """Return whether the interval of the strength of two dependent columns has the true one in it."""
    other = STRENGTH * values[:, 0] + np.sqrt(1 - STRENGTH**2) * values[:, 1]
    table = load_table(pd.DataFrame({"a": values[:, 0], "b": other}), groups=groups)
    one = bound(table).pairs(torch.tensor([0]), torch.tensor([1]), torch.empty((1, 0), dtype=torch.int64))
    low, high = interval(*(getattr(one, f"strength{what}").numpy() for what in ("", "_error", "_excess")))
    return bool(low[0] <= STRENGTH <= high[0])


def p_values(table):
    """Return the p-values of all pairs of the four columns, given the others."""
    place = [table.names.index(name) for name in COLUMNS]
    given = [at for at in range(len(table.names)) if at not in place]
    first, second = (torch.tensor(place)[ends] for ends in torch.triu_indices(4, 4, 1))
    sets = torch.tensor([given] * len(first), dtype=torch.int64).reshape(len(first), len(given))
    return bound(table).pairs(first, second, sets).log_p.exp().numpy()


def case(name, draws, seed):
    """Return the row of one case."""
    began, found, alone, covered = time.process_time(), [], [], []
    for draw in range(draws):
        values, groups = CASES[name](np.random.default_rng([seed, draw]))
        frame = pd.DataFrame(values, columns=COLUMNS if values.shape[1] == 4 else [*COLUMNS, "z"])
        found.append(p_values(load_table(frame, groups=groups)))
        if draw < draws // 4:
            alone.append(p_values(load_table(frame)))
        if values.shape[1] == 4 and values.dtype.kind == "f":
            covered.append(covers(values, groups))
    row = {"case": name, "draws": draws, "pairs": 6 * draws, "seed": seed}
    for rate in RATES:
        share = (np.array(found) <= rate).mean(axis=1)
        row |= {f"p<={rate:g}": share.mean(), f"error {rate:g}": share.std(ddof=1) / np.sqrt(draws)}
    row[ALONE] = np.mean(np.array(alone) <= 0.05)
    row["covered"] = np.mean(covered) if covered else np.nan
    row["cpu_s"] = time.process_time() - began
    return {key: round(float(value), 4) if isinstance(value, float) else value for key, value in row.items()}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--cases", help="names, or what they begin with, separated by semicolons")
    parser.add_argument("--seed", type=int, default=9000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    begin = tuple(given.cases.split(";")) if given.cases else ("",)
    for name in (name for name in CASES if name.startswith(begin)):
        row = case(name, given.draws, given.seed)
        print(row, flush=True)
        rows = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
        rows = [old for old in rows if old["case"] != name]
        pd.DataFrame([*rows, row]).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
