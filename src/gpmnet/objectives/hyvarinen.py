"""Score matching of the continuous coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.energies.base import Energy
from gpmnet.objectives.base import Objective


@dataclass(frozen=True)
class Hyvarinen(Objective):
    r"""The exact score-matching loss of the continuous coordinates.

    .. math:: \sum_i \tfrac12 \Big(\frac{\partial L}{\partial z_i}\Big)^2 + \frac{\partial^2 L}{\partial z_i^2}

    Its mean over rows of a density p is the Fisher divergence
    :math:`\tfrac12 E_p \|\nabla L - \nabla \log p\|^2` up to a constant that depends on p alone. It is 0 without
    continuous variables.

    References
    ----------
    Hyvarinen (2005), "Estimation of non-normalized statistical models by score matching".
    """

    def __call__(self, energy: Energy, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the losses (n,) of rows (n, D)."""
        if energy.coordinates.n_continuous == 0:
            return h.new_zeros(len(h))
        score, curvature = energy.score_and_curvature(h)
        return (0.5 * score.square() + curvature).sum(dim=1)
