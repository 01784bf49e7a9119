"""Tests of a completed table: each uses the rows in which both variables, or also the whole set, were observed.

The rows of a test are looked at as a table of their own: ranks, functions and regressions are those of these rows, so that
the answer is that of the same test on these rows of these few columns. Tests that share their rows share that table. What
was drawn for a gap in one of the two variables says nothing about their dependence and is left out even where a set may
have gaps (von Hippel 2007). The search, which needs an order and not a p-value, uses all rows.

A member of a set that makes a test impossible, since where it was observed an end has one value, is left out of that set:
what was asked of women only is not given when men and women are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.columns.features import build_features
from gpmnet.columns.functions import Family
from gpmnet.table import LEAST_TOGETHER, Encoded
from gpmnet.table.dependence import LEAST_GROUPS
from gpmnet.table.together import MOST_COMPARED, apart
from gpmnet.testing.base import BoundTest, ConditionalTest, PairTests
from gpmnet.testing.clusters import Clusters
from gpmnet.testing.design import Designs

_FEW = 8  # tests, for which moments of all functions are not worth their time


@dataclass(frozen=True, eq=False)
class AvailableTest(BoundTest):
    """A test, all rows of a completed table, and which of its values were observed.

    Attributes
    ----------
    encoded : Encoded
        The completed table.
    family : sequence of ColumnFunction
        Functions of a continuous variable.
    clusters : ndarray of int, shape (n,), optional
        Which rows belong together.
    """

    encoded: Encoded
    family: Family
    clusters: NDArray[np.integer] | None = None

    def pairs(self, first: Tensor, second: Tensor, given: Tensor) -> PairTests:
        """Return the full test of pairs (B,) given sets (B, s; -1 pads), each on the rows that have what it needs.

        Fewer than `LEAST_TOGETHER` rows, or a variable that is constant in them, give p = 1. Time: beside the tests that of
        the functions of all columns in a set, once for each set of rows.
        """
        tests = PairTests.unknown(len(first), first.device)
        needed = torch.stack([first, second], dim=1)
        if self.encoded.needs == "set":
            given = self._possible(needed, given)
            needed = torch.cat([needed, given], dim=1)
        for has, at in self._alike(needed):
            place = torch.tensor(at, device=first.device)
            some = first[place], second[place], given[place]
            if has.all():
                tests.put(place, super().pairs(*some))
            else:
                tests.put(place, self._on_rows(np.flatnonzero(has), *some))
        return tests

    def about(self, ends: Tensor, given: Tensor) -> tuple[Designs, Tensor, Tensor]:
        """Return the table of the rows that a test of ends (m,) given a set (s,) needs, and their positions there.

        The position is -1 where a variable is constant in these rows, and of all where the rows are too few.
        """
        if self.encoded.needs == "set":
            given = self._possible(ends[None], given[None])[0]
        everyone = torch.cat([ends, given])
        needed = everyone if self.encoded.needs == "set" else ends
        rows = np.flatnonzero(self._has([v for v in needed.tolist() if v >= 0]))
        part, position = self._part(rows, everyone)
        ends, given = (position[x.cpu()].to(x.device) for x in (ends, given))
        return self.designs if part is None else self._designs(part, 1, rows), ends, given

    def untestable(self) -> Tensor:
        """Return the pairs (m, 2) that no rows can tell anything about, if sets are to be observed."""
        if self.encoded.needs != "set" or self._apart is None:
            return super().untestable()
        return torch.triu(self._apart).nonzero().to(self.designs.features.device)

    @cached_property
    def _apart(self) -> Tensor | None:
        """Which pairs of variables cannot be tested, (d, d); None where they are too many to be counted."""
        encoded, place = self.encoded, np.cumsum(self.encoded.is_discrete) - 1
        if len(encoded.names) > MOST_COMPARED:
            return None

        def column(at: int) -> NDArray[np.generic]:
            if encoded.is_discrete[at]:
                return encoded.codes[:, place[at]]
            scored = at - 1 - place[at]
            tied = np.flatnonzero(encoded.tied == scored)
            return encoded.groups[:, tied[0]] if len(tied) else encoded.ranks[:, scored]

        return torch.as_tensor(apart(self._observed, column))

    def _possible(self, ends: Tensor, given: Tensor) -> Tensor:
        """Return sets (B, s; -1 pads) without the members that make a test of their ends (B, k) impossible."""
        if self._apart is None or not given.shape[1]:
            return given
        hides = self._apart[ends.cpu()[:, :, None], given.cpu()[:, None, :].clamp(min=0)].any(dim=1)
        return given.masked_fill(hides.to(given.device), -1)

    @cached_property
    def _observed(self) -> NDArray[np.bool_]:
        if self.encoded.observed is None:
            raise TypeError("a table without gaps needs no such test")
        return self.encoded.observed

    @cached_property
    def _has_gaps(self) -> NDArray[np.bool_]:
        return np.asarray(~self._observed.all(axis=0))

    def _alike(self, needed: Tensor) -> list[tuple[NDArray[np.bool_], list[int]]]:
        """Return which rows have all that tests need, (n,) of bool, and the tests of each of these, for (B, k; -1 pads).

        Columns of one questionnaire have the same gaps: many sets of columns share their rows.
        """
        columns: dict[tuple[int, ...], list[int]] = {}
        for at, variables in enumerate(needed.tolist()):
            gappy = {v for v in variables if v >= 0 and self._has_gaps[v]}
            columns.setdefault(tuple(sorted(gappy)), []).append(at)
        groups: dict[bytes, tuple[NDArray[np.bool_], list[int]]] = {}
        for some, tests in columns.items():
            has = self._has(some)
            groups.setdefault(np.packbits(has).tobytes(), (has, []))[1].extend(tests)
        return [(has, sorted(tests)) for has, tests in groups.values()]

    def _has(self, variables: Sequence[int]) -> NDArray[np.bool_]:
        """Return which rows have all of some variables, (n,)."""
        return np.asarray(self._observed[:, list(variables)].all(axis=1))

    def _on_rows(self, rows: NDArray[np.intp], first: Tensor, second: Tensor, given: Tensor) -> PairTests:
        """Return the tests on some rows."""
        tests = PairTests.none(torch.full(first.shape, len(rows), device=first.device))
        part, position = self._part(rows, torch.cat([first, second, given.flatten()]))
        a, b, sets = (position[x.cpu()].to(x.device) for x in (first, second, given))
        at = ((a >= 0) & (b >= 0)).nonzero()[:, 0]
        if part is not None and len(at):
            there = BoundTest(self.test, self._designs(part, len(at), rows))
            tests.put(at, there.pairs(a[at], b[at], sets[at]))
        return tests

    def _part(self, rows: NDArray[np.intp], variables: Tensor) -> tuple[Encoded | None, Tensor]:
        """Return some rows of variables (-1 pads) that are not constant in them, and where each of all variables is there.

        That is -1 of those that are not there, and of -1 itself; nothing is there where the rows are too few.
        """
        position = torch.full((len(self.encoded.names) + 1,), -1, dtype=torch.int64)
        few_groups = self.clusters is not None and len(np.unique(self.clusters[rows])) < LEAST_GROUPS
        if len(rows) < LEAST_TOGETHER or few_groups:
            return None, position
        used = np.unique(variables[variables >= 0].cpu().numpy())
        part = self.encoded.of(used).take(rows)
        varies = np.flatnonzero(~_constant(part))
        position[used[varies]] = torch.arange(len(varies))
        return part.of(varies), position

    def _designs(self, encoded: Encoded, n_tests: int, rows: NDArray[np.intp]) -> Designs:
        """Return the designs of a table of some rows, which some number of tests use."""
        like = self.designs.features
        family = self.family[: max(1, encoded.n_rows - 2)]
        features = build_features(encoded, family, str(like.device), like.phi.dtype)
        clusters = None if self.clusters is None else Clusters.of(features, self.clusters[rows], encoded.rows)
        return Designs(features, self.designs.options, keeps=n_tests > _FEW, clusters=clusters)


def bound(
    test: ConditionalTest,
    designs: Designs,
    encoded: Encoded,
    family: Family,
    clusters: NDArray[np.integer] | None = None,
) -> BoundTest:
    """Return a test of the rows of a table, whose designs these are; each on the rows it needs where values were drawn.

    `clusters` (n,) says which rows belong together, if any do.
    """
    if encoded.observed is None:
        return BoundTest(test, designs)
    return AvailableTest(test, designs, encoded, family, clusters)


def _constant(encoded: Encoded) -> NDArray[np.bool_]:
    """Return which variables of a table have one value only, (d,)."""
    constant = np.zeros(len(encoded.names), dtype=bool)
    constant[encoded.is_discrete] = (encoded.codes == encoded.codes[:1]).all(axis=0)
    scored = np.flatnonzero(~encoded.is_discrete)
    constant[scored[encoded.tied]] = (encoded.groups == encoded.groups[:1]).all(axis=0)
    return constant
