"""Methods that misbehave on purpose; a module of its own, since cells run in other processes."""

import os
import sys
import time
from dataclasses import dataclass

import numpy as np

from gpmnet.bench import METHODS, Cell, Method, SimulatedTask
from gpmnet.network import MarkovNetwork


@dataclass
class Empty:
    """Finds nothing, and writes down that it was asked."""

    random_state: int = 0
    pause: float = 0.0
    log: str = ""
    gate: str = ""  # the fit of seed 2 lasts until this file exists

    def fit(self, table):
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{len(table.names)} {self.random_state}\n")
        time.sleep(self.pause)
        while self.gate and self.random_state == 2 and not os.path.exists(self.gate):
            time.sleep(0.02)
        self.network_ = MarkovNetwork.from_adjacency(table.names, np.zeros((len(table.names),) * 2))
        return self


class Sleeps(Empty):
    def fit(self, table):
        time.sleep(1000)


class Raises(Empty):
    def fit(self, table):
        raise RuntimeError("two\nlines")


class Refuses(Empty):
    def supports(self, table):
        return False, "not on such a table"


class EatsMemory(Empty):
    def fit(self, table):
        eaten = []
        while True:
            eaten.append(np.ones(10_000_000))
            time.sleep(0.05)


def method(build, **options):
    return Method(build.__name__.lower(), "a fake", build, options, "bench_fakes", "bench-fakes")


def cell(build, d=4, seed=0, n=50, suite="fake", **options):
    task = SimulatedTask(
        name="butterfly-continuous", simulator="butterfly", kind="continuous", d=d, n=n, seed=seed
    )
    return Cell(suite, task, method(build, **options), options)


def main():
    """Run the command line with a method that keeps a log and stops at a gate."""
    from gpmnet.cli import main as command_line

    options = {"log": os.environ["FAKE_LOG"], "gate": os.environ["FAKE_GATE"]}
    METHODS["gated"] = Method("gated", "a fake", Empty, options)
    sys.argv[0] = "gpmnet"
    command_line()
