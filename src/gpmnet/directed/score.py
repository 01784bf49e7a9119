"""What a score of a directed graph is: a number for each variable and set of parents, in nats.

A graph's score is the sum over its variables. To add a score, write a subclass of `FamilyScore` with the one method
`score`; `gains` may be replaced by something faster, since it only ranks candidates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
Parents: TypeAlias = tuple[int, ...]
"""Positions of the parents, increasing."""


class FamilyScore(ABC):
    """How well variables are predicted by sets of parents."""

    d: int
    """Number of variables."""

    @abstractmethod
    def score(self, child: int, parents: Parents) -> float:
        """Return the evidence for a set of parents over no parents, less its price; 0 for no parents."""

    def gains(self, child: int, parents: Parents, candidates: Ints) -> Floats:
        """Return about what the score gains by each candidate as one more parent.

        The search descends in the order of these, and only to sets whose `score` is truly higher.
        """
        now = self.score(child, parents)
        found = [self.score(child, with_parent(parents, int(other))) - now for other in candidates]
        return np.array(found, dtype=np.float64)

    def spare(self, child: int, parents: Parents) -> Parents:
        """Return those parents without which the score could be higher; by default all are tried."""
        return parents


def with_parent(parents: Parents, other: int) -> Parents:
    """Return a set of parents with one more.

    >>> with_parent((1, 4), 2)
    (1, 2, 4)
    """
    return tuple(sorted((*parents, other)))


def without_parent(parents: Parents, other: int) -> Parents:
    """Return a set of parents without one.

    >>> without_parent((1, 2, 4), 2)
    (1, 4)
    """
    return tuple(parent for parent in parents if parent != other)
