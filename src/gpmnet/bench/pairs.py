"""Null pairs: the p-value of one pair that is no edge, draw by draw.

A draw of a null pair takes a fraction of the seconds that a process takes to start, and a share of rejections needs
hundreds of draws. So a cell is a block of draws, and its row holds their p-values.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gpmnet.baselines.pair_tests import PairTest
from gpmnet.bench.task import SimulatedTask
from gpmnet.simulate import Simulation, simulate
from gpmnet.table import Table, load_table

if TYPE_CHECKING:
    from gpmnet.network import MarkovNetwork


@dataclass(frozen=True, eq=False)
class PairSample:
    """One draw, and the pair that is asked about.

    Attributes
    ----------
    drawn : Simulation
        The sample; its values, numbers and codes, are what a test of one pair sees.
    pair : tuple of str
        Names of the two variables.
    """

    drawn: Simulation
    pair: tuple[str, str]

    @property
    def ends(self) -> tuple[int, int]:
        """The columns of the two."""
        first, second = (self.drawn.names.index(name) for name in self.pair)
        return first, second

    @property
    def given(self) -> tuple[int, ...]:
        """The columns of the true neighbors of either."""
        neighbors = self.drawn.truth[list(self.ends)].sum(axis=0).nonzero()[0]
        return tuple(sorted({int(k) for k in neighbors} - {*self.ends}))

    def table(self) -> Table:
        """Return what an engine sees, the kinds being the simulator's.

        Levels are text: numbers would be pooled with their neighbors, which for the codes of a category means
        nothing.
        """
        frame, kinds = self.drawn.frame(), dict(zip(self.drawn.names, self.drawn.kinds, strict=True))
        for name, kind in kinds.items():
            if kind == "discrete":
                frame[name] = "level " + frame[name].astype(str)
        return load_table(frame, kinds=kinds)


@dataclass(frozen=True, kw_only=True)
class PairTask(SimulatedTask):
    """A block of draws from a simulator, with consecutive seeds, and a pair of it that is no edge.

    Attributes
    ----------
    pair : tuple of str
        Names of the two variables.
    draws : int
        How many; `seed` is that of the first.
    """

    pair: tuple[str, str]
    draws: int

    def definition(self) -> dict[str, Any]:
        """Return what makes this task this one."""
        return super().definition() | {"pair": list(self.pair), "draws": self.draws}

    def sample(self, seed: int) -> PairSample:
        """Draw one sample."""
        drawn = simulate(self.simulator, d=self.d, n=self.n, seed=seed, kind=self.kind, **self.options)
        return PairSample(drawn, self.pair)


def measure_pair(task: PairTask, build: Callable[..., Any]) -> dict[str, Any]:
    """Return the p-value of the null pair in every draw of a block, and the mean seconds of one.

    Parameters
    ----------
    task : PairTask
    build : callable
        ``build(random_state=...)`` returns a `PairTest`, or an estimator whose network has p-values.
    """
    p_values: list[float] = []
    seconds = 0.0
    for seed in range(task.seed, task.seed + task.draws):
        model = build(random_state=seed)
        able, why = model.supports(task.n) if isinstance(model, PairTest) else (True, "")
        if not able:
            return {"status": "skipped", "reason": why}
        p_value = question(model, task.sample(seed))
        began = time.perf_counter()
        p_values.append(p_value())
        seconds += time.perf_counter() - began
    return {"status": "ok", "reason": "", "seconds": seconds / task.draws, "p_values": p_values}


def question(model: Any, sample: PairSample) -> Callable[[], float]:
    """Return what answers with the p-value of the pair; all that comes before the method's own work is done."""
    if isinstance(model, PairTest):
        return partial(model.p_value, sample.drawn.values, *sample.ends, sample.given)
    return partial(_in_network, model, sample.table(), sample.pair)


def _in_network(model: Any, table: Table, pair: tuple[str, str]) -> float:
    """Return the p-value of a pair in a fitted network, which keeps those that came close to an edge; else 1."""
    network: MarkovNetwork = model.fit(table).network_
    at = network.pair_at(*pair)
    return 1.0 if at is None else float(network.pairs.p_value[at])
