"""The objective of a table with both kinds of variable: the sum of one for each kind."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from gpmnet.energies.base import Energy
from gpmnet.objectives.base import Objective
from gpmnet.objectives.hyvarinen import Hyvarinen
from gpmnet.objectives.pseudolikelihood import PseudoLikelihood


@dataclass(frozen=True)
class Mixed:
    """The sum of an objective of the continuous and one of the discrete variables; each is 0 without its kind."""

    continuous: Objective = field(default_factory=Hyvarinen)
    discrete: Objective = field(default_factory=PseudoLikelihood)

    def __call__(self, energy: Energy, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the losses (n,) of rows (n, D)."""
        return self.continuous(energy, h, generator) + self.discrete(energy, h, generator)
