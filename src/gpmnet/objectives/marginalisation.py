"""Score matching of the discrete coordinates by the marginalisation operator."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.checks import check_number
from gpmnet.energies.base import Energy
from gpmnet.objectives.base import Objective
from gpmnet.objectives.pseudolikelihood import log_conditionals, observed


@dataclass(frozen=True)
class Marginalisation(Objective):
    r"""The discrete score-matching loss with the marginalisation operator, M_v f = the sum of f over x_v alone.

    With :math:`r_v(x) = M_v \pi(x) / \pi(x) = 1 / \pi(x_v \mid x_{-v})`,

    .. math:: \sum_v \tfrac12 r_v(x)^2 - \sum_k r_v(k, x_{-v})
              \;+\; \tfrac{\rho}{2} \sum_k \big(\log \pi(k \mid x_{-v}) - \text{mean}\big)^2 .

    Its mean over a mass function m is, up to a constant that depends on m alone,
    :math:`\tfrac12 E_m \sum_v (r_v - r^m_v)^2` (for rho = 0 and no cap).

    On a finite table the raw loss of a flexible energy has no minimum: a state that no row has appears in the second
    sum alone, and making it impossible sends the loss to minus infinity. Hence the cap: the second sum takes
    min(r, cap). Given the rest of x, level k of true probability q_k then adds q_k r^2 / 2 - min(r, cap), which is least at
    r = 1 / q_k where q_k >= 1 / cap, so that common levels are estimated as published and nothing is gained by making
    a level rarer than 1 / cap. The ridge rho on the log odds settles what the cap leaves flat.

    Parameters
    ----------
    cap : float
        Largest r in the second sum; infinity for the published form.
    ridge : float
        Rho; 0 for the published form.

    References
    ----------
    Lyu (2009), "Interpretation and generalization of score matching".
    """

    cap: float = 100.0
    ridge: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "cap", 1.0, open_low=True)
        check_number(self, "ridge", 0.0)

    def __call__(self, energy: Energy, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the losses (n,) of rows (n, D)."""
        coordinates = energy.coordinates
        if coordinates.n_discrete == 0:
            return h.new_zeros(len(h))
        logs = log_conditionals(energy.logits(h), coordinates)
        seen = logs.gather(1, observed(coordinates, h))
        loss = 0.5 * torch.exp(-2 * seen).sum(dim=1)
        loss = loss - torch.exp((-logs).clamp(max=math.log(self.cap))).sum(dim=1)
        if self.ridge == 0:
            return loss
        odds = [
            part - part.mean(dim=1, keepdim=True)
            for part in torch.split(logs, list(coordinates.levels), dim=1)
        ]
        return loss + 0.5 * self.ridge * torch.cat(odds, dim=1).square().sum(dim=1)
