"""Discrete nodes: a random probability table over the configurations of the parents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpmnet.errors import InputError
from gpmnet.simulate.base import Values

WEAKEST = 0.05  # nats; the least information that each parent has about its child given the other parents
RAREST = 0.1  # the least probability of a level of a variable without parents
ATTEMPTS = 1000
LARGEST = 2**18  # cells of one table

Cuts = NDArray[np.float64] | None


def configuration(codes: list[Values], levels: list[int], n: int) -> NDArray[np.intp]:
    """Return the number of each row's configuration of several discrete columns, last column fastest."""
    number = np.zeros(n, dtype=np.intp)
    for column, count in zip(codes, levels, strict=True):
        number = number * count + column.astype(np.intp)
    return number


def draw_codes(probabilities: Values, rng: np.random.Generator) -> Values:
    """Draw one code for each row of probabilities, (n, M) -> (n,)."""
    passed = rng.random((len(probabilities), 1)) > np.cumsum(probabilities, axis=1)[:, :-1]
    return np.asarray(passed.sum(axis=1), dtype=np.float64)


@dataclass(frozen=True)
class TableNode:
    """P(x = m | parents) is a row of a table; a continuous parent counts by the bin it falls in."""

    cuts: tuple[Cuts, ...]  # per parent: None where it is discrete, else the inner bin edges
    levels: tuple[int, ...]  # per parent: levels or bins
    table: Values  # (configurations, M)

    def rows(self, parents: Values) -> Values:
        """Return the probabilities of each row's levels, (n, M)."""
        columns = [
            parents[:, at] if cuts is None else np.searchsorted(cuts, parents[:, at])
            for at, cuts in enumerate(self.cuts)
        ]
        return np.asarray(self.table[configuration(columns, list(self.levels), len(parents))])

    def draw(self, parents: Values, rng: np.random.Generator) -> Values:
        """Draw x given its parents."""
        return draw_codes(self.rows(parents), rng)

    def log_density(self, values: Values, parents: Values) -> Values:
        """Return log P(x | parents)."""
        return np.asarray(np.log(self.rows(parents)[np.arange(len(values)), values.astype(np.intp)]))


def table_node(
    parents: Values, levels: list[int], bins: list[int], cardinality: int, rng: np.random.Generator
) -> TableNode:
    """Draw a table node; a parent with `levels` 0 is continuous and cut into bins of equal frequency."""
    cuts: list[Cuts] = [
        None if count else np.quantile(parents[:, at], np.arange(1, cut) / cut)
        for at, (count, cut) in enumerate(zip(levels, bins, strict=True))
    ]
    counts = [count or cut for count, cut in zip(levels, bins, strict=True)]
    table = random_table(counts, cardinality, rng)
    return TableNode(tuple(cuts), tuple(counts), table.reshape(-1, cardinality))


def random_table(levels: list[int], cardinality: int, rng: np.random.Generator) -> Values:
    """Draw P(x | parents), shape (*levels, cardinality): every row uniform on the simplex.

    So that no edge is there in name only, a table is drawn again until each parent has at least 0.05 nats of
    information about x given the other parents (parents uniform), and, where x has no parents, until each
    of its levels has probability 0.1 or more.
    """
    if not levels:
        row = rng.dirichlet(np.ones(cardinality))
        while row.min() < RAREST:
            row = rng.dirichlet(np.ones(cardinality))
        return row
    cells = cardinality * int(np.prod([float(count) for count in levels]))
    if cells > LARGEST:
        raise InputError(f"random: a table of {cells:,} probabilities is too large; lower max_clique")
    table = best = rng.dirichlet(np.ones(cardinality), size=tuple(levels))
    for _ in range(ATTEMPTS):
        if weakest_parent(table) >= WEAKEST:
            return table
        best = max(best, table, key=weakest_parent)
        table = rng.dirichlet(np.ones(cardinality), size=tuple(levels))
    return best


def weakest_parent(table: Values) -> float:
    """Return the least I(x; parent | other parents), in nats, under uniform parents."""
    information = [
        _entropy(table.mean(axis=parent)).mean() - _entropy(table).mean() for parent in range(table.ndim - 1)
    ]
    return float(min(information, default=np.inf))


def _entropy(rows: Values) -> Values:
    return np.asarray(-(rows * np.log(np.maximum(rows, 1e-300))).sum(axis=-1))
