"""Pseudo-likelihood of the discrete coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.energies.base import Coordinates, Energy
from gpmnet.objectives.base import Objective


def log_conditionals(logits: Tensor, coordinates: Coordinates) -> Tensor:
    r"""Return :math:`\log \pi(x_v = k \mid x_{-v})` of every level from `Energy.logits` (n, S): (n, S)."""
    if not coordinates.levels:
        return logits
    places, parts = [], []
    for _, where in coordinates.by_size:  # one operation for all variables of a size
        where = where.to(logits.device)
        parts.append(torch.log_softmax(logits[:, where], dim=-1).flatten(1))
        places.append(where.flatten())
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts, dim=1)[:, torch.cat(places).argsort()]


def observed(coordinates: Coordinates, h: Tensor) -> Tensor:
    """Return where the observed level of each discrete variable stands among the S: (n, V)."""
    return coordinates.codes(h) + torch.tensor(coordinates.starts, dtype=torch.long, device=h.device)


@dataclass(frozen=True)
class PseudoLikelihood(Objective):
    r"""The negative log conditional probability of each discrete variable given all others, summed.

    .. math:: -\sum_v \log \pi(x_v \mid x_{-v})

    It needs the same unnormalised L at the same states as `Marginalisation`, and is far more efficient.
    0 without discrete variables.

    References
    ----------
    Besag (1975), "Statistical analysis of non-lattice data".
    """

    def __call__(self, energy: Energy, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the losses (n,) of rows (n, D)."""
        if energy.coordinates.n_discrete == 0:
            return h.new_zeros(len(h))
        logs = log_conditionals(energy.logits(h), energy.coordinates)
        return -logs.gather(1, observed(energy.coordinates, h)).sum(dim=1)
