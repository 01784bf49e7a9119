"""The sum of energies: a base measure and what is learned on top of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import cast

from torch import Tensor, nn

from gpmnet.energies.base import Energy
from gpmnet.errors import InputError


class SumEnergy(Energy):
    """L = L_1 + L_2 + ... of energies of the same coordinates; so is every derivative and difference.

    Examples
    --------
    >>> import torch
    >>> from gpmnet.energies import MLP, Coordinates, NormalEnergy
    >>> h = torch.tensor([[1.0, 2.0]])
    >>> energy = SumEnergy(NormalEnergy(Coordinates(2)), MLP().build(Coordinates(2), h, None))
    >>> energy.score(h).tolist()
    [[-1.0, -2.0]]
    """

    def __init__(self, *energies: Energy) -> None:
        if not energies:
            raise InputError("A sum needs at least one energy.")
        if any(energy.coordinates != energies[0].coordinates for energy in energies):
            raise InputError("Only energies of the same coordinates can be added.")
        super().__init__(energies[0].coordinates)
        self.parts = nn.ModuleList(energies)

    def __iter__(self) -> Iterator[Energy]:
        return iter(cast("list[Energy]", list(self.parts)))

    def forward(self, h: Tensor) -> Tensor:
        """Return L of rows (..., D): (...)."""
        return _add([part(h) for part in self])

    def row_size(self) -> int:
        """Return how many elements the largest result or uncut temporary has for each row."""
        return max(part.row_size() for part in self)

    def score(self, h: Tensor) -> Tensor:
        """Return dL/dz of rows (n, D): (n, dc)."""
        return _add([part.score(h) for part in self])

    def curvature(self, h: Tensor) -> Tensor:
        """Return the second derivatives d2L/dz_i2 of rows (n, D): (n, dc)."""
        return _add([part.curvature(h) for part in self])

    def score_and_curvature(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return both at once."""
        scores, curvatures = zip(*(part.score_and_curvature(h) for part in self), strict=True)
        return _add([*scores]), _add([*curvatures])

    def hessian(self, h: Tensor) -> Tensor:
        """Return d2L/dz_i dz_j of rows (n, D): (n, dc, dc)."""
        return _add([part.hessian(h) for part in self])

    def logits(self, h: Tensor) -> Tensor:
        """Return L with one discrete variable set to each of its levels: (n, S)."""
        return _add([part.logits(h) for part in self])

    def level_scores(self, h: Tensor) -> Tensor:
        """Return the scores with one discrete variable set to each of its levels: (n, S, dc)."""
        return _add([part.level_scores(h) for part in self])

    def pair_logits(self, h: Tensor) -> Tensor:
        """Return L with two discrete variables set to each pair of their levels: (n, S, S); 0 within a variable."""
        return _add([part.pair_logits(h) for part in self])

    def pair_values(self, h: Tensor, first: int, here: Tensor, second: int, there: Tensor) -> Tensor:
        """Return L, up to a constant of each row, with two variables moved over a grid: (n, a, b)."""
        return _add([part.pair_values(h, first, here, second, there) for part in self])


def _add(terms: list[Tensor]) -> Tensor:
    return reduce(lambda a, b: a + b, terms)
