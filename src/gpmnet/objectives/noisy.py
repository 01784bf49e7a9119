"""An objective on blurred rows, which is bounded where the density has spikes."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from gpmnet.checks import check_number, check_type
from gpmnet.energies.base import Energy
from gpmnet.objectives.base import Objective
from gpmnet.objectives.mixed import Mixed


@dataclass(frozen=True)
class Noisy(Objective):
    r"""Another objective, at rows whose normal scores have noise :math:`N(0, \sigma^2)` added, drawn anew at every call.

    Score matching of a flexible energy has no minimum on finitely many rows, and none at all for densities whose scores have
    no second moment. Blurred rows are never the same twice, so that nothing is gained by a spike at one that is narrower
    than sigma. What is fitted is the blurred density; that has the pairs of the sharp one only up to terms of order
    :math:`\sigma^2`.

    Parameters
    ----------
    objective : Objective
    sigma : float
        Standard deviation of the noise, in units of the scores; 0 for none.

    References
    ----------
    Wenliang, Sutherland, Strathmann and Gretton (2019), section 5: noise against degenerate solutions.

    Examples
    --------
    >>> Noisy(sigma=0.05).sigma
    0.05
    """

    objective: Objective = field(default_factory=Mixed)
    sigma: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type(self, "objective", Objective)
        check_number(self, "sigma", 0.0)

    def __call__(self, energy: Energy, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the losses (n,) of rows (n, D); the generator is on the CPU."""
        dc = energy.coordinates.n_continuous
        if self.sigma == 0 or dc == 0:
            return self.objective(energy, h, generator)
        noise = self.sigma * torch.randn((len(h), dc), generator=generator).to(h)
        return self.objective(energy, torch.cat([h[:, :dc] + noise, h[:, dc:]], dim=1), generator)
