"""The search of many nodes in groups, each by itself: here, or wherever the tasks of a fit are done.

Nodes do not depend on each other once their candidates are known. Groups depend on nothing but the table, so that batches,
and the last bits of what they compute, are the same wherever a group is searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.jobs.crew import Crew
from gpmnet.searching.neighborhoods import Neighborhoods, SearchOptions, Watch, search
from gpmnet.testing.base import BoundTest

_MOST, _LEAST = 512, 128  # nodes of a group: fewer would not fill the batches that are computed at once
_VALUES = 1 << 18  # rows times nodes


def search_in_groups(
    crew: Crew,
    nodes: Tensor,
    candidates: Tensor,
    options: SearchOptions,
    start: Tensor | None,
    watch: Watch,
) -> Neighborhoods:
    """Find the neighborhoods of nodes as `search` does, group by group; the base of the crew has a test."""
    test: BoundTest = crew.base.test
    size = group_size(test.designs.features.n, nodes.device)
    if len(nodes) <= size:
        return search(test, nodes, candidates, options, start, watch)
    fixed = None if start is None else start.numpy()
    work = _Work(nodes.numpy(), candidates.numpy(), fixed, options, size)
    found = [*(_elsewhere(crew, work, watch) if crew.is_elsewhere else _here(test, work, watch))]
    names = ("members", "log_p", "is_full", "is_open")
    members, log_p, is_full, is_open = (torch.cat([getattr(x, name) for x in found]) for name in names)
    rounds = max(x.n_rounds for x in found)
    return Neighborhoods(members, candidates, log_p, is_full, is_open, rounds)


def group_size(n: int, device: torch.device) -> int:
    """Return how many nodes are searched together in a table of n rows; all of them on a GPU, which many keep busy.

    >>> [group_size(n, torch.device("cpu")) for n in (100, 1000, 100_000)]
    [512, 262, 128]
    """
    if device.type != "cpu":
        return np.iinfo(np.int64).max
    return min(_MOST, max(_LEAST, _VALUES // max(1, n)))


@dataclass(frozen=True, eq=False)
class _Work:
    """What is searched, as arrays, which joblib need not send with every task; and how many nodes at a time."""

    nodes: NDArray[np.int64]
    candidates: NDArray[np.int64]
    start: NDArray[np.int64] | None
    options: SearchOptions
    size: int

    @property
    def count(self) -> int:
        """The number of groups."""
        return -(-len(self.nodes) // self.size)

    def search(self, test: BoundTest, number: int, watch: Watch) -> Neighborhoods:
        """Return the neighborhoods of a group."""
        at = slice(number * self.size, (number + 1) * self.size)
        nodes, candidates = torch.tensor(self.nodes[at]), torch.tensor(self.candidates[at])
        start = None if self.start is None else torch.tensor(self.start[at])
        return search(test, nodes, candidates, self.options, start, watch)


def _here(test: BoundTest, work: _Work, watch: Watch) -> Iterator[Neighborhoods]:
    for number in range(work.count):
        part = watch.of_group(number, number * work.size, len(work.nodes))
        yield work.search(test, number, part)


def _elsewhere(crew: Crew, work: _Work, watch: Watch) -> Iterator[Neighborhoods]:
    for said in crew.each(group_task, work, work.count, watch.name, watch.item):
        rounds = int(said.pop("n_rounds"))
        yield Neighborhoods(candidates=said["members"][:, :0], n_rounds=rounds, **said)


def group_task(ground: Any, work: _Work, number: int) -> dict[str, Tensor]:
    """Return what was found for a group, elsewhere; the candidates are known."""
    found = work.search(ground.test, number, Watch())
    return {
        "members": found.members,
        "log_p": found.log_p,
        "is_full": found.is_full,
        "is_open": found.is_open,
        "n_rounds": torch.tensor(found.n_rounds),
    }
