"""Functions of all continuous columns, computed once where they fit: design matrices are then gathered, not computed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.columns.features import Features, gather
from gpmnet.columns.functions import Scores, design_functions, feature_functions

_MOST = 1 << 26  # numbers: 512 MB in double precision


def table_bytes(n: int, n_continuous: int, n_cosines: int) -> int:
    """Return the bytes of a table, 0 where it would be too large and there is none."""
    numbers = n * n_continuous * (n_cosines + 2)
    return 8 * numbers if numbers <= _MOST else 0


@dataclass(frozen=True, eq=False)
class Tabulated:
    """For each continuous variable its score, c tanh(z/c) and W cosines of its rank.

    Attributes
    ----------
    features : Features
    n_cosines : int
        W.
    table : Tensor of shape (n, c (W + 2)), or None
        None where it would be too large; the functions are then computed when they are asked for.
    place : Tensor of shape (d,)
        Number of each variable among the c continuous ones.
    """

    features: Features
    n_cosines: int
    table: Tensor | None
    place: Tensor

    @classmethod
    def of(cls, features: Features, n_cosines: int) -> Tabulated:
        """Return the functions of all continuous columns; time and memory n c (W + 2)."""
        continuous = (~features.is_discrete).nonzero()[:, 0]
        place = torch.cumsum((~features.is_discrete).long(), dim=0) - 1
        table = None
        if table_bytes(features.n, len(continuous), n_cosines):
            s = Scores(features.mid_scores[:, features.score_start[continuous]].double())
            family = (*design_functions(0), *feature_functions(1), *design_functions(n_cosines)[1:])
            table = torch.stack([function.value(s) for function in family], dim=2).flatten(1)
        return cls(features, n_cosines, table, place)

    def additive(self, members: Tensor, n_cosines: int) -> list[Tensor]:
        """Return z and cosines of members (b, c), function by function: tensors (b, n, ...) to be put side by side."""
        if self.table is None:
            s = self._scores(members)
            return [s.value(function) for function in design_functions(n_cosines)]
        slots = torch.tensor([0, *range(2, n_cosines + 2)], device=members.device)
        return [gather(self.table, (self._starts(members)[:, None, :] + slots[:, None]).flatten(1))]

    def interacting(self, members: Tensor, degrees: int) -> Tensor:
        """Return the functions of degree 1, 2, ... of members (b, c), member by member: (b, n, c degrees)."""
        if self.table is None:
            s = self._scores(members)
            return torch.stack([s.value(function) for function in feature_functions(degrees)], dim=3).flatten(
                2
            )
        slots = torch.tensor([1, *range(3, degrees + 2)], device=members.device)
        return gather(self.table, (self._starts(members)[:, :, None] + slots).flatten(1))

    def _starts(self, members: Tensor) -> Tensor:
        return self.place[members] * (self.n_cosines + 2)

    def _scores(self, members: Tensor) -> Scores:
        return Scores(gather(self.features.mid_scores, self.features.score_start[members]))
