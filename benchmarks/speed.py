"""CPU seconds of the local engine's phases on tables like those people have, and ratios to another state of the code.

    python benchmarks/speed.py run -o FILE.csv [--src DIR] [--only wine,strikes] [--repeats 1]
    python benchmarks/speed.py compare OLD.csv NEW.csv

The tables are simulated after real ones: latent factors, direct effects along a sparse graph, margins with ties, zeros and
many levels. Each runs in a process of its own with one thread, so that seconds are those of the work and not of waiting.
`--src` is the folder `src` of another checkout. Beside each fit stand partial correlations of the same table in the same
process, whose ratio to another run says how comparable the two runs are.
"""

import argparse
import os
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

PHASES = ("features", "search", "test", "omega")
FIELDS = ("table", "n", "d", "edges", *PHASES, "fit", "partial_corr", "repeat")


def hidden(rng, n, d, factors=3, parents=2):
    """Return normal scores (n, d): latent factors, and direct effects of earlier columns, some of them curved."""
    common = rng.normal(size=(n, factors))
    columns = []
    for j in range(d):
        loading = rng.normal(size=factors) * (rng.random(factors) < 0.6)
        value = 0.5 * common @ loading
        for parent in rng.choice(j, size=min(j, parents), replace=False):
            curve = (np.tanh, np.sin, lambda x: x, lambda x: x**2 / 2)[rng.integers(4)]
            value = value + rng.choice([-0.6, 0.6]) * curve(columns[parent])
        value = value + rng.normal(size=n)
        columns.append((value - value.mean()) / value.std())
    return np.column_stack(columns)


def cut(rng, value, levels, spread=1.0):
    """Return codes of a score: ordered levels of unequal shares."""
    shares = rng.dirichlet(np.full(levels, 1 / spread) + 0.5)
    return np.searchsorted(np.quantile(value, np.cumsum(shares)[:-1]), value)


def named(rng, value, levels, noise=0.7):
    """Return text levels: an ordered code of the noisy score in an order that means nothing."""
    code = cut(rng, value + noise * rng.normal(size=len(value)), levels)
    return np.array([f"level {k:02d}" for k in rng.permutation(levels)])[code]


def wine():
    """Return 6,497 x 13: skewed measurements with ties, a score of seven whole numbers, two colours."""
    rng = np.random.default_rng(1)
    z = hidden(rng, 6497, 13, parents=3)
    digits = (1, 2, 2, 1, 3, 0, 0, 4, 2, 2, 1)
    frame = {
        f"measure {j}": np.round(np.exp(0.4 * z[:, j]) * 10.0 ** (1 - digit / 2), digit)
        for j, digit in enumerate(digits)
    }
    return pd.DataFrame(frame | {"score": cut(rng, z[:, 11], 7) + 3, "colour": named(rng, z[:, 12], 2)})


def housing():
    """Return 20,433 x 10: coordinates, skewed totals that are near multiples of one another, a category of five."""
    rng = np.random.default_rng(2)
    z = hidden(rng, 20433, 10, parents=3)
    total = np.exp(0.8 * z[:, 3])
    frame = {
        "east": np.round(z[:, 0] * 2 - 119, 2),
        "north": np.round(np.where(z[:, 0] > 0, -1, 1) * 1.5 + z[:, 1] + 35, 2),
        "age": np.clip(np.round(12 * z[:, 2] + 28), 1, 52),
        "rooms": np.round(2000 * total),
        "bedrooms": np.round(400 * total * np.exp(0.15 * z[:, 4])),
        "people": np.round(1200 * total * np.exp(0.4 * z[:, 5])),
        "households": np.round(380 * total * np.exp(0.1 * z[:, 6])),
        "income": np.round(np.exp(0.5 * z[:, 7] + 1.2), 4),
        "value": np.minimum(np.round(np.exp(0.6 * z[:, 8] + 12), -2), 500000),
        "place": named(rng, z[:, 9], 5, 0.3),
    }
    return pd.DataFrame(frame)


def questionnaire():
    """Return 2,236 x 29: 25 answers of five levels in five scales, and four facts about who answers."""
    rng = np.random.default_rng(3)
    who = hidden(rng, 2236, 4)
    scales = 0.3 * who[:, :1] + rng.normal(size=(2236, 5))
    frame = {}
    for j in range(25):
        value = 0.8 * scales[:, j % 5] + 0.2 * scales[:, (j + 1) % 5] + 0.8 * rng.normal(size=2236)
        frame[f"item {j + 1}"] = cut(rng, value, 5, 0.5) + 1
    facts = {
        "gender": named(rng, who[:, 0], 2),
        "school": named(rng, who[:, 1], 5),
        "age": np.round(np.exp(0.35 * who[:, 2] + 3.3)),
        "income": np.round(np.exp(who[:, 3] + 7)),
    }
    return pd.DataFrame(frame | facts)


