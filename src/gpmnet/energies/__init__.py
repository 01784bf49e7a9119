"""Log densities up to a constant, one family a file, and their derivatives and differences."""

from __future__ import annotations

from collections.abc import Callable

import torch

from gpmnet.energies.base import Coordinates, Energy
from gpmnet.energies.deep_kernel import DeepKernel
from gpmnet.energies.low_rank import LowRankEnergy
from gpmnet.energies.mlp import Mlp
from gpmnet.energies.normal import Normal
from gpmnet.energies.pairwise import Pairwise
from gpmnet.energies.total import Sum

# By name, from a coordinates and the source of starting weights.
ENERGIES: dict[str, Callable[[Coordinates, torch.Generator | None], Energy]] = {
    "pairwise": lambda coordinates, generator: Pairwise(coordinates),
    "mlp": lambda coordinates, generator: Mlp(coordinates, generator=generator),
    "deep_kernel": lambda coordinates, generator: DeepKernel(coordinates, generator=generator),
}

__all__ = [
    "ENERGIES",
    "Coordinates",
    "DeepKernel",
    "Energy",
    "LowRankEnergy",
    "Mlp",
    "Normal",
    "Pairwise",
    "Sum",
]
