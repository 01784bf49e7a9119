"""How the deep engine tests pairs: the local engine's search and tests, joined by those in learned directions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.engines.base import Problem
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.engines.local import LocalEngine
from gpmnet.engines.local_tasks import Searched
from gpmnet.omega import generalised_precision
from gpmnet.selection.pair_rule import ends, union
from gpmnet.testing.base import PairTests, packed
from gpmnet.testing.learned import Fold, LearnedTest, strongest
from gpmnet.testing.p_values import cauchy_combination


@dataclass(frozen=True, eq=False)
class JoinedTests:
    """Tests the pairs of a table with energies of its folds.

    Attributes
    ----------
    options : DeepOptions
    problem : Problem
    h : Tensor of shape (n, D)
        The rows as the energies see them.
    order : ndarray of int, shape (d,)
        Position of each variable of the table in the coordinates.
    folds : list of Fold
    """

    options: DeepOptions
    problem: Problem
    h: Tensor
    order: NDArray[np.intp]
    folds: list[Fold]

    def run(self, closed: Tensor) -> tuple[Searched, PairTests]:
        """Return the pairs that came close with their neighborhoods, and one test of each.

        Pairs that pass in a learned direction given the neighbors found so far become neighbors; then all pairs that
        came close either way are tested given the final neighborhoods, both ways, joined by the Cauchy combination.

        Parameters
        ----------
        closed : Tensor of bool, shape (d, d)
            Pairs that are not tested, in the order of the coordinates.
        """
        problem, options = self.problem, self.options.local
        local = LocalEngine(options)
        found = local.search(problem)
        learned = LearnedTest(found.test, self.h, torch.as_tensor(self.order), self.folds)
        first, second = self._candidates(~closed)
        d, most = problem.d, found.limits.most_members
        problem.progress("learned directions", 0, len(first))
        early = self._kept("early", learned, found, first, second)
        problem.progress("learned directions", len(first), len(first))
        more = strongest(first, second, early, options.alpha_enter / d, most, d)
        members = joined_members(found.members, more, most)
        close = early < math.log(max(problem.alpha, options.alpha_report))
        code = torch.unique(torch.cat([found.first * d + found.second, (first * d + second)[close]]))
        found = replace(found, members=members, first=code // d, second=code % d)
        tests = local.test_pairs(found, problem)
        again = self._kept("again", learned, found, found.first, found.second)
        log_p = cauchy_combination(torch.stack([tests.log_p, again], dim=1))
        return found, tests.with_log_p(log_p)

    def _kept(
        self, name: str, learned: LearnedTest, found: Searched, first: Tensor, second: Tensor
    ) -> Tensor:
        """Return log p-values of pairs in learned directions, or what a stopped fit has of them."""

        def tested() -> dict[str, Tensor]:
            return {"log_p": learned.log_p(first, second, given_sets(found, first, second))}

        return self.problem.shelf.kept(f"learned directions {name}", tested)["log_p"].to(first.device)

    def _candidates(self, allowed: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pairs to test in learned directions: all if they are few, else those of the largest Omega."""
        back = torch.as_tensor(self.order, device=self.h.device)
        first, second = torch.triu(allowed[back][:, back], diagonal=1).nonzero(as_tuple=True)
        most = self.options.most_pairs
        if len(first) > most:
            size = torch.stack(
                [generalised_precision(fold.energy, self.h[fold.rows][:500]) for fold in self.folds]
            )
            # In every fold, so that no fold picks for itself.
            size = size.amin(dim=0)[back][:, back][first, second]
            keep = size.argsort(descending=True, stable=True)[:most].sort().values
            first, second = first[keep], second[keep]
        return first, second


def given_sets(found: Searched, first: Tensor, second: Tensor) -> Tensor:
    """Return both ends' neighbors without the pair itself, or the smaller set where they are too many: (B, s; -1 pads)."""
    a, b = ends(found.members, first, second)
    size_a, size_b = (a >= 0).sum(dim=1), (b >= 0).sum(dim=1)
    smaller = torch.where((size_a <= size_b)[:, None], a, b)
    both = union(a, b)
    padded = torch.cat([smaller, torch.full_like(b, -1)], dim=1)
    sets = torch.where(((both >= 0).sum(dim=1) <= found.limits.most_members)[:, None], both, padded)
    return packed(sets.sort(dim=1).values)


def joined_members(members: Tensor, more: Tensor, most: int) -> Tensor:
    """Return neighborhoods with further members, (d, s) and (d, t; -1 pads), at most `most` each, learned ones first."""
    rows = []
    for old, new in zip(members.tolist(), more.tolist(), strict=True):
        kept = [v for v in dict.fromkeys([*new, *old]) if v >= 0][:most]
        rows.append(kept + [-1] * (most - len(kept)))
    return torch.tensor(rows, dtype=members.dtype, device=members.device)