def strikes():
    """Return 7,164 x 14: five categories of twenty levels, three smaller ones, costs mostly zero, counts, numbers."""
    rng = np.random.default_rng(4)
    z = hidden(rng, 7164, 14)
    frame = {f"kind {j}": named(rng, z[:, j], 20, 0.5) for j in range(5)}
    frame |= {f"group {j}": named(rng, z[:, j], m) for j, m in ((5, 2), (6, 4), (7, 8))}
    frame |= {
        "cost": np.where(z[:, 8] + rng.normal(size=7164) < 1.5, 0.0, np.round(np.exp(2 * z[:, 8] + 6))),
        "other cost": np.where(z[:, 9] + rng.normal(size=7164) < 2, 0.0, np.round(np.exp(2 * z[:, 9] + 5))),
        "birds": rng.poisson(np.exp(0.6 * z[:, 10])),
        "height": np.where(z[:, 11] < -0.3, 0.0, np.round(1000 * np.exp(z[:, 11]), -2)),
        "speed": np.round(30 * z[:, 12] + 150, -1),
        "hour": np.round(np.clip(4 * z[:, 13] + 12, 0, 23)),
    }
    return pd.DataFrame(frame)


def gaussian(d):
    """Return 10,000 rows of a directed Gaussian network of d variables with up to three parents each."""
    rng = np.random.default_rng(5)
    columns = []
    for j in range(d):
        value = rng.uniform(0.5, 1) * rng.normal(size=10_000)
        for parent in rng.choice(j, size=min(j, rng.integers(4)), replace=False):
            value = value + rng.choice([-1, 1]) * rng.uniform(0.3, 1) * columns[parent]
        columns.append(value / value.std())
    return pd.DataFrame(np.column_stack(columns)).add_prefix("x")


TABLES = {
    "wine": wine,
    "housing": housing,
    "questionnaire": questionnaire,
    "strikes": strikes,
    "gaussian44": partial(gaussian, 44),
    "gaussian107": partial(gaussian, 107),
}


class Clock:
    """CPU seconds inside functions that it wraps, each without the time of those it calls."""

    def __init__(self):
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._inner = [0.0]

    def wrap(self, owner, name, phase):
        """Replace a function by one that counts its time under a phase."""
        plain = getattr(owner, name)

        def timed(*arguments, **options):
            begun = time.process_time()
            self._inner.append(0.0)
            try:
                return plain(*arguments, **options)
            finally:
                spent = time.process_time() - begun
                self.seconds[phase] += spent - self._inner.pop()
                self._inner[-1] += spent

        setattr(owner, name, timed)


def measure(name):
    """Return the row of one table, in this process."""
    from gpmnet.baselines import BASELINES
    from gpmnet.engines import local
    from gpmnet.estimator import GPM
    from gpmnet.table import load_table

    clock = Clock()
    for module in ("gpmnet.engines.local", "gpmnet.engines.local_tasks"):  # where a state of the code has it
        if hasattr(sys.modules.get(module), "build_features"):
            clock.wrap(sys.modules[module], "build_features", "features")
    clock.wrap(local.LocalEngine, "search", "search")
    clock.wrap(local.LocalEngine, "test_pairs", "test")
    clock.wrap(local.LocalFound, "describe", "omega")
    table = load_table(TABLES[name]())
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a full neighborhood is no matter of speed
        network = GPM(n_jobs=1).fit(table).network_
    spent = time.process_time() - begun
    begun = time.process_time()
    BASELINES["partial-corr"]().fit(table)
    peer = time.process_time() - begun
    row = {"table": name, "n": table.n_rows, "d": len(table.names), "edges": len(network.edges)}
    row |= {phase: round(seconds, 3) for phase, seconds in clock.seconds.items()}
    return row | {"fit": round(spent, 3), "partial_corr": round(peer, 4)}


def apart(name, source):
    """Return the row of one table from a process of its own with one thread."""
    single = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")}
    environment = os.environ | single | {"PYTHONPATH": str(source.resolve())}
    command = [sys.executable, __file__, "measure", name]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return dict(zip(FIELDS[:-1], done.stdout.split()[-len(FIELDS) + 1 :], strict=True))


def run(options):
    """Measure the tables and write one row a run, after each."""
    rows = []
    for name in options.only:
        for repeat in range(options.repeats):
            rows.append(apart(name, options.src) | {"repeat": repeat})
            print(rows[-1], flush=True)
            pd.DataFrame(rows, columns=FIELDS).to_csv(options.output, index=False)


def compare(old, new):
    """Return how many times less CPU time the new code takes, by table and phase, the least of the repeats of each."""
    measures = [*PHASES, "fit", "partial_corr"]
    before, after = (pd.read_csv(path).groupby("table")[measures].min() for path in (old, new))
    both = before.index.intersection(after.index)
    ratios = (before.loc[both] / after.loc[both].clip(lower=1e-3)).round(2)
    seconds = pd.DataFrame({"old fit": before.loc[both, "fit"], "new fit": after.loc[both, "fit"]})
    return pd.concat([seconds, ratios], axis=1)


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("-o", "--output", type=Path, required=True)
    running.add_argument("--src", type=Path, default=Path(__file__).resolve().parents[1] / "src")
    running.add_argument("--only", type=lambda text: text.split(","), default=list(TABLES))
    running.add_argument("--repeats", type=int, default=1)
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    one = commands.add_parser("measure")
    one.add_argument("name", choices=list(TABLES))
    options = parser.parse_args()
    if options.command == "run":
        run(options)
    elif options.command == "compare":
        print(compare(options.old, options.new).to_string())
    else:
        print(*measure(options.name).values())


if __name__ == "__main__":
    main()
