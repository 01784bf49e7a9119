"""What an objective is."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from gpmnet.energies.base import Energy
from gpmnet.parts import Part


class Objective(Part, ABC):
    """A loss of each row under an energy, lower is better; it knows nothing of penalties. A frozen dataclass."""

    @abstractmethod
    def __call__(self, energy: Energy, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the losses (n,) of rows (n, D), differentiable in the energy's parameters.

        The generator is for objectives that draw; the others leave it alone.
        """
