"""The base measure: independent normal scores and independent levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from gpmnet.energies.base import BaseFamily, Coordinates, Energy
from gpmnet.energies.pairwise import Pairwise

_RAREST = 1e-6  # a level that no row has keeps a finite log share


@dataclass(frozen=True)
class Normal(BaseFamily):
    """Independent variables and no pairs, as published; the penalty has the units of the default pairwise family."""

    has_pairs: ClassVar[bool] = False

    @property
    def pairs(self) -> Pairwise:
        """The default pairwise family, for the units."""
        return Pairwise()


@dataclass(frozen=True)
class Own(Normal):
    """Independent variables with free terms of their own, z, z^2/2 and bells or log odds, trained with the energy on top.

    Then the energy's units do not have to make up for what a variable's own density loses to its interactions.
    """

    trains_own: ClassVar[bool] = True


class NormalEnergy(Energy):
    r"""Independent variables: :math:`L = -\tfrac12 \sum_i \tau_i z_i^2 + \sum_v \log \mathrm{share}(x_v)`.

    Parameters
    ----------
    coordinates : Coordinates
    log_shares : Tensor of shape (S,), optional
        Log probabilities of the levels; those of the coordinates unless given.
    learned : bool
        Whether the precisions tau (1 to start with) and the log shares are learned.

    Examples
    --------
    >>> NormalEnergy(Coordinates(2))(torch.tensor([[1.0, 2.0]])).tolist()
    [-2.5]
    """

    precision: Tensor
    log_shares: Tensor

    def __init__(
        self, coordinates: Coordinates, log_shares: Tensor | None = None, learned: bool = False
    ) -> None:
        super().__init__(coordinates)
        precision = torch.ones(coordinates.n_continuous)
        levels = self.share.clamp(min=_RAREST).log() if log_shares is None else log_shares
        levels = levels.detach().to(precision.dtype, copy=True)
        if learned:
            self.precision, self.log_shares = nn.Parameter(precision), nn.Parameter(levels)
        else:
            self.register_buffer("precision", precision)
            self.register_buffer("log_shares", levels)

    def forward(self, h: Tensor) -> Tensor:
        """Return L of rows (..., D): (...)."""
        z = h[..., : self.coordinates.n_continuous]
        return -0.5 * z.square() @ self.precision + self.indicators(h) @ self.log_shares

    def score(self, h: Tensor) -> Tensor:
        """Return dL/dz of rows (n, D): (n, dc)."""
        return -self.precision * h[:, : self.coordinates.n_continuous]

    def curvature(self, h: Tensor) -> Tensor:
        """Return the second derivatives d2L/dz_i2 of rows (n, D): (n, dc)."""
        return (-self.precision).expand(len(h), -1)

    def hessian(self, h: Tensor) -> Tensor:
        """Return d2L/dz_i dz_j of rows (n, D): (n, dc, dc)."""
        return torch.diag_embed(-self.precision).expand(len(h), -1, -1)

    def logits(self, h: Tensor) -> Tensor:
        """Return L with one discrete variable set to each of its levels: (n, S)."""
        return self.forward(h)[:, None] + self._moves(h)

    def level_scores(self, h: Tensor) -> Tensor:
        """Return the scores with one discrete variable set to each of its levels, which do not change: (n, S, dc)."""
        return self.score(h)[:, None, :].expand(-1, self.coordinates.n_levels, -1)

    def pair_logits(self, h: Tensor) -> Tensor:
        """Return L with two discrete variables set to each pair of their levels: (n, S, S); 0 within a variable."""
        moves = self._moves(h)
        value = self.forward(h)[:, None, None] + moves[:, :, None] + moves[:, None, :]
        return value * (self.owner[:, None] != self.owner[None, :])

    def pair_values(self, h: Tensor, first: int, here: Tensor, second: int, there: Tensor) -> Tensor:
        """Return L, up to a constant of each row, with two variables moved over a grid: (n, a, b)."""
        return self._alone(first, here)[:, :, None] + self._alone(second, there)[:, None, :]

    def _alone(self, variable: int, values: Tensor) -> Tensor:
        if variable < self.coordinates.n_continuous:
            return -0.5 * self.precision[variable] * values[..., 0].square()
        columns = self.coordinates.columns(variable)
        at = slice(
            columns.start - self.coordinates.n_continuous, columns.stop - self.coordinates.n_continuous
        )
        return (values + self.share[at].to(values.dtype)) @ self.log_shares[at]

    def _moves(self, h: Tensor) -> Tensor:
        seen = self.indicators(h) * self.log_shares
        total = seen.new_zeros((len(h), self.coordinates.n_discrete)).index_add(1, self.owner, seen)
        return self.log_shares - total[:, self.owner]
